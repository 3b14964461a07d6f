# SPDX-License-Identifier: Apache-2.0
"""Unification: what variables must stand for to make two patterns equal, in the most general way.

Operands of a commutative op unify in either order, so there may be several ways. Attributes are compared as far as
patterns say what they are, and a number unifies with a ``constant(...)``; types and guards are not asked. See Baader
and Nipkow, *Term Rewriting and All That* (1998), chapters 4 and 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.interpret import value_of
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, Var
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, INT64

# What a pattern says of an attribute: a name, what it must equal, or the number that a constant is filled with.
Said = str | Expression | Num


@dataclass(frozen=True)
class Unifier:
    """What makes two patterns equal.

    Attributes:
        terms: What variables stand for; the variables in it may stand for something themselves.
        names: What names of attributes stand for: another name, an expression, or a number.
    """

    terms: dict[str, Pattern]
    names: dict[str, Said]


def unifiers(left: Pattern, right: Pattern, given: Unifier | None = None) -> Iterator[Unifier]:
    """What makes two patterns without sequence variables equal; one for each order of commutative operands.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules("simplify semi\\nrule a: exp(x) + y => y\\nrule b: u + exp(v) => u\\n", "r.rules", "r")
    >>> for unifier in unifiers(a.left, b.left):
    ...     print({name: str(pattern) for name, pattern in unifier.terms.items()})
    {'u': 'exp(x)', 'y': 'exp(v)'}
    {'x': 'v', 'y': 'u'}
    """
    known = given or Unifier({}, {})
    left, right = _walked(left, known), _walked(right, known)
    if isinstance(left, Var) and isinstance(right, Var) and left.name == right.name:
        yield known
    elif isinstance(left, Var):
        if not _occurs(left.name, right, known):
            yield Unifier({**known.terms, left.name: right}, known.names)
    elif isinstance(right, Var) or isinstance(right, Num) > isinstance(left, Num):
        yield from unifiers(right, left, known)
    elif isinstance(left, Num):
        names = _filled(left, right, known.names)
        if names is not None:
            yield Unifier(known.terms, names)
    elif isinstance(left, App) and isinstance(right, App) and left.definition is right.definition:
        yield from _applications(left, right, known)


def _applications(left: App, right: App, known: Unifier) -> Iterator[Unifier]:
    names: dict[str, Said] | None = known.names
    said = _said(right)
    for attribute, value in _said(left).items():
        for other in said.get(attribute, ()):
            for own in value:
                names = None if names is None else _equated(own, other, names)
    if names is None or len(left.args) != len(right.args):
        return
    orders = permutations(right.args) if left.definition.commutative else [right.args]
    for args in orders:
        yield from _all(left.args, tuple(args), Unifier(known.terms, names))


def _all(left: Sequence[Pattern], right: Sequence[Pattern], known: Unifier) -> Iterator[Unifier]:
    if not left:
        yield known
        return
    for unifier in unifiers(left[0], right[0], known):
        yield from _all(left[1:], right[1:], unifier)


def _filled(number: Num, other: Pattern, names: dict[str, Said]) -> dict[str, Said] | None:
    """What names stand for if a constant that is filled with the number is also the other pattern."""
    if isinstance(other, App):
        if other.definition.name != "core.constant":
            return None
        own: list[Said] = [name for attribute, name in other.binds if attribute == "value"]
        return _equated(own[0], number, names) if own else names
    assert isinstance(other, Num)
    return names if _constant(number, other) else None


def _constant(one: Num, other: Num) -> bool:
    """Whether some constant is filled with both numbers."""
    return any(_fills(one, dtype) and _fills(other, dtype, one) for dtype in (BOOL, INT64, FLOAT64))


def _fills(number: Num, dtype: Any, value: Num | None = None) -> bool:
    """Whether a constant of this dtype that is filled with `value` is filled with `number`."""
    try:
        return Literal((value or number).value, dtype).is_number(number.value)
    except (NGraphRewriteError, OverflowError, ValueError):
        return False


def _said(pattern: App) -> dict[str, list[Said]]:
    """What a pattern says of each attribute: the names it gives it, the expression it must equal."""
    found: dict[str, list[Said]] = {}
    for attribute, name in pattern.binds:
        found.setdefault(attribute, []).append(name)
    for attribute, expression in pattern.compares:
        found.setdefault(attribute, []).append(expression)
    return found


def _equated(a: Said, b: Said, names: dict[str, Said]) -> dict[str, Said] | None:
    a, b = _meant(a, names), _meant(b, names)
    if isinstance(a, str):
        return names if a == b else {**names, a: b}
    if isinstance(b, str):
        return {**names, b: a}
    if isinstance(a, Num) or isinstance(b, Num):
        both = isinstance(a, Num) and isinstance(b, Num) and _constant(a, b)
        return names if both else None
    return names if value_of(a, {}) == value_of(b, {}) else None


def _meant(said: Said, names: dict[str, Said]) -> Said:
    while isinstance(said, str) and said in names:
        said = names[said]
    return said


def _walked(pattern: Pattern, known: Unifier) -> Pattern:
    while isinstance(pattern, Var) and pattern.name in known.terms:
        pattern = known.terms[pattern.name]
    return pattern


def _occurs(name: str, pattern: Pattern, known: Unifier) -> bool:
    pattern = _walked(pattern, known)
    if isinstance(pattern, App):
        return any(_occurs(name, a, known) for a in pattern.args)
    return isinstance(pattern, Var) and pattern.name == name


def resolved(pattern: Pattern, unifier: Unifier) -> Pattern:
    """The pattern with everything put in that its names stand for."""
    pattern = _walked(pattern, unifier)
    if not isinstance(pattern, App):
        return pattern
    binds, compares = [], list(pattern.compares)
    for attribute, name in pattern.binds:
        said = _meant(name, unifier.names)
        if isinstance(said, Num):
            return said
        binds += [(attribute, said)] if isinstance(said, str) else []
        compares += [(attribute, said)] if not isinstance(said, str) else []
    args = tuple(resolved(a, unifier) for a in pattern.args)
    return App(pattern.definition, args, tuple(binds), tuple(dict(compares).items()), pattern.span)
