# SPDX-License-Identifier: Apache-2.0
"""`ng.saturate`: the cheapest graph that rules can make of another one, in whatever order they have to be applied."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.derivation import check_term, derivation
from ngraph_rewrite.lowering.driver import adopt
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.saturation.choosing import Evidence, LeftOut, Outcome, Plan, choose
from ngraph_rewrite.saturation.cost import Cost, launches_and_bytes
from ngraph_rewrite.saturation.exploring import Bounds
from ngraph_rewrite.saturation.planning import EFFORT, Rules, planned
from ngraph_rewrite.saturation.proofs import Equation
from ngraph_rewrite.targets.choices import as_target
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.info import NO_INFO, Info, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe


@dataclass(frozen=True)
class Saturated:
    """What saturation made of a graph.

    Attributes:
        roots: The cheapest terms that were found, in the order of those given: handles to compute, or build on.
        table: Where each term went; `explain` prints it.
        cost_before: The cost of the graph that was given, and `cost_after` of the one that was chosen.
        iterations: How often the rules were tried.
        nodes: How many e-nodes there were in the end, in so many `classes`.
        stopped: Why exploring ended: ``"saturated"`` if there is nothing more to find, else the bound: iterations,
            nodes or seconds.
        left_out: The rules that took no part, and why.
    """

    roots: tuple[Op, ...]
    table: ReplacementTable
    cost_before: float
    cost_after: float
    iterations: int
    nodes: int
    classes: int
    stopped: str
    left_out: tuple[LeftOut, ...] = field(repr=False)
    evidence: Evidence = field(repr=False)

    def explain(self, op: Op) -> str:
        """How the terms under `op`, and `op` last, came to what was chosen: the rules, their places, and the terms."""
        return derivation(self.table, op)

    def equations(self, op: Op) -> list[Equation]:
        """The proof that a term that was given equals what was chosen for it.

        Raises:
            ArgumentError: for something else than a term.
        """
        check_term(op)
        for stage in self.table.stages[: self.evidence.stage]:
            op = stage.end(op)
        return self.evidence.equations(op, self.table.stages[self.evidence.stage].end(op))


def saturate(
    roots: Op | Iterable[Op],
    rules: Rules = None,
    cost: Cost = launches_and_bytes,
    *,
    both_ways: Iterable[str] | str = (),
    classes: Iterable[str] = SAFE_CLASSES,
    target: str | Target = "cpu",
    iterations: int = Bounds().iterations,
    nodes: int = Bounds().nodes,
    seconds: float = Bounds().seconds,
    matches: int = Bounds().matches,
    effort: int = EFFORT,
) -> Saturated:
    """The cheapest graph that rules can make of one, found by equality saturation.

    Rules are not applied one instead of another: all that they make is kept, in an e-graph, and the cheapest graph is
    taken from it in the end. See Willsey et al., *egg: Fast and Extensible Equality Saturation*, POPL 2021.

    Args:
        roots: Terms without effects; a `SaturationPass` takes any graph.
        rules: A rule set, or a rule file or its text; by default the library's rules that simplify or explore,
            which speak of lowered terms: of ``semi``.
        cost: What a node costs, from a term: its op, its attributes, and the types of its arguments.
        both_ways: Names of rules that are also used from right to left.
        classes: The classes of rules that take part.
        target: What guards may ask.
        iterations: How often all rules are tried at most.
        nodes: How many e-nodes there may be beside those of the graph that is given.
        seconds: How long to explore.
        matches: How many matches of a rule are used at once, before it is banned for a while.
        effort: How many e-nodes to look at in the search for a graph that shares more.

    Raises:
        ArgumentError: for a graph with effects, terms of a signature, a class that there is not, a name in
            `both_ways` that no rule has, or whose rule does not say from right to left what its left side is, a cost
            that is no finite number of at least 0, or a bound that is no number of at least 0.
        RuleFileError: for a rule file with a mistake.
        RewriteError: if a rule fails, changes a type, or two different constants become equal: with the proof.

    >>> import ngraph_rewrite as ng
    >>> a, x, y = (ng.placeholder((1000,), name=n) for n in "axy")
    >>> rules = ng.rule("a * x + a * y => a * (x + y)", family="numpy", kind="explore", name="factor")
    >>> found = ng.saturate(a * x + a * y, rules)
    >>> found.roots[0], found.stopped
    (numpy.multiply(a, numpy.add(x, y)), 'saturated')
    """
    on = as_target(target)
    plan = planned(rules, cost, both_ways, classes, on, Bounds(iterations, nodes, seconds, matches), effort)
    terms = list(roots) if isinstance(roots, Iterable) and not isinstance(roots, Op) else [roots]
    _check(terms)
    table, bank = ReplacementTable(), TermBank()
    with no_garbage_collection():
        shared = adopt(terms, table, bank)
        found = choose(shared, plan, table, bank, on, "saturate", user_line(), lambda definition: True)
    return saturated(found, _handles(terms, found.roots, table), table, plan)


def _check(roots: Iterable[Op]) -> None:
    """Refuse what has its place, and what is no tensor, or no term at all."""
    for root in roots:
        if not isinstance(root, Op):
            raise ArgumentError(f"{root!r} is not a term", where=user_line(), do="give terms to explore")
    for term in topological(roots):
        if "effect" in term.definition.traits:
            what = f"{describe(term)} has an effect, which has its place among others"
            raise ArgumentError(
                what, where=user_line(), do="give a transformer a SaturationPass: it sees them in order"
            )
        if term.definition.profile is not None:
            what = f"{describe(term)} is a term of a signature, and no tensor"
            raise ArgumentError(what, where=user_line(), do="rewrite it to its normal form")


def _handles(given: Iterable[Op], chosen: Iterable[Op], table: ReplacementTable) -> list[Op]:
    """The chosen terms as handles: those that were given, where nothing changed, and new ones on the roots' lines."""
    made: dict[Op, Op] = {}
    for handle, own in table.stages[0].normal.items():
        made.setdefault(own, handle)
    chosen = list(chosen)
    for root, term in zip(given, chosen, strict=True):
        place = Info(filename=root.info.filename, lineno=root.info.lineno)
        for one in topological([term]):
            if one not in made:
                info = place if one.info is NO_INFO else one.info
                made[one] = Op(one.definition, tuple([made[a] for a in one.args]), one.attrs, one.type, info)
    table.stage("handles").normal.update(made)
    return [made[term] for term in chosen]


def saturated(found: Outcome, roots: Iterable[Op], table: ReplacementTable, plan: Plan) -> Saturated:
    """What is told of an outcome."""
    return Saturated(
        tuple(roots), table, found.cost_before, found.cost_after, found.iterations, found.nodes,
        found.classes, found.stopped, plan.left_out, found.evidence,
    )  # fmt: skip
