# SPDX-License-Identifier: Apache-2.0
"""Ground terms of a signature, drawn: what stands for the variables of a pattern when its rules are tried out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.variable_sorts import Sorted
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.sorts import Profile, SortType

# The attributes of drawn terms, beside those that rules compare with.
VALUES: tuple[Any, ...] = (0, 1, 2, 3)
# How many terms are drawn to find one that a variable may stand for.
TRIES = 8


class Ground:
    """Draws terms of a family: of its constructors, the operations that no rule takes away.

    Args:
        rules: All rules of the signature.
        seed: Other terms for other seeds, the same for the same.
    """

    def __init__(self, rules: Iterable[Rule], family: str, bank: TermBank, seed: int = 0) -> None:
        self.rules, self.family, self.bank = list(rules), family, bank
        self.random = random.Random(seed)
        self._unknown: dict[str, OpDef] = {}
        self._numbers = itertools.count()

    @cached_property
    def constructors(self) -> list[OpDef]:
        """The operations that make values; for a sort that has none, all of them."""
        taken = {rule.left.definition for rule in self.rules if len(rule.left.args) or rule.left.definition.attributes}
        flat = {d for d in taken if d.profile is not None and d.profile.associative}
        return [d for d in definitions(self.family) if d not in taken or d in flat]

    @cached_property
    def heights(self) -> dict[str, int]:
        """The height of the least term of each sort that has one."""
        found: dict[str, int] = {}
        for height in range(len(self.constructors) + 1):
            for definition in self.constructors:
                profile = _profile(definition)
                if all(a.name in found for a in profile.arguments):
                    for name in (profile.result.name, *profile.result.above):
                        found.setdefault(name, height)
        return found

    @cached_property
    def values(self) -> dict[str, list[Any]]:
        """What attributes are drawn from, by their names."""
        found: dict[str, list[Any]] = {}
        for rule in self.rules:
            for part in subpatterns(rule.left):
                for name, expression in part.compares if isinstance(part, App) else ():
                    found.setdefault(name, []).append(value_of(expression, {}))
        return found

    def term(self, sort: SortType, height: int = 3) -> Op:
        """A term of a sort; a constant that nothing is said of, if the sort has none."""
        able = [d for d in self.constructors if _profile(d).result.fits(sort) and self._can(d)]
        if not able:
            return self.unknown(sort)
        least = min(map(self._height, able))
        chosen = self.random.choice(able if height > 0 else [d for d in able if self._height(d) == least])
        profile = _profile(chosen)
        args = tuple([self.term(a, height - 1) for a in profile.arguments])
        return self.bank.make(chosen, args, tuple([self.attribute(name) for name in chosen.attributes]))

    def attribute(self, name: str) -> Any:
        """A value of an attribute."""
        return self.random.choice([*self.values.get(name, ()), *VALUES])

    def instance(self, pattern: App, kinds: Mapping[str, Sorted]) -> Op:
        """A term that a pattern matches, its guard aside.

        Args:
            kinds: What the variables of the pattern may stand for.
        """
        names: dict[str, Any] = {}
        for part in subpatterns(pattern):
            if isinstance(part, Var) and part.name not in names:
                names[part.name] = self.one(kinds[part.name])
            elif isinstance(part, SeqVar) and part.name not in names:
                names[part.name] = [self.one(kinds[part.name]) for _ in range(self.random.randrange(3))]
            for attribute, name in part.binds if isinstance(part, App) else ():
                names.setdefault(f"={name}", self.attribute(attribute))
        return self._built(pattern, names)

    def one(self, kind: Sorted) -> Op:
        """A term that a variable may stand for; a constant that nothing is said of, if none of so many is."""
        terms = (self.term(kind.sort, 2) for _ in range(TRIES))
        found = next((term for term in terms if kind.admits(term.definition)), None)
        return self.unknown(kind.sort) if found is None else found

    def unknown(self, sort: SortType) -> Op:
        """A constant of a sort that nothing is said of; each is another one."""
        definition = self._unknown.setdefault(sort.name, _unknown(sort))
        return self.bank.make(definition, (), (next(self._numbers),))

    def _built(self, pattern: Pattern, names: dict[str, Any]) -> Op:
        if isinstance(pattern, Var | SeqVar):
            found: Op = names[pattern.name]
            return found
        assert isinstance(pattern, App)
        given = {a: names[f"={n}"] for a, n in pattern.binds} | {a: value_of(e, {}) for a, e in pattern.compares}
        attrs = tuple([given[a] if a in given else self.attribute(a) for a in pattern.definition.attributes])
        args: list[Op] = []
        for arg in pattern.args:
            args += names[arg.name] if isinstance(arg, SeqVar) else [self._built(arg, names)]
        return self.bank.make(pattern.definition, tuple(args), attrs)

    def _can(self, definition: OpDef) -> bool:
        return all(a.name in self.heights for a in _profile(definition).arguments)

    def _height(self, definition: OpDef) -> int:
        return max((self.heights[a.name] + 1 for a in _profile(definition).arguments), default=0)


def _profile(definition: OpDef) -> Profile:
    assert definition.profile is not None
    return definition.profile


def _unknown(sort: SortType) -> OpDef:
    """An operation that makes constants of a sort, and is not declared."""
    profile = Profile((), sort)
    return OpDef("some." + sort.name, ("number",), 0, 0, -1, lambda: sort, None, None, frozenset(), profile=profile)
