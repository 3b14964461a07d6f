# SPDX-License-Identifier: Apache-2.0
"""What an attribute expression means: a Python function for each of its parts, made once and called for each match."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ngraph_rewrite.rewriting.bounds import modulo, plus, times
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.registry import attribute_functions

# From what names stand for to the value of an expression.
Meaning = Callable[[Mapping[str, Any]], Any]
# More than there are expressions in all rules of the library.
REMEMBERED = 1 << 13

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: plus, ast.Sub: operator.sub, ast.Mult: times,
    ast.FloorDiv: operator.floordiv, ast.Mod: modulo, ast.USub: operator.neg, ast.Not: operator.not_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


def value_of(expression: Expression, names: Mapping[str, Any]) -> Any:
    """The value of an attribute expression where `names` are bound.

    >>> value_of(Expression.of_text("n * 2 < 5 and n", ("n",)), {"n": 2})
    2
    """
    return _remembered(expression)(names)


@lru_cache(REMEMBERED)
def _remembered(expression: Expression) -> Meaning:
    return _meaning(expression.tree)


def _meaning(node: ast.AST) -> Meaning:
    return _MEANINGS[type(node)](node)


def _constant(node: ast.Constant) -> Meaning:
    value = node.value
    return lambda names: value


def _attribute(node: ast.Attribute) -> Meaning:
    of, name = _meaning(node.value), node.attr
    return lambda names: getattr(of(names), name)


def _subscript(node: ast.Subscript) -> Meaning:
    of, index = _meaning(node.value), _meaning(node.slice)
    return lambda names: of(names)[index(names)]


def _slice(node: ast.Slice) -> Meaning:
    parts = [None if part is None else _meaning(part) for part in (node.lower, node.upper, node.step)]
    return lambda names: slice(*[part and part(names) for part in parts])


def _binary(node: ast.BinOp) -> Meaning:
    apply, left, right = _OPERATORS[type(node.op)], _meaning(node.left), _meaning(node.right)
    return lambda names: apply(left(names), right(names))


def _unary(node: ast.UnaryOp) -> Meaning:
    apply, operand = _OPERATORS[type(node.op)], _meaning(node.operand)
    return lambda names: apply(operand(names))


def _short_circuit(node: ast.BoolOp) -> Meaning:
    stops, (first, *rest) = isinstance(node.op, ast.Or), map(_meaning, node.values)

    def value(names: Mapping[str, Any]) -> Any:
        found = first(names)
        for part in rest:
            if bool(found) is stops:
                break
            found = part(names)
        return found

    return value


def _compare(node: ast.Compare) -> Meaning:
    """One comparison, as nearly all are, or a chain of them."""
    first, *rest = [(_OPERATORS[type(op)], _meaning(side)) for op, side in zip(node.ops, node.comparators, strict=True)]
    left, (apply, right) = _meaning(node.left), first
    if not rest:
        return lambda names: apply(left(names), right(names))

    def value(names: Mapping[str, Any]) -> Any:
        before, found = left(names), True
        for compare, side in (first, *rest):
            now = side(names)
            found = compare(before, now)
            if not found:
                break
            before = now
        return found

    return value


def _choice(node: ast.IfExp) -> Meaning:
    test, first, second = _meaning(node.test), _meaning(node.body), _meaning(node.orelse)
    return lambda names: first(names) if test(names) else second(names)


def _tuple(node: ast.Tuple) -> Meaning:
    parts = [_meaning(part) for part in node.elts]
    return lambda names: tuple([part(names) for part in parts])


def _call(node: ast.Call) -> Meaning:
    """A call of a function by its name: it is looked up each time, as it may be registered later."""
    assert isinstance(node.func, ast.Name)
    functions, name = attribute_functions(), node.func.id
    args = [_meaning(a) for a in node.args]
    keywords = {k.arg: _meaning(k.value) for k in node.keywords if k.arg is not None}
    if keywords:
        return lambda names: functions[name](*[a(names) for a in args], **{k: m(names) for k, m in keywords.items()})
    return lambda names: functions[name](*[a(names) for a in args])


_MEANINGS: dict[type[ast.AST], Callable[[Any], Meaning]] = {
    ast.Name: lambda node: operator.itemgetter(node.id),
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _short_circuit,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Tuple: _tuple,
    ast.Call: _call,
}
