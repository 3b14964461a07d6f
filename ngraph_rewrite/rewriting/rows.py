# SPDX-License-Identifier: Apache-2.0
"""What a rule asks of a term, in rows: one for each order of its commutative arguments, with the tests it needs.

A test looks at one place of the term.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ngraph_rewrite.rewriting import conditions
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.nests import has_identity, is_flat, is_nest, is_searched
from ngraph_rewrite.rewriting.pattern import App, Num, Number, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.slots import Place, Slot, sort_source
from ngraph_rewrite.terms.catalogue import OpDef, lookup


@dataclass(frozen=True)
class IsOp:
    """The term at `place` is an application of `definition`."""

    place: Place
    definition: OpDef


@dataclass(frozen=True)
class IsNumber:
    """The constant at `place` is filled with `value`; `kind` keeps 1, 1.0 and True apart."""

    place: Place
    value: Number = field(compare=False)
    kind: str = ""

    @staticmethod
    def of(place: Place, value: Number) -> IsNumber:
        return IsNumber(place, value, f"{type(value).__name__} {value!r}")


@dataclass(frozen=True)
class HasAttribute:
    """An attribute of the term at `place` equals a constant expression."""

    place: Place
    index: int
    expression: Expression


@dataclass(frozen=True)
class HasArguments:
    """The term at `place` has this number of arguments, or at least this number."""

    place: Place
    count: int
    exact: bool


@dataclass(frozen=True)
class Same:
    """A name that stands twice: the same term or value is in both slots."""

    first: Slot
    other: Slot


@dataclass(frozen=True)
class Holds:
    """A part of a guard, as generated code writes it, is true, or false.

    Attributes:
        reads: Where the terms and values stand that it reads.
        certain: Whether it may be asked before the ops of the pattern are known to be there: it cannot fail.
        rule: The number of a rule that asks it.
    """

    source: str
    wanted: bool
    reads: tuple[Slot, ...] = field(compare=False)
    certain: bool = field(compare=False)
    rule: int = field(compare=False)

    @property
    def opposite(self) -> Holds:
        """The same with the other answer."""
        return replace(self, wanted=not self.wanted)


@dataclass(frozen=True)
class HasOperands:
    """The nest at `place` has operands of these ops, and this number of operands, or at least this number."""

    place: Place
    definition: OpDef
    ops: tuple[OpDef, ...]
    count: int
    exact: bool


# What the shape of a term decides, and what is asked of what stands in it.
Structural = IsOp | IsNumber | HasAttribute | HasArguments | HasOperands
Test = Structural | Same | Holds


@dataclass(frozen=True)
class Row:
    """A rule, its index, the tests still to do, and where each variable stands; no slots if that is searched for.

    Attributes:
        bit: The number of the row among those of a crowd.
    """

    index: int
    rule: Rule
    tests: tuple[Test, ...]
    slots: tuple[tuple[str, tuple[Slot, ...]], ...]
    searched: bool = False
    bit: int = 0


def rows(index: int, rule: Rule, guarded: bool = False) -> Iterator[Row]:
    """One row per order of the commutative applications in the left side, the written one first.

    Args:
        guarded: Whether the rows ask the parts of the guard that a tree may ask.
    """
    if is_searched(rule.left):
        collector = _Collector(searched_for=True)
        collector.visit(rule.left, (), root=True)
        yield Row(index, rule, tuple(collector.tests), (), True)
        return
    seen = set()
    asked = conditions.parts(rule)[0] if guarded else []
    for left in _orders(rule.left):
        collector = _Collector()
        collector.visit(left, (), root=True)
        slots = tuple((n, tuple(s)) for n, s in collector.slots.items())
        same = (Same(own[0], other) for _, own in slots for other in own[1:])
        row = Row(index, rule, (*collector.tests, *same, *_conditions(index, asked, dict(slots))), slots)
        key = (row.tests, row.slots)
        if key not in seen:
            seen.add(key)
            yield row


def _conditions(index: int, asked: list[conditions.Part], slots: dict[str, tuple[Slot, ...]]) -> Iterator[Holds]:
    first = {"self": Slot(()), **{name: own[0] for name, own in slots.items()}}
    for part in asked:
        text, wanted = conditions.asked(part.expression, first)
        yield Holds(text, wanted, tuple(first[n] for n in part.expression.names), part.certain, index)


def _orders(pattern: Pattern) -> Iterator[App]:
    if not isinstance(pattern, App):
        yield pattern  # type: ignore[misc]
        return
    for args in itertools.product(*(list(_orders(a)) for a in pattern.args)):
        yield replace(pattern, args=args)
        if pattern.definition.commutative and args[0] != args[1]:
            yield replace(pattern, args=args[::-1])


@dataclass
class _Collector:
    """Collects the tests of a pattern.

    Attributes:
        searched_for: Whether a search finds which argument of a commutative op is which, so that none has a place.
    """

    searched_for: bool = False
    tests: list[Test] = field(default_factory=list)
    slots: dict[str, list[Slot]] = field(default_factory=dict)

    def visit(self, pattern: Pattern, place: Place, root: bool = False) -> None:
        if isinstance(pattern, Var):
            self.variable(pattern, Slot(place))
        elif isinstance(pattern, Num):
            self.tests.append(IsOp(place, lookup("core.constant")))
            self.tests.append(IsNumber.of(place, pattern.value))
        elif isinstance(pattern, App):
            self.application(pattern, place, root)

    def variable(self, pattern: Var | SeqVar, slot: Slot) -> None:
        """A variable; where it is restricted to a sort that is asked, once."""
        own = self.slots.setdefault(pattern.name, [])
        if pattern.sort is not None and not own:
            self.tests.append(Holds(sort_source(slot, pattern.sort.name), True, (slot,), True, -1))
        own.append(slot)

    def application(self, pattern: App, place: Place, root: bool) -> None:
        if not root and has_identity(pattern):
            return  # a term that is its own only operand may be anything
        if not root:
            self.tests.append(IsOp(place, pattern.definition))
        if is_searched(pattern):
            self.searched(pattern, place)
            return
        index = pattern.definition.attributes.index
        self.tests.extend(HasAttribute(place, index(a), e) for a, e in pattern.compares)
        for attribute, name in pattern.binds:
            self.slots.setdefault(name, []).append(Slot(place, attribute=index(attribute)))
        if self.searched_for and pattern.definition.commutative:
            return
        at = next((i for i, a in enumerate(pattern.args) if isinstance(a, SeqVar)), None)
        if pattern.definition.arity is None:
            self.tests.append(HasArguments(place, len(pattern.args) - (at is not None), at is None))
        for i, arg in enumerate(pattern.args):
            if isinstance(arg, SeqVar):
                after = len(pattern.args) - 1 - i
                self.variable(arg, Slot(place, sequence=(i, after)))
            else:
                self.visit(arg, (*place, i if at is None or i < at else i - len(pattern.args)))

    def searched(self, pattern: App, place: Place) -> None:
        """What is worth asking before a search: what must be there, whatever is found."""
        index, args = pattern.definition.attributes.index, pattern.args
        runs = [i for i, arg in enumerate(args) if isinstance(arg, SeqVar)]
        fixed = len(args) - len(runs)
        self.tests.extend(HasAttribute(place, index(a), e) for a, e in pattern.compares)
        if is_flat(pattern.definition):
            self.tests.append(HasArguments(place, fixed, not runs))
            return
        if is_nest(pattern):
            ops = {a.definition: None for a in args if isinstance(a, App)}
            ops.update({lookup("core.constant"): None for a in args if isinstance(a, Num)})
            self.tests.append(HasOperands(place, pattern.definition, tuple(ops), fixed, not runs))
            return
        if pattern.definition.arity is None and (fixed or not runs):
            self.tests.append(HasArguments(place, fixed, not runs))
        for i, arg in enumerate(args if not pattern.definition.commutative else ()):
            if isinstance(arg, App | Num) and (not runs or i < runs[0] or i > runs[-1]):
                self.visit(arg, (*place, i if not runs or i < runs[0] else i - len(args)))
