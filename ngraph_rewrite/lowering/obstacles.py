# SPDX-License-Identifier: Apache-2.0
"""What kept a rule from firing on a term that it matches: what came before it, or why nobody tried it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from ngraph_rewrite.lowering.forms import Form
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.lowering.stage import ARGUMENTS, SHARED, Forward, Stage, Step
from ngraph_rewrite.lowering.step_lines import explained
from ngraph_rewrite.lowering.verdicts import ABSENT, EARLIER, MATCHES, PASS, UNTRIED, Finding
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

# So many of the rules that rewrote the parts of a term are named.
MOST_NAMED = 3


class Obstacles:
    """What ran, and in which of its stages which rules were tried.

    Args:
        passes: What ran, by the names of the stages.
    """

    def __init__(self, passes: Mapping[str, Any], replay: Replay) -> None:
        self.replay, self.table = replay, replay.table
        matchers = {name: one for name, one in passes.items() if isinstance(one, Matcher)}
        self._names = {name: frozenset(rule.name for rule in one.rules) for name, one in matchers.items()}
        self._parents: dict[str, dict[Op, list[tuple[Op, int]]]] = {}
        self._former: dict[str, dict[tuple[OpDef, Op], Step]] = {}

    def takes_part(self, rule: Rule, stage: str | None = None) -> bool:
        """Whether a rule is one of those that are tried in a stage, or in any."""
        if stage is not None:
            return rule.name in self._names.get(stage, ())
        return any(rule.name in names for names in self._names.values())

    def stage_of(self, rule: Rule) -> str | None:
        """The first stage in which a rule is tried."""
        return next((stage for stage, names in self._names.items() if rule.name in names), None)

    def obstacle(self, rule: Rule, form: Form, off: bool) -> Finding:
        """What kept a rule from firing on a form that it matches, guard and conditions included.

        Args:
            off: Whether it was disabled, or of a class that may not fire: then nothing else need be in its way.
        """
        stages = [s for s in self.table.stages if s.name == form.stage]
        steps = (stage.step(form.term) for stage in stages)
        forward = next((step for step in steps if step is not None), None)
        if not self.takes_part(rule, form.stage):
            return Finding(PASS, MATCHES, self._elsewhere(rule, form.stage, forward))
        found = MATCHES + 1
        if off:
            return Finding(ABSENT, found, [])
        if forward is not None and isinstance(forward.why, Rule):
            step = Step(form.stage, form.term, *forward)
            text = explained(self.replay.seen(step), self.replay)
            return Finding(EARLIER, found, ["but another rule took the term first:", text])
        if forward is not None and forward.why == ARGUMENTS:
            says = f"but its arguments were rewritten first{self._by(form.stage, form.term)}, and it became"
            return Finding(UNTRIED, found, [*wrapped("", says), *wrapped("    ", shown(forward.to))])
        held = None if any(form.term in s.normal for s in stages) else self._held(form)
        parts = any(stage.end(arg) is not arg for stage in stages for arg in form.term.args)
        because = ": its parts were rewritten first" if parts else ""
        return Finding(UNTRIED, found, held or [f"but it was not tried on it{because}"])

    def _by(self, name: str, term: Op) -> str:
        """By which rules the arguments of a term were rewritten in a stage."""
        stages = [stage for stage in self.table.stages if stage.name == name]
        names = dict[str, None]()
        pending, seen = [*term.args], set[Op]()
        for part in pending:
            taken = [step.why for stage in stages for step in stage.way(part)]
            rule = next((why for why in taken if isinstance(why, Rule)), None)
            names.update({str(rule): None} if rule is not None else {})
            if rule is None and taken and part not in seen:
                pending += part.args
            seen.add(part)
        return f", by {' and '.join(islice(names, MOST_NAMED))}" if names else ""

    def taken_by(self, name: str, term: Op) -> str:
        """By which rule a term was taken in a stage, if one took it."""
        steps = (step for stage in self.table.stages if stage.name == name for step in stage.way(term))
        return next((f", by {step.why}" for step in steps if isinstance(step.why, Rule)), "")

    def undone(self, step: Step) -> list[str]:
        """What rule took what a step made, if one did."""
        term, came = step.after, False
        for stage in self.table.stages:
            came = came or (stage.name == step.stage and stage.step(step.before) is not None)
            for later in stage.way(term) if came else ():
                if isinstance(later.why, Rule):
                    says = f"what it made was rewritten again, by {later.why}, to {shown(later.after)}"
                    return wrapped("", says)
            term = stage.end(term) if came else term
        return []

    def former(self, name: str, definition: OpDef, now: Op) -> Step | None:
        """The step by which a rule of a stage took a term of an op that came to `now`, and what it came to."""
        if name not in self._former:
            found = self._former[name] = {}
            for stage in self.table.stages:
                for step in rule_steps(stage) if stage.name == name else ():
                    end = stage.end(step.before)
                    found.setdefault((step.before.definition, end), step._replace(after=end))
        return self._former[name].get((definition, now))

    def _elsewhere(self, rule: Rule, stage: str, forward: Forward | None) -> list[str]:
        """In which pass it would be tried, and what became of the term in this one."""
        if forward is not None and forward.why == SHARED:
            forward = None
        fate = f": there it became {shown(forward.to)}, by {forward.why}" if forward is not None else ""
        return wrapped("", f"but it takes part in the pass {self.stage_of(rule)} and not in {stage}{fate}")

    def _held(self, form: Form) -> list[str] | None:
        """The lazy or frozen argument in which a term stands that nothing looked at, if it stands in one."""
        parents = self._above(form.stage)
        level, seen = [form.term], {form.term}
        while level:
            for one in level:
                for above, place in parents.get(one, ()):
                    profile = above.definition.profile
                    if profile is not None and place in profile.held:
                        return _says(above, place, place in profile.frozen)
            level = [p for one in level for p, _ in parents.get(one, ()) if p not in seen]
            seen.update(level)
        return None

    def _above(self, name: str) -> dict[Op, list[tuple[Op, int]]]:
        """The terms above each term, among those that a stage knew, and in which place it stands."""
        if name not in self._parents:
            found = self._parents[name] = {}
            before = (term for stage in self.table.stages if stage.name == "share" for term in stage.normal.values())
            later = (term for stage in self.table.stages if stage.name == name for term in stage.forward)
            for term in dict.fromkeys((*before, *later)):
                for place, arg in enumerate(term.args):
                    found.setdefault(arg, []).append((term, place))
        return self._parents[name]


def rule_steps(stage: Stage) -> Iterator[Step]:
    """The steps that rules took in a stage, in their order."""
    for before, (to, why) in stage.forward.items():
        if isinstance(why, Rule):
            yield Step(stage.name, before, to, why)


def _says(above: Op, place: int, frozen: bool) -> list[str]:
    what = "frozen, and nothing is rewritten there" if frozen else "lazy, and nothing asked for it"
    says = f"but it stands in an argument that is {what}: number {place} of {above.definition.short} in"
    return [*wrapped("", says), *wrapped("    ", shown(above))]
