# SPDX-License-Identifier: Apache-2.0
"""Saturation: every rule everywhere, again and again, until nothing is new or a bound is reached.

egglog finds the matches; what needs Python (guards, computed attributes, types) is done between its runs, on one
term of each class. So each equality is an instance of a rule between two terms that are there, and can be shown.
A rule with many matches is banned for a while, as by the back-off scheduler of Willsey et al., *egg: Fast and
Extensible Equality Saturation*, POPL 2021; what it found is kept for later.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ngraph_rewrite.lowering.counting import counted_function
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.saturation.directions import Direction
from ngraph_rewrite.saturation.egraph import EGraph, Row, Snapshot
from ngraph_rewrite.saturation.nodes import Nodes
from ngraph_rewrite.saturation.queries import Node, Query, Variable, mentioned_ops, queries
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

SATURATED = "saturated"


class Bounds(NamedTuple):
    """How far to explore.

    Attributes:
        iterations: How often all rules are tried.
        nodes: How many e-nodes there may be beside those of the graph that is given.
        seconds: How long it may take, extraction aside.
        matches: How many matches of a rule are used at once; of a rule that was banned before, twice as many.
        ban: For how many iterations a rule with more matches is banned; then for twice as many.
    """

    iterations: int = 30
    nodes: int = 10_000
    seconds: float = 10.0
    matches: int = 1_000
    ban: int = 5


class Found(NamedTuple):
    """A match that waits to be used: the number of the query that found it, and its row."""

    query: int
    row: Row


@dataclass
class Search:
    """One direction of a rule at work."""

    direction: Direction
    ops: frozenset[OpDef]
    instance: Callable[..., Any]
    queries: list[int] = field(default_factory=list)
    waiting: deque[Found] = field(default_factory=deque)
    seen: set[tuple[int, Op]] = field(default_factory=set)
    bans: int = 0
    until: int = 0


class Exploration:
    """The e-graph of some terms under some rules.

    Attributes:
        instances: The numbers of the two sides, and the rule, of every instance in the order found.
        iterations: How often the rules were tried.
        stopped: Why it ended: ``"saturated"``, or the name of a bound.
    """

    def __init__(self, nodes: Nodes, directions: Sequence[Direction], bounds: Bounds, target: Any) -> None:
        self.nodes, self.bounds, self.target = nodes, bounds, target
        self.egraph = EGraph(nodes)
        self.searches = [Search(d, mentioned_ops(d.pattern), counted_function(d.rule, d.instance)) for d in directions]
        self.instances: list[tuple[int, int, Rule]] = []
        self.iterations, self.stopped = 0, ""
        self._asked: list[Query] = []
        self._known: set[tuple[int, Query]] = set()
        self._most = 0

    def run(self, look: Callable[[Snapshot], None] | None = None) -> Snapshot:
        """Explore; the classes and e-nodes that there are in the end.

        Args:
            look: Called with each snapshot: what it raises ends the exploration.
        """
        ends = time.monotonic() + self.bounds.seconds
        self._load()
        given: int | None = None
        while True:
            off = {q for s in self.searches if s.until > self.iterations for q in s.queries}
            found = self.egraph.search(off)
            if look is not None:
                look(found)
            every = found.size(self.egraph.tables)
            given = every if given is None else given
            size = every - given
            self.stopped = self._reached(size, ends)
            if not self.stopped and not self._apply(found, size, ends):
                self.stopped = SATURATED
            if self.stopped:
                return found
            self._load()

    def _load(self) -> None:
        if self.egraph.load():
            self._ask()

    def _ask(self) -> None:
        """Ask the queries that new constructors make possible."""
        known = self.egraph.constructors
        for number, search in enumerate(self.searches):
            if search.ops <= known.keys():
                for query in queries(search.direction.pattern, known):
                    if (number, query) not in self._known:
                        self._known.add((number, query))
                        self._asked.append(query)
                        search.queries.append(self.egraph.add_query(query))

    def _reached(self, size: int, ends: float) -> str:
        """The bound that is reached, if one is."""
        if self.iterations >= self.bounds.iterations:
            return "iterations"
        if size >= self.bounds.nodes:
            return "nodes"
        return "seconds" if time.monotonic() >= ends else ""

    # -- one iteration ------------------------------------------------------------------------------

    def _apply(self, found: Snapshot, size: int, ends: float) -> bool:
        """Use the matches that were found; whether something new came of it, or still may."""
        self._most = len(self.nodes) + self.bounds.nodes - size
        active = [s for s in self.searches if s.until <= self.iterations]
        for search in active:
            for number in search.queries:
                search.waiting.extend(Found(number, row) for row in self.egraph.rows(found, number))
        self.iterations += 1
        new = False
        for search in active:
            new = self._use(search, ends) or new
        banned = [s for s in self.searches if s.until > self.iterations]
        for search in banned if not new else ():  # there is nothing to wait for
            search.until = self.iterations
        return new or bool(banned) or any(s.waiting for s in self.searches)

    def _use(self, search: Search, ends: float) -> bool:
        """Use the matches of a rule, as many as are allowed at once."""
        new, allowed = False, self.bounds.matches << search.bans
        if len(search.waiting) > allowed:
            search.until = self.iterations + (self.bounds.ban << search.bans)
            search.bans += 1
        while search.waiting and allowed and len(self.nodes) <= self._most and time.monotonic() < ends:
            allowed -= 1
            new = self._instance(search, search.waiting.popleft()) or new
        return new

    def _instance(self, search: Search, found: Found) -> bool:
        """Say that both sides of a match are equal; False if that was said before, or the guard does not hold."""
        query = self._asked[found.query]
        term, values = self._term(query, found.row)
        if (found.query, term) in search.seen:
            return False
        search.seen.add((found.query, term))
        bindings = _bindings(query, values, found.row, self.nodes)
        if bindings is None:
            return False
        both = search.instance(term, bindings, self.nodes.bank.make, self.target)
        if both is None or both[0] is both[1]:
            return False
        one, other = map(self.nodes.add, both)
        self.egraph.union(one, other)
        self.instances.append((one, other, search.direction.rule))
        return True

    def _term(self, query: Query, row: Row) -> tuple[Op, dict[str, Op]]:
        """The term that a row stands for: the variables take the first term of their classes."""
        terms = self.nodes.terms
        values = {name: terms[number] for name, number in zip(query.names, row.terms, strict=True)}
        heads: Iterator[int] = iter(row.heads)

        def build(place: Node | Variable) -> Op:
            if isinstance(place, Variable):
                return values[place.name]
            head = next(heads)
            return self.nodes.make(head, [build(c) for c in place.children])

        return build(query.root), values


def _bindings(query: Query, values: dict[str, Op], row: Row, nodes: Nodes) -> dict[str, Any] | None:
    """The substitution of a row; None if a name would stand for two attributes."""
    bound: dict[str, Any] = {n: values[n] if run is None else tuple([values[m] for m in run]) for n, run in query.runs}
    for name, node, attribute in query.binds:
        value = nodes.heads[row.heads[node]].attrs[attribute]
        if bound.setdefault(name, value) != value:
            return None
    return bound
