# SPDX-License-Identifier: Apache-2.0
"""The cheapest graph in an e-graph: one e-node for each class that is used, shared ones counted once, no cycle.

The cheapest tree is found bottom-up by Knuth's generalisation of Dijkstra's algorithm (*A generalization of
Dijkstra's algorithm*, 1977); the cheapest graph is as hard as set cover (Goharshady, Lam and Parreaux, *Fast and
Optimal Extraction for Sparse Equality Graphs*, OOPSLA 2024), and is searched for: from the better of the cheapest
tree and the original graph, one class after the other is chosen anew where all that the rest needs is free. For few
classes with a choice, branch and bound then finds the best there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ngraph_rewrite.saturation.candidates import Candidate, Choice, Exhausted, Graph


def extract(graph: Graph, original: Choice, effort: int) -> Choice:
    """The e-node of each class that is used, for a graph that costs no more than the original one.

    Args:
        original: A choice that gives the original graph, or one that is cheaper.
        effort: How many e-nodes to look at in the search for sharing, each time they are looked at.
    """
    trees = graph.trees()
    best = trees if graph.cost(trees) < graph.cost(original) else original
    search = _Search(graph, {own: best[own] for own in graph.used(best)}, frozenset(trees))
    graph.left = effort
    try:
        search.by_counts(trees)
        search.one_by_one()
        search.all_choices()
    except Exhausted:
        pass
    graph.left = math.inf
    assert graph.cost(search.best) <= graph.cost(original)
    return {own: search.best[own] for own in graph.used(search.best)}


class _Search:
    """The best choice that is known, and what looks for a better one.

    Attributes:
        usable: The classes that have a finite term.
    """

    def __init__(self, graph: Graph, best: Choice, usable: frozenset[int]) -> None:
        self.graph, self.best, self.usable = graph, best, usable
        self.least = graph.cost(best)

    def cheaper(self, cost: float) -> bool:
        """Whether a cost is less than the least known, by more than rounding."""
        return cost < self.least * (1 - 1e-12)

    def by_counts(self, trees: Choice) -> None:
        """Choose one class anew after the other, what it needs anew as the cheapest trees: that is quickly tried."""
        graph = self.graph
        choice = {**trees, **self.best}
        order = sorted(choice, key=lambda c: (-graph.nodes[choice[c]].cost, c))
        more = [(own, n) for own in order if len(graph.of[own]) > 1 for n in graph.of[own] if self.possible(n)]
        try:
            counts = _Counts(graph, choice)
            while sum(counts.switch(own, number) for own, number in more):  # all of them, each time
                pass
        finally:
            left, graph.left = graph.left, math.inf
            found = {own: choice[own] for own in graph.used(choice)}
            if self.cheaper(cost := graph.cost(found)):
                self.best, self.least = found, cost
            graph.left = left

    def possible(self, number: int) -> bool:
        """Whether all that an e-node needs has a finite term."""
        return self.usable.issuperset(self.graph.nodes[number].children)

    def one_by_one(self) -> None:
        """Choose one class anew after the other, the dearest first, until that makes nothing cheaper."""
        better = True
        while better:
            better = False
            for own in sorted(self.best, key=lambda c: -self.graph.nodes[self.best[c]].cost):
                for number in self.graph.of[own] if own in self.best and len(self.graph.of[own]) > 1 else ():
                    other = _with(self.graph, self.best, own, number)
                    if other is not None and self.cheaper(cost := self.graph.cost(other)):
                        self.best = {c: other[c] for c in self.graph.used(other)}
                        self.least, better = cost, True

    def all_choices(self) -> None:
        """Branch and bound: one class that is needed after the other; choices that cost too much are dropped."""
        nodes, least = self.graph.nodes, self.graph.cheapest.__getitem__
        ranks = {own: (len(numbers), own) for own, numbers in self.graph.of.items()}
        orders = {own: self._dearest_first(numbers) for own, numbers in self.graph.of.items()}
        stack = [(Choice(), frozenset(self.graph.roots), 0.0)]
        while stack:
            choice, needed, cost = stack.pop()
            self.graph.spend(1 + len(needed))
            if not needed:
                if self.cheaper(cost):
                    self.best, self.least = choice, cost
                continue
            own = min(needed, key=ranks.__getitem__)
            for number in orders[own]:
                node = nodes[number]
                more = needed.union(c for c in node.children if c not in choice) - {own}
                whole = cost + node.cost + math.fsum(map(least, more))
                if self.cheaper(whole) and self._ends(choice, own, node):
                    stack.append(({**choice, own: number}, more, cost + node.cost))

    def _dearest_first(self, numbers: Iterable[int]) -> list[int]:
        return sorted(filter(self.possible, numbers), key=lambda n: -self.graph.nodes[n].cost)

    def _ends(self, choice: Choice, own: int, node: Candidate) -> bool:
        """Whether an e-node does not need its own class, by what is chosen so far."""
        seen, stack = set[int](), list(node.children)
        while stack:
            top = stack.pop()
            if top == own:
                return False
            if top in choice and top not in seen:
                seen.add(top)
                stack.extend(self.graph.nodes[choice[top]].children)
        self.graph.spend(len(seen))
        return True


class _Counts:
    """A choice for every class, with how many chosen e-nodes need each: what a change costs is seen at once."""

    def __init__(self, graph: Graph, choice: Choice) -> None:
        self.graph, self.choice = graph, choice
        self.users: dict[int, int] = {}
        self.cost = 0.0
        self.add(graph.roots, 1)

    def add(self, classes: Iterable[int], sign: int) -> None:
        """One user more, or less, of some classes."""
        stack = list(classes)
        while stack:
            own = stack.pop()
            before = self.users.get(own, 0)
            self.users[own] = before + sign
            if (before if sign > 0 else before + sign) == 0:
                node = self.graph.nodes[self.choice[own]]
                self.cost += sign * node.cost
                stack += dict.fromkeys(node.children)
                self.graph.spend(1)

    def switch(self, own: int, number: int) -> bool:
        """Compute a class by another e-node, if that is cheaper and needs the class nowhere below."""
        graph, old, before = self.graph, self.choice[own], self.cost
        if number == old or not self.users.get(own) or self._needs(graph.nodes[number].children, own):
            return False
        self._swap(own, old, number)
        if self.cost < before * (1 - 1e-12):
            return True
        self._swap(own, number, old)
        self.cost = before
        return False

    def _swap(self, own: int, old: int, new: int) -> None:
        nodes = self.graph.nodes
        self.add(dict.fromkeys(nodes[new].children), 1)
        self.choice[own] = new
        self.cost += nodes[new].cost - nodes[old].cost
        self.add(dict.fromkeys(nodes[old].children), -1)

    def _needs(self, classes: Iterable[int], own: int) -> bool:
        seen, stack = set[int](), list(classes)
        while stack:
            top = stack.pop()
            if top == own:
                return True
            if top not in seen:
                seen.add(top)
                stack += self.graph.nodes[self.choice[top]].children
        self.graph.spend(len(seen))
        return False


def _with(graph: Graph, choice: Choice, own: int, number: int) -> Choice | None:
    """The choice with another e-node of a class, and what that needs as cheap as it can be; None if there is none."""
    node = graph.nodes[number]
    if choice[own] == number:
        return None
    above = _above(graph, choice, own)
    kept = _without(graph, choice, own) - above
    wanted = [c for c in node.children if c not in kept]
    if not wanted:
        return {**choice, own: number}
    if all(c in choice and c not in above for c in wanted):  # nothing new: the old choice below stays
        return {**choice, own: number}
    found = graph.trees(kept, above)
    if any(c not in found for c in wanted):
        return None
    return {**choice, **found, own: number}


def _above(graph: Graph, choice: Choice, own: int) -> set[int]:
    """A class and those that need it."""
    found = {own}
    for other in graph.used(choice):
        if any(c in found for c in graph.nodes[choice[other]].children):
            found.add(other)
    return found


def _without(graph: Graph, choice: Choice, own: int) -> set[int]:
    """The classes that the roots need without what is below a class."""
    seen, stack = set[int](), [r for r in graph.roots if r != own]
    while stack:
        top = stack.pop()
        if top not in seen:
            seen.add(top)
            stack.extend(c for c in graph.nodes[choice[top]].children if c != own)
    return seen
