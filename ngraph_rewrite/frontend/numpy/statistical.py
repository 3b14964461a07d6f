# SPDX-License-Identifier: Apache-2.0
"""Reductions: over all axes, one, or several, of what a mask has; the reduced axes may stay with length 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.masked import (
    Initial,
    begun,
    computed_in,
    counted,
    counts_all,
    deviation_of,
    extreme,
    float_for,
    mask_of,
    mean_of,
    reduced,
    result_of,
    variance_of,
)
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term
from ngraph_rewrite.ops.alignment import totalling
from ngraph_rewrite.ops.checks import as_int, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL


def sum(
    x: Array,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Initial = None,
    where: Array = True,
) -> Op:
    """The sum, 0 of nothing.

    Args:
        axis: Which axes to reduce: one, several, or None for all.
        dtype: What to sum in; by default integers narrower than 64 bits, and bool, are widened.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: What to begin with: a number, or a term without axes.
        where: Which elements count, bool, broadcast to `x`; all if it is not given.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for one named twice.
        DTypeError: for an `initial` that the dtype of the result has not, or a `where` that is not bool.
        AxesError: for a `where` that does not broadcast to `x`, or an `initial` with axes.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3), "int8")
    >>> ng.numpy.sum(x, axis=0, keepdims=True, where=x > 0).type
    int64[1, 3]
    """
    term = as_term(x)
    return _accumulated("sum", "add", counted("sum", term, where, 0), axis, dtype, keepdims, initial)


def prod(
    x: Array,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Initial = None,
    where: Array = True,
) -> Op:
    """The product, 1 of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.prod(ng.placeholder((2, 3)), initial=2.0).type
    float32[]
    """
    term = as_term(x)
    return _accumulated("prod", "multiply", counted("prod", term, where, 1), axis, dtype, keepdims, initial)


def _accumulated(short: str, step: str, x: Op, axis: Axis, dtype: Any, keepdims: bool, initial: Initial) -> Op:
    found = reduced(short, x, axis, keepdims, dtype=totalling(x.dtype) if dtype is None else dtype)
    return begun(short, step, found, initial)


def max(x: Array, /, axis: Axis = None, *, keepdims: bool = False, initial: Initial = None, where: Array = True) -> Op:
    """The greatest element; NaN if any is. The arguments are those of `sum`; `initial` is the greatest of nothing.

    Raises:
        AxesError: of no elements without an `initial`, and as `sum`.
        ArgumentError: for a `where` without an `initial`.
        DTypeError: as `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.max(ng.placeholder((2, 3)), axis=(0, 1)).type
    float32[]
    """
    return extreme("max", as_term(x), axis, keepdims, initial, where)


def min(x: Array, /, axis: Axis = None, *, keepdims: bool = False, initial: Initial = None, where: Array = True) -> Op:
    """The least element; NaN if any is. The arguments and errors are those of `max`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3), name="x")
    >>> ng.numpy.min(x, axis=-1, initial=1.0, where=x > 0).type
    float32[2]
    """
    return extreme("min", as_term(x), axis, keepdims, initial, where)


def any(x: Array, /, axis: Axis = None, *, keepdims: bool = False, where: Array = True) -> Op:
    """Whether any element is not zero; false of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.any(ng.placeholder((2, 3)), axis=0).type
    bool[3]
    """
    return reduced("any", counted("any", as_term(x), where, 0), axis, keepdims)


def all(x: Array, /, axis: Axis = None, *, keepdims: bool = False, where: Array = True) -> Op:
    """Whether no element is zero; true of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.all(ng.placeholder((2, 3)), axis=0).type
    bool[3]
    """
    return reduced("all", counted("all", as_term(x), where, 1), axis, keepdims)


def count_nonzero(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """How many elements are not zero, as int64.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.count_nonzero(ng.placeholder((2, 3))).type
    int64[]
    """
    return reduced("count_nonzero", x, axis, keepdims)


def mean(x: Array, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Array = True) -> Op:
    """The mean, float64 for integers; NaN of nothing. Half precision is summed in single.

    The arguments and errors are those of `sum`; `dtype` is what to compute in, and that of the result.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.mean(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    term = as_term(x)
    if dtype is not None:
        return computed_in(mean, term, dtype, axis=axis, keepdims=keepdims, where=where)
    if counts_all(where):
        return reduced("mean", term, axis, keepdims)
    return result_of(term, mean_of(term, mask_of("mean", term, where), axis, keepdims))


def var(
    x: Array,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    where: Array = True,
    ddof: float = 0.0,
    mean: Array | None = None,
) -> Op:
    """The sum of squared deviations from the mean, over the number of elements minus `correction`.

    1 for `correction` gives the unbiased estimate; where no elements are left to divide by, the result is not finite.
    The other arguments and the errors are those of `sum`; `dtype` is a float dtype, to compute in and of the result.

    Args:
        ddof: NumPy's name of `correction`.
        mean: What to take for the mean, broadcast to `x`, as ``mean(x, axis, keepdims=True)`` gives it.

    Raises:
        ArgumentError: for both a `correction` and a `ddof`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.var(ng.placeholder((2, 3)), axis=1, correction=1).type
    float32[2]
    """
    options = {"axis": axis, "keepdims": keepdims, "where": where, "mean": mean}
    return _spread(var, "variance", as_term(x), dtype, _correction("var", correction, ddof), options)


def std(
    x: Array,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    where: Array = True,
    ddof: float = 0.0,
    mean: Array | None = None,
) -> Op:
    """The square root of `var`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.std(ng.placeholder((2, 3))).type
    float32[]
    """
    options = {"axis": axis, "keepdims": keepdims, "where": where, "mean": mean}
    return _spread(std, "deviation", as_term(x), dtype, _correction("std", correction, ddof), options)


def _spread(
    function: Callable[..., Op], short: str, x: Op, dtype: Any, correction: float, options: Mapping[str, Any]
) -> Op:
    call = function.__name__
    if dtype is not None:
        return computed_in(function, x, float_for(call, dtype), correction=correction, **options)
    axis, keepdims, where, mean = (options[name] for name in ("axis", "keepdims", "where", "mean"))
    if counts_all(where) and mean is None:
        return reduced(short, x, axis, keepdims, correction=correction)
    square = variance_of(x, mask_of(call, x, where), axis, correction, keepdims, mean)
    return result_of(x, deviation_of(square) if function is std else square)


def _correction(call: str, correction: float, ddof: float) -> float:
    if isinstance(ddof, int | float) and not ddof:
        return correction
    if isinstance(correction, int | float) and not correction:
        return ddof
    raise ArgumentError(f"{call}: both correction and ddof are given", where=user_line(), do="give one")


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
