# SPDX-License-Identifier: Apache-2.0
"""The conditions of rules of a signature are asked where terms are not brought to normal form in the usual order.

Strategies, checks and explanations take single steps: what a step builds stays as it is written, and only what its
conditions compare or match is brought to normal form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ngraph_rewrite.lowering.normalising import BUDGET, Evaluation, eager
from ngraph_rewrite.lowering.steps import Steps
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.conditional import matchings, new_names, pattern_names
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Asking, Condition, Matching, Rule
from ngraph_rewrite.rewriting.search import Answers, fixed, matches
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

# The stage that has the steps to these normal forms.
CONDITIONS = "conditions"


class Asked:
    """What steps of rules of a signature get: it makes terms as they are written, and normal forms for conditions.

    Attributes:
        table: Has the steps that led to normal forms, in its only stage.
    """

    __slots__ = ("bank", "hold", "known", "matcher", "table")

    def __init__(self, matcher: Steps, bank: TermBank) -> None:
        self.matcher, self.bank, self.hold = matcher, bank, bank.make
        self.table = ReplacementTable()
        self.known: Evaluation | None = None

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        """The term with this structure."""
        return self.bank.make(definition, args, attrs)

    def force(self, term: Op) -> Op:
        """The term as it is."""
        return term

    late = force

    def ready(self, term: Op) -> Op:
        """The normal form of a term."""
        if self.known is None:
            self.known = Evaluation(self.matcher, self.table, self.bank, CONDITIONS, BUDGET)
        for one in eager([term]):
            self.known.settle(one)
        return self.known.normal[term]

    def found(self, term: Op, rule: int) -> Op:
        """The normal form of a term that a condition of a rule takes apart."""
        return self.ready(term)

    def matched(self, answers: Answers, term: Op, *given: Any) -> Iterator[tuple[Any, ...]]:
        """What a condition binds, in each way in which its pattern matches the normal form of a term."""
        return answers(self.ready(term), *map(self._normal, given))

    def _normal(self, value: Any) -> Any:
        """A term, or the terms of a sequence, in normal form."""
        if isinstance(value, Op):
            return self.ready(value)
        of_terms = isinstance(value, tuple) and all(isinstance(one, Op) for one in value)
        return tuple([self.ready(one) for one in value]) if of_terms else value

    def solutions(self, rule: Rule, found: Application, at: int = 0) -> Iterator[Application]:
        """A match of a rule with what its conditions bind, in each way in which all from number `at` on hold."""
        if at == len(rule.conditions):
            yield found
            return
        condition = rule.conditions[at]
        if isinstance(condition, Matching):
            for one in self.answers(rule, condition, found):
                yield from self.solutions(rule, one, at + 1)
        elif self._holds(condition, found):
            yield from self.solutions(rule, found, at + 1)

    def answers(self, rule: Rule, condition: Matching, found: Application) -> Iterator[Application]:
        """A match of a rule with what one of its conditions binds, in each way in which that matches."""
        new = next(own for one, own in zip(matchings(rule), new_names(rule), strict=True) if one is condition)
        names = [name for name in pattern_names(condition.pattern) if name not in new]
        given = fixed(names, [self._normal(found[name]) for name in names])
        for bound in matches(condition.pattern, self.ready(found.term(condition.term)), given):
            yield found.extended({name: bound[name] for name in new})

    def _holds(self, condition: Condition | Asking, found: Application) -> bool:
        if isinstance(condition, Asking):
            return bool(value_of(condition.expression, found))
        one, other = found.term(condition.left), found.term(condition.right)
        return (self.ready(one) is self.ready(other)) is condition.equal

    def conditions_hold(self, rule: Rule, found: Application) -> bool:
        """Whether the conditions of a rule hold for a match of it; what they bind first is bound then."""
        first = next(self.solutions(rule, found), None)
        if first is not None:
            found.update(first)
        return first is not None
