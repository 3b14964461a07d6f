# SPDX-License-Identifier: Apache-2.0
"""What all threads of a block find out together: totals, products, extrema and where they are.

Threads of a warp exchange values in pairs, warps through shared memory. The order is always the same, so that results
are, bit for bit. A block has a multiple of 32 threads, at most 1024; the shared array has 32 elements. All threads must
call, and all get the result; a call ends with a barrier, after which the shared array may be used again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda
from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import intrinsic

from ngraph_rewrite.runtime.cuda.device_scalars import WORDS
from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["quotient", "remainder"]

_same = WORDS["same"]
_ALL = 0xFFFFFFFF  # the threads of a warp
_LEAST: dict[str, Any] = {"int64": np.int64(-(2**63)), "float32": np.float32(-np.inf), "float64": np.float64(-np.inf)}
_MOST: dict[str, Any] = {"int64": np.int64(2**63 - 1), "float32": np.float32(np.inf), "float64": np.float64(np.inf)}


# -- values ------------------------------------------------------------------------------------------------------------


def _arithmetic(on_floats: str, on_integers: str) -> Any:
    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, on_floats if isinstance(x, types.Float) else on_integers)(*args)

        return signature(x, x, x), generate

    return intrinsic(typing)


_add, _multiply = _arithmetic("fadd", "add"), _arithmetic("fmul", "mul")


def _reduction(kind: Any, combine: Callable[..., Any], start: Any) -> Any:
    """The function that combines the values of all threads; `start` changes nothing."""
    array = types.Array(kind, 1, "C")

    @device_function(kind(kind))
    def over_warp(value: Any) -> Any:
        for step in (16, 8, 4, 2, 1):
            value = combine(value, cuda.shfl_xor_sync(_ALL, value, step))
        return value

    @device_function(kind(kind, array))
    def over_block(value: Any, shared: Any) -> Any:
        own = cuda.threadIdx.x & 31
        value = over_warp(value)
        if own == 0:
            shared[cuda.threadIdx.x >> 5] = value
        cuda.syncthreads()
        value = shared[own] if own < (cuda.blockDim.x + 31) >> 5 else start
        value = cuda.shfl_sync(_ALL, over_warp(value), 0)
        cuda.syncthreads()
        return value

    return over_block


# -- places ------------------------------------------------------------------------------------------------------------


def _placed_extremum(kind: Any, ahead: Callable[..., Any], start: Any) -> Any:
    """The function that finds the extremum, the first NaN before all, and the least position of those that are it."""
    place, last = types.int64, np.int64(2**63 - 1)
    pair = types.Tuple((kind, place))
    arrays = types.Array(kind, 1, "C"), types.Array(place, 1, "C")

    @device_function(pair(kind, place))
    def over_warp(value: Any, position: int) -> Any:
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_xor_sync(_ALL, value, step)
            there = cuda.shfl_xor_sync(_ALL, position, step)
            if ahead(other, value) or (_same(other, value) and there < position):
                value, position = other, there
        return value, position

    @device_function(pair(kind, place, *arrays))
    def over_block(value: Any, position: int, shared_values: Any, shared_positions: Any) -> Any:
        own = cuda.threadIdx.x & 31
        value, position = over_warp(value, position)
        if own == 0:
            shared_values[cuda.threadIdx.x >> 5] = value
            shared_positions[cuda.threadIdx.x >> 5] = position
        cuda.syncthreads()
        here = own < (cuda.blockDim.x + 31) >> 5
        value, position = over_warp(shared_values[own] if here else start, shared_positions[own] if here else last)
        cuda.syncthreads()
        return cuda.shfl_sync(_ALL, value, 0), cuda.shfl_sync(_ALL, position, 0)

    return over_block


for _dtype, _kind in (("int64", types.int64), ("float32", types.float32), ("float64", types.float64)):
    _number = np.dtype(_dtype).type
    for _name, _function in (
        ("total", _reduction(_kind, _add, _number(-0.0))),
        ("prod", _reduction(_kind, _multiply, _number(1))),
        ("max", _reduction(_kind, WORDS["maximum"], _LEAST[_dtype])),
        ("min", _reduction(_kind, WORDS["minimum"], _MOST[_dtype])),
        ("arg_max", _placed_extremum(_kind, WORDS["above"], _LEAST[_dtype])),
        ("arg_min", _placed_extremum(_kind, WORDS["below"], _MOST[_dtype])),
    ):
        globals()[f"block_{_name}_{_dtype}"] = _function
        __all__.append(f"block_{_name}_{_dtype}")


# -- division ----------------------------------------------------------------------------------------------------------


def _division(name: str, instruction: str) -> Any:
    """A division of numbers that are not negative: the compiler makes it one of 32 bits where both have no more."""

    def typing(context: Any, i: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args)

        return signature(types.int64, types.int64, types.int64), generate

    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


quotient, remainder = _division("quotient", "udiv"), _division("remainder", "urem")
