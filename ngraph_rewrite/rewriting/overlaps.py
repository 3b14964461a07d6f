# SPDX-License-Identifier: Apache-2.0
"""Two left sides overlap where one term may match both: the most general such terms are found by unification.

A sequence variable stands for 0, 1 or 2 variables here, and a nest for its grouping from the left; two nests overlap by
their operands as well (`nest_overlaps`). See Baader and Nipkow, *Term Rewriting and All That* (1998), chapter 6: an
overlap, with what each of the two rules makes of it, is a critical pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from ngraph_rewrite.rewriting.nest_overlaps import met_nests
from ngraph_rewrite.rewriting.nests import grouped, is_nest
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, subpatterns, variables
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import resolved

# The place of a subpattern: the numbers of the arguments on the way to it.
Position = tuple[int, ...]
# How many variables a sequence variable may stand for, and the longest row of arguments that is made of them.
RUNS, LONGEST = (0, 1, 2), 4


class Overlap(NamedTuple):
    """A pattern that a left side matches at the root and another one at `position`."""

    pattern: App
    position: Position


def overlaps(outer: App, inner: App, position: Position = ()) -> list[Overlap]:
    """The most general terms that `outer` matches at the root and `inner` at a position inside.

    Names of `inner` get an ``_``, so that those of `outer` are never meant.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules("simplify semi\\nrule a: x - negative(y) => x + y\\nrule b: -(-x) => x\\n", "r.rules", "r")
    >>> for overlap in overlaps(a.left, b.left, (1,)):
    ...     print(overlap.pattern)
    subtract(x, negative(negative(x_)))
    """
    found: dict[tuple[str, Position], Overlap] = {}
    own = renamed(inner)
    for whole, place in _expanded_at(outer, position):
        part = subpattern(whole, place)
        for other in _expanded(own):
            for unifier in unifiers(part, other):
                pattern = resolved(whole, unifier)
                assert isinstance(pattern, App)
                found.setdefault((str(pattern), place), Overlap(pattern, place))
    for overlap in _of_nests(outer, own, position):
        found.setdefault((str(overlap.pattern), overlap.position), overlap)
    return list(found.values())


def _of_nests(outer: App, inner: App, position: Position) -> Iterator[Overlap]:
    """The overlaps of two nests by their operands, of which the others are a part."""
    for nest, place, unifier in met_nests(subpattern(outer, position), inner):
        whole = resolved(_put(outer, position, nest), unifier)
        assert isinstance(whole, App)
        for pattern, moved in _expanded_at(whole, position):
            yield Overlap(pattern, (*moved, *place))


def _put(pattern: Pattern, position: Position, part: App) -> App:
    if not position:
        return part
    assert isinstance(pattern, App)
    at = position[0]
    inside = _put(pattern.args[at], position[1:], part)
    return replace(pattern, args=(*pattern.args[:at], inside, *pattern.args[at + 1 :]))


def positions(pattern: App) -> Iterator[tuple[Position, App]]:
    """The place of each op in a pattern, the root first."""
    yield (), pattern
    for i, arg in enumerate(pattern.args):
        if isinstance(arg, App):
            yield from (((i, *place), part) for place, part in positions(arg))


def subpattern(pattern: Pattern, position: Position) -> Pattern:
    """What stands at a position."""
    for i in position:
        assert isinstance(pattern, App)
        pattern = pattern.args[i]
    return pattern


def renamed(pattern: Pattern, suffix: str = "_") -> Any:
    """The pattern with a suffix to all its names."""
    if isinstance(pattern, Var | SeqVar):
        return replace(pattern, name=pattern.name + suffix)
    if isinstance(pattern, Num):
        return pattern
    binds = tuple((attribute, name + suffix) for attribute, name in pattern.binds)
    args = tuple(renamed(a, suffix) for a in pattern.args)
    return App(pattern.definition, args, binds, pattern.compares, pattern.span)


# -- sequence variables -----------------------------------------------------------------------------------


def _expanded(pattern: App) -> Iterator[App]:
    return (whole for whole, _ in _expanded_at(pattern, ()))


def _expanded_at(pattern: App, position: Position) -> Iterator[tuple[App, Position]]:
    """The pattern with variables in the place of each sequence variable, and the new place of what is at `position`."""
    names = [name for name, sequence in variables(pattern).items() if sequence]
    for counts in product(RUNS, repeat=len(names)):
        runs = dict(zip(names, counts, strict=True))
        whole = _with_runs(pattern, runs)
        rows = [p for p in subpatterns(whole) if isinstance(p, App)]
        if all(p.definition.least <= len(p.args) <= max(LONGEST, p.definition.arity or 0) for p in rows):
            yield whole, _moved(pattern, position, runs)


def _with_runs(pattern: Pattern, runs: dict[str, int]) -> Any:
    if not isinstance(pattern, App):
        return pattern
    args: list[Pattern] = []
    for arg in pattern.args:
        names = [f"{arg.name}...[{i}]" for i in range(runs[arg.name])] if isinstance(arg, SeqVar) else []
        args += [Var(name, sort=arg.sort) for name in names] if isinstance(arg, SeqVar) else [_with_runs(arg, runs)]
    if is_nest(pattern) and len(args) > 1:
        return grouped(pattern.definition, args)
    return App(pattern.definition, tuple(args), pattern.binds, pattern.compares, pattern.span)


def _moved(pattern: Pattern, position: Position, runs: dict[str, int]) -> Position:
    if not position:
        return ()
    assert isinstance(pattern, App)
    counts = [runs[a.name] if isinstance(a, SeqVar) else 1 for a in pattern.args]
    at, rest = sum(counts[: position[0]]), _moved(pattern.args[position[0]], position[1:], runs)
    if not is_nest(pattern):
        return (at, *rest)
    deeper = (0,) * (sum(counts) - 1 - at)
    return (*deeper, *((1,) if at else ()), *rest)
