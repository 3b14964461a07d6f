# SPDX-License-Identifier: Apache-2.0
"""An order in which rules go down is searched for, and where there is none, the fewest rules that no order takes down.

The order of declaration is tried first. Then each rule says in what ways it would go down (`ways_down`), and a place
for each op is looked for that gives every rule one of its ways: what only one way is left for is settled first, and
where several are left, the one that is most like the order of declaration is tried first. If that fails, terms are
weighed before they are compared, so that rules that make them lighter no longer count. For nests of a signature there
is an order of their own (`nest_order`). See Junker, *QuickXplain* (2004), on the fewest constraints in conflict.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ngraph_rewrite.rewriting.nest_order import nest_order
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.order import DECLARED, Order, lighter, precedence, usual_order, why_not_down
from ngraph_rewrite.rewriting.paths import ALWAYS, LEFT, NEVER, Need, Way, Ways, ways_down
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.skeleton import REMEMBERED, nodes, sides
from ngraph_rewrite.rewriting.weights import weights_for
from ngraph_rewrite.terms.catalogue import OpDef, definitions

# How many times a way may be chosen where several are left.
TRIALS = 4000
# And how many times for some of the rules of which all have none.
FEW = 300


@dataclass(frozen=True)
class Conflict:
    """The fewest rules that no order that was looked for takes down together."""

    rules: tuple[Rule, ...]


def find_order(rules: Iterable[Rule]) -> Order | Conflict:
    """An order in which every one of these rules, of one pass, goes down; or rules that have none.

    Rules of `derive` files are left out: they fire once for each op.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rules = parse_rules("simplify semi\\nrule a: exp(x) => tanh(x)\\nrule b: tanh(x) => exp(x)\\n", "r.rules", "r")
    >>> [rule.name for rule in find_order(rules).rules]
    ['r.a', 'r.b']
    >>> found = find_order(rules.without(["r.b"]))
    >>> [why_not_down(rule, found) for rule in rules]
    [None, 'it uses semi.exp, which is declared after semi.tanh']
    """
    rules = [rule for rule in rules if rule.kind != "derive"]
    flat = any(is_flat(node.definition) for rule in rules for side in sides(rule) or () for node in nodes(side))
    if not flat and all(why_not_down(rule) is None for rule in rules):
        return usual_order(rules[0]) if rules else DECLARED
    asked = [_Asked(rule, _ways(rule)) for rule in rules]
    placed = _possible(asked, flat, TRIALS)
    if placed is not None:
        return placed
    conflict = _fewest(asked, flat=flat)
    return (None if flat else _weighed(asked, conflict)) or Conflict(tuple(a.rule for a in conflict))


@dataclass(frozen=True)
class _Asked:
    """A rule and the ways in which it goes down."""

    rule: Rule
    ways: Ways


def _ways(rule: Rule) -> Ways:
    both = sides(rule)
    if both is None:
        return ALWAYS if why_not_down(rule) is None else NEVER
    return _modulo(rule, _noted(rule))


@lru_cache(maxsize=REMEMBERED)
def _noted(rule: Rule) -> Ways:
    both = sides(rule)
    assert both is not None
    usual = ways_down(*both, _NotingDeclared())  # of many ways the shortest are kept, so this may not be among all
    return ways_down(*both, _Noting()) | usual


def _modulo(rule: Rule, ways: Ways) -> Ways:
    """The ways that are right for operands in one list: such operations are above nothing, but their identity.

    An associative operation that is above another would be compared otherwise inside itself than alone. See Bachmair
    and Plaisted, *Termination orderings for associative-commutative rewriting systems* (1985).
    """
    family = rule.left.definition.family
    flat = {d.rank: d.profile for d in definitions(family) if is_flat(d)} if rule.kind == "rewrite" else {}
    if not flat:
        return ways
    names = {profile.identity for profile in flat.values() if profile is not None}
    identities = {d.rank: d.name for d in definitions(family) if d.name in names}

    def right(need: Need) -> bool:
        high, low = need
        profile = flat.get(high)
        above = profile is None or low < 0 or (low in identities and identities[low] == profile.identity)
        return above and high not in identities

    return frozenset(way for way in ways if all(map(right, way)))


class _Noting:
    """Notes down what a path order asks."""

    def higher(self, one: OpDef, other: OpDef) -> Ways:
        return frozenset([frozenset([(one.rank, other.rank)])])

    def compared(self, definition: OpDef, status: int) -> Ways:
        return frozenset([frozenset([(definition.rank, status)])])


class _NotingDeclared(_Noting):
    """The same, of what is so in the order of declaration."""

    def higher(self, one: OpDef, other: OpDef) -> Ways:
        return super().higher(one, other) if precedence(one) > precedence(other) else NEVER

    def compared(self, definition: OpDef, status: int) -> Ways:
        return super().compared(definition, status) if status == LEFT else NEVER


# -- places --------------------------------------------------------------------------------------------


def _placed(asked: Sequence[_Asked]) -> Order | None:
    """An order that gives each rule one of its ways."""
    declared = _declared(asked)
    ways = [sorted(a.ways, key=lambda w: (_against(w, declared), len(w), sorted(w))) for a in asked]
    found = _settled(ways)
    return None if found is None else Order(found.places(declared), found.statuses)


def _weighed(asked: Sequence[_Asked], conflict: Sequence[_Asked]) -> Order | None:
    """An order that weighs terms first: no rule makes them heavier, and those that keep the weight are placed."""
    weighable = [a.rule for a in asked if sides(a.rule) is not None]
    for weights in weights_for(weighable, [a.rule for a in conflict]):
        order = Order(weights=weights)
        found = {rule: lighter(rule, order) for rule in weighable}
        if all(why is None for _, why in found.values()):
            placed = _placed([a for a in asked if not found.get(a.rule, (False, None))[0]])
            if placed is not None:
                return Order(placed.places, placed.statuses, weights)
    return None


def _possible(asked: Sequence[_Asked], flat: bool, trials: int) -> Order | None:
    """An order of places alone: one in which nests are above nothing, or one that sees all that stands in them."""
    placed = _placed(asked)
    if placed is not None or not flat:
        return placed
    decided = nest_order([a.rule for a in asked], trials)
    if decided is None:
        return None
    partial = _Partial()
    partial.settle(frozenset((high.rank, low.rank) for high, lower in decided.below.items() for low in lower))
    statuses = {definition.rank: status for definition, status in decided.statuses.items()}
    return Order(partial.places(_declared(asked)), statuses, laws=True)


def _declared(asked: Iterable[_Asked]) -> dict[int, int]:
    """The place of each op that rules may have in the order of declaration, by its rank."""
    families = {a.rule.left.definition.family for a in asked if a.rule.kind == "rewrite"}
    every = [*definitions(), *(d for family in sorted(families) for d in definitions(family))]
    return {d.rank: place for place, d in enumerate(sorted(every, key=precedence))}


def _against(way: Way, declared: dict[int, int]) -> int:
    """How much of a way is unlike the order of declaration."""
    return sum(low != LEFT if low < 0 else declared[high] < declared[low] for high, low in way)


@dataclass
class _Partial:
    """What is settled: for each op the set of those below it and of those above it, as bits, and statuses."""

    below: dict[int, int] = field(default_factory=dict)
    above: dict[int, int] = field(default_factory=dict)
    statuses: dict[int, int] = field(default_factory=dict)

    def holds(self, need: Need) -> bool:
        high, low = need
        return self.statuses.get(high) == low if low < 0 else bool(self.below.get(high, 0) >> low & 1)

    def excludes(self, need: Need) -> bool:
        high, low = need
        if low < 0:
            return self.statuses.get(high, low) != low
        return high == low or bool(self.below.get(low, 0) >> high & 1)

    def settle(self, way: Way) -> bool:
        """Make a way hold; False if it contradicts itself or what is settled."""
        for need in sorted(way):
            if self.excludes(need):
                return False
            if need[1] < 0:
                self.statuses[need[0]] = need[1]
            elif not self.holds(need):
                self._place(*need)
        return True

    def _place(self, high: int, low: int) -> None:
        up, down = self.above.get(high, 0) | 1 << high, self.below.get(low, 0) | 1 << low
        for one in _bits(up):
            self.below[one] = self.below.get(one, 0) | down
        for one in _bits(down):
            self.above[one] = self.above.get(one, 0) | up

    def copied(self) -> _Partial:
        return _Partial(dict(self.below), dict(self.above), dict(self.statuses))

    def places(self, declared: dict[int, int]) -> dict[int, int]:
        """A place for every op: the order of declaration wherever nothing is settled against it."""
        waiting = {op: self.below.get(op, 0).bit_count() for op in declared}
        ready = [(place, op) for op, place in declared.items() if not waiting[op]]
        heapq.heapify(ready)
        places: dict[int, int] = {}
        while ready:
            _, op = heapq.heappop(ready)
            places[op] = len(places)
            for one in _bits(self.above.get(op, 0)):
                waiting[one] -= 1
                if not waiting[one]:
                    heapq.heappush(ready, (declared[one], one))
        return places


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _settled(ways: Sequence[Sequence[Way]]) -> _Partial | None:
    """What settles a way for each rule; None if there is no such thing, or after too many trials."""
    start = _Partial()
    left = _propagated(start, ways)
    pending = [] if left is None else [(start, left, iter(_narrowest(left)))]
    for _ in range(TRIALS):
        if not pending:
            return None
        partial, left, choices = pending[-1]
        if not left:
            return partial
        way, tried = next(choices, None), partial.copied()
        if way is None:
            pending.pop()
        elif tried.settle(way):
            still = _propagated(tried, left)
            if still is not None:
                pending.append((tried, still, iter(_narrowest(still))))
    return None


def _narrowest(ways: Sequence[Sequence[Way]]) -> Sequence[Way]:
    """The ways of the rule that has the fewest."""
    return min(ways, key=len) if ways else ()


def _propagated(partial: _Partial, ways: Sequence[Sequence[Way]]) -> Sequence[Sequence[Way]] | None:
    """The rules that several ways are left for, all others settled; None if none is left for one."""
    changed = True
    while changed:
        changed, still = False, []
        for one in ways:
            if any(all(map(partial.holds, way)) for way in one):
                continue
            left = [way for way in one if not any(map(partial.excludes, way))]
            if len(left) > 1:
                still.append(left)
            elif not left or not partial.settle(left[0]):
                return None
            else:
                changed = True
        ways = still
    return ways


# -- conflicts -----------------------------------------------------------------------------------------


def _fewest(
    asked: Sequence[_Asked], settled: Sequence[_Asked] = (), added: bool = False, flat: bool = False
) -> list[_Asked]:
    """The fewest rules that cannot all be placed beside those that are settled."""
    if added and _possible(settled, flat, FEW) is None:
        return []
    if len(asked) == 1:
        return list(asked)
    first, second = asked[: len(asked) // 2], asked[len(asked) // 2 :]
    later = _fewest(second, [*settled, *first], True, flat)
    return _fewest(first, [*settled, *later], bool(later), flat) + later
