# SPDX-License-Identifier: Apache-2.0
"""What instances of rules are made of: lengths, axes and dtypes, and the types that they make together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np

from ngraph_rewrite.ops.simple_marks import N, R, marked
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES, DType
from ngraph_rewrite.types.lengths import Extent, Length
from ngraph_rewrite.types.tensor import TensorType

Types = list[TensorType]
Key = TypeVar("Key")
_KEPT = 1000  # lists of types; some domains are there as long as the process
# Where a slice starts, before which position it stops, and its step.
Triple = tuple[Extent, Extent, int]
# Position, types of the arguments already there, the type the result should have, the domain.
Proposal = Callable[[int, Mapping[int, TensorType], "TensorType | None", "Domain"], "Types | None"]


@dataclass(frozen=True)
class Domain:
    """What instances are made of.

    Attributes:
        lengths: Three lengths of anonymous axes; some may be unknown, some equal.
        axes: Axes with names; the first three are used together.
        dtypes: The dtypes of variables, the preferred one first.
        numbers: What constants are filled with, beside 0, 1, 2 and the edges of their dtype.
    """

    lengths: tuple[Extent, Extent, Extent]
    axes: tuple[Axis, ...]
    dtypes: tuple[DType, ...]
    numbers: tuple[float, ...] = ()
    # Whether attributes are tried that no op proposes, so that a type rule may fail in any way.
    beyond: ClassVar[bool] = False

    @property
    def known(self) -> bool:
        """Whether all lengths are numbers."""
        return all(isinstance(n, int) for n in (*self.lengths, *(a.length for a in self.axes)))

    def shapes(self) -> list[tuple[Extent, ...]]:
        """Shapes of anonymous tensors, of rank 0 to 3."""
        a, b, c = self.lengths
        return [(a, b), (a,), (), (b, a), (a, b, c), (b, 1), (0, a), (a, a), (c,), (a, 0), (c, a, b), (c, b), (1, a, b)]

    def named(self) -> list[Axes]:
        """Axes of named tensors, of rank 0 to 3, some in another order, some flattened."""
        h, w, n = self.axes[:3]
        empty = Axis("Z", 0)
        sets: list[list[Axis]] = [[h, w], [h], [], [h, n], [w, h], [empty, h], [h, w, n], [n, w], [n, h, w]]
        return [*map(Axes, sets), Axes([Axis.flattened([h, w]), n]), Axes([n, Axis.flattened([w])])]

    def pool(self, family: str) -> Types:
        """Types of any tensors that a family takes, the dtype varies first; made once, and gone with the domain."""
        return self._once(family, self._made)

    def _once(self, what: Key, make: Callable[[Key], Types]) -> Types:
        found = self._pools.get(what)
        if found is None:
            if len(self._pools) >= _KEPT:
                self._pools.clear()
            found = self._pools[what] = make(what)
        return found

    @cached_property
    def _pools(self) -> dict[Any, Types]:
        return {}

    def _made(self, family: str) -> Types:
        choice = self.named() if family in ("axes", "core") else []
        if family == "simple":
            choice = marked_axes(self)
        elif family != "axes":
            choice += [anonymous(s) for s in self.shapes()]
        return [TensorType(d, axes) for axes in choice for d in self.dtypes]

    def retyped(self, like: TensorType) -> Types:
        """A type with each dtype, its own first."""
        return [like, *(like.with_dtype(d) for d in self.dtypes if d != like.dtype)]

    def labels(self, shape: Iterable[Extent]) -> Axes:
        """Named axes of these lengths, known names where there are some."""
        axes: list[Axis] = []
        for i, n in enumerate(shape):
            own = (a for a in self.axes if a.length == n and a not in axes)
            axes.append(next(own, Axis(f"X{i}", n)))
        return Axes(axes)

    def slices(self, length: Extent) -> list[Triple]:
        """Triples of an axis: part, whole, one end cut, reversed, every second, none, one element, two from the end."""
        return slices_of(length)

    def places(self, length: Extent) -> list[int]:
        """Indices into an axis."""
        return [0] if length != 0 else []

    def few(self, values: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """A few of a long enumeration, spread over all of it."""
        everything = list(values)
        step = max(1, len(everything) // 24) | 1
        return everything[::step]

    def varied(
        self, values: list[tuple[Any, ...]], free: Mapping[str, int], given: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        """Which attributes are tried of those that are proposed: all.

        Args:
            free: The attributes that nothing says, and where they stand.
            given: Values of attributes of other ops.
        """
        return values

    def variants(self, like: TensorType) -> Types:
        """Types that combine with a named one: fewer axes, more, in another order, another dtype."""
        axes = like.axes
        more = [a for a in self.axes if axes.find(a.name) is None]
        sets: list[Iterable[Axis]] = [axes, axes[1:], axes[:-1], axes[::-1], ()]
        sets += [[*more[:1], *axes], [*axes[::-1], *more[:1]], [*axes[1:], *more[:1]]]
        return [TensorType(d, s) for s in map(Axes, sets) for d in (like.dtype, *self.dtypes[:2])]

    def stretching(self, like: TensorType) -> Types:
        """Types that combine with an anonymous one by position: lengths of 1, fewer axes, more, another dtype."""
        return self._once(like, self._stretched)

    def _stretched(self, like: TensorType) -> Types:
        shape = like.shape
        ones = [(*shape[:i], 1, *shape[i + 1 :]) for i in range(len(shape))]
        longer = [tuple([self.lengths[1] if n == 1 else n for n in shape])] if 1 in shape else []
        shapes = [shape, *ones, *longer, shape[1:], (), (self.lengths[0], *shape), (1,) * len(shape)]
        return [TensorType(d, axes) for axes in map(anonymous, shapes) for d in (like.dtype, *self.dtypes)]


def each_axis(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> list[tuple[Any, ...]]:
    """Every place of an axis."""
    return [(k,) for k in range(types[0].rank)]


def each_axis_and_flag(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> list[tuple[Any, ...]]:
    """Every place of an axis, with both values of a flag."""
    return [(k, r) for r in (False, True) for k in range(types[0].rank)]


def each_flag(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> list[tuple[Any, ...]]:
    """Both values of a flag."""
    return [(False,), (True,)]


def each_two_flags(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> list[tuple[Any, ...]]:
    """All values of two flags."""
    return [(first, second) for first in (False, True) for second in (False, True)]


_LONG = 500  # elements of an axis of which a rule may ask for some inside


def slices_of(n: Extent) -> list[Triple]:
    """Triples of an axis: part, whole, one end cut, reversed, every second, none, one element, two from the end."""
    if n == 0:
        return [(0, 0, 1)]
    triples: list[Triple] = [(1, n, 1), (0, n, 1), (0, n - 1, 1), (n - 1, -1, -1)]
    if isinstance(n, int):
        triples += [(0, n, 2), (0, 0, 1), (n - 1, -1, -2), (0, 1, 1)]
        triples += [(n - 1, n - 3, -1)] if n > 2 else []
        triples += [(1, 2, 1)] if n > _LONG else []
        return triples[1:] if n == 1 else triples
    return triples


COMMON = tuple(map(np.dtype, ("float32", "int32", "bool", "float64", "uint8", "float16", "int64")))
# No bfloat16: rules treat it as they do float16, and its instances would take the place of others.
COMMON_FIRST = (*COMMON, *(d for d in DTYPES if d not in COMMON and d != BFLOAT16))
# Lengths unknown, two of the named ones and one of the anonymous ones excepted.
SYMBOLIC = Domain(
    (Length.symbol("a"), Length.symbol("b"), 3),
    (Axis("H", None), Axis("W", 3), Axis("N", None), Axis("C", 2)),
    COMMON_FIRST,
)
# All lengths known.
KNOWN = Domain((2, 3, 4), (Axis("H", 2), Axis("W", 3), Axis("N", 4), Axis("C", 2)), COMMON_FIRST)


def marks(domain: Domain) -> tuple[Axis, Axis]:
    """N and R of the lengths of a domain."""
    return N(domain.axes[2].length), R(domain.axes[0].length)


def marked_axes(domain: Domain) -> list[Axes]:
    """Axes of simple tensors, of up to two features, N and R before, behind and between them."""
    (n, r), (a, b, _) = marks(domain), domain.lengths
    sets: list[tuple[Axis | Extent, ...]] = [(a, n), (n, a), (a,), (), (a, b, n), (r, a, n), (n, r, a), (a, r, n)]
    sets += [(n,), (a, n, b), (a, b), (n, b, r), (r, n), (r, a, n, b), (0, n), (n, b, a, r), (a, 1, n), (a, a, n)]
    return [marked(s) for s in sets]
