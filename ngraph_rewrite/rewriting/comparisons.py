# SPDX-License-Identifier: Apache-2.0
"""The conditions of rules of a signature: parts of an ``if`` compare terms, match them, or compute with attributes."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from ngraph_rewrite.rewriting.expression import conjoined
from ngraph_rewrite.rewriting.expression_checks import Refused
from ngraph_rewrite.rewriting.syntax import walk
from ngraph_rewrite.terms.catalogue import find

# The operation without arguments that a condition without a comparison is compared with.
TRUE = "true"


class Comparison(NamedTuple):
    """Two terms, as they are written, that have to have one normal form, or two."""

    left: ast.expr
    right: ast.expr
    equal: bool


class Match(NamedTuple):
    """``pattern := term``: a pattern that has to match the normal form of a term."""

    pattern: ast.expr
    term: ast.expr


def match_parts(node: ast.expr) -> Iterator[Match]:
    """The parts of a condition that match, in order."""
    for part in conjoined(node):
        if isinstance(part, ast.NamedExpr):
            yield Match(part.target, part.value)


def condition_parts(node: ast.expr, family: str, terms: Collection[str]) -> list[Comparison | Match | ast.expr]:
    """The parts of a condition that all have to hold, in order: comparisons and matches of terms, and others.

    Args:
        terms: The names that stand for terms.

    Raises:
        Refused: for terms that are compared in a way that conditions have not.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> from ngraph_rewrite.terms.signatures import declare
    >>> nat = Signature("example_order")
    >>> _ = nat.sort("Nat"), nat.operation("half", ("Nat",), "Nat")
    >>> one, other = condition_parts(ast.parse("half(x) != y and a < 1").body[0].value, "example_order", "xy")
    >>> ast.unparse(one.left), ast.unparse(one.right), one.equal, ast.unparse(other)
    ('half(x)', 'y', False, 'a < 1')
    """
    found: list[Comparison | Match | ast.expr] = []
    for part in conjoined(node):
        if isinstance(part, ast.NamedExpr):
            found.append(Match(part.target, part.value))
            continue
        compared = _comparison(part, family, terms)
        if compared is None:
            _check(part, family)
        found.append(part if compared is None else compared)
    return found


def _comparison(node: ast.expr, family: str, terms: Collection[str]) -> Comparison | None:
    wanted = True
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, wanted = node.operand, not wanted
    if isinstance(node, ast.Compare) and any(_is_term(n, family, terms) for n in (node.left, *node.comparators)):
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            raise Refused(node, "terms are compared with == and != only, two at a time", "join conditions with `and`")
        return Comparison(node.left, node.comparators[0], wanted is isinstance(node.ops[0], ast.Eq))
    if isinstance(node, ast.Call) and _is_term(node, family, terms) and find(f"{family}.{TRUE}") is not None:
        true = ast.Call(ast.Name(TRUE, ast.Load()), [], [])
        for part in (true, true.func):
            part.span = getattr(node, "span", None)  # type: ignore[attr-defined]
        return Comparison(node, true, wanted)
    return None


def _is_term(node: ast.expr, family: str, terms: Collection[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in terms
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _operation(node.func.id, family)


def _operation(name: str, family: str) -> bool:
    return find(f"{family}.{name}") is not None


def _check(node: ast.expr, family: str) -> None:
    """Whether terms stand nowhere else in a condition."""
    for part in walk(node):
        if isinstance(part, ast.NamedExpr):
            raise Refused(part, "`:=` matches a term, and is no truth value", "join conditions with `and` only")
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and _operation(part.func.id, family):
            do = "compare with == or !=, write two rules for `or`"
            raise Refused(
                part if hasattr(part, "span") else node, f"`{part.func.id}` makes a term, which is no truth value", do
            )
