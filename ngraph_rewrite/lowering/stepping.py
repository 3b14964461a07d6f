# SPDX-License-Identifier: Apache-2.0
"""One step of one rule in a strategy: it keeps the type, it is counted, and what goes wrong names the rule."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.lowering.asked import Asked
from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward, Stage
from ngraph_rewrite.lowering.steps import ill_typed, step_error
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.sorts import SortType

# So many steps are looked back at when rules are named that fired last.
RECENT = 1000


class Meter:
    """Counts steps; those of a budget inside another count for both.

    Args:
        limit: How many steps may be taken.
        outer: The budget around this one.
    """

    def __init__(self, limit: int, outer: Meter | None = None) -> None:
        self.limit, self.outer, self.taken = limit, outer, 0
        self.recent: deque[Rule] = deque(maxlen=RECENT)

    @property
    def left(self) -> int:
        """How many more steps may be taken."""
        own = self.limit - self.taken
        return own if self.outer is None else min(own, self.outer.left)

    def count(self, rule: Rule) -> None:
        """Note that a rule fired.

        Raises:
            RewriteError: if that is one step more than may be taken; it names the rules that fired last.
        """
        self.taken += 1
        self.recent.append(rule)
        if self.taken > self.limit:
            often = ", ".join(f"{name} ({n} times)" for name, n in Counter(map(str, self.recent)).most_common(4))
            what = f"{self.limit} steps did not come to an end; the last fired: {often}"
            raise RewriteError(what, do="check the order of these rules, or give more steps with budget")
        if self.outer is not None:
            self.outer.count(rule)


class Stepper:
    """Takes steps of one rule set, and records them in one stage of a table.

    Attributes:
        current: Where a term that was replaced has gone to until now, by steps at its root.
    """

    def __init__(
        self, matcher: Matcher, table: ReplacementTable, stage: Stage, bank: TermBank, target: Any, meter: Meter
    ) -> None:
        self.matcher, self.table, self.stage, self.bank = matcher, table, stage, bank
        self.target, self.meter = target, meter
        signature = any(rule.kind == "rewrite" for rule in matcher.rules)
        self._make = Asked(matcher, bank).make if signature else bank.make
        self._found: dict[Op, Forward | None] = {}
        self._latest: dict[Op, Op] = {}

    def step(self, term: Op) -> Forward | None:
        """What the first rule that fires at the root of `term` makes of it; asked once for each term."""
        if term not in self._found:
            self._found[term] = self._step(term)
        return self._found[term]

    def _step(self, term: Op) -> Forward | None:
        try:
            made = self.matcher.step(term, self._make, self.target)
        except RewriteError:
            raise
        except Exception as error:
            found = step_error(error, term, self.matcher)
            if found is None:
                raise
            raise found from error
        if made is None:
            return None
        rule, new = made
        if new.type != term.type and not (isinstance(new.type, SortType) and new.type.fits(term.type)):
            raise ill_typed(term, new, rule)
        return Forward(new, rule)

    def link(self, term: Op, forward: Forward) -> Op:
        """Replace a term for good, and return where it has gone to by now.

        Raises:
            RewriteError: if what replaces it was replaced by it, or the steps are used up.
        """
        found = self.current(forward.to)
        if found is term:
            raise self.cycle(term, [forward.why, *self._reasons(forward.to)])
        self.count(forward)
        self.stage.forward[term] = forward
        self._latest[term] = found
        self.carry(term, forward.to)
        return found

    def count(self, forward: Forward) -> None:
        """Count a step, if a rule took it."""
        if isinstance(forward.why, Rule):
            self.meter.count(forward.why)

    def carry(self, before: Op, after: Op) -> None:
        """Let metadata follow."""
        if self.table.metadata(before):
            self.table.carry(before, after)

    def current(self, term: Op) -> Op:
        """Where a term has gone to; itself if it was not replaced."""
        passed = []
        while term in self._latest:
            passed.append(term)
            term = self._latest[term]
        for one in passed:
            self._latest[one] = term
        return term

    def rebuilt(self, term: Op, args: tuple[Op, ...]) -> Op:
        """The term with other arguments."""
        if all(a is b for a, b in zip(args, term.args, strict=True)):
            return term
        return self.bank.make(term.definition, args, term.attrs, term.info)

    def cycle(self, term: Op, reasons: list[Any]) -> RewriteError:
        """The error for a term that became itself, or is to be built of itself."""
        names = list(dict.fromkeys(str(why) for why in reasons if isinstance(why, Rule)))
        loop = ", ".join(names) or "a rule whose right side contains its left"
        return RewriteError(f"rewriting {describe(term)} runs in a cycle: {loop}", do="make one of the rules go down")

    def _reasons(self, term: Op) -> list[Any]:
        found: list[Any] = []
        forward: Mapping[Op, Forward] = self.stage.forward
        while term in forward and len(found) < RECENT:
            term, why = forward[term]
            found.append(why)
        return found

    def reasons_below(self, term: Op) -> list[Any]:
        """The rules that made a term what it is, for a cycle through its arguments."""
        return [f.why for f in list(self.stage.forward.values())[-RECENT:] if f.to is term and f.why != ARGUMENTS]
