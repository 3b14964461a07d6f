# SPDX-License-Identifier: Apache-2.0
"""A line of keys is parted where it lies, and nothing beside it is written, however wide vectors are."""

from typing import Any

import numba
import numpy as np
import pytest

from ngraph_rewrite.runtime.compressing import compressing_places
from ngraph_rewrite.runtime.features import compresses
from ngraph_rewrite.runtime.partitions import partition_int32, partition_int64

pytestmark = pytest.mark.skipif(not compresses(), reason="no instruction compresses vectors")

# Around a vector, around the vectors of both ends that are set aside, and on either side of what is a short line.
LENGTHS = [0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 127, 129, 255, 4095, 4097, 8192, 8193, 8320, 8321, 8459, 20_011]
AROUND = 40  # keys on either side


@numba.njit
def part_int32(line: int, length: int, pivot: int) -> Any:
    return partition_int32(line, length, pivot)


@numba.njit
def part_int64(line: int, length: int, pivot: int) -> Any:
    return partition_int64(line, length, pivot)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("part", [part_int32, part_int64])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_keys_not_above_the_pivot_come_first_and_none_is_lost(part: Any, n: int, share: float) -> None:
    """Of a share of all keys, from none to all."""
    dtype = np.dtype(part.__name__.removeprefix("part_"))
    memory = np.random.default_rng(n).integers(-1000, 1000, n + 2 * AROUND).astype(dtype)
    before, keys = memory.copy(), memory[AROUND : AROUND + n]
    pivot = int(np.quantile(keys, share)) if 0 < share < 1 and n else (-1001 if share == 0 else 1000)
    count = part(keys.ctypes.data, n, pivot)
    assert count == np.sum(before[AROUND : AROUND + n] <= pivot)
    assert np.all(keys[:count] <= pivot) and np.all(keys[count:] > pivot)
    np.testing.assert_array_equal(np.sort(keys), np.sort(before[AROUND : AROUND + n]))
    np.testing.assert_array_equal(memory[:AROUND], before[:AROUND])
    np.testing.assert_array_equal(memory[AROUND + n :], before[AROUND + n :])


@pytest.mark.parametrize("lanes", [4, 8])
def test_places_of_a_mask_are_its_lanes_and_then_the_others(lanes: int) -> None:
    words = np.arange(8).reshape(lanes, -1)
    for mask, places in enumerate(compressing_places(lanes)):
        chosen = (mask >> np.arange(lanes) & 1).astype(bool)
        np.testing.assert_array_equal(places, np.concatenate([words[chosen], words[~chosen]]).ravel())
