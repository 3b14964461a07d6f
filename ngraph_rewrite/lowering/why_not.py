# SPDX-License-Identifier: Apache-2.0
"""Why a rule did not fire on an op: how far the match got on the form that came nearest, or what came before it.

An op has many forms on its way from the handle to what is executed. The rule is tried on each, at the root of the
op and of every part that a step built.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.attempts import Attempt, best_attempt, named_op
from ngraph_rewrite.lowering.derivation import explained, shown, wrapped
from ngraph_rewrite.lowering.disabling import Choice
from ngraph_rewrite.lowering.drawing import drawn, guard_values
from ngraph_rewrite.lowering.forms import Form, forms_of
from ngraph_rewrite.lowering.passes import PASSES, Lowering, Passes, usable
from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.lowering.table import ARGUMENTS, SHARED, Step
from ngraph_rewrite.lowering.verdicts import (
    CLASS,
    DISABLED,
    EARLIER,
    FAILS,
    FIRED,
    GRAPH,
    GUARD,
    MATCH,
    PASS,
    TARGET,
    UNTRIED,
    WhyNot,
)
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.search import ALONE, matches
from ngraph_rewrite.rewriting.waivers import covers_name
from ngraph_rewrite.terms.op import Op, describe, topological


class _Found(NamedTuple):
    """What came of a rule on a form: the verdict, how far it got, and the lines that say so."""

    verdict: str
    reached: int
    lines: list[str]


def why_not(
    name: str, op: Op, lowering: Lowering, passes: Passes, target: Any, choice: Choice, forms: Sequence[Form] = ()
) -> WhyNot:
    """Why the rule called `name` did not fire on `op` in a lowering, or that it did.

    Args:
        forms: Terms to try beside those that the op was in this lowering.

    Raises:
        ArgumentError: if no rule has this name; it tells the nearest.
    """
    asked = _Asked(op, lowering, passes, target, choice, forms)
    answers = [(asked.answer(rule), rule) for rule in choice.every.named(name)]
    (found, rule) = max(answers, key=lambda pair: pair[0].reached)
    lines = [f"{rule.name} @{rule.grade}  ({rule.place})", *found.lines]
    if len(answers) > 1:
        lines.append(f"(of the {len(answers)} rules called {name}, this one came nearest)")
    return WhyNot(rule.name, found.verdict, "\n".join(lines))


# A derivative looks at what lower rules make of an op, so many times one after the other, at so many terms.
MOST_EXPANSIONS = 20
# So many matches of a rule on one term are asked for.
MOST = 100
# What is far: it fired, it matches and something else is in the way, its guard refuses, or it does not match.
_FIRED, _MATCHES, _REFUSED = 10_000, 5_000, 2_000


class _Asked:
    def __init__(
        self, op: Op, lowering: Lowering, passes: Passes, target: Any, choice: Choice, forms: Sequence[Form]
    ) -> None:
        self.op, self.lowering, self.passes, self.target, self.choice = op, lowering, passes, target, choice
        self.table = lowering.table
        self.replay = Replay(lowering.table, lowering.bank, passes, target)
        self.replay.shown.update(step.before for arg in op.args for step in self.table.history(arg))
        self.forms = list(dict.fromkeys([*forms_of(op, self.replay), *forms]))

    def answer(self, rule: Rule) -> _Found:
        if rule.kind == "derive":
            return self.derived(rule)
        step = self.fired(rule)
        if step is not None:
            return _Found(FIRED, _FIRED, ["fired:", explained(step, self.replay.right(step))])
        left_out = self.left_out(rule)
        found = max((self.tried(rule, form) for form in self.forms), key=lambda one: one.reached, default=None)
        if found is None:
            found = _Found(MATCH, 0, [f"{describe(self.op, 2)} has no form here"])
        if left_out is not None:
            verdict, says = left_out
            return _Found(verdict, found.reached, [*wrapped("", says), "otherwise:", *found.lines])
        return found

    # -- before it is tried at all ------------------------------------------------------------------

    def fired(self, rule: Rule) -> Step | None:
        """The step in which it fired on a form of the op."""
        terms = {form.term for form in self.forms}
        steps = (step for step in self.table.redexes() if isinstance(step.why, Rule) and step.why.name == rule.name)
        return next((step for step in steps if step.before in terms), None)

    def left_out(self, rule: Rule) -> tuple[str, str] | None:
        """Why the rule takes no part, if it does not."""
        off = next((n for n in self.choice.disabled if covers_name(n, rule.name)), None)
        if off is not None:
            return DISABLED, f"takes no part: {off} is disabled"
        if rule.grade not in self.choice.classes:
            return CLASS, f"takes no part: @{rule.grade} is not among the classes {', '.join(self.choice.classes)}"
        if rule.kind == "derive":
            return None
        if self.target.base is None:
            return TARGET, f"takes no part: the target {self.target.name} executes every op as it is"
        if not len(usable(RuleSet([rule]), self.target.base)):
            return TARGET, f"takes no part: {self.unusable(rule)}"
        return None

    def unusable(self, rule: Rule) -> str:
        """Why a target has no use for a rule."""
        name, kind = self.target.name, rule.kind
        if kind == "lower" and rule.left.definition.name in self.target.base:
            return f"the target {name} executes {rule.left.definition.name} as it is"
        return f"it makes an op that the target {name} does not execute"

    # -- trying it ----------------------------------------------------------------------------------

    def derived(self, rule: Rule) -> _Found:
        """What comes of a derive rule: `ng.deriv` asks it of handles, and of what lower rules make of them."""
        chosen = self.choice.every.of_class(self.choice.classes).without(self.choice.disabled)
        found = max((self.tried(rule, f) for f in self.derivable(chosen)), key=lambda one: one.reached)
        left_out = self.left_out(rule)
        if left_out is not None:
            return _Found(left_out[0], found.reached, [left_out[1], *found.lines])
        return found

    def derivable(self, chosen: RuleSet) -> list[Form]:
        """The handle, and what the lower rules make of it one after the other, as a derivative looks at them."""
        forms, term, before = [Form("deriv", self.op)], self.op, set(topological([self.op]))
        lower = Matcher(usable(chosen.of_kind("lower"), frozenset()), Cache())
        for _ in range(MOST_EXPANSIONS):
            step = lower.step(term, self.lowering.bank.make, self.target)
            if step is None:
                break
            term = step[1]
            made = [t for t in topological([term]) if t.args and t not in before]
            forms += [Form("deriv", t) for t in made[-MOST_EXPANSIONS:]]
        return list(dict.fromkeys(forms))

    def tried(self, rule: Rule, form: Form) -> _Found:
        """What comes of the rule at the root of a form."""
        where = f"on {shown(form.term)}, a form in the pass {form.stage}"
        where += f", built at {form.term.info.place}" if form.term.info.lineno else ""
        if rule.graph:
            return self.tried_on_graph(rule, form, where)
        found = [self.guarded(rule, form, bound, where) for bound in islice(matches(rule.left, form.term, {}), MOST)]
        if found:
            return max(found, key=lambda one: one.reached)
        return self.mismatch(rule, best_attempt(rule.left, form.term), where)

    def tried_on_graph(self, rule: Rule, form: Form, where: str) -> _Found:
        """What comes of a rule that looks at the graph: one of its left sides may match, and the graph not fit."""
        several = rule.left.definition.name == "core.make_tuple"
        lefts = [a for a in rule.left.args if isinstance(a, App)] if several else [rule.left]
        asked: list[Op] = []

        def note(term: Op) -> bool:
            asked.append(term)
            return True

        for left in lefts:
            if next(matches(left, form.term, {ALONE: note}), None) is not None:
                more = ": it asks for other terms beside this one" if several else ""
                says = wrapped("", f"matches {where}, and the graph does not fit{more}")
                return _Found(GRAPH, _REFUSED, [*says, *_indented(rule.text.splitlines()), *self.users(asked)])
        nearest = max((best_attempt(left, form.term) for left in lefts), key=lambda one: one.passed)
        return self.mismatch(rule, nearest, where)

    def users(self, asked: Iterable[Op]) -> list[str]:
        """Who uses the terms that must have one user, where there are others in the graph that is left."""
        order = topological([*self.lowering.roots, *self.lowering.writes])
        lines = []
        for term in dict.fromkeys(asked):
            found = [shown(one) for one in order if any(a is term for a in one.args)]
            if len(found) != 1:
                lines += wrapped("    ", f"{shown(term)} has {len(found)} users at the end: {'; '.join(found[:4])}")
        return lines

    def mismatch(self, rule: Rule, attempt: Attempt, where: str) -> _Found:
        assert attempt.part is not None
        if not attempt.passed:
            wanted = named_op(rule.left.definition)
            forms = [shown(form.term) for form in self.forms if form.stage not in ("sequence", "share")]
            listed = [line for text in list(dict.fromkeys(forms))[:8] for line in wrapped("    ", text)]
            says = f"does not match: no form of the op is {wanted}; its forms:"
            return _Found(MATCH, 0, [says, *listed, *self.elsewhere(rule)])
        place = attempt.at.info.place if attempt.at is not None and attempt.at.info.lineno else ""
        says = attempt.says + (f", built at {place}" if place and place not in attempt.says else "")
        lines = [*wrapped("", f"does not match {where}"), *_indented(drawn(rule, attempt.part, says))]
        return _Found(MATCH, attempt.passed, lines)

    def elsewhere(self, rule: Rule) -> list[str]:
        """Where else in the graph it fired, if it did."""
        steps = [s for s in self.table.redexes() if isinstance(s.why, Rule) and s.why.name == rule.name]
        if not steps:
            return []
        times = "once" if len(steps) == 1 else f"{len(steps)} times"
        return wrapped("", f"it fired {times} elsewhere in the graph, first on {shown(steps[0].before)}")

    def guarded(self, rule: Rule, form: Form, bindings: Any, where: str) -> _Found:
        """The left side matches: the guard, and what else stands in the way."""
        names = Application(rule, form.term, bindings, self.lowering.bank.make, self.target, _adjoint(rule, form.term))
        matched = [*_indented(rule.text.splitlines()), *_indented(_bound(bindings))]
        if rule.guard is not None:
            lines, holds = guard_values(rule.guard, names)
            if not holds:
                says = wrapped("", f"matches, but its guard refuses {where}")
                return _Found(GUARD, _REFUSED, [*says, *matched, *lines])
        try:
            names.right()
        except NGraphRewriteError as error:
            says = wrapped("", f"matches, but its right side cannot be built {where}")
            return _Found(FAILS, _MATCHES, [*says, *matched, f"    {error.what}"])
        verdict, says = self.obstacle(rule, form)
        return _Found(verdict, _MATCHES, [*wrapped("", f"matches {where}"), *matched, *says])

    def obstacle(self, rule: Rule, form: Form) -> tuple[str, list[str]]:
        """What kept a rule from firing on a term that it matches."""
        if rule.kind == "derive":
            return self.first_derive_rule(rule, form)
        stages = (s for s in self.table.stages if s.name == form.stage and form.term in s.forward)
        stage = next(stages, None)
        own = next((name for name, kinds in PASSES.items() if rule.kind in kinds), None)
        forward = stage.forward[form.term] if stage is not None else None
        matcher = self.passes.get(form.stage)
        takes_part = isinstance(matcher, Matcher) and any(r.name == rule.name for r in matcher.rules)
        if forward is not None and isinstance(forward.why, Rule) and takes_part:
            step = Step(form.stage, form.term, *forward)
            return EARLIER, ["but another rule took the term first:", explained(step, self.replay.right(step))]
        if takes_part and forward is not None and forward.why == ARGUMENTS:
            lines = wrapped("    ", shown(forward.to))
            return UNTRIED, ["but its arguments were rewritten first, and it became", *lines]
        if takes_part:
            return UNTRIED, ["but it was not tried on it: its parts were rewritten first"]
        if forward is not None and forward.why == SHARED:
            forward = None
        fate = f": there it became {shown(forward.to)}, by {forward.why}" if forward is not None else ""
        return PASS, wrapped("", f"but it takes part in the pass {own} and not in {form.stage}{fate}")

    def first_derive_rule(self, rule: Rule, form: Form) -> tuple[str, list[str]]:
        chosen = self.choice.every.of_class(self.choice.classes).without(self.choice.disabled).of_kind("derive")
        step = Matcher(chosen, Cache()).step(form.term, self.lowering.bank.make, form.term)
        if step is not None and step[0] is not rule:
            first = step[0]
            return EARLIER, ["but an earlier derive rule gives the adjoint:", f"    {first}", *_text(first)]
        return FIRED, ["fires: ng.deriv takes the adjoint from it"]


def _text(rule: Rule) -> list[str]:
    return _indented(wrapped("    ", " ".join(rule.text.split())))


def _adjoint(rule: Rule, term: Op) -> Op | None:
    """What stands for the incoming adjoint of a derive rule: anything of the right type."""
    return term if rule.kind == "derive" else None


def _bound(bindings: Any) -> Iterator[str]:
    for name, value in bindings.items():
        if isinstance(value, Op):
            text = f"{shown(value)} : {value.type}"
        elif isinstance(value, tuple) and value and isinstance(value[0], Op):
            text = f"({', '.join(map(shown, value))})"
        else:
            text = repr(value)
        yield from wrapped(f"    {name} = ", text)


def _indented(lines: Any) -> list[str]:
    return [f"    {line}" for line in lines]
