# SPDX-License-Identifier: Apache-2.0
"""What a derivation shows of a rule: its equation, and of a rule of a signature what else has to hold."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.rewriting.comparisons import TRUE
from ngraph_rewrite.rewriting.conditional import normalised
from ngraph_rewrite.rewriting.pattern import Build
from ngraph_rewrite.rewriting.rule import Asking, Condition, Let, Matching, Rule


def equation(rule: Rule) -> str:
    """The equation of a rule in one line."""
    return " ".join(rule.text.split())


def conditional_lines(rule: Rule) -> list[str]:
    """The clauses and the condition of a rule of a signature, as a rule file has them; of other rules nothing.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> nat = Signature("example_lines")
    >>> _ = nat.sort("Nat"), nat.operation("f", ("Nat",), "Nat"), nat.operation("g", ("Nat",), "Nat")
    >>> text = "rule r: g(x) => y\\n    let y = f(x)\\n    if f(y) == x and not x == y"
    >>> conditional_lines(*nat.rules(text, unordered=True))
    ['let y = f(x)', 'if f(y) == x and x != y']
    """
    if rule.kind != "rewrite":
        return []
    parts = [str(rule.guard)] if rule.guard is not None else []
    parts += [written(condition) for condition in rule.conditions]
    clauses = [
        f"let {c.name} = {c.template}" if isinstance(c, Let) else f"where {c.name}{'...' * c.sequence} = {c.expression}"
        for c in rule.clauses
    ]
    return [*clauses, *([f"if {' and '.join(parts)}"] if parts else [])]


def written(condition: Condition | Matching | Asking) -> str:
    """A condition as a rule file may write it."""
    if isinstance(condition, Asking):
        return str(condition.expression)
    return written_as(condition, [str(side) for side in normalised(condition)])


def written_as(condition: Condition | Matching, sides: Sequence[str]) -> str:
    """A condition with these texts in the place of what it brings to normal form."""
    if isinstance(condition, Matching):
        return f"{condition.pattern} := {sides[0]}"
    right = condition.right
    if isinstance(right, Build) and right.definition.short == TRUE and not right.args:
        return f"{'' if condition.equal else 'not '}{sides[0]}"
    return f"{sides[0]} {'==' if condition.equal else '!='} {sides[1]}"
