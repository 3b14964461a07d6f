# SPDX-License-Identifier: Apache-2.0
"""What an array is: its shape, whether its numbers are real, and NumPy's other names for an array as it is."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import asarray, full_like
from ngraph_rewrite.frontend.numpy.manipulation import reshape
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, Parts, as_term, places
from ngraph_rewrite.ops.checks import as_index
from ngraph_rewrite.ops.stretching import Shape
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, product


def shape(x: Array, /) -> Shape:
    """The lengths of the axes; those that are not known yet have letters.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.shape(ng.placeholder((None, 3)))
    (n0, 3)
    """
    return as_term(x).shape


def ndim(x: Array, /) -> int:
    """How many axes there are.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ndim(ng.placeholder((None, 3)))
    2
    """
    return as_term(x).rank


def size(x: Array, /, axis: Axis = None) -> Extent:
    """How many elements there are, or how many along an axis, or several.

    Raises:
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((None, 3))
    >>> ng.numpy.size(x), ng.numpy.size(x, 1)
    (3*n0, 3)
    """
    term = as_term(x)
    return product([term.shape[k] for k in places("size", axis, term.rank)])


def array(obj: Array, /, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0) -> Op:
    """`asarray` under NumPy's name, with axes of length 1 in front if there are fewer than `ndmin`.

    Terms are immutable, so that `copy` makes no difference for them.

    Raises:
        DTypeError: if it is no array of numbers, or does not fit the dtype; of terms `stack` makes one.
        AttributeValueError: if there has to be a copy, and `copy` is False.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.array([1, 2, 3], "float32", ndmin=2).type
    float32[1, 3]
    """
    term = asarray(obj, dtype=dtype, copy=copy)
    missing = checked("array", as_index, ndmin, "ndmin") - term.rank
    return reshape(term, (*(1,) * missing, *term.shape)) if missing > 0 else term


def asanyarray(obj: Array, /, dtype: Any = None) -> Op:
    """`asarray` under another name of NumPy's.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.asanyarray([1, 2, 3]).type
    int64[3]
    """
    return asarray(obj, dtype=dtype)


def ascontiguousarray(obj: Array, /, dtype: Any = None) -> Op:
    """`asarray` with at least one axis: how elements lie in memory is for a target to say.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ascontiguousarray(7).type
    int64[1]
    """
    return array(obj, dtype, ndmin=1)


def copy(x: Array, /) -> Op:
    """`x` itself if it is a term, which is immutable; else a constant of it.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,))
    >>> ng.numpy.copy(x) is x
    True
    """
    return as_term(x)


# -- complex numbers, of which there are none ------------------------------------------------------------------------


def isreal(x: Array, /) -> Op:
    """True for each element: no number is complex.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.isreal(ng.placeholder((3,))).type
    bool[3]
    """
    return full_like(x, True, dtype="bool")


def iscomplex(x: Array, /) -> Op:
    """False for each element: no number is complex.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.iscomplex(ng.placeholder((3,))).type
    bool[3]
    """
    return full_like(x, False, dtype="bool")


def isrealobj(x: Array | Parts, /) -> bool:
    """Whether an array is none of complex numbers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.isrealobj(ng.placeholder((3,)))
    True
    """
    return not isinstance(x, Parts) and as_term(x).dtype.kind != "c"


def iscomplexobj(x: Array | Parts, /) -> bool:
    """Whether an array is one of complex numbers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.iscomplexobj(ng.numpy.fft.fft(ng.placeholder((3,))))
    True
    """
    return not isrealobj(x)
