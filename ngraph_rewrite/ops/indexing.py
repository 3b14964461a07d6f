# SPDX-License-Identifier: Apache-2.0
"""How an index is written: one entry per axis, an integer or the triple of a `range`, already clipped.

A triple ``(start, stop, step)`` stands for the positions ``range(start, stop, step)``: with a negative
step, a stop of -1 means "down to 0". Entries are hashable, and two spellings of one index are equal. An
integer, a start or a stop may be a length that is not known yet, such as ``x.shape[0]``: whether it is
inside, a call will tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, OutOfRangeError
from ngraph_rewrite.ops.checks import as_index, several
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.lengths import Extent, Length, natural

Triple = tuple[Extent, Extent, int]
Entry = int | Extent | Triple
Index = tuple[Entry, ...]


def canonical_index(items: Any, shape: Sequence[Extent]) -> Index:
    """NumPy basic indexing as one entry per axis; an index already written so stays as it is.

    Raises:
        AttributeValueError: for more items than axes, a step of 0, or something that is not an index.
        OutOfRangeError: for an integer beyond the length of its axis.

    >>> canonical_index((-1, slice(None, None, -1)), (4, 3))
    (3, (2, -1, -1))
    >>> canonical_index((..., 0), (4, 3))
    ((0, 4, 1), 0)
    >>> n = Length.symbol("n")
    >>> canonical_index((slice(n), slice(-n, None)), (9, 9))
    ((0, n, 1), (-n + 9, 9, 1))
    """
    items = items if isinstance(items, tuple) else (items,)
    return tuple(_entry(i, n, k) for k, (i, n) in enumerate(zip(spread(items, len(shape)), shape, strict=True)))


def spread(items: tuple[Any, ...], rank: int) -> list[Any]:
    """One item per axis: an ellipsis, or the end, stands for whole axes.

    Raises:
        AttributeValueError: for more items than axes, or a second ellipsis.

    >>> spread((..., 0), 3)
    [slice(None, None, None), slice(None, None, None), 0]
    """
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise AttributeValueError("an index can have only one ellipsis")
    given = len(items) - len(dots)
    if given > rank:
        raise AttributeValueError(f"too many indices: {given} for {rank} axes", do="give at most one per axis")
    cut = dots[0] if dots else len(items)
    return [*items[:cut], *[slice(None)] * (rank - given), *items[cut + len(dots) :]]


def _entry(item: Any, length: Extent, axis: int) -> Entry:
    if isinstance(item, tuple):
        return canonical_triple(item, length)
    if isinstance(item, slice):
        _check_ends(item, axis)
        step = 1 if item.step is None else as_index(item.step, "a step")
        if step == 0:
            raise AttributeValueError("a slice has the step 0", do="use a step of at least 1 or at most -1")
        if isinstance(item.start, Length) or isinstance(item.stop, Length):
            return _slice_by_lengths(item, step, length)
        return _known_slice(item, length) if isinstance(length, int) else _open_slice(item, step, length)
    if isinstance(item, Length):
        return item
    index = as_index(item, f"the index of axis {axis}")
    if isinstance(length, int):
        if not -length <= index < length:
            raise OutOfRangeError(
                f"index {index} is out of range for axis {axis} of length {length}",
                do=f"use {-length} to {length - 1}" if length else None,
            )
        return index % length
    return index if index >= 0 else length + index


def _check_ends(item: slice, axis: int) -> None:
    """Refuse places that are terms: how many elements lie between them is not known before values are."""
    for end in (item.start, item.stop):
        if isinstance(end, Op):
            what = f"a slice of axis {axis} begins or ends at {describe(end, 1)}: its length would depend on values"
            do = (
                f"take so many places as are known: x[{':, ' * axis}start + places], with places = ng.numpy.arange(n), "
                "or ng.constant(np.arange(n), axis) where axes have names"
            )
            raise AttributeValueError(what, do=do)


def _known_slice(item: slice, length: int) -> Triple:
    try:
        return canonical_triple(item.indices(length), length)
    except TypeError as error:
        raise AttributeValueError(f"{item!r} is not a slice of integers") from error


def _open_slice(item: slice, step: int, length: Length) -> Triple:
    """A slice of an unknown length: cut at its ends, every `step`-th element, from either end.

    What is left out has to be there; what is taken is cut off where the axis begins or ends, as NumPy does it. Where
    both ends are counted from one side, both are cut off: then nothing else is said of how many are taken.
    """
    first, last = (item.start, item.stop) if step > 0 else (item.stop, item.start)
    first, last = (None if index is None else as_index(index, "a start or stop") for index in (first, last))
    beside = 0 if step > 0 else -1  # positions downwards begin and end one before
    low = beside if first is None else _low(first, length, beside)
    high = length + beside if last is None else _high(last, length, beside)
    if first is not None and last is not None:
        if (first < 0) == (last < 0):
            return _between(first, last, step, length)
        high = low + natural(high - low) if first < 0 <= last else high  # they may have passed each other
    return (low, high, step) if step > 0 else (high, low, step)


def _between(first: int, last: int, step: int, length: Length) -> Triple:
    """A slice between two places that are counted from one end of the axis."""
    beside = 0 if step > 0 else -1
    if last <= first:
        return 0, 0, 1
    cut = _low if last < 0 else _high
    low = first if first == 0 == beside else cut(first, length, beside)
    high = cut(last, length, beside)
    return (low, high, step) if step > 0 else (high, low, step)


def _low(index: int, length: Length, beside: int) -> Extent:
    """The lower end of a slice, of which `beside` is the lowest."""
    return index if index >= 0 else natural(length + index - beside) + beside


def _high(index: int, length: Length, beside: int) -> Extent:
    """The upper end of a slice: the lesser of a number and the length."""
    return length + index if index < 0 else length - natural(length - index + beside) + beside


def _slice_by_lengths(item: slice, step: int, length: Extent) -> Triple:
    """A slice that begins or ends at a length; it is not cut off at the end of the axis, but has to be inside."""
    start = _place(item, item.start, step > 0, length)
    stop = _place(item, item.stop, step < 0, length)
    if step > 0:
        return canonical_triple((0 if start is None else start, length if stop is None else stop, step), length)
    return canonical_triple((length - 1 if start is None else start, -1 if stop is None else stop, step), length)


def _place(item: slice, value: Any, is_low: bool, length: Extent) -> Extent | None:
    """A start or stop, counted from the beginning of the axis; integers are cut off where NumPy does it."""
    if value is None:
        return None
    if isinstance(value, Length):
        return length + value if natural(-value) == -value else value
    index = as_index(value, "a start or stop")
    if isinstance(length, Length):
        beside = 0 if item.step is None or item.step > 0 else -1
        return _low(index, length, beside) if is_low else _high(index, length, beside)
    first, last, _ = slice(index, index, item.step).indices(length)
    return first if value is item.start else last


def canonical_triple(triple: Sequence[Any], length: Extent) -> Triple:
    """A `range` inside an axis, with the nearest stop that leaves its positions the same.

    >>> canonical_triple((0, 4, 3), 5), canonical_triple((2, 2, 1), 5)
    ((0, 4, 3), (0, 0, 1))
    """
    if len(triple) != 3:
        raise AttributeValueError(f"{triple!r} is not an index", do="give a start, a stop and a step")
    start, stop = (v if isinstance(v, Length) else as_index(v, "a start or stop") for v in triple[:2])
    step = as_index(triple[2], "a step")
    if step == 0:
        raise AttributeValueError("a step is 0", do="use a step of at least 1 or at most -1")
    if not (isinstance(start, int) and isinstance(stop, int)):
        return start, stop, step
    positions = range(start, stop, step)
    if not positions:
        return 0, 0, 1
    if isinstance(length, int) and not (0 <= min(positions[0], positions[-1]) and max(start, positions[-1]) < length):
        what = f"range{(start, stop, step)} leaves an axis of length {length}"
        raise OutOfRangeError(what, do="give positions inside, or arguments with which it is longer")
    if len(positions) == 1:
        return start, start + 1, 1
    return start, positions[-1] + (1 if step > 0 else -1), step


def canonical_triples(shape: Sequence[Extent], **parts: Any) -> dict[str, tuple[Any, ...]]:
    """Starts, stops and steps, one of each for every axis, as canonical ones.

    Raises:
        AttributeValueError: for another number of them, a step of 0, or something that is not an integer.
        OutOfRangeError: for positions outside of the axis.

    >>> canonical_triples((5,), starts=(0,), stops=(4,), steps=(3,))
    {'starts': (0,), 'stops': (4,), 'steps': (3,)}
    """
    given = {name: several(values, name) for name, values in parts.items()}
    if any(len(values) != len(shape) for values in given.values()):
        said = ", ".join(f"{name} {values}" for name, values in given.items())
        raise AttributeValueError(said, do=f"give {len(shape)} of each")
    triples = [canonical_triple(t, n) for t, n in zip(zip(*given.values(), strict=True), shape, strict=True)]
    return dict(zip(given, tuple(zip(*triples, strict=True)) or ((),) * len(given), strict=True))


def count(triple: Triple) -> Extent:
    """How many positions a triple has.

    >>> count((0, 5, 2)), count((4, -1, -2))
    (3, 3)
    """
    start, stop, step = triple
    distance = stop - start if step > 0 else start - stop
    if isinstance(distance, int):
        return max(0, -(-distance // abs(step)))
    return (distance + (abs(step) - 1)) // abs(step)


def as_slice(triple: Triple) -> slice:
    """The triple for NumPy, whose -1 would mean the last position."""
    start, stop, step = triple
    return slice(start, None if stop == -1 else stop, step)


def numpy_index(items: Index) -> tuple[Any, ...]:
    """The index for NumPy."""
    return tuple(as_slice(i) if isinstance(i, tuple) else i for i in items)
