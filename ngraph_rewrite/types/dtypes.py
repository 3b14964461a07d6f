# SPDX-License-Identifier: Apache-2.0
"""Which dtypes exist and how they promote: NumPy's rules (NEP 50), Python scalars being weak."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError

DType = np.dtype[Any]

DTYPES: tuple[DType, ...] = tuple(
    np.dtype(name)
    for name in ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64").split()
)
_KNOWN = frozenset(DTYPES)
_KINDS = frozenset(map(type, DTYPES))
BOOL, INT64, FLOAT32, FLOAT64 = (np.dtype(name) for name in ("bool", "int64", "float32", "float64"))

# What a Python scalar becomes where no tensor decides.
_SCALARS = {bool: BOOL, int: INT64, float: FLOAT32}


def as_dtype(dtype: Any) -> DType:
    """`dtype` as one of the supported NumPy dtypes; None is float32.

    Raises:
        DTypeError: if it is not one of bool, (u)int8-64, float16/32/64.

    >>> as_dtype("float32"), as_dtype(None)
    (dtype('float32'), dtype('float32'))
    """
    if type(dtype) in _KINDS and dtype in _KNOWN:
        return dtype  # type: ignore[no-any-return]
    try:
        found = np.dtype(FLOAT32 if dtype is None else dtype).newbyteorder("=")
    except TypeError as error:
        raise DTypeError(f"{dtype!r} is not a dtype") from error
    if found not in DTYPES:
        raise DTypeError(f"dtype {found} is not supported", do=f"use one of {', '.join(map(str, DTYPES))}")
    return found


def promote(*operands: Any) -> DType:
    """The dtype of an arithmetic of dtypes and Python scalars.

    >>> promote(np.dtype("int8"), 1), promote(np.dtype("float32"), np.dtype("int32"))
    (dtype('int8'), dtype('float64'))
    """
    if len(operands) == 2 and operands[0] is operands[1] and type(operands[0]) in _KINDS:
        return operands[0]  # type: ignore[no-any-return]
    return as_dtype(np.result_type(*operands))


def scalar_dtype(value: Any) -> DType:
    """The dtype of a Python or NumPy scalar on its own: bool, int64 or float32; a NumPy scalar keeps its own."""
    for kind, dtype in _SCALARS.items():
        if type(value) is kind:
            return dtype
    return as_dtype(np.asarray(value).dtype)


def is_float(dtype: DType) -> bool:
    """Whether it is a floating-point dtype."""
    return dtype.kind == "f"
