# SPDX-License-Identifier: Apache-2.0
"""Warps of a simulated device: each is one thread, which has nobody to exchange values with."""

from typing import Any

from numba import cuda
from numba.core import types

from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["warp", "warp_lanes", "warps"]


def warp_lanes() -> int:
    """How many threads a warp has."""
    return 1


@device_function(types.int64())
def warp() -> int:
    """The number of this warp in the grid."""
    return int(cuda.grid(1))


@device_function(types.int64())
def warps() -> int:
    """How many warps the grid has."""
    return int(cuda.gridsize(1))


def _shuffled(value: Any, apart: int) -> Any:
    return value


for _dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
    globals()[f"shuffled_{_dtype}"] = _shuffled
    __all__.append(f"shuffled_{_dtype}")
