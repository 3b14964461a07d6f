# SPDX-License-Identifier: Apache-2.0
"""A rule as it is written, with carets under a part of its left side; what it binds, and its guard with values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ngraph_rewrite.lowering.layout import WIDTH, shown, wrapped
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.expression import Expression, conjoined
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rule_errors import beginning_of
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.op import Op

_TOKEN = re.compile(r"[-+]?[\d.]+(?:e[-+]?\d+)?|\w+(?:\.\.\.)?")


def drawn(rule: Rule, part: Pattern, says: str) -> list[str]:
    """The equation with carets under a part of the left side, and what is to be said about it."""
    lines = [line.rstrip() for line in rule.text.splitlines()]
    place = _place(rule, part)
    if place is None or place[0] >= len(lines):
        return [*lines, f"at {part}: {says}"]
    row, column = place
    margin = min((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), default=0)
    moved = margin if row else 0
    width = _width(lines[row], column, part)
    carets = " " * (column - moved) + "^" * width
    shown_lines = [lines[0], *(" " * 4 + line[margin:] for line in lines[1:])]
    if row:
        carets = " " * 4 + carets
    return [*shown_lines[: row + 1], carets, *wrapped("    ", says), *shown_lines[row + 1 :]]


def _place(rule: Rule, part: Pattern) -> tuple[int, int] | None:
    """The line and the column of a part in the text of its rule, from 0."""
    several = rule.graph and rule.left.definition.name == "core.make_tuple"  # the text begins with the first of them
    begins = rule.left.args[0].span if several else beginning_of(rule)
    row = part.span.line - begins.line
    column = part.span.column - (begins.column if row == 0 else 1)
    return (row, column) if row >= 0 and column >= 0 else None


def _width(line: str, column: int, part: Pattern) -> int:
    """How many characters a part takes, in the line in which it begins."""
    token = _TOKEN.match(line, column)
    end = token.end() if token else column + 1
    if isinstance(part, App):
        if token and line[end : end + 1] == "(":
            end = _closing(line, end)
        else:  # an operator: it ends where its last operand does
            ends = [a.span.column - part.span.column + column for a in part.args if a.span.line == part.span.line]
            last = max(ends, default=column)
            inner = next((a for a in part.args if a.span.column - part.span.column + column == last), None)
            end = last + (_width(line, last, inner) if inner is not None and last > column else 1)
    elif isinstance(part, Num) and not token:
        end = column + len(str(part))
    return max(1, end - column)


def _closing(line: str, opening: int) -> int:
    """After the parenthesis that closes the one at `opening`, or at the end of the line."""
    depth = 0
    for i in range(opening, len(line)):
        depth += {"(": 1, ")": -1}.get(line[i], 0)
        if not depth:
            return i + 1
    return len(line)


def bound_values(bindings: Mapping[str, Any], width: int = WIDTH) -> Iterator[str]:
    """A line, or more, for each name of a match and what it stands for."""
    for name, value in bindings.items():
        yield from wrapped(f"    {name} = ", plain(value), width)


def indented(lines: Iterable[str]) -> list[str]:
    """Lines, one step further in."""
    return [f"    {line}" for line in lines]


# -- guards -----------------------------------------------------------------------------------------


def guard_values(
    guard: Expression, names: Mapping[str, Any], first: bool = True, width: int = WIDTH
) -> tuple[list[str], bool]:
    """A line for each part of a guard that is asked, with its value, and whether all hold.

    Below a part that does not hold stand the values of what it reads.

    Args:
        first: Whether no other part stands before.
    """
    lines: list[str] = []
    for i, part in enumerate(conjoined(guard.tree)):
        begins = "if " if first and not i else "and "
        text = ast.unparse(part)
        value, failed = _valued(part, names)
        says = failed or ("holds" if value else "does not hold")
        lines += wrapped(f"    {begins.rjust(4)}", f"{text}   {says}", width)
        if failed or not value:
            lines += [line for expression in _read(part) for line in _line(expression, names)]
            return lines, False
    return lines, True


def _valued(tree: ast.expr, names: Mapping[str, Any]) -> tuple[Any, str]:
    """The value of an expression, or why it has none."""
    try:
        return value_of(Expression(ast.unparse(tree), (), tree), names), ""
    except Exception as error:
        return None, f"fails: {told(error)}"


def _read(tree: ast.expr) -> list[ast.expr]:
    """What an expression reads: names and their properties, and the calls and comparisons in it, each once."""
    found: dict[str, ast.expr] = {}

    def visit(node: ast.AST, top: bool) -> None:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and not top:
            found.setdefault(ast.unparse(node), node)
            inner = [node.slice] if isinstance(node, ast.Subscript) else []
        else:
            if isinstance(node, ast.Call | ast.Compare | ast.BoolOp) and not top:
                found.setdefault(ast.unparse(node), node)
            children = ast.iter_child_nodes(node)
            inner = [c for c in children if isinstance(c, ast.expr) and not _is_function(c, node)]
        for child in inner:
            visit(child, False)

    visit(tree, not isinstance(tree, ast.Name | ast.Attribute | ast.Subscript))
    return [node for text, node in found.items() if text != ast.unparse(tree) or isinstance(node, ast.Name)]


def _is_function(node: ast.AST, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Call) and node is parent.func


def _line(tree: ast.expr, names: Mapping[str, Any]) -> list[str]:
    value, failed = _valued(tree, names)
    return wrapped(" " * 10, f"{ast.unparse(tree)} = {failed or plain(value)}")


def plain(value: Any) -> str:
    """A value of a guard, in one line or so."""
    if isinstance(value, Op):
        return f"{shown(value)} : {value.type}"
    if isinstance(value, tuple | list) and value and all(isinstance(v, Op) for v in value):
        return f"({', '.join(map(shown, value))})"
    return repr(value)
