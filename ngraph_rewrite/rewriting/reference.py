# SPDX-License-Identifier: Apache-2.0
"""matchpy says what matching means: patterns become matchpy expressions, terms are matched as they are.

Terms are registered with matchpy, not subclassed from it: `Op` is a virtual `matchpy.Operation` whose
operands are its attributes, as symbols, and then its arguments. A pattern is an expression of a head per
definition; a head counts a term among its instances if the term has its definition. Only the part of
matchpy that proved sound is used: one-to-one `match`, with no optional wildcards, no named symbols or
operations, and no `one_identity`. It is the oracle of the tests, and nothing else imports it: it recurses,
and looks at every occurrence of a shared subterm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import matchpy
from multiset import BaseMultiset

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.nests import is_flat, is_nest, operands
from ngraph_rewrite.rewriting.pattern import (
    App,
    Num,
    Number,
    Pattern,
    SeqVar,
    Var,
    attribute_names,
    is_of,
    restrictions,
    subpatterns,
    variables,
)
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.sorts import SortType


class _Symbol(matchpy.Symbol):  # type: ignore[misc]
    """A symbol with any value; operands of a commutative operation are sorted, so it has a place among others."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)

    def __lt__(self, other: Any) -> bool:
        if isinstance(other, matchpy.Symbol):
            return (type(self).__name__, repr(self.name)) < (type(other).__name__, repr(other.name))
        return bool(super().__lt__(other))


class Attribute(_Symbol):
    """An attribute's value as an operand: equal if the values are."""


class _Leaf(_Symbol):
    """A term without arguments."""


