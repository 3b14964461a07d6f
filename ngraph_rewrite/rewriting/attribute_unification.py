# SPDX-License-Identifier: Apache-2.0
"""What patterns say of attributes, made equal: names, values, and the numbers that constants are filled with."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, INT64

# What a pattern says of an attribute: a name, what it must equal, or the number that a constant is filled with.
Said = str | Expression | Num


def filled(number: Num, other: Pattern, names: dict[str, Said]) -> dict[str, Said] | None:
    """What names stand for if a constant that is filled with the number is also the other pattern."""
    if isinstance(other, App):
        if other.definition.name != "core.constant":
            return None
        own: list[Said] = [name for attribute, name in other.binds if attribute == "value"]
        return equated(own[0], number, names) if own else names
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


def said(pattern: App) -> dict[str, list[Said]]:
    """What a pattern says of each attribute: the names it gives it, the expression it must equal."""
    found: dict[str, list[Said]] = {}
    for attribute, name in pattern.binds:
        found.setdefault(attribute, []).append(name)
    for attribute, expression in pattern.compares:
        found.setdefault(attribute, []).append(expression)
    return found


def equated(a: Said, b: Said, names: dict[str, Said]) -> dict[str, Said] | None:
    """What names stand for if two things that are said of one attribute are the same; None if they are not."""
    a, b = meant(a, names), meant(b, names)
    if isinstance(a, str):
        return names if a == b else {**names, a: b}
    if isinstance(b, str):
        return {**names, b: a}
    if isinstance(a, Num) or isinstance(b, Num):
        both = isinstance(a, Num) and isinstance(b, Num) and _constant(a, b)
        return names if both else None
    return names if value_of(a, {}) == value_of(b, {}) else None


def meant(one: Said, names: dict[str, Said]) -> Said:
    """What a name stands for, if anything is known of it."""
    while isinstance(one, str) and one in names:
        one = names[one]
    return one
