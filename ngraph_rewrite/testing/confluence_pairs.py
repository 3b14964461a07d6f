# SPDX-License-Identifier: Apache-2.0
"""Which rules may meet: those of a pass whose left sides have one op, at the root or further inside of either."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import PASSES, SAFE_CLASSES, matchers_of
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.overlaps import Overlap, Position, overlaps, positions
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, subpatterns
from ngraph_rewrite.rewriting.rule import FAST, Rule, RuleSet
from ngraph_rewrite.terms.catalogue import OpDef


class Partners(NamedTuple):
    """Two rules of a pass, and the place in the left side of the outer one where the inner one may fire."""

    stage: str
    outer: Rule
    position: Position
    inner: Rule

    @property
    def overlaps(self) -> list[Overlap]:
        """The most general terms that both match; guards may hold for none of their instances."""
        return overlaps(self.outer.left, self.inner.left, self.position)

    def other(self, rule: Rule) -> Rule:
        """The partner of one of them."""
        return self.inner if rule is self.outer else self.outer


class System:
    """The rules of all passes: who may meet whom, and a matcher for each pass."""

    def __init__(self, rules: RuleSet, folder: Path) -> None:
        self.rules, self._places = rules, {id(rule): i for i, rule in enumerate(rules)}
        self._folder = folder
        self._matchers: dict[bool, dict[str, Matcher]] = {}
        self._roots: dict[tuple[str, OpDef], list[Rule]] = {}
        for stage, kinds in PASSES.items():
            for rule in (r for r in rules.of_kind(*kinds) if not r.graph):
                self._roots.setdefault((stage, rule.left.definition), []).append(rule)

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
        for rule in (r for r in self.rules if not r.graph):
            for pair in self._inside(rule):
                for one in {id(pair.outer), id(pair.inner)}:
                    found.setdefault(one, []).append(pair)
        return found

    def _inside(self, rule: Rule) -> Iterator[Partners]:
        """`rule` with each rule that may fire inside of its left side or at its root.

        Two that meet at the root are given once, with the one that stands first; two simplify rules in one pass.
        """
        for stage, kinds in PASSES.items():
            for position, part in positions(rule.left) if rule.kind in kinds else ():
                for other in self._roots.get((stage, part.definition), ()):
                    twice = stage == "select" and rule.kind == other.kind == "simplify"
                    if not twice and (position or self._first(rule, other)):
                        yield Partners(stage, rule, position, other)

    def _first(self, rule: Rule, other: Rule) -> bool:
        if rule is other:  # with itself only if it can match in several ways
            return any(isinstance(p, SeqVar) or _commutes(p) for p in subpatterns(rule.left))
        return self._places[id(rule)] < self._places[id(other)]

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
