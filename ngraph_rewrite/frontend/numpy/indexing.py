# SPDX-License-Identifier: Apache-2.0
"""``x[...]`` as NumPy has it: slices first, then all integer arrays together, which are broadcast with each other.

An index that is a term may point outside: then it reads zeros, where NumPy could raise. One that is known is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, DTypeError, LengthError, OutOfRangeError
from ngraph_rewrite.frontend.numpy.operands import apply
from ngraph_rewrite.frontend.numpy.picking import Index, picked
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.protocols import answers
from ngraph_rewrite.types.lengths import Extent


class Entry(NamedTuple):
    """What stands for at most one axis: an integer, a slice, ``...``, None, or an integer array.

    `length` is that of the axis, where a mask demands one.
    """

    basic: Any = None
    array: Index | None = None
    length: Extent | None = None

    @property
    def takes(self) -> int:
        """How many axes it stands for, once ``...`` is written out."""
        return int(self.array is not None or self.basic is not None)


@answers("item")
def item(x: Op, index: Any) -> Op:
    """What ``x[index]`` is, for a term without names.

    Raises:
        OutOfRangeError: for an integer, or an array with one, beyond the length of its axis; for a mask that does not
            fit its axes.
        AttributeValueError: for more items than axes, a second ``...``, or something that is not an index.
        IncompatibleAxesError: for arrays that do not broadcast with each other.
        DTypeError: for a bool term, whose number of true elements nobody knows yet, or an array of floats.
        LengthError: for a slice or a mask that an unknown length leaves open.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((4, 3, 2), name="x")
    >>> x[1, ..., None, ::-1].shape, x[[0, 2], :, [1, 1]].shape
    ((3, 1, 2), (2, 3))
    """
    steps = understood(x, index)
    found = picked(steps.part, steps.arrays, steps.together) if steps.arrays else steps.part
    return apply("expand_dims", found, axis=steps.new) if steps.new else found


class Steps(NamedTuple):
    """What an index does, one after the other.

    Attributes:
        part: What its slices take, or the term itself, if there are only arrays.
        arrays: The arrays, which are taken from the part together, by axis.
        together: Whether their axes take the place of the first of them; else they come first.
        new: The places of the new axes in the result.
    """

    part: Op
    arrays: Mapping[int, Index]
    together: bool
    new: tuple[int, ...]


def understood(x: Op, index: Any) -> Steps:
    """What ``x[index]`` does. The errors are those of `item`."""
    items = index if isinstance(index, tuple) else (index,)
    read = [entry for i in items for entry in _entries(i)]
    if all(e.array is None for e in read):
        return Steps(
            _sliced(x, [e.basic for e in read if e.basic is not None]), {}, True, _new_places(_spread(read, x.rank))
        )
    entries, together = [_integer_as_array(e) for e in _spread(read, x.rank)], _together(read)
    axes = [e for e in entries if e.takes]
    _check_masks(axes, x)
    part = x
    if any(e.array is None and e.basic != slice(None) for e in axes):
        part = _sliced(x, [slice(None) if e.array is not None else e.basic for e in axes])
    arrays = {k: e.array for k, e in enumerate(axes) if e.array is not None}
    wide = max(len(i.shape) for i in arrays.values())
    return Steps(part, arrays, together, _places_beside(entries, wide, together))


# -- reading the items --------------------------------------------------------------------------------


def _entries(given: Any) -> list[Entry]:
    if isinstance(given, bool | np.bool_):
        raise AttributeValueError(f"the index {given!r}", where=user_line(), do="give integers or slices")
    if not isinstance(given, Op | np.ndarray | list | tuple):
        return [Entry(given)]
    array = given if isinstance(given, Op) else _as_array(given)
    if isinstance(array, np.ndarray) and array.size == 0 and isinstance(given, list | tuple):
        array = array.astype(np.int64)
    if array.dtype.kind == "b":
        return _mask(array)
    if array.dtype.kind not in "iu":
        raise DTypeError(f"an index of {array.dtype}", where=user_line(), do="give integers, or a bool array")
    if isinstance(array, np.ndarray) and array.ndim == 0:
        return [Entry(array.item())]
    return [Entry(None, array)]


def _as_array(given: Any) -> np.ndarray[Any, Any]:
    try:
        return np.asarray(given)
    except ValueError as error:
        do = "give lists of one length"
        raise AttributeValueError(f"the index {given!r} is no array: {error}", where=user_line(), do=do) from None


def _mask(mask: Index) -> list[Entry]:
    if isinstance(mask, Op):
        raise DTypeError(
            f"the bool index {mask!r}: how many elements are true is not known, and so no shape",
            where=user_line(),
            do="use ng.where, multiply by the mask, or say how many: ng.numpy.extract(mask, x, size=...)",
        )
    if not mask.ndim:
        return _entries(bool(mask))
    return [Entry(None, i, n) for i, n in zip(np.nonzero(mask), mask.shape, strict=True)]


def _spread(read: Sequence[Entry], rank: int) -> list[Entry]:
    """One entry per axis, and those of new axes: an ellipsis, or the end, stands for whole axes."""
    dots = [k for k, e in enumerate(read) if e.basic is Ellipsis]
    taken = sum(e.takes for e in read) - len(dots)
    if len(dots) > 1:
        raise AttributeValueError("an index can have only one ellipsis", where=user_line())
    if taken > rank:
        what = f"too many indices: {taken} for {rank} axes"
        raise AttributeValueError(what, where=user_line(), do="give at most one per axis")
    cut = dots[0] if dots else len(read)
    return [*read[:cut], *[Entry(slice(None))] * (rank - taken), *read[cut + len(dots) :]]


def _integer_as_array(entry: Entry) -> Entry:
    """Beside arrays an integer is an array without axes."""
    plain = entry.array is None and entry.basic is not None and not isinstance(entry.basic, slice)
    if not plain or not hasattr(entry.basic, "__index__"):
        return entry
    return Entry(None, np.asarray(entry.basic))


def _together(read: Sequence[Entry]) -> bool:
    """Whether the arrays and integers stand side by side: then so do their axes in the result."""
    kinds = [e.array is not None or hasattr(e.basic, "__index__") for e in read]
    first, last = kinds.index(True), len(kinds) - kinds[::-1].index(True)
    return all(kinds[first:last])


def _check_masks(axes: Sequence[Entry], x: Op) -> None:
    for place, (entry, length) in enumerate(zip(axes, x.shape, strict=True)):
        if entry.length is None or entry.length == length:
            continue
        if not isinstance(length, int):
            raise LengthError(f"a mask for axis {place} of unknown length {length!r}", where=user_line())
        what = f"a mask of {entry.length} elements for axis {place} of length {length}"
        raise OutOfRangeError(what, where=user_line(), do="give it the lengths of its axes")


# -- slices and new axes ------------------------------------------------------------------------------


def _sliced(x: Op, items: Sequence[Any]) -> Op:
    return apply("tensor_slice", x, items=tuple(items))


def _new_places(entries: Sequence[Entry]) -> tuple[int, ...]:
    """Where the new axes stand in the result of an index without arrays."""
    stays = [e for e in entries if e.basic is None or isinstance(e.basic, slice)]
    return tuple(k for k, e in enumerate(stays) if e.basic is None)


def _places_beside(entries: Sequence[Entry], wide: int, together: bool) -> tuple[int, ...]:
    """Where the new axes stand in the result of an index with arrays.

    The `wide` axes of these come first or stay in their place.
    """
    places, at, done = [], 0 if together else wide, not together
    for entry in entries:
        if entry.array is not None:
            at, done = (at, True) if done else (at + wide, True)
            continue
        if not entry.takes:
            places.append(at)
        at += 1
    return tuple(places)
