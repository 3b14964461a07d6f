# SPDX-License-Identifier: Apache-2.0
"""Arrays as sets: their distinct elements, in ascending order, and which are members. How many is said by ``size``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.chosen import compress, gathered, size_of
from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype, result_type
from ngraph_rewrite.frontend.numpy.elementwise import (
    equal,
    less,
    logical_and,
    logical_not,
    subtract,
)
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import moveaxis, ravel, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.row_orders import ordered, ordered_slices
from ngraph_rewrite.frontend.numpy.searching import searchsorted, take
from ngraph_rewrite.frontend.numpy.sorting import argsort, sort
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, INT32, INT64


class UniqueAll(NamedTuple):
    """The distinct elements, where each stands first, which of them each element is, and how often each stands."""

    values: Op
    indices: Op
    inverse_indices: Op
    counts: Op


class UniqueCounts(NamedTuple):
    """The distinct elements, and how often each stands there."""

    values: Op
    counts: Op


class UniqueInverse(NamedTuple):
    """The distinct elements, and which of them each element is."""

    values: Op
    inverse_indices: Op


def unique_all(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> UniqueAll:
    """The first `size` distinct elements, in ascending order, and all about them: counts are 0 behind all there are.

    Each NaN is an element of its own. Places of first elements are of those in row-major order; behind all there are
    they are the number of elements. Which of the distinct elements each is may go beyond `size`.

    Args:
        size: How many: it may be left out for an array.
        fill_value: What stands behind all there are.

    Raises:
        ArgumentError: for a term without `size`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((5,), "int64")
    >>> found = ng.numpy.unique_all(x, size=4, fill_value=-1)
    >>> with ng.make_transformer("cpu") as transformer:
    ...     print(*transformer.computation(list(found), x)([7, 3, 7, 5, 3]))
    [ 3  5  7 -1] [1 3 0 5] [2 0 2 1 0] [2 1 2 0]
    """
    return _unique("unique_all", x, size, fill_value, False)


def unique_counts(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> UniqueCounts:
    """The first `size` distinct elements, and how often each stands there: see `unique_all`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.unique_counts(ng.placeholder((5,)), size=4).counts.type
    int64[4]
    """
    found = _unique("unique_counts", x, size, fill_value, False)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> UniqueInverse:
    """The first `size` distinct elements, and which of them each element is: see `unique_all`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.unique_inverse(ng.placeholder((2, 3)), size=4).inverse_indices.type
    int64[2, 3]
    """
    found = _unique("unique_inverse", x, size, fill_value, False)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` distinct elements: see `unique_all`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.unique_values(ng.placeholder((5,)), size=4).type
    float32[4]
    """
    return _unique("unique_values", x, size, fill_value, False).values


def unique(
    x: Array,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
    size: Any = None,
    fill_value: Array = 0,
) -> Op | tuple[Op, ...]:
    """The first `size` distinct elements, alone or with what else is wanted, as NumPy has it: all NaN are one.

    Args:
        axis: Along which axis slices are distinct, or are not; as in NumPy those with a NaN always are.
        sorted: Makes no difference: they are in ascending order.

    Raises:
        ArgumentError: for a term without `size`.
        LengthError: if it is not known how many elements a slice has.

    >>> import ngraph_rewrite as ng
    >>> values, counts = ng.numpy.unique(ng.placeholder((5,)), return_counts=True, size=4)
    >>> values.type, counts.type
    (float32[4], int64[4])
    """
    found = _unique("unique", x, size, fill_value, equal_nan, axis)
    wanted = zip(found, (True, return_index, return_inverse, return_counts), strict=True)
    parts = tuple(part for part, said in wanted if said)
    return parts if len(parts) > 1 else parts[0]


