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

import numpy as np
from cuda import pathfinder

from ngraph_rewrite.errors import DeviceError, DeviceMemoryError
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.cuda.device import FREE_SOME
from ngraph_rewrite.runtime.word_calls import word_call

WORKSPACE = 1 << 25  # bytes, as many as NVIDIA asks for on large GPUs
# The library's numbers for dtypes, and for what sums are held in.
_KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 14}
_SUMS_OF_FLOAT32, _SUMS_OF_FLOAT64 = 68, 70
_NO_SHORT_SUMS = 16  # a mode: what parts of a sum give is no number of 16 bits either
_DEFAULT_ALGORITHM = -1
_FINE, _NO_MEMORY = (0,), 3

# What its product takes, as `word_call` has it, and which words the addresses among the arguments of a launch become.
_GEMM = "piiiiip" + "piil" * 2 + "p" + "piil" + "iii"
_PLACES = {4: 8, 8: 12, 12: 17}


@cache
def found() -> ctypes.CDLL | None:
    """The library, or None if there is none, or no driver of a GPU."""
    try:
        ctypes.CDLL("libcuda.so.1")
        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
    except (OSError, RuntimeError):
        return None


def _check(name: str, status: int) -> None:
    if status == _NO_MEMORY:
        raise DeviceMemoryError(f"{name} failed: the GPU has too little memory left", do=FREE_SOME)
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

    def address(self, name: str) -> int:
        """Where a function of the library is."""
        found = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        assert found is not None
        return found

    @property
    def handle(self) -> int:
        """What the library knows this by."""
        return self._handle.value or 0

    def run(self, call: Callable[[int], int], words: int, stream: int) -> int:
        """Call a function of the library for a stream, alone; what it says."""
        with self._lock:
            if stream or not self._on_default:
                self._run_on(stream)
            return call(words)

    def _run_on(self, stream: int) -> None:
        """Use a stream from now on; the library forgets its workspace with that. Others than the default may end."""
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
        count, m, n, k, a, a_between, a_turned, a_apart, b, b_between, b_turned, b_apart, c = given
        kind, double = _KINDS[dtype], dtype == "float64"
        self._factors = np.array([1, 0], np.float64 if double else np.float32)
        one, zero = (address_of(self._factors[n:]) for n in range(2))
        left, right = (a, kind, a_apart, a_between), (b, kind, b_apart, b_between)
        wanted = [a_turned, b_turned, m, n, k, one, *left, *right, zero, c, kind, m, m * n, count]
        ends = [_SUMS_OF_FLOAT64 if double else _SUMS_OF_FLOAT32, _DEFAULT_ALGORITHM]
        function = owner.address("cublasGemmStridedBatchedEx")
        self._words = np.array([function, owner.handle, *wanted, *ends], np.int64)
        self._owner, self._call, self._at = owner, word_call(_GEMM), address_of(self._words)

    def change(self, place: int, now: int) -> None:
        """Have another address in the place of one that was given."""
        self._words[_PLACES[place]] = now

    def run(self, stream: int) -> tuple[int]:
        """Ask for it on a stream.

        Returns:
            That nothing is wrong, as the driver's functions say it.

        Raises:
            DeviceError: if something is.
        """
        status = self._owner.run(self._call, self._at, stream)
        if status:
            _check("cublasGemmStridedBatchedEx", status)
        return _FINE
