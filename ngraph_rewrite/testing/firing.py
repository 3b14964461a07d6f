# SPDX-License-Identifier: Apache-2.0
"""Whether a rule fires where the others of its pass run beside it, tried out: what comes first on terms it matches.

That no other rule takes all its terms is shown by their equations alone. Where a guard has a part in it nothing is
shown, but terms for which all others come first say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.driver import adopt, normalise
from ngraph_rewrite.lowering.graph_rules import apply_graph_rules
from ngraph_rewrite.lowering.passes import PASSES, SAFE_CLASSES
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.instances import Instance, fitting_matches
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import CLASSES, FAST, Rule, RuleSet
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.strategies import examples_of

# So many terms are tried, so few say nothing, and so many more are drawn where the rule fires on none of them.
_TERMS, _FEW, _DRAWN = 24, 4, 200
# One in so many of these goes beyond the usual lengths and attributes.
_BEYOND = 3


class Firing:
    """The rules that run together, for each target.

    Args:
        usables: For each target the rules that it has a use for.
    """

    def __init__(self, usables: Iterable[RuleSet], cache: Cache) -> None:
        self._usables, self._cache = list(usables), cache
        self._made: dict[tuple[str, tuple[str, ...]], list[Matcher]] = {}

    def never(self, rule: Rule) -> str:
        """That a rule fires on none of the terms that are tried, and what comes first; nothing if it fires on one."""
        name = next((name for name, kinds in PASSES.items() if rule.kind in kinds), "")
        bold = CLASSES[: CLASSES.index(rule.grade) + 1]
        usual = CLASSES if rule.grade == FAST else SAFE_CLASSES
        first = self._first(rule, name, usual)
        if first is None or first.total() < _FEW:
            return ""
        by = " and ".join(why for why, _ in first.most_common(2) if why) or "nothing"
        says = f"whether it ever fires: it did on none of {first.total()} terms that it matches, where {by} came first"
        fires = bold != usual and self._first(rule, name, bold) is None
        return f"{says}; where rules bolder than @{rule.grade} may not fire, it does" if fires else says

    def _first(self, rule: Rule, name: str, classes: tuple[str, ...]) -> Counter[str] | None:
        """How often which rule came first on terms that a rule matches; None if the rule itself fires on one."""
        matchers = [one for one in self._matchers(name, classes) if any(r is rule for r in one.rules)]
        first = Counter[str]()
        for instance in _terms(rule) if matchers else ():
            came = [_first(rule, instance, matcher, name) for matcher in matchers]
            if None in came:
                return None
            first[str(came[0])] += 1
        return first

    def _matchers(self, name: str, classes: tuple[str, ...]) -> list[Matcher]:
        """The rules of a pass and of some classes, for each target."""
        if (name, classes) not in self._made:
            some = [r.of_kind(*PASSES.get(name, ())).of_class(classes) for r in self._usables]
            self._made[name, classes] = [Matcher(r, self._cache) for r in some]
        return self._made[name, classes]


def _terms(rule: Rule) -> Iterator[Instance]:
    """Some terms that a rule matches, of unknown lengths and then of drawn ones, in which a guard finds more to hold.

    There are none if its guard fails on one, which the check of types tells.
    """
    with suppress(NGraphRewriteError):
        found = islice(fitting_matches(rule, 2 * _TERMS, TrialBank()), _TERMS)
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
            yield from (e.instance for e in examples_of(rule, _DRAWN, kinds=(), varied=_BEYOND))


def _first(rule: Rule, instance: Instance, matcher: Matcher, name: str) -> str | None:
    """The rule that fires first on a term, or inside it; None if the one that is asked about fires, or one fails."""
    bank, table = TermBank(), ReplacementTable()
    try:
        terms = adopt([instance.term], table, bank)
        roots = normalise(terms, matcher, table, bank, instance.target, name)
        if rule.graph:
            apply_graph_rules(roots, matcher, table, bank, instance.target, name)
    except NGraphRewriteError:
        return None
    steps, there = list(table.redexes()), set(topological(terms))
    if any(step.why is rule for step in steps):
        return None
    of_term = [step for step in steps if step.before in there]  # others are about what one of these made
    return str((of_term or steps)[0].why) if steps else ""
