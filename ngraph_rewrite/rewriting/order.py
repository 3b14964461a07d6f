# SPDX-License-Identifier: Apache-2.0
"""Rules go down: an order of terms proves that rewriting ends, by default the path order of the declaration of ops.

One order serves all rules of a pass, so any union of their files terminates too. Arguments are compared left to
right; those of a commutative op, which matches in any order, and of an op that takes any number as multisets. An op
of the trait ``narrowing`` is a different symbol for each number of arguments, and stands above itself with fewer.
Another order, such as `find_order` finds, may place the ops differently, compare the arguments of some in another
manner, and weigh terms before it compares them: what weighs less is below, whatever its ops. Or it compares nests of a
signature modulo their laws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from ngraph_rewrite.rewriting.nest_order import goes_down
from ngraph_rewrite.rewriting.paths import ALWAYS, LEFT, NEVER, Ways, ways_down
from ngraph_rewrite.rewriting.pattern import Computed
from ngraph_rewrite.rewriting.registry import consumed
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.skeleton import REMEMBERED, Node, Plain, builds_of_sequences, counted, nodes, sides
from ngraph_rewrite.terms.catalogue import OpDef, kin, lookup

# Families from what is executed up to what users write; a target's own families stand after core.
FAMILIES = ("core", "", "semi", "simple", "numpy", "axes")
Symbol = tuple[int, bool, int, int, int]


def precedence(definition: OpDef) -> Symbol:
    """The place of an op in the order of declaration; a rule may only use ops of a smaller place than it removes.

    No two ops have the same: of two that stand just below one op, that which is declared later stands above the other.
    """
    if definition.below:
        family_place, placed, rank, depth, _ = precedence(lookup(definition.below))
        return family_place, placed, rank, depth - 1, definition.rank
    family = kin(definition.family)
    return FAMILIES.index(family if family in FAMILIES else ""), family != definition.family, definition.rank, 0, 0


@dataclass(frozen=True)
class Order:
    """An order of terms.

    Attributes:
        places: The places of ops by their ranks; None for the order of declaration.
        statuses: How the arguments of an op are compared, where it is not from the left.
        weights: What an op weighs, by its rank; None if terms are not weighed.
        laws: Whether nests are compared modulo associativity and commutativity, as `nest_paths` does.
    """

    places: Mapping[int, int] | None = None
    statuses: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    weights: Mapping[int, int] | None = None
    laws: bool = False

    def place(self, definition: OpDef) -> Symbol:
        """Where an op stands; what has no place stands where it is declared, below all that have one."""
        found = None if self.places is None else self.places.get(definition.rank)
        return precedence(definition) if found is None else (len(FAMILIES), True, found, 0, 0)

    def weigh(self, counts: Mapping[int | str, int]) -> int:
        """What ops weigh together, by their numbers: each one, if nothing is said."""
        weights = self.weights or {}
        return sum(count * weights.get(op, 1) for op, count in counts.items() if isinstance(op, int))

    def higher(self, one: OpDef, other: OpDef) -> Ways:
        """Whether an op stands above another."""
        return ALWAYS if self.place(one) > self.place(other) else NEVER

    def is_higher(self, one: OpDef, other: OpDef) -> bool:
        """Whether an operation stands above another one."""
        return self.place(one) > self.place(other)

    def compared(self, definition: OpDef, status: int) -> Ways:
        """Whether the arguments of an op are compared in this manner."""
        return ALWAYS if self.status(definition) == status else NEVER

    def status(self, definition: OpDef) -> int:
        """How the arguments of an op are compared."""
        return self.statuses.get(definition.rank, LEFT)


DECLARED = Order()
# Terms are weighed by the number of their ops: what a recognize rule makes is smaller than what it finds.
SHRINKING = Order(weights=MappingProxyType({}))


def usual_order(rule: Rule) -> Order:
    """The order in which a rule goes down if nothing else is said."""
    return SHRINKING if rule.kind == "recognize" else DECLARED


def why_not_down(rule: Rule, order: Order | None = None) -> str | None:
    """None if the rule goes down in the order, else what is wrong, in one sentence.

    Args:
        order: By default that of its pass.
    """
    if rule.kind == "derive":
        return None
    both = sides(rule)
    if both is None:
        return _consumes(rule)
    if order is None:
        return _why_not_usually(rule)
    if order.laws:
        return None if goes_down(rule, order) else _climbs(rule, *both, order)
    if order.weights is not None:
        less, why = lighter(rule, order)
        if less or why is not None:
            return why
        if order is SHRINKING:
            return _as_large(*both)
    return None if ways_down(*both, order) else _climbs(rule, *both, order)


@lru_cache(maxsize=REMEMBERED)
def _why_not_usually(rule: Rule) -> str | None:
    return why_not_down(rule, usual_order(rule))


def _consumes(rule: Rule) -> str | None:
    """A term function goes down by the op it says that it removes."""
    assert isinstance(rule.right[0], Computed)
    function, removed = rule.right[0].function, rule.left.definition
    if consumed(function) == removed.name:
        return None
    return f"{function} removes {consumed(function)}, and the left side is {removed}"


def lighter(rule: Rule, order: Order) -> tuple[bool, str | None]:
    """Whether the right side weighs less than the left, and why if it may weigh more."""
    both = sides(rule)
    assert both is not None
    if builds_of_sequences(rule):
        return False, "it builds an op for each term of a sequence: a recognize rule makes terms smaller"
    own, used = map(counted, both)
    mine, other = order.weigh(own), order.weigh(used)
    if other > mine:
        return False, _as_large(*both)
    more = sorted(n for n, count in used.items() if isinstance(n, str) and count > own[n])
    return other < mine, f"`{more[0]}` stands more often on the right than on the left" if more else None


def _as_large(left: Plain, right: Plain) -> str:
    size = [SHRINKING.weigh(counted(side)) for side in (left, right)]
    return f"the right side has {size[1]} ops and the left {size[0]}: a recognize rule makes terms smaller"


def _climbs(rule: Rule, left: Node, right: Plain, order: Order) -> str:
    several = left.definition.name == "core.make_tuple" and isinstance(right, Node)  # of a rule with several left sides
    tops = [one.definition for one in left.args if isinstance(one, Node)] if several else [left.definition]
    highest = max(tops, key=order.place, default=left.definition)
    for node in nodes(right):
        if order.place(node.definition) > order.place(highest):
            return f"it uses {node.definition}, which is declared after {highest}"
    if several:
        return "its right sides are not smaller than its left sides in the order of declaration"
    what = "what its right side or a condition makes" if rule.conditions else "its right side"
    return f"{what} is not smaller than its left in the order of declaration ({left.definition} at the root)"
