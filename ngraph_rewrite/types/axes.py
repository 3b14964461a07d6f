# SPDX-License-Identifier: Apache-2.0
"""An axis has a name, a length and roles; axes are an ordered set of them, combined by name.

The set algebra is ngraph-python's (``+ - & |``), with one difference: the same name with two
lengths is an error wherever the two meet, not a surprise at run time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from threading import RLock
from typing import Any, Union, overload
from weakref import WeakValueDictionary

import numpy as np

from ngraph_rewrite.errors import (
    ArgumentError,
    AxesError,
    DuplicateAxisNames,
    IncompatibleAxesError,
    OutOfRangeError,
    UnmatchedAxesError,
)
from ngraph_rewrite.types.axis_checks import called, checked_length, checked_name, checked_roles
from ngraph_rewrite.types.immutable import Immutable
from ngraph_rewrite.types.lengths import Extent, Length, bind, product, symbols


class Axis(Immutable):
    """One dimension: a name, a length (None: not known yet) and roles.

    Args:
        name: What operands are matched by; None for an anonymous (positional) axis.
        length: A non-negative integer, or None for a length bound by the first argument that shows it.
        roles: Any of ``"sample"``, ``"recurrent"``, ``"channel"`` or your own. By default the reserved
            names N, REC and C carry theirs.

    Raises:
        AxesError: if the length is not a non-negative integer, or the name or a role no string.

    >>> Axis("H", 3)
    H:3
    >>> Axis("N", None).roles
    frozenset({'sample'})
    """

    __slots__ = ("_hash", "components", "length", "name", "roles")
    _called, _instead = "an axis", "make another Axis"
    name: str | None
    length: Extent
    roles: frozenset[str]
    components: Axes | None
    _hash: int

    def __init__(
        self, name: str | None, length: int | Length | None = None, roles: Iterable[str] | str | None = None
    ) -> None:
        own = checked_length(checked_name(name), length)
        self._set(name, own, checked_roles(name, roles), None)

    def _set(self, name: str | None, length: Extent, roles: frozenset[str], components: Axes | None) -> None:
        put = object.__setattr__
        put(self, "name", name)
        put(self, "length", length)
        put(self, "roles", roles)
        put(self, "components", components)
        put(self, "_hash", hash((name, length, roles) if components is None else (name, components)))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Axis)
            and self._hash == other._hash
            and self.name == other.name
            and self.length == other.length
            and self.roles == other.roles
            and self.components == other.components
        )

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self) -> Axis:
        return self

    def __deepcopy__(self, memo: object) -> Axis:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _axis, (self.name, self.length, self.roles, self.components)

    def __repr__(self) -> str:
        said = self.name or "+".join(sorted(self.roles))
        return f"{said}:{self.length!r}" if said else repr(self.length)

    def __add__(self, other: AxesLike) -> Axes:
        return Axes(self) + other

    def __or__(self, other: AxesLike) -> Axes:
        return Axes(self) | other

    def __sub__(self, other: AxesLike) -> Axes:
        return Axes(self) - other

    def __and__(self, other: AxesLike) -> Axes:
        return Axes(self) & other

    def with_length(self, length: Extent) -> Axis:
        """The same axis with another length."""
        return Axis(self.name, length, self.roles)

    def renamed(self, name: str | None) -> Axis:
        """The same length and roles under another name."""
        return Axis(name, self.length, self.roles)

    @staticmethod
    def flattened(axes: AxesLike) -> Axis:
        """One axis made of several, row-major; `components` remembers them.

        >>> Axis.flattened([Axis("H", 2), Axis("W", 3)])
        (H,W):6
        """
        parts = Axes(axes)
        return _axis("(" + ",".join(str(a.name) for a in parts) + ")", parts.size, frozenset(), parts)

    @property
    def is_sample(self) -> bool:
        """Whether this is the batch axis."""
        return "sample" in self.roles

    @property
    def is_recurrent(self) -> bool:
        """Whether this is the axis of time steps."""
        return "recurrent" in self.roles

    @property
    def is_channel(self) -> bool:
        """Whether this is the channel axis."""
        return "channel" in self.roles


def _axis(name: str | None, length: Extent, roles: frozenset[str], components: Axes | None) -> Axis:
    """An axis that is known to be one."""
    result = Axis.__new__(Axis)
    result._set(name, length, roles, components)
    return result


AxesLike = Union["Axes", Axis, Iterable[Any], Mapping[str, Any], None]


class Axes(Immutable):
    """An ordered set of axes: immutable, hashable, combined by name. Equal axes are the same object.

    Args:
        axes: An `Axis`, an iterable of them (a nested iterable becomes one flattened axis), a mapping
            ``{name: length}``, an `Axes`, or None for no axes.

    Raises:
        DuplicateAxisNames: if a name stands twice.
        AxesError: if an element is not an axis.

    >>> H, W, N = Axis("H", 2), Axis("W", 3), Axis("N", 4)
    >>> Axes([H, W]) | [N, W]
    Axes(H:2, W:3, N:4)
    >>> Axes([H, W]) - W
    Axes(H:2)
    """

    __slots__ = ("__weakref__", "_axes", "lengths", "named", "plain")
    _called, _instead = "a set of axes", "make another one, as with + - & |"
    _axes: tuple[Axis, ...]
    # In order; the shape of a tensor with these axes.
    lengths: tuple[Extent, ...]
    # Whether every axis has a name, and whether none has a name or a role.
    named: bool
    plain: bool

    def __new__(cls, axes: AxesLike = None) -> Axes:
        if isinstance(axes, Axes):
            return axes  # immutable: no copy is needed
        found = tuple(_elements(axes))
        names = [a.name for a in found if a.name is not None]
        if len(names) > 1 and len(set(names)) != len(names):
            twice = sorted({n for n in names if names.count(n) > 1})
            raise DuplicateAxisNames(
                f"the axes of a tensor cannot contain {', '.join(twice)} twice",
                do="rename one of them with cast_axes or map_roles",
            )
        return cls._of(found)

    @classmethod
    def _of(cls, axes: tuple[Axis, ...]) -> Axes:
        """Axes of which no name stands twice."""
        found = _ALIVE.get(axes)
        if found is None:
            with _MAKING:
                found = _ALIVE.get(axes)
                if found is None:
                    found = _ALIVE[axes] = cls._made(axes)
        return found

    @classmethod
    def _made(cls, axes: tuple[Axis, ...]) -> Axes:
        made, put = super().__new__(cls), object.__setattr__
        put(made, "_axes", axes)
        put(made, "lengths", tuple([a.length for a in axes]))
        put(made, "named", all(a.name is not None for a in axes))
        put(made, "plain", all(a.name is None and not a.roles for a in axes))
        return made

    def __copy__(self) -> Axes:
        return self

    def __deepcopy__(self, memo: object) -> Axes:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Axes._of, (self._axes,)

    def __len__(self) -> int:
        return len(self._axes)

    def __iter__(self) -> Iterator[Axis]:
        return iter(self._axes)

    @overload
    def __getitem__(self, item: int) -> Axis: ...
    @overload
    def __getitem__(self, item: slice) -> Axes: ...
    def __getitem__(self, item: int | slice) -> Axis | Axes:
        try:
            return Axes._of(self._axes[item]) if isinstance(item, slice) else self._axes[item]
        except IndexError:
            raise OutOfRangeError(f"{self!r} has no axis {item}", do=f"there are {len(self)}") from None
        except TypeError:
            raise ArgumentError(f"{item!r} is no place in {self!r}", do="give an integer, or a slice") from None

    def __contains__(self, axis: object) -> bool:
        return isinstance(axis, Axis) and self.find(axis.name) is not None

    def __repr__(self) -> str:
        return f"Axes({', '.join(map(repr, self._axes))})"

    def __add__(self, other: AxesLike) -> Axes:
        return _joined(self, other if type(other) is Axes else Axes(other))

    def __radd__(self, other: AxesLike) -> Axes:
        return Axes(other) + self

    def __sub__(self, other: AxesLike) -> Axes:
        return parted(self, other if type(other) is Axes else Axes(other))[0]

    def __and__(self, other: AxesLike) -> Axes:
        return parted(self, other if type(other) is Axes else Axes(other))[1]

    def __or__(self, other: AxesLike) -> Axes:
        right = _checked_together(self, Axes(other))
        return Axes(self._axes + tuple(a for a in right if a not in self))

    def find(self, name: str | None) -> Axis | None:
        """The axis called `name`, or None; anonymous axes are never found."""
        if isinstance(name, str):
            for axis in self._axes:
                if axis.name == name:
                    return axis
        return None

    def get_by_names(self, *names: str) -> Axis | Axes:
        """The axis of that name, or the axes of those names.

        Raises:
            UnmatchedAxesError: if a name is missing.
        """
        found = [a for a in map(self.find, names) if a is not None]
        if len(found) != len(names):
            missing = [n for n in names if self.find(n) is None]
            raise UnmatchedAxesError(f"{self!r} has no axis {', '.join(map(str, missing))}")
        return found[0] if len(found) == 1 else Axes(found)

    def index(self, axis: Axis | str) -> int:
        """The position of an axis (by name).

        Raises:
            UnmatchedAxesError: if it is not there.
        """
        name = axis.name if isinstance(axis, Axis) else axis
        for position, own in enumerate(self._axes):
            if own.name is not None and isinstance(name, str) and own.name == name:
                return position
        raise UnmatchedAxesError(f"{self!r} has no axis {name}")

    def is_sub_set(self, other: AxesLike) -> bool:
        """Whether every axis is also in `other`."""
        return all(a in Axes(other) for a in self._axes)

    def is_super_set(self, other: AxesLike) -> bool:
        """Whether every axis of `other` is also here."""
        return Axes(other).is_sub_set(self)

    def is_equal_set(self, other: AxesLike) -> bool:
        """Whether both hold the same names, in any order."""
        return self.is_sub_set(other) and self.is_super_set(other)

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order; anonymous axes print as ``_``."""
        return tuple(a.name or "_" for a in self._axes)

    @property
    def size(self) -> Extent:
        """The product of the lengths."""
        return product(self.lengths)

    def batch_axis(self) -> Axis | None:
        """The sample axis, if there is one."""
        return next((a for a in self._axes if a.is_sample), None)

    def batch_axes(self) -> Axes:
        """The sample axis, or no axes."""
        return Axes(a for a in self._axes if a.is_sample)

    def channel_axis(self) -> Axis | None:
        """The channel axis, if there is one."""
        return next((a for a in self._axes if a.is_channel), None)

    def recurrent_axis(self) -> Axis | None:
        """The axis of time steps, if there is one."""
        return next((a for a in self._axes if a.is_recurrent), None)

    def sample_axes(self) -> Axes:
        """All axes but the sample axis: those of one sample."""
        return Axes(a for a in self._axes if not a.is_sample)

    def feature_axes(self) -> Axes:
        """All axes but the sample and the recurrent axis."""
        return Axes(a for a in self._axes if not a.is_sample and not a.is_recurrent)

    def spatial_axes(self) -> Axes:
        """The feature axes but the channel axis."""
        return Axes(a for a in self.feature_axes() if not a.is_channel)

    def flatten(self, force: bool = False) -> Axis:
        """One axis of all; a single axis stays itself unless `force`."""
        return self._axes[0] if len(self._axes) == 1 and not force else Axis.flattened(self)

    def bound(self, binding: Mapping[str, int]) -> Axes:
        """These axes with unknown lengths replaced by those in `binding`."""
        return Axes([_bound_axis(a, binding) for a in self._axes])


