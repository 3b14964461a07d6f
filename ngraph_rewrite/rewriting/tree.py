# SPDX-License-Identifier: Apache-2.0
"""The rules with one op at their root become one decision tree: shared tests are done once.

A row is a rule with the tests it still needs. Splitting on the test that most rows share, in file order, gives the tree
of Maranget, *Compiling pattern matching to good decision trees* (2008). `emit` writes it as Python.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ngraph_rewrite.rewriting.pattern import Number
from ngraph_rewrite.rewriting.rows import HasArguments, Holds, IsNumber, IsOp, Row, Same, Structural, Test
from ngraph_rewrite.rewriting.slots import Place
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.types.dtypes import DTYPES, is_float


@dataclass(frozen=True)
class Leaf:
    """A rule matches here if the tests left in its row hold; if they or its guard refuse, go on with `otherwise`."""

    row: Row
    otherwise: Tree | None


@dataclass(frozen=True)
class Switch:
    """Branch on the op at a place; what follows the branches is tried after any of them."""

    place: Place
    branches: tuple[tuple[OpDef, Tree | None], ...]
    otherwise: Tree | None
    after: Tree | None


@dataclass(frozen=True)
class If:
    """Branch on one test; what follows is tried after either branch."""

    test: Test
    then: Tree | None
    otherwise: Tree | None
    after: Tree | None


Tree = Leaf | Switch | If

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
    if next(nodes, pending) is pending or depth + _levels(pending) > DEEPEST + 1:
        raise _TooLarge
    below = depth + 1
    first = pending[0]
    test = _chosen(first, pending)
    if test is None:
        return Leaf(first, _grow(pending[1:], nodes, below))
    asking = [i for i, row in enumerate(pending) if _asks(row, test) or _contradicts(row, test)]
    branching, rest = pending[: asking[-1] + 1], pending[asking[-1] + 1 :]
    if isinstance(test, IsOp):
        branches, otherwise = _switch(test.place, branching, nodes, below)
        return Switch(test.place, branches, otherwise, _grow(rest, nodes, below))
    then = [passed(row, test) for row in branching if not _contradicts(row, test)]
    failed = [_failed(row, test) for row in branching if test not in row.tests]
    return If(test, _grow(then, nodes, below), _grow(failed, nodes, below), _grow(rest, nodes, below))


def _levels(pending: list[Row]) -> int:
    """So many nodes at least stand one below another: each leaves over the rows that do not ask what it asks."""
    if len(pending) <= DEEPEST:
        return 1
    asked = Counter(t.place if isinstance(t, IsOp) else t for row in pending for t in row.tests)
    return len(pending) // max(asked.values(), default=1)


def _chosen(first: Row, pending: list[Row]) -> Test | None:
    """The test of the first row that most rows ask, and so share; None where all that it has left it asks alone.

    Where a name repeats, and what a guard says, is no use to rows that do not ask it: they would stand in both
    branches. So that is asked here only if another row asks it too.
    """
    able = ready(first)
    if len(pending) == 1:
        return next((t for t in able if isinstance(t, Structural)), None)
    shares = [sum(_asks(row, t) for row in pending) for t in able]
    options = [(n, t) for n, t in zip(shares, able, strict=True) if n > 1 or isinstance(t, Structural)]
    return max(options, key=lambda option: option[0])[1] if options else None


def ready(row: Row) -> list[Test]:
    """Tests that can be done now: the op at a place is known before anything below or of it is asked.

    Of those that rely on all of the pattern, or on other parts of a guard, the first that is left.
    """
    asked = {t.place for t in row.tests if isinstance(t, IsOp)}
    above = asked.union(t.place for t in row.tests if isinstance(t, HasArguments))

    def known(place: Place, op: bool) -> bool:
        return not (op and place in asked) and not any(place[:n] in above for n in range(len(place)))

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
    tests = tuple(t for t in row.tests if t != test)
    return Row(row.index, row.rule, tests, row.slots, row.searched, row.bit)


def _failed(row: Row, test: Test) -> Row:
    return passed(row, test.opposite) if isinstance(test, Holds) else row


def _contradicts(row: Row, test: Test) -> bool:
    """Whether a row cannot match once `test` holds: it asks for its opposite, or another number at the same place."""
    if isinstance(test, Holds):
        return test.opposite in row.tests
    if isinstance(test, IsNumber):
        asked = (t for t in row.tests if isinstance(t, IsNumber) and t.place == test.place)
        return any(not _may_be_one(t.value, test.value) for t in asked)
    return False


def _may_be_one(one: Number, other: Number) -> bool:
    """Whether some dtype rounds two numbers to one, so that a constant may be filled with both.

    >>> _may_be_one(256, 257), _may_be_one(0.1, 0.2)  # bfloat16 has eight bits
    (True, False)
    """
    return one == other or one != one or not _rounded(one).isdisjoint(_rounded(other))


@lru_cache(maxsize=4096)
def _rounded(value: Number) -> frozenset[Number]:
    """What a number may be once it fills a constant of some dtype."""
    with np.errstate(over="ignore"):
        return frozenset([value, *(float(np.asarray(value).astype(dtype)) for dtype in DTYPES if is_float(dtype))])


def _switch(
    place: Place, pending: list[Row], nodes: Iterator[None], depth: int
) -> tuple[tuple[tuple[OpDef, Tree | None], ...], Tree | None]:
    """The branches for the ops that rows ask for at a place, and what is left if it is none of them."""
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
    return tuple(branches), _grow([r for r in pending if others(r)], nodes, depth)
