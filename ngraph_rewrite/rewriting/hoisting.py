# SPDX-License-Identifier: Apache-2.0
"""What a right side computes twice is computed once, under a name: in generated code, attributes cost the most.

Attribute functions are pure, so a call of one that stands twice where it is surely evaluated has one value.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import count

_UNSURE = (ast.IfExp, ast.BoolOp, ast.Compare, ast.ListComp, ast.GeneratorExp, ast.Lambda)
# The properties of a term that its type has at hand.
_DIRECT = {"axes": ("axes",), "dtype": ("dtype",), "shape": ("axes", "lengths")}


def hoisted(source: str, terms: Collection[str]) -> tuple[list[str], str]:
    """Statements that name what an expression computes twice, and the expression that uses them.

    Args:
        source: An expression of generated code.
        terms: The names in it that are terms.

    >>> hoisted("make(op, (x,), (fn_size(self.axes), fn_lengths(fn_size(self.axes)), n[0]))", ["self"])
    (['h0 = fn_size(self.type.axes)'], 'make(op, (x,), (h0, fn_lengths(h0), n[0]))')
    """
    tree: ast.expr = _Direct(terms).visit(ast.parse(source, mode="eval").body)
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = (name for name in map("h{}".format, count()) if name not in taken)
    lines: list[str] = []
    while True:
        counts = Counter(map(ast.dump, _calls(tree)))
        twice = [text for text, times in counts.items() if times > 1]
        if not twice:
            return lines, ast.unparse(ast.fix_missing_locations(tree))
        name, longest = next(names), max(twice, key=len)
        call = next(node for node in _calls(tree) if ast.dump(node) == longest)
        lines.append(f"{name} = {ast.unparse(call)}")
        tree = _Named(longest, name).visit(tree)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of attribute functions that are surely evaluated, outer ones first."""
    if isinstance(node, ast.Call) and _is_pure(node):
        yield node
    if not isinstance(node, _UNSURE):
        for child in ast.iter_child_nodes(node):
            yield from _calls(child)


def _is_pure(call: ast.Call) -> bool:
    names = {part.id for part in ast.walk(call) if isinstance(part, ast.Name)}
    return isinstance(call.func, ast.Name) and call.func.id.startswith("fn_") and names.isdisjoint(("make", "fill"))


class _Direct(ast.NodeTransformer):
    """``x.axes`` of a term is read off its type: a property would call a function."""

    def __init__(self, terms: Collection[str]) -> None:
        self.terms = terms

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        path = _DIRECT.get(node.attr)
        if path is None or not isinstance(node.value, ast.Name) or node.value.id not in self.terms:
            return self.generic_visit(node)  # type: ignore[return-value]
        found: ast.expr = ast.Attribute(node.value, "type", ast.Load())
        for part in path:
            found = ast.Attribute(found, part, ast.Load())
        return found


class _Named(ast.NodeTransformer):
    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.dump(node) == self.text:
            return ast.Name(self.name, ast.Load())
        return self.generic_visit(node)  # type: ignore[return-value]
