# SPDX-License-Identifier: Apache-2.0
"""A guard implies another if it says all that the other says: conditions are compared as text, names put in place."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable
from functools import lru_cache

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.expression import Expression, conjoined
from ngraph_rewrite.rewriting.rule import Clause, Rule, Where
from ngraph_rewrite.rewriting.syntax import walk

# What a name of the left side stands for elsewhere; None if nothing can be said there.
Meaning = Callable[[str], "ast.expr | None"]


def implied(guard_of: Rule, by: Rule, meaning: Meaning) -> bool:
    """Whether a rule's guard holds wherever another's does.

    Args:
        meaning: What the names of the first rule's left side stand for in the second rule.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules(
    ...     "simplify semi\\nrule a: exp(x) => x\\n where f = x.dtype\\n if f == 'float32'\\n"
    ...     "rule b: exp(y) => y\\n if y.rank == 0 and y.dtype == 'float32'\\n", "r.rules", "r")
    >>> implied(a, b, lambda name: ast.Name("y", ast.Load())), implied(b, a, lambda name: ast.Name("x", ast.Load()))
    (True, False)
    """
    if guard_of.guard is None:
        return True
    if not all(literal in _written(by.text, by.guard, by.clauses) for literal in _literals(guard_of.guard)):
        return False  # as nearly all pairs of rules are told apart
    own = _conditions(by, lambda name: ast.Name(name, ast.Load()))
    said = {ast.dump(one) for one in own if one is not None}
    return all(one is not None and (ast.dump(one) in said or _true(one)) for one in _conditions(guard_of, meaning))


@lru_cache(maxsize=4096)
def _literals(guard: Expression) -> tuple[str, ...]:
    """The literals of a guard."""
    return tuple({ast.unparse(n): None for n in walk(guard.tree) if isinstance(n, ast.Constant)})


def literals_of(expressions: Iterable[Expression]) -> dict[object, None]:
    """The literals of some expressions, each as what tells it from a part of a pattern."""
    return dict.fromkeys(("literal", one) for expression in expressions for one in _literals(expression))


@lru_cache(maxsize=4096)
def _written(text: str, guard: Expression | None, clauses: tuple[Clause, ...]) -> str:
    """Everything a rule says of attributes."""
    return " ".join([text, str(guard), *(str(c.expression) for c in clauses if isinstance(c, Where))])


def _conditions(rule: Rule, meaning: Meaning) -> list[ast.expr | None]:
    """The parts of a guard that must all hold, clauses put in place; None for one of which nothing can be said."""
    clauses = {c.name: c.expression.tree for c in rule.clauses if isinstance(c, Where)}
    found: list[ast.expr | None] = []
    for part in conjoined(rule.guard.tree) if rule.guard is not None else []:
        replaced = _Replace(clauses, meaning)
        tree = replaced.visit(copy.deepcopy(part))
        found.append(tree if replaced.known else None)
    return found


class _Replace(ast.NodeTransformer):
    """Clauses become what they compute, other names what they stand for; of too large a condition nothing is known."""

    def __init__(self, clauses: dict[str, ast.expr], meaning: Meaning) -> None:
        self.clauses, self.meaning, self.known, self.left = clauses, meaning, True, 1000

    def visit_Name(self, node: ast.Name) -> ast.expr:
        self.left -= 1
        if self.left < 0:
            self.known = False
            return node
        if node.id in self.clauses:
            return self.visit(copy.deepcopy(self.clauses[node.id]))  # type: ignore[no-any-return]
        found = node if node.id == "target" else self.meaning(node.id)
        self.known = self.known and found is not None
        return found or node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node


def _true(tree: ast.expr) -> bool:
    """Whether a condition without names holds."""
    expression = Expression(ast.unparse(tree), (), tree)
    try:
        return bool(value_of(expression, {}))
    except Exception:  # it reads something that is bound only where the rule is applied
        return False
