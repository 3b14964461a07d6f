# SPDX-License-Identifier: Apache-2.0
"""Critical pairs of rules of a signature: the most general terms that two rules take, and what each makes of them.

If all of them join, any two ways to rewrite a term do. Modulo laws that is so with rules that take their operands
among others, as `extension` makes them; what stands beside the operands of both rules may then be left out. A variable
that is one operand of a nest adds pairs of its own: it may stand for a term that another rule makes a nest, or the
identity, and then the rule does not match any more.

See Knuth and Bendix (1970), Peterson and Stickel, *Complete sets of reductions for some equational theories* (1981),
and for conditions Dershowitz, Okada and Sivakumar, *Confluence of conditional rewrite systems* (1988).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.equation import Asked, Equation
from ngraph_rewrite.rewriting.flattening import operands_of
from ngraph_rewrite.rewriting.lengthening import lengthened
from ngraph_rewrite.rewriting.overlaps import Position, positions, subpattern
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import Unifier, resolved
from ngraph_rewrite.rewriting.unsteady import unsteady
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables
from ngraph_rewrite.terms.catalogue import OpDef


@dataclass(frozen=True)
class CriticalPair:
    """A pattern that two rules take, and what they make of it.

    Attributes:
        results: What is made of it: by the outer rule, and by the inner one further inside; None if no pattern says it.
        kinds: What its variables may stand for.
        assumed: The conditions of both rules.
        at_root: Whether both rules take the whole.
    """

    outer: Equation
    inner: Equation
    peak: App
    results: tuple[Pattern | None, Pattern | None]
    kinds: Mapping[str, Sorted]
    assumed: tuple[Asked, ...]
    at_root: bool


def critical_pairs(outer: Equation, inner: Equation, closed: bool, limit: Limit) -> Iterator[CriticalPair]:
    """The critical pairs in which one rule takes a whole term, and another one, or the same, a part of it.

    Args:
        closed: Whether every rule that takes nests takes their operands among others.
        limit: How many steps unification may take; if it is met, there may be more pairs.
    """
    inner = inner.renamed()
    seen: set[tuple[Pattern, ...]] = set()
    for position, part in positions(outer.left):
        if part.definition is inner.left.definition and not _frozen(outer.left, position):
            for pair in _at(outer, inner, position, closed, limit):
                key = pair.peak, *[p for p in pair.results if p is not None]
                if pair.results[0] is None or pair.results[0] != pair.results[1]:
                    if key not in seen:
                        seen.add(key)
                        yield pair
    yield from _in_operands(outer, inner, limit)


def _at(outer: Equation, inner: Equation, position: Position, closed: bool, limit: Limit) -> Iterator[CriticalPair]:
    part = subpattern(outer.left, position)
    kinds = sorted_variables(outer.left, inner.left)
    for start in lengthened([(outer.left, not position), (inner.left, True)], kinds):
        for unifier in unifiers(part, inner.left, start, limit):
            pair = _pair(outer, inner, position, unifier)
            if pair is not None:
                yield _without_rest(pair, unifier) if closed and not position else pair


def _pair(outer: Equation, inner: Equation, position: Position, unifier: Unifier) -> CriticalPair | None:
    peak = resolved(outer.left, unifier)
    if not isinstance(peak, App):
        return None
    first = None if outer.right is None else resolved(outer.right, unifier)
    inside = None if inner.right is None else _put(outer.left, position, inner.right)
    second = None if inside is None else resolved(inside, unifier)
    assumed = _assumed(outer, inner, unifier)
    return CriticalPair(outer, inner, peak, (first, second), _kinds(unifier, peak), assumed, not position)


def _assumed(outer: Equation, inner: Equation, unifier: Unifier) -> tuple[Asked, ...]:
    both = (*outer.conditions, *inner.conditions)
    return tuple([Asked(resolved(c.left, unifier), resolved(c.right, unifier), c.equal) for c in both])


def _kinds(unifier: Unifier, peak: Pattern) -> Mapping[str, Sorted]:
    """What the variables of a pattern may stand for: those that were made on the way too."""
    return {**sorted_variables(peak), **unifier.kinds}


def _put(pattern: Pattern, position: Position, part: Pattern) -> Pattern:
    if not position:
        return part
    assert isinstance(pattern, App)
    at = position[0]
    return replace(
        pattern, args=(*pattern.args[:at], _put(pattern.args[at], position[1:], part), *pattern.args[at + 1 :])
    )


def _frozen(pattern: App, position: Position) -> bool:
    """Whether a place is inside of an argument that is never rewritten where it stands."""
    at: Pattern = pattern
    for i in position:
        assert isinstance(at, App)
        if at.definition.profile is not None and i in at.definition.profile.frozen:
            return True
        at = at.args[i]
    return False


# -- what stands beside operands ----------------------------------------------------------------------------


def _without_rest(pair: CriticalPair, unifier: Unifier) -> CriticalPair:
    """The pair without what stands beside the operands of both rules: it joins with it if it joins without."""
    if not pair.outer.beside or not pair.inner.beside or None in pair.results:
        return pair
    of = pair.peak.definition
    sides = [pair.peak, *(p for p in pair.results if p is not None)]
    asked = [side for a in pair.assumed for side in (a.left, a.right)]
    ends = pair.peak.args if of.commutative else (*pair.peak.args[:1], *pair.peak.args[-1:])
    dropped = {
        a.name: ()
        for a in ends
        if isinstance(a, SeqVar)
        and all(_times(a, side) == 1 and a in operands_of(of, side) for side in sides)
        and (of.commutative or all(_same_end(of, a, ends, side) for side in sides))
        and not any(_times(a, side) for side in asked)
    }
    small = Unifier(runs=dict(dropped))
    peak, first, second = (resolved(side, small) for side in sides)
    if not isinstance(peak, App) or peak.definition is not of:
        return pair
    return replace(pair, peak=peak, results=(first, second))


def _same_end(of: OpDef, run: SeqVar, ends: Sequence[Pattern], side: Pattern) -> bool:
    """Whether a sequence stands at the end of a list at which it stands in the peak."""
    own = operands_of(of, side)
    return own[0] == run if ends[0] == run else own[-1] == run


def _times(run: SeqVar, pattern: Pattern) -> int:
    return sum(part == run for part in subpatterns(pattern))


# -- variables that are operands ----------------------------------------------------------------------------


def _in_operands(outer: Equation, inner: Equation, limit: Limit) -> Iterator[CriticalPair]:
    """The pairs in which a variable that is one operand stands for what a rule makes something else."""
    for name, kind in outer.kinds.items():
        if not kind.operand_of or Var(name) not in subpatterns(outer.left):
            continue
        for one in unsteady(kind, inner, limit):
            kinds = sorted_variables(outer.left, one.value)
            for start in lengthened([(outer.left, True), (one.redex, True)], kinds):
                for unifier in unifiers(Var(name), one.value, start, limit):
                    yield from _replaced(outer, inner, name, one.after, unifier)


def _replaced(
    outer: Equation, inner: Equation, name: str, after: Pattern | None, unifier: Unifier
) -> Iterator[CriticalPair]:
    """The pairs in which the rule is used at one of the places of a variable."""
    peak = resolved(outer.left, unifier)
    if not isinstance(peak, App):
        return
    first = None if outer.right is None else resolved(outer.right, unifier)
    assumed = _assumed(outer, inner, unifier)
    for position in _places(outer.left, name):
        second = None if after is None else resolved(_put(outer.left, position, after), unifier)
        if not _frozen(outer.left, position):
            yield CriticalPair(outer, inner, peak, (first, second), _kinds(unifier, peak), assumed, False)


def _places(pattern: Pattern, name: str) -> Iterator[Position]:
    if isinstance(pattern, Var) and pattern.name == name:
        yield ()
    for i, arg in enumerate(pattern.args) if isinstance(pattern, App) else ():
        yield from ((i, *place) for place in _places(arg, name))
