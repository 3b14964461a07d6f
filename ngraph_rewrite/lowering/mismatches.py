# SPDX-License-Identifier: Apache-2.0
"""What is said of a rule whose left side matches no form of an op: the part that fails, or that there is no such op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from ngraph_rewrite.lowering.attempts import Attempt, named_op
from ngraph_rewrite.lowering.drawing import drawn, indented
from ngraph_rewrite.lowering.forms import UNMATCHED, Form
from ngraph_rewrite.lowering.graph_rules import left_sides
from ngraph_rewrite.lowering.layout import shown, wrapped
from ngraph_rewrite.lowering.obstacles import Obstacles
from ngraph_rewrite.lowering.operand_ways import operands_of, too_many
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.lowering.verdicts import MATCH, Finding
from ngraph_rewrite.rewriting.nests import as_nests, is_nest, nests
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, subpatterns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.terms.op import Op

# So many forms are looked at, and so many of them listed.
MOST, MOST_LISTED = 100, 8


def mismatch(rule: Rule, attempt: Attempt, form: Form, ways: Obstacles, where: str) -> Finding:
    """The part of a left side that first does not match a form, drawn; no lines where that is the whole of it."""
    assert attempt.part is not None
    if not attempt.passed:
        return Finding(MATCH, 0, [])
    place = attempt.at.info.place if attempt.at is not None and attempt.at.info.lineno else ""
    says = attempt.says + (f", built at {place}" if place and place not in attempt.says else "")
    stages = [stage for stage in ways.table.stages if stage.name == form.stage]
    if attempt.at is not None and any(stage.end(attempt.at) is not attempt.at for stage in stages):
        says += _held_argument(rule.left, attempt.part)
    lines = [*wrapped("", f"does not match {where}"), *indented(drawn(rule, attempt.part, says))]
    return Finding(MATCH, attempt.passed, [*lines, *_former(attempt, form, ways), *_regrouped(rule, form.term)])


def _former(attempt: Attempt, form: Form, ways: Obstacles) -> list[str]:
    """That what stands at the part was of its op before another rule took it, if it was."""
    part, at = attempt.part, attempt.at
    if at is None or not isinstance(part, App):
        return []
    here = [at, *operands_of(part, at)] if is_nest(part) and not too_many(part, at) else [at]
    steps = (ways.former(form.stage, part.definition, one) for one in here)
    step = next((step for step in steps if step is not None), None)
    if step is None:
        return []
    to = "that" if step.after is at else shown(step.after)
    return wrapped("", f"{shown(step.before)} came to {to}, by {step.why}")


def _regrouped(rule: Rule, term: Op) -> list[str]:
    """That the operands of a nest are grouped in another way than the rule says, or are some of more."""
    nest = as_nests(rule.left)
    if not isinstance(nest, App) or rule.graph:
        return []
    if nest != rule.left and next(matches(nest, term, {}), None) is not None:
        return wrapped("", f"its operands are grouped in another way; {nest}, in one list, matches any")
    if not nests(nest.definition) or any(isinstance(a, SeqVar) for a in nest.args):
        return []
    some = replace(nest, args=(*nest.args, SeqVar("rest")))
    if next(matches(some, term, {}), None) is None:
        return []
    return wrapped("", f"its operands stand there among others; {some} matches some of a nest")


def unlike(rule: Rule, forms: Iterable[Form]) -> list[str]:
    """That no form is of the op at the root of a left side, and what they are."""
    wanted = " or ".join(dict.fromkeys(named_op(left.definition) for left in left_sides(rule)))
    terms = (form.term for form in forms if form.stage not in UNMATCHED)
    different = {text: None for term in islice(terms, MOST) for text in [shown(term)]}
    listed = [line for text in islice(different, MOST_LISTED) for line in wrapped("    ", text)]
    return [f"does not match: no form of the op is {wanted}; its forms:", *listed]


def elsewhere(rule: Rule, table: ReplacementTable) -> list[str]:
    """Where else the rule fired, if it did."""
    steps = list(table.redexes(rule.name))
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
