# SPDX-License-Identifier: Apache-2.0
"""Domains that go beyond the usual ones, in lengths, ranks, steps and attributes: some rules are wrong only there."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, ClassVar

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.ops.simple_marks import marked
from ngraph_rewrite.rewriting.domain import Domain, Triple, Types, marked_axes, marks, slices_of
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

# So many of the attributes that are proposed are changed, and so many slices of an axis are drawn, of such steps.
_TRIED, _STEPS = 16, (1, 2, 3, 4, -1, -2, -3)
# So many of the usual shapes are among others.
_PLAIN = 6
# Attributes that say where a slice begins, or all of it.
_SLICED = frozenset({"starts", "items", "item"})
# What numbers are changed into.
_CHANGES: tuple[Callable[[Any], Any], ...] = (
    *(partial(operator.add, n) for n in (1, 2, 3, -1)),
    partial(operator.mul, 2),
    operator.neg,
)


@dataclass(frozen=True)
class Varied(Domain):
    """A domain with tensors of one axis more, of any slices, and of attributes near those that ops propose.

    Attributes:
        seed: Of other slices and attributes.
        said: Numbers that attributes may have, such as a guard asks for.
        strict: Whether attributes with numbers are never those that are proposed.
        sure: Whether every number that is changed becomes one that is said.
    """

    seed: int = 0
    said: tuple[float, ...] = ()
    strict: bool = False
    sure: bool = False
    beyond: ClassVar[bool] = True

    def shapes(self) -> list[tuple[Extent, ...]]:
        """The first of others, and of rank 4."""
        a, b, c = self.lengths
        return [*super().shapes()[:_PLAIN], (a, b, c, 2), (c, b, a, a), (2, a, 1, b), (b, c, 2, a), (a, a, b, b)]

    def named(self) -> list[Axes]:
        """As others, and all four axes."""
        return [*super().named(), Axes(self.axes), Axes(self.axes[::-1])]

    def _made(self, family: str) -> Types:
        """As others; those of simple ops have three features, too."""
        if family != "simple":
            return super()._made(family)
        a, b, c = self.lengths
        n, r = marks(self)
        sets: list[tuple[Axis | Extent, ...]] = [
            (a, b, c),
            (c, n, a, b),
            (n, b, c, a),
            (r, a, c, b),
            (b, a, a, n),
            (a, a, a),
        ]
        some = [*marked_axes(self)[:_PLAIN], *map(marked, sets)]
        return [TensorType(d, axes) for axes in some for d in self.dtypes]

    def slices(self, length: Extent) -> list[Triple]:
        """Some of all slices, with steps up to 4, and the usual ones."""
        usual = slices_of(length)
        if not isinstance(length, int) or length < 2:
            return usual
        random = Random(f"{self.seed} {length}")
        every = [_slice(random, length) for _ in range(_TRIED)]
        return list(dict.fromkeys([*(t for two in zip(every, usual, strict=False) for t in two), *every]))

    def varied(
        self, values: list[tuple[Any, ...]], free: Mapping[str, int], given: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        """Some of the attributes that are proposed, with a number or two changed, or near those of another op.

        Slices are not changed, as any are proposed; what has no number has none to change.
        """
        if _SLICED & free.keys():
            return values
        some = values[:: max(1, len(values) // _TRIED) | 1]
        random = Random(f"{self.seed} {len(values)}")
        changed = [self._changed(random, own, list(free.values()), given) for own in some]
        made = [new for own, new in zip(some, changed, strict=True) if new is not own]
        return made if made and self.strict else [*made, *some]

    def _changed(
        self, random: Random, values: tuple[Any, ...], free: Sequence[int], given: Sequence[Any]
    ) -> tuple[Any, ...]:
        places = [i for i in free if _has_number(values[i])]
        if not places:
            return values
        chosen = random.sample(places, min(len(places), random.choice((1, 1, 2))))
        like = {i: [g for g in given if _alike(g, values[i])] or [values[i]] for i in chosen}
        own = random.random() < 0.5
        return tuple(
            v if i not in chosen else self._near(random, v if own else random.choice(like[i]))
            for i, v in enumerate(values)
        )

    def _near(self, random: Random, value: Any) -> Any:
        """A value with one number changed, or all of them alike."""
        change = random.choice(_CHANGES)
        if self.said and (self.sure or random.random() < 0.5):
            change = partial(_other, random.choice(self.said))
        if isinstance(value, tuple):
            place = random.randrange(len(value)) if random.random() < 0.5 else None
            return tuple(_number(v, change) if place in (None, i) else v for i, v in enumerate(value))
        return _number(value, change)


def _slice(random: Random, length: int) -> Triple:
    """Any slice of an axis with an element or more."""
    start, step = random.randrange(length), random.choice(_STEPS)
    step = step if random.random() < 0.5 or start else abs(step)
    most = len(range(start, length if step > 0 else -1, step))
    stop = start + step * (random.randint(1, most) - 1) + random.randint(1, abs(step)) * (1 if step > 0 else -1)
    return start, max(-1, min(stop, length)), step


def _other(number: float, own: Any) -> float:
    return number


def _alike(given: Any, value: Any) -> bool:
    """Whether a value may stand in the place of another one."""
    return type(given) is type(value) and (not isinstance(value, tuple) or len(given) == len(value))


def _has_number(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_number, value))
    if isinstance(value, Literal):
        return value.scalar is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any, change: Callable[[Any], Any]) -> Any:
    """A number as `change` makes it; what is none, or does not fit its dtype, is left."""
    if isinstance(value, bool) or not _has_number(value):
        return value
    if isinstance(value, tuple):
        return tuple(_number(v, change) for v in value)
    if isinstance(value, Literal):
        try:
            return Literal(change(value.scalar), value.dtype)
        except NGraphRewriteError:
            return value
    changed = change(value)
    return changed if type(changed) is type(value) else value
