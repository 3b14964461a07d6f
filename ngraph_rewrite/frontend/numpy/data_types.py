# SPDX-License-Identifier: Apache-2.0
"""Functions of dtypes; a term stands for its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.keeping import by_position
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, on_device
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types import dtypes
from ngraph_rewrite.types.dtypes import DType, as_dtype, is_float, kind_of, promote
from ngraph_rewrite.types.lengths import Length

# The letters of each kind of number that the standard names.
_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
    "complex floating": "", "numeric": "iuf",
}  # fmt: skip


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, Op) else 1 if isinstance(x, Length) else x


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Op:
    """`x` in another dtype; `x` itself if it has it. Floats are truncated to integers, bool is "not zero".

    Terms are immutable, so that `copy` makes no difference.

    Raises:
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.astype(ng.placeholder((3,), name="x"), "int32")
    numpy.cast(x, dtype=dtype('int32'))
    """
    on_device("astype", device)
    term, wanted = as_term(x), checked("astype", as_dtype, dtype)
    return term if term.dtype == wanted else apply("cast", term, dtype=wanted)


def bitcast(x: Array, dtype: Any, /) -> Op:
    """The bits of `x` read as another dtype of the same width, as NumPy's ``x.view(dtype)``; names of axes are kept.

    A NaN of float32 or float64 keeps its bits, one of 16 bits may turn quiet. No derivative passes.

    Raises:
        DTypeError: for a dtype of another width, and for bool.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.bitcast(ng.placeholder({"H": 3}, "bfloat16"), "uint16").type
    uint16[H:3]
    """
    wanted = checked("bitcast", as_dtype, dtype)
    return by_position(lambda term: build_term("semi.bitcast", term, dtype=wanted), "bitcast", as_term(x))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether every value of one dtype, or of the dtype of a term, can be cast to another without loss of kind.

    >>> can_cast("int32", "float64"), can_cast("float32", "int64")
    (True, False)
    """
    return dtypes.can_cast(checked("can_cast", as_dtype, _dtype_of(from_)), checked("can_cast", as_dtype, to))


def finfo(type: Any, /) -> Any:
    """The limits of a float dtype, or of the dtype of a term.

    Raises:
        DTypeError: for another dtype.

    >>> float(finfo("float32").eps)
    1.1920928955078125e-07
    """
    dtype = checked("finfo", as_dtype, _dtype_of(type))
    if not is_float(dtype):
        raise DTypeError(f"finfo: {dtype} is no float dtype", where=user_line(), do="ask iinfo for integers")
    return dtypes.finfo(dtype)


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of the dtype of a term.

    Raises:
        DTypeError: for another dtype.

    >>> iinfo("int8").max
    127
    """
    dtype = checked("iinfo", as_dtype, _dtype_of(type))
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo: {dtype} is no integer dtype", where=user_line(), do="ask finfo for floats")
    return np.iinfo(dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, "bool", "signed integer", "integral", "real floating", "numeric", ...

    Raises:
        AttributeValueError: for what is no kind.

    >>> isdtype("float32", "real floating"), isdtype("int8", ("bool", "unsigned integer"))
    (True, False)
    """
    given = checked("isdtype", as_dtype, _dtype_of(dtype))
    return any(_is_kind(given, one) for one in (kind if isinstance(kind, tuple) else (kind,)))


def _is_kind(dtype: DType, kind: Any) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return kind_of(dtype) in _KINDS[kind]
    if not isinstance(kind, str) and kind is not None:
        return bool(dtype == checked("isdtype", as_dtype, kind))
    do = f"give a dtype, or one of {', '.join(_KINDS)}"
    raise AttributeValueError(f"isdtype: the kind is {kind!r}", where=user_line(), do=do)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of an arithmetic of terms, arrays, dtypes and numbers; Python's numbers are weak.

    Raises:
        DTypeError: if there is none that is supported.
        ArgumentError: if nothing is given.

    >>> result_type("int8", 1), result_type("float32", "int32")
    (dtype('int8'), dtype('float64'))
    """
    if not arrays_and_dtypes:
        raise ArgumentError("result_type: there are no dtypes", where=user_line(), do="give at least one")
    return checked("result_type", promote, *map(_dtype_of, arrays_and_dtypes))
