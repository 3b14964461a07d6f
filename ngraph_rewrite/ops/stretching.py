# SPDX-License-Identifier: Apache-2.0
"""How anonymous axes combine: operands are matched from the last axis on, and a length of 1 stretches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, AxesError, IncompatibleAxesError, LengthError
from ngraph_rewrite.ops.checks import as_int, extent, listed, position
from ngraph_rewrite.types.lengths import Extent, Length, divided, product

Shape = tuple[Extent, ...]


def stretched(*shapes: Sequence[Extent]) -> Shape:
    """The shape to which NumPy broadcasts these shapes.

    An unknown length stands beside an equal one or a literal 1: nothing else is sure to fit.

    Raises:
        IncompatibleAxesError: if two lengths differ and neither is 1, or may differ.

    >>> stretched((3, 1), (4,), ())
    (3, 4)
    """
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(_meet(lengths, place - rank) for place, lengths in enumerate(zip(*padded, strict=True)))


def _meet(lengths: Sequence[Extent], place: int) -> Extent:
    left: Extent = 1
    for right in lengths:
        if left == 1 or left == right:
            left = right
        elif right != 1:
            known = isinstance(left, int) and isinstance(right, int)
            raise IncompatibleAxesError(
                f"axis {place} has the lengths {left!r} and {right!r}{'' if known else ', which may differ'}",
                do="equal lengths combine, and a length of 1 stretches",
            )
    return left


def stretches(have: Sequence[Extent], want: Sequence[Extent]) -> None:
    """Demand that a shape broadcasts to exactly another.

    Raises:
        IncompatibleAxesError: if it does not.
    """
    if len(have) > len(want) or stretched(have, want) != tuple(want):
        what = f"the shape {tuple(have)} does not broadcast to {tuple(want)}"
        raise IncompatibleAxesError(what, do="only lengths of 1 stretch")


def kept_places(have: Sequence[Extent], want: Sequence[Extent]) -> tuple[int, ...]:
    """The axes of `want` along which a shape that broadcasts to it is not repeated.

    >>> kept_places((3, 1), (2, 3, 4))
    (1,)
    """
    more = len(want) - len(have)
    return tuple(k + more for k, n in enumerate(have) if n == want[k + more])


def positions(axes: Any, rank: int) -> tuple[int, ...]:
    """Some axes as increasing positions: an integer, several, or None for all of them.

    Raises:
        OutOfRangeError: if one is outside of the axes.
        AttributeValueError: if one stands twice, or is no integer.

    >>> positions(-1, 3), positions(None, 2), positions((1, 0), 2)
    ((2,), (0, 1), (0, 1))
    """
    if axes is None:
        return tuple(range(rank))
    given = listed(axes)
    places = [position(a, rank) for a in given]
    if len(set(places)) != len(places):
        raise AttributeValueError(f"axis {given} names one axis twice", do="name each axis once")
    return tuple(sorted(places))


def without(shape: Sequence[Extent], places: Iterable[int], keepdims: bool = False) -> Shape:
    """The shape after a reduction over these places: without them, or with lengths of 1 there."""
    gone = set(places)
    return tuple(1 if k in gone else n for k, n in enumerate(shape) if keepdims or k not in gone)


def solved(shape: Any, size: Extent) -> Shape:
    """A shape in which one length may be -1: what is left of the size.

    Raises:
        AxesError: if the size does not allow it.
        AttributeValueError: for a second -1, or what is no length.

    >>> solved((2, -1), 6), solved(-1, Length.symbol("N") * 3)
    ((2, 3), (3*N,))
    """
    given = listed(shape)
    open_places = [k for k, n in enumerate(given) if not isinstance(n, Length) and as_int(n, "a length") == -1]
    if len(open_places) > 1:
        raise AttributeValueError(f"the shape {given} leaves {len(open_places)} lengths open", do="leave one")
    known = [extent(n) for k, n in enumerate(given) if k not in open_places]
    if not open_places:
        return tuple(known)
    rest = divided(size, product(known))
    if rest is None:
        raise AxesError(f"{size!r} elements cannot be divided among the lengths {given}")
    return (*known[: open_places[0]], rest, *known[open_places[0] :])


def known_length(length: Extent, what: str) -> int:
    """A length that has to be a number where the graph is built.

    Raises:
        LengthError: if it is not known yet.
    """
    if isinstance(length, Length):
        raise LengthError(f"{what} has the unknown length {length!r}", do="give the axis a length")
    return length
