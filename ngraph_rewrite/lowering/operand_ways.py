# SPDX-License-Identifier: Apache-2.0
"""Which parts of a term may be meant by which parts of a pattern: orders, splits, and choices of operands."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ngraph_rewrite.rewriting.bounds import OPERANDS
from ngraph_rewrite.rewriting.nests import is_nest, nests, operand_count, operands
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar
from ngraph_rewrite.terms.op import Op

# So many choices of operands are made, for patterns that can be matched in very many ways.
MOST = 2000
# What is still to be matched: parts of the pattern, each with a term, or with several for a sequence.
Agenda = tuple[tuple[Pattern, Any], ...]
# How much of a part of a pattern a term matches for itself.
Likeness = Callable[[Pattern, Op], int]


class Left(tuple[Op, ...]):
    """The operands of a nest that are left for its sequences."""

    __slots__ = ()


def ways(part: App, term: Op, likeness: Likeness) -> Iterator[Agenda]:
    """The parts of the pattern beside the arguments: in both orders if they may be exchanged, in each split."""
    args = part.args
    if is_nest(part):
        found = operands_of(part, term)
        yield from _choices(part, found, likeness) if part.definition.commutative else _splits(args, tuple(found))
        return
    if not any(isinstance(a, SeqVar) for a in args):
        if len(args) == len(term.args):
            yield tuple(zip(args, term.args, strict=True))
            if part.definition.commutative and args[0] != args[1]:
                yield tuple(zip(args[::-1], term.args, strict=True))
        return
    yield from _splits(args, term.args)


def too_many(part: App, term: Op) -> int:
    """How many operands the nest has that a pattern is to match, if those are more than patterns look through; or 0."""
    if not (is_nest(part) and nests(part.definition) and term.definition is part.definition):
        return 0
    count = operand_count(term)
    return count if count > OPERANDS else 0


def operands_of(part: App, term: Op) -> Sequence[Op]:
    """What the arguments of a pattern stand for: those of a term, or the operands of the nest it is."""
    if term.definition is not part.definition:  # of an operation that has an identity: it stands for none, others alone
        profile = part.definition.profile
        return () if profile is not None and term.definition.name == profile.identity else (term,)
    return operands(term) if is_nest(part) and nests(part.definition) else term.args


def _choices(part: App, found: Sequence[Op], likeness: Likeness) -> Iterator[Agenda]:
    """Operands of a nest for the parts of a pattern, the nearest first; a sequence gets those that are left."""
    single = [a for a in part.args if not isinstance(a, SeqVar)]
    runs = [a for a in part.args if isinstance(a, SeqVar)]
    if len(single) > len(found) or (not runs and len(single) != len(found)):
        return
    most = max(len(single), int(MOST ** (1 / max(1, len(single)))))
    nearest = [sorted(range(len(found)), key=lambda i: -likeness(p, found[i]))[:most] for p in single]
    for chosen in itertools.islice(_different(nearest, ()), MOST):
        left = Left(found[i] for i in range(len(found)) if i not in chosen)
        ends = ((part, left),) if runs else ()
        yield (*((p, found[i]) for p, i in zip(single, chosen, strict=True)), *ends)


def _different(options: Sequence[Sequence[int]], chosen: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """A number of each of the options, none twice, those that stand first before others."""
    if len(chosen) == len(options):
        yield chosen
        return
    for i in options[len(chosen)]:
        if i not in chosen:
            yield from _different(options, (*chosen, i))


def _splits(parts: tuple[Pattern, ...], args: tuple[Op, ...]) -> Iterator[Agenda]:
    if not parts:
        if not args:
            yield ()
        return
    if isinstance(parts[0], SeqVar):
        single = sum(not isinstance(p, SeqVar) for p in parts[1:])
        last = len(args) - single
        only = not any(isinstance(p, SeqVar) for p in parts[1:])
        for n in range(max(last, 0) if only else 0, last + 1):
            yield from (((parts[0], args[:n]), *way) for way in _splits(parts[1:], args[n:]))
    elif args:
        yield from (((parts[0], args[0]), *way) for way in _splits(parts[1:], args[1:]))


def wanted(part: App) -> str:
    """How many operands or arguments a pattern has."""
    single = sum(not isinstance(a, SeqVar) for a in part.args)
    least = "at least " if single < len(part.args) else ""
    what = "operand" if is_nest(part) else "argument"
    return f"{least}{single} {what}{'' if single == 1 else 's'}"
