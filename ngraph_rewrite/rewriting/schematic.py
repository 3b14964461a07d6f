# SPDX-License-Identifier: Apache-2.0
"""Rewriting of patterns: what rules make of every term that a pattern stands for, whatever its variables stand for.

A step is taken only if it can be taken in all those terms. So a variable is one operand of a nest only if it never
stands for a nest of that operation, or for its identity; a sequence is none, and is taken by sequences. Which rule
stands first in the file does not count: what can be reached is asked, not what the engine does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.equation import Asked, Equation
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.flattening import canonical
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.schematic_matching import Bound, SchematicMatch
from ngraph_rewrite.rewriting.variable_sorts import Sorted
from ngraph_rewrite.terms.catalogue import OpDef

# How many steps are taken to bring one pattern to normal form, and how many of its reducts are looked at.
STEPS, REDUCTS = 400, 60


class Unending(Exception):
    """More steps than are taken would be needed."""


class Schematic:
    """Rules at work on patterns.

    Args:
        kinds: What the variables of the patterns may stand for.
        assumed: Conditions that hold.
    """

    def __init__(
        self, equations: Iterable[Equation], kinds: Mapping[str, Sorted], assumed: Iterable[Asked] = ()
    ) -> None:
        self.by_root: dict[OpDef, list[Equation]] = {}
        for equation in equations:
            if equation.right is not None:
                self.by_root.setdefault(equation.left.definition, []).append(equation)
        self.kinds = kinds
        self.assumed: list[Asked] = []
        self._normal: dict[Pattern, Pattern] = {}
        self._left = STEPS
        self.assumed = [Asked(self.normal(a.left), self.normal(a.right), a.equal) for a in assumed]

    def join(self, one: Pattern, other: Pattern) -> bool:
        """Whether two patterns are brought together by steps that can be taken in all terms they stand for."""
        return self._same_form(one, other) or bool(self._reducts(one) & self._reducts(other))

    def _same_form(self, one: Pattern, other: Pattern) -> bool:
        self._left = STEPS
        try:
            return self.normal(one) == self.normal(other)
        except Unending:
            return False

    def reaches(self, one: Pattern, other: Pattern) -> bool:
        """Whether one pattern is another one after some steps that can be taken in all terms it stands for."""
        return other in self._reducts(one)

    def never(self) -> bool:
        """Whether what is assumed contradicts itself."""
        for asked in self.assumed:
            if asked.equal and asked.left != asked.right and _closed(asked.left) and _closed(asked.right):
                return True
            if not asked.equal and asked.left == asked.right:
                return True
        return any(self._contradict(a, b) for a in self.assumed for b in self.assumed if a.equal)

    def _contradict(self, one: Asked, other: Asked) -> bool:
        sides = {one.left, one.right}
        if not other.equal:
            return sides == {other.left, other.right}
        rest = sides ^ {other.left, other.right}
        return len(sides) == 2 and len(rest) == 2 and all(map(_closed, rest)) and not rest >= sides

    # -- normal forms ---------------------------------------------------------------------------------------

    def normal(self, pattern: Pattern) -> Pattern:
        """What is left when no step can be taken any more, arguments first."""
        found = self._normal.get(pattern)
        if found is None:
            found = pattern
            inside = self._with_args(pattern, [self.normal(a) for a in _active(pattern)])
            after = next(self.at_root(inside), None)
            found = inside if after is None else self.normal(after)
            self._normal[pattern] = found
        return found

    def _with_args(self, pattern: Pattern, args: Sequence[Pattern]) -> Pattern:
        if not isinstance(pattern, App) or not pattern.args:
            return pattern
        fresh = iter(args)
        return _again(pattern, [a if i in _frozen(pattern) else next(fresh) for i, a in enumerate(pattern.args)])

    def at_root(self, pattern: Pattern) -> Iterator[Pattern]:
        """What rules make of a pattern at its root, in each of the ways in which they match."""
        for equation in self.by_root.get(pattern.definition, ()) if isinstance(pattern, App) else ():
            assert isinstance(pattern, App) and equation.right is not None
            for bound in SchematicMatch(self.kinds, equation).root(equation.left, pattern):
                self._left -= 1
                if self._left < 0:
                    raise Unending
                if self._fires(equation, bound):
                    yield instantiated(equation.right, bound)

    def _fires(self, equation: Equation, bound: Bound) -> bool:
        guard = equation.rule.guard
        if guard is not None:
            values = _values(guard.names, bound)
            if values is None or not value_of(guard, values):
                return False
        return all(self._holds(asked, bound) for asked in equation.conditions)

    def _holds(self, asked: Asked, bound: Bound) -> bool:
        left, right = (self.normal(instantiated(side, bound)) for side in (asked.left, asked.right))
        if any(a.equal == asked.equal and {a.left, a.right} == {left, right} for a in self.assumed):
            return True
        if asked.equal:
            return left == right
        return left != right and _closed(left) and _closed(right)

    def _reducts(self, pattern: Pattern) -> set[Pattern]:
        """What can be reached, or a part of it; nearer first."""
        found, pending = {pattern}, [pattern]
        self._left = REDUCTS * STEPS
        with suppress(Unending):
            while pending and len(found) < REDUCTS:
                for after in self.steps(pending.pop(0)):
                    if after not in found:
                        found.add(after)
                        pending.append(after)
        return found

    def steps(self, pattern: Pattern) -> Iterator[Pattern]:
        """What one step makes of a pattern, at each of its places."""
        yield from self.at_root(pattern)
        for i, arg in enumerate(pattern.args) if isinstance(pattern, App) else ():
            assert isinstance(pattern, App)
            for after in self.steps(arg) if i not in _frozen(pattern) else ():
                yield _again(pattern, [*pattern.args[:i], after, *pattern.args[i + 1 :]])


def _frozen(pattern: App) -> tuple[int, ...]:
    profile = pattern.definition.profile
    return () if profile is None else profile.frozen


def _active(pattern: Pattern) -> list[Pattern]:
    if not isinstance(pattern, App):
        return []
    return [a for i, a in enumerate(pattern.args) if i not in _frozen(pattern)]


def _again(pattern: App, args: Iterable[Pattern]) -> Pattern:
    return canonical(App(pattern.definition, tuple(args), pattern.binds, pattern.compares))


def _closed(pattern: Pattern) -> bool:
    """Whether it stands for one term."""
    return all(isinstance(p, App) and not p.binds for p in subpatterns(pattern))


def _values(names: Iterable[str], bound: Bound) -> dict[str, Any] | None:
    """The values of attributes; None if some name has none yet."""
    known = {name: bound.get(f"={name}") for name in names}
    values = {name: one for name, one in known.items() if isinstance(one, Expression)}
    return {name: value_of(one, {}) for name, one in values.items()} if len(values) == len(known) else None


def instantiated(pattern: Pattern, bound: Bound) -> Pattern:
    """A pattern with what its names stand for put in place; nests are in one list."""
    if not isinstance(pattern, App):
        return bound.get(pattern.name, pattern) if isinstance(pattern, Var) else pattern
    args: list[Pattern] = []
    for arg in pattern.args:
        args += bound.get(arg.name, (arg,)) if isinstance(arg, SeqVar) else [instantiated(arg, bound)]
    said = [(attribute, bound.get(f"={name}", name)) for attribute, name in pattern.binds]
    binds = tuple([(attribute, one) for attribute, one in said if isinstance(one, str)])
    compares = tuple([(attribute, one) for attribute, one in said if not isinstance(one, str)])
    return canonical(App(pattern.definition, tuple(args), binds, pattern.compares + compares))