# Every `Axes` that anybody holds: so `==` and hashes are those of identity, which cost rewriting nothing.
_ALIVE: WeakValueDictionary[tuple[Axis, ...], Axes] = WeakValueDictionary()
_MAKING = RLock()
if hasattr(os, "register_at_fork"):  # no other thread is making one while a process forks: its lock would stay
    os.register_at_fork(before=_MAKING.acquire, after_in_parent=_MAKING.release, after_in_child=_MAKING.release)


def _bound_axis(axis: Axis, binding: Mapping[str, int]) -> Axis:
    if axis.components is not None:
        return Axis.flattened(axis.components.bound(binding))
    if isinstance(axis.length, int):
        return axis
    length = bind(axis.length, binding)
    if isinstance(length, int) and length < 0:
        values = ", ".join(f"{name} is {binding[name]}" for name in dict.fromkeys(symbols(axis.length)))
        what = f"{called(axis.name)} has the length {axis.length!r}, which is {length} where {values}"
        raise AxesError(what, do="give arguments with which it is at least 0")
    return _nameless(length) if axis.name is None and not axis.roles else _axis(axis.name, length, axis.roles, None)


def _elements(axes: AxesLike) -> Iterable[Axis]:
    if type(axes) in (tuple, list):
        return [e if isinstance(e, Axis) else _nested(e, place) for place, e in enumerate(axes)]  # type: ignore[arg-type]
    return _other_elements(axes)


