# SPDX-License-Identifier: Apache-2.0
"""Matching by trying everything: the judge where two cleverer matchers disagree.

Every way to deal the arguments of a term out to the patterns is tried, one argument to each pattern and any number to
a sequence variable; what the patterns bind is joined, and kept if no name stands for two things.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any

from ngraph_rewrite.rewriting.interpret import value_of
from ngraph_rewrite.rewriting.nests import is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.terms.op import Op

Bound = dict[str, Any]


def every_match(pattern: Pattern, term: Op) -> Iterator[Bound]:
    """The substitutions with which a pattern matches a term; some may come twice."""
    if isinstance(pattern, Var):
        yield {pattern.name: term}
    elif isinstance(pattern, Num):
        if term.definition.name == "core.constant" and term.attrs[0].is_number(pattern.value):
            yield {}
    elif isinstance(pattern, App) and term.definition is pattern.definition:
        if all(term.attribute(a) == value_of(e, {}) for a, e in pattern.compares):
            attributes = [{name: term.attribute(a)} for a, name in pattern.binds]
            for hands in deals(pattern, term):
                yield from joined(attributes, pattern.args, hands)


def deals(pattern: App, term: Op) -> Iterator[list[tuple[Op, ...]]]:
    """Every way to give each pattern its arguments."""
    args = operands(term) if is_nest(pattern) else list(term.args)
    if pattern.definition.commutative:
        singles = [i for i, p in enumerate(pattern.args) if not isinstance(p, SeqVar)]
        for places in permutations(range(len(args)), len(singles)):
            rest = tuple(a for i, a in enumerate(args) if i not in places)
            if not rest or len(singles) < len(pattern.args):
                given = dict(zip(singles, places, strict=True))
                yield [(args[given[i]],) if i in given else rest for i in range(len(pattern.args))]
        return
    for counts in product(range(len(args) + 1), repeat=len(pattern.args)):
        fits = all(n == 1 or isinstance(p, SeqVar) for n, p in zip(counts, pattern.args, strict=True))
        if sum(counts) == len(args) and fits:
            ends = [sum(counts[: i + 1]) for i in range(len(counts))]
            yield [tuple(args[end - n : end]) for n, end in zip(counts, ends, strict=True)]


def joined(attributes: list[Bound], patterns: Sequence[Pattern], hands: list[tuple[Op, ...]]) -> Iterator[Bound]:
    each: list[list[Bound]] = [[b] for b in attributes]
    for pattern, hand in zip(patterns, hands, strict=True):
        own = [{pattern.name: hand}] if isinstance(pattern, SeqVar) else list(every_match(pattern, hand[0]))
        each.append(own)
    for parts in product(*each):
        names = {name: value for part in parts for name, value in part.items()}
        if all(names[name] == value for part in parts for name, value in part.items()):
            yield names
