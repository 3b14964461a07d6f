# SPDX-License-Identifier: Apache-2.0
"""Why a rule did not fire on an op: how far the match got on the form that came nearest, or what came before it.

An op has many forms on its way from the handle to what is executed, or to its normal form. The rule is tried on each,
at the root of the op and of every part that a step built.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.asked import Asked
from ngraph_rewrite.lowering.attempts import best_attempt
from ngraph_rewrite.lowering.comparing import condition_values
from ngraph_rewrite.lowering.derivation import near
from ngraph_rewrite.lowering.derive_attempts import DeriveAttempts
from ngraph_rewrite.lowering.disabling import Choice
from ngraph_rewrite.lowering.drawing import bound_values, guard_values, indented
from ngraph_rewrite.lowering.forms import UNMATCHED, Form, forms_of
from ngraph_rewrite.lowering.graph_attempts import GraphAttempt, beside
from ngraph_rewrite.lowering.graph_rules import left_sides
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.left_out import left_out
from ngraph_rewrite.lowering.mismatches import elsewhere, mismatch, unlike
from ngraph_rewrite.lowering.normalising import is_of_signature
from ngraph_rewrite.lowering.obstacles import Obstacles
from ngraph_rewrite.lowering.passes import Lowering
from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.lowering.sequencing import Sequenced
from ngraph_rewrite.lowering.stage import Step
from ngraph_rewrite.lowering.step_lines import explained
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.lowering.verdicts import (
    ABSENT,
    FAILS,
    FIRED,
    GUARD,
    HAS_FIRED,
    MATCH,
    MATCHES,
    REFUSED,
    Finding,
    WhyNot,
)
from ngraph_rewrite.lowering.within import forms_within
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import variables
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op

# So many matches of a rule on one term are asked for, and so many forms of an op.
MOST, MOST_FORMS = 100, 5000


class Ran(Protocol):
    """What is asked of a lowering, or of what a strategy made of terms."""

    @property
    def table(self) -> ReplacementTable: ...
    @property
    def bank(self) -> TermBank: ...
    @property
    def sequenced(self) -> Sequenced: ...


@no_garbage_collection()
def why_not(
    name: str,
    op: Op,
    ran: Ran,
    passes: Mapping[str, Any],
    target: Any,
    choice: Choice,
    forms: Sequence[Form] = (),
) -> WhyNot:
    """Why the rule called `name` did not fire on `op`, or that it did.

    Args:
        passes: What ran, by the names of the stages of its table.
        forms: Terms to try beside those that the op was.

    Raises:
        ArgumentError: if no rule has this name; it tells the nearest.
    """
    asked = _Asked(op, ran, passes, target, choice, forms)
    answers = [(asked.answer(rule), rule) for rule in choice.every.named(name)]
    (found, rule) = max(answers, key=lambda pair: pair[0].reached)
    lines = [f"{rule.name} @{rule.grade}  ({rule.place})", *_stranger(op, ran, rule), *found.lines]
    if len(answers) > 1:
        lines.append(f"(of the {len(answers)} rules called {name}, this one came nearest)")
    return WhyNot(rule.name, found.verdict, "\n".join(lines))


def _stranger(op: Op, ran: Ran, rule: Rule) -> list[str]:
    """That a handle has no forms because it is of another graph; `ng.deriv` asks derive rules of any."""
    if rule.kind == "derive" or ran.table.knows(op):
        return []
    return wrapped("", f"{shown(op)} is not part of this computation; tried on it as it is:")


class _Asked:
    def __init__(
        self, op: Op, ran: Ran, passes: Mapping[str, Any], target: Any, choice: Choice, forms: Sequence[Form]
    ) -> None:
        self.op, self.ran, self.passes, self.target, self.choice = op, ran, passes, target, choice
        self.table = ran.table
        self.replay = Replay(ran.table, ran.bank, passes, target, conditions=True)
        self.ways, self.graphs = Obstacles(passes, self.replay), dict[tuple[str, str], GraphAttempt]()
        self.replay.shown |= self.table.on_the_way(near(op.args))  # what became of them is theirs
        every = (*islice(forms_of(op, self.replay), MOST_FORMS + 1), *forms)
        self.all_forms = len(every) <= MOST_FORMS
        forms = list(dict.fromkeys(every))
        made = [form for form in forms if form.stage not in UNMATCHED] if is_of_signature(op) else []
        self.forms = made or forms

    def answer(self, rule: Rule) -> Finding:
        if rule.kind == "derive":
            return self.derived(rule)
        step, says = self.fired(rule), "fired:"
        if step is None and rule.graph:
            step, says = self.fired_beside(rule), "fired, and this root of it stays as it is:"
        if step is not None:
            shown_step = explained(self.replay.seen(step), self.replay)
            return Finding(FIRED, HAS_FIRED, [says, shown_step, *self.ways.undone(step)])
        found = self.nearest(rule, self.forms)
        if found.verdict == MATCH:
            more = elsewhere(rule, self.table) or self.within(rule, found)
            found = found._replace(lines=[*found.lines, *more])
        lines = found.lines if self.all_forms else [*found.lines, f"(of the first {MOST_FORMS} terms on its way)"]
        left_out = self.left_out(rule)
        if left_out is not None:
            return Finding(left_out[0], found.reached, [*wrapped("", left_out[1]), "otherwise:", *lines])
        return found._replace(lines=lines)

    # -- before it is tried at all ------------------------------------------------------------------

    def fired(self, rule: Rule) -> Step | None:
        """The step in which it fired on a form of the op, or anywhere if there are more of them than are looked at."""
        terms = {form.term for form in self.forms}
        steps = self.table.redexes(rule.name)
        return next((step for step in steps if step.before in terms or not self.all_forms), None)

    def fired_beside(self, rule: Rule) -> Step | None:
        """The step of another root with which a form of the op was taken together, and left as it is."""
        every = self.table.redexes(rule.name)
        live = {form.term: form for form in self.forms if self.ways.takes_part(rule, form.stage)}
        return next((step for step in islice(every, MOST) for term in live if beside(rule, term, step.before)), None)

    def left_out(self, rule: Rule) -> tuple[str, str] | None:
        """Why the rule takes no part, if it does not."""
        return left_out(rule, self.ways.takes_part(rule), self.target, self.choice, isinstance(self.ran, Lowering))

    # -- trying it ----------------------------------------------------------------------------------

    def derived(self, rule: Rule) -> Finding:
        """What comes of a derive rule: `ng.deriv` asks it of handles, and of what lower rules make of them."""
        found = self.nearest(rule, self.derive.forms)
        found = found._replace(lines=[*found.lines, *self.within(rule, found)])
        left_out = self.left_out(rule)
        if left_out is not None:
            return Finding(left_out[0], found.reached, [left_out[1], *found.lines])
        return found

    @cached_property
    def derive(self) -> DeriveAttempts:
        """What a derivative asks derive rules about."""
        return DeriveAttempts(self.op, self.chosen, self.ran.bank, self.target)

    @property
    def chosen(self) -> RuleSet:
        """The rules that may fire."""
        return self.choice.every.of_class(self.choice.classes).without(self.choice.disabled)

    def tried(self, rule: Rule, form: Form) -> Finding:
        """What comes of the rule at the root of a form."""
        where = f"on {shown(form.term)}, a form in the pass {form.stage}"
        where += f", built at {form.term.info.place}" if form.term.info.lineno else ""
        try:
            if rule.graph:
                return self.tried_on_graph(rule, form, where)
            alike = form.term.definition is rule.left.definition
            found = list(islice(matches(rule.left, form.term, {}), MOST)) if alike else []
        except NGraphRewriteError as error:
            return Finding(FAILS, REFUSED, [*wrapped("", f"cannot be tried {where}"), f"    {error.what}"])
        if found:
            return max((self.guarded(rule, form, bound, where) for bound in found), key=lambda one: one.reached)
        return mismatch(rule, best_attempt(rule.left, form.term), form, self.ways, where)

    def tried_on_graph(self, rule: Rule, form: Form, where: str) -> Finding:
        """What comes of a rule that looks at the graph, on the graph as the rules before it left it."""
        now = form.term
        for stage in self.table.stages:
            now = stage.end(now) if stage.name == form.stage else now
        found = self.graph(rule, form.stage).tried(form.term, now, self.ways.taken_by(form.stage, form.term), where)
        if found is not None:
            return found if self.ways.takes_part(rule, form.stage) else found._replace(reached=REFUSED - 1)
        nearest = max((best_attempt(left, form.term) for left in left_sides(rule)), key=lambda one: one.passed)
        return mismatch(rule, nearest, form, self.ways, where)

    def graph(self, rule: Rule, name: str) -> GraphAttempt:
        """The rule on the graph as the stages left it, up to the last of a name; all if none has it."""
        if (rule.name, name) not in self.graphs:
            stages = self.table.stages
            last = max((i for i, stage in enumerate(stages) if stage.name == name), default=len(stages) - 1)
            roots = [*self.ran.sequenced.roots, *self.ran.sequenced.writes]
            for stage in stages[: last + 1]:
                roots = [stage.end(root) for root in roots]
            self.graphs[rule.name, name] = GraphAttempt(rule, roots, self.ran.bank, self.target)
        return self.graphs[rule.name, name]

    def nearest(self, rule: Rule, forms: Iterable[Form]) -> Finding:
        """What comes of the rule on the form on which it came furthest, and of two such where it is tried."""
        tried = ((self.tried(rule, form), self.ways.takes_part(rule, form.stage)) for form in forms)
        found, _ = max(tried, key=lambda one: (one[0].reached, one[1]))
        return found if found.reached else found._replace(lines=unlike(rule, self.forms))

    def within(self, rule: Rule, found: Finding) -> list[str]:
        """What comes of the rule on what stands inside the op, if no form of the op has the op at its root."""
        forms = [] if found.reached else forms_within(rule, self.op, self.replay)
        if not forms:
            return []
        return ["of what stands inside, this comes nearest:", *indented(self.nearest(rule, forms).lines)]

    def guarded(self, rule: Rule, form: Form, bindings: Mapping[str, Any], where: str) -> Finding:
        """The left side matches: the guard, the conditions, and what else stands in the way."""
        adjoint = form.term if rule.kind == "derive" else None  # anything of the right type
        names = Application(rule, form.term, bindings, self.ran.bank.make, self.target, adjoint)
        own = {name: value for name, value in bindings.items() if name not in _unwritten(rule)}
        matched = [*indented(rule.text.splitlines()), *indented(bound_values(own))]
        lines, held, weighed = self.weighed(rule, form, names)
        if weighed is None:
            says = wrapped("", f"matches, but its guard refuses {where}")
            return Finding(GUARD, REFUSED + held, [*says, *matched, *lines])
        before = self.derive.in_the_way(form.term) if rule.kind == "derive" else None
        if before is not None:
            return before._replace(lines=[*wrapped("", f"matches {where}"), *matched, *before.lines])
        try:
            weighed.right()
        except NGraphRewriteError as error:
            says = wrapped("", f"matches, but its right side cannot be built {where}")
            return Finding(FAILS, MATCHES, [*says, *matched, f"    {error.what}"])
        if rule.kind == "derive":
            kept = self.derive.verdict(rule, form.term)
        elif self.ways.takes_part(rule):
            kept = self.ways.obstacle(rule, form, self.left_out(rule) is not None)
        else:
            kept = Finding(ABSENT, MATCHES, [])
        return kept._replace(lines=[*wrapped("", f"matches {where}"), *matched, *kept.lines])

    def weighed(self, rule: Rule, form: Form, names: Application) -> tuple[list[str], int, Application | None]:
        """Lines for the guard and conditions of a match, about how many hold, and all that it binds if all do."""
        lines, holds = ([], True) if rule.guard is None else guard_values(rule.guard, names)
        if not holds or not rule.conditions:
            return lines, len(lines), names if holds else None
        found = condition_values(rule, names, self.asked(rule, form), rule.guard is None)
        return [*lines, *found.lines], len(lines) + found.held, found.names

    def asked(self, rule: Rule, form: Form) -> Asked:
        """What works out normal forms for the conditions of a rule: with the rules that ran beside it."""
        named = (form.stage, *self.passes)
        own = form.stage if self.ways.takes_part(rule, form.stage) else self.ways.stage_of(rule)
        running = own or next((n for n in named if isinstance(self.passes.get(n), Matcher)), None)
        matcher = Matcher(RuleSet(), Cache()) if running is None else self.passes[running]
        return self.replay.asked_of(matcher)


def _unwritten(rule: Rule) -> set[str]:
    """The names of the operands beside those that a rule of a signature names: they stay as they are."""
    written = set(re.findall(r"\w+", rule.text))
    return {name for name in variables(rule.left) if name not in written} if rule.kind == "rewrite" else set()
