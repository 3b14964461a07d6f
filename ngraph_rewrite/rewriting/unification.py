# SPDX-License-Identifier: Apache-2.0
"""Unification: what variables must stand for to make two patterns equal, in the most general way.

Operands of a commutative op unify in either order, so there may be several ways. Nests of an operation of a signature
unify by their operands (`operand_equations`), and one that may have a single operand, or none, as what it is then; a
variable that is an operand stands for nothing else. Attributes are compared as far as patterns say what they are, and
a number unifies with a ``constant(...)``; sorts are asked, types and guards are not. See Baader and Nipkow, *Term
Rewriting and All That* (1998), chapters 4 and 10, and for several theories together Fages (1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from ngraph_rewrite.rewriting.attribute_unification import Said, equated, filled, said
from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.flattening import identity_of, is_identity_of, operands_of
from ngraph_rewrite.rewriting.nests import has_identity, is_flat
from ngraph_rewrite.rewriting.operand_equations import equal_lists, equal_multisets
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.unifier import Unifier, occurs, resolved, walked
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables
from ngraph_rewrite.terms.catalogue import OpDef

# How many steps are taken to find the ways in which two patterns are equal.
STEPS = 20_000


def unifiers(
    left: Pattern, right: Pattern, given: Unifier | None = None, limit: Limit | None = None
) -> Iterator[Unifier]:
    """What makes two patterns equal: a set of which any such substitution is an instance.

    Sequence variables may stand in nests of operations of signatures only.

    Args:
        limit: How many steps may be taken; if it is met, some ways may be missing.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules("simplify semi\\nrule a: exp(x) + y => y\\nrule b: u + exp(v) => u\\n", "r.rules", "r")
    >>> for unifier in unifiers(a.left, b.left):
    ...     print({name: str(pattern) for name, pattern in unifier.terms.items()})
    {'u': 'exp(x)', 'y': 'exp(v)'}
    {'x': 'v', 'y': 'u'}
    """
    known = given or Unifier(kinds=sorted_variables(left, right))
    limit = limit or Limit(STEPS)
    return (u for u in _unified(left, right, known, limit) if _is_kept(u))


def _unified(left: Pattern, right: Pattern, known: Unifier, limit: Limit) -> Iterator[Unifier]:
    left, right = walked(left, known), walked(right, known)
    if not limit.spend():
        return
    if isinstance(left, Var) and isinstance(right, Var) and left.name == right.name:
        yield known
    elif isinstance(left, Var):
        yield from _bound(left, right, known, limit)
    elif isinstance(right, Var) or isinstance(right, Num) > isinstance(left, Num):
        yield from _unified(right, left, known, limit)
    elif isinstance(left, Num):
        names = filled(left, right, known.names)
        if names is not None:
            yield replace(known, names=names)
    elif isinstance(left, App) and isinstance(right, App):
        if left.definition is right.definition:
            yield from _applications(left, right, known, limit)
        else:
            yield from _collapsed(left, right, known, limit)
            yield from _collapsed(right, left, known, limit)


# -- variables --------------------------------------------------------------------------------------------


def _bound(var: Var, pattern: Pattern, known: Unifier, limit: Limit) -> Iterator[Unifier]:
    """What lets a variable stand for a pattern."""
    kind = known.kinds.get(var.name)
    if isinstance(pattern, Var):
        yield from _one(var, pattern, known)
    elif kind is None or not isinstance(pattern, App) or kind.admits(pattern.definition):
        if not occurs(var.name, pattern, known):
            yield replace(known, terms={**known.terms, var.name: pattern})
        elif isinstance(pattern, App):  # which may still be what is left of it
            yield from _collapsed(pattern, var, known, limit)
    else:
        yield from _collapsed(pattern, var, known, limit)


def _one(var: Var, other: Var, known: Unifier) -> Iterator[Unifier]:
    """Two variables that stand for one term: of the sort that fits both, an operand of the nests of either."""
    kind, its = known.kinds.get(var.name), known.kinds.get(other.name)
    if kind is None or its is None:
        yield replace(known, terms={**known.terms, var.name: other})
        return
    for both in kind.both(its):
        if both.sort == its.sort:
            kinds = {**known.kinds, other.name: both}
            yield replace(known, terms={**known.terms, var.name: other}, kinds=kinds)
        elif both.sort == kind.sort:
            kinds = {**known.kinds, var.name: both}
            yield replace(known, terms={**known.terms, other.name: var}, kinds=kinds)
        else:
            new = Var(f"~{known.count}")
            terms = {**known.terms, var.name: new, other.name: new}
            yield replace(known, terms=terms, kinds={**known.kinds, new.name: both}, count=known.count + 1)


def _is_kept(unifier: Unifier) -> bool:
    """Whether each variable that is an operand stands for one."""
    for name, kind in unifier.kinds.items():
        if kind.operand_of and name in unifier.terms:
            value = resolved(Var(name), unifier)
            if isinstance(value, App) and not kind.admits(value.definition):
                return False
    return True


# -- operations -------------------------------------------------------------------------------------------


def _applications(left: App, right: App, known: Unifier, limit: Limit) -> Iterator[Unifier]:
    names: dict[str, Said] | None = known.names
    theirs = said(right)
    for attribute, value in said(left).items():
        for other in theirs.get(attribute, ()):
            for own in value:
                names = None if names is None else equated(own, other, names)
    if names is not None and is_flat(left.definition):
        mine, others = (operands_of(left.definition, resolved(side, known)) for side in (left, right))
        yield from _nests(left.definition, mine, others, known, limit)
    if names is None or len(left.args) != len(right.args) or is_flat(left.definition):
        return
    orders = permutations(right.args) if left.definition.commutative else [right.args]
    for args in orders:
        yield from _all(left.args, tuple(args), replace(known, names=names), limit)


def _all(left: Sequence[Pattern], right: Sequence[Pattern], known: Unifier, limit: Limit) -> Iterator[Unifier]:
    if not left:
        yield known
        return
    for unifier in _unified(left[0], right[0], known, limit):
        yield from _all(left[1:], right[1:], unifier, limit)


def _collapsed(pattern: App, other: Pattern, known: Unifier, limit: Limit) -> Iterator[Unifier]:
    """The ways in which a nest has one operand, which is the other pattern, or none where that is the identity."""
    if not is_flat(pattern.definition) or not has_identity(pattern):
        return
    own = operands_of(pattern.definition, resolved(pattern, known))
    if not is_identity_of(other, pattern.definition):
        yield from _nests(pattern.definition, own, [resolved(other, known)], known, limit)
    if own is not None and all(isinstance(a, SeqVar) for a in own):
        for unifier in _nests(pattern.definition, own, [], known, limit):
            yield from _unified(identity_of(pattern.definition), other, unifier, limit)


def _nests(
    definition: OpDef, left: Sequence[Pattern], right: Sequence[Pattern], known: Unifier, limit: Limit
) -> Iterator[Unifier]:
    """What makes the operands of two nests the same."""
    if definition.commutative:
        left, right = _without(left, right), _without(right, left)
    solve = equal_multisets if definition.commutative else equal_lists
    made = _Made(known.count)
    for equal in solve(left, right, made, limit):
        known_ = replace(known, count=made.count)
        pairs = [(group[0], one) for group in equal.groups for one in group[1:]]
        for unifier in _all([a for a, _ in pairs], [b for _, b in pairs], known_, limit):
            yield from _runs(definition, [*equal.runs.items()], unifier, limit)


class _Made:
    """Makes sequence variables that stand nowhere yet."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self) -> SeqVar:
        self.count += 1
        return SeqVar(f"~{self.count - 1}")


