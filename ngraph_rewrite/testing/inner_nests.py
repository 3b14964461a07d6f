# SPDX-License-Identifier: Apache-2.0
"""Operands that were a nest of their own: rewritten before they are put among others, or after it.

Modulo associativity ``u(a, b, c)`` is ``u(a, u(b, c))``, and its inner nest is a place of its own. A term has its
operands in one list, so a rule finds the inner nest only before it is an operand: where a rule makes a nest of what is
an operand, or puts what a variable stands for into a nest. Where no rule does, the whole nest is the only place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations

from ngraph_rewrite.rewriting.conditional import normalised
from ngraph_rewrite.rewriting.equation import Equation
from ngraph_rewrite.rewriting.flattening import flattened, nest
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import App, Build, Computed, SeqVar, Spread, Template, Var, subtemplates
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.rewriting.variable_sorts import Sorted, sorted_variables
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

# The operands before a part of a nest, those in it, and those after it.
Part = tuple[tuple[Op, ...], tuple[Op, ...], tuple[Op, ...]]


def nested_in_steps(rules: Iterable[Rule], nests: Iterable[OpDef]) -> set[OpDef]:
    """The operations of whose nests one may become an operand of another one by a step of these rules.

    Args:
        nests: The associative operations to look at.
    """
    return {of for rule in rules for of in nests if _nests_one(rule, of)}


def _nests_one(rule: Rule, of: OpDef) -> bool:
    kinds = sorted_variables(flattened(rule.left))
    right = rule.right[0]
    lets = [c.template for c in rule.clauses if isinstance(c, Let)]
    templates = [t for t in (right, *lets, *(s for c in rule.conditions for s in normalised(c))) if t is not None]
    inside = (p for t in templates for p in subtemplates(t) if isinstance(p, Build) and p.definition is of)
    if any(_may_be(arg, of, kinds) for part in inside for arg in part.args):
        return True
    return right is not None and rule.left.definition is not of and _may_be(right, of, kinds)


def _may_be(template: Template, of: OpDef, kinds: Mapping[str, Sorted]) -> bool:
    """Whether a template may be a nest that is not in normal form: what clauses and conditions bind is."""
    while isinstance(template, Spread):
        template = template.template
    if isinstance(template, Build):
        return template.definition is of
    if isinstance(template, Var):
        return template.name in kinds and kinds[template.name].admits(of)
    return isinstance(template, Computed)


def lifted(equation: Equation) -> Equation | None:
    """The equation for an inner nest, with what else stands in the outer one; None if it is so already.

    A rule that takes all operands of a nest finds others beside them once that nest is put into another one.
    """
    of, right = equation.left.definition, equation.right
    if not is_flat(of) or equation.beside or right is None:
        return None
    before, after = [] if of.commutative else [SeqVar("beside~")], [SeqVar("beside~~")]
    left = flattened(App(of, (*before, *equation.left.args, *after)))
    assert isinstance(left, App)
    return replace(equation, left=left, right=nest(of, (*before, right, *after)))


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
