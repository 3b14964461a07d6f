# SPDX-License-Identifier: Apache-2.0
"""Why a rule takes no part at all: by name, by class, for its kind, or because a target has no use for it."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.lowering.disabling import Choice
from ngraph_rewrite.lowering.passes import usable
from ngraph_rewrite.lowering.verdicts import ABSENT, CLASS, DISABLED, TARGET
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.waivers import covers_name


def left_out(rule: Rule, tried: bool, target: Any, choice: Choice, lowered: bool) -> tuple[str, str] | None:
    """A verdict and what says so, if a rule takes no part.

    Args:
        tried: Whether it is one of the rules of what ran.
        lowered: Whether that was a lowering, and no strategy.
    """
    off = next((n for n in choice.disabled if covers_name(n, rule.name)), None)
    if off is not None:
        return DISABLED, f"takes no part: {off} is disabled"
    if rule.grade not in choice.classes:
        return CLASS, f"takes no part: @{rule.grade} is not among the classes {', '.join(choice.classes)}"
    if rule.kind == "derive" or tried:
        return None
    if not lowered:
        return ABSENT, "takes no part: the strategy came to nothing that has this rule"
    if rule.kind in ("explore", "rewrite"):
        what = "equality saturation" if rule.kind == "explore" else "terms that are no tensors"
        return ABSENT, f"takes no part: rules of its kind are for {what}"
    if target.base is None:
        return TARGET, f"takes no part: the target {target.name} executes every op as it is"
    if not len(usable(RuleSet([rule]), target.base)):
        return TARGET, f"takes no part: {_unusable(rule, target)}"
    return ABSENT, "takes no part: no pass that ran has it"


def _unusable(rule: Rule, target: Any) -> str:
    """Why a target has no use for a rule."""
    if rule.kind == "lower" and rule.left.definition.name in target.base:
        return f"the target {target.name} executes {rule.left.definition.name} as it is"
    return f"it makes an op that the target {target.name} does not execute"
