# SPDX-License-Identifier: Apache-2.0
"""The parts of a guard: conjuncts, with the names that they read, and equations, which give a value outright."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.rewriting.expression import Expression, conjoined, expression_of
from ngraph_rewrite.rewriting.pattern import Build, Pick, Template, Var, attribute_names, subtemplates, variables
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.rewriting.syntax import walk

_USUAL_RANK = 3  # up to which terms are drawn anyway
_PROPERTIES = frozenset({"dtype", "rank", "shape", "axes", "type"})


class Conjunct(NamedTuple):
    """A part of a guard, and the names of the left side that it reads, itself or through clauses.

    Attributes:
        by_dtype: Of which variables it reads the dtype, if it reads nothing else.
    """

    expression: Expression
    needs: frozenset[str]
    by_dtype: tuple[str, ...] = ()


class Equation(NamedTuple):
    """A conjunct that says what a name, or a property of the term called so, is equal to.

    Attributes:
        name: An attribute's name, or a variable's, or ``self``.
        what: What of it: "" for the attribute itself, a property, or the index of a length.
        value: What it is equal to.
        needs: The names which that reads.
    """

    name: str
    what: str | int
    value: Expression
    needs: frozenset[str]


@lru_cache(maxsize=64)
def conjuncts(rule: Rule) -> tuple[Conjunct, ...]:
    """The parts of a rule's guard that must all hold, in order.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "transpose(x, perm=p) => x\\n    where n = rank(p)\\n    if n == 1 and x.rank == 1"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> [(str(c.expression), sorted(c.needs)) for c in conjuncts(rule)]
    [('n == 1', ['p']), ('x.rank == 1', ['x'])]
    """
    if rule.guard is None:
        return ()
    reads = _Reads(rule)
    parts = map(expression_of, conjoined(rule.guard.tree))
    return tuple(Conjunct(e, reads.of(e.names), _dtypes_read(e)) for e in parts)


def _dtypes_read(expression: Expression) -> tuple[str, ...]:
    """The names of which an expression reads the dtype; nothing if it reads more."""
    parts = list(walk(expression.tree))
    called = {id(n.func) for n in parts if isinstance(n, ast.Call)}
    reads = [n.value for n in parts if isinstance(n, ast.Attribute) and n.attr == "dtype"]
    names = [n for n in parts if isinstance(n, ast.Name) and id(n) not in called]
    return tuple(sorted({n.id for n in names})) if {id(n) for n in names} == {id(n) for n in reads} else ()


@lru_cache(maxsize=64)
def equations(rule: Rule) -> tuple[Equation, ...]:
    """The conjuncts that say what an attribute or a property is equal to."""
    reads = _Reads(rule)
    found = []
    for conjunct in conjuncts(rule):
        tree = conjunct.expression.tree
        if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq):
            sides = tree.left, tree.comparators[0]
            found += [e for one, other in (sides, sides[::-1]) for e in _equation(one, expression_of(other), reads)]
        found += _least_rank(tree)
    return tuple(found)


def _least_rank(tree: ast.expr) -> Iterator[Equation]:
    """A rank that is not drawn unless a guard asks for it, from `x.rank > 4` or `x.rank >= 5`: the least one."""
    match tree:
        case ast.Compare(
            ast.Attribute(ast.Name(name), "rank"), [ast.Gt() | ast.GtE() as op], [ast.Constant(int(number))]
        ):
            least = number + isinstance(op, ast.Gt)
            if least > _USUAL_RANK:
                yield Equation(name, "rank", expression_of(ast.Constant(least)), frozenset())


def _equation(side: ast.expr, value: Expression, reads: _Reads) -> Iterator[Equation]:
    needs = reads.of(value.names)
    if isinstance(side, ast.Name) and side.id in reads.attributes:
        yield Equation(side.id, "", value, needs)
        return
    place = _place(side)
    of = side.value if place is not None and isinstance(side, ast.Subscript) else side
    if isinstance(of, ast.Attribute) and isinstance(of.value, ast.Name) and of.attr in _PROPERTIES:
        if place is None or of.attr == "shape":
            yield Equation(of.value.id, of.attr if place is None else place, value, needs)


def _place(side: ast.expr) -> int | None:
    """Which element is taken, if it is a number."""
    index = side.slice if isinstance(side, ast.Subscript) else None
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant):
        return -index.operand.value if isinstance(index.operand.value, int) else None
    return index.value if isinstance(index, ast.Constant) and isinstance(index.value, int) else None


class _Reads:
    """Which names of the left side an expression reads, itself or through clauses."""

    def __init__(self, rule: Rule) -> None:
        self.attributes = frozenset(attribute_names(rule.left))
        self._clauses: dict[str, set[str]] = {}
        for clause in rule.clauses:
            names = clause.expression.names if isinstance(clause, Where) else _read(clause.template)
            self._clauses[clause.name] = set(names)
        self._bound = self.attributes | set(variables(rule.left))

    def of(self, names: Sequence[str]) -> frozenset[str]:
        found: set[str] = set()
        todo = list(names)
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += () if name in self._bound else sorted(self._clauses.get(name, ()))
        return frozenset(n for n in found if n not in self._clauses or n in self._bound)


def _read(template: Template) -> set[str]:
    found: set[str] = {"self"}  # numbers take their dtype from it
    for part in subtemplates(template):
        if isinstance(part, Var):
            found.add(part.name)
        elif isinstance(part, Build):
            found.update(n for _, e in part.attributes for n in e.names)
        elif isinstance(part, Pick):
            found.update(part.index.names)
    return found
