# SPDX-License-Identifier: Apache-2.0
"""Lines of elements that are reduced by their order, in order: what stands at places of them, and NaN if there is one.

Places that are known are taken from the part of a line between them, so that no more of it has to be in order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.errors import LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import clip, isnan, logical_not, logical_or, subtract, where
from ngraph_rewrite.frontend.numpy.operands import Axis, apply, as_term, places
from ngraph_rewrite.frontend.numpy.statistical import count_nonzero, max
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.ops.stretching import Shape, without
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.lengths import product

# Groups of places that are found one after the other sooner than a line is sorted, and elements of a line for each.
_GROUPS, _APART = 4, 2500
# Elements of lines that are sorted whole, side by side, sooner than one of them is found; of 64 bits.
_SHORT, _SHORT_WIDE = 48, 12


class Lines(NamedTuple):
    """What is reduced, in order along an axis.

    Attributes:
        given: The elements.
        term: The same in order; NaN stands last.
        axis: The first axis; or the last one, where lines lie along memory and one place is asked of all.
        last: The place of the last one that counts: a number, or a term, which may have one for each line.
        each: Whether it has.
        shape: The shape of the result.
    """

    given: Op
    term: Op
    axis: int
    last: Any
    each: bool
    shape: Shape

    @property
    def rest(self) -> Shape:
        """The other axes."""
        return without(self.given.shape, (self.axis,))


def lines_of(call: str, x: Op, axis: Axis, keepdims: bool) -> Lines:
    """What a call reduces: all elements along some axes make a line.

    Raises:
        LengthError: of no elements.

    >>> import ngraph_rewrite as ng
    >>> lines = lines_of("median", ng.placeholder((2, 3, 5)), (1, 2), False)
    >>> lines.term.type, lines.axis, lines.last, lines.shape
    (float32[2, 15], 1, 14, (2,))
    """
    reduced, keepdims = places(call, axis, x.rank), checked(call, flag, keepdims, "keepdims")
    rest = [k for k in range(x.rank) if k not in reduced]
    count = product([x.shape[k] for k in reduced])
    if count == 0:
        raise LengthError(f"{call} of no elements: {x.type!r}", where=user_line(), do="give elements")
    shape = without(x.shape, reduced, keepdims)
    each = call.startswith("nan") and is_float(x.dtype)
    axis = 0 if each or sorted(reduced) == list(range(len(reduced))) else len(rest)
    moved = apply("transpose", x, perm=(*rest[:axis], *reduced, *rest[axis:]))
    others = [x.shape[k] for k in rest]
    line = apply("reshape", moved, shape=(*others[:axis], count, *others[axis:]))
    if each:
        last: Any = subtract(count_nonzero(logical_not(isnan(line)), axis=0), 1)
    else:
        last = count - 1 if isinstance(count, int) else subtract(asarray(count), 1)
    return Lines(line, apply("sort", line, axis=axis, descending=False), axis, last, each, shape)


def taken(lines: Lines, places: Any) -> Op:
    """The elements at places, a term or numbers, whose axes come first; those of `each` line have its axes after them.

    >>> import ngraph_rewrite as ng
    >>> taken(lines_of("quantile", ng.placeholder((2, 15)), 1, False), [3, 4, 9]).type
    float32[3, 2]
    """
    if not lines.each:
        return _first(lines, _gathered(lines, places))
    wide_index = clip(astype(as_term(places), "int64"), 0)  # of a line of NaN, the first
    front = wide_index.shape[: wide_index.rank - len(lines.rest)]
    index = apply("reshape", wide_index, shape=(product(front), *lines.rest))
    return apply("reshape", apply("take_along_axis", lines.term, index, axis=0), shape=(*front, *lines.rest))


def _gathered(lines: Lines, places: Any) -> Op:
    """The elements of all lines at places, whose axes stand where lines had theirs: of known ones, of those between."""
    if isinstance(places, Op):
        return apply("gather", lines.term, astype(places, "int64"), axis=lines.axis)
    index = np.asarray(places).astype(np.int64)
    if not index.size or not isinstance(lines.last, int):
        return apply("gather", lines.term, as_term(index), axis=lines.axis)
    groups = _groups(index, lines.last + 1)
    every = np.concatenate([np.arange(begin, end) for begin, end in groups])
    parts = [_sliced(lines, begin, end) for begin, end in groups]
    together = parts[0] if len(parts) == 1 else apply("concat", *parts, axis=lines.axis)
    return apply("gather", together, as_term(np.searchsorted(every, index)), axis=lines.axis)


def _groups(index: Any, count: int) -> list[tuple[int, int]]:
    """Where places that follow one another begin and end: some groups far apart in a long line, or one of all."""
    every = np.unique(index)
    groups = [(int(own[0]), int(own[-1]) + 1) for own in np.split(every, np.flatnonzero(np.diff(every) > 1) + 1)]
    are_few = len(groups) <= _GROUPS and len(groups) * _APART <= count
    return groups if are_few else [(groups[0][0], groups[-1][1])]


def _sliced(lines: Lines, begin: int, end: int) -> Op:
    items: list[Any] = [(0, n, 1) for n in lines.given.shape]
    items[lines.axis] = (begin, end, 1)
    return apply("tensor_slice", lines.term, items=tuple(items))


def both(lines: Lines, low: Any, high: Any) -> tuple[Op, Op]:
    """The elements at two places each, which are taken at once where they are known.

    >>> import ngraph_rewrite as ng
    >>> [side.type for side in both(lines_of("median", ng.placeholder((2, 15)), 1, False), 7, 7)]
    [float32[2], float32[2]]
    """
    if lines.each or isinstance(low, Op):
        return taken(lines, low), taken(lines, high)
    found = taken(lines, np.stack([low, high]))
    return apply("tensor_slice", found, items=(0,)), apply("tensor_slice", found, items=(1,))


def _first(lines: Lines, found: Op) -> Op:
    """What has axes where lines had theirs, with these first."""
    several = found.rank - len(lines.rest)
    if not lines.axis or not several:
        return found
    axes = range(found.rank)
    own, rest = axes[lines.axis : lines.axis + several], [*axes[: lines.axis], *axes[lines.axis + several :]]
    return apply("transpose", found, perm=(*own, *rest))


def with_nan(lines: Lines, found: Op) -> Op:
    """NaN where a line has one, unless these are passed over, and of lines that turn out to have no elements.

    >>> import ngraph_rewrite as ng
    >>> lines = lines_of("median", ng.placeholder((2, 15)), 1, False)
    >>> with_nan(lines, taken(lines, 7)).type
    float32[2]
    """
    asked = not lines.each and is_float(lines.term.dtype)
    if isinstance(lines.last, int):
        return where(isnan(_greatest(lines)), math.nan, found) if asked else found
    if not is_float(found.dtype):
        return found
    bad = lines.last < 0
    if asked:
        bad = logical_or(bad, isnan(taken(lines, clip(lines.last, 0))))
    return where(bad, math.nan, found)


def _greatest(lines: Lines) -> Op:
    """An element that is NaN if any is: the last one of short lines, which are sorted whole."""
    if lines.last >= (_SHORT_WIDE if lines.term.dtype.itemsize == 8 else _SHORT):
        return max(lines.given, lines.axis)
    items: list[Any] = [(0, n, 1) for n in lines.given.shape]
    items[lines.axis] = lines.last
    return apply("tensor_slice", lines.term, items=tuple(items))