class _HeadType(type(matchpy.Operation)):  # type: ignore[misc]
    """A head has the terms of its definition as instances, and `Op` as a subclass: some of its instances."""

    definition: OpDef

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Op):
            return instance.definition is cls.definition
        return bool(super().__instancecheck__(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, Op) or bool(super().__subclasscheck__(subclass))


matchpy.Operation.register(Op)
matchpy.op_iter.register(Op, lambda term: iter((*map(Attribute, term.attrs), *term.args)))
matchpy.op_len.register(Op, lambda term: len(term.attrs) + len(term.args))


@cache
def head(definition: OpDef) -> Any:
    """The matchpy operation that stands for a definition in patterns.

    Raises:
        AttributeValueError: for a commutative op with attributes, which would mix with its arguments.
    """
    count = len(definition.attributes) + (definition.arity or 0)
    if definition.commutative and definition.attributes:
        raise AttributeValueError(f"{definition} is commutative and has attributes: matchpy cannot express it")
    members = {
        "name": definition.name,
        "definition": definition,
        "arity": matchpy.Arity(count, definition.arity is not None),
        "commutative": definition.commutative,
    }
    return _HeadType(definition.name.replace(".", "_"), (matchpy.Operation,), members)


@cache
def nest_head(definition: OpDef) -> Any:
    """The matchpy operation that stands for a nest of an op: it has any number of operands, all of the nest."""
    members = {
        "name": f"nest of {definition.name}",
        "arity": matchpy.Arity(0, False),
        "commutative": definition.commutative,
    }
    return type(f"nest_{definition.name.replace('.', '_')}", (matchpy.Operation,), members)


class IsNumber(matchpy.Constraint):  # type: ignore[misc]
    """The attribute that a variable stands for is a literal filled with a number."""

    def __init__(self, variable: str, number: Number) -> None:
        self.variable, self.number = variable, number

    @property
    def variables(self) -> frozenset[str]:
        return frozenset([self.variable])

    def __call__(self, match: Any) -> bool:
        value = match[self.variable].name
        return isinstance(value, Literal) and value.is_number(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IsNumber) and self.variable == other.variable

    def __hash__(self) -> int:
        return hash(self.variable)


class IsOf(matchpy.Constraint):  # type: ignore[misc]
    """What a variable stands for is of a sort: a term, or each of several.

    Args:
        plain: Gives the terms that an expression stands for.
    """

    def __init__(self, variable: str, sort: SortType, plain: Callable[[Any], Any]) -> None:
        self.variable, self.sort, self.plain = variable, sort, plain

    @property
    def variables(self) -> frozenset[str]:
        return frozenset([self.variable])

    def __call__(self, match: Any) -> bool:
        value = self.plain(match[self.variable])
        return all(is_of(term, self.sort) for term in (value if isinstance(value, tuple) else (value,)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IsOf) and (self.variable, self.sort) == (other.variable, other.sort)

    def __hash__(self) -> int:
        return hash((self.variable, self.sort))


def as_matchpy(pattern: App, plain: Callable[[Any], Any] = lambda value: value) -> Any:
    """The pattern as a `matchpy.Pattern`.

    Variables are dot wildcards, sequence variables star wildcards, attributes symbol wildcards or symbols;
    a number is a constant whose value a constraint looks at, and sorts are constraints.

    Args:
        plain: Gives the terms that an expression stands for.
    """
    constraints: list[matchpy.Constraint] = []
    expression = _expression(pattern, constraints)
    sorts = (IsOf(name, sort, plain) for name, sort in restrictions(pattern).items())
    return matchpy.Pattern(expression, *constraints, *sorts)


def _expression(pattern: Pattern, constraints: list[matchpy.Constraint]) -> Any:
    if isinstance(pattern, Var):
        return matchpy.Wildcard.dot(pattern.name)
    if isinstance(pattern, SeqVar):
        return matchpy.Wildcard.star(pattern.name)
    if isinstance(pattern, Num):
        number = IsNumber(f"number {len(constraints)}", pattern.value)
        constraints.append(number)
        value = matchpy.Wildcard.symbol(number.variable, Attribute)
        return head(lookup("core.constant"))(value, matchpy.Wildcard.dot())
    if is_nest(pattern):
        return nest_head(pattern.definition)(*(_expression(a, constraints) for a in pattern.args))
    binds = {a: matchpy.Wildcard.symbol(name, Attribute) for a, name in pattern.binds}
    compares = {a: Attribute(value_of(e, {})) for a, e in pattern.compares}
    attributes = [binds.get(a) or compares.get(a) or matchpy.Wildcard.dot() for a in pattern.definition.attributes]
    return head(pattern.definition)(*attributes, *(_expression(a, constraints) for a in pattern.args))


def reference_matches(rule: Rule, term: Op) -> list[dict[str, Any]]:
    """Every substitution with which the left side of `rule` matches `term`, guards aside.

    The form is that of `Matcher.matches`: a term per variable, a tuple of terms per sequence variable, a
    value per attribute name. Equal terms must be the same object, as they are in a `TermBank`. The terms that a
    sequence variable matches among operands in any order come in any order. An op of which the rule matches nests
    may stand in it as a nest only, and must have no identity: a pattern of it would match what stands alone.
    """
    names = [*variables(rule.left), *attribute_names(rule.left)]
    nested = frozenset(p.definition for p in subpatterns(rule.left) if isinstance(p, App) and is_nest(p))
    subject = _Subject(nested)
    found = matchpy.match(subject.expression(term) if nested else term, as_matchpy(rule.left, subject.plain))
    return [{name: subject.plain(substitution[name]) for name in names} for substitution in found]


class _Subject:
    """A term with its nests flattened, as a matchpy expression of its own, and the way back."""

    def __init__(self, nested: frozenset[OpDef]) -> None:
        self.nested = nested
        self.known: dict[Op, Any] = {}
        self.terms: dict[Any, Op] = {}

    def expression(self, term: Op) -> Any:
        if term not in self.known:
            self.known[term] = found = self._new(term)
            self.terms[found] = term
        return self.known[term]

    def _new(self, term: Op) -> Any:
        if term.definition in self.nested:
            own = term.args if is_flat(term.definition) else operands(term)
            return nest_head(term.definition)(*map(self.expression, own))
        if "source" in term.definition.traits and term.definition.name != "core.constant":
            return _Leaf(f"term {len(self.known)}")
        return head(term.definition)(*map(Attribute, term.attrs), *map(self.expression, term.args))

    def plain(self, value: Any) -> Any:
        """The terms, or the attribute, that an expression stands for; terms stand for themselves."""
        if isinstance(value, Attribute):
            return value.name
        if isinstance(value, tuple | BaseMultiset):
            return tuple(self.terms.get(v, v) for v in value)
        return self.terms.get(value, value)
