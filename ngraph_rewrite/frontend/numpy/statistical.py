# SPDX-License-Identifier: Apache-2.0
"""Reductions: over all axes, one, or several; the reduced axes may stay with length 1."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term, places
from ngraph_rewrite.ops.alignment import totalling
from ngraph_rewrite.ops.checks import as_int, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL


def _reduced(short: str, x: Array, axis: Axis, keepdims: bool, **attributes: Any) -> Op:
    term = as_term(x)
    return apply(short, term, axis=places(short, axis, term.rank), keepdims=keepdims, **attributes)


def sum(x: Array, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Op:
    """The sum, 0 of nothing.

    Args:
        axis: Which axes to reduce: one, several, or None for all.
        dtype: What to sum in; by default integers narrower than 64 bits, and bool, are widened.
        keepdims: Whether the reduced axes stay, with length 1.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for one named twice.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.sum(ng.placeholder((2, 3), "int8"), axis=0, keepdims=True).type
    int64[1, 3]
    """
    term = as_term(x)
    return _reduced("sum", term, axis, keepdims, dtype=totalling(term.dtype) if dtype is None else dtype)


def prod(x: Array, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Op:
    """The product, 1 of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.prod(ng.placeholder((2, 3))).type
    float32[]
    """
    term = as_term(x)
    return _reduced("prod", term, axis, keepdims, dtype=totalling(term.dtype) if dtype is None else dtype)


def max(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The greatest element; NaN if any is.

    Raises:
        AxesError: of no elements.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.max(ng.placeholder((2, 3)), axis=(0, 1)).type
    float32[]
    """
    return _reduced("max", x, axis, keepdims)


def min(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The least element; NaN if any is.

    Raises:
        AxesError: of no elements.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.min(ng.placeholder((2, 3)), axis=-1).type
    float32[2]
    """
    return _reduced("min", x, axis, keepdims)


def any(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """Whether any element is not zero; false of nothing.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.any(ng.placeholder((2, 3)), axis=0).type
    bool[3]
    """
    return _reduced("any", x, axis, keepdims)


def all(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """Whether no element is zero; true of nothing.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.all(ng.placeholder((2, 3)), axis=0).type
    bool[3]
    """
    return _reduced("all", x, axis, keepdims)


def count_nonzero(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """How many elements are not zero, as int64.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.count_nonzero(ng.placeholder((2, 3))).type
    int64[]
    """
    return _reduced("count_nonzero", x, axis, keepdims)


def mean(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The mean, float64 for integers; NaN of nothing. Half precision is summed in single.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.mean(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return _reduced("mean", x, axis, keepdims)


def var(x: Array, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Op:
    """The sum of squared deviations from the mean, over the number of elements minus `correction`.

    1 for `correction` gives the unbiased estimate; where no elements are left to divide by, the result is not finite.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.var(ng.placeholder((2, 3)), axis=1, correction=1).type
    float32[2]
    """
    return _reduced("variance", x, axis, keepdims, correction=correction)


def std(x: Array, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Op:
    """The square root of `var`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.std(ng.placeholder((2, 3))).type
    float32[]
    """
    return _reduced("deviation", x, axis, keepdims, correction=correction)


def diff(x: Array, /, n: int = 1, axis: int = -1, prepend: Array | None = None, append: Array | None = None) -> Op:
    """The `n`-th differences of neighbours along an axis; of bool, whether they differ.

    Args:
        prepend, append: Values put before and after `x` along the axis first; a number stands for one element.

    Raises:
        AttributeValueError: for a negative `n`.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.diff(ng.placeholder((2, 5)), n=2).type
    float32[2, 3]
    """
    term = as_term(x)
    place = checked("diff", position, axis, term.rank)
    if checked("diff", as_int, n, "n") < 0:
        raise AttributeValueError(f"diff: n is {n}", where=user_line(), do="give at least 0")
    if n == 0:
        return term
    ends = [None if end is None else _end(term, end, place) for end in (prepend, append)]
    parts = [part for part in (ends[0], term, ends[1]) if part is not None]
    term = concat(parts, axis=place) if len(parts) > 1 else term
    whole: tuple[Any, ...] = (slice(None),) * place
    for _ in range(n):
        later, earlier = (apply("tensor_slice", term, items=(*whole, s)) for s in (slice(1, None), slice(None, -1)))
        term = apply("not_equal" if term.dtype == BOOL else "subtract", later, earlier)
    return term


def _end(term: Op, end: Array, place: int) -> Op:
    """What is put beside a term: a number is repeated along the other axes."""
    given = as_term(end, [term])
    return given if given.rank else broadcast_to(given, (*term.shape[:place], 1, *term.shape[place + 1 :]))
