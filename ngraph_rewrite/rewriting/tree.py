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

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.pattern import App, Num, Number, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import OpDef, lookup

# A place in a term: indices of arguments from the root; negative ones count from the end.
Place = tuple[int, ...]


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


Test = IsOp | IsNumber | HasAttribute | HasArguments


@dataclass(frozen=True)
class Slot:
    """Where a variable's value is found: a place, the rest of an argument list, or an attribute."""

    place: Place
    sequence: tuple[int, int] | None = None
    attribute: int | None = None


@dataclass(frozen=True)
class Row:
    """A rule, its index, the tests still to do, and where each variable stands (repeats must be equal)."""

    index: int
    rule: Rule
    tests: tuple[Test, ...]
    slots: tuple[tuple[str, tuple[Slot, ...]], ...]


@dataclass(frozen=True)
class Leaf:
    """A rule matches here; if its guard refuses, go on with `otherwise`."""

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


@dataclass(frozen=True)
class Both:
    """One tree, and where nothing in it fired another."""

    first: Tree | None
    then: Tree | None


Tree = Leaf | Switch | If | Both


# -- rows ---------------------------------------------------------------------------------------------


def rows(index: int, rule: Rule) -> Iterator[Row]:
    """One row per order of the commutative applications in the left side, the written one first."""
    seen = set()
    for left in _orders(rule.left):
        collector = _Collector()
        collector.visit(left, (), root=True)
        row = Row(index, rule, tuple(collector.tests), tuple((n, tuple(s)) for n, s in collector.slots.items()))
        key = (row.tests, row.slots)
        if key not in seen:
            seen.add(key)
            yield row


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
            self.slots.setdefault(pattern.name, []).append(Slot(place))
        elif isinstance(pattern, Num):
            self.tests.append(IsOp(place, lookup("core.constant")))
            self.tests.append(IsNumber.of(place, pattern.value))
        elif isinstance(pattern, App):
            self.application(pattern, place, root)

    def application(self, pattern: App, place: Place, root: bool) -> None:
        if not root:
            self.tests.append(IsOp(place, pattern.definition))
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
                self.slots.setdefault(arg.name, []).append(Slot(place, sequence=(i, after)))
            else:
                self.visit(arg, (*place, i if at is None or i < at else i - len(pattern.args)))


# -- the tree -----------------------------------------------------------------------------------------


# How many nodes a tree may have beyond those its rows would have one by one, and how many one below another:
# each indents what is written for it, and Python does not read more than a hundred indentations.
NODES, DEEPEST = 400, 80


class _TooLarge(Exception):
    """A tree grows beyond its limits: a row that asks nothing here stands in every branch."""


def grow(pending: list[Row], spare: int = NODES) -> Tree | None:
    """The decision tree of rows in the order in which they are to be tried.

    Sharing tests can cost exponentially many branches; where it does, two trees of half the rows each.
    """
    nodes = sum(len(row.tests) + 1 for row in pending) + spare
    try:
        return _grow(pending, itertools.repeat(None, nodes), 0)
    except _TooLarge:
        half = len(pending) // 2
        return Both(grow(pending[:half], spare // 2), grow(pending[half:], spare // 2))


def _grow(pending: list[Row], nodes: Iterator[None], depth: int) -> Tree | None:
    if not pending:
        return None
    if next(nodes, pending) is pending or depth > DEEPEST:
        raise _TooLarge
    below = depth + 1
    first = pending[0]
    if not first.tests:
        return Leaf(first, _grow(pending[1:], nodes, below))
    test = max(_ready(first), key=lambda t: sum(t in row.tests or _asks(row, t) for row in pending))
    if isinstance(test, IsOp):
        return _switch(test.place, pending, nodes, below)
    passed = [_passed(row, test) for row in pending if not _contradicts(row, test)]
    failed = [row for row in pending if test not in row.tests]
    return If(test, _grow(passed, nodes, below), _grow(failed, nodes, below))


def _ready(row: Row) -> list[Test]:
    """Tests that can be done now: the op at a place is known before anything below or of it is asked."""
    asked = {t.place for t in row.tests if isinstance(t, IsOp)}

    def blocked(test: Test) -> bool:
        above = any(test.place[:n] in asked for n in range(len(test.place)))
        counted = any(
            isinstance(t, HasArguments) and test.place[: len(t.place)] == t.place and len(test.place) > len(t.place)
            for t in row.tests
        )
        return above or counted or (test.place in asked and not isinstance(test, IsOp))

    return [t for t in row.tests if not blocked(t)]


def _asks(row: Row, test: Test) -> bool:
    return isinstance(test, IsOp) and any(isinstance(t, IsOp) and t.place == test.place for t in row.tests)


def _passed(row: Row, test: Test) -> Row:
    return replace(row, tests=tuple(t for t in row.tests if t != test))


def _contradicts(row: Row, test: Test) -> bool:
    """Whether a row cannot match once `test` holds: it asks for another number at the same place."""
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
        passed = [_passed(r, test) for r in pending if test in r.tests or others(r)]
        branches.append((definition, _grow(passed, nodes, depth)))
    return Switch(place, tuple(branches), _grow([r for r in pending if others(r)], nodes, depth))
