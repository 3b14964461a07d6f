# SPDX-License-Identifier: Apache-2.0
"""Which dtypes exist and how they promote: NumPy's rules (NEP 50), Python scalars being weak, and JAX's for bfloat16.

NumPy does not know bfloat16, the upper half of a float32; it is the dtype that ``ml_dtypes`` defines. NumPy's own
promotion, casting and limits do not hold for it, so that what asks for those asks here.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import DTypeError

DType = np.dtype[Any]

DTYPES: tuple[DType, ...] = tuple(
    np.dtype(name)
    for name in ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64").split()
)
KNOWN = {dtype: dtype for dtype in DTYPES}
DTYPE_CLASSES = frozenset(map(type, DTYPES))
BOOL, INT32, INT64 = (np.dtype(name) for name in ("bool", "int32", "int64"))
FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
FLOAT16, BFLOAT16 = np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)

# Numbers of 32 and 64 bits: vectors of them are multiplied and added.
TILED = ("float32", "float64", "int32", "uint32", "int64", "uint64")
# Numbers of 32 bits that are several each: two int16 or bfloat16, or four bytes, of A without a sign or with one.
PACKED = ("pairs", "float_pairs", "quads", "signed_quads")

# What to write in the place of a complex array.
AS_PARTS = "make a complex array of two real terms: ng.numpy.fft.Complex(real, imag)"

# What a Python scalar becomes where no tensor decides.
_SCALARS = {bool: BOOL, int: INT64, float: FLOAT32}


def as_dtype(dtype: Any) -> DType:
    """`dtype` as one of the supported NumPy dtypes; None is float32.

    Raises:
        DTypeError: if it is not one of bool, (u)int8-64, float16/32/64, bfloat16.

    >>> as_dtype("float32"), as_dtype(None), as_dtype("bfloat16")
    (dtype('float32'), dtype('float32'), dtype(bfloat16))
    """
    if type(dtype) in DTYPE_CLASSES and dtype in KNOWN:
        return dtype  # type: ignore[no-any-return]
    try:
        found = np.dtype(FLOAT32 if dtype is None else dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError) as error:  # NumPy reads a text with commas as fields
        raise DTypeError(f"{dtype!r} is not a dtype") from error
    if found not in KNOWN:
        do = f"use one of {', '.join(map(str, DTYPES))}" + (f", or {AS_PARTS}" if found.kind == "c" else "")
        raise DTypeError(f"dtype {found} is not supported", do=do)
    return KNOWN[found]


def promote(*operands: Any) -> DType:
    """The dtype of an arithmetic of dtypes and Python scalars.

    Beside bfloat16, as in JAX: float16 makes float32, a wider float is kept, anything else makes bfloat16
    (https://docs.jax.dev/en/latest/type_promotion.html).

    >>> promote(np.dtype("int8"), 1), promote(np.dtype("float32"), np.dtype("int32"))
    (dtype('int8'), dtype('float64'))
    >>> promote(BFLOAT16, 1.5), promote(BFLOAT16, INT64), promote(BFLOAT16, FLOAT16), promote(BFLOAT16, FLOAT64)
    (dtype(bfloat16), dtype(bfloat16), dtype('float32'), dtype('float64'))
    """
    if len(operands) == 2 and type(operands[0]) in DTYPE_CLASSES and operands[0].isnative:
        one, other = operands
        if one is other or (one.kind == "f" and type(other) in _SCALARS):
            return one  # type: ignore[no-any-return]
    dtypes = [_own(x) for x in operands]
    if BFLOAT16 in dtypes:
        return _beside_bfloat16([d for d in dtypes if d is not None and d.kind not in "biu" and d != BFLOAT16])
    return as_dtype(np.result_type(*operands))


def _own(operand: Any) -> DType | None:
    """The dtype of what is not a Python scalar."""
    if isinstance(operand, np.dtype):
        return operand
    return None if type(operand) in _SCALARS else np.result_type(operand)


def _beside_bfloat16(floats: list[DType]) -> DType:
    return as_dtype(np.result_type(FLOAT32, *floats)) if floats else BFLOAT16


def scalar_dtype(value: Any) -> DType:
    """The dtype of a Python or NumPy scalar on its own: bool, int64 or float32; a NumPy scalar keeps its own."""
    for kind, dtype in _SCALARS.items():
        if type(value) is kind:
            return dtype
    return as_dtype(np.asarray(value).dtype)


def is_float(dtype: DType) -> bool:
    """Whether it is a floating-point dtype.

    >>> is_float(BFLOAT16), is_float(INT64)
    (True, False)
    """
    return dtype.kind == "f" or dtype.type is ml_dtypes.bfloat16


def kind_of(dtype: DType) -> str:
    """NumPy's letter for the kind of number: ``b``, ``i``, ``u`` or ``f``, which bfloat16 is as well."""
    return "f" if is_float(dtype) else dtype.kind


def wide(dtype: DType) -> DType:
    """The dtype in which a float is added up: float32 for those of 16 bits, and its own for any other.

    >>> wide(FLOAT16), wide(BFLOAT16), wide(FLOAT64), wide(INT64)
    (dtype('float32'), dtype('float32'), dtype('float64'), dtype('int64'))
    """
    return FLOAT32 if is_float(dtype) and dtype.itemsize == 2 else dtype


def computed(value: Any, dtype: DType) -> NDArray[Any]:
    """What NumPy computed for a result of `dtype`: of bfloat16 it gives a float32 here and there, which is rounded.

    >>> float(computed(np.float32(1.01), BFLOAT16)), computed(np.float32(1.5), FLOAT32)
    (1.0078125, array(1.5, dtype=float32))
    """
    array = np.asarray(value)
    return array.astype(BFLOAT16) if dtype == BFLOAT16 else array


def finfo(dtype: DType) -> Any:
    """The limits of a float dtype, as `numpy.finfo` has them.

    >>> finfo(BFLOAT16).nmant, float(finfo(BFLOAT16).eps), finfo(FLOAT32).nmant
    (7, 0.0078125, 23)
    """
    return ml_dtypes.finfo(dtype) if dtype == BFLOAT16 else np.finfo(dtype)  # type: ignore[no-untyped-call]


def can_cast(dtype: DType, to: DType, casting: str = "safe") -> bool:
    """Whether `numpy.can_cast` allows it; to it, floats of 16 bits are no kin.

    >>> can_cast(BFLOAT16, FLOAT16), can_cast(BFLOAT16, FLOAT16, "same_kind"), can_cast(BFLOAT16, FLOAT32)
    (False, True, True)
    """
    if casting == "same_kind" and is_float(dtype) and is_float(to):
        return True
    return bool(np.can_cast(dtype, to, casting))  # type: ignore[arg-type]


def holds(wider: DType, dtype: DType) -> bool:
    """Whether every value of `dtype` is also one of `wider`.

    >>> holds(FLOAT64, np.dtype("int32")), holds(FLOAT64, INT64)
    (True, False)
    >>> holds(FLOAT32, BFLOAT16), holds(FLOAT16, BFLOAT16), holds(BFLOAT16, np.dtype("uint8"))
    (True, False, True)
    """
    if wider == dtype or dtype.kind == "b":
        return True
    if wider.kind == "b":
        return False
    if is_float(dtype):
        return is_float(wider) and wider.itemsize > dtype.itemsize
    bits = 8 * dtype.itemsize - (dtype.kind == "i")
    if is_float(wider):
        return bits <= int(finfo(wider).nmant) + 1
    return (wider.kind == "i" or dtype.kind == "u") and bits <= 8 * wider.itemsize - (wider.kind == "i")
