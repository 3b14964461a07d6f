# SPDX-License-Identifier: Apache-2.0
"""What every rule must pass before it may fire: names, order, duplicates, and equal types on both sides."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.order import why_not_down
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules


def checked_rules(path: str | Path, shown: str | None = None) -> RuleSet:
    """The rules of a file, statically checked.

    Raises:
        RuleFileError: for the first mistake: where it is, what is wrong, what to do.
    """
    rules = load_rules(path, shown)
    check_rules_static(rules)
    return rules


def check_rules_static(rules: RuleSet) -> None:
    """All static checks of a rule set.

    Raises:
        RuleFileError: for the first rule that fails one.
    """
    for rule in rules:
        problem = why_not_down(rule)
        if problem is not None:
            raise _error(rule, f"does not go down: {problem}", "use only ops declared before the one it removes")
    _check_duplicates(rules)


def _check_duplicates(rules: Iterable[Rule]) -> None:
    seen: dict[tuple[object, ...], Rule] = {}
    for rule in rules:
        key = (rule.kind, rule.left, rule.guard and rule.guard.text, rule.right)
        if key in seen:
            raise _error(rule, f"is the same as {seen[key]}", "delete one of them")
        seen[key] = rule


def _error(rule: Rule, what: str, do: str) -> RuleFileError:
    return RuleFileError(f"{rule.place}: rule {rule.name} {what}\n    {rule.text}", do=do)
