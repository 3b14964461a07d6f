# SPDX-License-Identifier: Apache-2.0
"""What convolutions copy in vectors: windows into rows of a panel, and lines of an image with zeros around."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime import image_lines
from ngraph_rewrite.runtime.engine import host_machine
from ngraph_rewrite.runtime.features import tile_shape
from ngraph_rewrite.runtime.products import product_number

DTYPES = ("float32", "float64")
EXAMPLES = 20 if "NUMBA_CPU_FEATURES" in os.environ else 60


def native(word: str, dtype: str, arguments: int) -> Callable[..., None]:
    """A function that the processor decides, called by Python."""
    address = product_number(word, dtype, Cache(None))
    function: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arguments)(address)
    return function


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data(), line=st.integers(1, 70), rows=st.integers(0, 9))
def test_columns_of_windows_become_rows_of_a_panel(dtype: str, data: st.DataObject, line: int, rows: int) -> None:
    """Each from the place of its window, over as many lines as there are; NaN lies around what may be taken."""
    wide, size = tile_shape(dtype).columns, np.dtype(dtype).itemsize
    first, columns = data.draw(st.integers(0, line - 1)), data.draw(st.integers(1, wide))
    pitch, count = line + 9, -(-(first + columns) // line)
    image = np.arange(count * pitch, dtype=dtype)
    memory = np.full(image.size + 2 * wide, np.nan, dtype)
    memory[wide:-wide] = image
    lines = np.arange(count) * pitch * size
    distances = np.array(data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows)), np.int64) * size
    panel = np.full((rows + 1, wide), np.inf, dtype)
    native("rows_of", dtype, 9)(
        memory.ctypes.data + wide * size, distances.ctypes.data, lines.ctypes.data,
        first, line, panel.ctypes.data, wide * size, rows, columns,
    )  # fmt: skip
    places = [(first + j) // line * pitch + (first + j) % line for j in range(columns)]
    for row, distance in zip(panel, distances, strict=False):
        np.testing.assert_array_equal(row[:columns], image[np.array(places) + distance // size])
    assert np.isinf(panel[rows]).all()


@pytest.mark.parametrize("word", ["lines", "halves"])
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data(), half=st.integers(1, 70), count=st.integers(0, 4))
def test_lines_are_copied_with_zeros_around(word: str, dtype: str, data: st.DataObject, half: int, count: int) -> None:
    """NaN lies where nothing may be taken; for windows two apart, elements at even places come first."""
    length, lanes, size = 2 * half, tile_shape(dtype).lanes, np.dtype(dtype).itemsize
    left = data.draw(st.integers(0, length))
    right, extra = data.draw(st.integers(left, length)), data.draw(st.integers(0, 5))
    source = np.full((count + 1, length + extra), np.nan, dtype)
    source[:, left:right] = np.arange((count + 1) * (right - left), dtype=dtype).reshape(count + 1, -1) + 1
    target = np.full((count + 1) * length + lanes, -1, dtype)
    native(word, dtype, 8)(
        source.ctypes.data, source.strides[0], target.ctypes.data, length * size, count, left, right, length
    )
    expected = np.zeros((count, length), dtype)
    expected[:, left:right] = source[:count, left:right]
    if word == "halves":
        expected = np.concatenate([expected[:, ::2], expected[:, 1::2]], axis=1)
    np.testing.assert_array_equal(target[: count * length].reshape(count, length), expected)
    assert (target[count * length + lanes :] == -1).all()


def test_every_second_element_is_taken_from_vectors() -> None:
    """Two vectors are read, and every second number of both is stored."""
    written = image_lines.halves_module("float32"), image_lines.lines_module("float32")
    texts = [str(host_machine().emit_assembly(binding.parse_assembly(module))) for module in written]
    apart, whole = (len(re.findall(r"\bv?(?:perm|shuf)\w*ps\s|\b(?:ld2|uzp1)", text)) for text in texts)
    assert apart > whole  # masks may take some, without AVX
