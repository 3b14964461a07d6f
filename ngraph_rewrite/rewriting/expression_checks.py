# SPDX-License-Identifier: Apache-2.0
"""What the expression language of rule files has: all else is refused when a file is loaded.

An attribute expression may use names, a fixed list of properties, indexing, ``+ - * // %``, comparisons,
``in``, ``and or not``, a conditional, tuples, numbers, strings, and calls of registered attribute
functions.
"""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from ngraph_rewrite.rewriting.bounds import BITS, CHARACTERS, DEPTH, PARTS
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.mistakes import meant
from ngraph_rewrite.rewriting.registry import attribute_functions
from ngraph_rewrite.rewriting.syntax import add_below, children
from ngraph_rewrite.rewriting.typeclasses import is_dtype, no_dtype
from ngraph_rewrite.terms.catalogue import definitions, find
from ngraph_rewrite.types.dtypes import DTYPES

PROPERTIES = frozenset(
    (
        "axes shape rank dtype type size length lengths name names scalar roles named sample recurrent base "
        "quads float_pairs"
    ).split()
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub, ast.Not, ast.And, ast.Or)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot)
_PLAIN = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.Subscript, ast.Slice)

# What to write instead of what Python has and rules have not.
_INSTEAD: Mapping[type[ast.AST], str] = MappingProxyType(
    {
        ast.List: "write a tuple, such as (0, 1)",
        ast.BitAnd: "write `and`",
        ast.BitOr: "write `or`",
        ast.Invert: "write `not`",
    }
)
_UNREGISTERED = "use a registered one, or register yours with ng.attribute_function"


class Refused(Exception):
    """A part of an expression that the language does not have; `node` is where."""

    def __init__(self, node: ast.AST, message: str, do: str | None = None) -> None:
        super().__init__(message)
        self.node, self.message, self.do = node, message, do


def check_expression(tree: ast.expr) -> Expression:
    """The expression `tree`, of a size that `check_size` allows, if the language has everything in it.

    Raises:
        Refused: naming the part it does not have.
    """
    names: dict[str, None] = {}
    _check(tree, names)
    return Expression(ast.unparse(tree), tuple(names), tree)


def check_size(tree: ast.expr) -> None:
    """Whether an expression is small enough to work with.

    Raises:
        Refused: if it has too many parts, or they are nested too deep.
    """
    parts, level = 0, list[ast.AST]([tree])
    for _ in range(DEPTH):
        parts += len(level)
        if parts > PARTS:
            raise Refused(tree, f"the expression has more than {PARTS} parts", "name some with where or let")
        above, level = level, []
        for node in above:
            add_below(node, level)
        if not level:
            return
    raise Refused(tree, f"the expression is nested deeper than {DEPTH} levels", "name parts with where or let")


def _check(node: ast.AST, names: dict[str, None]) -> None:
    if isinstance(node, ast.Name):
        names[node.id] = None
    elif isinstance(node, ast.Constant):
        _check_constant(node)
    elif isinstance(node, ast.Attribute):
        _check_readable(node)
        _check(node.value, names)
    elif isinstance(node, ast.Call):
        _check_call(node, names)
    elif isinstance(node, _PLAIN):
        _check_identity(node)
        for child in children(node):
            if isinstance(child, ast.expr):
                _check(child, names)
            elif not isinstance(child, _OPERATORS + _COMPARISONS + (ast.Load,)):
                raise _no_part(node, child)
        _check_dtypes(node)
        _check_base(node)
    else:
        raise _no_part(node, node)


def check_part(node: ast.expr) -> None:
    """Whether the language has such a part, or equations have; what stands in it is not looked at.

    Raises:
        Refused: if neither has.
    """
    if isinstance(node, ast.Constant):
        _check_constant(node)
    elif isinstance(node, ast.Attribute):
        _check_readable(node)
    elif not isinstance(node, (*_PLAIN, ast.Name, ast.Call, ast.NamedExpr)):
        raise _no_part(node, node)


def _no_part(place: ast.AST, node: ast.AST) -> Refused:
    do = next((do for kind, do in _INSTEAD.items() if isinstance(node, kind)), None)
    return Refused(place, f"{type(node).__name__} is not part of the expression language", do)


