# SPDX-License-Identifier: Apache-2.0
"""The parts of a guard that read only what stands in the matched term become tests of the decision tree.

There they are asked once for all rows that ask them. A part that cannot fail may be asked as soon as what it reads is
known; any other, such as ``p[0] == 1``, may rely on the ops and the parts before it, and is asked after them. Parts
that read a clause or the target, and all that may rely on such a part, stay in the rule's own function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ngraph_rewrite.rewriting.expression import Expression, conjoined, expression_of
from ngraph_rewrite.rewriting.expression_source import as_source
from ngraph_rewrite.rewriting.hoisting import direct
from ngraph_rewrite.rewriting.nests import is_searched
from ngraph_rewrite.rewriting.pattern import App, Var, attribute_names, variables
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.slots import Slot, slot_source

# Arguments, and values, of ops with one of these traits are no tuples: they have a dtype and axes.
_OF_TENSORS = frozenset({"elementwise", "comparison", "reduction", "view"})
_CERTAIN_CALLS = frozenset({"is_float", "is_unsigned"})


@dataclass(frozen=True)
class Part:
    """A part of a guard.

    Attributes:
        certain: Whether asking it cannot fail, wherever the terms it reads stand.
    """

    expression: Expression
    certain: bool


def parts(rule: Rule) -> tuple[list[Part], Expression | None]:
    """The parts of a guard that a tree may ask, and the rest of it.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> guard = "p[0] == 1 and target.name == 'cpu' and p[1] == 0 and x.dtype == 'bool'"
    >>> text = f"simplify semi\\nrule r: transpose(exp(x), perm=p) => exp(x)\\n    if {guard}\\n"
    >>> rule, = parse_rules(text, "r.rules", "r")
    >>> found, rest = parts(rule)
    >>> [(str(part.expression), part.certain) for part in found], str(rest)
    ([('p[0] == 1', False), ("x.dtype == 'bool'", True)], "target.name == 'cpu' and p[1] == 0")
    """
    if rule.guard is None or is_searched(rule.left):  # what is searched for stands at no fixed place
        return [], rule.guard
    known = {"self", *variables(rule.left), *attribute_names(rule.left)}
    found: list[Part] = []
    rest: list[ast.expr] = []
    for tree in conjoined(rule.guard.tree):
        expression = expression_of(tree)
        certain = _is_certain(tree, _tensors(rule.left))
        if known.issuperset(expression.names) and (certain or not rest):
            found.append(Part(expression, certain))
        else:
            rest.append(tree)
    if not found:
        return [], rule.guard
    return found, expression_of(rest[0] if len(rest) == 1 else ast.BoolOp(ast.And(), rest)) if rest else None


def with_rest(rule: Rule) -> Rule:
    """The rule with what its tree leaves of its guard."""
    found, rest = parts(rule)
    return replace(rule, guard=rest) if found else rule


def asked(expression: Expression, slots: Mapping[str, Slot]) -> tuple[str, bool]:
    """A part of a guard as generated code asks it, and whether it must be true.

    What is asked is the same for all rows that ask the same of the same places, or its opposite.
    """
    text = as_source(expression, {n: slot_source(slots[n]) for n in expression.names if n != "self"})
    tree, wanted = without_not(direct(text, ["self"]))
    return ast.unparse(tree), wanted


def without_not(tree: ast.expr) -> tuple[ast.expr, bool]:
    """What is asked, and whether it must be true.

    >>> texts = "not f(x)", "x != 1", "not a == b", "a == b == c"
    >>> found = [without_not(ast.parse(text, mode="eval").body) for text in texts]
    >>> [(ast.unparse(tree), wanted) for tree, wanted in found]
    [('f(x)', False), ('x == 1', False), ('a == b', False), ('a == b == c', True)]
    """
    wanted = True
    while isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        tree, wanted = tree.operand, not wanted
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.NotEq):
        tree, wanted = ast.Compare(tree.left, [ast.Eq()], tree.comparators), not wanted
    return tree, wanted


def _tensors(left: App) -> frozenset[str]:
    """The names of terms that are tensors, whatever the left side matches."""
    own = _OF_TENSORS & left.definition.traits
    return frozenset(["self"] if own else []) | frozenset(_operands(left))


def _operands(pattern: App) -> Iterator[str]:
    for arg in pattern.args:
        if isinstance(arg, App):
            yield from _operands(arg)
        elif isinstance(arg, Var) and _OF_TENSORS & pattern.definition.traits:
            yield arg.name


def _is_certain(tree: ast.expr, tensors: frozenset[str]) -> bool:
    """Whether an expression has a value and no error, if these names stand for tensors."""
    if isinstance(tree, ast.BoolOp):
        return all(_is_certain(value, tensors) for value in tree.values)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
        return _is_certain(tree.operand, tensors)
    if isinstance(tree, ast.Call):
        named = isinstance(tree.func, ast.Name) and tree.func.id in _CERTAIN_CALLS and not tree.keywords
        return named and all(_property(arg, tensors) == "dtype" for arg in tree.args) and len(tree.args) == 1
    if isinstance(tree, ast.Compare):
        return _is_certain_comparison(tree, tensors)
    return False


def _is_certain_comparison(tree: ast.Compare, tensors: frozenset[str]) -> bool:
    sides = [tree.left, *tree.comparators]
    kinds = [_property(side, tensors) for side in sides]
    if all(isinstance(op, ast.Eq | ast.NotEq) for op in tree.ops):
        return all(kinds)
    return all(kind in ("rank", "number") for kind in kinds) and not any(
        isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in tree.ops
    )


def _property(tree: ast.expr, tensors: frozenset[str]) -> str | None:
    """Which property of a tensor this is, or that it is a constant; None for anything else."""
    if isinstance(tree, ast.Constant):
        return "number" if isinstance(tree.value, int) else "constant"
    if isinstance(tree, ast.Tuple):
        return "constant" if all(isinstance(e, ast.Constant) for e in tree.elts) else None
    named = isinstance(tree, ast.Attribute) and isinstance(tree.value, ast.Name) and tree.value.id in tensors
    return tree.attr if named and tree.attr in ("dtype", "rank", "shape", "type") else None  # type: ignore[attr-defined]
