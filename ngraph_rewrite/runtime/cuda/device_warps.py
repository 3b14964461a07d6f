# SPDX-License-Identifier: Apache-2.0
"""What the threads of a warp do together: `shuffled_float32` and so on give a thread what the one so far apart has."""

from typing import Any

import numpy as np
from numba import cuda
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["warp", "warp_lanes", "warps"]

_EVERY = 0xFFFFFFFF
# As which type values travel that no instruction exchanges.
_CARRIED = {
    "bool": np.int32,
    **dict.fromkeys(("int8", "int16", "uint8", "uint16", "uint32"), np.int32),
    "uint64": np.int64,
}


@device_function(signature(types.int64))
def warp_lanes() -> int:
    """How many threads a warp has."""
    return WARP


@device_function(signature(types.int64))
def warp() -> int:
    """The number of this warp in the grid."""
    number: int = cuda.grid(1) // WARP
    return number


@device_function(signature(types.int64))
def warps() -> int:
    """How many warps the grid has."""
    count: int = cuda.gridsize(1) // WARP
    return count


def _shuffled(dtype: str) -> Any:
    kind = types.boolean if dtype == "bool" else getattr(types, dtype)
    carried: Any = _CARRIED.get(dtype)
    own = np.bool_ if dtype == "bool" else getattr(np, dtype)

    def exchanged(value: Any, apart: int) -> Any:
        return cuda.shfl_xor_sync(_EVERY, value, apart)

    def converted(value: Any, apart: int) -> Any:
        return own(cuda.shfl_xor_sync(_EVERY, carried(value), apart))

    made = exchanged if carried is None else converted
    made.__name__ = made.__qualname__ = f"shuffled_{dtype}"
    return device_function(signature(kind, kind, types.int64))(made)


for _dtype in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split():
    globals()[f"shuffled_{_dtype}"] = _shuffled(_dtype)
    __all__.append(f"shuffled_{_dtype}")
