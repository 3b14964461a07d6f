# SPDX-License-Identifier: Apache-2.0
"""Memory that begins at a cache line, so that vector instructions never straddle two."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNMENT = 64


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
    start = -block.ctypes.data % ALIGNMENT
    array: NDArray[Any] = block[start : start + size].view(dtype).reshape(shape)
    return array
