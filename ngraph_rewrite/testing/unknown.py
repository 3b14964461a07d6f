# SPDX-License-Identifier: Apache-2.0
"""A rule that fires while lengths are unknown must be right for all that they turn out to be, 0 and 1 among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random

from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, SYMBOLIC
from ngraph_rewrite.rewriting.instances import Instance, Target, TrialBank, first_match
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.findings import Context
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.strategies import PLAIN, WILD, begin, random_values, valued_leaves
from ngraph_rewrite.types.lengths import symbols
from ngraph_rewrite.types.tuples import tensors

# One in so many examples has unknown lengths, which turn out to be these.
SHARE = 5
_SOME, _EDGES = (2, 2, 3, 1), (1, 0, 2)
# So many terms are tried to find one.
_TRIES = 60


@dataclass
class Unbound:
    """What came of comparing both sides of a rule that fired while lengths were unknown.

    Attributes:
        ways: The ways to fire that are to be tried: the rule with narrower guards, by these.
        wrong: The first counterexample.
        taken: The ways that were gone, with values that have elements.
    """

    rule: Rule
    context: Context
    ways: Mapping[str, Rule]
    wrong: Counterexample | None = None
    taken: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Draw instances until the rule is wrong on one, for lengths that the unknown ones may be.

        Both sides are compared with the lengths bound after the rule has fired, as a computation does with the
        lengths of its arguments.
        """
        count = self.context.effort.examples // SHARE
        for i, name in enumerate([None, *self.ways] * count):
            random = Random(f"{self.rule.name} {self.rule.text} {self.context.effort.seed} unknown {i}")
            found = _instance(self.rule if name is None else self.ways[name], random)
            if found is not None and self._compare(found, random) and name is not None:
                self.taken.add(name)
            if self.wrong is not None:
                return

    def _compare(self, found: Instance, random: Random) -> bool:
        """Compare one instance for several lengths; whether there was an element to compare."""
        right, filled = _right(self.rule, self.context, found), False
        for binding in _bindings(found.term, random) if right is not None else ():
            sides = _bound(found.term, right, binding)
            if sides is None:
                continue
            what = f"fires while lengths are unknown, and is wrong where {_said(binding)}"
            self.wrong = _different(self.rule, *sides, what, found.target, random)
            if self.wrong is not None:
                return True
            filled = filled or any(type_.size for type_ in tensors(sides[0].type))
        return filled


def _instance(rule: Rule, random: Random) -> Instance | None:
    bank, first = TrialBank(), random.choice(COMMON_FIRST)
    domain = replace(SYMBOLIC, dtypes=(first, *(d for d in COMMON_FIRST if d != first)))
    solver = Solver(rule, bank.make) if rule.guard is not None else None
    try:
        return first_match(rule, domain, begin(random), bank, _TRIES, solver)
    except RuleFileError:  # a guard that cannot be asked here: types are another check
        return None


def _right(rule: Rule, context: Context, found: Instance) -> Op | None:
    """What the rule makes of an instance with unknown lengths; its types are another check."""
    try:
        step = context.matcher(rule).step(found.term, TermBank().make, found.target)
    except Exception:  # as above
        return None
    return step[1] if step is not None and step[1].type == found.term.type else None


def _bindings(term: Op, random: Random) -> Iterator[dict[str, int]]:
    """Choices of the unknown lengths: each of them 0, the others not; then any. None if all are known."""
    types = (type_ for t in topological([term]) for type_ in tensors(t.type))
    names = list(dict.fromkeys(name for type_ in types for n in type_.shape for name in symbols(n)))
    for none in names:
        yield {name: 0 if name == none else random.choice(_SOME) for name in names}
    if names:
        yield {name: random.choice(_EDGES) for name in names}


def _bound(left: Op, right: Op | None, binding: Mapping[str, int]) -> tuple[Op, Op] | None:
    """Both sides with these lengths; None if there are no such terms, which a computation says."""
    assert right is not None
    try:
        bound = bind_graph([left, right], binding)
    except (NGraphRewriteError, TypeError, ValueError):
        return None
    sides = bound[left], bound[right]
    return None if any(map(too_large, sides)) else sides


def _different(rule: Rule, left: Op, right: Op, what: str, target: Target, random: Random) -> Counterexample | None:
    values = random_values(random, valued_leaves(left), random.choice((PLAIN, WILD)))
    try:
        found = difference(left, right, values, rule.grade)
    except Undefined:
        return None
    return None if found is None else Counterexample(rule, left, right, values, what, target, found)


def _said(binding: Mapping[str, int]) -> str:
    return " and ".join(f"{name} = {n}" for name, n in sorted(binding.items()))
