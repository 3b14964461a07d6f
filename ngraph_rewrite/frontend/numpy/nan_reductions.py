# SPDX-License-Identifier: Apache-2.0
"""Reductions and running sums that pass over NaN, as if it were not there: of integers they are the plain ones."""

from __future__ import annotations

import math
from typing import Any

from ngraph_rewrite.frontend.numpy.cumulative import cumprod, cumsum
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import divide, isnan, logical_not, multiply, sqrt, subtract, where
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, as_term
from ngraph_rewrite.frontend.numpy.searching import argmax, argmin
from ngraph_rewrite.frontend.numpy.statistical import all, count_nonzero, max, mean, min, prod, sum, var
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import is_float, wide


def nansum(x: Array, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Op:
    """The sum of what is not NaN, 0 of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nansum(ng.placeholder((2, 3)), axis=0).type
    float32[3]
    """
    return sum(_filled(x, 0.0), axis, dtype, keepdims=keepdims)


def nanprod(x: Array, /, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> Op:
    """The product of what is not NaN, 1 of nothing. The arguments and errors are those of `sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanprod(ng.placeholder((2, 3)), axis=0).type
    float32[3]
    """
    return prod(_filled(x, 1.0), axis, dtype, keepdims=keepdims)


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


def nanmax(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The greatest element that is not NaN; NaN where all are.

    Raises:
        AxesError: of no elements.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmax(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    found = max(_filled(x, -math.inf), axis, keepdims=keepdims)
    return found if _whole(x) else where(all(isnan(x), axis, keepdims=keepdims), math.nan, found)


def nanmin(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The least element that is not NaN; NaN where all are.

    Raises:
        AxesError: of no elements.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmin(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    found = min(_filled(x, math.inf), axis, keepdims=keepdims)
    return found if _whole(x) else where(all(isnan(x), axis, keepdims=keepdims), math.nan, found)


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


def nanmean(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The mean of what is not NaN; NaN of nothing. Half precision is summed in single.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmean(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    term = as_term(x)
    return mean(term, axis, keepdims=keepdims) if _whole(term) else astype(_mean(term, axis, keepdims), term.dtype)


def nanvar(x: Array, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Op:
    """The sum of squared deviations of what is not NaN, over the number of these elements minus `correction`.

    It is NaN where no elements are left to divide by.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanvar(ng.placeholder((2, 3)), axis=1, correction=1).type
    float32[2]
    """
    term = as_term(x)
    if _whole(term):
        return var(term, axis, correction=correction, keepdims=keepdims)
    return astype(_variance(term, axis, correction, keepdims), term.dtype)


def nanstd(x: Array, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Op:
    """The square root of `nanvar`; where that is 0, so is its derivative.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanstd(ng.placeholder((2, 3))).type
    float32[]
    """
    term = as_term(x)
    found = nanvar(term, axis, correction=correction, keepdims=keepdims) if _whole(term) else None
    square = _variance(term, axis, correction, keepdims) if found is None else found
    nothing = square <= 0
    root = where(nothing, 0.0, sqrt(where(nothing, 1.0, square)))
    return astype(root, term.dtype) if found is None else root


def _whole(x: Array) -> bool:
    """Whether there can be no NaN."""
    return not is_float(as_term(x).dtype)


def _filled(x: Array, number: float) -> Op:
    """`x` with a number where it is NaN."""
    term = as_term(x)
    return term if _whole(term) else where(isnan(term), number, term)


def _count(x: Op, axis: Axis, keepdims: bool) -> Op:
    return astype(count_nonzero(logical_not(isnan(x)), axis, keepdims=keepdims), wide(x.dtype))


def _mean(x: Op, axis: Axis, keepdims: bool) -> Op:
    total = sum(_filled(x, 0.0), axis, wide(x.dtype), keepdims=keepdims)
    return divide(total, _count(x, axis, keepdims))


def _variance(x: Op, axis: Axis, correction: float, keepdims: bool) -> Op:
    apart = where(isnan(x), 0.0, subtract(astype(x, wide(x.dtype)), _mean(x, axis, True)))
    left = subtract(_count(x, axis, keepdims), correction)
    total = sum(multiply(apart, apart), axis, keepdims=keepdims)
    return where(left > 0, divide(total, where(left > 0, left, 1.0)), math.nan)
