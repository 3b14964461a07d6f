# SPDX-License-Identifier: Apache-2.0
"""Memory of a simulated device, which is memory of this process, and none but what was allowed.

An access outside of what is `permitted` is an `IndexError`, so that a kernel that would read or write what is not its
own is found out.
"""

import ctypes
import sys
from typing import Any

import ml_dtypes
import numpy as np
from numba import cuda

from ngraph_rewrite.runtime.cuda import simulated_casts
from ngraph_rewrite.runtime.cuda.hardware import WIDEST
from ngraph_rewrite.runtime.cuda.permitted import is_permitted

__all__ = []

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "bfloat16", "float32", "float64")  # fmt: skip
_OWN = {"bfloat16": np.dtype(ml_dtypes.bfloat16)}


def _elements(address: int, index: int, count: int, dtype: str) -> Any:
    """Some neighbours in memory, as an array."""
    kind = kind_of(dtype)
    begin = int(address) + int(index) * kind.itemsize
    end = begin + count * kind.itemsize
    if not is_permitted(begin, end):
        raise IndexError(
            f"{count} {dtype} at index {index} from address {address:#x} on are outside of what is allowed"
        )
    memory: Any = (ctypes.c_char * (end - begin)).from_address(begin)
    return np.frombuffer(memory, kind)


def kind_of(dtype: str) -> np.dtype[Any]:
    """What an element of a dtype is in memory."""
    return _OWN.get(dtype) or np.dtype(dtype)


def held(value: Any, dtype: str) -> Any:
    """An element of memory as kernels compute with it."""
    if dtype == "bool":
        return np.bool_(value)
    return np.float32(value) if dtype in ("float16", "bfloat16") else value


def _loader(dtype: str) -> Any:
    def load(address: int, index: int, buffer: int) -> Any:
        return held(_elements(address, index, 1, dtype)[0], dtype)

    return load


def _storer(dtype: str) -> Any:
    converted = vars(simulated_casts)[f"to_{dtype}"]

    def store(address: int, index: int, value: Any, buffer: int) -> None:
        _elements(address, index, 1, dtype)[:] = converted(value)

    return store


def aligned(address: int, index: int, count: int, dtype: str) -> Any:
    """Some neighbours in memory, as an array.

    Raises:
        IndexError: if they are outside of what is allowed, or not aligned.
    """
    found = _elements(address, index, count, dtype)
    if found.ctypes.data % min(WIDEST, found.nbytes):
        raise IndexError(f"{count} {dtype} at index {index} from address {address:#x} on are not aligned")
    return found


def _loader_of_four(dtype: str) -> Any:
    def load(address: int, index: int) -> Any:
        return tuple(held(value, dtype) for value in aligned(address, index, 4, dtype))

    return load


def _storer_of_four(dtype: str) -> Any:
    converted = vars(simulated_casts)[f"to_{dtype}"]

    def store(address: int, index: int, a: Any, b: Any, c: Any, d: Any) -> None:
        aligned(address, index, 4, dtype)[:] = [converted(value) for value in (a, b, c, d)]

    return store


def _sharing(dtype: str) -> Any:
    """Arrays by the place that calls for them, as on a device; they live as long as what simulates a launch."""
    kind = np.dtype("float32" if "float16" in dtype else dtype)

    def shared(length: int) -> Any:
        arrays = vars(cuda.shared).setdefault("arrays_of_ngraph_rewrite", {})
        caller = sys._getframe(2)  # past the simulator's own
        return arrays.setdefault((caller.f_code, caller.f_lasti), np.zeros(int(length), kind))

    return cuda.jit(device=True)(shared)


_MAKERS = {
    "load_": _loader,
    "store_": _storer,
    "load4_": _loader_of_four,
    "load4_once_": _loader_of_four,
    "store4_": _storer_of_four,
    "shared_": _sharing,
}
for _dtype in DTYPES:
    for _prefix, _maker in _MAKERS.items():
        globals()[_prefix + _dtype] = _word = _maker(_dtype)
        _word.__name__ = _prefix + _dtype
        __all__.append(_prefix + _dtype)
