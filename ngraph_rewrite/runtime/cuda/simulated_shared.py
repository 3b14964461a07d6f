# SPDX-License-Identifier: Apache-2.0
"""Elements of arrays in the shared memory of a simulated device, and sums of products."""

from typing import Any

import numpy as np
from numba import cuda
from numba.core import types

from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["anew", "element", "fused", "lanes_of", "launch_bounds", "set_element"]


def element(array: Any, index: int) -> Any:
    """``array[index]``; the index is not negative."""
    if index < 0:
        raise IndexError(f"index {index} of an array in shared memory")
    return array[index]


def set_element(array: Any, index: int, value: Any) -> None:
    """``array[index] = value``; the index is not negative."""
    if index < 0:
        raise IndexError(f"index {index} of an array in shared memory")
    array[index] = value


def anew(value: int) -> int:
    """The value."""
    return value


@device_function(types.int64(types.int64))
def lanes_of(count: int) -> int:
    """How many threads a block has: fewer than the kernel says."""
    return int(cuda.blockDim.x)


def launch_bounds(threads: int, blocks: int) -> None:
    """Nothing: what runs at once is few."""


def fused(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, of float32 rounded once, but for ties that float64 makes."""
    with np.errstate(all="ignore"):
        return type(x)(np.float64(x) * np.float64(y) + np.float64(z))
