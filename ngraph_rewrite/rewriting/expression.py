# SPDX-License-Identifier: Apache-2.0
"""An expression of a rule file: a small part of Python's grammar, parsed and never executed as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ngraph_rewrite.rewriting.syntax import walk


class Span(NamedTuple):
    """A place in a rule file: line and column, both from 1."""

    line: int
    column: int


_NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Expression:
    """A checked attribute expression: its tree, its text and the names it reads."""

    text: str
    names: tuple[str, ...]
    tree: ast.expr = field(compare=False, repr=False)
    span: Span = field(compare=False, default=Span(0, 0))

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of_text(cls, text: str, names: tuple[str, ...], span: Span = _NOWHERE) -> Expression:
        """An expression that was checked before; its text is parsed when its tree is first asked for."""
        found = object.__new__(cls)
        found.__dict__.update(text=text, names=names, span=span)
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != "tree":
                raise AttributeError(f"an Expression has no attribute {name!r}")
            self.__dict__["tree"] = found = ast.parse(self.text, mode="eval").body
            return found


def conjoined(tree: ast.expr) -> Iterator[ast.expr]:
    """The parts of a condition that must all hold, in order.

    >>> [ast.unparse(part) for part in conjoined(ast.parse("a and (b or c) and (d and e)", mode="eval").body)]
    ['a', 'b or c', 'd', 'e']
    """
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from conjoined(part)
    else:
        yield tree


def expression_of(tree: ast.expr) -> Expression:
    """An expression made of parts of such as were checked.

    >>> found = expression_of(ast.parse("size(k) == n", mode="eval").body)
    >>> found.text, found.names
    ('size(k) == n', ('n', 'k'))
    """
    called = {id(node.func) for node in walk(tree) if isinstance(node, ast.Call)}
    names = (n.id for n in walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
    return Expression(ast.unparse(tree), tuple(dict.fromkeys(names)), tree)


def called_functions(expression: Expression) -> set[str]:
    """The attribute functions it calls."""
    calls = (node for node in walk(expression.tree) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}
