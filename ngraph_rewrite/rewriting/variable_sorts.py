# SPDX-License-Identifier: Apache-2.0
"""What the variables of patterns of a signature may stand for: terms of a sort, and of some nests one operand each.

A variable among the operands of a nest stands for exactly one: for no nest of the same operation, and not for its
identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.signatures import sorts
from ngraph_rewrite.types.sorts import Profile, SortType


@dataclass(frozen=True)
class Sorted:
    """What a variable may stand for.

    Attributes:
        sort: The least of the sorts that are wanted where it stands.
        operand_of: The associative operations of whose nests it is an operand.
    """

    sort: SortType
    operand_of: frozenset[OpDef] = frozenset()

    def admits(self, definition: OpDef) -> bool:
        """Whether a term of an operation may be what it stands for."""
        identities = {d.profile.identity for d in self.operand_of if d.profile is not None}
        fits = _profile(definition).result.fits(self.sort)
        return fits and definition not in self.operand_of and definition.name not in identities

    def is_operand(self, definition: OpDef) -> bool:
        """Whether a term it stands for is surely one operand in a nest of an operation."""
        if definition in self.operand_of:
            return True
        identity = _profile(definition).identity
        return not self.admits(definition) and (identity is None or not self.admits(lookup(identity)))

    def both(self, other: Sorted) -> Iterator[Sorted]:
        """What a variable may stand for that is also another one; one for each sort that fits both."""
        operand_of = self.operand_of | other.operand_of
        for one, its in ((self, other), (other, self)):
            if one.sort.fits(its.sort):
                yield replace(one, operand_of=operand_of)
                return
        common = [s for s in sorts(self.sort.family).values() if s.fits(self.sort) and s.fits(other.sort)]
        for sort in common:
            if not any(sort is not one and sort.fits(one) for one in common):
                yield Sorted(sort, operand_of)


def sorted_variables(*patterns: Pattern) -> dict[str, Sorted]:
    """What the variables of patterns of a signature may stand for, by their names; nothing is said of others.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> sets = Signature("example_variable_sorts")
    >>> _ = sets.sort("Set"), sets.operation("union", ("Set", "Set"), "Set", "associative", "commutative")
    >>> rule, = sets.rules("rule twice: union(x, x) => x")
    >>> sorted_variables(rule.left)["x"].sort
    Set
    """
    found: dict[str, Sorted] = {}
    for pattern in patterns:
        if isinstance(pattern, App) and pattern.definition.profile is not None:
            for name, one in _inside(pattern):
                have = found.get(name, one)
                sort = one.sort if one.sort.fits(have.sort) else have.sort
                found[name] = Sorted(sort, have.operand_of | one.operand_of)
    return found


def _inside(pattern: App) -> Iterator[tuple[str, Sorted]]:
    definition = pattern.definition
    own = frozenset([definition]) if is_flat(definition) else frozenset()
    for place, arg in enumerate(pattern.args):
        if isinstance(arg, Var | SeqVar):
            wanted = _profile(definition).sort_at(place)
            lower = arg.sort is not None and arg.sort.fits(wanted)
            yield arg.name, Sorted(arg.sort if lower and arg.sort is not None else wanted, own)
        elif isinstance(arg, App):
            yield from _inside(arg)


def _profile(definition: OpDef) -> Profile:
    assert definition.profile is not None
    return definition.profile
