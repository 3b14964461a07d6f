# SPDX-License-Identifier: Apache-2.0
"""Memory that begins at a cache line, so that vector instructions never straddle two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64
WORTH = 4096  # bytes from which on a result is aligned


def address_of(array: NDArray[Any]) -> int:
    """Where the elements of an array begin."""
    address: int = array.__array_interface__["data"][0]
    return address


def aligned_array(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An uninitialised row-major array whose memory begins at a multiple of 64.

    >>> aligned_array((2, 3), "float32").ctypes.data % 64
    0
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    block = np.empty(size + ALIGNMENT, np.uint8)
    start = -address_of(block) % ALIGNMENT
    array: NDArray[Any] = block[start : start + size].view(dtype).reshape(shape)
    return array


def result_array(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An uninitialised array for a result, which begins at a cache line, as part of a larger one, unless it is small.

    NumPy's arrays begin 16 bytes beyond one: a kernel over rows takes a tenth longer to write there and read again.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return np.empty(shape, dtype) if size < WORTH else aligned_array(shape, dtype)
