# SPDX-License-Identifier: Apache-2.0
"""How often each rule was tried and fired, and the time it took: one lowering, with every rule watched.

The generated code of a rule set calls one function for each rule. It is loaded once more with these functions
counted, so nothing is counted where nobody asks, and there is no count that all share.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

from ngraph_rewrite.lowering.passes import Passes, lower
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.watched import Watched
from ngraph_rewrite.terms.op import Op


class Count(NamedTuple):
    """Figures about one rule.

    Attributes:
        attempts: How often the tests of a decision tree led to the rule.
        matches: How often it fired.
        seconds: The time in what the tree leaves of its guard, in its clauses and its right side.
    """

    attempts: int
    matches: int
    seconds: float


@dataclass(frozen=True)
class RuleStats:
    """A table of figures by rule: those that were tried, the most expensive first.

    Attributes:
        by_rule: The figures of each rule that was tried, by its name.
        tried: How many rules there were to try.
    """

    by_rule: Mapping[str, Count]
    tried: int

    def __str__(self) -> str:
        order = sorted(self.by_rule.items(), key=lambda item: (-item[1].seconds, item[0]))
        width = max([4, *map(len, self.by_rule)])
        lines = [f"{'rule'.ljust(width)}  attempts  matches        ms"]
        for name, count in order:
            lines.append(f"{name.ljust(width)}  {count.attempts:8}  {count.matches:7}  {count.seconds * 1e3:8.3f}")
        fired = sum(count.matches > 0 for count in self.by_rule.values())
        steps = sum(count.matches for count in self.by_rule.values())
        lines.append(f"{steps} steps by {fired} of {self.tried} rules")
        return "\n".join(lines)

    __repr__ = __str__


class Watch:
    """Counts what rules do while a lowering runs."""

    def __init__(self) -> None:
        self._attempts: dict[str, int] = {}
        self._matches: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._inside: list[float] = []

    def watched(self, passes: Mapping[str, Any]) -> dict[str, Any]:
        """The same passes, with their rules counted."""
        return {name: Watched(one, self.around) if isinstance(one, Matcher) else one for name, one in passes.items()}

    def around(self, rule: Rule, apply: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a rule, counted; the time of steps inside its right side counts for their rules."""
        name, inside, clock = rule.name, self._inside, time.perf_counter
        attempts, matches, seconds = self._attempts, self._matches, self._seconds

        @wraps(apply)
        def counted(*args: Any) -> Any:
            attempts[name] = attempts.get(name, 0) + 1
            inside.append(0.0)
            begun = clock()
            try:
                found = apply(*args)
                matches[name] = matches.get(name, 0) + (found is not None)
                return found
            finally:
                took = clock() - begun
                seconds[name] = seconds.get(name, 0.0) + took - inside.pop()
                if inside:
                    inside[-1] += took

        return counted

    def stats(self, passes: Mapping[str, Any]) -> RuleStats:
        """What was counted until now, in the order of the rules."""
        every = [rule for one in passes.values() if isinstance(one, Matcher) for rule in one.rules]
        names = dict.fromkeys(rule.name for rule in every)
        found = {
            name: Count(self._attempts[name], self._matches.get(name, 0), self._seconds[name])
            for name in names
            if name in self._attempts
        }
        return RuleStats(found, len(names))


def rule_stats(roots: Iterable[Op], target: Any, passes: Passes) -> RuleStats:
    """Lower `roots` once more with all rules watched.

    Raises:
        RewriteError: as lowering does.
    """
    watch = Watch()
    lower(roots, target, watch.watched(passes), complete=False)
    return watch.stats(passes)
