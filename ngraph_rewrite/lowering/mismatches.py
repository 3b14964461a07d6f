# SPDX-License-Identifier: Apache-2.0
"""What is said of a rule whose left side matches no form of an op: the part that fails, or that there is no such op."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ngraph_rewrite.lowering.attempts import Attempt, named_op
from ngraph_rewrite.lowering.drawing import drawn, indented
from ngraph_rewrite.lowering.forms import UNMATCHED, Form
from ngraph_rewrite.lowering.graph_rules import left_sides
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.lowering.verdicts import MATCH, Finding
from ngraph_rewrite.rewriting.pattern import App, Pattern, subpatterns
from ngraph_rewrite.rewriting.rule import Rule

# So many forms are looked at, and so many of them listed.
MOST, MOST_LISTED = 100, 8


def mismatch(rule: Rule, attempt: Attempt, form: Form, table: ReplacementTable, where: str) -> Finding:
    """The part of a left side that first does not match a form, drawn; no lines where that is the whole of it."""
    assert attempt.part is not None
    if not attempt.passed:
        return Finding(MATCH, 0, [])
    place = attempt.at.info.place if attempt.at is not None and attempt.at.info.lineno else ""
    says = attempt.says + (f", built at {place}" if place and place not in attempt.says else "")
    stages = [stage for stage in table.stages if stage.name == form.stage]
    if attempt.at is not None and any(stage.end(attempt.at) is not attempt.at for stage in stages):
        says += _held_argument(rule.left, attempt.part)
    lines = [*wrapped("", f"does not match {where}"), *indented(drawn(rule, attempt.part, says))]
    return Finding(MATCH, attempt.passed, lines)


def unlike(rule: Rule, forms: Iterable[Form]) -> list[str]:
    """That no form is of the op at the root of a left side, and what they are."""
    wanted = " or ".join(dict.fromkeys(named_op(left.definition) for left in left_sides(rule)))
    terms = (form.term for form in forms if form.stage not in UNMATCHED)
    different = {text: None for term in islice(terms, MOST) for text in [shown(term)]}
    listed = [line for text in islice(different, MOST_LISTED) for line in wrapped("    ", text)]
    return [f"does not match: no form of the op is {wanted}; its forms:", *listed]


def elsewhere(rule: Rule, table: ReplacementTable) -> list[str]:
    """Where else the rule fired, if it did."""
    steps = [s for s in table.redexes() if isinstance(s.why, Rule) and s.why.name == rule.name]
    times = "once" if len(steps) == 1 else f"{len(steps)} times"
    return wrapped("", f"it fired {times} elsewhere, first on {shown(steps[0].before)}") if steps else []


def _held_argument(pattern: Pattern, part: Pattern) -> str:
    """That a part of a pattern stands in a lazy or frozen argument, if it does: that is matched as it is."""
    if not isinstance(pattern, App):
        return ""
    profile = pattern.definition.profile
    for place, arg in enumerate(pattern.args):
        if any(one is part for one in subpatterns(arg)):
            if profile is not None and place in profile.held:
                return f"; argument {place} of {pattern.definition.short} is matched before it is normalised"
            return _held_argument(arg, part)
    return ""
