# SPDX-License-Identifier: Apache-2.0
"""Ground terms of a signature, drawn: what stands for the variables of a pattern when its rules are tried out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from ngraph_rewrite.rewriting.interpret import value_of
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.sorts import Profile, SortType

# The attributes of drawn terms, beside those that rules compare with.
VALUES: tuple[Any, ...] = (0, 1, 2, 3)


class Ground:
    """Draws terms of a family: of its constructors, the operations that no rule takes away.

    Args:
        rules: All rules of the signature.
        seed: Other terms for other seeds, the same for the same.
    """

    def __init__(self, rules: Iterable[Rule], family: str, bank: TermBank, seed: int = 0) -> None:
        self.rules, self.family, self.bank = list(rules), family, bank
        self.random = random.Random(seed)

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
            return Op(_unknown(sort), (), (), sort)
        least = min(map(self._height, able))
        chosen = self.random.choice(able if height > 0 else [d for d in able if self._height(d) == least])
        profile = _profile(chosen)
        args = tuple([self.term(a, height - 1) for a in profile.arguments])
        return self.bank.make(chosen, args, tuple([self.attribute(name) for name in chosen.attributes]))

    def attribute(self, name: str) -> Any:
        """A value of an attribute."""
        return self.random.choice([*self.values.get(name, ()), *VALUES])

    def instance(self, pattern: App) -> Op:
        """A term that a pattern without sequence variables matches, its guard aside."""
        names: dict[str, Any] = {}
        for name, sort in _variables(pattern, _profile(pattern.definition).result):
            if name not in names:
                names[name] = self.term(sort, 2)
        for part in subpatterns(pattern):
            for attribute, name in part.binds if isinstance(part, App) else ():
                names.setdefault(f"={name}", self.attribute(attribute))
        return self._built(pattern, names)

    def _built(self, pattern: Pattern, names: dict[str, Any]) -> Op:
        if isinstance(pattern, Var | SeqVar):
            found: Op = names[pattern.name]
            return found
        assert isinstance(pattern, App)
        given = {a: names[f"={n}"] for a, n in pattern.binds} | {a: value_of(e, {}) for a, e in pattern.compares}
        attrs = tuple([given[a] if a in given else self.attribute(a) for a in pattern.definition.attributes])
        return self.bank.make(pattern.definition, tuple([self._built(a, names) for a in pattern.args]), attrs)

    def _can(self, definition: OpDef) -> bool:
        return all(a.name in self.heights for a in _profile(definition).arguments)

    def _height(self, definition: OpDef) -> int:
        return max((self.heights[a.name] + 1 for a in _profile(definition).arguments), default=0)


def _profile(definition: OpDef) -> Profile:
    assert definition.profile is not None
    return definition.profile


def _variables(pattern: Pattern, sort: SortType) -> Iterator[tuple[str, SortType]]:
    if isinstance(pattern, App):
        for place, arg in enumerate(pattern.args):
            yield from _variables(arg, _profile(pattern.definition).sort_at(place))
    elif isinstance(pattern, Var | SeqVar):
        yield pattern.name, sort


def _unknown(sort: SortType) -> OpDef:
    """A constant of a sort that no operation makes; each is another one."""
    return OpDef("some." + sort.name, (), 0, 0, -1, lambda: sort, None, None, frozenset(), profile=Profile((), sort))
