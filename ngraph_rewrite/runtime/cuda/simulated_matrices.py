# SPDX-License-Identifier: Apache-2.0
"""Matrices that the threads of a warp have together, on a simulated device: each thread has all of a matrix.

What a thread computes of a product is what it would on a device, given that its warp has 32 threads.
"""

from typing import Any

import numpy as np
from numba import cuda

from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.cuda.simulated_memory import kind_of

__all__ = [
    "left_across",
    "left_lines",
    "products_bfloat16",
    "products_float16",
    "right_across",
    "right_lines",
    "tile_as_float32",
]

_LINES, _ACROSS = 16, 8


def left_lines(tile: Any, at: int, pitch: int) -> Any:
    """Rows of a left matrix, which lie along the tile."""
    places = int(at) + np.arange(_LINES)[:, None] * int(pitch) + np.arange(_LINES)
    if at < 0 or places[-1, -1] >= len(tile) or at % _ACROSS or pitch % _ACROSS:
        raise IndexError(f"{_LINES} lines, {pitch} apart, at {at} of a tile of {len(tile)}")
    return tile[places]


def left_across(tile: Any, at: int, pitch: int) -> Any:
    """Rows of a left matrix, which lie across the tile."""
    return left_lines(tile, at, pitch).T


right_lines, right_across = left_lines, left_across  # whose lines are columns


def _product(dtype: str) -> Any:
    kind = kind_of(dtype)

    def products(left: Any, right: Any, which: int, *sums: Any) -> Any:
        own = int(cuda.threadIdx.x) % WARP
        rows, columns = own // 4, _ACROSS * which + 2 * (own % 4)
        found = []
        for number, total in enumerate(sums):
            row = left[rows + _ACROSS * (number // 2)].view(kind).astype(np.float32)
            column = right[columns + number % 2].view(kind).astype(np.float32)
            found.append(np.float32(total + np.sum(row * column, dtype=np.float32)))
        return tuple(found)

    products.__name__ = f"products_{dtype}"
    return cuda.jit(device=True)(products)


products_float16, products_bfloat16 = _product("float16"), _product("bfloat16")


def tile_as_float32(tile: Any) -> Any:
    """The memory of a tile, for other numbers."""
    return tile.view(np.float32)
