# SPDX-License-Identifier: Apache-2.0
"""The addresses of the matrix products of a BLAS, from SciPy's public Cython interface."""

import ctypes
import importlib
from functools import cache

from ngraph_rewrite.errors import KernelError

_NAMES = {"float32": "sgemm", "float64": "dgemm"}


@cache
def gemm_address(dtype: str) -> int:
    """Return the address of the Fortran ``?gemm`` for float32 or float64; its integers are 32-bit.

    Raises `KernelError` for another dtype.

    >>> gemm_address("float32") != gemm_address("float64")
    True
    """
    if dtype not in _NAMES:
        raise KernelError(f"BLAS has no matrix product of {dtype}", do="use the dot kernel")
    blas = importlib.import_module("scipy.linalg.cython_blas")  # when first needed: SciPy takes 0.15 s to import
    capsule: object = vars(blas)["__pyx_capi__"][_NAMES[dtype]]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))
