# SPDX-License-Identifier: Apache-2.0
"""Alternatives and optional wrappers in a left side are several left sides: each is read as if it stood alone.

``either(p, q)`` is any of its patterns; ``maybe(f(p, ...), name=value)`` is the pattern with the op `f` around its
first argument, or that argument alone, where `name`, which the wrapper would bind, has the value.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from ngraph_rewrite.rewriting.bounds import WAYS
from ngraph_rewrite.rewriting.expression_checks import Refused, check_keywords
from ngraph_rewrite.rewriting.syntax import walk

EITHER, MAYBE = "either", "maybe"


class Given(NamedTuple):
    """A name that an absent wrapper would have bound, and its value."""

    name: str
    value: ast.expr


class Way(NamedTuple):
    """One of the left sides: its tree, and what absent wrappers give."""

    tree: ast.expr
    given: tuple[Given, ...]


def ways(tree: ast.expr) -> list[Way]:
    """The left sides that a left side stands for, in the order written; a wrapper is there before it is not.

    Raises:
        Refused: for an alternative without patterns, a wrapper that wraps nothing, and too many left sides.

    >>> tree = ast.parse("exp(either(log(x), maybe(transpose(x, perm=p), p=(0, 1))))", mode="eval").body
    >>> for way in ways(tree):
    ...     print(ast.unparse(way.tree), [f"{name} = {ast.unparse(value)}" for name, value in way.given])
    exp(log(x)) []
    exp(transpose(x, perm=p)) []
    exp(x) ['p = (0, 1)']
    """
    found = list(itertools.islice(_ways(tree), WAYS + 1))
    if len(found) > WAYS:
        raise Refused(tree, f"the left side stands for more than {WAYS} left sides", "write several rules")
    return found


def _ways(node: ast.expr) -> Iterator[Way]:
    if _is_call(node, EITHER):
        yield from _either(node)  # type: ignore[arg-type]
    elif _is_call(node, MAYBE):
        yield from _maybe(node)  # type: ignore[arg-type]
    else:
        yield from _inside(node)


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _either(node: ast.Call) -> Iterator[Way]:
    if len(node.args) < 2 or node.keywords:
        raise Refused(node, "either takes two patterns or more, and nothing else")
    for arg in node.args:
        yield from _ways(arg)


def _maybe(node: ast.Call) -> Iterator[Way]:
    wrapped = _operands(node.args[0]) if len(node.args) == 1 else []
    if not wrapped:
        raise Refused(node, "maybe takes one op applied to patterns", "write `maybe(f(x, a=n), n=value)`")
    check_keywords(node)
    bound = {k.value.id for k in getattr(node.args[0], "keywords", ()) if isinstance(k.value, ast.Name)}
    for keyword in node.keywords:
        if keyword.arg not in bound:
            what = f"the wrapper binds no attribute to `{keyword.arg}`"
            raise Refused(keyword.value, what, "give values to the names of its attributes only")
    yield from _ways(node.args[0])
    given = tuple(Given(str(k.arg), k.value) for k in node.keywords)
    yield from (Way(way.tree, (*way.given, *given)) for way in _ways(wrapped[0]))


def _inside(node: ast.expr) -> Iterator[Way]:
    """The node with every choice of ways among its operands."""
    operands = _operands(node)
    if not any(_is_call(part, name) for part in walk(node) for name in (EITHER, MAYBE)):  # type: ignore[arg-type]
        yield Way(node, ())
        return
    each = [list(itertools.islice(_ways(operand), WAYS + 1)) for operand in operands]
    for chosen in itertools.product(*each):
        yield Way(_with(node, [way.tree for way in chosen]), tuple(g for way in chosen for g in way.given))


def _operands(node: ast.expr) -> list[ast.expr]:
    """The patterns that an op, written as a call or with an operator, is applied to."""
    if isinstance(node, ast.Call):
        return list(node.args)
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return list(node.elts) if isinstance(node, ast.Tuple) else []


def _with(node: ast.expr, operands: list[ast.expr]) -> ast.expr:
    new = copy.copy(node)
    if isinstance(new, ast.Call):
        new.args = operands
    elif isinstance(new, ast.BinOp):
        new.left, new.right = operands
    elif isinstance(new, ast.Compare):
        new.left, new.comparators = operands[0], operands[1:]
    elif isinstance(new, ast.UnaryOp):
        new.operand = operands[0]
    elif isinstance(new, ast.Tuple):
        new.elts = operands
    return new
