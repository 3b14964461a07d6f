# SPDX-License-Identifier: Apache-2.0
"""A variable may be restricted to a class of types: ``floating(x)`` in a left side is `x` and a part of the guard.

So everything that understands guards, the search for instances, the checks and the decision trees, understands it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.rewriting.syntax import walk
from ngraph_rewrite.types.dtypes import DTYPES, as_dtype

# What is asked of a variable called `_`.
CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "floating": "is_float(_.dtype)",
        "integer": "not is_float(_.dtype) and _.dtype != 'bool'",
        "unsigned": "is_unsigned(_.dtype) and _.dtype != 'bool'",
        "boolean": "_.dtype == 'bool'",
        "number": "_.dtype != 'bool'",
        "scalar": "_.rank == 0",
        "vector": "_.rank == 1",
        "matrix": "_.rank == 2",
        **{str(dtype): f"_.dtype == '{dtype}'" for dtype in DTYPES},
    }
)


def asked(name: str, variable: str) -> ast.expr:
    """What the class called `name` asks of a variable.

    >>> ast.unparse(asked("matrix", "x"))
    'x.rank == 2'
    """
    tree = ast.parse(CLASSES[name], mode="eval").body
    for node in walk(tree):
        if isinstance(node, ast.Name) and node.id == "_":
            node.id = variable
    return tree


def no_dtype(node: ast.AST) -> ast.Constant | None:
    """A word that is compared with a dtype, alone or among others, and that is the name of none.

    >>> [no_dtype(ast.parse(text, mode="eval").body) for text in ("x.dtype in ('int8', t)", "x.name == 'a'")]
    [None, None]
    >>> no_dtype(ast.parse("x.dtype == 'flot32'", mode="eval").body).value
    'flot32'
    """
    if not isinstance(node, ast.Compare):
        return None
    sides = [node.left, *node.comparators]
    if not any(isinstance(side, ast.Attribute) and side.attr == "dtype" for side in sides):
        return None
    parts = [part for side in sides for part in (side.elts if isinstance(side, ast.Tuple) else [side])]
    words = (part for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))
    return next((word for word in words if not is_dtype(word.value)), None)


@cache
def is_dtype(word: str) -> bool:
    """Whether a dtype is called so."""
    try:
        return as_dtype(word) in DTYPES
    except DTypeError:
        return False
