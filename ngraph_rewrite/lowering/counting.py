# SPDX-License-Identifier: Apache-2.0
"""How often each rule is tried and fires, and the time it takes: a block counts whatever is rewritten inside it.

The generated code of a rule set calls one function for each rule. Inside a block it is loaded once more with these
functions counted, so nothing is counted where nobody asks. Blocks belong to the context that opened them, and what
several threads do in copies of one context is counted by each thread for itself and added up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.watched import Watched


class Count(NamedTuple):
    """Figures about one rule.

    Attributes:
        attempts: How often the tests of a decision tree led to the rule.
        matches: How often it fired.
        seconds: The time in what the tree leaves of its guard, in its clauses, conditions and right side.
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


class Figures:
    """The figures of a block, as they are by now; `str` gives the table."""

    def __init__(self, rules: RuleSet | None = None) -> None:
        self._only = None if rules is None else {rule.name for rule in rules}
        self._lock = threading.Lock()
        self._tallies: dict[int, _Tally] = {}
        self._watched: dict[tuple[int, int], tuple[Matcher, Watched]] = {}
        self._names: dict[str, None] = {}
        self._open = True

    @property
    def by_rule(self) -> Mapping[str, Count]:
        """The figures of each rule that was tried, by its name."""
        return self.now().by_rule

    @property
    def tried(self) -> int:
        """How many rules there were to try."""
        return self.now().tried

    def now(self) -> RuleStats:
        """The figures until now, in the order of the rules."""
        with self._lock:
            tallies, names = list(self._tallies.values()), list(self._names)
        each = {name: [count for tally in tallies if (count := tally.of(name)) is not None] for name in names}
        found = {name: Count(*map(sum, zip(*counts, strict=True))) for name, counts in each.items() if counts}
        return RuleStats(found, len(names))

    def __str__(self) -> str:
        return str(self.now())

    __repr__ = __str__

    def close(self) -> None:
        """Count no more."""
        self._open = False

    def watched(self, matcher: Matcher) -> Matcher:
        """The same rules, counted; made once for each thread."""
        thread = threading.get_ident()
        with self._lock:
            known = self._watched.get((thread, id(matcher)))
        if known is None:
            self._note(matcher.rules)
            known = matcher, Watched(matcher, self.around)
            with self._lock:
                self._watched[thread, id(matcher)] = known
        return known[1]

    def around(self, rule: Rule, apply: Callable[..., Any]) -> Callable[..., Any]:
        """What applies a rule, counted for the thread that asks."""
        if self._only is not None and rule.name not in self._only:
            return apply
        with self._lock:
            tally = self._tallies.setdefault(threading.get_ident(), _Tally())
        counted = tally.around(rule.name, apply)
        return lambda *args: counted(*args) if self._open else apply(*args)

    def _note(self, rules: Iterable[Rule]) -> None:
        own = [rule.name for rule in rules if self._only is None or rule.name in self._only]
        with self._lock:
            self._names.update(dict.fromkeys(own))


class _Tally:
    """What one thread counts."""

    def __init__(self) -> None:
        self._attempts: dict[str, int] = {}
        self._matches: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._inside: list[float] = []

    def of(self, name: str) -> Count | None:
        """The figures of a rule, if it was tried."""
        attempts = self._attempts.get(name)
        return None if attempts is None else Count(attempts, self._matches.get(name, 0), self._seconds.get(name, 0.0))

    def around(self, name: str, apply: Callable[..., Any]) -> Callable[..., Any]:
        """The function of a rule, counted; the time of steps inside its right side counts for their rules."""
        inside, clock = self._inside, time.perf_counter
        attempts, matches, seconds = self._attempts, self._matches, self._seconds

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


_OPEN: ContextVar[tuple[Figures, ...]] = ContextVar("stats", default=())


@contextmanager
def stats(rules: RuleSet | None = None) -> Iterator[Figures]:
    """Counts what rules do in whatever is rewritten inside: attempts, matches and time of each.

    That is so for computations that are made inside, and for `ng.deriv`, `ng.normal_form`, `ng.rewrite` and
    `ng.saturate`. Of blocks inside each other each counts. A block is of the thread that opened it.

    Args:
        rules: Only these; all by default.

    Returns:
        The figures, also while the block is open: their text is a table, ``by_rule`` has them by name.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> with stats() as found, ng.make_transformer("cpu") as transformer:
    ...     first = transformer.computation(ng.log(ng.exp(x)), x)
    ...     second = transformer.computation(ng.log(ng.exp(x + x)), x)
    >>> found.by_rule["semi.log_exp"].matches
    2
    """
    found = Figures(rules)
    token = _OPEN.set((*_OPEN.get(), found))
    try:
        yield found
    finally:
        _OPEN.reset(token)
        found.close()


def counted(matcher: Matcher) -> Matcher:
    """A matcher whose rules are counted, where blocks of `stats` are open; else the matcher itself."""
    for figures in _OPEN.get():
        matcher = figures.watched(matcher)
    return matcher


def counted_function(rule: Rule, apply: Callable[..., Any]) -> Callable[..., Any]:
    """As `counted`, for what applies a rule without a decision tree; it gives None where the rule does not fire."""
    for figures in _OPEN.get():
        figures._note([rule])
        apply = figures.around(rule, apply)
    return apply
