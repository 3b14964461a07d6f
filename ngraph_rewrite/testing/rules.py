# SPDX-License-Identifier: Apache-2.0
"""Each rule checked on drawn instances: the step it takes must keep the value, as far as its class promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, settings

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.testing import adjoints, values
from ngraph_rewrite.testing.findings import FAILED, PASSED, Context, Effort
from ngraph_rewrite.testing.given import check_count

# Seconds for one rule: here it is only a bound for what finds no end.
_PATIENCE = 60.0


class WrongRule(AssertionError):
    """A rule that is not right, with a small counterexample."""


def check_rule(rule: Rule, examples: int = 50, cache: Cache | None = None) -> int:
    """Check a rule on drawn instances of its left side.

    The right side is made by the generated code, as in a lowering; both sides are evaluated by the ops'
    meanings. A derive rule is compared with finite differences instead. The same examples are drawn every time.

    Args:
        examples: How many instances are drawn.
        cache: Where the generated code is kept; by default the user's cache folder.

    Returns:
        On how many instances the rule was compared.

    Raises:
        WrongRule: with the term, the values, both results and the rule's file and line; or if the rule
            fires on too few instances to be believed.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule add_zero: x + 0 => x", "my.rules", "my")
    >>> check_rule(rule)
    Traceback (most recent call last):
        ...
    ngraph_rewrite.testing.rules.WrongRule: my.rules:2:25: rule my.add_zero is not @exact
    ...
    """
    check_count(examples)
    context = Context(RuleSet([rule]), Effort(examples, _PATIENCE), cache or Cache())
    derive = rule.kind == "derive"
    found, compared = adjoints.outcome(rule, context, proved=False) if derive else values.outcome(rule, context)
    if found.status != PASSED:
        raise WrongRule(str(replace(found, status=FAILED)))
    return compared


def quietly(examples: int) -> Callable[[Any], Any]:
    """Settings that draw the same examples every time, and keep and print nothing."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        deadline=None,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
