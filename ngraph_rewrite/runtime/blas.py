# SPDX-License-Identifier: Apache-2.0
"""The matrix products of a BLAS: their addresses, from SciPy's public Cython interface, and its number of threads."""

import contextlib
import ctypes
import importlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from pathlib import Path
from types import ModuleType

from ngraph_rewrite.errors import KernelError

_NAMES = {"float32": "sgemm", "float64": "dgemm"}
_MODULE = "scipy.linalg.cython_blas"


@cache
def gemm_address(dtype: str) -> int:
    """Return the address of the Fortran ``?gemm`` for float32 or float64; its integers are 32-bit.

    Raises `KernelError` for another dtype.

    >>> gemm_address("float32") != gemm_address("float64")
    True
    """
    if dtype not in _NAMES:
        raise KernelError(f"BLAS has no matrix product of {dtype}", do="use the dot kernel")
    capsule: object = vars(_interface())["__pyx_capi__"][_NAMES[dtype]]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))


@cache
def _interface() -> ModuleType:
    """The module with the addresses, loaded when first needed: alone in 15 ms, with all of scipy.linalg in 250 ms."""
    if _MODULE not in sys.modules:
        with contextlib.suppress(Exception):  # however SciPy was built: importing it all works too
            return _loaded_alone()
    return importlib.import_module(_MODULE)


def _loaded_alone() -> ModuleType:
    """The extension module without the package around it.

    It does not stay in `sys.modules`, where it would stand without its package: an import finds the same module again.
    """
    scipy = importlib.import_module("scipy")  # small, and says where Windows finds the libraries
    package, _, name = _MODULE.rpartition(".")
    folder = Path(scipy.__path__[0], *package.split(".")[1:])
    spec = FileFinder(str(folder), (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec(_MODULE)
    if spec is None or spec.loader is None:
        raise ImportError(f"no extension module {name} in {folder}")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.modules.pop(_MODULE, None)
    return module


# -- threads -----------------------------------------------------------------------------------------------------------

# What OpenBLAS calls these functions, by how it was built; MKL has two of the same kind.
_THREADS = (
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
)


class Threads:
    """The number of threads of a BLAS, which is one for the whole process, lent to those who share out its calls.

    While anyone holds it, as a context, every call of the BLAS runs on the thread that calls. The first one notes the
    number before, the last one sets it again.

    Args:
        get, set_: The functions that tell and change it.
    """

    def __init__(self, get: Callable[[], int], set_: Callable[[int], object]) -> None:
        self._get, self._set = get, set_
        self._lock, self._holders, self._before = threading.Lock(), 0, 1

    @property
    def number(self) -> int:
        """How many threads the BLAS uses now."""
        return self._get()

    def __enter__(self) -> None:
        with self._lock:
            if not self._holders:
                self._before = self._get()
                if self._before != 1:
                    self._set(1)
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders and self._before != 1:
                self._set(self._before)

    def release(self) -> None:
        """In a forked process: those who held it are not there any more."""
        self._lock = threading.Lock()
        if self._holders:
            self._holders = 0
            self._set(self._before)


@cache
def blas_threads() -> Threads | None:
    """What makes this BLAS run on one thread; None if it has no function for that by a name known here."""
    library = ctypes.PyDLL(_interface().__file__)  # a name is looked up in what it was linked to, too
    for get, set_ in _THREADS:
        if hasattr(library, get) and hasattr(library, set_):
            return Threads(getattr(library, get), getattr(library, set_))
    return None


def _release_in_child() -> None:
    if blas_threads.cache_info().currsize and (threads := blas_threads()) is not None:
        threads.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)
