# SPDX-License-Identifier: Apache-2.0
"""The addresses of the matrix products of a BLAS, from SciPy's public Cython interface."""

import contextlib
import ctypes
import importlib
import importlib.util
import sys
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
