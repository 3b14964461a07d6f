# SPDX-License-Identifier: Apache-2.0
"""What stands on the two sides of a rule: patterns on the left, templates on the right.

A pattern is a variable, a sequence variable, a number, or an op applied to patterns; a template is the
same with expressions for attributes. Both are plain data that every tool (the tree compiler, matchpy,
the static checks, the explanations) reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ngraph_rewrite.rewriting.expression import Expression, Span
from ngraph_rewrite.terms.catalogue import OpDef

Number = bool | int | float
NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Var:
    """Matches any term; a name that stands twice must match the same term twice."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SeqVar:
    """``x...``: matches any run of arguments of an op that takes any number."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.name}..."


@dataclass(frozen=True, eq=False)
class Num:
    """On the left a constant filled with this number, bit by bit; on the right such a constant.

    0, 0.0, -0.0 and False are four different numbers here.
    """

    value: Number
    span: Span = field(default=NOWHERE, compare=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Num) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class App:
    """An op applied to patterns.

    Attributes:
        binds: ``(attribute, name)``: the attribute's value is called `name`.
        compares: ``(attribute, expression)``: the attribute must equal the expression's value.
        once: Whether the term must have no other user in the graph.
    """

    definition: OpDef
    args: tuple[Pattern, ...]
    binds: tuple[tuple[str, str], ...] = ()
    compares: tuple[tuple[str, Expression], ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    once: bool = False

    def __str__(self) -> str:
        attributes = [f"{a}={n}" for a, n in self.binds] + [f"{a}={e}" for a, e in self.compares]
        found = f"{self.definition.short}({', '.join([*map(str, self.args), *attributes])})"
        return f"once({found})" if self.once else found


Pattern = Var | SeqVar | Num | App


@dataclass(frozen=True)
class Build:
    """A term to be built: an op, templates for its arguments, an expression for each attribute."""

    definition: OpDef
    args: tuple[Template, ...]
    attributes: tuple[tuple[str, Expression], ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Spread:
    """``f(x)...``: the template once per element of the sequences it mentions."""

    template: Template
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Pick:
    """``x...[i]``: the term number `index` of those a sequence variable matched."""

    name: str
    index: Expression
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Computed:
    """``f(t, ...)``: what the term function called `function` makes of terms; it is a whole right side."""

    function: str
    args: tuple[Template, ...]
    span: Span = field(default=NOWHERE, compare=False)


Template = Var | Num | Build | Spread | Pick | Computed


def subpatterns(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and everything inside it, in the order it is written."""
    yield pattern
    if isinstance(pattern, App):
        for arg in pattern.args:
            yield from subpatterns(arg)


def variables(pattern: Pattern) -> dict[str, bool]:
    """The names of the variables in order of first appearance; the value says whether it is a sequence."""
    found: dict[str, bool] = {}
    for part in subpatterns(pattern):
        if isinstance(part, Var | SeqVar):
            found.setdefault(part.name, isinstance(part, SeqVar))
    return found


def attribute_names(pattern: Pattern) -> list[str]:
    """The names bound to attributes, each once, in order."""
    names = [n for part in subpatterns(pattern) if isinstance(part, App) for _, n in part.binds]
    return list(dict.fromkeys(names))


def subtemplates(template: Template) -> Iterator[Template]:
    """The template and everything inside it, in the order it is written."""
    yield template
    if isinstance(template, Build | Computed):
        for arg in template.args:
            yield from subtemplates(arg)
    elif isinstance(template, Spread):
        yield from subtemplates(template.template)
