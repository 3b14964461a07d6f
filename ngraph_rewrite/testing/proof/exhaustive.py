# SPDX-License-Identifier: Apache-2.0
"""Every instance of a rule's left side whose tensors are small: all shapes up to a rank, lengths 0 to 3.

Two searches say it all. One varies the dtypes, on a few shapes; the other varies the shapes and the attributes,
with the plainest dtypes for which the rule fires: what is done with an element does not depend on the shape.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain, Triple, Types
from ngraph_rewrite.rewriting.instances import Instance, every_match
from ngraph_rewrite.rewriting.pattern import variables
from ngraph_rewrite.rewriting.pattern_search import Choices
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.solving import Bindings, Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import BFLOAT16, DType
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

LENGTHS = (2, 0, 3, 1)
MOST_TRIES = 1 << 60
GREATEST = 4
# What a slice may be of lengths up to 3; and how many combinations of them are tried.
_STEPS, _COUNTS, _LONGEST = (-2, -1, 2, 1), (1, 2, 3), 1000
# Lengths that attributes and further operands are given, where all shapes are tried anyway.
_SOME = ((2, 3, 1), (3, 0, 2), (1, 2, 2))


@dataclass(frozen=True)
class Small(Domain):
    """The domain of all tensors of some ranks, with lengths from 0 to 3.

    Attributes:
        rank: The greatest rank.
        lines: The shapes, if these are not all.
    """

    rank: int = 2
    lines: tuple[tuple[int, ...], ...] | None = None

    def shapes(self) -> list[tuple[Extent, ...]]:
        """Every shape."""
        if self.lines is not None:
            return list(self.lines)
        return [s for rank in range(self.rank + 1) for s in itertools.product(LENGTHS, repeat=rank)]

    def named(self) -> list[Axes]:
        """Every choice of the named axes, in every order."""
        own = self.axes[: self.rank]
        flat = Axis.flattened(list(own[:2])) if len(own) > 1 else None
        return [*_ordered(own), *([Axes([flat]), Axes([flat, self.axes[-1]])] if flat is not None else [])]

    def _made(self, family: str) -> Types:
        """No type twice."""
        return list(dict.fromkeys(super()._made(family)))

    def slices(self, length: Extent) -> list[Triple]:
        """Every slice, by the positions that it takes, which may be none."""
        assert isinstance(length, int)
        runs = {tuple(range(length)[a::step][:n]): step for a in range(length) for step in _STEPS for n in _COUNTS}
        every: list[Triple] = [(r[0], max(r[-1] + step, -1), step) for r, step in runs.items()]
        return [*every, (0, 0, 1)]

    def places(self, length: Extent) -> list[int]:
        """Every index."""
        assert isinstance(length, int)
        return list(range(length))

    def few(self, values: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """All of an enumeration, if it is not too long."""
        everything = list(values)
        return everything[:: max(1, len(everything) // _LONGEST)]

    def variants(self, like: TensorType) -> Types:
        """Every type with some of the named axes, in every order."""
        more = [a for a in self.axes[: self.rank] if like.axes.find(a.name) is None]
        own = [a for a in like.axes if a.name is not None]
        sets = _ordered((*own, *more)[: self.rank])
        return [TensorType(d, s) for s in sets for d in dict.fromkeys((like.dtype, *self.dtypes[:2]))]

    def stretching(self, like: TensorType) -> Types:
        """Every shape that broadcasts with this one."""
        shapes = [s for s in self.shapes() if _broadcasts(s, like.shape)]
        dtypes = dict.fromkeys((like.dtype, *self.dtypes))
        return [tensor(d, s) for s in shapes for d in dtypes]


def _ordered(axes: Sequence[Axis]) -> list[Axes]:
    sizes = range(len(axes) + 1)
    return [Axes(p) for size in sizes for p in itertools.permutations(axes, size)]


def _broadcasts(a: Sequence[Extent], b: Sequence[Extent]) -> bool:
    return all(n == m or 1 in (n, m) for n, m in zip(reversed(a), reversed(b), strict=False))


class Tired(Exception):
    """So many terms were tried that the rest is left out."""


class PatientBank(TrialBank):
    """A bank that makes a number of terms, and then no more."""

    def __init__(self, patience: int) -> None:
        super().__init__()
        self.patience = patience

    def attempt(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op | None:
        self.patience -= 1
        if self.patience < 0:
            raise Tired
        return super().attempt(definition, args, attrs)


class Level(NamedTuple):
    """All searches with tensors up to a rank."""

    rank: int
    domains: tuple[Small, ...]


def levels(kin: str, dtypes: tuple[DType, ...]) -> Iterator[Level]:
    """The searches over shapes, small ones first, for a rule about an op that takes tensors of a family.

    Axes that have names or marks have the lengths of the domain, so there is one for each choice of these.
    """
    for rank in range(1, GREATEST + 1):
        marks = kin in ("axes", "simple")
        lengths = itertools.product(LENGTHS, repeat=min(rank, 3)) if marks else _SOME
        every = (tuple(itertools.islice(itertools.cycle(n), 4)) for n in lengths)
        yield Level(rank, tuple(small(n, dtypes, rank) for n in every))


def small(lengths: tuple[int, ...], dtypes: tuple[DType, ...], rank: int) -> Small:
    """The domain of these four lengths."""
    axes = tuple(Axis(name, n) for name, n in zip("HWNC", lengths, strict=True))
    dtypes = dtypes if len(dtypes) > 1 else dtypes * 2
    return Small((lengths[0], lengths[1], lengths[2]), axes, dtypes, rank=rank)


def every_dtype() -> Small:
    """The search over dtypes, on a few shapes."""
    dtypes = (*COMMON_FIRST, BFLOAT16)
    return replace(small((2, 0, 3, 2), dtypes, 1), lines=((2,), (), (0,)))


def instances(rule: Rule, domain: Domain, bank: TrialBank) -> Iterator[Instance]:
    """Every instance of the left side in a domain; where it has sequences, which have no end, some."""
    yield from every_match(rule, domain, lambda site, count: 0, bank, MOST_TRIES, _solver(rule, bank))
    if has_sequences(rule):
        yield from some_instances(rule, domain, bank, 24)


def some_instances(rule: Rule, domain: Domain, bank: TrialBank, count: int) -> Iterator[Instance]:
    """A few instances of the left side from all over a domain; always the same ones."""
    for turn in range(1, count + 1):
        found = every_match(rule, domain, _turned(turn), bank, MOST_TRIES, _solver(rule, bank))
        yield from itertools.islice(found, 2)


class _Cut(Solver):
    """Cuts off that for which the guard cannot hold, and adds nothing: all there is is tried anyway."""

    def types(self, name: str, pool: Types, bound: Bindings, domain: Domain) -> Types:
        return pool


def _solver(rule: Rule, bank: TrialBank) -> Solver | None:
    return _Cut(rule, bank.make) if rule.guard is not None else None


def _turned(turn: int) -> Choices:
    return lambda site, count: zlib.crc32(f"{site} {turn}".encode()) % count


def has_sequences(rule: Rule) -> bool:
    """Whether the left side matches any number of operands somewhere."""
    return any(variables(rule.left).values())


def dtypes_of(term: Op) -> tuple[DType, ...]:
    """The dtypes of the leaves, as they come."""
    leaves = [t for t in topological([term]) if not t.args]
    return tuple(dict.fromkeys(t.dtype for t in leaves if not isinstance(t.type, TupleType)))