def _other_elements(axes: AxesLike) -> Iterator[Axis]:
    if axes is None:
        return
    if isinstance(axes, Axis):
        yield axes
        return
    if isinstance(axes, Mapping):
        yield from (Axis(name, length) for name, length in axes.items())
        return
    if isinstance(axes, str | bytes) or not isinstance(axes, Iterable) or getattr(axes, "ndim", 1) == 0:
        raise AxesError(f"cannot make axes of {axes!r}", do="give axes, a list of axes, or {name: length}")
    for place, element in enumerate(axes):
        yield element if isinstance(element, Axis) else _nested(element, place)


def _nested(element: Any, place: int) -> Axis:
    """An anonymous axis of a length (None: unknown, the same at this place of every shape), or a group of axes."""
    if isinstance(element, Axes | list | tuple):
        return Axis.flattened(element)
    if element is None:
        return Axis(None, Length.symbol(f"n{place}"))
    if isinstance(element, int | np.integer | Length) and not isinstance(element, bool):
        return Axis(None, element)  # type: ignore[arg-type]
    what = f"tried to make axes with a {type(element).__name__}: {element!r}"
    raise AxesError(what, do="give Axis objects, or lengths; the marks N and R are for functions of ng.simple")


@lru_cache(maxsize=1 << 12)
def _joined(left: Axes, right: Axes) -> Axes:
    common = left & right
    if common:
        raise DuplicateAxisNames(
            f"{left!r} + {right!r}: {', '.join(common.names)} would stand twice", do="use | for a union"
        )
    return Axes._of(left._axes + right._axes)


