# SPDX-License-Identifier: Apache-2.0
"""Attribute expressions with one thing wrong: an operator, a constant, an argument, a name, a bound."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.expression_checks import check_expression

# What is wrong, and the expression in which it is.
Broken = tuple[str, Expression]
_Variant = tuple[str, ast.expr]
# Names by what they stand for; in each group one may be taken for the next.
Groups = Sequence[Sequence[str]]

_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
}  # fmt: skip
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_AT_THE_EDGE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Eq: "==", ast.NotEq: "!=",
    ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">",
    ast.GtE: ">=",
}  # fmt: skip
# Names of dtypes: each taken for another of its kind.
_DTYPES = {"float64": "float32", "float32": "float64", "int64": "int32", "int32": "int64", "bool": "uint8"}


def read(text: str) -> Expression:
    """The expression that `text` is."""
    return check_expression(ast.parse(text, mode="eval").body)


def broken(expression: Expression, groups: Groups) -> Iterator[Broken]:
    """Every variant with one thing wrong.

    Args:
        groups: The names that stand for terms, and those that stand for attributes: each is taken for the next.

    >>> [f"{what}: {e}" for what, e in broken(read("inverse(p)[1]"), [["p", "q"]])]
    ['2 for 1: inverse(p)[2]', '0 for 1: inverse(p)[0]', 'q for p: inverse(q)[1]', 'inverse(...) dropped: p[1]']
    """
    for what, tree in _everywhere(expression.tree, groups):
        yield what, read(ast.unparse(tree))


def weakened(guard: Expression, groups: Groups) -> Iterator[tuple[str, Expression | None]]:
    """The guard without one of its conditions, or with one that lets other terms pass; what asks the target is left.

    A guard that only lets fewer terms pass makes no wrong rule, so there are none of these.
    """
    parts = guard.tree.values if isinstance(guard.tree, ast.BoolOp) and isinstance(guard.tree.op, ast.And) else []
    if "target" not in guard.names:
        yield "guard dropped", None
    for i, part in enumerate(parts):
        if not _asks_target(part):
            rest = [p for j, p in enumerate(parts) if j != i]
            yield f"condition {i + 1} dropped", read(" and ".join(f"({ast.unparse(p)})" for p in rest))
    for what, tree in _loosened(guard.tree, True, groups):
        yield what, read(ast.unparse(tree))


def _asks_target(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "target" for part in ast.walk(node))


# -- guards -----------------------------------------------------------------------------------------


def _loosened(node: ast.expr, positive: bool, groups: Groups) -> Iterator[_Variant]:
    """Variants of a condition; `positive` says that the more it holds, the more the rule fires."""
    if isinstance(node, ast.BoolOp):
        for i, part in enumerate(node.values):
            for what, new in _loosened(part, positive, groups):
                yield what, ast.BoolOp(node.op, [*node.values[:i], new, *node.values[i + 1 :]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", node.operand
        for what, new in _loosened(node.operand, not positive, groups):
            yield what, ast.UnaryOp(node.op, new)
    elif _asks_target(node):
        return
    elif isinstance(node, ast.Compare):
        yield from _compared(node, positive, groups)
    else:
        yield "not added", ast.UnaryOp(ast.Not(), node)
        yield from _everywhere(node, groups)


def _compared(node: ast.Compare, positive: bool, groups: Groups) -> Iterator[_Variant]:
    for i, op in enumerate(node.ops):
        looser = ast.Lt | ast.Gt if positive else ast.LtE | ast.GtE
        other = _NEGATED.get(type(op)) or (_AT_THE_EDGE[type(op)] if isinstance(op, looser) else None)
        if other is not None:
            ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
            yield f"{_SIGNS[other]} for {_SIGNS[type(op)]}", ast.Compare(node.left, ops, node.comparators)
    yield from _inside(node, groups)


# -- everything else --------------------------------------------------------------------------------


def _everywhere(node: ast.expr, groups: Groups) -> Iterator[_Variant]:
    yield from _inside(node, groups)
    yield from _here(node, groups)


def _inside(node: ast.expr, groups: Groups) -> Iterator[_Variant]:
    """The node with a variant in the place of one of its parts."""
    for name, value in reversed([*ast.iter_fields(node)]):
        if isinstance(node, ast.Call) and name == "func":
            continue
        for i, part in enumerate(value if isinstance(value, list) else [value]):
            inner = part.value if isinstance(part, ast.keyword) else part
            if not isinstance(inner, ast.expr):
                continue
            for what, new in _everywhere(inner, groups):
                own: ast.expr | ast.keyword = ast.keyword(part.arg, new) if isinstance(part, ast.keyword) else new
                yield what, _with(node, name, [*value[:i], own, *value[i + 1 :]] if isinstance(value, list) else own)


def _with(node: ast.expr, field: str, value: object) -> ast.expr:
    copied = copy.copy(node)
    setattr(copied, field, value)
    return copied


def _here(node: ast.expr, groups: Groups) -> Iterator[_Variant]:
    """The variants of the node itself."""
    if isinstance(node, ast.Constant):
        yield from ((f"{new!r} for {node.value!r}", ast.Constant(new)) for new in _constants(node.value))
    elif isinstance(node, ast.Name):
        yield from ((f"{new} for {node.id}", ast.Name(new)) for new in next_to(node.id, groups))
    elif isinstance(node, ast.BinOp):
        other = _ARITHMETIC[type(node.op)]
        yield f"{_SIGNS[other]} for {_SIGNS[type(node.op)]}", ast.BinOp(node.left, other(), node.right)
        yield f"what stands right of {_SIGNS[type(node.op)]} dropped", node.left
    elif isinstance(node, ast.UnaryOp):
        yield "a sign dropped" if isinstance(node.op, ast.USub) else "not dropped", node.operand
    elif isinstance(node, ast.IfExp):
        yield "branches exchanged", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Call):
        yield from _called(node)
    elif isinstance(node, ast.Tuple) and len(node.elts) > 1:
        if ast.unparse(node.elts[0]) != ast.unparse(node.elts[-1]):
            yield "a tuple reversed", ast.Tuple(node.elts[::-1])
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield "a slice dropped", node.value


def _constants(value: object) -> list[bool | int | float | str]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * 1.001 if value else 0.001]
    return [_DTYPES[value]] if isinstance(value, str) and value in _DTYPES else []


def next_to(name: str, groups: Groups) -> list[str]:
    """The name that is taken for `name`: the next one of its group, if there is another."""
    for group in groups:
        if name in group and len(group) > 1:
            return [group[(group.index(name) + 1) % len(group)]]
    return []


def _called(node: ast.Call) -> Iterator[_Variant]:
    assert isinstance(node.func, ast.Name)
    name, args = node.func.id, node.args
    if args:
        yield f"{name}(...) dropped", args[0]
    for i in range(len(args) - 1):
        if ast.unparse(args[i]) != ast.unparse(args[i + 1]):
            exchanged = [*args[:i], args[i + 1], args[i], *args[i + 2 :]]
            yield f"arguments of {name} exchanged", ast.Call(node.func, exchanged, node.keywords)
