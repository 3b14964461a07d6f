# SPDX-License-Identifier: Apache-2.0
"""cuBLAS, if it is installed: products of matrices that a stream runs, of full precision in any dtype.

It is called as it is, through ctypes: the toolkit's packages for Python have the library, and a finder of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

from cuda import pathfinder

from ngraph_rewrite.errors import DeviceError

WORKSPACE = 1 << 25  # bytes, as many as NVIDIA asks for on large GPUs
# The library's numbers for dtypes, and for what sums are held in.
_KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
_SUMS_OF_FLOAT32, _SUMS_OF_FLOAT64 = 68, 70
_NO_SHORT_SUMS = 16  # a mode: what parts of a sum give is no number of 16 bits either
_DEFAULT_ALGORITHM = -1

# Which takes the stream to run on, and the arguments of a launch.
LibraryFunction = Callable[[int, Sequence[int]], None]


@cache
def found() -> ctypes.CDLL | None:
    """The library, or None if there is none, or no driver of a GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except (OSError, RuntimeError):
        return None


class Cublas:
    """The library on the device whose context is current.

    Args:
        workspace: The address of `WORKSPACE` bytes on the device. What runs at once may not share them.

    Raises:
        DeviceError: if it is not installed, or does not start.
    """

    def __init__(self, workspace: int) -> None:
        library = found()
        if library is None:
            raise DeviceError("cuBLAS is not there", do="pip install nvidia-cublas, or leave the op cuda.gemm out")
        self._library, self._workspace, self._handle = library, workspace, ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        self._call("cublasSetMathMode", self._handle, _NO_SHORT_SUMS)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise DeviceError(f"{name} failed with status {status}", do="see cuBLAS's list of errors (cublasStatus_t)")

    def function(self, name: str) -> LibraryFunction:
        """A function by its name, ``gemm_float32`` and so on: see `ngraph_rewrite.plan.cuda.library`."""
        return partial(self._gemm, name.partition("_")[2])

    def _gemm(self, dtype: str, stream: int, given: Sequence[int]) -> None:
        count, m, n, k, a, a_between, a_turned, a_apart, b, b_between, b_turned, b_apart, c = map(int, given)
        is_double, kind = dtype == "float64", _KINDS[dtype]
        number = ctypes.c_double if is_double else ctypes.c_float
        one, zero = number(1), number(0)
        address, long = ctypes.c_void_p, ctypes.c_longlong
        self._call("cublasSetStream_v2", self._handle, address(stream))
        self._call("cublasSetWorkspace_v2", self._handle, address(self._workspace), ctypes.c_size_t(WORKSPACE))
        self._call(
            "cublasGemmStridedBatchedEx",
            self._handle,
            *(a_turned, b_turned, m, n, k),
            ctypes.byref(one),
            *(address(a), kind, a_apart, long(a_between)),
            *(address(b), kind, b_apart, long(b_between)),
            ctypes.byref(zero),
            *(address(c), kind, m, long(m * n)),
            count,
            _SUMS_OF_FLOAT64 if is_double else _SUMS_OF_FLOAT32,
            _DEFAULT_ALGORITHM,
        )
