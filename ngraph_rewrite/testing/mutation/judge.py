# SPDX-License-Identifier: Apache-2.0
"""A broken rule is judged by the checks themselves: the cheapest first, and on few examples before many.

Instances of the right rule serve all that is made of it: a rule that was broken on its right side only has the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.rewriting.checks import check_types_on
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.instances import TRIES, Instance, matches
from ngraph_rewrite.rewriting.order import why_not_down
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.testing.adjoints import check_adjoint
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, Context, Effort, Finding, finding
from ngraph_rewrite.testing.guards import check_guard
from ngraph_rewrite.testing.proof.prove import check_proof
from ngraph_rewrite.testing.seldom import few_examples, long_examples, wide_examples
from ngraph_rewrite.testing.strategies import (
    Example,
)
from ngraph_rewrite.testing.values import ENOUGH, drawn_examples, search_values

# Tried first: most broken rules are wrong everywhere.
LITTLE = 3
# Instances whose types are compared, and terms that are tried to find each.
TYPED, TRIES_EACH = 20, TRIES // 2
# So many instances with a long axis, so many of wide integers, and so many with few values.
LONG_ONES, WIDE_ONES, FEW_ONES = 30, 150, 100
# For the proof that what no check refuses is right.
PROOF_SECONDS = 0.3
# What is about to be called right is tried on more examples than a check takes, and on others.
AT_LENGTH = Effort(200, 1.5)

# So many instances are drawn to see whether a rule is right where its guard keeps it out.
BEYOND = 400


class Judge:
    """The checks of what is made of one rule.

    Args:
        rule: The right one.
        context: What the checks are given; the effort is that of a check of one broken rule.
    """

    def __init__(self, rule: Rule, context: Context) -> None:
        self.rule, self.context = rule, context
        self._bank = TrialBank()

    @cached_property
    def _typed(self) -> list[Instance]:
        return list(matches(self.rule, TYPED, SYMBOLIC, self._bank, TRIES_EACH))

    @cached_property
    def _examples(self) -> list[Example]:
        return list(drawn_examples(self.rule, self.context.effort))

    @cached_property
    def _many(self) -> list[Example]:
        return list(drawn_examples(self.rule, self._at_length))

    @property
    def _at_length(self) -> Effort:
        return replace(AT_LENGTH, seed=self.context.effort.seed + 1)

    def hasty(self, rule: Rule) -> Finding | None:
        """The finding of the first check that refuses the rule after a look at few instances."""
        return self._first(rule, LITTLE, (self.termination, self.types, self.meaning))

    def thorough(self, rule: Rule) -> Finding | None:
        """The finding of the first check that refuses the rule with all the effort it may take."""
        examples = self.context.effort.examples
        return self._first(rule, examples, (self.types, self.meaning)) or self._last(rule)

    def _first(self, rule: Rule, examples: int, checks: tuple[Callable[[Rule, int], Finding], ...]) -> Finding | None:
        return next((f for f in (check(rule, examples) for check in checks) if f.status == FAILED), None)

    def _last(self, rule: Rule) -> Finding | None:
        found = check_guard(rule, replace(self.context, _matchers={}))
        return found if found.status == FAILED else None

    def at_length(self, rule: Rule) -> Finding | None:
        """The finding of the first check that refuses the rule on many more examples."""
        found = self._compared(rule, self._at_length, self._many if self._alike(rule) else None)
        if found.status != FAILED and rule.kind != "derive":
            more = [*few_examples(rule, FEW_ONES), *long_examples(rule, LONG_ONES), *wide_examples(rule, WIDE_ONES)]
            found = self._compared(rule, replace(self._at_length, examples=LITTLE), more)
        if found.status != FAILED and not self._alike(rule):
            found = check_guard(rule, replace(self.context, effort=replace(self._at_length, seconds=1.0), _matchers={}))
        return found if found.status == FAILED else None

    def right_beyond(self, rule: Rule) -> int:
        """On how many drawn terms that the right rule does not take another one is right; 0 if it is wrong on one."""
        effort = replace(self._at_length, examples=BEYOND)
        context = replace(self.context, effort=effort, _matchers={})
        steps = context.matcher(self.rule).steps
        beyond = (e for e in drawn_examples(rule, effort) if not _fires(steps, e))
        search = search_values(rule, context, beyond)
        return 0 if search.found is not None else search.compared

    def proof(self, rule: Rule) -> Finding:
        """What the check proof finds."""
        effort = replace(self.context.effort, seconds=PROOF_SECONDS)
        return check_proof(rule, replace(self.context, effort=effort, _matchers={}))

    def termination(self, rule: Rule, examples: int) -> Finding:
        """Whether the rule goes down in the order of declaration."""
        problem = why_not_down(rule)
        return finding(rule, "termination", FAILED if problem else PASSED, problem or "")

    def types(self, rule: Rule, examples: int) -> Finding:
        """As the check types."""
        count = min(TYPED, max(2, examples))
        try:
            own = self._alike(rule)
            found = self._typed[:count] if own else list(matches(rule, count, SYMBOLIC, self._bank, TRIES_EACH))
            for instance in found:
                check_types_on(rule, instance, self._bank)
        except RuleFileError as error:
            return finding(rule, "types", FAILED, error.what.partition("\n")[0])
        if examples > LITTLE and not found:
            return finding(rule, "types", FAILED, "has no instance among the terms that were tried")
        return finding(rule, "types", PASSED)

    def meaning(self, rule: Rule, examples: int) -> Finding:
        """As the check values, or the check adjoint, but for the shrinking of the counterexample."""
        effort = replace(self.context.effort, examples=examples)
        return self._compared(rule, effort, self._examples[:examples] if self._alike(rule) else None)

    def _compared(self, rule: Rule, effort: Effort, given: list[Example] | None) -> Finding:
        examples, context = effort.examples, replace(self.context, effort=effort, _matchers={})
        if rule.kind == "derive":
            return self._believed(check_adjoint(rule, context), examples)
        try:
            search = search_values(rule, context, given)
        except NGraphRewriteError as error:
            return finding(rule, "values", FAILED, " ".join(error.what.split()))
        if search.found is not None:
            return finding(rule, "values", FAILED, search.found.what)
        if examples > LITTLE and search.compared < ENOUGH * examples and not search.late:
            return finding(rule, "values", FAILED, f"fired on {search.compared} of {examples} drawn instances")
        return finding(rule, "values", PASSED)

    def _believed(self, found: Finding, examples: int) -> Finding:
        """The finding, unless it only says that too few of few examples were of use."""
        few = examples <= LITTLE and found.says.startswith(("fired on", "could be compared"))
        return replace(found, status=NONE) if few else found

    def _alike(self, rule: Rule) -> bool:
        """Whether it fires on the same terms as the right rule."""
        return _reach(rule) == _reach(self.rule)


def _fires(steps: Mapping[OpDef, Callable[..., Any]], example: Example) -> bool:
    """Whether a rule takes the term of an example."""
    found = example.instance
    step = steps.get(found.term.definition)
    return step is not None and step(found.term, example.bank.make, found.target) is not None


def _reach(rule: Rule) -> tuple[object, ...]:
    wheres = tuple(c for c in rule.clauses if isinstance(c, Where)) if rule.guard is not None else ()
    return rule.left, rule.guard, wheres
