# SPDX-License-Identifier: Apache-2.0
"""From terms to the cheapest equal terms: explore, extract, and record what replaces what, with its proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.driver import replace
from ngraph_rewrite.lowering.stage import Forward, Replaced
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.saturation.candidates import Candidate, Choice, Graph
from ngraph_rewrite.saturation.consistency import Consistency
from ngraph_rewrite.saturation.cost import Cost
from ngraph_rewrite.saturation.directions import Direction
from ngraph_rewrite.saturation.egraph import ENode, Snapshot
from ngraph_rewrite.saturation.exploring import Bounds, Exploration
from ngraph_rewrite.saturation.extraction import extract
from ngraph_rewrite.saturation.nodes import Nodes
from ngraph_rewrite.saturation.proofs import Equation, Proofs
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

# Whether an op may stand in what is chosen.
Allowed = Callable[[OpDef], bool]


class LeftOut(NamedTuple):
    """A rule that took no part, and why."""

    rule: Rule
    why: str

    def __repr__(self) -> str:
        return f"{self.rule}: {self.why}"


class Plan(NamedTuple):
    """What to explore, and what to choose by.

    Attributes:
        effort: How many e-nodes to look at in the search for sharing.
    """

    directions: tuple[Direction, ...]
    left_out: tuple[LeftOut, ...]
    cost: Cost
    bounds: Bounds
    effort: int

    def price(self, term: Op, place: str) -> float:
        """What a term costs: a number that can be added up and compared.

        Raises:
            ArgumentError: if it is something else.
        """
        found: Any = self.cost(term)
        known = isinstance(found, Real)
        if not (known and 0 <= found < math.inf):
            name = getattr(self.cost, "__qualname__", repr(self.cost))
            do = "a cost is a finite number of at least 0"
            raise ArgumentError(f"the cost {name} of {describe(term)} is {found!r}", where=place, do=do)
        return float(found)


@dataclass
class Evidence:
    """The instances of rules that were found, and the closure of them once somebody asks why.

    Attributes:
        stage: The number of the table's stage for what was chosen.
    """

    nodes: Nodes
    instances: Sequence[tuple[int, int, Rule]]
    stage: int

    @cached_property
    def _proofs(self) -> Proofs:
        return Proofs(self.nodes, self.instances)

    def equations(self, one: Op, other: Op) -> list[Equation]:
        """The steps from one term to an equal one."""
        return self._proofs.equations(one, other)


@dataclass(frozen=True)
class Chosen(Replaced):
    """The reason of a step to the cheapest equal term: the instances of rules that make it one."""

    before: Op = field(compare=False)
    after: Op = field(compare=False)
    evidence: Evidence = field(compare=False, repr=False)

    @property
    def equations(self) -> list[Equation]:
        """The proof that both are equal."""
        return self.evidence.equations(self.before, self.after)

    @property
    def lines(self) -> tuple[str, ...]:
        """The proof as `explain` prints it."""
        return tuple(line for equation in self.equations for line in equation.lines())


class Outcome(NamedTuple):
    """What exploring and extracting gave."""

    roots: list[Op]
    cost_before: float
    cost_after: float
    iterations: int
    nodes: int
    classes: int
    stopped: str
    evidence: Evidence


def choose(
    roots: Sequence[Op], plan: Plan, table: ReplacementTable, bank: TermBank, target: Any, name: str, place: str,
    allowed: Allowed,
) -> Outcome:  # fmt: skip
    """The cheapest equal terms of `roots`; a stage of `table` says what replaced what.

    Args:
        roots: Terms of `bank`.
        name: What the stage is called, and the reasons in it.
        place: The user's line.
        allowed: Which ops may stand in what is chosen; those that stand in `roots` always may.

    Raises:
        ArgumentError: for a cost that is no finite number of at least 0.
        RewriteError: if a rule fails, changes a type, or two different constants become equal.
    """
    nodes = Nodes(bank, roots)
    numbers = [nodes.add(root) for root in roots]
    before = len(nodes)
    cost_before = sum([plan.price(term, place) for term in nodes.terms[:before]])
    exploration = Exploration(nodes, plan.directions, plan.bounds, target)
    try:
        consistency = Consistency(nodes, exploration.instances)
        found = exploration.run(lambda snapshot: consistency.check(_constants(exploration, snapshot)))
        enodes = _enodes(exploration, found, before)
    finally:
        exploration.egraph.close()
    own = {t.definition for t in nodes.terms[:before]}
    kept = [e for e in enodes if nodes.heads[e.head].definition in own or allowed(nodes.heads[e.head].definition)]
    graph = _graph(kept, nodes, lambda term: plan.price(term, place), [found.own[n] for n in numbers])
    choice = extract(graph, _original(kept, nodes, found, before), plan.effort)
    made = _made(graph, kept, nodes, choice)
    evidence = Evidence(nodes, exploration.instances, len(table.stages))
    replacements = {
        old: Forward(new, Chosen(name, place, old, new, evidence))
        for old, new in _replaced(nodes, found, before, made, choice, kept)
    }
    return Outcome(
        replace(roots, replacements, table, bank, name),
        cost_before, graph.cost(choice), exploration.iterations,
        len(enodes), found.classes, exploration.stopped, evidence,
    )  # fmt: skip


def _constants(exploration: Exploration, found: Snapshot) -> list[ENode]:
    tables = exploration.egraph.constructors.get(lookup("core.constant"), {})
    return [e for table in tables.values() for e in found.enodes(table)]


def _enodes(exploration: Exploration, found: Snapshot, before: int) -> list[ENode]:
    """All e-nodes: those of the original graph first, so that they are taken where nothing is cheaper."""
    nodes = exploration.nodes
    ours = [_enode(nodes, found, number) for number in range(before)]
    every = sorted(e for table in exploration.egraph.tables for e in found.enodes(table))
    return list(dict.fromkeys([*ours, *every]))


def _enode(nodes: Nodes, found: Snapshot, number: int) -> ENode:
    return ENode(nodes.head[number], tuple([found.own[c] for c in nodes.children[number]]), found.own[number])


def _graph(enodes: Sequence[ENode], nodes: Nodes, cost: Cost, roots: Sequence[int]) -> Graph:
    terms = nodes.terms
    made = (nodes.make(e.head, [terms[c] for c in e.children]) for e in enodes)
    costs = [cost(term) for term in made]
    return Graph([Candidate(e.own, e.children, c) for e, c in zip(enodes, costs, strict=True)], roots)


def _original(enodes: Sequence[ENode], nodes: Nodes, found: Snapshot, before: int) -> Choice:
    """The e-nodes of the original graph; of equal terms the first one, which cannot stand on the others."""
    numbers = {enode: i for i, enode in enumerate(enodes)}
    choice = Choice()
    for number in range(before):
        enode = _enode(nodes, found, number)
        choice.setdefault(enode.own, numbers[enode])
    return choice


def _made(graph: Graph, enodes: Sequence[ENode], nodes: Nodes, choice: Choice) -> dict[int, Op]:
    """The chosen term of each class that is used."""
    made: dict[int, Op] = {}
    for own in graph.used(choice):
        enode = enodes[choice[own]]
        made[own] = nodes.make(enode.head, [made[c] for c in enode.children])
    return made


def _replaced(
    nodes: Nodes, found: Snapshot, before: int, made: dict[int, Op], choice: Choice, enodes: Sequence[ENode]
) -> list[tuple[Op, Op]]:
    """The original terms that go elsewhere: not those that only have other arguments."""
    pairs = []
    for number in range(before):
        enode = _enode(nodes, found, number)
        old, new = nodes.terms[number], made.get(enode.own)
        if new is not None and new is not old and enodes[choice[enode.own]] != enode:
            pairs.append((old, new))
    return pairs
