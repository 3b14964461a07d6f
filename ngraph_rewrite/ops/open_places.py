# SPDX-License-Identifier: Apache-2.0
"""Indices of axes of unknown length: whether they fit, only a call tells.

They are looked at as the user wrote them. A rule makes one slice of two, and a place outside of the inner one may
then be inside of what that was cut from; and what counts from the end is -1 if the axis is too short by one. A part
without a fixed number of elements would be empty where less than none are left, as those of NumPy are, while all that
was made of its length, such as a mean or a reversal, counts on what is written. An array of places that is known has to
be inside as a single one does; where a frontend computes with it, it takes the outermost of all positions of the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError, OutOfRangeError
from ngraph_rewrite.ops.indexing import Entry, Index, Triple, canonical_triple
from ngraph_rewrite.ops.simple_parts import full_index, one_index
from ngraph_rewrite.terms.calls_told import located
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, Length, bind


def _items(term: Op) -> Any:
    return term.attribute("items")


# The index of all axes of the first argument, for each op that has one.
_INDEX: Mapping[str, Callable[[Op], Index]] = {
    "axes.tensor_slice": _items,
    "axes.set_slice": _items,
    "numpy.tensor_slice": _items,
    "semi.tensor_slice": _items,
    "semi.update": lambda term: tuple(zip(*term.attrs, strict=True)),
    "simple.tensor_slice": lambda term: full_index(term.args[0].axes, _items(term)),
    "simple.slice_axis": lambda term: one_index(term.args[0].axes, *term.attrs),
}
# What takes the elements at an index along an axis.
_PICKS = ("numpy.gather", "numpy.take_along_axis")
# What a user does not write: an error that names it would say less than one that does not.
_INNER = ("numpy.gather", "semi.update")


def open_places(terms: Iterable[Op]) -> list[Op]:
    """Those of the terms that take a place or a part of an axis of unknown length, or one that such a length tells.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((None, 3), name="x")
    >>> open_places([x, x[0, 1:], x[1:, 0], x[0, 1:][1:]])
    [numpy.tensor_slice(x, items=(0, (1, 3, 1))), numpy.tensor_slice(x, items=((1, n0, 1), 0))]
    """
    return [t for t in terms if (t.definition.name in _INDEX and _is_open(t)) or _picks_of_open(t)]


def _picks_of_open(term: Op) -> bool:
    """Whether it takes elements at a known index along an axis of unknown length."""
    if term.definition.name not in _PICKS or term.args[1].definition.name != "core.constant":
        return False
    return isinstance(term.args[0].shape[term.attribute("axis")], Length) and term.args[1].size != 0


def _is_open(term: Op) -> bool:
    entries = [*_entries(term)]
    return any(isinstance(n, Length) for _, n in entries) or any(_by_lengths(entry) for entry, _ in entries)


def _entries(term: Op) -> Iterator[tuple[Entry, Extent]]:
    """What stands for each axis, and how long that is."""
    return zip(_INDEX[term.definition.name](term), term.args[0].shape, strict=True)


def _by_lengths(entry: Entry) -> bool:
    return any(isinstance(v, Length) for v in (entry if isinstance(entry, tuple) else (entry,)))


def check_places(terms: Iterable[Op], binding: Mapping[str, int]) -> None:
    """Refuse a place outside of its axis, and a part of less than no elements, for the lengths of a call.

    Args:
        terms: Some `open_places`.

    Raises:
        OutOfRangeError: for a place, naming the user's line.
        AxesError: for a part.
    """
    for term in terms:
        try:
            term.axes.bound(binding)
            _check_picks(term, binding) if term.definition.name in _PICKS else _check_entries(term, binding)
        except NGraphRewriteError as error:
            if term.definition.name in _INNER or _is_of_positions(term):
                raise type(error)(error.what, where=term.info.place, do=error.do) from None
            raise located(error, term.definition, term.args, term.info.place) from None


def _check_picks(term: Op, binding: Mapping[str, int]) -> None:
    """Refuse the greatest and the least of a known index if they are outside."""
    x, index = term.args
    axis = term.attribute("axis")
    length, places = bind(x.shape[axis], binding), index.attribute("value").array(index.shape)
    for place in (int(places.max()), int(places.min())):
        if isinstance(length, int) and not -length <= place < length:
            raise _outside(place, axis, length)


def _check_entries(term: Op, binding: Mapping[str, int]) -> None:
    for axis, (entry, open_length) in enumerate(_entries(term)):
        length = bind(open_length, binding)
        if isinstance(entry, tuple) and not (term.definition.name == "semi.update" and _is_place(entry)):
            canonical_triple([bind(v, binding) for v in entry], length)
            continue
        given = entry[0] if isinstance(entry, tuple) else entry
        place = bind(given, binding)
        if isinstance(place, int) and isinstance(length, int) and not 0 <= place < length:
            which = None if _is_of_positions(term) else axis
            raise _outside(place - length if isinstance(given, Length) else place, which, length)


def _is_of_positions(term: Op) -> bool:
    """Whether it takes positions along an axis, which stand for the axis itself."""
    return term.args[0].definition.name == "semi.iota"


def _is_place(triple: Triple) -> bool:
    """Whether a triple is what is written for an integer, where all entries are triples."""
    start, stop, step = triple
    return step == 1 and stop - start == 1


def _outside(index: int, axis: int | None, length: int) -> OutOfRangeError:
    """The axis is None where positions stand for it."""
    return OutOfRangeError(
        f"index {index} is out of range for {'an axis' if axis is None else f'axis {axis}'} of length {length}",
        do=f"use {-length} to {length - 1}" if length else "give arguments with which it is longer",
    )