def _check_identity(node: ast.AST) -> None:
    """Whether two equal literals are one is up to Python."""
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
        if any(not _is_single(part) for part in (node.left, *node.comparators)):
            raise Refused(node, "`is` compares with a literal", "compare with ==")


def _check_dtypes(node: ast.AST) -> None:
    """A word that is compared with a dtype is one: any other is never equal, and the rule never fires."""
    wrong = no_dtype(node)
    if wrong is not None:
        raise _no_dtype(wrong)


def _no_dtype(wrong: ast.Constant) -> Refused:
    names = [str(dtype) for dtype in DTYPES]
    near = difflib.get_close_matches(str(wrong.value), names, n=1)
    do = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(names)}"
    return Refused(wrong, f"no dtype is called {wrong.value!r}", do)


def check_dtype(node: ast.Constant) -> None:
    """Whether a word is the name of a dtype, if it is a word.

    Raises:
        Refused: if it is none.
    """
    if isinstance(node.value, str) and not is_dtype(node.value):
        raise _no_dtype(node)


def _check_base(node: ast.AST) -> None:
    """A word that is looked for in the base of a target is an op: any other is in none, and the rule never fires.

    Of a family that there is not, it may be one of a package that is not installed.
    """
    if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Constant):
        return
    base, name = node.comparators[0], node.left.value
    if not isinstance(base, ast.Attribute) or base.attr != "base" or not isinstance(name, str) or find(name):
        return
    family, point, _ = name.partition(".")
    names = [d.name for d in definitions()]
    known = any(one.startswith(f"{family}.") for one in names) or not point
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6 if known else 0.9)
    if known or near:
        do = f"did you mean {near[0]!r}?" if near else "write the name of one, as family.name"
        raise Refused(node.left, f"no op is called {name!r}", do)


def _is_single(node: ast.expr) -> bool:
    """Whether there is only one such value, if it is a literal at all."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, bool)
    return not isinstance(node, ast.Tuple)


def _check_constant(node: ast.Constant) -> None:
    if not isinstance(node.value, bool | int | float | str | None):
        raise Refused(node, f"the constant {node.value!r} is not part of the expression language")
    if isinstance(node.value, int) and node.value.bit_length() > BITS:
        raise Refused(node, f"the number is larger than {BITS} bits")
    if isinstance(node.value, str) and len(node.value) > CHARACTERS:
        raise Refused(node, f"the string has more than {CHARACTERS} characters")


def _check_readable(node: ast.Attribute) -> None:
    if node.attr not in PROPERTIES:
        properties = ", ".join(sorted(PROPERTIES))
        do = meant(node.attr, PROPERTIES, f"one of {properties}")
        raise Refused(node, f"`.{node.attr}` is not a property rules can read", do)


def _check_call(node: ast.Call, names: dict[str, None]) -> None:
    function = node.func
    if not isinstance(function, ast.Name):
        raise Refused(node, "only attribute functions can be called", "register one with ng.attribute_function")
    if function.id not in attribute_functions():
        raise Refused(
            node,
            f"`{function.id}` is not an attribute function",
            meant(function.id, attribute_functions(), _UNREGISTERED),
        )
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        raise Refused(node, "* and ** arguments are not part of the expression language")
    check_keywords(node)
    check_taken(node, attribute_functions()[function.id])
    for child in [*node.args, *(k.value for k in node.keywords)]:
        _check(child, names)


def check_keywords(call: ast.Call) -> None:
    """Whether each keyword of a call stands once: Python's parser takes one twice.

    Raises:
        Refused: for the second of two.
    """
    seen: set[str | None] = set()
    for one in call.keywords:
        if one.arg in seen:
            raise Refused(one.value, f"`{one.arg}` is given twice", "leave one of them out")
        seen.add(one.arg)


def check_taken(call: ast.Call, function: Callable[..., Any]) -> None:
    """Whether a function takes as many arguments as a call gives, and by these names.

    Raises:
        Refused: if it does not.
    """
    signature = _signature(function)
    if signature is None:
        return
    try:
        signature.bind(*call.args, **{str(k.arg): k.value for k in call.keywords})
    except TypeError as error:
        takes = ", ".join(signature.parameters) or "no arguments"
        raise Refused(call, f"`{ast.unparse(call.func)}` cannot be called so: {error}", f"it takes {takes}") from None


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some functions that are not written in Python do not tell
        return None
