# SPDX-License-Identifier: Apache-2.0
"""Statistics that ask for the order of elements: ranges, medians and quantiles. They are elements of a sort."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import full
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import (
    add,
    clip,
    divide,
    multiply,
    subtract,
    where,
)
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term, known_array, places
from ngraph_rewrite.frontend.numpy.quantile_methods import METHODS, Method
from ngraph_rewrite.frontend.numpy.sorted_lines import Lines, both, lines_of, taken, with_nan
from ngraph_rewrite.frontend.numpy.statistical import max, min
from ngraph_rewrite.frontend.numpy.weighted_lines import weighted
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import flag, one_of
from ngraph_rewrite.ops.stretching import without
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, is_float, promote, wide
from ngraph_rewrite.types.lengths import Length


def ptp(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The greatest element minus the least.

    Raises:
        AxesError: of no elements.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ptp(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return subtract(max(x, axis, keepdims=keepdims), min(x, axis, keepdims=keepdims))


def median(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The middle element in order, or the mean of the two in the middle; float64 for integers; NaN if any is.

    The median of nothing is NaN.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.median(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return _median("median", x, axis, keepdims)


def nanmedian(x: Array, /, axis: Axis = None, *, keepdims: bool = False) -> Op:
    """The `median` of what is not NaN; NaN where all is.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanmedian(ng.placeholder((2, 3)), axis=1).type
    float32[2]
    """
    return _median("nanmedian", x, axis, keepdims)


def quantile(
    x: Array,
    /,
    q: Array,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Op:
    """Below which number a part `q` of the elements lies; NaN if any is. The axes of `q` come first.

    Args:
        q: Numbers from 0 to 1; terms may be outside, and mean the nearest of these.
        method: Which number, if one between two elements is meant: ``"linear"``, by how far it is from them; the
            ``"lower"``, the ``"higher"`` or the ``"nearest"`` of them; or their ``"midpoint"``. The others are NumPy's:
            ``"inverted_cdf"``, ``"averaged_inverted_cdf"``, ``"closest_observation"``,
            ``"interpolated_inverted_cdf"``, ``"hazen"``, ``"weibull"``, ``"median_unbiased"``, ``"normal_unbiased"``.
        weights: How often each element counts, of the shape of `x`, or of its axes that are reduced; with the method
            ``"inverted_cdf"``.

    Raises:
        AttributeValueError: for another method, or a number that is not from 0 to 1.
        DTypeError: of bool.
        LengthError: of no elements. A call in which an axis turns out to have none gives NaN, and 0 for an integer.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.quantile(ng.placeholder((2, 3)), 0.9, axis=1).type
    float32[2]
    """
    return _quantile("quantile", x, q, 1, axis, method, keepdims, weights)


def percentile(
    x: Array,
    /,
    q: Array,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Op:
    """`quantile` of ``q / 100``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.percentile(ng.placeholder((2, 3), "int8"), [25, 75], axis=1).type
    float64[2, 2]
    """
    return _quantile("percentile", x, q, 100, axis, method, keepdims, weights)


def nanquantile(
    x: Array,
    /,
    q: Array,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Op:
    """The `quantile` of what is not NaN; NaN where all is.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanquantile(ng.placeholder((2, 3)), 0.9, axis=1).type
    float32[2]
    """
    return _quantile("nanquantile", x, q, 1, axis, method, keepdims, weights)


def nanpercentile(
    x: Array,
    /,
    q: Array,
    axis: Axis = None,
    *,
    method: str = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Op:
    """The `percentile` of what is not NaN; NaN where all is.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nanpercentile(ng.placeholder((2, 3)), 50, axis=1).type
    float32[2]
    """
    return _quantile("nanpercentile", x, q, 100, axis, method, keepdims, weights)


def _median(call: str, x: Array, axis: Axis, keepdims: bool) -> Op:
    term = as_term(x)
    dtype, reduced = averaging(term.dtype), places(call, axis, term.rank)
    if any(term.shape[k] == 0 for k in reduced):
        return full(without(term.shape, reduced, checked(call, flag, keepdims, "keepdims")), math.nan, dtype=dtype)
    lines = lines_of(call, term, axis, keepdims)
    low, high = (astype(side, wide(dtype)) for side in both(lines, lines.last // 2, (lines.last + 1) // 2))
    middle = astype(divide(add(low, high), 2.0), dtype)
    return apply("reshape", with_nan(lines, middle), shape=lines.shape)


def _quantile(
    call: str, x: Array, q: Array, whole: int, axis: Axis, method: str, keepdims: bool, weights: Array | None
) -> Op:
    term = as_term(x)
    if term.dtype == BOOL:
        raise DTypeError(f"{call}: expected numbers, got {term.type!r}", where=user_line(), do="cast them")
    checked(call, one_of, method, METHODS, "method")
    part = _part(call, q, whole, method == "linear")
    if weights is not None:
        if method != "inverted_cdf":
            do = "give method='inverted_cdf', as NumPy asks for it"
            raise AttributeValueError(f"{call}: weights with the method {method!r}", where=user_line(), do=do)
        return weighted(call, term, as_term(weights), as_term(part), axis, keepdims)
    lines = lines_of(call, term, axis, keepdims)
    if lines.each:
        part = np.reshape(part, (*part.shape, *(1,) * (lines.term.rank - 1)))
    chosen, last = METHODS[method], lines.last
    place = chosen.place(part, last if isinstance(last, int) else astype(last, part.dtype))
    rounded = np.positive if method == "linear" and place.dtype.kind in "iu" else chosen.rounded
    if rounded is not None:
        found = taken(lines, _inside(rounded(place), last))
    else:
        found = _between(lines, place, chosen, type(q) in (int, float))
    front = q.shape if isinstance(q, Op) else () if isinstance(q, Length) else np.shape(q)
    return apply("reshape", with_nan(lines, found), shape=(*front, *lines.shape))


def _part(call: str, q: Any, whole: int, linear: bool) -> Any:
    """Parts of 1, as an array if they are known; 0 and 1 may be integers, which take elements as they are."""
    if isinstance(q, Op):
        given = q if is_float(q.dtype) else astype(q, FLOAT64)
        return clip(given if whole == 1 else divide(given, whole), 0.0, 1.0)
    array = known_array(call, "q", q)
    array = array if linear and whole == 1 and array.dtype.kind in "iu" else np.asarray(array / whole)
    if not ((array >= 0) & (array <= 1)).all():
        raise AttributeValueError(f"{call}: q is {q!r}", where=user_line(), do=f"give numbers from 0 to {whole}")
    return array


def _inside(place: Any, last: Any) -> Any:
    return np.minimum(np.maximum(place, 0), last)


def _between(lines: Lines, place: Any, method: Method, weak: bool) -> Op:
    """What lies between two elements, nearer to the one that the place is nearer to."""
    below = np.floor(place)
    low, high = both(lines, _inside(below, lines.last), _inside(below + 1, lines.last))
    share = astype(as_term(method.share(place - below)), place.dtype)
    if not lines.each:
        share = apply("reshape", share, shape=(*share.shape, *(1,) * (lines.term.rank - 1)))
    dtype = averaging(lines.term.dtype) if weak else promote(lines.term.dtype, share.dtype)
    share, low, high = (astype(x, dtype) for x in (share, low, high))
    apart = subtract(high, low)
    from_high = subtract(high, multiply(apart, subtract(1.0, share)))
    return where(share >= 0.5, from_high, add(low, multiply(apart, share)))
