# SPDX-License-Identifier: Apache-2.0
"""The addresses of the matrix products of a BLAS, from SciPy's public Cython interface."""

import ctypes
from collections.abc import Mapping
from functools import cache

from scipy.linalg import cython_blas

from ngraph_rewrite.errors import KernelError

_NAMES = {"float32": "sgemm", "float64": "dgemm"}
_CAPSULES: Mapping[str, object] = vars(cython_blas)["__pyx_capi__"]


@cache
def gemm_address(dtype: str) -> int:
    """Return the address of the Fortran ``?gemm`` for float32 or float64; its integers are 32-bit.

    Raises `KernelError` for another dtype.

    >>> gemm_address("float32") != gemm_address("float64")
    True
    """
    if dtype not in _NAMES:
        raise KernelError(f"BLAS has no matrix product of {dtype}", do="use the dot kernel")
    capsule = _CAPSULES[_NAMES[dtype]]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))
