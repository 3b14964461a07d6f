# SPDX-License-Identifier: Apache-2.0
"""Tiles of a simulated device: arrays that the threads of a block share, with what a device asks of indices."""

import sys
from typing import Any

import numpy as np
from numba import cuda

__all__ = []


def _maker(dtype: str) -> Any:
    def tile(length: int) -> Any:
        arrays = vars(cuda.shared).setdefault("arrays_of_ngraph_rewrite", {})
        caller = sys._getframe(2)  # past the simulator's own
        return arrays.setdefault((caller.f_code, caller.f_lasti), np.zeros(int(length), dtype))

    return cuda.jit(device=True)(tile)


def _within(tile: Any, index: int, count: int) -> slice:
    if not 0 <= index <= len(tile) - count or index % count:
        raise IndexError(f"{count} elements at {index} of a tile of {len(tile)}")
    return slice(int(index), int(index) + count)


def _reader(dtype: str) -> Any:
    def read(tile: Any, index: int) -> Any:
        return tile[_within(tile, index, 1)][0]

    return read


def _writer(dtype: str) -> Any:
    def write(tile: Any, index: int, value: Any) -> None:
        tile[_within(tile, index, 1)] = value

    return write


def _reader_of_four(dtype: str) -> Any:
    def read(tile: Any, index: int) -> Any:
        return tuple(tile[_within(tile, index, 4)])

    return read


def _writer_of_four(dtype: str) -> Any:
    def write(tile: Any, index: int, a: Any, b: Any, c: Any, d: Any) -> None:
        tile[_within(tile, index, 4)] = (a, b, c, d)

    return write


_MAKERS = {
    "tile_": _maker,
    "read_": _reader,
    "write_": _writer,
    "read4_": _reader_of_four,
    "write4_": _writer_of_four,
}
for _dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
    for _prefix, _make in _MAKERS.items():
        globals()[_prefix + _dtype] = _word = _make(_dtype)
        _word.__name__ = _prefix + _dtype
        __all__.append(_prefix + _dtype)
