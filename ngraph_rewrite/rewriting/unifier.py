# SPDX-License-Identifier: Apache-2.0
"""A unifier says what the names of two patterns stand for, one thing after the other; put in, it makes both equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ngraph_rewrite.rewriting.attribute_unification import Said, meant
from ngraph_rewrite.rewriting.flattening import canonical
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.variable_sorts import Sorted


@dataclass(frozen=True)
class Unifier:
    """What makes two patterns equal.

    Attributes:
        terms: What variables stand for; the variables in it may stand for something themselves.
        names: What names of attributes stand for: another name, an expression, or a number.
        runs: What sequence variables of nests stand for, as lists of operands.
        kinds: The sort of each variable in patterns of a signature, and the nests it is one operand of.
        count: How many variables were made.
    """

    terms: dict[str, Pattern] = field(default_factory=dict)
    names: dict[str, Said] = field(default_factory=dict)
    runs: dict[str, tuple[Pattern, ...]] = field(default_factory=dict)
    kinds: Mapping[str, Sorted] = field(default_factory=lambda: MappingProxyType({}))
    count: int = 0


def walked(pattern: Pattern, known: Unifier) -> Pattern:
    """What a variable stands for, if anything is known of it."""
    while isinstance(pattern, Var) and pattern.name in known.terms:
        pattern = known.terms[pattern.name]
    return pattern


def occurs(name: str, pattern: Pattern, known: Unifier) -> bool:
    """Whether a variable stands in a pattern, or in what that stands for."""
    pattern = walked(pattern, known)
    if isinstance(pattern, App):
        return any(occurs(name, a, known) for a in pattern.args)
    if isinstance(pattern, SeqVar) and pattern.name in known.runs:
        return any(occurs(name, a, known) for a in known.runs[pattern.name])
    return isinstance(pattern, Var | SeqVar) and pattern.name == name


def resolved(pattern: Pattern, unifier: Unifier) -> Pattern:
    """The pattern with everything put in that its names stand for; nests of a signature are in one list."""
    pattern = walked(pattern, unifier)
    if not isinstance(pattern, App):
        return pattern
    binds, compares = [], list(pattern.compares)
    for attribute, name in pattern.binds:
        value = meant(name, unifier.names)
        if isinstance(value, Num):
            return value
        binds += [(attribute, value)] if isinstance(value, str) else []
        compares += [(attribute, value)] if not isinstance(value, str) else []
    args = tuple([b for a in pattern.args for b in _put(a, unifier)])
    return canonical(App(pattern.definition, args, tuple(binds), tuple(dict(compares).items()), pattern.span))


def _put(arg: Pattern, unifier: Unifier) -> list[Pattern]:
    """What stands in the place of an argument."""
    if not isinstance(arg, SeqVar) or arg.name not in unifier.runs:
        return [resolved(arg, unifier)]
    return [b for a in unifier.runs[arg.name] for b in _put(a, unifier)]
