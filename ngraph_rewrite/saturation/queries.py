# SPDX-License-Identifier: Apache-2.0
"""Left sides as egglog queries: an atom for each op, joined where a variable stands twice.

egglog matches by joins of tables (Zhang et al., *Better Together: Unifying Datalog and Equality Saturation*, PLDI
2023). A pattern becomes one query for each choice of orders of operands that cannot be exchanged in the e-graph, and
of numbers of terms that its sequence variables match. What an attribute must be is asked of a table of heads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, subpatterns, variables
from ngraph_rewrite.saturation.nodes import Constructor, Head
from ngraph_rewrite.terms.catalogue import OpDef, lookup

# What a head must be, under a name that is equal for equal tests.
Test = tuple[str, Callable[[Head], bool]]


@dataclass(frozen=True)
class Variable:
    """A place of a query that any class can take."""

    name: str


@dataclass(frozen=True)
class Node:
    """A place of a query that an e-node of one constructor takes."""

    constructor: Constructor
    pattern: App | Num
    children: tuple[Place, ...]


Place = Variable | Node


@dataclass(frozen=True)
class Query:
    """A query, and what a row of its answer says.

    Attributes:
        nodes: The places of ops, from the root: the first columns of a row are the numbers of their heads.
        names: The variables: the other columns are their classes. ``x.0`` is the first term of ``x...``.
    """

    root: Node
    nodes: tuple[Node, ...] = field(compare=False)
    names: tuple[str, ...] = field(compare=False)

    @cached_property
    def runs(self) -> list[tuple[str, tuple[str, ...] | None]]:
        """The variables of the pattern, each with the names that a sequence stands for here."""
        assert isinstance(self.root.pattern, App)
        return [
            (name, tuple(n for n in self.names if n.startswith(f"{name}.")) if sequence else None)
            for name, sequence in variables(self.root.pattern).items()
        ]

    @cached_property
    def binds(self) -> list[tuple[str, int, int]]:
        """The names of attributes, each with the number of the node and of its attribute."""
        apps = [(i, node.pattern) for i, node in enumerate(self.nodes) if isinstance(node.pattern, App)]
        return [(name, i, app.definition.attributes.index(of)) for i, app in apps for of, name in app.binds]


def mentioned_ops(pattern: Pattern) -> frozenset[OpDef]:
    """The ops that a term must have to match."""
    parts = list(subpatterns(pattern))
    own = {p.definition for p in parts if isinstance(p, App)}
    return frozenset(own | ({lookup("core.constant")} if any(isinstance(p, Num) for p in parts) else set()))


def queries(pattern: App, known: Mapping[OpDef, Collection[Constructor]]) -> Iterator[Query]:
    """The queries that find a pattern among e-nodes of the constructors that are known."""
    for root in _places(pattern, known):
        if isinstance(root, Node):
            found = list(_walk(root))
            names = dict.fromkeys(p.name for p in found if isinstance(p, Variable))
            yield Query(root, tuple(p for p in found if isinstance(p, Node)), tuple(names))


def _walk(place: Place) -> Iterator[Place]:
    yield place
    if isinstance(place, Node):
        for child in place.children:
            yield from _walk(child)


def _places(pattern: Pattern, known: Mapping[OpDef, Collection[Constructor]]) -> Iterator[Place]:
    if isinstance(pattern, Var):
        yield Variable(pattern.name)
    elif isinstance(pattern, Num):
        yield Node(Constructor(lookup("core.constant"), 0), pattern, ())
    elif isinstance(pattern, App):
        for constructor in known.get(pattern.definition, ()):
            for args in _arguments(pattern, constructor):
                for children in itertools.product(*[list(_places(a, known)) for a in args]):
                    yield Node(constructor, pattern, children)


def _arguments(pattern: App, constructor: Constructor) -> Iterator[tuple[Pattern, ...]]:
    """The arguments, one for each child: sequences spelled out, in each order that the e-graph does not hold itself."""
    spare = constructor.arity - len(pattern.args)
    at = next((i for i, a in enumerate(pattern.args) if isinstance(a, SeqVar)), None)
    if at is None:
        if spare == 0:
            yield pattern.args
            if pattern.definition.commutative and not constructor.swaps and pattern.args[0] != pattern.args[1]:
                yield pattern.args[::-1]
    elif spare >= -1:
        name = pattern.args[at].name  # type: ignore[union-attr]
        run = tuple(Var(f"{name}.{i}") for i in range(spare + 1))
        yield (*pattern.args[:at], *run, *pattern.args[at + 1 :])


def tests(node: Node) -> Iterator[Test]:
    """What the head of a node must be."""
    pattern = node.pattern
    if isinstance(pattern, Num):
        number = pattern.value
        yield f"number {number!r}", lambda head: head.attrs[0].is_number(number)
        return
    for name, expression in pattern.compares:
        value = value_of(expression, {})
        at = pattern.definition.attributes.index(name)
        yield f"{pattern.definition} {name}={value!r}", _equals(at, value)


def _equals(at: int, value: Any) -> Callable[[Head], bool]:
    return lambda head: bool(head.attrs[at] == value)
