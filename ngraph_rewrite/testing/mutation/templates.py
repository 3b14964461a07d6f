# SPDX-License-Identifier: Apache-2.0
"""Right sides with one thing wrong: an op, an argument, a number, a variable, an attribute."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.pattern import Build, Num, Number, Pick, Spread, Template, Var, subtemplates
from ngraph_rewrite.rewriting.registry import attribute_functions
from ngraph_rewrite.terms.catalogue import OpDef, find
from ngraph_rewrite.testing.mutation.expressions import Groups, broken, next_to, read

# What is wrong, and the template in which it is.
Broken = tuple[str, Template]

# Ops that are taken for one another: of one type, with other values.
_SIBLINGS = (
    "add subtract", "multiply divide", "maximum minimum", "floordivide mod", "power atan2", "hypot copysign",
    "exp expm1", "log log1p", "log2 log10", "sin cos", "tan tanh", "sinh cosh", "asin acos", "atan asinh",
    "acosh atanh", "sqrt square", "reciprocal negative", "absolute sign", "sigmoid erf", "floor ceil", "round trunc",
    "isnan isinf", "logical_and logical_or", "equal not_equal", "less less_equal", "greater greater_equal",
    "bitwise_and bitwise_or", "left_shift right_shift", "sum prod", "max min", "any all", "argmax argmin",
    "mean variance", "cumsum cumprod", "cummax cummin", "cumulative_sum cumulative_prod", "L1_norm squared_L2",
    "sort_up sort_down", "relu safelog",
)  # fmt: skip
_OTHER = {a: b for pair in _SIBLINGS for a, b in (pair.split(), pair.split()[::-1])} | {
    "logical_xor": "logical_or", "bitwise_xor": "bitwise_or", "isfinite": "isinf", "logaddexp": "maximum",
    "nextafter": "copysign", "erfinv": "erf", "lgamma": "digamma", "digamma": "trigamma", "trigamma": "digamma",
    "cbrt": "sqrt",
}  # fmt: skip
# Attributes that are taken for one another.
_PAIRS = (
    ("before", "after"), ("starts", "stops"), ("stops", "steps"), ("strides", "dilations"), ("left", "right"),
    ("low", "high"), ("loc", "scale"), ("lengths", "strides"), ("axis1", "axis2"), ("parameters", "states"),
)  # fmt: skip
_PLACES = frozenset({"axis", "pos", "offset", "k", "shift", "correction", "index", "low", "high", "loc", "groups"})
_FLAGS = frozenset(
    "keepdims descending reverse endpoint include_initial usebits counted right ta tb lower unit transposed".split()
)
_RUNS = frozenset(
    "shape dims starts stops steps before after interior sizes strides dilations reps order places new".split()
)


@dataclass(frozen=True)
class Scope:
    """The names of a rule: its variables, its sequence variables, and its attributes."""

    terms: tuple[str, ...]
    sequences: tuple[str, ...]
    attributes: tuple[str, ...]

    @property
    def groups(self) -> Groups:
        """The names that may be taken for one another."""
        return [self.terms, self.sequences, self.attributes]


def variants(template: Template, scope: Scope) -> Iterator[Broken]:
    """Every variant of a template with one thing wrong."""
    if isinstance(template, Build):
        yield from _build(template, scope)
        yield from _within(template, scope)
    elif isinstance(template, Spread):
        for what, new in variants(template.template, scope):
            if any(isinstance(part, Var) and part.name in scope.sequences for part in subtemplates(new)):
                yield what, Spread(new)
    elif isinstance(template, Num):
        yield from ((f"{new!r} for {template.value!r}", Num(new)) for new in numbers(template.value))
    elif isinstance(template, Var):
        yield from ((f"{new} for {template.name}", Var(new)) for new in next_to(template.name, scope.groups))
    elif isinstance(template, Pick):
        for what, index in broken(template.index, scope.groups):
            yield f"{what} in ...[]", replace(template, index=index)
        yield "the next of the sequence", replace(template, index=read(f"({template.index}) + 1"))


def _within(template: Build, scope: Scope) -> Iterator[Broken]:
    """The op with one thing wrong in an argument or an attribute."""
    short = template.definition.short
    for i, arg in enumerate(template.args):
        for what, new in variants(arg, scope):
            yield what, replace(template, args=(*template.args[:i], new, *template.args[i + 1 :]))
    for i, (name, expression) in enumerate(template.attributes):
        for what, other in (*broken(expression, scope.groups), *_attribute(template.definition, name, expression)):
            given = (*template.attributes[:i], (name, other), *template.attributes[i + 1 :])
            yield f"{what} in {name} of {short}", replace(template, attributes=given)


def _build(template: Build, scope: Scope) -> Iterator[Broken]:
    short, args = template.definition.short, template.args
    for i in range(len(args) - 1):
        plain = not isinstance(args[i], Spread) and not isinstance(args[i + 1], Spread)
        if plain and args[i] != args[i + 1] and not template.definition.commutative:
            exchanged = (*args[:i], args[i + 1], args[i], *args[i + 2 :])
            yield f"arguments of {short} exchanged", replace(template, args=exchanged)
    for i, arg in enumerate(args):
        if not isinstance(arg, Spread | Num):
            yield f"argument {i + 1} of {short} for all of it" if len(args) > 1 else f"{short} dropped", arg
    other = sibling(template.definition)
    if other is not None:
        yield f"{other.short} for {short}", replace(template, definition=other)
    yield from _exchanged(template)


def _exchanged(template: Build) -> Iterator[Broken]:
    given = dict(template.attributes)
    for a, b in _PAIRS:
        if a in given and b in given and given[a] != given[b]:
            swapped = {**given, a: given[b], b: given[a]}
            yield (
                f"{a} and {b} of {template.definition.short} exchanged",
                replace(template, attributes=tuple(swapped.items())),
            )


def sibling(definition: OpDef) -> OpDef | None:
    """The op of the same family that may be taken for this one: of as many arguments, and the same attributes."""
    other = find(f"{definition.family}.{_OTHER.get(definition.short, '')}")
    alike = other is not None and (other.arity, other.attributes) == (definition.arity, definition.attributes)
    return other if alike else None


def numbers(value: Number) -> list[Number]:
    """Numbers that may stand for `value` by mistake: the next one, a thousandth more, another sign."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, -value] if value else [1]
    if value != value or value in (float("inf"), float("-inf")):
        return [0.0, -value] if value == value else [0.0]
    return [value * 1.001, -value] if value else [1.0]


def _attribute(definition: OpDef, name: str, expression: Expression) -> Iterator[tuple[str, Expression]]:
    """Mistakes that are usual in an attribute of this name."""
    text, constant = str(expression), not expression.names
    if name in _PLACES and definition.kin != "axes" and not constant:
        yield "+ 1", read(f"({text}) + 1")
    if name in ("perm", "order") and "inverse" in attribute_functions() and not constant:
        yield "inverse", read(f"inverse({text})")
    if name in ("axes", "over") and not constant:
        yield "the first forgotten", read(f"({text})[1:]")
    if name in _RUNS and not constant:
        yield "reversed", read(f"({text})[::-1]")
    if name in _FLAGS and not constant:
        yield "not", read(f"not ({text})")
    if name == "dtype" and not constant:
        yield "float16", read("'float16'")
    if name == "eps" and not constant:
        yield "twice", read(f"({text}) * 2")