@lru_cache(maxsize=1 << 12)
def parted(left: Axes, right: Axes) -> tuple[Axes, Axes]:
    """The axes of `left` that `right` does not have, and those that it has. Remembered: rules ask again and again."""
    _checked_together(left, right)
    common = [a in right for a in left._axes]
    own = tuple([a for a, both in zip(left._axes, common, strict=True) if not both])
    return Axes._of(own), Axes._of(tuple([a for a, both in zip(left._axes, common, strict=True) if both]))


def _checked_together(left: Axes, right: Axes) -> Axes:
    for axis in right:
        other = left.find(axis.name)
        if other is not None and other.length != axis.length:
            raise IncompatibleAxesError(
                f"axis {axis.name} has length {other.length!r} and {axis.length!r}",
                do="give one of the two axes another name",
            )
    return right


def make_axis(
    length: int | Length | None = None, name: str | None = None, roles: Iterable[str] | str | None = None
) -> Axis:
    """An `Axis` with ngraph-python's order of arguments.

    >>> make_axis(3, name="H")
    H:3
    """
    return Axis(name, length, roles)


def make_axes(axes: AxesLike = None) -> Axes:
    """`Axes` of anything that can be made into them.

    >>> make_axes({"H": 2, "W": 3})
    Axes(H:2, W:3)
    """
    return Axes(axes)


def anonymous(lengths: Iterable[Extent]) -> Axes:
    """Axes without names: the shape of a positional tensor.

    Raises:
        AxesError: for what are no lengths.

    >>> anonymous([2, 3])
    Axes(2, 3)
    """
    try:
        each = iter(lengths)
    except TypeError:
        raise AxesError(f"{lengths!r} are no lengths", do="give a list of them") from None
    return Axes._of(tuple([_nameless(n) for n in each]))


def _nameless(length: Extent) -> Axis:
    """An axis without a name; that of a length is one, as long as nothing hides what the length is."""
    return _plain(length) if type(length) in (int, Length) else Axis(None, length)


@lru_cache(maxsize=1 << 12)
def _plain(length: Extent) -> Axis:
    return Axis(None, length)
