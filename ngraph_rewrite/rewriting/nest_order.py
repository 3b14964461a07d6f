# SPDX-License-Identifier: Apache-2.0
"""An order in which rules for nests go down is searched for: which operation stands above which is decided when asked.

A rule goes down if its left side is above its right side, and above both sides of its conditions, whether its sequences
are empty or not. The rules are compared one after the other; where an answer depends on two operations, or on how the
arguments of one are compared, both are tried, first that what is taken away stands above what is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from ngraph_rewrite.rewriting.nest_paths import Answer, Asked, Comparison, Precedence, Term, Tree, tree
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.paths import STATUSES
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.skeleton import Node, Plain, nodes, sides
from ngraph_rewrite.terms.catalogue import OpDef, lookup

# How many comparisons of rules are made, and how many sequences a rule may have.
TRIALS, SEQUENCES = 3000, 5
# What must be above what.
Pair = tuple[Term, Term]


class _Unknown(Exception):
    """It is not known what a side of a rule is, as a term."""


def pairs_of(rule: Rule) -> list[Pair] | None:
    """What must be above what for a rule to go down; None if no such terms say it.

    A sequence is empty, or stands as a variable in nests of one operation. What is built for each of a sequence cannot
    be said, nor a sequence in nests of two operations.
    """
    both = sides(rule)
    if both is None:
        return None
    left, right = both
    names = _sequences([left, right])
    if names is None or len(names) > SEQUENCES:
        return None
    found: list[Pair] = []
    for present in product((False, True), repeat=len(names)):
        empty = frozenset(name for name, is_there in zip(names, present, strict=True) if not is_there)
        term = _taken(left, empty)
        if isinstance(term, Tree):
            try:
                found += [(term, side) for side in _made(right, empty)]
            except _Unknown:
                return None
    return found


def _made(right: Plain, empty: frozenset[str]) -> Iterator[Term]:
    """The right side, and what the conditions compare."""
    several = isinstance(right, Node) and right.definition.name == "core.make_tuple"
    for side in right.args if isinstance(right, Node) and several else [right]:
        term = _term(side, empty)
        if term is None:
            raise _Unknown
        yield term


def _sequences(terms: Iterable[Plain]) -> list[str] | None:
    """The sequences of a rule; None if one does not stand in the nests of one operation as it is."""
    owners: dict[str, set[OpDef]] = {}
    for node in (n for term in terms for n in nodes(term)):
        for name in node.runs:
            if name == "built" or not is_flat(node.definition):
                return None
            owners.setdefault(name, set()).add(node.definition)
    return sorted(owners) if all(len(some) == 1 for some in owners.values()) else None


def _term(side: Plain, empty: frozenset[str]) -> Term | None:
    """A right side as a term: a nest of one operand is that, and one of none the identity; None if there is none."""
    return _built(side, empty, lambda definition, root: 0)


def _taken(side: Plain, empty: frozenset[str]) -> Term | None:
    """A left side as a term; None if it takes none: a nest has two operands, or inside, where it may, fewer."""

    def least(definition: OpDef, root: bool) -> int:
        profile = definition.profile
        return 2 if root or (profile is not None and profile.identity is None) else 0

    return _built(side, empty, least, True)


def _built(side: Plain, empty: frozenset[str], least: Callable[[OpDef, bool], int], root: bool = False) -> Term | None:
    if isinstance(side, str):
        return side
    args = [_built(a, empty, least) for a in side.args if not (isinstance(a, str) and a in side.runs and a in empty)]
    known = [a for a in args if a is not None]
    if len(known) < len(args):
        return None
    if not is_flat(side.definition):
        return tree(side.definition, known)
    return _nest(side.definition, known, least(side.definition, root))


def _nest(definition: OpDef, args: Sequence[Term], least: int) -> Term | None:
    identity = definition.profile.identity if definition.profile is not None else None
    own = [a for a in args if not (isinstance(a, Tree) and a.definition.name == identity)]
    if len(own) < least:
        return None
    if own:
        return tree(definition, own)
    return None if identity is None else Tree(lookup(identity), ())


def goes_down(rule: Rule, precedence: Precedence) -> Answer:
    """Whether a rule goes down; None if the precedence leaves that open."""
    pairs = pairs_of(rule)
    comparison = Comparison(precedence)
    return False if pairs is None else _least(comparison.above(s, t) for s, t in pairs)


def _least(answers: Iterable[Answer]) -> Answer:
    some = list(answers)
    return False if False in some else None if None in some else True


# -- the search -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decided:
    """What is decided: the operations below each one, and how arguments are compared."""

    below: Mapping[OpDef, frozenset[OpDef]] = field(default_factory=dict)
    statuses: Mapping[OpDef, int] = field(default_factory=dict)

    def is_higher(self, one: OpDef, other: OpDef) -> Answer:
        """Whether an operation stands above another one."""
        if other in self.below.get(one, ()):
            return True
        return False if one is other or one in self.below.get(other, ()) else None

    def status(self, definition: OpDef) -> int | None:
        """How the arguments of an operation are compared."""
        return self.statuses.get(definition)

    def ways(self, asked: Asked) -> Iterator[Decided]:
        """What may be decided about a question."""
        if asked.other is None:
            yield from (Decided(self.below, {**self.statuses, asked.one: status}) for status in STATUSES)
        else:
            yield self._placed(asked.one, asked.other)
            yield self._placed(asked.other, asked.one)

    def _placed(self, high: OpDef, low: OpDef) -> Decided:
        under = {low, *self.below.get(low, ())}
        above = [high, *(op for op, lower in self.below.items() if high in lower)]
        return Decided({**self.below, **{op: self.below.get(op, frozenset()) | under for op in above}}, self.statuses)


def nest_order(rules: Sequence[Rule], trials: int = TRIALS) -> Decided | None:
    """What must be decided for all rules to go down; None if nothing was found in so many trials.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> ring = Signature("example_nest_order")
    >>> _ = ring.sort("R")
    >>> for name in ("plus", "times"):
    ...     _ = ring.operation(name, ("R", "R"), "R", "associative", "commutative")
    >>> rules = ring.rules("rule over: times(x, plus(y, rest...)) => plus(times(x, y), times(x, plus(rest...)))")
    >>> found = nest_order(list(rules))
    >>> found.is_higher(ring["times"].definition, ring["plus"].definition)
    True
    """
    problems = [pairs_of(rule) for rule in rules]
    if any(pairs is None for pairs in problems):
        return None
    pairs = sorted({pair for some in problems for pair in some or ()}, key=lambda pair: len(str(pair)))
    search = _Search(pairs, trials)
    return search.found(Decided(), 0)


class _Search:
    def __init__(self, pairs: Sequence[Pair], trials: int) -> None:
        self.pairs, self.left = pairs, trials

    def found(self, decided: Decided, at: int) -> Decided | None:
        """What is decided when all pairs from one on go down; depth first."""
        while at < len(self.pairs):
            self.left -= 1
            comparison = Comparison(decided)
            answer = comparison.above(*self.pairs[at]) if self.left > 0 else False
            if answer is None:
                assert comparison.asked is not None
                ways = (self.found(way, at) for way in decided.ways(comparison.asked))
                return next((way for way in ways if way is not None), None)
            if not answer:
                return None
            at += 1
        return decided
