# SPDX-License-Identifier: Apache-2.0
"""Rows put together by numbers that say to which segment each belongs, and numbers as rows that are 1 at one place.

How many segments there are is a shape: it is said where the numbers are a term. Rows of other numbers are dropped.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import full, ones, zeros
from ngraph_rewrite.frontend.numpy.data_types import astype, iinfo
from ngraph_rewrite.frontend.numpy.elementwise import add, divide, equal, less, maximum, minimum, where
from ngraph_rewrite.frontend.numpy.manipulation import expand_dims, moveaxis, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.putting import at
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.ops.alignment import averaging, totalling
from ngraph_rewrite.ops.checks import extent, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, FLOAT32, INT64, DType, as_dtype, is_float, wide
from ngraph_rewrite.types.lengths import Extent


def segment_sum(data: Array, segment_ids: Array, /, num_segments: Extent | None = None) -> Op:
    """The sums of the rows of each segment, 0 of none: row k of the result is the sum of the rows with the number k.

    Half precision is added up in single precision, as `sum` does.

    Args:
        data: Rows, of any rank: the first axes are those of the numbers.
        segment_ids: Integers, in any order. Rows of a negative number, or of one from `num_segments` on, are dropped.
        num_segments: How many segments there are, also a length that is not known yet. If the numbers are known,
            by default one more than the greatest.

    Raises:
        ArgumentError: for numbers that are a term, without `num_segments`.
        AxesError: if the first axes of `data` are not those of the numbers.
        DTypeError: for numbers that are no integers.
        LengthError: for a negative `num_segments`.

    >>> import ngraph_rewrite as ng
    >>> edges, ends = ng.placeholder((None, 3)), ng.placeholder((None,), "int64")
    >>> ng.numpy.segment_sum(edges, ends, 5).type
    float32[5, 3]
    """
    rows, places, count = _given("segment_sum", data, segment_ids, num_segments)
    dtype = totalling(rows.dtype)
    return astype(_sums(astype(rows, wide(dtype)), places, count), dtype)


def segment_mean(data: Array, segment_ids: Array, /, num_segments: Extent | None = None) -> Op:
    """The means of the rows of each segment, 0 of none. The arguments and errors are those of `segment_sum`.

    Half precision is added up in single precision; integers become float64.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.segment_mean(ng.placeholder((4,)), [0, 2, 2, 0]).type
    float32[3]
    """
    rows, places, count = _given("segment_mean", data, segment_ids, num_segments)
    dtype = averaging(rows.dtype)
    rows = astype(rows, wide(dtype))
    sums = _sums(rows, places, count)
    sizes = at(zeros((count,), dtype=INT64))[places].add(ones(places.shape, dtype=INT64))
    sizes = reshape(astype(maximum(sizes, 1), rows.dtype), (count, *(1,) * (sums.rank - 1)))
    return astype(divide(sums, sizes), dtype)


def segment_max(data: Array, segment_ids: Array, /, num_segments: Extent | None = None) -> Op:
    """The greatest of the rows of each segment, element by element: NaN if any is, of none the least of the dtype.

    That is -inf of floats. Equal greatest elements share the derivative evenly. The arguments and errors are those of
    `segment_sum`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.segment_max(ng.placeholder((4, 2)), [0, 2, 2, 0]).type
    float32[3, 2]
    """
    return _extreme("segment_max", "max", data, segment_ids, num_segments)


def segment_min(data: Array, segment_ids: Array, /, num_segments: Extent | None = None) -> Op:
    """The least of the rows of each segment; of none the greatest of the dtype. As `segment_max` otherwise.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.segment_min(ng.placeholder((4, 2)), [0, 2, 2, 0]).type
    float32[3, 2]
    """
    return _extreme("segment_min", "min", data, segment_ids, num_segments)


def one_hot(x: Array, /, num_classes: Extent, *, axis: int = -1, dtype: Any = None) -> Op:
    """1 at the integer `x` along a new axis, and 0 elsewhere.

    Args:
        x: Integers; negative ones count from the end, and one outside gives zeros.
        num_classes: The length of the new axis.
        axis: The place of the new axis in the result.
        dtype: That of the result, float32 by default.

    Raises:
        DTypeError: for what are no integers.
        LengthError: for a negative `num_classes`.
        OutOfRangeError: for a place that is not there.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.one_hot([2, 0, -1], 3))()
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    numbers, count = _integers("one_hot", x), checked("one_hot", extent, num_classes, "num_classes")
    place = checked("one_hot", position, axis, numbers.rank + 1)
    counted = where(less(numbers, 0), add(numbers, count), numbers)
    found = equal(expand_dims(counted, axis=numbers.rank), arange(count))
    kind = FLOAT32 if dtype is None else checked("one_hot", as_dtype, dtype)
    return astype(moveaxis(found, numbers.rank, place), kind)


def _given(call: str, data: Array, ids: Array, count: Extent | None) -> tuple[Op, Op, Extent]:
    """The rows, the places where they go, of which those that are outside are dropped, and how many there are."""
    rows, numbers = as_term(data), _integers(call, ids)
    length = _counted(call, ids) if count is None else checked(call, extent, count, "num_segments")
    if not numbers.rank or rows.shape[: numbers.rank] != numbers.shape:
        what = f"{call}: the numbers {numbers.type!r} are not those of the first axes of {rows.type!r}"
        raise AxesError(what, where=user_line(), do="give one number for each row")
    return rows, where(less(numbers, 0), length, numbers), length


def _counted(call: str, ids: Array) -> int:
    """How many segments known numbers make."""
    if isinstance(ids, Op):
        what = f"{call}: how many segments there are would depend on values"
        raise ArgumentError(what, where=user_line(), do="give num_segments")
    array = np.asarray(ids)
    return max(int(array.max()) + 1, 0) if array.size else 0


def _integers(call: str, x: Array) -> Op:
    """Integers as int64: those that it does not hold are greater than any place."""
    term = as_term(x)
    if term.dtype.kind not in "iu" and not (term.size == 0 and not isinstance(x, Op)):
        raise DTypeError(f"{call}: expected integers, got {term.type!r}", where=user_line(), do="cast them to int64")
    beyond = term.dtype.kind == "u" and term.dtype.itemsize == INT64.itemsize
    return astype(minimum(term, int(iinfo(INT64).max)) if beyond else term, INT64)


def _shape(rows: Op, places: Op, count: Extent) -> tuple[Extent, ...]:
    return (count, *rows.shape[places.rank :])


def _sums(rows: Op, places: Op, count: Extent) -> Op:
    return at(zeros(_shape(rows, places, count), dtype=rows.dtype))[places].add(rows)


def _extreme(call: str, how: str, data: Array, ids: Array, count: Extent | None) -> Op:
    rows, places, length = _given(call, data, ids, count)
    numbers = astype(rows, "uint8") if rows.dtype == BOOL else rows
    start = full(_shape(rows, places, length), _bound(rows.dtype, how), dtype=numbers.dtype)
    place = at(start)[places]
    return astype(place.max(numbers) if how == "max" else place.min(numbers), rows.dtype)


def _bound(dtype: DType, how: str) -> int | float:
    """The least number of a dtype, beside which each is the greatest; or the greatest one."""
    if dtype == BOOL:
        return int(how == "min")
    if is_float(dtype):
        return math.inf if how == "min" else -math.inf
    limits = iinfo(dtype)
    return int(limits.max if how == "min" else limits.min)