def _without(patterns: Sequence[Pattern], others: Sequence[Pattern]) -> list[Pattern]:
    left = list(patterns)
    for other in others:
        if other in left:
            left.remove(other)
    return left


def _runs(
    definition: OpDef, runs: Sequence[tuple[str, tuple[Pattern, ...]]], known: Unifier, limit: Limit
) -> Iterator[Unifier]:
    """What lets sequence variables stand for these operands."""
    if not runs:
        yield known
        return
    name, value = runs[0]
    known_value = _resolved_run(definition, value, known)
    if name in known.runs:
        own = _resolved_run(definition, known.runs[name], known)
        found = _nests(definition, own, known_value, known, limit)
    elif SeqVar(name) in known_value:
        found = _nests(definition, [SeqVar(name)], known_value, known, limit)
    elif any(occurs(name, a, known) for a in known_value):
        return
    else:
        bound = replace(known, runs={**known.runs, name: tuple(known_value)})
        found = _of_its_sort(known.kinds.get(name), known_value, bound, limit)
    for unifier in found:
        yield from _runs(definition, runs[1:], unifier, limit)


def _of_its_sort(kind: Sorted | None, value: Sequence[Pattern], known: Unifier, limit: Limit) -> Iterator[Unifier]:
    """What makes each operand of a sequence one of its sort."""
    if kind is None or not value or all(_fits(a, kind, known) for a in value):
        yield known
        return
    first = value[0]
    if isinstance(first, SeqVar):
        now = replace(known, kinds={**known.kinds, first.name: kind})
        yield from _of_its_sort(kind, value[1:], now, limit)
        return
    one = Var(f"~{known.count}")
    now = replace(known, kinds={**known.kinds, one.name: kind}, count=known.count + 1)
    for unifier in _unified(one, first, now, limit):
        yield from _of_its_sort(kind, value[1:], unifier, limit)


def _fits(pattern: Pattern, kind: Sorted, known: Unifier) -> bool:
    """Whether a pattern stands for operands of a sort only."""
    if isinstance(pattern, App):
        return pattern.definition.profile is not None and pattern.definition.profile.result.fits(kind.sort)
    its = known.kinds.get(pattern.name) if isinstance(pattern, Var | SeqVar) else None
    (of,) = kind.operand_of or (None,)
    whole = of is None or of.profile is None or of.profile.sort_at(0) == kind.sort
    return whole if its is None else its.sort.fits(kind.sort)


def _resolved_run(definition: OpDef, run: Sequence[Pattern], known: Unifier) -> Sequence[Pattern]:
    return operands_of(definition, resolved(App(definition, tuple(run)), known))
