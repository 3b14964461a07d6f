# SPDX-License-Identifier: Apache-2.0
"""Steps taken once more, for those who want to see what lies between: the right side of a rule as it is written.

A driver builds right sides of normal forms, and records each inner step under the term it was taken at. So applying
the rule again, and building its right side from the leaves up, meets the same inner steps in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.evaluation import Asked
from ngraph_rewrite.lowering.table import ARGUMENTS, SEQUENCED, SHARED, ReplacementTable, Stage, Step
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op

# Steps inside steps are followed so deep.
NESTED = 40


class Seen(NamedTuple):
    """A step, and what the right side of its rule says there (None if that is not known)."""

    step: Step
    right: Op | None


class Replay:
    """Applies the rules of a lowering again.

    Args:
        bank: The bank of the lowering; without it nothing is applied again.
        passes: What ran, by the names of the stages.
        target: What guards ask.

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
    ) -> None:
        self.table, self.bank, self.target = table, bank, target
        self.matchers = {name: one for name, one in (passes or {}).items() if isinstance(one, Matcher)}
        self.shown: set[Op] = set()
        self.asked: dict[Matcher, Asked] = {}

    def again(self) -> Replay:
        """The same, with nothing shown yet."""
        return Replay(self.table, self.bank, self.matchers, self.target)

    def steps(self, handle: Op) -> Iterator[Seen]:
        """Every step on the way of a handle to its normal form, and those of the parts that steps built."""
        term = handle
        for stage in self.table.stages:
            yield from self._chain(stage, term, 0)
            term = stage.end(term)

    def right(self, step: Step) -> Op | None:
        """What the rule of a step says that `before` is; None if that cannot be told."""
        if not isinstance(step.why, Rule) or self.bank is None:
            return None
        for substitution in self.substitutions(step.stage, step.why, step.before):
            found = self.applied(step.why, step.before, substitution, self.matchers.get(step.stage))
            if found is not None:
                return found
        return None

    def substitutions(self, stage: str, rule: Rule, term: Op) -> Iterator[Mapping[str, Any]]:
        """The matches of a rule at the root of a term, in the order in which the pass tries them."""
        if rule.graph:  # its roots match together, and what one becomes depends on the graph
            return iter(())
        matcher = self.matchers.get(stage)
        if matcher is None or all(one is not rule for one in matcher.rules):
            return matches(rule.left, term, {})
        return (substitution for found, substitution in matcher.matches(term) if found is rule)

    def applied(
        self, rule: Rule, term: Op, substitution: Mapping[str, Any], matcher: Matcher | None = None
    ) -> Op | None:
        """The right side for a match; None if the guard refuses it, or a condition on terms."""
        assert self.bank is not None
        application = Application(rule, term, substitution, self.bank.make, self.target)
        try:
            fires = application.guard_holds()
            if fires and rule.conditions and matcher is not None:
                asked = self.asked.setdefault(matcher, Asked(matcher, self.bank))
                fires = asked.conditions_hold(rule, application)
            found = application.right()[0] if fires else None
        except NGraphRewriteError:
            return None
        return found if isinstance(found, Op) else None

    def _chain(self, stage: Stage, term: Op, depth: int) -> Iterator[Seen]:
        """The steps of a term in one stage, each with those of what it built."""
        end, forward = stage.end(term), stage.forward
        while term is not end and term in forward:
            to, why = forward[term]
            if why == ARGUMENTS:
                for arg in term.args:
                    yield from self._inside(stage, arg, depth)
            elif why == SEQUENCED or why != SHARED:
                step = Step(stage.name, term, to, why)
                right = self.right(step)
                yield Seen(step, right)
                if right is not None and right is not to:
                    yield from self._built(stage, right, depth)
            term = to

    def _inside(self, stage: Stage, term: Op, depth: int) -> Iterator[Seen]:
        """The steps of a term that is a part of another, unless they are shown elsewhere."""
        if term not in self.shown and term in stage.forward and depth < NESTED:
            self.shown.add(term)
            yield from self._chain(stage, term, depth + 1)

    def _built(self, stage: Stage, right: Op, depth: int) -> Iterator[Seen]:
        """The steps that were taken while a right side was built, from its leaves up."""
        assert self.bank is not None
        now: dict[Op, Op] = {}
        stack = [right]
        while stack:
            term = stack[-1]
            missing = [] if term in stage.normal else [a for a in term.args if a not in now]
            if missing:
                stack.extend(missing[::-1])
                continue
            stack.pop()
            if term not in now:
                built = term
                if term not in stage.normal:
                    args = tuple([now[a] for a in term.args])
                    built = self.bank.make(term.definition, args, term.attrs, term.info)
                yield from self._inside(stage, built, depth)
                now[term] = stage.end(built)
