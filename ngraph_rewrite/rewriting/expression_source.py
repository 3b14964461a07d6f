# SPDX-License-Identifier: Apache-2.0
"""An expression of a rule file as a part of generated Python code, in which what may grow is bounded."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ngraph_rewrite.rewriting.bounds import modulo, plus, times
from ngraph_rewrite.rewriting.expression import Expression

# What is done by functions in generated code, under their names.
BOUNDED: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = MappingProxyType(
    {ast.Add: plus, ast.Mult: times, ast.Mod: modulo}
)


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Sums, products and remainders are bounded; what adds a number to a number needs no bound."""
        left, right = self.visit(node.left), self.visit(node.right)
        plain = isinstance(node.op, ast.Add) and (_is_integer(node.left) or _is_integer(node.right))
        if plain or type(node.op) not in BOUNDED:
            return ast.BinOp(left, node.op, right)
        return ast.Call(ast.Name(BOUNDED[type(node.op)].__name__, ast.Load()), [left, right], [])

    def visit_Call(self, node: ast.Call) -> ast.Call:
        args = [self.visit(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        assert isinstance(node.func, ast.Name)
        return ast.Call(ast.Name(f"fn_{node.func.id}", ast.Load()), args, keywords)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def as_source(expression: Expression, names: dict[str, str]) -> str:
    """The expression as Python source, names replaced and functions prefixed with ``fn_``."""
    copied = ast.parse(expression.text, mode="eval").body
    return ast.unparse(_Rename(names).visit(copied))
