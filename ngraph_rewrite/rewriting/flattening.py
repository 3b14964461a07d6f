# SPDX-License-Identifier: Apache-2.0
"""Patterns of a signature as its terms are: operands in one list, no nest in a nest, no identity, and in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar
from ngraph_rewrite.terms.catalogue import OpDef, lookup


def identity_of(definition: OpDef) -> App:
    """The pattern of the identity of an operation that has one."""
    assert definition.profile is not None and definition.profile.identity is not None
    return App(lookup(definition.profile.identity), ())


def is_identity_of(pattern: Pattern, definition: OpDef) -> bool:
    """Whether a pattern is the identity of an operation."""
    profile = definition.profile
    return isinstance(pattern, App) and profile is not None and pattern.definition.name == profile.identity


def operands_of(definition: OpDef, pattern: Pattern) -> Sequence[Pattern]:
    """The operands of a pattern as a nest of an operation: of another pattern it is the only one."""
    if isinstance(pattern, App) and pattern.definition is definition:
        return [b for a in pattern.args for b in operands_of(definition, a)]
    return [] if is_identity_of(pattern, definition) else [pattern]


def nest(definition: OpDef, args: Iterable[Pattern]) -> Pattern:
    """The nest of some operands; one stands alone, and none is the identity.

    >>> from ngraph_rewrite.rewriting.pattern import Var
    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> sets = Signature("example_flattening")
    >>> _ = sets.sort("Set"), sets.operation("union", ("Set", "Set"), "Set", "associative", "commutative")
    >>> union = sets["union"].definition
    >>> print(nest(union, [Var("y"), nest(union, [Var("x"), Var("z")])]))
    union(x, y, z)
    """
    found = [b for a in args for b in operands_of(definition, a)]
    if definition.commutative:
        found.sort(key=_place)
    if not found and definition.profile is not None and definition.profile.identity is not None:
        return identity_of(definition)
    if len(found) == 1 and not isinstance(found[0], SeqVar):
        return found[0]
    return App(definition, tuple(found))


def _place(pattern: Pattern) -> tuple[int, str]:
    """Where an operand stands among others: variables first, sequences last."""
    return 2 if isinstance(pattern, SeqVar) else int(isinstance(pattern, App)), str(pattern)


def canonical(pattern: App) -> Pattern:
    """A pattern whose arguments are canonical as terms are: in one list, or in one order.

    Args:
        pattern: Of any op; that of a tensor op stays as it is.
    """
    definition = pattern.definition
    if is_flat(definition):
        return nest(definition, pattern.args)
    if definition.profile is None or not definition.profile.commutative:
        return pattern
    return replace(pattern, args=tuple(sorted(pattern.args, key=_place)))


def flattened(pattern: Pattern) -> Pattern:
    """The pattern with everything in it canonical."""
    if not isinstance(pattern, App):
        return pattern
    return canonical(replace(pattern, args=tuple(map(flattened, pattern.args))))
