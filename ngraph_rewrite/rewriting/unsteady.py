# SPDX-License-Identifier: Apache-2.0
"""What a variable that is one operand of a nest may stand for and a rule makes something else: a nest, or the identity.

Then a pattern with that variable does not match any more. It happens at the root of the operand, or inside of a nest
of another operation, which leaves one of its operands alone when a rule makes its identity of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.equation import Equation
from ngraph_rewrite.rewriting.flattening import identity_of
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import Unifier, resolved
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables
from ngraph_rewrite.terms.catalogue import OpDef, definitions

# The number of the first name that is made when it is asked what a rule makes: others are made after that.
MADE = 1000


class Unsteady(NamedTuple):
    """What a variable may stand for, the part of it that a rule takes, and what becomes of all of it."""

    value: App
    redex: App
    after: Pattern | None


def unsteady(kind: Sorted, inner: Equation, limit: Limit) -> Iterator[Unsteady]:
    """The operands that a rule makes something else: at the root, or inside of a nest of which one operand is left."""
    others = list(_nests_beside(kind, inner))
    for shape in _no_operands(kind):
        if kind.admits(inner.left.definition):
            for redex, after in _becoming(inner, shape, limit):
                yield Unsteady(redex, redex, after)
        for other in others:
            for redex, after in _becoming(inner, identity_of(other), limit):
                yield Unsteady(App(other, (shape, redex)), redex, None if after is None else shape)


def _no_operands(kind: Sorted) -> Iterator[App]:
    """What is no operand: a nest, and the identity."""
    for of in sorted(kind.operand_of, key=lambda d: d.name):
        yield App(of, (Var("~u"), Var("~v"), SeqVar("~w")))
        if of.profile is not None and of.profile.identity is not None:
            yield identity_of(of)


def _becoming(inner: Equation, shape: App, limit: Limit) -> Iterator[tuple[App, Pattern | None]]:
    """What a rule takes and makes, where it makes a term of some form."""
    if inner.right is None or (isinstance(inner.right, App) and inner.right.definition is shape.definition):
        yield inner.left, inner.right
        return
    kinds = sorted_variables(inner.left, shape)
    for empty in _empty(inner.right):
        start = Unifier(runs=dict.fromkeys(empty, ()), kinds=kinds, count=MADE)
        for unifier in unifiers(resolved(inner.right, start), shape, start, limit):
            redex = resolved(inner.left, unifier)
            if isinstance(redex, App) and redex.definition is inner.left.definition:
                yield redex, resolved(inner.right, unifier)


def _empty(right: Pattern) -> Iterator[tuple[str, ...]]:
    """The choices of sequences that are empty: a right side may be the one operand that is left then."""
    names = list(dict.fromkeys(part.name for part in subpatterns(right) if isinstance(part, SeqVar)))
    for count in range(len(names) + 1):
        yield from combinations(names, count)


def _nests_beside(kind: Sorted, inner: Equation) -> Iterator[OpDef]:
    """The operations with an identity whose nests may be the operand."""
    for definition in definitions(inner.left.definition.family):
        profile = definition.profile
        if profile is not None and profile.identity is not None and kind.admits(definition):
            yield definition
