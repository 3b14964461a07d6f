# SPDX-License-Identifier: Apache-2.0
"""What reductions take beside an array: a mask of the elements that count, and a value to begin with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked, condition_of
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import divide, multiply, sqrt, subtract
from ngraph_rewrite.frontend.numpy.elementwise import where as either
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_number, as_term, places
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, DType, as_dtype, is_float, wide
from ngraph_rewrite.types.lengths import Length

Initial = Array | None


def reduced(short: str, x: Array, axis: Axis, keepdims: bool, **attributes: Any) -> Op:
    """What the reduction called `short` makes of the named axes, or of all."""
    term = as_term(x)
    return apply(short, term, axis=places(short, axis, term.rank), keepdims=keepdims, **attributes)


def counts_all(mask: Array) -> bool:
    """Whether a mask is the default one, with which each element counts."""
    return mask is True


def mask_of(call: str, x: Op, mask: Array) -> Op:
    """A mask as a term as long as what it is for.

    Raises:
        DTypeError: if it is not bool.
        AxesError: if it does not broadcast to the axes of `x`.
    """
    term = as_term(np.True_ if counts_all(mask) else condition_of(call, mask))
    if term.rank > x.rank:
        what = f"{call}: the mask has {term.rank} axes, the array {x.rank}"
        raise AxesError(what, where=user_line(), do="give a mask that broadcasts to the array")
    return broadcast_to(term, x.shape)


def counted(call: str, x: Op, mask: Array, otherwise: Array) -> Op:
    """The elements that a mask has, and something else in place of the others."""
    return x if counts_all(mask) else either(mask_of(call, x, mask), x, astype(beginning(call, x, otherwise), x.dtype))


def beginning(call: str, beside: Op, initial: Array) -> Op:
    """What a reduction begins with, as a term without axes of the dtype of its result.

    Raises:
        DTypeError: if it is a number that does not fit that dtype.
        AxesError: if it is an array with axes.
    """
    if isinstance(initial, np.generic | np.ndarray) and not np.ndim(initial):
        initial = initial.item()
    if isinstance(initial, bool | int | float | Length):
        return as_number(initial, beside.dtype)
    term = as_term(initial)
    if term.rank:
        do = "give one number, or a term without axes"
        raise AxesError(f"{call}: what it begins with has {term.rank} axes", where=user_line(), do=do)
    return astype(term, beside.dtype)


def begun(call: str, short: str, found: Op, initial: Initial) -> Op:
    """What is found, put together with what the reduction began with."""
    return found if initial is None else apply(short, found, beginning(call, found, initial))


def extreme(short: str, x: Op, axis: Axis, keepdims: bool, initial: Initial, mask: Array) -> Op:
    """The greatest or least of the elements that count, and of what to begin with.

    Raises:
        ArgumentError: for a mask, which may have none, without a value to begin with.
    """
    if initial is None:
        if counts_all(mask):
            return reduced(short, x, axis, keepdims)
        what, do = f"{short}: where a mask has no element there is none", "give initial=, which counts too"
        raise ArgumentError(what, where=user_line(), do=do)
    first, axes = beginning(short, x, initial), places(short, axis, x.rank)
    if 0 in [x.shape[place] for place in axes]:
        return broadcast_to(first, reduced("any", x, axis, keepdims).shape)
    outermost = _outermost(short, x.dtype)
    some = _never_empty(counted(short, x, mask, outermost), axes, outermost)
    return apply(f"{short}imum", reduced(short, some, axis, keepdims), first)


def _outermost(short: str, dtype: DType) -> bool | int | float:
    """The least number of a dtype for a maximum, the greatest for a minimum: beside others it makes no difference."""
    if is_float(dtype):
        return -math.inf if short == "max" else math.inf
    if dtype == BOOL:
        return short == "min"
    limits = np.iinfo(dtype)
    return int(limits.min if short == "max" else limits.max)


def _never_empty(x: Op, axes: Iterable[int], number: bool | int | float) -> Op:
    """`x` with a number more along those of these axes that a call may give no elements."""
    for axis in axes:
        if isinstance(x.shape[axis], Length):
            more = broadcast_to(as_number(number, x.dtype), (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
            x = concat([x, more], axis=axis)
    return x


def computed_in(reduction: Callable[..., Op], x: Op, dtype: Any, **options: Any) -> Op:
    """A reduction of `x` in the dtype that is asked for, which its result has."""
    return astype(reduction(astype(x, dtype), **options), dtype)


def float_for(call: str, dtype: Any) -> DType:
    """The dtype in which a spread is asked for.

    Raises:
        DTypeError: if it is no float: deviations would be rounded before they are squared.
    """
    wanted = checked(call, as_dtype, dtype)
    if not is_float(wanted):
        raise DTypeError(f"{call}: dtype is {wanted}", where=user_line(), do="give a float dtype, and cast the result")
    return wanted


def mean_of(x: Op, mask: Op, axis: Axis, keepdims: bool) -> Op:
    """The mean of the elements that a mask has, in the dtype that it is summed in; NaN of none."""
    terms = astype(x, _averaged(x))
    total = reduced("sum", either(mask, terms, 0.0), axis, keepdims, dtype=terms.dtype)
    return divide(total, _count(terms, mask, axis, keepdims))


def variance_of(x: Op, mask: Op, axis: Axis, correction: float, keepdims: bool, mean: Array | None = None) -> Op:
    """The variance of the elements that a mask has, in the dtype that it is summed in, about their mean or another one.

    It is NaN where no elements are left to divide by.

    Raises:
        AxesError: for a `mean` that does not broadcast to `x`.
    """
    dtype = _averaged(x)
    middle = mean_of(x, mask, axis, True) if mean is None else broadcast_to(astype(as_term(mean), dtype), x.shape)
    apart = either(mask, subtract(astype(x, dtype), middle), 0.0)
    left = subtract(_count(apart, mask, axis, keepdims), correction)
    total = reduced("sum", multiply(apart, apart), axis, keepdims, dtype=apart.dtype)
    return either(left > 0, divide(total, either(left > 0, left, 1.0)), math.nan)


def deviation_of(square: Op) -> Op:
    """The square root of a variance; where that is 0, so is its derivative."""
    nothing = square <= 0
    return either(nothing, 0.0, sqrt(either(nothing, 1.0, square)))


def result_of(x: Op, found: Op) -> Op:
    """What was found in a wider dtype, in that of means: the dtype of floats, float64 of others."""
    return astype(found, x.dtype if is_float(x.dtype) else FLOAT64)


def _averaged(x: Op) -> Any:
    return wide(x.dtype) if is_float(x.dtype) else FLOAT64


def _count(beside: Op, mask: Op, axis: Axis, keepdims: bool) -> Op:
    return astype(reduced("count_nonzero", mask, axis, keepdims), beside.dtype)
