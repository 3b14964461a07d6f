# SPDX-License-Identifier: Apache-2.0
"""The axes of a simple tensor: features by position, and perhaps the sample axis N and the recurrent axis R.

N and R are matched by what they are, wherever they stand; features are matched one after the other. A result
stands as its *leading* operand does: the first with the most of N and R, and among those with the most axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, FamilyError, IncompatibleAxesError, UnmatchedAxesError
from ngraph_rewrite.ops.checks import extent, position, several
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.lengths import Extent, Length
from ngraph_rewrite.types.tensor import TensorType


class Marker:
    """What marks an axis of a simple tensor: `N` the samples of a batch, `R` the steps of a recurrence.

    In a shape the marker alone is an axis of unknown length, and ``N(32)`` one of length 32; in a list of
    axes the marker stands for the axis that has it.

    >>> N(32), N(), R
    (sample:32, sample:N, R)
    """

    __slots__ = ("length", "name", "role")

    def __init__(self, name: str, role: str, length: str) -> None:
        self.name, self.role, self.length = name, role, Length.symbol(length)

    def __call__(self, length: Extent | None = None) -> Axis:
        """The marked axis of this length; None if it is not known yet."""
        return Axis(None, self.length if length is None else extent(length), self.role)

    def __repr__(self) -> str:
        return self.name


# Unknown lengths are called as those of the axes N and REC of the axes family: the families can meet.
N = Marker("N", "sample", "N")
R = Marker("R", "recurrent", "REC")
MARKERS = (R, N)
# What an axis is matched by: its number among the features, or its marker.
Key = int | Marker


def marker_of(axis: Axis) -> Marker | None:
    """The marker of an axis, or None for a feature.

    >>> marker_of(N(3)), marker_of(Axis(None, 3))
    (N, None)
    """
    roles = axis.roles
    if roles:
        for marker in MARKERS:
            if marker.role in roles:
                return marker
    return None


def keys(axes: Axes) -> tuple[Key, ...]:
    """What each axis is matched by.

    >>> keys(marked((N, 3, 4)))
    (N, 0, 1)
    """
    number = count()
    return tuple([next(number) if marker is None else marker for marker in map(marker_of, axes)])


def features(axes: Axes) -> tuple[Extent, ...]:
    """The lengths of the features, in order."""
    return tuple(a.length for a in axes if marker_of(a) is None)


def length_of(axes: Axes, key: Key) -> Extent:
    """The length of the axis with this key."""
    return axes[keys(axes).index(key)].length


def marked(shape: Any) -> Axes:
    """The axes of a shape of lengths, of `N` and `R`, and of axes without names.

    Raises:
        AxesError: if a marker stands twice, or something is not a length.
        FamilyError: for an axis with a name.

    >>> marked((3, R(5), N))
    Axes(3, recurrent:5, sample:N)
    """
    if isinstance(shape, Axes):
        axes = shape
    else:
        items = shape if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
        axes = Axes(map(_axis, items))
    _check(axes, axes)
    return axes


def _axis(item: Any) -> Axis:
    if isinstance(item, Marker):
        return item()
    return item if isinstance(item, Axis) else Axis(None, extent(item))


def simple(*types: TensorType) -> None:
    """Demand axes without names, at most one of them N and at most one R."""
    for t in types:
        _check(t.axes, t)


def _check(axes: Axes, shown: object) -> None:
    if any(a.name is not None for a in axes):
        raise FamilyError(f"expected axes without names, got {shown!r}", do="write strip(x), or label N and R")
    roles = [a.roles for a in axes if a.roles]
    if any(len(r) > 1 or not r <= {"sample", "recurrent"} for r in roles) or len(set(roles)) < len(roles):
        raise AxesError(f"{shown!r} has axes with the roles {list(map(sorted, roles))}", do="mark one axis N and one R")


# -- keys that a call gives ---------------------------------------------------------------------------


def key_of(x: TensorType, key: Any) -> Key:
    """A key of `x`: a marker that it has, or the number of a feature, counted from the end if negative.

    Raises:
        UnmatchedAxesError: if `x` has no such axis.
        OutOfRangeError: for a number beyond the features.
    """
    if isinstance(key, Marker):
        if key not in keys(x.axes):
            raise UnmatchedAxesError(f"{x!r} has no axis {key}", do="broadcast it along that axis first")
        return key
    return position(key, len(features(x.axes)), "feature axis")


def keys_of(x: TensorType, axes: Any) -> tuple[Key, ...]:
    """Several keys of `x`: features in order, then R and N.

    Raises:
        AttributeValueError: if one is given twice.
    """
    listed = (axes,) if isinstance(axes, int | Marker) else several(axes, "axes")
    found = [key_of(x, a) for a in listed]
    if len(set(found)) != len(found):
        raise AttributeValueError(f"axes {axes} names one axis twice")
    return tuple(k for k in (*range(x.rank), R, N) if k in found)


def old_keys(axes: Axes, new: Iterable[int]) -> tuple[Key | None, ...]:
    """The keys that axes had before the features numbered `new` were put in; None for those.

    >>> old_keys(marked((N, 3, 4)), (0,))
    (N, None, 0)
    """
    own, gone = keys(axes), set(new)
    old = iter(range(len(axes)))
    shift = {k: None if k in gone else next(old) for k in own if isinstance(k, int)}
    return tuple(shift[k] if isinstance(k, int) else k for k in own)


def places(axes: Axes, chosen: Iterable[Key]) -> tuple[int, ...]:
    """Where the axes with these keys stand, in increasing order.

    >>> places(marked((N, 3, 4)), (1, N))
    (0, 2)
    """
    own = keys(axes)
    return tuple(sorted(own.index(k) for k in chosen))


def without(axes: Axes, chosen: Iterable[Key]) -> Axes:
    """The axes that do not have these keys."""
    gone = set(places(axes, chosen))
    return Axes(a for i, a in enumerate(axes) if i not in gone)


# -- how operands combine -----------------------------------------------------------------------------


def leading(*operands: Axes) -> Axes:
    """The operand a result stands as: the first with the most of N and R, then with the most axes.

    >>> leading(marked((3, 4)), marked((N, 4)))
    Axes(sample:N, 4)
    """
    return max(operands, key=lambda a: (len(a) - len(features(a)), len(a)))


def common(*operands: Axes) -> dict[Marker, Axis]:
    """The marked axes of any operand.

    Raises:
        IncompatibleAxesError: if two have different lengths.
    """
    found: dict[Marker, Axis] = {}
    for axis in (a for axes in operands for a in axes):
        marker = marker_of(axis)
        if marker is not None and found.setdefault(marker, axis).length != axis.length:
            raise IncompatibleAxesError(f"{marker} has length {found[marker].length!r} and {axis.length!r}")
    return found


def placed(shape: Sequence[Extent], *operands: Axes) -> Axes:
    """Axes for features of this shape, with N and R where the leading operand has them; others stand last.

    >>> placed((3,), marked((N, 7, 5))), placed((3, 4), marked((7,)), marked((R, N, 7)))
    (Axes(sample:N, 3), Axes(recurrent:REC, sample:N, 3, 4))
    """
    marks, order = common(*operands), _spaced(leading(*operands), len(shape))
    order += [m for m in MARKERS if m in marks and m not in order]
    plain = anonymous(shape)
    return Axes(plain[k] if isinstance(k, int) else marks[k] for k in order)


def _spaced(lead: Axes, count: int) -> list[Key]:
    """The keys of the leading operand, were it of `count` features: N and R before them or behind them."""
    own = keys(lead)
    if len(features(lead)) == count:
        return list(own)
    first = own.index(0) if 0 in own else 0
    return [*own[:first], *range(count), *(k for k in own[first:] if isinstance(k, Marker))]


def together(*operands: Axes) -> Axes:
    """The axes of an elementwise result: equal features, or none; N and R of any operand.

    Raises:
        AxesError: if the features of two operands differ.
        IncompatibleAxesError: if N or R has two lengths.

    >>> together(marked((3,)), marked((N, 3)), Axes())
    Axes(sample:N, 3)
    """
    shapes = list(dict.fromkeys(f for f in map(features, operands) if f))
    if len(shapes) > 1:
        raise AxesError(
            f"expected equal features, got {shapes[0]} and {shapes[1]}",
            do="no length stretches here: broadcast, or reshape, one of them to the features of the other",
        )
    return placed(shapes[0] if shapes else (), *operands)


# -- arrays, for meanings -----------------------------------------------------------------------------


def align(array: Any, have: Axes, want: Axes) -> Any:
    """`array` with its axes in the order of `want`, and length 1 where it has none: NumPy can broadcast it."""
    return aligned_to(array, keys(have), keys(want))


def aligned_to(array: Any, own: Sequence[Key | None], wanted: Sequence[Key | None]) -> Any:
    """As `align`, with the keys of the axes."""
    moved = np.transpose(array, [own.index(k) for k in wanted if k in own])
    return moved.reshape([array.shape[own.index(k)] if k in own else 1 for k in wanted])


def aligned(term: Op, arrays: Iterable[Any], want: Axes) -> list[Any]:
    """The arguments' arrays of a term, each aligned to `want`."""
    return [align(a, arg.axes, want) for a, arg in zip(arrays, term.args, strict=True)]
