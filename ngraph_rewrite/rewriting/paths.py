# SPDX-License-Identifier: Apache-2.0
"""A recursive path order compares terms by their ops, then by their arguments; what it needs to know, it asks for.

Which of two ops stands higher, and how the arguments of an op are compared, is asked of an `Order` that knows, or of
a search that notes down what it would take. See Dershowitz, *Orderings for term-rewriting systems* (1982), and for
the choice per op how arguments are compared Kamin and Levy (1980).
"""

from __future__ import annotations

from collections.abc import Container
from itertools import product
from typing import Protocol

from ngraph_rewrite.rewriting.skeleton import Node, Plain, rest, same
from ngraph_rewrite.terms.catalogue import OpDef

# How arguments are compared: from the left, from the right, or as multisets. It stands where a lower op would.
LEFT, RIGHT, MULTISET = -1, -2, -3
STATUSES = (LEFT, RIGHT, MULTISET)
# What must hold: an op stands above another, or compares its arguments so; ops by their ranks.
Need = tuple[int, int]
# A way is what must hold all together; of several ways one is enough. None at all: it cannot be.
Way = frozenset[Need]
Ways = frozenset[Way]
ALWAYS: Ways = frozenset([frozenset()])
NEVER: Ways = frozenset()
# Of more ways than these the shortest are kept: an order may be missed then, a wrong one is never found.
MOST = 24


class Knows(Protocol):
    """What a path order asks."""

    def higher(self, one: OpDef, other: OpDef) -> Ways:
        """What it takes for one op to stand above another."""

    def compared(self, definition: OpDef, status: int) -> Ways:
        """What it takes for the arguments of an op to be compared in this manner."""


def ways_down(left: Plain, right: Plain, order: Knows) -> Ways:
    """What it takes for `left` to stand above `right`, whatever the variables stand for."""
    return _Comparison(order).above(left, right)


class _Comparison:
    """One comparison of two terms; what is below is compared once, however often it is shared."""

    def __init__(self, order: Knows) -> None:
        self.order = order
        self.known: dict[tuple[int, int], Ways] = {}

    def above(self, s: Plain, t: Plain) -> Ways:
        if isinstance(s, str):
            return NEVER
        key = id(s), id(t)
        if key not in self.known:
            self.known[key] = self._above(s, t)
        return self.known[key]

    def _above(self, s: Node, t: Plain) -> Ways:
        found = NEVER
        for a in s.args:
            found = ALWAYS if same(a, t) else either(found, self.above(a, t))
            if found == ALWAYS:
                return found
        return found if isinstance(t, str) else either(found, self._by_root(s, t))

    def _by_root(self, s: Node, t: Node) -> Ways:
        if s.definition is not t.definition:
            needed = self.order.higher(s.definition, t.definition)
        elif s.narrowing and (s.fixed, s.runs) != (t.fixed, t.runs):
            needed = ALWAYS if _narrows(s, t) else NEVER
        else:
            needed = self._by_arguments(s, t)
        for b in t.args:
            needed = both(needed, self.above(s, b)) if needed else NEVER
        return needed

    def _by_arguments(self, s: Node, t: Node) -> Ways:
        if s.unordered:
            return self._multiset(s.args, t.args, s.runs)
        found = NEVER
        for status in STATUSES if len(s.args) > 1 else (LEFT,):
            needed = self.order.compared(s.definition, status) if len(s.args) > 1 else ALWAYS
            if needed and found != ALWAYS:
                found = either(found, both(needed, self._compared(s.args, t.args, status)))
        return found

    def _compared(self, left: list[Plain], right: list[Plain], status: int) -> Ways:
        if status == MULTISET:
            return self._multiset(left, right)
        return self._lexicographic(*((left, right) if status == LEFT else (left[::-1], right[::-1])))

    def _lexicographic(self, left: list[Plain], right: list[Plain]) -> Ways:
        for a, b in zip(left, right, strict=False):
            if not same(a, b):
                return self.above(a, b)
        return ALWAYS if len(left) > len(right) else NEVER

    def _multiset(self, left: list[Plain], right: list[Plain], runs: Container[str] = ()) -> Ways:
        """Whether one multiset is above another; a sequence that only the first one has may be empty."""
        more, less = rest(left, right), rest(right, left)
        needed = ALWAYS if any(isinstance(a, Node) or a not in runs for a in more) else NEVER
        for b in less:
            some = NEVER
            for a in more:
                some = either(some, self.above(a, b))
            needed = both(needed, some)
        return needed


def _narrows(s: Node, t: Node) -> bool:
    """Whether `t` has fewer arguments than `s`, whatever sequence variables stand for."""
    return s.fixed > t.fixed and not t.runs - s.runs


def either(a: Ways, b: Ways) -> Ways:
    """One of them."""
    if not a or not b:
        return a or b
    return ALWAYS if ALWAYS in (a, b) else _shortest(a | b)


def both(a: Ways, b: Ways) -> Ways:
    """Both of them."""
    if not a or not b:
        return NEVER
    if a == ALWAYS or b == ALWAYS:
        return b if a == ALWAYS else a
    return _shortest(frozenset(x | y for x, y in product(a, b) if not _contradict(x, y)))


def _contradict(x: Way, y: Way) -> bool:
    return any((low, high) in y if low >= 0 else any((high, s) in y for s in STATUSES if s != low) for high, low in x)


def _shortest(ways: Ways) -> Ways:
    """The ways that no other makes needless."""
    kept: list[Way] = []
    for way in sorted(ways, key=lambda w: (len(w), sorted(w))):
        if len(kept) < MOST and not any(k <= way for k in kept):
            kept.append(way)
    return frozenset(kept)