def isin(
    element: Array,
    test_elements: Array,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Op:
    """Whether each element is one of some others, or, with `invert`, none of them. NaN is in nothing.

    Args:
        assume_unique, kind: Make no difference.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.isin(ng.placeholder((2, 3)), [1.0, 2.0]).type
    bool[2, 3]
    """
    one, others = as_term(element), ravel(test_elements)
    dtype = result_type(one, others)
    dtype = INT32 if dtype == BOOL else dtype
    one, ordered = astype(one, dtype), sort(astype(others, dtype))
    places = searchsorted(ordered, one)
    found = logical_and(equal(take(ordered, places), one), less(places, ordered.shape[0]))
    return logical_not(found) if invert else found


def union1d(a: Array, b: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` distinct elements of two arrays.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.union1d(ng.placeholder((5,)), [1.0], size=6).type
    float32[6]
    """
    wanted = size_of("union1d", size, lambda: len(np.union1d(np.asarray(a), np.asarray(b))), a, b)
    return unique_values_of(concat([ravel(a), ravel(b)]), wanted, fill_value)


def intersect1d(a: Array, b: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` distinct elements that stand in both of two arrays.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.intersect1d(ng.placeholder((5,)), [1.0], size=1).type
    float32[1]
    """
    return _members(np.intersect1d, a, b, size, fill_value)


def setdiff1d(a: Array, b: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` distinct elements of one array that do not stand in another one.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.setdiff1d(ng.placeholder((5,)), [1.0], size=5).type
    float32[5]
    """
    return _members(np.setdiff1d, a, b, size, fill_value)


def setxor1d(a: Array, b: Array, /, *, size: Any = None, fill_value: Array = 0) -> Op:
    """The first `size` distinct elements that stand in one of two arrays, but not in both. NaN is in nothing.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.setxor1d(ng.placeholder((5,)), [1.0], size=6).type
    float32[6]
    """
    wanted = size_of("setxor1d", size, lambda: len(np.setxor1d(np.asarray(a), np.asarray(b))), a, b)
    dtype = result_type(as_term(a), as_term(b))
    sides = [ordered(astype(ravel(x), dtype), True) for x in (a, b)]
    alone = [logical_and(side.first, isin(side.values, y, invert=True)) for side, y in zip(sides, (b, a), strict=True)]
    both = concat([side.values for side in sides])
    order = argsort(both)
    return gathered(take(concat(alone), order), take(both, order), wanted, fill_value)


def unique_values_of(x: Op, size: Any, fill: Array, equal_nan: bool = True) -> Op:
    """The first distinct elements of a vector."""
    found = ordered(x, equal_nan)
    return gathered(found.first, found.values, size, fill)


def _members(function: Callable[..., Any], a: Array, b: Array, size: Any, fill: Array) -> Op:
    """Those distinct elements that stand in another array too, or those that do not."""
    wanted = size_of(function.__name__, size, lambda: len(function(np.asarray(a), np.asarray(b))), a, b)
    found = ordered(astype(ravel(a), result_type(as_term(a), as_term(b))), True)
    chosen = logical_and(found.first, isin(found.values, b, invert=function is np.setdiff1d))
    return gathered(chosen, found.values, wanted, fill)


def _unique(call: str, x: Array, size: Any, fill: Array, equal_nan: bool, axis: int | None = None) -> UniqueAll:
    if not isinstance(equal_nan, bool):
        raise ArgumentError(f"{call}: equal_nan is {equal_nan!r}", where=user_line(), do="give True or False")
    term = as_term(x)
    along = 0 if axis is None else checked(call, position, axis, term.rank)
    wanted = size_of(call, size, lambda: np.unique(np.asarray(x), axis=axis, equal_nan=equal_nan).shape[along], x)
    found = ordered(ravel(term), equal_nan) if axis is None else ordered_slices(call, term, along)
    length = found.order.shape[0]
    which = subtract(cumulative_sum(astype(found.first, INT64)), 1)
    inverse = at(zeros((length,), dtype=INT64))[found.order].set(which)
    return UniqueAll(
        moveaxis(compress(found.first, found.values, axis=0, size=wanted, fill_value=fill), 0, along),
        gathered(found.first, found.order, wanted, length),
        reshape(inverse, term.shape) if axis is None else inverse,
        at(zeros((wanted,), dtype=INT64))[which].add(1),
    )
