# SPDX-License-Identifier: Apache-2.0
"""Whether a rule fires where the others of its pass run beside it, tried out: what comes first on terms it matches.

That no other rule takes all its terms is shown by their equations alone. Where a guard has a part in it nothing is
shown, but terms for which all others come first say so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.driver import adopt, normalise
from ngraph_rewrite.lowering.graph_rules import apply_graph_rules
from ngraph_rewrite.lowering.passes import PASSES
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.instances import Instance, fitting_matches
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.bank import TermBank

# So many terms are tried, and so few say nothing.
_TERMS, _FEW = 24, 4


class Firing:
    """The rules that run together, for each target.

    Args:
        usables: For each target the rules that it has a use for.
    """

    def __init__(self, usables: Iterable[RuleSet], cache: Cache) -> None:
        every = list(usables)
        self._matchers = {name: [Matcher(r.of_kind(*kinds), cache) for r in every] for name, kinds in PASSES.items()}

    def never(self, rule: Rule) -> str:
        """That a rule fires on none of the terms that are tried, and what comes first; nothing if it fires on one."""
        name = next((name for name, kinds in PASSES.items() if rule.kind in kinds), "")
        matchers = [one for one in self._matchers.get(name, ()) if any(r is rule for r in one.rules)]
        found = _terms(rule) if matchers else []
        first = Counter[str]()
        for instance in found:
            came = [_first(rule, instance, matcher, name) for matcher in matchers]
            if None in came:
                return ""
            first.update(list(dict.fromkeys(one for one in came if one is not None)))
        if len(found) < _FEW:
            return ""
        by = " and ".join(why for why, _ in first.most_common(2) if why) or "nothing"
        return f"whether it ever fires: it did on none of {len(found)} terms that it matches, where {by} came first"


def _terms(rule: Rule) -> list[Instance]:
    """Some terms that a rule matches; none if its guard fails on one, which the check of types tells."""
    try:
        return list(islice(fitting_matches(rule, 2 * _TERMS, TrialBank()), _TERMS))
    except NGraphRewriteError:
        return []


def _first(rule: Rule, instance: Instance, matcher: Matcher, name: str) -> str | None:
    """The rule that fires first on a term, or inside it; None if the one that is asked about fires, or one fails."""
    bank, table = TermBank(), ReplacementTable()
    try:
        roots = normalise(adopt([instance.term], table, bank), matcher, table, bank, instance.target, name)
        if rule.graph:
            apply_graph_rules(roots, matcher, table, bank, instance.target, name)
    except NGraphRewriteError:
        return None
    steps = [step.why for step in table.redexes()]
    return None if any(why is rule for why in steps) else str(steps[0]) if steps else ""
