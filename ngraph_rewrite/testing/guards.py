# SPDX-License-Identifier: Apache-2.0
"""A guard is tried at its edges: what a rule fires on is changed in one place, and the rule must decline or be right.

Instances are drawn so that the guard holds; their neighbours are mostly those for which it does not, and among them
are the ones that a guard, or an attribute that the left side does not compare, forgets.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.asked_target import TARGETS, Target
from ngraph_rewrite.rewriting.domain import COMMON_FIRST
from ngraph_rewrite.rewriting.instances import Instance
from ngraph_rewrite.rewriting.pattern import App, Num, Var, subpatterns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.adjoints import wrong_adjoint
from ngraph_rewrite.testing.differences import NoDifferences
from ngraph_rewrite.testing.evaluate import Undefined, Values
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Finding, finding
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.neighbours import Neighbour, neighbours, squared
from ngraph_rewrite.testing.shrinking import shrunk
from ngraph_rewrite.testing.strategies import (
    DISTINCT,
    PLAIN,
    WILD,
    Example,
    examples_of,
    random_domain,
    random_values,
    valued_leaves,
)
from ngraph_rewrite.testing.values import wrong_step
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, is_float
from ngraph_rewrite.types.tuples import TupleType

CHECK = "guard"
# One in so many drawn instances has its neighbours tried, every other one with all its lengths made equal. Of those at
# one place on which the rule fires so many are compared, for one instance and for all.
SHARE, OF_ONE, OF_ALL = 3, 2, 12
# One in so many instances is of other lengths, ranks and attributes than are usual.
VARIED = 4
# So many searches are made for the first instances, however few are wanted: one may find none.
SEARCHES = 36


def check_guard(rule: Rule, context: Context) -> Finding:
    """Change each attribute, dtype, length, number and argument of instances of a rule, one at a time.

    The rule fails if it fires on what comes out and is wrong there, by its class; an adjoint rule if it differs from
    finite differences.

    >>> from ngraph_rewrite.rewriting.rule import RuleSet
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule r: transpose(x, perm=p) => x\\n    if p[0] == 0", "my.rules", "my")
    >>> check_guard(rule, Context(RuleSet([rule]))).status
    'failed'
    """
    if not has_edges(rule):
        return finding(rule, CHECK, NONE, "it compares nothing and has no guard")
    search = _Search(rule, context)
    try:
        wrong = search.run()
    except NGraphRewriteError as error:  # no instance can be made of it
        return finding(rule, CHECK, FAILED, " ".join(error.what.split()), f"#   {rule.text}")
    except Exception as error:  # of an op that nothing is known of
        return finding(rule, CHECK, OPEN, f"it cannot be tried: {' '.join(str(error).split())}")
    return wrong or finding(rule, CHECK, PASSED if search.tried else OPEN, search.said)


def has_edges(rule: Rule) -> bool:
    """Whether a rule has something to decline for: a guard, attributes, numbers, or a variable that stands twice."""
    parts = list(subpatterns(rule.left))
    names = Counter(p.name for p in parts if isinstance(p, Var))
    inside = any(isinstance(p, Num) or (isinstance(p, App) and p.definition.attributes) for p in parts)
    return rule.guard is not None or inside or max(names.values(), default=0) > 1


class _Case(NamedTuple):
    """A term near an instance of a rule, or the instance for another target."""

    near: Neighbour
    target: Target
    bank: TrialBank


@dataclass
class _Search:
    rule: Rule
    context: Context
    instances: int = 0
    tried: int = 0
    fired: int = 0
    compared: int = 0
    late: bool = False
    places: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def said(self) -> str:
        """What was tried, in a line."""
        if not self.tried:
            return "no instance was drawn"
        tried = f"{self.tried} neighbours of {self.instances} instances{', and time was up' * self.late}"
        return f"{tried}: declined {self.tried - self.fired}, right on {self.compared} that were compared"

    def run(self) -> Finding | None:
        """The first failure, if there is one."""
        self.context.matcher(self.rule)  # that takes its own time
        stop = time.process_time() + self.context.effort.seconds
        for case in self.cases():
            self.tried += 1
            if self.fires(case):
                self.fired += 1
                wrong = self.wrong(case) if self.wanted(case.near.place) else None
                if wrong is not None:
                    return wrong
            self.late = time.process_time() > stop
            if self.late:
                break
        return None

    def wanted(self, place: str) -> bool:
        """Whether one more neighbour at this place is compared."""
        counts = self.places[place, 0], self.places[place, self.instances]
        wanted = counts[0] < OF_ALL and counts[1] < OF_ONE
        self.places.update({(place, 0): wanted, (place, self.instances): wanted})
        return wanted

    def cases(self) -> Iterator[_Case]:
        derives = self.rule.kind == "derive"
        dtypes = (FLOAT64, BOOL) if derives else COMMON_FIRST
        count, seed = max(2, self.context.effort.examples // SHARE), self.context.effort.seed
        drawn = examples_of(self.rule, max(count, SEARCHES), seed, dtypes, (), VARIED)
        for example in itertools.islice(drawn, count):
            self.instances += 1
            term, target = example.instance.term, example.instance.target
            random = Random(f"{self.rule.name} {seed} {self.instances}")
            square = squared(term, example.bank) if self.instances % 2 else None
            found = list(neighbours(term if square is None else square, example.bank, random_domain(random, dtypes)))
            random.shuffle(found)
            yield from (_Case(near, target, example.bank) for near in found)
            for other in TARGETS:
                if other != target:
                    near = Neighbour(term, "target", f"the target {other.name}")
                    yield _Case(near, other, example.bank)

    def fires(self, case: _Case) -> bool:
        """Whether the rule rewrites it, or fails to, and it can be said what is right."""
        term = case.near.term
        if too_large(term) or isinstance(term.type, TupleType):
            return False
        if self.rule.kind == "derive" and not _differentiable(term):
            return False
        matcher = self.context.matcher(self.rule)
        adjoint = case.bank.leaf("d", term.type) if self.rule.kind == "derive" else case.target
        step = matcher.steps.get(term.definition)
        try:
            return step is not None and step(term, case.bank.make, adjoint) is not None
        except Exception:  # what it is will be said
            return True

    def wrong(self, case: _Case) -> Finding | None:
        term, derives = case.near.term, self.rule.kind == "derive"
        random = Random(f"{self.rule.name} {self.context.effort.seed} {self.fired}")
        compared = False
        for kind in (DISTINCT,) if derives else (PLAIN, *[WILD] * 4):
            values = random_values(random, valued_leaves(term), kind)
            with suppress(Undefined, NoDifferences):
                found = self.adjoint(case, values) if derives else self.step(case, values)
                compared = True
                if found is not None:
                    return found
        self.compared += compared
        return None

    def step(self, case: _Case, values: Values) -> Finding | None:
        found = wrong_step(self.rule, self.context, case.near.term, values, case.target)
        if found is None:
            return None
        again = shrunk(
            found, lambda t, v, target: wrong_step(self.rule, self.context, t, v, target), self.context.effort.seconds
        )
        return finding(self.rule, CHECK, FAILED, again.what, again.shown)

    def adjoint(self, case: _Case, values: Values) -> Finding | None:
        example = Example(Instance(case.near.term, {}, case.target), case.bank, [dict(values)])
        wrong = wrong_adjoint(self.rule, self.context, example, values)
        return None if wrong is None else finding(self.rule, CHECK, FAILED, wrong.what, wrong.shown)


def _differentiable(term: Op) -> bool:
    return term.dtype == FLOAT64 and all(
        isinstance(t.type, TupleType) or not is_float(t.dtype) or t.dtype == FLOAT64 for t in topological([term])
    )
