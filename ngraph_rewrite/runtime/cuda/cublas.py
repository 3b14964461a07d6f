# SPDX-License-Identifier: Apache-2.0
"""cuBLAS, if it is installed: products of matrices that a stream runs, of full precision in any dtype.

It is called as it is, through ctypes: the toolkit's packages for Python have the library, and a finder of it.
"""

from __future__ import annotations

import ctypes
import threading
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
_FINE = (0,)

# What its product takes: where things lie, numbers of 32 bits, and distances of 64; so of the arguments of a launch.
_AT, _NUMBER, _FAR = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
_OPERAND = (_AT, _FAR, _NUMBER, _NUMBER)
_GIVEN: Any = (*[_NUMBER] * 4, *_OPERAND, *_OPERAND, _AT)


@cache
def found() -> ctypes.CDLL | None:
    """The library, or None if there is none, or no driver of a GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except (OSError, RuntimeError):
        return None


def _check(name: str, status: int) -> None:
    if status != 0:
        raise DeviceError(f"{name} failed with status {status}", do="see cuBLAS's list of errors (cublasStatus_t)")


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
        self._lock, self._on_default = threading.Lock(), False  # whether it runs on the default stream
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        self._call("cublasSetMathMode", self._handle, _NO_SHORT_SUMS)

    def _call(self, name: str, *arguments: Any) -> None:
        _check(name, getattr(self._library, name)(*arguments))

    def function(self, name: str) -> Callable[[Sequence[int]], Product]:
        """A function by its name, ``gemm_float32`` and so on: see `ngraph_rewrite.plan.cuda.library`."""
        return partial(Product, self, name.partition("_")[2])

    @property
    def named(self) -> tuple[ctypes.CDLL, ctypes.c_void_p]:
        """The library, and what it knows this by."""
        return self._library, self._handle

    def run(self, call: Callable[[], int], stream: int) -> int:
        """Call a function of the library for a stream, alone; what it says."""
        with self._lock:
            self._run_on(stream)
            return call()

    def _run_on(self, stream: int) -> None:
        """Use a stream from now on; the library forgets its workspace with that. Others than the default may end."""
        if stream or not self._on_default:
            self._on_default = False
            self._call("cublasSetStream_v2", self._handle, ctypes.c_void_p(stream))
            workspace = ctypes.c_void_p(self._workspace), ctypes.c_size_t(WORKSPACE)
            self._call("cublasSetWorkspace_v2", self._handle, *workspace)
            self._on_default = not stream


class Product:
    """A product that the library is asked for as often as one likes: what it takes is made ready once.

    Args:
        dtype: Of all three matrices.
        given: The arguments of a launch, in the order of `ngraph_rewrite.plan.cuda.library`.
    """

    def __init__(self, owner: Cublas, dtype: str, given: Sequence[int]) -> None:
        self._owner, self._given = owner, [kind(x) for kind, x in zip(_GIVEN, given, strict=True)]
        count, m, n, k, a, a_between, a_turned, a_apart, b, b_between, b_turned, b_apart, c = self._given
        (library, handle), kind = owner.named, _NUMBER(_KINDS[dtype])
        number, sums = (ctypes.c_double, _SUMS_OF_FLOAT64) if dtype == "float64" else (ctypes.c_float, _SUMS_OF_FLOAT32)
        left, right = (a, kind, a_apart, a_between), (b, kind, b_apart, b_between)
        one, zero = ctypes.byref(number(1)), ctypes.byref(number(0))
        self._call = partial(
            library.cublasGemmStridedBatchedEx, handle, a_turned, b_turned, m, n, k, one, *left, *right, zero,
            c, kind, m, _FAR(m.value * n.value), count, _NUMBER(sums), _NUMBER(_DEFAULT_ALGORITHM),
        )  # fmt: skip

    def change(self, place: int, now: int) -> None:
        """Have another address in the place of one that was given."""
        self._given[place].value = now

    def run(self, stream: int) -> tuple[int]:
        """Ask for it on a stream.

        Returns:
            That nothing is wrong, as the driver's functions say it.

        Raises:
            DeviceError: if something is.
        """
        status = self._owner.run(self._call, stream)
        if status:
            _check("cublasGemmStridedBatchedEx", status)
        return _FINE
