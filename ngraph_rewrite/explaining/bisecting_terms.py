# SPDX-License-Identifier: Apache-2.0
"""Which rule made a normal form wrong: the term is brought to normal form again and again, without some of the rules.

What is left of it is judged by the meanings of its operations, so that it does no harm if the rule that would go on is
off: an operation that nothing rewrites any more means what it means.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ngraph_rewrite.errors import ArgumentError, NGraphRewriteError
from ngraph_rewrite.explaining.bisecting_search import Bisection, Search
from ngraph_rewrite.lowering.disabling import switched_off
from ngraph_rewrite.lowering.normal_form import normal_form
from ngraph_rewrite.lowering.replaying import Seen
from ngraph_rewrite.lowering.stage import Step
from ngraph_rewrite.lowering.step_lines import explained
from ngraph_rewrite.lowering.strategies import innermost
from ngraph_rewrite.rewriting.rule import CLASSES, Rule, RuleSet
from ngraph_rewrite.rewritten import Rewritten, rewrite
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.signatures import value_of_term
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

# So many steps of a run are looked at in their order; of longer runs the others come after them.
MOST = 5000


def bisect_term(term: Op, oracle: Any, rules: RuleSet) -> Bisection:
    """The first rule whose switching off mends the normal form of a term.

    Args:
        oracle: The expected normal form, or a function that says of a normal form whether it is right. By default it is
            right if it means what the term means.

    Raises:
        ArgumentError: if nothing says what is right: no oracle, and operations without a meaning.
        RewriteError: if the term has no normal form.
    """
    search = _Terms(term, rules, judge_of_terms(term, oracle))
    if search.mended([]):
        return Bisection("right", (), None, search.runs, "the normal form is right as it is")
    if search.first_error is not None:
        raise search.first_error
    return search.found()


def judge_of_terms(term: Op, oracle: Any) -> Callable[[Op], bool]:
    """What says of a normal form whether it is right."""
    if callable(oracle) and not isinstance(oracle, Op):
        return lambda found: bool(oracle(found))
    expected = oracle if isinstance(oracle, Op) else term
    try:
        wanted = value_of_term(expected)
    except KeyError as error:
        if oracle is not None:
            return lambda found: _equal(found, expected)
        what = f"{describe(term, 1)} cannot be judged: the operation {error.args[0].rpartition('.')[2]} has no meaning"
        do = "give the expected normal form, or a function of it, or declare a meaning= of each operation"
        raise ArgumentError(what, where=user_line(), do=do) from None
    return lambda found: _means(found, wanted) if oracle is None else _means(found, wanted) or _equal(found, expected)


def _means(found: Op, wanted: Any) -> bool:
    """Whether a normal form has a value, and this one."""
    try:
        return bool(value_of_term(found) == wanted)
    except KeyError:
        return False


def _equal(one: Op, other: Op) -> bool:
    """Whether two terms are the same by the laws of their operations."""
    first, second = normal_form([one, other], RuleSet())
    return first is second


class _Terms(Search):
    """The search for rules that make a normal form wrong."""

    def __init__(self, term: Op, rules: RuleSet, judge: Callable[[Any], bool]) -> None:
        super().__init__(judge)
        self.term, self.rules = term, rules
        self.whole: Rewritten | None = None
        self.first_error: NGraphRewriteError | None = None

    def run(self, off: frozenset[str]) -> None:
        self.runs += 1
        self.known[off] = False
        try:
            with switched_off(sorted(off)):
                found = rewrite(self.term, innermost(self.rules), classes=CLASSES)
            self.whole = self.whole if off else found
            self.note(found)
            self.known[off] = self.judge(found.root)
        except NGraphRewriteError as error:  # without some of the rules others may not come to an end
            self.first_error = self.first_error or (None if off else error)

    def note(self, found: Rewritten) -> None:
        """Take note of rules that fire for the first time: what builds a term before what rewrites it."""
        replay = found.replay.again()
        seen = (one.step for handle in topological([self.term]) for one in replay.steps(handle))
        for step in (*islice(seen, MOST), *found.table.redexes()):
            if isinstance(step.why, Rule) and step.why.name not in self.first:
                self.first[step.why.name] = step
                self.order.append(step.why.name)

    def changes(self, name: str) -> bool:
        """Whether a step of a rule gives a term of another meaning; any may where operations have none."""
        steps = self.whole.table.redexes() if self.whole is not None else ()
        own = [step for step in steps if isinstance(step.why, Rule) and step.why.name == name]
        try:
            return any(value_of_term(step.before) != value_of_term(step.after) for step in islice(own, MOST))
        except KeyError:
            return True

    def found(self) -> Bisection:
        found = super().found()
        if found.rules:
            return found
        names = (name for name in self.order if self.mended([name]))
        rules = [rule for name in names if isinstance(rule := self.first[name].why, Rule)]
        return self.answer(rules[:1]) if rules else Bisection("graph", (), None, self.runs, self.no_rule())

    def told(self, step: Step) -> str:
        replay = self.whole.replay.again() if self.whole is not None else None
        return explained(Seen(step) if replay is None else replay.seen(step), replay)

    def no_rule(self) -> str:
        return "no rule: none of those that fired mends the normal form if it is off"
