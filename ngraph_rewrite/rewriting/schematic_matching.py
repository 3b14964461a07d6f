# SPDX-License-Identifier: Apache-2.0
"""Matching of patterns against patterns: what a left side matches whatever the variables of the other one stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.equation import Equation
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.flattening import is_identity_of, nest, operands_of
from ngraph_rewrite.rewriting.nests import has_identity, is_flat
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.variable_sorts import Sorted
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.types.sorts import SortType

# What the names of a rule stand for: patterns, lists of them for sequences; of attributes, with an `=` before the
# name, the name or the value.
Bound = dict[str, Any]


class SchematicMatch:
    """The left side of a rule against patterns whose variables are left as they are.

    A variable that is taken for several operands stands for any of those that are left.

    Args:
        kinds: What the variables of the patterns may stand for.
    """

    def __init__(self, kinds: Mapping[str, Sorted], equation: Equation) -> None:
        self.kinds, self.own, self.equation = kinds, equation.kinds, equation

    def root(self, pattern: App, subject: App) -> Iterator[Bound]:
        """Where the rule fires: on a nest only if that has two operands for sure, or it comes to the same otherwise."""
        if not is_flat(pattern.definition) or self._least(subject) >= 2 or self.equation.optional:
            yield from self.match(pattern, subject, {})

    def match(self, pattern: Pattern, subject: Pattern, bound: Bound) -> Iterator[Bound]:
        """What the names of the rule stand for, beside what is known, in each of the ways in which it matches."""
        if isinstance(pattern, Var):
            if pattern.name in bound:
                yield from [bound] if bound[pattern.name] == subject else []
            elif self._fits(pattern.name, subject):
                yield {**bound, pattern.name: subject}
        elif isinstance(pattern, App) and is_flat(pattern.definition):
            yield from self._nest(pattern, subject, bound)
        elif isinstance(pattern, App) and isinstance(subject, App) and pattern.definition is subject.definition:
            known = self._attributes(pattern, subject, bound)
            if known is not None:
                yield from self._all(pattern.args, subject.args, known)
                if pattern.definition.commutative:
                    yield from self._all(pattern.args, subject.args[::-1], known)

    def _all(self, patterns: Sequence[Pattern], subjects: Sequence[Pattern], bound: Bound) -> Iterator[Bound]:
        if not patterns:
            yield bound
            return
        for now in self.match(patterns[0], subjects[0], bound):
            yield from self._all(patterns[1:], subjects[1:], now)

    def _attributes(self, pattern: App, subject: App, bound: Bound) -> Bound | None:
        said: dict[str, Any] = {**dict(subject.binds), **dict(subject.compares)}
        for attribute, expression in pattern.compares:
            if not _same(said.get(attribute), expression):
                return None
        for attribute, name in pattern.binds:
            if attribute not in said or not _same(bound.get(f"={name}", said[attribute]), said[attribute]):
                return None
            bound = {**bound, f"={name}": said[attribute]}
        return bound

    # -- nests ----------------------------------------------------------------------------------------------

    def _nest(self, pattern: App, subject: Pattern, bound: Bound) -> Iterator[Bound]:
        definition = pattern.definition
        if not isinstance(subject, App) or subject.definition is not definition:
            if not has_identity(pattern):
                return
        elif not has_identity(pattern) and self._least(subject) < 2:
            return
        subjects = [] if is_identity_of(subject, definition) else list(operands_of(definition, subject))
        if definition.commutative:
            yield from self._any_order(definition, list(pattern.args), subjects, bound)
        else:
            yield from self._in_order(definition, list(pattern.args), subjects, bound)

    def _any_order(self, of: OpDef, patterns: list[Pattern], subjects: list[Pattern], bound: Bound) -> Iterator[Bound]:
        """What is known takes its own first, then each pattern an operand, a variable some, a sequence the rest."""
        chosen = min(patterns, key=lambda p: self._turn(p, bound), default=None)
        if chosen is None or isinstance(chosen, SeqVar):
            yield from self._rest([p for p in patterns if isinstance(p, SeqVar)], subjects, bound)
            return
        left = list(patterns)
        left.remove(chosen)
        if self._is_general(chosen, of):
            assert isinstance(chosen, Var)
            for taken, others in self._some(of, chosen, subjects, bound):
                yield from self._any_order(of, left, others, {**bound, chosen.name: nest(of, taken)})
            return
        for subject in dict.fromkeys(s for s in subjects if self._is_operand(of, s)):
            others = list(subjects)
            others.remove(subject)
            for now in self.match(chosen, subject, bound):
                yield from self._any_order(of, left, others, now)

    def _turn(self, pattern: Pattern, bound: Bound) -> int:
        if isinstance(pattern, SeqVar):
            return 4
        if not isinstance(pattern, Var):
            return 1
        return 0 if pattern.name in bound else 3 if pattern.name in self.equation.general else 2

    def _is_general(self, pattern: Pattern, of: OpDef) -> bool:
        return (
            isinstance(pattern, Var)
            and pattern.name in self.equation.general
            and of in self.own[pattern.name].operand_of
        )

    def _some(
        self, of: OpDef, variable: Var, subjects: list[Pattern], bound: Bound
    ) -> Iterator[tuple[list[Pattern], list[Pattern]]]:
        """The operands that a variable may take, at least one for sure, and what is left."""
        if variable.name in bound:
            taken = list(operands_of(of, bound[variable.name]))
            left = _less(subjects, taken)
            yield from [(taken, left)] if left is not None else []
            return
        seen = set()
        for count in range(1, len(subjects) + 1):
            for places in combinations(range(len(subjects)), count):
                taken = [subjects[i] for i in places]
                key = nest(of, taken)
                if key not in seen and self._enough(variable.name, of, taken):
                    seen.add(key)
                    yield taken, [one for i, one in enumerate(subjects) if i not in places]

    def _rest(self, runs: Sequence[SeqVar], subjects: list[Pattern], bound: Bound) -> Iterator[Bound]:
        left = _less(subjects, [a for run in runs for a in bound.get(run.name, ())])
        if left is None:
            return
        free = [run.name for run in runs if run.name not in bound]
        if free and all(self._of_sort(self.own[free[0]].sort, one) for one in left):
            yield {**bound, **dict.fromkeys(free[1:], ()), free[0]: tuple(left)}
        elif not free and not left:
            yield bound

    def _in_order(
        self, of: OpDef, patterns: Sequence[Pattern], subjects: Sequence[Pattern], bound: Bound
    ) -> Iterator[Bound]:
        if not patterns:
            yield from [bound] if not subjects else []
            return
        first, rest = patterns[0], patterns[1:]
        if self._is_general(first, of):
            assert isinstance(first, Var)
            for count in range(1, len(subjects) + 1):
                value = nest(of, subjects[:count])
                if self._enough(first.name, of, subjects[:count]) and bound.get(first.name, value) == value:
                    yield from self._in_order(of, rest, subjects[count:], {**bound, first.name: value})
        elif not isinstance(first, SeqVar):
            if subjects and self._is_operand(of, subjects[0]):
                for now in self.match(first, subjects[0], bound):
                    yield from self._in_order(of, rest, subjects[1:], now)
        else:
            for count in range(len(subjects) + 1):
                run = tuple(subjects[:count])
                if bound.get(first.name, run) == run and all(self._of_sort(self.own[first.name].sort, s) for s in run):
                    yield from self._in_order(of, rest, subjects[count:], {**bound, first.name: run})

    # -- what a pattern stands for ----------------------------------------------------------------------------

    def _fits(self, name: str, subject: Pattern) -> bool:
        """Whether a variable of the rule may stand for all that a pattern stands for."""
        kind = self.own[name]
        if name in self.equation.general:
            (of,) = kind.operand_of
            return self._enough(name, of, operands_of(of, subject)) and self._of_sort(kind.sort, subject)
        if isinstance(subject, Var):
            own = self.kinds[subject.name]
            return own.sort.fits(kind.sort) and all(own.is_operand(d) for d in kind.operand_of)
        if not isinstance(subject, App) or not kind.admits(subject.definition):
            return False
        return not kind.operand_of or self._stays(subject)

    def _enough(self, name: str, of: OpDef, subjects: Sequence[Pattern]) -> bool:
        """Whether these may be what a variable stands for that may stand for several operands, if not for none."""
        return name in self.equation.optional or any(self._is_operand(of, one) for one in subjects)

    def _of_sort(self, sort: SortType, subject: Pattern) -> bool:
        if isinstance(subject, Var | SeqVar):
            return self.kinds[subject.name].sort.fits(sort)
        profile = subject.definition.profile if isinstance(subject, App) else None
        return profile is not None and profile.result.fits(sort)

    def _is_operand(self, of: OpDef, subject: Pattern) -> bool:
        """Whether a pattern is one operand of a nest in all terms it stands for."""
        if isinstance(subject, Var):
            return self.kinds[subject.name].is_operand(of)
        return isinstance(subject, App) and subject.definition is not of and self._stays(subject)

    def _stays(self, subject: App) -> bool:
        """Whether it is a term of its operation, whatever its sequences stand for."""
        return not is_flat(subject.definition) or self._least(subject) >= 2

    def _least(self, subject: App) -> int:
        """How many operands a nest has at least."""
        return sum(self._is_operand(subject.definition, a) for a in subject.args)


def _less(patterns: Sequence[Pattern], taken: Sequence[Pattern]) -> list[Pattern] | None:
    """What is left when some patterns are taken away; None if they are not all there."""
    left = list(patterns)
    for one in taken:
        if one not in left:
            return None
        left.remove(one)
    return left


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Expression) and isinstance(other, Expression):
        return bool(value_of(one, {}) == value_of(other, {}))
    return isinstance(one, str) and one == other
