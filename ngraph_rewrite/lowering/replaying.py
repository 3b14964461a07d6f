# SPDX-License-Identifier: Apache-2.0
"""Steps taken once more, for those who want to see what lies between: the right side of a rule as it is written.

A driver builds right sides of normal forms, and records each inner step under the term it was taken at. So applying
the rule again, and building its right side from the leaves up, meets the same inner steps in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.asked import CONDITIONS, Asked
from ngraph_rewrite.lowering.stage import ARGUMENTS, SHARED, Stage, Step
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.conditional import Conditional, matchings, new_names, normalised
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op


class Seen(NamedTuple):
    """A step, what the right side of its rule says there, and its match (None if that is not known)."""

    step: Step
    right: Op | None = None
    names: Application | None = None


class Decision(NamedTuple):
    """How a condition of a rule was decided in a step.

    Attributes:
        names: All that the match binds, and the conditions.
        binds: The names that this one binds.
        sides: What it brings to normal form, as it is written, each with its normal form.
        matcher: The rules that do so.
    """

    condition: Conditional
    names: Application
    binds: tuple[str, ...]
    sides: tuple[tuple[Op, Op], ...]
    matcher: Matcher


# Steps, and among them those that were taken inside the one before.
Steps = Iterator[Any]


class Replay:
    """Applies the rules of a lowering again.

    Args:
        bank: The bank of the lowering; without it nothing is applied again.
        passes: What ran, by the names of the stages.
        target: What guards ask.
        conditions: Whether the steps of what conditions compare are seen as well.

    Attributes:
        shown: Terms whose steps are shown where they stand, and not again inside others.
        asked: What works out the conditions of rules of signatures.
    """

    def __init__(
        self,
        table: ReplacementTable,
        bank: TermBank | None = None,
        passes: Mapping[str, Any] | None = None,
        target: Any = None,
        conditions: bool = False,
    ) -> None:
        self.table, self.bank, self.target, self.conditions = table, bank, target, conditions
        self.matchers = {name: one for name, one in (passes or {}).items() if isinstance(one, Matcher)}
        self._own = {name: frozenset(map(id, one.rules)) for name, one in self.matchers.items()}
        self.shown: set[Op] = set()
        self.asked: dict[Matcher, Asked] = {}

    def again(self) -> Replay:
        """The same, with nothing shown yet."""
        return Replay(self.table, self.bank, self.matchers, self.target)

    def steps(self, handle: Op) -> Iterator[Seen]:
        """Every step on the way of a handle to its normal form, and those of the parts that steps built."""
        term = handle
        for stage in self.table.stages:
            yield from _unfolded(self._chain(stage, term))
            term = stage.end(term)

    def seen(self, step: Step) -> Seen:
        """A step with its match, and what the rule says that `before` is."""
        found = self._again(step)
        return Seen(step) if found is None else Seen(step, found[1], found[0])

    def decisions(self, seen: Seen) -> list[Decision]:
        """How the conditions of the rule of a step were decided, in the order in which they were asked."""
        rule, names, matcher = seen.step.why, seen.names, self.matchers.get(seen.step.stage)
        if not isinstance(rule, Rule) or names is None or matcher is None:
            return []
        asked, found = self.asked_of(matcher), []
        binds = dict(zip(map(id, matchings(rule)), new_names(rule), strict=True))
        for condition in rule.conditions:
            sides = tuple([(side, asked.ready(side)) for side in map(names.term, normalised(condition))])
            found.append(Decision(condition, names, tuple(binds.get(id(condition), ())), sides, matcher))
        return found

    def of_conditions(self, matcher: Matcher) -> Replay:
        """What takes the steps again by which rules bring the sides of conditions to normal form."""
        asked = self.asked_of(matcher)
        found = Replay(asked.table, self.bank, {CONDITIONS: matcher}, self.target)
        found.asked = self.asked
        return found

    def asked_of(self, matcher: Matcher) -> Asked:
        """What works out the conditions of some rules."""
        assert self.bank is not None
        if matcher not in self.asked:
            self.asked[matcher] = Asked(matcher, self.bank)
        return self.asked[matcher]

    def _again(self, step: Step) -> tuple[Application, Op] | None:
        """The match of a step, and its right side."""
        if not isinstance(step.why, Rule) or self.bank is None:
            return None
        matcher = self.matchers.get(step.stage)
        each = self.substitutions(step.stage, step.why, step.before)
        found = (self.applied(step.why, step.before, substitution, matcher) for substitution in each)
        return next((one for one in found if one is not None), None)

    def substitutions(self, stage: str, rule: Rule, term: Op) -> Iterator[Mapping[str, Any]]:
        """The matches of a rule at the root of a term, in the order in which the pass tries them."""
        if rule.graph:  # its roots match together, and what one becomes depends on the graph
            return iter(())
        matcher = self.matchers.get(stage)
        if matcher is None or id(rule) not in self._own[stage]:
            return matches(rule.left, term, {})
        return (substitution for found, substitution in matcher.matches(term) if found is rule)

    def applied(
        self, rule: Rule, term: Op, substitution: Mapping[str, Any], matcher: Matcher | None = None
    ) -> tuple[Application, Op] | None:
        """A match with its right side; None if the guard refuses it, or a condition on terms."""
        assert self.bank is not None
        application = Application(rule, term, substitution, self.bank.make, self.target)
        try:
            fires = application.guard_holds()
            if fires and rule.conditions and matcher is not None:
                fires = self.asked_of(matcher).conditions_hold(rule, application)
            found = application.right()[0] if fires else None
        except NGraphRewriteError:
            return None
        return (application, found) if isinstance(found, Op) else None

    def _chain(self, stage: Stage, term: Op) -> Steps:
        """The steps of a term in one stage, each with those of what it built."""
        for step in stage.way(term):
            args, frozen = step.before.args, _frozen(step.before)
            if step.why == ARGUMENTS:
                yield from (self._inside(stage, arg) for i, arg in enumerate(args) if i not in frozen)
            elif step.why != SHARED:
                seen = self.seen(step)
                if self.conditions:
                    yield from (self._built(stage, side) for side in _sides(seen))
                yield seen
                if seen.right is not None and seen.right is not step.after:
                    yield self._built(stage, seen.right, step.after)

    def _inside(self, stage: Stage, term: Op) -> Steps:
        """The steps of a term that is a part of another, unless they are shown elsewhere."""
        if term not in self.shown and stage.step(term) is not None:
            self.shown.add(term)
            yield self._chain(stage, term)

    def _built(self, stage: Stage, right: Op, to: Op | None = None) -> Steps:
        """The steps that were taken while a right side was built, from its leaves up; those of `to` come after it."""
        assert self.bank is not None
        now: dict[Op, Op] = {}
        stack = [right]
        while stack:
            term = stack[-1]
            held = _held(term)
            missing = [] if term in stage.normal else [a for i, a in enumerate(term.args) if i not in held]
            missing = [a for a in missing if a not in now]
            if missing:
                stack.extend(missing[::-1])
                continue
            stack.pop()
            if term not in now:
                built = term
                if term not in stage.normal:
                    args = tuple([a if i in held else now[a] for i, a in enumerate(term.args)])
                    built = self.bank.make(term.definition, args, term.attrs, term.info)
                if built is not to:
                    yield self._inside(stage, built)
                now[term] = stage.end(built)


def _unfolded(steps: Steps) -> Iterator[Seen]:
    """The steps in order, those inside others too, however deep they stand."""
    stack = [iter(steps)]
    while stack:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
        elif isinstance(found, Seen):
            yield found
        else:
            stack.append(iter(found))


def _sides(seen: Seen) -> list[Op]:
    """What the conditions of the rule of a step compare, as it is written."""
    if not isinstance(seen.step.why, Rule) or seen.names is None:
        return []
    return [seen.names.term(side) for condition in seen.step.why.conditions for side in normalised(condition)]


def _held(term: Op) -> frozenset[int]:
    """The arguments that are not normalised before the term."""
    return term.definition.profile.held if term.definition.profile is not None else frozenset()


def _frozen(term: Op) -> tuple[int, ...]:
    """The arguments that are never normalised where they stand."""
    return term.definition.profile.frozen if term.definition.profile is not None else ()
