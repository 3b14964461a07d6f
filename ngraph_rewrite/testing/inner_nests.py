# SPDX-License-Identifier: Apache-2.0
"""Operands that were a nest of their own: rewritten before they are put among others, or after it.

Modulo associativity ``u(a, b, c)`` is ``u(a, u(b, c))``, and its inner nest is a place of its own. A term has its
operands in one list, so a rule finds the inner nest only before it is an operand: where a rule makes a nest of what is
an operand, or puts what a variable stands for into a nest. Where no rule does, the whole nest is the only place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from ngraph_rewrite.rewriting.conditional import normalised
from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.equation import Asked, Equation
from ngraph_rewrite.rewriting.flattening import flattened, nest
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.overlaps import renamed
from ngraph_rewrite.rewriting.pattern import App, Build, Computed, Pattern, SeqVar, Spread, Template, Var, subtemplates
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.rewriting.search import matches
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import Unifier, resolved
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

# The number of the first name that is made here: others are made from 0, and from 1000 on.
MADE = 2000
# The operands before a part of a nest, those in it, and those after it.
Part = tuple[tuple[Op, ...], tuple[Op, ...], tuple[Op, ...]]


class Put(NamedTuple):
    """A nest that becomes an operand.

    Attributes:
        inner: What it is; None if it may be any.
        beside: Operations that no rule rewrites, of each of which an operand then stands beside it.
    """

    inner: App | None
    beside: frozenset[OpDef]


# By the operation of the nest.
Nests = Mapping[OpDef, list[Put]]


def nests_put_into_others(rules: Iterable[Rule]) -> Nests:
    """The nests that become operands of nests of the same operation by a step of these rules."""
    rules = list(rules)
    flat = dict.fromkeys(r.left.definition for r in rules if is_flat(r.left.definition))
    rewritten = {r.left.definition for r in rules}
    found = {of: list(dict.fromkeys(one for rule in rules for one in _of_rule(rule, of, rewritten))) for of in flat}
    return {of: some for of, some in found.items() if some}


def _of_rule(rule: Rule, of: OpDef, rewritten: Set[OpDef]) -> Iterator[Put]:
    kinds, right = sorted_variables(flattened(rule.left)), rule.right[0]
    lets = [c.template for c in rule.clauses if isinstance(c, Let)]
    templates = [t for t in (right, *lets, *(s for c in rule.conditions for s in normalised(c))) if t is not None]
    built = (p for t in templates for p in subtemplates(t) if isinstance(p, Build) and p.definition is of)
    put: list[tuple[Template, Iterable[Template]]] = [(arg, part.args) for part in built for arg in part.args]
    if right is not None and rule.left.definition is not of:
        put.append((right, ()))
    for template, operands in put:
        others = (t.definition for t in operands if isinstance(t, Build) and t is not template)
        beside = frozenset(other for other in others if other not in {of, *rewritten})
        yield from (Put(inner, beside) for inner in _as_nest(template, of, kinds))


def _as_nest(template: Template, of: OpDef, kinds: Mapping[str, Sorted]) -> Iterator[App | None]:
    """What nest a template may be that is not in normal form: what clauses and conditions bind is."""
    while isinstance(template, Spread):
        template = template.template
    if isinstance(template, Build) and template.definition is of:
        found = _pattern(template, of, kinds)
        yield flattened(found) if isinstance(found, App) else None  # type: ignore[misc]
    elif isinstance(template, Computed) or (isinstance(template, Var) and _may_be(template, of, kinds)):
        yield None


def _may_be(var: Var, of: OpDef, kinds: Mapping[str, Sorted]) -> bool:
    return var.name in kinds and kinds[var.name].admits(of)


def _pattern(template: Template, of: OpDef, kinds: Mapping[str, Sorted]) -> Pattern | None:
    """A template as a pattern, attributes aside; None if it says more than that."""
    if isinstance(template, Var):
        return SeqVar(template.name) if _may_be(template, of, kinds) or template.name not in kinds else template
    if isinstance(template, Spread):
        return SeqVar(template.template.name) if isinstance(template.template, Var) else None
    if not isinstance(template, Build):
        return None
    inside = [_pattern(arg, template.definition, kinds) for arg in template.args]
    args = tuple([arg for arg in inside if arg is not None])
    return App(template.definition, args) if len(args) == len(inside) else None


def lifted(equation: Equation, inner: App | None, limit: Limit) -> Iterator[Equation]:
    """The equation where it takes an inner nest, with what else stands in the outer one.

    Args:
        inner: What the inner nest is; None if it may be any.
        limit: How many steps unification may take.
    """
    if equation.right is None or (inner is None and equation.beside):  # then it is so already
        return
    if inner is None:
        yield _among_others(equation, equation.left, equation.right, equation.conditions)
        return
    made = renamed(inner)
    start = Unifier(kinds=sorted_variables(equation.left, made), count=MADE)
    for unifier in unifiers(equation.left, made, start, limit):
        left, right = (resolved(side, unifier) for side in (equation.left, equation.right))
        asked = tuple(
            [Asked(resolved(c.left, unifier), resolved(c.right, unifier), c.equal) for c in equation.conditions]
        )
        if isinstance(left, App) and left.definition is equation.left.definition:
            yield _among_others(equation, left, right, asked)


def _among_others(equation: Equation, left: App, right: Pattern, asked: tuple[Asked, ...]) -> Equation:
    of = left.definition
    before, after = [] if of.commutative else [SeqVar("beside~")], [SeqVar("beside~~")]
    whole = flattened(App(of, (*before, *left.args, *after)))
    assert isinstance(whole, App)
    return replace(equation, left=whole, right=nest(of, (*before, right, *after)), conditions=asked)


def parts(term: Op) -> Iterator[Part]:
    """The operands of a nest that may have been one of their own, few of them first: several, and not all."""
    args, commutative = term.args, term.definition.commutative
    for count in range(2, len(args)):
        if commutative:
            for taken in dict.fromkeys(combinations(args, count)):
                yield (), taken, tuple((Counter(args) - Counter(taken)).elements())
        else:
            for at in range(len(args) - count + 1):
                yield args[:at], args[at : at + count], args[at + count :]


def is_put_into_others(term: Op, beside: Iterable[Op], nests: Nests) -> bool:
    """Whether a nest is one of those that become operands, with these beside it."""
    there = {one.definition for one in beside}
    found = (put.inner for put in nests.get(term.definition, ()) if put.beside <= there)
    return any(p is None or next(matches(p, term, {}), None) is not None for p in found)
