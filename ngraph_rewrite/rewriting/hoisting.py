# SPDX-License-Identifier: Apache-2.0
"""What a right side computes twice is computed once, under a name: in generated code, attributes cost the most.

Attribute functions are pure, so a call of one that stands twice where it is surely evaluated has one value.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import count

from ngraph_rewrite.rewriting.syntax import children, walk

_UNSURE = (ast.IfExp, ast.BoolOp, ast.Compare, ast.ListComp, ast.GeneratorExp, ast.Lambda)
# The properties of a term that its type has at hand, and the functions of axes that axes have.
_DIRECT = {"axes": ("axes",), "dtype": ("dtype",), "shape": ("axes", "lengths")}
_AT_HAND = {"fn_is_plain": "plain", "fn_lengths": "lengths"}


def hoisted(source: str, terms: Collection[str]) -> tuple[list[str], str]:
    """Statements that name what an expression computes twice, and the expression that uses them.

    Args:
        source: An expression of generated code.
        terms: The names in it that are terms.

    >>> hoisted("make(op, (x,), (fn_size(self.axes), fn_lengths(fn_size(self.axes)), n[0]))", ["self"])
    (['h0 = fn_size(self.type.axes)'], 'make(op, (x,), (h0, fn_lengths(h0), n[0]))')
    """
    tree = direct(source, terms)
    taken = {node.id for node in walk(tree) if isinstance(node, ast.Name)}
    names = (name for name in map("h{}".format, count()) if name not in taken)
    lines: list[str] = []
    while source.count("fn_") > 1:
        calls = list(_calls(tree))
        often = Counter(call.func.id for call in calls)  # type: ignore[attr-defined]
        texts = [(ast.dump(call), call) for call in calls if often[call.func.id] > 1]  # type: ignore[attr-defined]
        counts = Counter(text for text, _ in texts)
        twice = [text for text, times in counts.items() if times > 1]
        if not twice:
            break
        name, longest = next(names), max(twice, key=len)
        call = next(node for text, node in texts if text == longest)
        lines.append(f"{name} = {ast.unparse(call)}")
        tree = _Named(call, name).visit(tree)
    return lines, ast.unparse(tree)


def direct(source: str, terms: Collection[str] = ()) -> ast.expr:
    """An expression that reads what terms have at hand without calling a function.

    >>> ast.unparse(direct("fn_is_plain(self.args[0].axes) and fn_size(x.axes) == 3 and y.axes", ["x"]))
    'self.args[0].type.axes.plain and fn_size(x.type.axes) == 3 and y.axes'
    >>> ast.unparse(direct("args[0].dtype")), ast.unparse(direct("args[0].dtype", ["args"]))
    ('args[0].dtype', 'args[0].type.dtype')
    """
    tree = ast.parse(source, mode="eval").body
    found: ast.expr = _Direct(terms).visit(tree) if any(f".{name}" in source for name in _DIRECT) else tree
    return found


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls of attribute functions that are surely evaluated, outer ones first."""
    if isinstance(node, ast.Call) and _is_pure(node):
        yield node
    if not isinstance(node, _UNSURE):
        for child in children(node):
            yield from _calls(child)


def _is_pure(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Name) or not call.func.id.startswith("fn_"):
        return False
    return not any(isinstance(part, ast.Name) and part.id in ("make", "fill") for part in walk(call))


class _Direct(ast.NodeTransformer):
    """``x.axes`` of a term is read off its type: a property would call a function."""

    def __init__(self, terms: Collection[str]) -> None:
        self.terms = terms

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        path = _DIRECT.get(node.attr)
        if path is None or not self.is_term(node.value):
            return self.generic_visit(node)  # type: ignore[return-value]
        found: ast.expr = ast.Attribute(node.value, "type", ast.Load())
        for part in path:
            found = ast.Attribute(found, part, ast.Load())
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        found = self.generic_visit(node)
        assert isinstance(found, ast.Call)
        name = _AT_HAND.get(found.func.id) if isinstance(found.func, ast.Name) else None
        axes = found.args[0] if name is not None and len(found.args) == 1 else None
        if not isinstance(axes, ast.Attribute) or axes.attr != "axes" or not _is_type(axes.value):
            return found
        return ast.Attribute(axes, name, ast.Load())  # type: ignore[arg-type]

    def is_term(self, node: ast.expr) -> bool:
        """Whether it is a term by its name, or an argument of one."""
        if isinstance(node, ast.Name):
            return node.id in self.terms
        of = node.value if isinstance(node, ast.Subscript) else None
        if isinstance(of, ast.Name):  # the arguments by themselves; elsewhere `args` may be an attribute of a rule
            return of.id == "args" and "args" in self.terms
        return isinstance(of, ast.Attribute) and of.attr == "args"


def _is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "type"


class _Named(ast.NodeTransformer):
    """A name stands for a call, wherever that stands."""

    def __init__(self, call: ast.Call, name: str) -> None:
        self.function, self.text, self.name = ast.dump(call.func), ast.dump(call), name

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.dump(node.func) == self.function and ast.dump(node) == self.text:
            return ast.Name(self.name, ast.Load())
        return self.generic_visit(node)  # type: ignore[return-value]
