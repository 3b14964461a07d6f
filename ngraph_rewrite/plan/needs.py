# SPDX-License-Identifier: Apache-2.0
"""What is needed of a graph with scans: of each scan some parts, and what those depend on in its step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngraph_rewrite.terms.binders import NONE, free_parameters, is_parameter
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op

SCAN, WHILE = "semi.scan", "core.while_loop"
LOOPS = frozenset({SCAN, WHILE})


class Scan:
    """The arguments of a scan by kind, or those of a loop that goes on while its first state is true.

    Attributes:
        sequences: What is walked through, or passed to every step as it is.
        hidden: How many of the first states are no parts of its result.
        is_branch: Whether it goes on after no step, so that there is one or none.
        steps: How many there are, or can be; None where nobody knows.
    """

    def __init__(self, term: Op) -> None:
        self.is_scan = term.definition.name == SCAN
        n, m = term.attribute("states"), term.attribute("sequences" if self.is_scan else "passed")
        self.term, self.parameters, self.hidden = term, term.attribute("parameters"), int(not self.is_scan)
        self.inits, self.sequences = term.args[:n], term.args[n : n + m]
        self.following, self.outputs = term.args[n + m : n + m + n], term.args[n + m + n :]
        self.is_branch = not self.is_scan and _is_false(self.following[0])
        self.steps: int | None = int(term.attribute("length")) if self.is_scan else 1 if self.is_branch else None

    def goes_on_by(self, states: Iterable[int]) -> bool:
        """Whether no step changes these states once the first one is false, as the loop in it then takes no step."""
        return self.is_scan and all(self._stays(i) for i in states)

    def _stays(self, state: int) -> bool:
        after = self.following[state]
        if self._stands_for(after, state):
            return True
        if after.definition.name != "core.item" or after.args[0].definition.name != WHILE:
            return False
        inits = after.args[0].args
        return self._stands_for(inits[0], 0) and self._stands_for(inits[after.attribute("index") + 1], state)

    def _stands_for(self, term: Op, state: int) -> bool:
        return is_parameter(term) and term.attribute("uid") == self.parameters[state]


def _is_false(term: Op) -> bool:
    return term.definition.name == "core.constant" and not term.attribute("value").scalar


class Needs:
    """What is needed of a graph: the terms, and of each scan the parts, states and sequences."""

    def __init__(self, order: Sequence[Op], roots: Iterable[Op]) -> None:
        self.order, self.free = order, free_parameters(order)
        self.live = set(roots)
        self.parts: dict[Op, set[int]] = {}
        for term in reversed(order):
            if term not in self.live:
                continue
            if term.definition.name == "core.item":
                self.parts.setdefault(term.args[0], set()).add(term.attribute("index"))
            if term.definition.name in LOOPS:
                self.live.update(self._arguments(Scan(term)))
            else:
                self.live.update(term.args)

    def _arguments(self, scan: Scan) -> list[Op]:
        states, outputs, sequences = self.of(scan)
        own = [scan.inits[i] for i in states] + [scan.following[i] for i in states]
        return own + [scan.outputs[i] for i in outputs] + [scan.sequences[i] for i in sequences]

    def of(self, scan: Scan) -> tuple[list[int], list[int], list[int]]:
        """The states, outputs and sequences of a scan that are needed."""
        n, k, parts = len(scan.inits), len(scan.outputs), self.parts.get(scan.term, set())
        if scan.hidden:
            parts = {0, *(i + scan.hidden for i in parts)}
        states = {i for i in parts if i < n} | {i - n - k for i in parts if i >= n + k}
        outputs = sorted(i - n for i in parts if n <= i < n + k)
        read = self._read(scan.outputs[i] for i in outputs)
        while True:
            read |= self._read(scan.following[i] for i in states)
            more = {i for i, uid in enumerate(scan.parameters[:n]) if uid in read} - states
            if not more:
                break
            states |= more
        return sorted(states), outputs, [i for i, uid in enumerate(scan.parameters[n:]) if uid in read]

    def _read(self, roots: Iterable[Op]) -> set[Uid]:
        return {uid for root in roots for uid in self.free.get(root, NONE)}
