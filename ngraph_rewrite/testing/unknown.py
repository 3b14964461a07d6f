# SPDX-License-Identifier: Apache-2.0
"""A rule that fires while lengths are unknown must be right for all that they turn out to be, 0 and 1 among them.

So are the integers that stand in its text, and their neighbours: a guard may ask for one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.domain import COMMON_FIRST, SYMBOLIC
from ngraph_rewrite.rewriting.instances import Instance, first_match
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.evaluate import Undefined
from ngraph_rewrite.testing.findings import Context
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.strategies import PLAIN, WILD, begin, random_values, valued_leaves
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.lengths import Extent, Length, symbols
from ngraph_rewrite.types.tuples import tensors

# One in so many examples has unknown lengths, which turn out to be these.
SHARE = 5
_SOME, _EDGES = (2, 2, 3, 1), (1, 0, 2)
# So many terms are tried to find one; and so many are found, if their lengths are known.
_TRIES, _DRAWS = 60, 4
# Integers in the text of a rule, and how many of them are tried as lengths.
_WRITTEN, _MOST_WRITTEN = re.compile(r"(?<![\w.])\d{1,4}(?![\w.])"), 6


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
            found = _unbound(self.rule if name is None else self.ways[name], random)
            if found is not None and self._compare(found, random) and name is not None:
                self.taken.add(name)
            if self.wrong is not None:
                return

    def _compare(self, found: Instance, random: Random) -> bool:
        """Compare one instance for several lengths; whether there was an element to compare."""
        right, filled = _right(self.rule, self.context, found), False
        for binding in _bindings(found.term, _written(self.rule), random) if right is not None else ():
            sides = _bound(found.term, right, binding)
            if sides is None:
                continue
            what = f"fires while lengths are unknown, and is wrong where {_said(binding)}"
            self.wrong = _different(self.rule, *sides, what, found.target, random)
            if self.wrong is not None:
                return True
            filled = filled or any(type_.size for type_ in tensors(sides[0].type))
        return filled


def _unbound(rule: Rule, random: Random) -> Instance | None:
    """An instance with unknown lengths."""
    found = (_instance(rule, random) for _ in range(_DRAWS))
    return next((one for one in found if one is None or _unknown(one.term)), None)


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


def _written(rule: Rule) -> list[int]:
    """The integers that stand in a rule, what its guard says first, and those beside them."""
    conditions = [rule.guard, *(c.expression for c in rule.clauses if isinstance(c, Where))]
    texts = [*(e.text for e in conditions if e is not None), rule.text]
    said = [int(one) for text in texts for one in _WRITTEN.findall(text)]
    near = dict.fromkeys(n + step for step in (0, 1, -1) for n in said)
    return [n for n in near if n > 0][:_MOST_WRITTEN]


def _bindings(term: Op, written: Iterable[int], random: Random) -> Iterator[dict[str, int]]:
    """Choices of the unknown lengths, if there are any: each of them 0, or a given one, the others not; then any."""
    names = _unknown(term)
    for length in (0, *written):
        for one in names:
            yield {name: length if name == one else random.choice(_SOME) for name in names}
    if names:
        yield {name: random.choice(_EDGES) for name in names}


def _unknown(term: Op) -> list[str]:
    """The unknown lengths of a graph, in types and attributes."""
    terms = topological([term])
    types = (n for t in terms for type_ in tensors(t.type) for n in type_.shape)
    attributes = (n for t in terms for value in t.attrs for n in _lengths(value))
    return list(dict.fromkeys(name for n in (*types, *attributes) for name in symbols(n)))


def _lengths(value: Any) -> Iterator[Extent]:
    """The lengths in an attribute."""
    if isinstance(value, Length):
        yield value
    elif isinstance(value, Axis):
        yield value.length
    elif isinstance(value, Axes):
        yield from value.lengths
    elif type(value) is tuple:
        for one in value:
            yield from _lengths(one)


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
