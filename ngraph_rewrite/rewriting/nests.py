# SPDX-License-Identifier: Apache-2.0
"""A nest is one associative op inside itself: ``add(add(x, y), z)`` has three operands, however it is grouped.

A pattern with a sequence variable, or with other than two operands, of such an op matches the operands of a whole
nest: the inner terms of the same op and type count as part of it. On the right it is a nest from left to right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ngraph_rewrite.rewriting.bounds import OPERANDS
from ngraph_rewrite.rewriting.pattern import App, Build, Pattern, SeqVar, Spread, Template
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

# What a nest without operands is, by the short name of the op: it leaves any other operand as it is.
IDENTITIES: Mapping[str, int | bool] = MappingProxyType(
    {
        "add": 0,
        "multiply": 1,
        "logical_and": True,
        "logical_or": False,
        "logical_xor": False,
        "bitwise_and": -1,
        "bitwise_or": 0,
        "bitwise_xor": 0,
    }
)


def nests(definition: OpDef) -> bool:
    """Whether terms of this op have no more to say than their operands, in some grouping."""
    return definition.arity == 2 and "associative" in definition.traits and not definition.attributes


def is_flat(definition: OpDef) -> bool:
    """Whether terms of this operation of a signature have their operands in one list already."""
    return definition.profile is not None and definition.profile.associative


def has_identity(side: Pattern | Template) -> bool:
    """Whether a pattern may match one operand that stands alone, or the identity that stands for none."""
    profile = side.definition.profile if isinstance(side, App) else None
    return profile is not None and profile.identity is not None


def is_nest(side: Pattern | Template) -> bool:
    """Whether a pattern, or a template, stands for a nest of any grouping.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rules = parse_rules("simplify semi\\nrule a: add(x, -x, y...) => add(y...)\\nrule b: x + y => y\\n", "r", "r")
    >>> [(is_nest(rule.left), is_nest(rule.right[0])) for rule in rules]
    [(True, True), (False, False)]
    """
    if not isinstance(side, App | Build) or not nests(side.definition):
        return isinstance(side, App) and is_flat(side.definition)
    return len(side.args) != 2 or any(isinstance(a, SeqVar | Spread) for a in side.args)


def may_be_empty(template: Template) -> bool:
    """Whether a template is a nest that may have no operand."""
    return isinstance(template, Build) and is_nest(template) and all(isinstance(a, Spread) for a in template.args)


def is_searched(pattern: Pattern) -> bool:
    """Whether operands are to be found that stand at no fixed place: in a nest, or between two sequences."""
    if not isinstance(pattern, App):
        return False
    runs = sum(isinstance(a, SeqVar) for a in pattern.args)
    return runs > 1 or is_nest(pattern) or any(map(is_searched, pattern.args))


def as_nests(pattern: Pattern) -> Pattern:
    """The pattern with the operands of each associative op in one list, so that they match in any grouping.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule a: exp(x + (-y + z)) => z", "r", "r")
    >>> print(as_nests(rule.left))
    exp(add(x, negative(y), z))
    """
    if not isinstance(pattern, App):
        return pattern
    args = tuple(map(as_nests, pattern.args))
    if nests(pattern.definition):
        same = [isinstance(a, App) and a.definition is pattern.definition and not a.once for a in args]
        args = tuple(b for a, flat in zip(args, same, strict=True) for b in (a.args if flat else (a,)))  # type: ignore[union-attr]
    return replace(pattern, args=args)


def grouped(definition: OpDef, args: Sequence[Pattern]) -> Pattern:
    """A nest of patterns, each for one operand, grouped from the left: what a binary op matches."""
    found = args[0]
    for arg in args[1:]:
        found = App(definition, (found, arg))
    return found


def chain(make: Any, definition: OpDef, items: Sequence[Op], filled: Any, dtype: Any, axes: Any) -> Op:
    """The nest of some operands, grouped from the left; one stands alone, and none is the identity.

    Args:
        filled: Makes a constant of a number, a dtype and axes.
    """
    if not items:
        number = IDENTITIES[definition.short]
        return filled(make, _fitting(number, dtype), dtype, axes)  # type: ignore[no-any-return]
    found = items[0]
    for item in items[1:]:
        found = make(definition, (found, item), ())
    return found


def _fitting(number: int | bool, dtype: Any) -> int | bool:
    """The number as one of the dtype: all bits set is the greatest where there is no sign."""
    if dtype.kind == "b":
        return bool(number)
    return 256**dtype.itemsize - 1 if number == -1 and dtype.kind == "u" else number


def inner(term: Op, of: Op) -> bool:
    """Whether a term is a part of the nest of the term it is an operand of."""
    return term.definition is of.definition and (term.type is of.type or term.type == of.type)


def operands(term: Op, most: float = math.inf) -> list[Op]:
    """The operands of the nest whose root a term is, from left to right.

    Args:
        most: So many are enough: a nest that is shared unfolds to any number.
    """
    definition, type_ = term.definition, term.type
    found: list[Op] = []
    stack = [term.args[1], term.args[0]]
    while stack and len(found) < most:
        one = stack.pop()
        if one.definition is definition and (one.type is type_ or one.type == type_):
            stack.append(one.args[1])
            stack.append(one.args[0])
        else:
            found.append(one)
    return found


def operand_count(term: Op) -> int:
    """How many operands `operands` gives, without unfolding what is shared.

    >>> import ngraph_rewrite as ng
    >>> from ngraph_rewrite import semi
    >>> term = ng.placeholder((3,))
    >>> for _ in range(40):
    ...     term = semi.add(term, term)
    >>> operand_count(term) == 2**40
    True
    """
    return Summaries().of(term).operands


class Summary(NamedTuple):
    """What is known of a nest before it is looked through."""

    operands: int
    ops: frozenset[OpDef]


class Summaries:
    """The summaries of nests of one op, each worked out from those of its parts and kept as long as the term lives.

    So a chain of additions is not looked through once for each of them.
    """

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Op, Summary] = WeakKeyDictionary()

    def has(self, term: Op, ops: Iterable[OpDef], least: int, exact: bool) -> bool:
        """Whether a nest has operands of these ops, and at least, or exactly, so many operands in all.

        A nest of more than `bounds.OPERANDS` is left alone: one that is shared unfolds to any number.
        """
        count, own = self.of(term)
        fits = count == least if exact else least <= count <= OPERANDS
        return fits and own.issuperset(ops)

    def of(self, term: Op) -> Summary:
        """The summary of the nest whose root a term is."""
        return self._known.get(term) or self._summary(term)

    def _summary(self, term: Op) -> Summary:
        known, stack = self._known, [term]
        while stack:
            one = stack[-1]
            sides = [known.get(a) if inner(a, one) else _alone(a.definition) for a in one.args]
            if None in sides:
                stack += [a for a, side in zip(one.args, sides, strict=True) if side is None]
                continue
            stack.pop()
            (count, ops), (more, others) = sides  # type: ignore[misc]
            known[one] = Summary(count + more, ops if others <= ops else ops | others)
        return known[term]


@lru_cache(maxsize=4096)
def _alone(definition: OpDef) -> Summary:
    """The summary of one operand."""
    return Summary(1, frozenset([definition]))
