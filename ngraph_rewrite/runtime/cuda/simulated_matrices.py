# SPDX-License-Identifier: Apache-2.0
"""Matrices that the threads of a warp have together, on a simulated device: each thread has all of a matrix.

What a thread computes of a product is what it would on a device, given that its warp has 32 threads.
"""

from typing import Any

import numpy as np
from numba import cuda
from numba.core import types

from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.cuda.porting import device_function
from ngraph_rewrite.runtime.cuda.simulated_memory import kind_of

__all__ = [
    "any_of_warp",
    "left_across",
    "left_lines",
    "left_of_bfloat16",
    "left_of_float16",
    "pair_of_bfloat16",
    "pair_of_float16",
    "products_bfloat16",
    "products_float16",
    "quad_largest",
    "quad_sum",
    "right_across",
    "right_lines",
    "rough_exp2",
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


def _tell(kind: str, values: Any) -> Any:
    """What all threads of the warp of this one have, which they tell each other."""
    rooms = vars(cuda.shared).setdefault("arrays_of_ngraph_rewrite", {})
    room = rooms.setdefault(("told", kind), np.zeros((int(cuda.blockDim.x), len(values)), np.float32))
    own = int(cuda.threadIdx.x)
    room[own] = values
    cuda.syncthreads()
    found = room[own // WARP * WARP : own // WARP * WARP + WARP].copy()
    cuda.syncthreads()  # before they tell each other more
    return found


_told: Any = cuda.jit(device=True)(_tell)


def _left(dtype: str) -> Any:
    kind = kind_of(dtype)

    def left_of(*sums: Any) -> Any:
        every, matrix = _told("left", sums), np.zeros((_LINES, _LINES), np.float32)
        for own in range(WARP):
            row, column = own // 4, 2 * (own % 4)
            for number, value in enumerate(every[own]):
                matrix[row + number // 2 % 2 * _ACROSS, column + number % 2 + number // 4 * _ACROSS] = value
        return matrix.astype(kind).view(np.uint16)

    return cuda.jit(device=True)(left_of)


def _pair(dtype: str) -> Any:
    kind = kind_of(dtype)

    def pair_of(x: Any, y: Any) -> Any:
        return np.array([x, y], np.float32).astype(kind).view(np.int32)[0]

    return cuda.jit(device=True)(pair_of)


left_of_float16, left_of_bfloat16 = _left("float16"), _left("bfloat16")
pair_of_float16, pair_of_bfloat16 = _pair("float16"), _pair("bfloat16")


@device_function(types.float32(types.float32))
def quad_largest(value: Any) -> Any:
    """The largest number that any of four threads has which have the same rows of a product; NaN if one is."""
    begin = int(cuda.threadIdx.x) % WARP // 4 * 4
    return np.maximum.reduce(_told("largest", (value,))[begin : begin + 4, 0])


@device_function(types.float32(types.float32))
def quad_sum(value: Any) -> Any:
    """What four threads have together which have the same rows of a product."""
    begin = int(cuda.threadIdx.x) % WARP // 4 * 4
    a, b, c, d = _told("sum", (value,))[begin : begin + 4, 0]
    return (a + b) + (c + d)


@device_function(types.boolean(types.boolean))
def any_of_warp(true: bool) -> Any:
    """Whether it is true of any thread of the warp."""
    return bool(_told("any", (true,)).any())


def rough_exp2(x: Any) -> Any:
    """Two to the power of a float32, to some 20 bits: for what is rounded to 16."""
    return np.exp2(np.float32(x))


def tile_as_float32(tile: Any) -> Any:
    """The memory of a tile, for other numbers."""
    return tile.view(np.float32)
