# SPDX-License-Identifier: Apache-2.0
"""Elements in order, or rows, by their first elements, then their second ones, and so on, and which differ.

Each column of rows is a sort, so that how many there are has to be known.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.elementwise import (
    equal,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from ngraph_rewrite.frontend.numpy.joining import unstack
from ngraph_rewrite.frontend.numpy.manipulation import moveaxis, reshape, roll
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.numpy.searching import take
from ngraph_rewrite.frontend.numpy.sorting import argsort, lexsort
from ngraph_rewrite.frontend.numpy.statistical import any
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import INT64, is_float
from ngraph_rewrite.types.lengths import product


class Ordered(NamedTuple):
    """Elements, or rows, in ascending order, their places before, and which are the first of those that are equal."""

    values: Op
    order: Op
    first: Op


def ordered(x: Op, equal_nan: bool) -> Ordered:
    """The elements of a vector in order; all NaN are one if `equal_nan`.

    >>> import ngraph_rewrite as ng
    >>> ordered(ng.placeholder((3,)), True).first.type
    bool[3]
    """
    order = argsort(x)
    values = take(x, order)
    before = roll(values, 1)
    new = not_equal(values, before)
    if equal_nan and is_float(x.dtype):
        new = logical_and(new, logical_not(logical_and(isnan(values), isnan(before))))
    return Ordered(values, order, logical_or(new, equal(arange(x.shape[0], dtype=INT64), 0)))


def ordered_slices(call: str, x: Op, axis: Any) -> Ordered:
    """The slices of `x` along an axis, which comes first, in order. NaN is equal to nothing.

    Raises:
        OutOfRangeError: for an axis that is not there.
        LengthError: if it is not known how many elements a slice has.

    >>> import ngraph_rewrite as ng
    >>> ordered_slices("unique", ng.placeholder((None, 3)), 0).values.type
    float32[n0, 3]
    """
    slices = moveaxis(x, checked(call, position, axis, x.rank), 0)
    length = slices.shape[0]
    size = product([checked(call, known_length, n, "a slice") for n in slices.shape[1:]])
    rows = reshape(slices, (length, size))
    places = arange(length, dtype=INT64)
    order = lexsort(unstack(rows, axis=1)[::-1]) if size else places
    values = take(rows, order, axis=0)
    new = logical_or(any(not_equal(values, roll(values, 1, axis=0)), axis=1), equal(places, 0))
    return Ordered(reshape(values, slices.shape), order, new)
