# SPDX-License-Identifier: Apache-2.0
"""Reductions and running sums that pass over NaN, as if it were not there: of integers they are the plain ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ngraph_rewrite.frontend.numpy.cumulative import cumprod, cumsum
from ngraph_rewrite.frontend.numpy.elementwise import isnan, logical_and, logical_not
from ngraph_rewrite.frontend.numpy.elementwise import where as either
from ngraph_rewrite.frontend.numpy.masked import Initial, beginning, counts_all, mask_of
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, as_term
from ngraph_rewrite.frontend.numpy.searching import argmax, argmin
from ngraph_rewrite.frontend.numpy.statistical import all, max, mean, min, prod, std, sum, var
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import is_float


def nansum(
    x: Array,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Initial = None,
    where: Array = True,
) -> Op:
    """The sum of what is not NaN, 0 of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nansum(ng.placeholder((2, 3)), axis=0).type
    float32[3]
    """
    return sum(_filled(x, 0.0), axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nanprod(
    x: Array,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    keepdims: bool = False,
    initial: Initial = None,
    where: Array = True,
) -> Op:
    """The product of what is not NaN, 1 of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanprod(ng.placeholder((2, 3)), axis=0).type
    float32[3]
    """
    return prod(_filled(x, 1.0), axis, dtype, keepdims=keepdims, initial=initial, where=where)


def nancumsum(x: Array, /, axis: int | None = None, dtype: Any = None) -> Op:
    """The sums so far of what is not NaN; without an axis `x` is flattened first.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nancumsum(ng.placeholder((2, 3)), axis=1).type
    float32[2, 3]
    """
    return cumsum(_filled(x, 0.0), axis, dtype)


def nancumprod(x: Array, /, axis: int | None = None, dtype: Any = None) -> Op:
    """The products so far of what is not NaN; without an axis `x` is flattened first.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nancumprod(ng.placeholder((2, 3))).type
    float32[6]
    """
    return cumprod(_filled(x, 1.0), axis, dtype)


def nanmax(
    x: Array, /, axis: Axis = None, *, keepdims: bool = False, initial: Initial = None, where: Array = True
) -> Op:
    """The greatest element that is not NaN; NaN where all are.

    The arguments and errors are those of `max`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmax(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return _extreme(max, -math.inf, as_term(x), axis, keepdims, initial, where)


def nanmin(
    x: Array, /, axis: Axis = None, *, keepdims: bool = False, initial: Initial = None, where: Array = True
) -> Op:
    """The least element that is not NaN; NaN where all are.

    The arguments and errors are those of `max`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmin(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return _extreme(min, math.inf, as_term(x), axis, keepdims, initial, where)


def nanargmax(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Op:
    """The int64 place of the greatest element that is not NaN; where all are, which NumPy refuses, 0.

    As in NumPy, NaN cannot be told from an infinity if there is nothing greater.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanargmax(ng.placeholder((2, 3)), axis=1).type
    int64[2]
    """
    return argmax(_filled(x, -math.inf), axis=axis, keepdims=keepdims)


def nanargmin(x: Array, /, axis: int | None = None, *, keepdims: bool = False) -> Op:
    """The int64 place of the least element that is not NaN, as `nanargmax` finds the greatest.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanargmin(ng.placeholder((2, 3)), axis=1).type
    int64[2]
    """
    return argmin(_filled(x, math.inf), axis=axis, keepdims=keepdims)


def nanmean(x: Array, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Array = True) -> Op:
    """The mean of what is not NaN; NaN of nothing. Half precision is summed in single.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmean(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return mean(x, axis, dtype, keepdims=keepdims, where=_present(x, where))


def nanvar(
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
    """The sum of squared deviations of what is not NaN, over the number of these elements minus `correction`.

    It is NaN where no elements are left to divide by.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanvar(ng.placeholder((2, 3)), axis=1, correction=1).type
    float32[2]
    """
    return var(x, axis, dtype, correction=correction, keepdims=keepdims, where=_present(x, where), ddof=ddof, mean=mean)


def nanstd(
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
    """The square root of `nanvar`; where that is 0, so is its derivative.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanstd(ng.placeholder((2, 3))).type
    float32[]
    """
    return std(x, axis, dtype, correction=correction, keepdims=keepdims, where=_present(x, where), ddof=ddof, mean=mean)


def _whole(x: Array) -> bool:
    """Whether there can be no NaN."""
    return not is_float(as_term(x).dtype)


def _filled(x: Array, number: float) -> Op:
    """`x` with a number where it is NaN."""
    term = as_term(x)
    return term if _whole(term) else either(isnan(term), number, term)


def _present(x: Array, mask: Array) -> Array:
    """A mask of the elements that are not NaN, of those that a mask has."""
    term = as_term(x)
    if _whole(term):
        return mask
    present = logical_not(isnan(term))
    return present if counts_all(mask) else logical_and(present, mask_of("where", term, mask))


def _extreme(
    function: Callable[..., Op], outermost: float, x: Op, axis: Axis, keepdims: bool, initial: Initial, mask: Array
) -> Op:
    """What a function finds with NaN out of its way; NaN if there is nothing else, in `initial` either."""
    if _whole(x):
        return function(x, axis, keepdims=keepdims, initial=initial, where=mask)
    first = None if initial is None else beginning(function.__name__, x, initial)
    begins = None if first is None else _filled(first, outermost)
    found = function(_filled(x, outermost), axis, keepdims=keepdims, initial=begins, where=mask)
    if isinstance(initial, int | float) and not math.isnan(initial):
        return found
    nothing = all(isnan(x), axis, keepdims=keepdims, where=mask)
    return either(nothing if first is None else logical_and(nothing, isnan(first)), math.nan, found)
