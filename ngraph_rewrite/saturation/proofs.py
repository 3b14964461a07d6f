# SPDX-License-Identifier: Apache-2.0
"""Why two terms are equal: the instances of rules between them, by congruence closure that keeps its reasons.

Nieuwenhuis and Oliveras, *Proof-Producing Congruence Closure*, RTA 2005: each merge of classes is an edge between two
terms, for an instance of a rule or for equal arguments. Here the edges keep the order in which they were made, and no
instance is thrown away: the shortest path between two terms is taken, and what an edge for equal arguments stands on
is looked for among older edges only, so that no proof stands on itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from ngraph_rewrite.lowering.stage import ARGUMENTS
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.saturation.nodes import Nodes
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

EXCHANGED = "arguments exchanged"


class Equation(NamedTuple):
    """A step of a proof: two equal terms, and the rule that says so.

    Where the arguments are equal, or equal once they are exchanged, there is a word instead of a rule.

    Attributes:
        backwards: Whether `after` is the left side of the rule.
    """

    before: Op
    after: Op
    why: Rule | str
    backwards: bool = False

    def lines(self) -> list[str]:
        """The step as `explain` prints it."""
        if isinstance(self.why, str):
            named = [f"{self.why}:"]
        else:
            turned = ", from right to left" if self.backwards else ""
            named = [f"{self.why.name}  ({self.why.place}{turned})", f"    {' '.join(self.why.text.split())}"]
        return [*named, f"    {describe(self.before, 3)}", f" => {describe(self.after, 4)}"]


class _Edge(NamedTuple):
    one: int
    other: int
    why: Rule | str
    swapped: bool = False


class Proofs:
    """The equalities between the terms of `nodes` that instances of rules imply.

    Args:
        instances: The numbers of two sides, and the rule, in the order in which they were found.
    """

    def __init__(self, nodes: Nodes, instances: Iterable[tuple[int, int, Rule]]) -> None:
        self._nodes = nodes
        self._edges: list[_Edge] = []
        self._next: list[list[int]] = []
        self._parent: list[int] = []
        self._members: dict[int, list[int]] = {}
        self._users: dict[int, list[int]] = {}
        self._signatures: dict[tuple[int, tuple[int, ...]], int] = {}
        self._pending: deque[_Edge] = deque()
        self._again = 0
        self.update()
        for one, other, rule in instances:
            self._pending.append(_Edge(one, other, rule))
            self._settle()

    def update(self) -> None:
        """Take in terms that are new."""
        for number in range(len(self._parent), len(self._nodes)):
            self._parent.append(number)
            self._next.append([])
            self._members[number], self._users[number] = [number], []
            for child in dict.fromkeys(self._nodes.children[number]):
                self._users[self._parent[child]].append(number)
            self._sign(number)
            self._settle()
        for one, other in self._nodes.again[self._again :]:
            self._pending.append(_Edge(one, other, ARGUMENTS))
            self._settle()
        self._again = len(self._nodes.again)

    def equal(self, one: Op, other: Op) -> bool:
        """Whether two terms of the nodes are proved equal."""
        a, b = self._nodes.find(one), self._nodes.find(other)
        return a is not None and b is not None and self._parent[a] == self._parent[b]

    def equations(self, one: Op, other: Op) -> list[Equation]:
        """The steps from one term to another; those between arguments stand before the step that needs them."""
        start, end = self._nodes.add(one), self._nodes.add(other)
        self.update()
        found: dict[tuple[int, bool], None] = {}
        stack: list[tuple[int, bool, bool]] = []

        def push(a: int, b: int, before: int) -> None:
            stack.extend((e, turned, False) for e, turned in reversed(self._path(a, b, before)))

        push(start, end, len(self._edges))
        while stack:
            number, turned, ready = stack.pop()
            if ready:
                found[number, turned] = None
            elif (number, turned) not in found:
                stack.append((number, turned, True))
                for a, b in reversed(self._needs(number, turned)):
                    push(a, b, number)
        steps = (self._equation(number, turned) for number, turned in found)
        return [step for step in steps if step.before is not step.after]

    # -- closure ------------------------------------------------------------------------------------

    def _signature(self, number: int) -> tuple[int, tuple[int, ...]]:
        children = [self._parent[c] for c in self._nodes.children[number]]
        return self._nodes.head[number], tuple(sorted(children) if self._nodes.constructor[number].swaps else children)

    def _sign(self, number: int) -> None:
        other = self._signatures.setdefault(self._signature(number), number)
        if self._parent[other] != self._parent[number]:
            mine, its = ([self._parent[c] for c in self._nodes.children[n]] for n in (number, other))
            self._pending.append(_Edge(number, other, ARGUMENTS, mine != its))

    def _settle(self) -> None:
        while self._pending:
            edge = self._pending.popleft()
            here, there = self._parent[edge.one], self._parent[edge.other]
            if here == there and isinstance(edge.why, str):
                continue
            self._edges.append(edge)
            self._next[edge.one].append(len(self._edges) - 1)
            self._next[edge.other].append(len(self._edges) - 1)
            if here != there:
                self._join(*sorted((here, there), key=lambda c: len(self._members[c])))

    def _join(self, small: int, large: int) -> None:
        for member in self._members[small]:
            self._parent[member] = large
        self._members[large] += self._members.pop(small)
        moved = self._users.pop(small)
        self._users[large] += moved
        for user in moved:
            self._sign(user)

    # -- paths --------------------------------------------------------------------------------------

    def _path(self, start: int, end: int, before: int) -> list[tuple[int, bool]]:
        """The shortest path of edges older than `before`; each with whether it is gone from its other end."""
        came: dict[int, tuple[int, bool] | None] = {start: None}
        queue = deque([start])
        while end not in came:
            at = queue.popleft()
            for number in self._next[at]:
                edge = self._edges[number]
                turned = at == edge.other
                to = edge.one if turned else edge.other
                if number < before and to not in came:
                    came[to] = number, turned
                    queue.append(to)
        path: list[tuple[int, bool]] = []
        while (step := came[end]) is not None:
            path.append(step)
            end = self._edges[step[0]].other if step[1] else self._edges[step[0]].one
        return path[::-1]

    def _needs(self, number: int, turned: bool) -> list[tuple[int, int]]:
        """The pairs of different arguments that a step for equal arguments stands on."""
        edge = self._edges[number]
        if not isinstance(edge.why, str) or self._nodes.terms[edge.one] is self._nodes.terms[edge.other]:
            return []
        one, other = self._nodes.children[edge.one], self._nodes.children[edge.other]
        pairs = list(zip(one, other[::-1] if edge.swapped else other, strict=True))
        return [(b, a) if turned else (a, b) for a, b in pairs if a != b]

    def _equation(self, number: int, turned: bool) -> Equation:
        edge, terms = self._edges[number], self._nodes.terms
        one, other = terms[edge.one], terms[edge.other]
        why = EXCHANGED if edge.swapped else edge.why
        return Equation(other, one, why, not isinstance(why, str)) if turned else Equation(one, other, why)
