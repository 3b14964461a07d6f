# SPDX-License-Identifier: Apache-2.0
"""The rules with one op at their root become one decision tree: shared tests are done once.

A row is a rule (once per order of commutative arguments) with the tests it still needs; a test looks at
one place of the term. Splitting on the test that most rows share, in file order, gives the tree of
Maranget, *Compiling pattern matching to good decision trees* (2008). `emit` writes it as Python.
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


@dataclass(frozen=True)
class Leaf:
    """A rule matches here if the tests left in its row hold; if they or its guard refuse, go on with `otherwise`."""

    row: Row
    otherwise: Tree | None


@dataclass(frozen=True)
class Switch:
    """Branch on the op at a place."""

    place: Place
    branches: tuple[tuple[OpDef, Tree | None], ...]
    otherwise: Tree | None


@dataclass(frozen=True)
class If:
    """Branch on one test."""

    test: Test
    then: Tree | None
    otherwise: Tree | None


Tree = Leaf | Switch | If


# -- rows ---------------------------------------------------------------------------------------------


def rows(index: int, rule: Rule, guarded: bool = False) -> Iterator[Row]:
    """One row per order of the commutative applications in the left side, the written one first.

    Args:
        guarded: Whether the rows ask the parts of the guard that a tree may ask.
    """
    if is_searched(rule.left):
        collector = _Collector()
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
        text, wanted = conditions.without_not(conditions.source(part.expression, first))
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


# -- the tree -----------------------------------------------------------------------------------------


# How many nodes a tree may have beyond those its rows would have one by one, and how many one below another:
# each indents what is written for it, and Python does not read more than a hundred indentations.
NODES, DEEPEST = 400, 80


class _TooLarge(Exception):
    """A tree grows beyond its limits: a row that asks nothing here stands in every branch."""


def grow(pending: list[Row], spare: int = NODES) -> Tree | None:
    """The decision tree of rows in the order in which they are to be tried; None if it grows too large.

    Args:
        spare: How many nodes it may have beyond those that its rows would have one by one.
    """
    nodes = sum(len(row.tests) + 1 for row in pending) + spare
    try:
        return _grow(pending, itertools.repeat(None, nodes), 0)
    except _TooLarge:
        return None


def _grow(pending: list[Row], nodes: Iterator[None], depth: int) -> Tree | None:
    if not pending:
        return None
    if next(nodes, pending) is pending or depth > DEEPEST:
        raise _TooLarge
    below = depth + 1
    first = pending[0]
    test = _chosen(first, pending)
    if test is None:
        return Leaf(first, _grow(pending[1:], nodes, below))
    if isinstance(test, IsOp):
        return _switch(test.place, pending, nodes, below)
    then = [passed(row, test) for row in pending if not _contradicts(row, test)]
    otherwise = [_failed(row, test) for row in pending if test not in row.tests]
    return If(test, _grow(then, nodes, below), _grow(otherwise, nodes, below))


def _chosen(first: Row, pending: list[Row]) -> Test | None:
    """The test of the first row that most rows ask, and so share; None where all that it has left it asks alone.

    Where a name repeats, and what a guard says, is no use to rows that do not ask it: they would stand in both
    branches. So that is asked here only if another row asks it too.
    """
    able = ready(first)
    shares = [sum(_asks(row, t) for row in pending) for t in able]
    options = [(n, t) for n, t in zip(shares, able, strict=True) if n > 1 or isinstance(t, Structural)]
    return max(options, key=lambda option: option[0])[1] if options else None


def ready(row: Row) -> list[Test]:
    """Tests that can be done now: the op at a place is known before anything below or of it is asked.

    Of those that rely on all of the pattern, or on other parts of a guard, the first that is left.
    """
    asked = {t.place for t in row.tests if isinstance(t, IsOp)}
    counted = {t.place for t in row.tests if isinstance(t, HasArguments)}

    def known(place: Place, op: bool) -> bool:
        above = any(place[:n] in asked or place[:n] in counted for n in range(len(place)))
        return not above and not (op and place in asked)

    def possible(test: Test) -> bool:
        if isinstance(test, Same | Holds):
            reads = (test.first, test.other) if isinstance(test, Same) else test.reads
            return all(known(slot.place, slot.of_op) for slot in reads)
        return known(test.place, not isinstance(test, IsOp))

    found = [t for t in row.tests if possible(t)]
    uncertain = next((t for t in row.tests if not _is_certain(t)), None)
    complete = not any(isinstance(t, Structural) for t in row.tests)
    return [t for t in found if _is_certain(t) or (complete and t is uncertain)]


def _is_certain(test: Test) -> bool:
    return not isinstance(test, Holds) or test.certain


def _asks(row: Row, test: Test) -> bool:
    """Whether a row is decided by a test, or narrowed down."""
    if isinstance(test, IsOp):
        return any(isinstance(t, IsOp) and t.place == test.place for t in row.tests)
    return test in row.tests or (isinstance(test, Holds) and test.opposite in row.tests)


def passed(row: Row, test: Test) -> Row:
    """The row with one test less to do."""
    return replace(row, tests=tuple(t for t in row.tests if t != test))


def _failed(row: Row, test: Test) -> Row:
    return passed(row, test.opposite) if isinstance(test, Holds) else row


def _contradicts(row: Row, test: Test) -> bool:
    """Whether a row cannot match once `test` holds: it asks for its opposite, or another number at the same place."""
    if isinstance(test, Holds):
        return test.opposite in row.tests
    if isinstance(test, IsNumber) and _short(test.value):
        asked = (t for t in row.tests if isinstance(t, IsNumber) and t.place == test.place)
        return any(_short(t.value) and t.value != test.value for t in asked)
    return False


def _short(value: Number) -> bool:
    """Whether no dtype rounds it: two such numbers that differ are never filled with one constant."""
    return abs(value) <= 2048 and value * 8 % 1 == 0


def _switch(place: Place, pending: list[Row], nodes: Iterator[None], depth: int) -> Tree:
    asked: dict[OpDef, None] = {}
    for row in pending:
        for test in row.tests:
            if isinstance(test, IsOp) and test.place == place:
                asked[test.definition] = None

    def others(row: Row) -> bool:
        return not any(isinstance(t, IsOp) and t.place == place for t in row.tests)

    branches = []
    for definition in asked:
        test = IsOp(place, definition)
        inside = [passed(r, test) for r in pending if test in r.tests or others(r)]
        branches.append((definition, _grow(inside, nodes, depth)))
    return Switch(place, tuple(branches), _grow([r for r in pending if others(r)], nodes, depth))
