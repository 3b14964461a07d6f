# SPDX-License-Identifier: Apache-2.0
"""The ways in which a rule comes to fire: each part of an ``or`` of its guard, each side of a condition.

What is drawn at random mostly goes one way. A rule with a narrower guard draws what goes another.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.expression_checks import check_expression
from ngraph_rewrite.rewriting.guard_parts import conjuncts
from ngraph_rewrite.rewriting.pattern import App, Build, Pattern, Pick, Var, subtemplates
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.rewriting.syntax import walk

# So many ways are told apart.
MOST = 8


def alternatives(rule: Rule) -> tuple[Rule, ...]:
    """The rule with a narrower guard, for each way in which it comes to fire; none if there is only one.

    Of the parts of an ``or``, each is the first to be true in one of them. Where a condition is asked outside of the
    guard, it is true in one and false in another. A guard may fail that the rule's own would not come to ask.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "transpose(x, perm=p) => x\\n    if x.rank < 2 or is_identity(p)"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> [str(one.guard) for one in alternatives(rule)]
    ['x.rank < 2', 'not x.rank < 2 and is_identity(p)']
    """
    guard = rule.guard.tree if rule.guard is not None else None
    ways = [] if guard is None else list(itertools.islice(_ways(guard), MOST))
    found = ways if len(ways) > 1 else []
    for test in _conditions(rule):
        found += [[*([guard] if guard is not None else []), one] for one in (test, _not(test))]
    return tuple(replace(rule, guard=_all(parts)) for parts in found[:MOST])


def wants_nothing(rule: Rule) -> bool:
    """Whether the guard says that the value has no element, or that a variable has none that lends one to each of its.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule r: -x => x\\n    if x.rank > 1 and 0 in self.shape", "my.rules", "my")
    >>> wants_nothing(rule)
    True
    """
    empty = {name for c in conjuncts(rule) for name in _without_elements(c.expression.tree)}
    return not empty.isdisjoint({"self", *_spread(rule.left)})


def takes_nothing(rule: Rule) -> bool:
    """Whether the guard says that something of the left side has no element, such as what is summed over.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "sum(x, axes=k) => 0\\n    if 0 in pick(x.shape, k)"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> takes_nothing(rule)
    True
    """
    texts = [str(c.expression) for c in conjuncts(rule)]
    return any(text.startswith("0 in ") or text.endswith(" == 0") for text in texts)


def _without_elements(tree: ast.expr) -> Iterator[str]:
    """The names of terms that have no element where this part of a guard holds."""
    match tree:
        case (
            ast.Compare(ast.Constant(0), [ast.In()], [ast.Attribute(ast.Name(name), "shape" | "axes")])
            | ast.Compare(ast.Attribute(ast.Name(name), "size"), [ast.Eq()], [ast.Constant(0)])
            | ast.Compare(ast.Subscript(ast.Attribute(ast.Name(name), "shape")), [ast.Eq()], [ast.Constant(0)])
        ):
            yield name
        case ast.Compare(ast.Attribute(ast.Name(name), "shape"), [ast.Eq()], [ast.Tuple(lengths)]):
            if any(isinstance(n, ast.Constant) and n.value == 0 for n in lengths):
                yield name


def _spread(pattern: Pattern) -> Iterator[str]:
    """The variables that lend an element to each element of the value: if they have none, it has none."""
    if isinstance(pattern, Var):
        yield pattern.name
    elif isinstance(pattern, App) and not pattern.definition.traits.isdisjoint({"elementwise", "comparison", "view"}):
        for arg in pattern.args:
            yield from _spread(arg)


def _ways(tree: ast.expr) -> Iterator[list[ast.expr]]:
    """What must hold for `tree` to hold in each of the ways there are, in the order in which it is asked."""
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.Or):
        for i, part in enumerate(tree.values):
            yield from ([*map(_not, tree.values[:i]), *way] for way in _ways(part))
    elif isinstance(tree, ast.BoolOp):
        yield from _of_each(tree.values)
    elif isinstance(tree, ast.IfExp):
        yield from ([tree.test, *way] for way in _ways(tree.body))
        yield from ([_not(tree.test), *way] for way in _ways(tree.orelse))
    else:
        yield [tree]


def _of_each(parts: Sequence[ast.expr]) -> Iterator[list[ast.expr]]:
    """The ways of one part after the other, beside the others as they are."""
    many = [(i, ways) for i, part in enumerate(parts) if len(ways := list(_ways(part))) > 1]
    for i, ways in many:
        yield from ([*parts[:i], *way, *parts[i + 1 :]] for way in ways)
    if not many:
        yield list(parts)


def _conditions(rule: Rule) -> Iterator[ast.expr]:
    """What is asked by the conditional expressions of the clauses and of the right side."""
    clauses = [c.expression for c in rule.clauses if isinstance(c, Where)]
    templates = [c.template for c in rule.clauses if not isinstance(c, Where)] + [t for t in rule.right if t]
    inside = [e for t in templates for part in subtemplates(t) for e in _expressions(part)]
    for expression in dict.fromkeys([*clauses, *inside]):
        yield from (node.test for node in walk(expression.tree) if isinstance(node, ast.IfExp))


def _expressions(part: object) -> list[Expression]:
    if isinstance(part, Build):
        return [e for _, e in part.attributes]
    return [part.index] if isinstance(part, Pick) else []


def _not(tree: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), tree)


def _all(parts: Sequence[ast.expr]) -> Expression:
    text = ast.unparse(parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), list(parts)))
    return check_expression(ast.parse(text, mode="eval").body)
