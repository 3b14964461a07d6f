# SPDX-License-Identifier: Apache-2.0
"""What stands on the two sides of a rule: patterns on the left, templates on the right.

A pattern is a variable, a sequence variable, a number, or an op applied to patterns; a template is the
same with expressions for attributes. Both are plain data that every tool (the tree compiler, matchpy,
the static checks, the explanations) reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ngraph_rewrite.rewriting.expression import Expression, Span
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.sorts import SortType

Number = bool | int | float
NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Var:
    """Matches any term; a name that stands twice must match the same term twice.

    Attributes:
        sort: In a pattern of a signature, the sort that the term must be of; None for any. One name has one sort.
    """

    name: str
    span: Span = field(default=NOWHERE, compare=False)
    sort: SortType | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name if self.sort is None else f"{self.sort}({self.name})"


@dataclass(frozen=True)
class SeqVar:
    """``x...``: matches any run of arguments of an op that takes any number.

    Attributes:
        sort: In a pattern of a signature, the sort that each of them must be of; None for any.
    """

    name: str
    span: Span = field(default=NOWHERE, compare=False)
    sort: SortType | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.name}..." if self.sort is None else f"{self.sort}({self.name}...)"


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

    def __str__(self) -> str:
        attributes = [f"{a}={e}" for a, e in self.attributes]
        return f"{self.definition.short}({', '.join([*map(str, self.args), *attributes])})"


@dataclass(frozen=True)
class Spread:
    """``f(x)...``: the template once per element of the sequences it mentions."""

    template: Template
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.template}..."


@dataclass(frozen=True)
class Pick:
    """``x...[i]``: the term number `index` of those a sequence variable matched."""

    name: str
    index: Expression
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.name}...[{self.index}]"


@dataclass(frozen=True)
class Computed:
    """``f(t, ...)``: what the term function called `function` makes of terms; it is a whole right side."""

    function: str
    args: tuple[Template, ...]
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.args))})"


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


def is_of(term: Op, sort: SortType | None) -> bool:
    """Whether a term may stand for a variable that is restricted to a sort, or to none."""
    return sort is None or term.type.fits(sort)  # type: ignore[attr-defined]


def restrictions(pattern: Pattern) -> dict[str, SortType]:
    """The sorts that variables of a pattern are restricted to, by their names."""
    parts = (p for p in subpatterns(pattern) if isinstance(p, Var | SeqVar))
    return {part.name: part.sort for part in parts if part.sort is not None}


def restricted(pattern: Pattern, sorts: Mapping[str, SortType]) -> Pattern:
    """The pattern with variables restricted to sorts, wherever they stand."""
    if isinstance(pattern, App):
        return replace(pattern, args=tuple([restricted(arg, sorts) for arg in pattern.args]))
    if isinstance(pattern, Var | SeqVar) and pattern.name in sorts:
        return replace(pattern, sort=sorts[pattern.name])
    return pattern


def subtemplates(template: Template) -> Iterator[Template]:
    """The template and everything inside it, in the order it is written."""
    yield template
    if isinstance(template, Build | Computed):
        for arg in template.args:
            yield from subtemplates(arg)
    elif isinstance(template, Spread):
        yield from subtemplates(template.template)


def computed(template: Template) -> Iterator[Expression]:
    """The expressions in a template: of attributes, and of the numbers of those that it picks."""
    for part in subtemplates(template):
        if isinstance(part, Build):
            yield from (expression for _, expression in part.attributes)
        elif isinstance(part, Pick):
            yield part.index
