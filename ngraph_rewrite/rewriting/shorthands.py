# SPDX-License-Identifier: Apache-2.0
"""A shorthand stands for its body: calls of it are replaced, as long as what comes of it stays small."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ngraph_rewrite.rewriting.bounds import DEPTH, PARTS, SHORTHANDS
from ngraph_rewrite.rewriting.expression_checks import Refused, check_size
from ngraph_rewrite.rewriting.syntax import MARKS, fields_below, parts

# Shorthands by name: parameters and body.
Macros = dict[str, tuple[tuple[str, ...], ast.expr]]
# How deep shorthands may stand in the bodies of others.
_NESTED = 20


def expanded(node: ast.expr, macros: Macros) -> ast.expr:
    """An expression with every shorthand in it replaced by its body.

    Raises:
        Refused: for a call with other arguments than the shorthand takes, and where too much comes of it.

    >>> twice = ("x",), ast.parse("x + x", mode="eval").body
    >>> ast.unparse(expanded(ast.parse("twice(twice(y))", mode="eval").body, {"twice": twice}))
    'y + y + (y + y)'
    """
    if not macros:
        return node
    called = {c.func.id for c in parts(node) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
    if called.isdisjoint(macros):
        return node
    try:
        found: ast.expr = _Expand(macros, iter(range(SHORTHANDS))).visit(_copied(node))
    except RecursionError:
        raise Refused(node, f"with shorthands expanded, this is nested deeper than {DEPTH} levels") from None
    check_size(found)
    return found


class _Expand(ast.NodeTransformer):
    """Arguments first, then the call itself, then the calls in what it stands for."""

    def __init__(self, macros: Macros, left: Iterator[int], depth: int = 0) -> None:
        self.macros, self.left, self.depth = macros, left, depth

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self.macros:
            return node
        if self.depth > _NESTED or next(self.left, None) is None:
            raise Refused(node, f"the shorthand {node.func.id} expands without end", "write out some of it")
        body = _filled(node, *self.macros[node.func.id])
        return _Expand(self.macros, self.left, self.depth + 1).visit(body)  # type: ignore[no-any-return]


def check_call(call: ast.Call, parameters: tuple[str, ...]) -> dict[str, ast.expr]:
    """What the call of a shorthand gives to each of its parameters.

    Raises:
        Refused: if it does not give each once.
    """
    given = dict(zip(parameters, call.args, strict=False))
    given.update({k.arg: k.value for k in call.keywords if k.arg})
    if set(given) != set(parameters) or len(call.args) + len(call.keywords) != len(parameters):
        raise Refused(call, f"{ast.unparse(call.func)} takes {', '.join(parameters) or 'no arguments'}")
    return given


def _filled(call: ast.Call, parameters: tuple[str, ...], body: ast.expr) -> ast.expr:
    """A shorthand's body with the arguments of a call in the places of its parameters."""
    assert isinstance(call.func, ast.Name)
    given = check_call(call, parameters)
    sizes = {name: len(parts(value)) for name, value in given.items()}
    size = sum(sizes.get(node.id, 1) if isinstance(node, ast.Name) else 1 for node in parts(body))
    if size > PARTS:
        raise Refused(call, f"with {call.func.id} expanded, this has more than {PARTS} parts", "write out some of it")
    found: ast.expr = _copied(body, given)
    check_size(found)
    return found


def _copied(node: Any, given: Mapping[str, ast.expr] = MappingProxyType({})) -> Any:
    """A copy of an expression, with others for some names: what stands in it has no cycles, and marks are shared."""
    if isinstance(node, ast.Name) and node.id in given:
        return _copied(given[node.id])
    found = node.__class__.__new__(node.__class__)  # from Python 3.15 on a call of the class has to be given all fields
    own = vars(found)
    own.update(vars(node))
    for name in fields_below(node):
        value = own.get(name)
        if isinstance(value, list):
            own[name] = [_copied(part, given) if isinstance(part, ast.AST) else part for part in value]
        elif isinstance(value, ast.AST) and not isinstance(value, MARKS):
            own[name] = _copied(value, given)
    return found
