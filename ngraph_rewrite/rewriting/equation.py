# SPDX-License-Identifier: Apache-2.0
"""A rule of a signature as an equation of patterns: its right side, and the sides of its conditions, as patterns too.

So what a rule makes of a pattern can be worked out without any term. Not every rule can be written so: one that
computes attributes, or builds a term for each of a sequence, is known by what it makes of terms only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from ngraph_rewrite.rewriting.flattening import flattened
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.overlaps import renamed
from ngraph_rewrite.rewriting.pattern import App, Build, Pattern, SeqVar, Spread, Template, Var, subpatterns
from ngraph_rewrite.rewriting.rule import Condition, Let, Rule
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables


class _NoPattern(Exception):
    """A template says more than a pattern can."""


@dataclass(frozen=True)
class Asked:
    """Two patterns that must have one normal form, or two."""

    left: Pattern
    right: Pattern
    equal: bool = True


@dataclass(frozen=True)
class Equation:
    """A rule as patterns.

    Attributes:
        right: What the rule makes; None if no pattern says it.
        conditions: What must be equal, or differ, for it to fire.
        general: The variables that are operands of one nest, and may stand for several of them.
        optional: Those of them that may also stand for none.
    """

    rule: Rule
    left: App
    right: Pattern | None
    conditions: tuple[Asked, ...] = ()
    general: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @cached_property
    def kinds(self) -> Mapping[str, Sorted]:
        """What its variables may stand for."""
        return MappingProxyType(sorted_variables(self.left))

    @property
    def plain(self) -> bool:
        """Whether it fires wherever its left side matches."""
        return not self.rule.conditions and self.rule.guard is None

    @cached_property
    def beside(self) -> tuple[SeqVar, ...]:
        """The sequences of what stands beside the operands it takes, and stays there; none if it takes whole terms.

        What such a rule does to a nest it does to it in any larger nest.
        """
        runs = tuple([a for a in self.left.args if isinstance(a, SeqVar)]) if is_flat(self.left.definition) else ()
        ends = (0, -1) if len(runs) == 2 else (-1,)
        if self.right is None or len(runs) != (1 if self.left.definition.commutative else 2):
            return ()
        if not isinstance(self.right, App) or self.right.definition is not self.left.definition:
            return ()
        everywhere = [p for side in (self.left, self.right, *self._asked) for p in subpatterns(side)]
        once = all(everywhere.count(run) == 2 for run in runs)
        if not self.left.definition.commutative:
            once = once and all(side.args[end] == runs[end] for side in (self.left, self.right) for end in ends)
        return runs if once and all(run in self.right.args for run in runs) else ()

    @property
    def _asked(self) -> list[Pattern]:
        return [side for c in self.conditions for side in (c.left, c.right)]

    def renamed(self) -> Equation:
        """The same with other names, each with an ``_`` behind it."""
        conditions = tuple([Asked(renamed(c.left), renamed(c.right), c.equal) for c in self.conditions])
        right = None if self.right is None else renamed(self.right)
        return Equation(self.rule, renamed(self.left), right, conditions)


def equation_of(rule: Rule) -> Equation:
    """A rule of a signature as patterns.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> sets = Signature("example_equation")
    >>> _ = sets.sort("Set"), sets.operation("union", ("Set", "Set"), "Set", "associative", "commutative")
    >>> rule, = sets.rules("rule twice: union(x, x) => x")
    >>> print(equation_of(rule).right)
    union(x, rest...)
    """
    left = flattened(rule.left)
    assert isinstance(left, App) and rule.right[0] is not None
    reading = _Reading(rule)
    try:
        compared = [c for c in rule.conditions if isinstance(c, Condition)]
        if len(compared) < len(rule.conditions):  # what a condition matches has no pattern before it is normal
            raise _NoPattern
        conditions = [Asked(reading.pattern(c.left), reading.pattern(c.right), c.equal) for c in compared]
        return Equation(rule, left, flattened(reading.pattern(rule.right[0])), tuple(conditions))
    except _NoPattern:
        return Equation(rule, left, None)


class _Reading:
    """The templates of a rule as patterns."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.lets = {c.name: c.template for c in rule.clauses if isinstance(c, Let)}
        self.computed = {c.name for c in rule.clauses if not isinstance(c, Let)}

    def asked(self, condition: object) -> Asked:
        if not isinstance(condition, Condition):
            raise _NoPattern
        return Asked(self.pattern(condition.left), self.pattern(condition.right), condition.equal)

    def pattern(self, template: Template) -> Pattern:
        if isinstance(template, Var):
            if template.name == "self":
                return self.rule.left
            return self.pattern(self.lets[template.name]) if template.name in self.lets else template
        if isinstance(template, Spread) and isinstance(template.template, Var):
            return SeqVar(template.template.name)
        if not isinstance(template, Build):
            raise _NoPattern
        return self._built(template)

    def _built(self, template: Build) -> App:
        binds, compares = [], []
        for attribute, expression in template.attributes:
            if not expression.names:
                compares.append((attribute, expression))
            elif expression.text == expression.names[0] and expression.text not in self.computed:
                binds.append((attribute, expression.text))
            else:
                raise _NoPattern
        return App(template.definition, tuple(map(self.pattern, template.args)), tuple(binds), tuple(compares))
