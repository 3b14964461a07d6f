# SPDX-License-Identifier: Apache-2.0
"""Functions of dtypes; a term stands for its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types import dtypes
from ngraph_rewrite.types.dtypes import DType, as_dtype, promote
from ngraph_rewrite.types.lengths import Length


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, Op) else 1 if isinstance(x, Length) else x


def astype(x: Array, dtype: Any, /, *, copy: bool = True) -> Op:
    """`x` in another dtype; `x` itself if it has it. Floats are truncated to integers, bool is "not zero".

    Terms are immutable, so that `copy` makes no difference.

    Raises:
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.astype(ng.placeholder((3,), name="x"), "int32")
    numpy.cast(x, dtype=dtype('int32'))
    """
    term, wanted = as_term(x), checked("astype", as_dtype, dtype)
    return term if term.dtype == wanted else apply("cast", term, dtype=wanted)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether every value of one dtype, or of the dtype of a term, can be cast to another without loss of kind.

    >>> can_cast("int32", "float64"), can_cast("float32", "int64")
    (True, False)
    """
    return dtypes.can_cast(checked("can_cast", as_dtype, _dtype_of(from_)), checked("can_cast", as_dtype, to))


def finfo(type: Any, /) -> Any:
    """The limits of a float dtype, or of the dtype of a term.

    >>> float(finfo("float32").eps)
    1.1920928955078125e-07
    """
    return dtypes.finfo(np.dtype(_dtype_of(type)))


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of the dtype of a term.

    >>> iinfo("int8").max
    127
    """
    return np.iinfo(_dtype_of(type))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, "bool", "signed integer", "integral", "real floating", "numeric", ...

    >>> isdtype("float32", "real floating"), isdtype("int8", ("bool", "unsigned integer"))
    (True, False)
    """
    wanted = tuple(map(_known_to_numpy, kind)) if isinstance(kind, tuple) else _known_to_numpy(kind)
    return bool(np.isdtype(_known_to_numpy(checked("isdtype", as_dtype, _dtype_of(dtype))), wanted))


def _known_to_numpy(kind: Any) -> Any:
    """A kind or a dtype, a real float that no tensor has in the place of bfloat16, which NumPy counts among no kind."""
    return np.dtype(np.longdouble) if isinstance(kind, np.dtype) and kind == dtypes.BFLOAT16 else kind


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of an arithmetic of terms, arrays, dtypes and numbers; Python's numbers are weak.

    Raises:
        DTypeError: if there is none that is supported.

    >>> result_type("int8", 1), result_type("float32", "int32")
    (dtype('int8'), dtype('float64'))
    """
    return checked("result_type", promote, *map(_dtype_of, arrays_and_dtypes))
