# SPDX-License-Identifier: Apache-2.0
"""Where left sides for nests of a tensor op overlap: which operands both take, whatever stands beside them.

A nest may be grouped in any way, so its operands are unified as those of nests of a signature are. A rule for two
operands takes a part of the nest that stands together. What only sequences share is left out: it stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice

from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.nests import grouped, is_nest, nests
from ngraph_rewrite.rewriting.operand_equations import Equal, equal_lists, equal_multisets
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import Unifier

# How many steps are taken to find them, and how many are looked at.
STEPS, MOST = 5_000, 40
# A nest, the place in it of what the other rule takes, and what makes both match.
Met = tuple[App, tuple[int, ...], Unifier]


def met_nests(part: Pattern, inner: App) -> Iterator[Met]:
    """The nests that a pattern matches, and another one takes, or a part of them.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules("simplify semi\\nrule a: add(x, -x, y...) => add(y...)\\nrule b: u + 0 => u\\n", "r", "r")
    >>> from ngraph_rewrite.rewriting.unifier import resolved
    >>> for nest, place, unifier in met_nests(a.left, b.left):
    ...     print(resolved(nest, unifier), place)
    add(add(u, 0), negative(u)) (0,)
    add(negative(0), 0) ()
    add(add(u, 0), negative(0)) (0,)
    add(add(negative(x), 0), x) (0,)
    add(add(u, 0), add(x, negative(x))) (0,)
    """
    if isinstance(part, App) and part.definition is inner.definition and nests(inner.definition) and is_nest(part):
        yield from islice(_met(part, inner), MOST)


def _met(part: App, inner: App) -> Iterator[Met]:
    numbers = count()
    whole = is_nest(inner)
    beside = [] if whole else [SeqVar("~before"), SeqVar("~after")]
    own = [*beside[:1], *inner.args, *beside[1:]] if not inner.definition.commutative else [*inner.args, *beside[:1]]
    solve = equal_multisets if inner.definition.commutative else equal_lists
    for equal in solve(list(part.args), own, lambda: SeqVar(f"~{next(numbers)}"), Limit(STEPS)):
        for unifier in _unified(equal, Unifier()):
            row = _operands(part.args, equal)
            if whole and len(row) > 1:
                yield _whole(inner, row), (), unifier
            elif not whole:
                yield from _together(inner, equal, unifier)


def _unified(equal: Equal, known: Unifier, at: int = 0) -> Iterator[Unifier]:
    """What makes the operands of each group one."""
    pairs = [(group[0], one) for group in equal.groups for one in group[1:]]
    if at == len(pairs):
        yield known
        return
    for unifier in unifiers(*pairs[at], known):
        yield from _unified(equal, unifier, at + 1)


def _operands(args: Sequence[Pattern], equal: Equal) -> list[Pattern]:
    """The operands of a nest, without what only sequences share."""
    found: list[Pattern] = []
    for arg in args:
        value = equal.runs.get(arg.name, ()) if isinstance(arg, SeqVar) else (arg,)
        found += [a for a in value if not isinstance(a, SeqVar)]
    return found


def _together(inner: App, equal: Equal, unifier: Unifier) -> Iterator[Met]:
    """The nest in which the two operands of a rule stand together."""
    of = inner.definition
    before = _operands([SeqVar("~before")], equal)
    after = _operands([SeqVar("~after")], equal)
    if not before and not after:
        yield inner, (), unifier
    elif not before or of.commutative:
        yield App(of, (inner, grouped(of, [*before, *after]))), (0,), unifier
    elif not after:
        yield App(of, (grouped(of, before), inner)), (1,), unifier
    else:
        yield App(of, (grouped(of, before), grouped(of, [inner, *after]))), (1, *_deep(after)), unifier


def _whole(inner: App, row: Sequence[Pattern]) -> App:
    found = grouped(inner.definition, row)
    assert isinstance(found, App)
    return found


def _deep(after: Sequence[Pattern]) -> tuple[int, ...]:
    """The place of the first of some operands that are grouped from the left."""
    return (0,) * len(after)
