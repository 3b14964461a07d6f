# SPDX-License-Identifier: Apache-2.0
"""Which rules may meet: those of a pass whose left sides have one op, at the root or further inside of either.

Each left side of a rule that looks at the graph may meet others. What is drawn then is a graph that has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.graph_rules import left_sides
from ngraph_rewrite.lowering.passes import PASSES, SAFE_CLASSES, matchers_of
from ngraph_rewrite.rewriting.graph_overlaps import of_several
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.overlaps import Overlap, Position, overlaps, positions
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, subpatterns
from ngraph_rewrite.rewriting.rule import FAST, Rule, RuleSet
from ngraph_rewrite.terms.catalogue import OpDef


class Partners(NamedTuple):
    """Two rules of a pass, and the place in a left side of the outer one where the inner one may fire.

    Attributes:
        outside: The number of this left side.
        inside: The number of the left side of the inner rule that may match there.
    """

    stage: str
    outer: Rule
    position: Position
    inner: Rule
    outside: int = 0
    inside: int = 0

    @property
    def on_graph(self) -> bool:
        """Whether one of them looks at the graph."""
        return self.outer.graph or self.inner.graph

    @property
    def overlaps(self) -> list[Overlap]:
        """The most general terms that both match; guards may hold for none of their instances.

        Where rules have several left sides it is a tuple: the roots of the outer rule, and the others of the inner one.
        """
        outer, inner = left_sides(self.outer), left_sides(self.inner)
        if len(outer) == len(inner) == 1:
            return overlaps(outer[0], inner[0], self.position)
        return of_several(outer, inner, self.outside, self.inside, self.position)

    def other(self, rule: Rule) -> Rule:
        """The partner of one of them."""
        return self.inner if rule is self.outer else self.outer


class System:
    """The rules of all passes: who may meet whom, and a matcher for each pass."""

    def __init__(self, rules: RuleSet, folder: Path) -> None:
        self.rules, self._places = rules, {id(rule): i for i, rule in enumerate(rules)}
        self._folder = folder
        self._matchers: dict[bool, dict[str, Matcher]] = {}
        self._roots: dict[tuple[str, OpDef], list[tuple[Rule, int]]] = {}
        for stage, kinds in PASSES.items():
            for rule in rules.of_kind(*kinds):
                for number, left in enumerate(left_sides(rule)):
                    self._roots.setdefault((stage, left.definition), []).append((rule, number))

    def partners(self, rule: Rule) -> list[Partners]:
        """The pairs of a rule with itself and with those that stand after it: so each pair belongs to one rule."""
        own = self._places[id(rule)]
        return [p for p in self.with_rule(rule) if self._places[id(p.other(rule))] >= own]

    def with_rule(self, rule: Rule) -> list[Partners]:
        """All pairs of a rule with another one, or with itself."""
        return self._partners.get(id(rule), [])

    @cached_property
    def _partners(self) -> dict[int, list[Partners]]:
        found: dict[int, list[Partners]] = {}
        for rule in self.rules:
            for pair in self._inside(rule):
                for one in {id(pair.outer), id(pair.inner)}:
                    found.setdefault(one, []).append(pair)
        return found

    def _inside(self, rule: Rule) -> Iterator[Partners]:
        """`rule` with each rule that may fire inside of its left side or at its root.

        Two that meet at the root are given once, with the one that stands first; two simplify rules in one pass.
        """
        for stage, kinds in PASSES.items():
            for own, left in enumerate(left_sides(rule)) if rule.kind in kinds else ():
                for position, part in positions(left):
                    for other, number in self._roots.get((stage, part.definition), ()):
                        twice = stage == "select" and rule.kind == other.kind == "simplify"
                        if not twice and (position or self._first(rule, own, other, number)):
                            yield Partners(stage, rule, position, other, own, number)

    def _first(self, rule: Rule, own: int, other: Rule, number: int) -> bool:
        if rule is not other:
            return self._places[id(rule)] < self._places[id(other)]
        if own != number or len(left_sides(rule)) > 1:  # the other left sides may match other terms
            return own <= number
        return any(isinstance(p, SeqVar) or _commutes(p) for p in subpatterns(rule.left))  # it matches in several ways

    def matcher(self, partners: Partners) -> Matcher:
        """The rules of the pass; those that may lose accuracy run only where it is one of them that is asked about."""
        fast = FAST in (partners.outer.grade, partners.inner.grade)
        if fast not in self._matchers:
            rules = self.rules if fast else self.rules.of_class(SAFE_CLASSES)
            self._matchers[fast] = matchers_of(rules, Cache(self._folder))
        return self._matchers[fast][partners.stage]


def _commutes(pattern: Pattern) -> bool:
    return isinstance(pattern, App) and pattern.definition.commutative and pattern.args[0] != pattern.args[-1]


@lru_cache(maxsize=4)
def system_of(rules: RuleSet, folder: Path) -> System:
    """The system of a rule set; the checks of all its rules share it."""
    return System(rules, folder)
