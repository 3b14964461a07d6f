# SPDX-License-Identifier: Apache-2.0
"""Many rules at one op: each is looked for where it differs from the others, and costs nothing elsewhere.

A single tree of all of them would repeat, in each of its branches, the rules that ask nothing there: with operands
in any order that is most of them. So rules are sorted by a place at which they ask for an op, and found by a lookup
of the op that stands there. Several places are looked at, one after the other; which rules are found is noted in the
bits of a number, so that they are tried in their order wherever they were found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ngraph_rewrite.rewriting.rows import IsOp, Row, Structural
from ngraph_rewrite.rewriting.slots import Place
from ngraph_rewrite.rewriting.tree import Tree, grow, passed, ready
from ngraph_rewrite.terms.catalogue import OpDef

# So few rows are told apart by a tree, if that stays small.
FEW, SPARE = 12, 60


@dataclass(frozen=True)
class Few:
    """Rows that a tree tells apart; it goes on behind each that it finds."""

    tree: Tree | None


@dataclass(frozen=True)
class Lookup:
    """Rows by the op that they ask for at a place."""

    place: Place
    found: tuple[tuple[OpDef, Crowd], ...]


@dataclass(frozen=True)
class Several:
    """Rows that ask for ops at different places; each stands in one part."""

    parts: tuple[Crowd, ...]


Crowd = Few | Lookup | Several


def crowd(rows: Sequence[Row]) -> Crowd:
    """Where to look for each of the rows, by what decides whether they match; the rest of their tests is left out."""
    return _sorted([replace(row, tests=tuple(t for t in row.tests if isinstance(t, Structural))) for row in rows])


def _sorted(rows: list[Row]) -> Crowd:
    counts = _counts(rows)
    groups: dict[Place | None, list[Row]] = {}
    for row in rows:
        groups.setdefault(_place(row, counts), []).append(row)
    if len(rows) <= FEW or groups.keys() == {None}:
        tree = grow(rows, SPARE)
        if tree is not None:
            return Few(tree)
    if groups.keys() == {None}:  # numbers and attributes, one after the other
        half = len(rows) // 2
        return Several((_sorted(rows[:half]), _sorted(rows[half:])))
    parts = [_sorted(own) if place is None else _at(place, own) for place, own in groups.items()]
    return parts[0] if len(parts) == 1 else Several(tuple(parts))


def _at(place: Place, rows: list[Row]) -> Crowd:
    by_op: dict[OpDef, list[Row]] = {}
    for row in rows:
        test = next(t for t in row.tests if isinstance(t, IsOp) and t.place == place)
        by_op.setdefault(test.definition, []).append(passed(row, test))
    return Lookup(place, tuple((definition, _sorted(own)) for definition, own in by_op.items()))


def _counts(rows: Sequence[Row]) -> Counter[IsOp]:
    return Counter(test for row in rows for test in ready(row) if isinstance(test, IsOp))


def _place(row: Row, counts: Counter[IsOp]) -> Place | None:
    """The place at which it asks for the op that the fewest rows ask for; None if it asks for none."""
    asked = [test for test in ready(row) if isinstance(test, IsOp)]
    return min(asked, key=lambda test: counts[test]).place if asked else None
