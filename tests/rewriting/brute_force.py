# SPDX-License-Identifier: Apache-2.0
"""Matching by trying everything: the judge where two cleverer matchers disagree.

Every way to deal the arguments of a term out to the patterns is tried, one argument to each pattern and any number to
a sequence variable; what the patterns bind is joined, and kept if no name stands for two things. What a sequence gets
where arguments stand in any order is a `Heap`: a row in which it stands too says in what order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.nests import has_identity, is_flat, is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, is_of
from ngraph_rewrite.terms.op import Op

Bound = dict[str, Any]


class Heap(frozenset[tuple[Op, int]]):
    """How often a sequence has each term."""

    @classmethod
    def of(cls, terms: Sequence[Op]) -> Heap:
        return cls(Counter(terms).items())


def every_match(pattern: Pattern, term: Op) -> Iterator[Bound]:
    """The substitutions with which a pattern matches a term; some may come twice."""
    if isinstance(pattern, Var):
        if is_of(term, pattern.sort):
            yield {pattern.name: term}
    elif isinstance(pattern, Num):
        if term.definition.name == "core.constant" and term.attrs[0].is_number(pattern.value):
            yield {}
    elif isinstance(pattern, App) and term.definition is pattern.definition:
        if all(term.attribute(a) == value_of(e, {}) for a, e in pattern.compares):
            attributes = [{name: term.attribute(a)} for a, name in pattern.binds]
            nest = is_nest(pattern) and not is_flat(pattern.definition)
            for hands in deals(pattern, operands(term) if nest else list(term.args)):
                yield from joined(attributes, pattern.args, hands)
    elif isinstance(pattern, App) and has_identity(pattern):
        alone = [] if term.definition.name == pattern.definition.profile.identity else [term]  # type: ignore[union-attr]
        for hands in deals(pattern, alone):
            yield from joined([], pattern.args, hands)


def deals(pattern: App, args: list[Op]) -> Iterator[list[Any]]:
    """Every way to give each pattern its arguments."""
    if pattern.definition.commutative:
        yield from heaps(pattern, args)
        return
    for counts in product(range(len(args) + 1), repeat=len(pattern.args)):
        fits = all(n == 1 or isinstance(p, SeqVar) for n, p in zip(counts, pattern.args, strict=True))
        if sum(counts) == len(args) and fits:
            ends = [sum(counts[: i + 1]) for i in range(len(counts))]
            yield [tuple(args[end - n : end]) for n, end in zip(counts, ends, strict=True)]


def heaps(pattern: App, args: list[Op]) -> Iterator[list[Any]]:
    """Every way to give each pattern an argument, and each of the rest to one of the sequences."""
    singles = [i for i, p in enumerate(pattern.args) if not isinstance(p, SeqVar)]
    runs = [i for i, p in enumerate(pattern.args) if isinstance(p, SeqVar)]
    seen = set()
    for places in permutations(range(len(args)), len(singles)):
        rest = [a for i, a in enumerate(args) if i not in places]
        for owners in product(runs, repeat=len(rest)):
            hands: dict[int, Any] = {i: (args[at],) for i, at in zip(singles, places, strict=True)}
            hands.update((i, Heap.of([a for a, own in zip(rest, owners, strict=True) if own == i])) for i in runs)
            hand = [hands[i] for i in range(len(pattern.args))]
            if tuple(hand) not in seen:
                seen.add(tuple(hand))
                yield hand


def joined(attributes: list[Bound], patterns: Sequence[Pattern], hands: list[Any]) -> Iterator[Bound]:
    each: list[list[Bound]] = [[b] for b in attributes]
    for pattern, hand in zip(patterns, hands, strict=True):
        if isinstance(pattern, SeqVar):
            terms = [t for t, _ in hand] if isinstance(hand, Heap) else hand
            each.append([{pattern.name: hand}] if all(is_of(t, pattern.sort) for t in terms) else [])
        else:
            each.append(list(every_match(pattern, hand[0])))
    for parts in product(*each):
        names: Bound = {}
        if all(agrees(names, name, value) for part in parts for name, value in part.items()):
            yield names


def agrees(names: Bound, name: str, value: Any) -> bool:
    """Whether a name may stand for a value beside what it stands for; then it does."""
    have = names.setdefault(name, value)
    if isinstance(have, Heap) and isinstance(value, tuple):
        names[name] = value
        return have == Heap.of(value)
    if isinstance(value, Heap) and isinstance(have, tuple):
        return value == Heap.of(have)
    return bool(have == value)
