# SPDX-License-Identifier: Apache-2.0
"""A rule file is data that anyone may have written: what it says is bounded in size, and so is what it computes.

The bounds are far above what a rule needs, and far below what would take a noticeable time or much memory. The
arithmetic of attribute expressions goes through `plus`, `times` and `modulo`, both where they are interpreted and
in generated code; everything else that they may do makes nothing larger than it was given.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.terms.canonical import LARGEST
from ngraph_rewrite.types.lengths import Length

# Of a file: its characters, those of a line, those of a rule or shorthand, and how many rules and waivers it has.
FILE, LINE, STATEMENT, RULES, WAIVERS = 1 << 20, 1000, 20_000, 1000, 1000
# Of a rule: its clauses; of its left side the parts, those that are tested, the orders of exchanged operands, and the
# left sides that alternatives make of it.
CLAUSES, PATTERN, TESTED, ORDERS, WAYS = 64, 100, 30, 256, 64
# Of an expression: its parts, how deep they are nested, and how many shorthands are expanded; of what is in it, the
# bits of a number and the characters of a string.
PARTS, DEPTH, SHORTHANDS, BITS, CHARACTERS = 3000, 40, 500, 64, 1000
# Of a nest of one op, such as a sum, that patterns look through: its operands.
OPERANDS = 4096
# Of a rule: its conditions that match. Of a left side: its sequence variables. Of one search for what it matches at one
# term: the operands looked at.
MATCHES, SEQUENCES, SEARCHED = 8, 8, 1 << 28
# Of what is computed: the items of a sequence, and the terms and factors of an unknown length.
ITEMS, TERMS = 10_000, 256


def counted(count: int) -> int:
    """A number of items to be made, if it is not too large.

    Raises:
        AttributeValueError: for too many.

    >>> counted(3)
    3
    """
    if count > ITEMS:
        raise AttributeValueError(f"an attribute of {count} items is too large", do=f"at most {ITEMS}")
    return count


def plus(a: Any, b: Any) -> Any:
    """``a + b``, where sequences do not become too long.

    >>> plus(1, 2), plus((1,), (2,))
    (3, (1, 2))
    """
    if hasattr(a, "__len__") and hasattr(b, "__len__"):
        counted(len(a) + len(b))
    elif isinstance(a, Length) or isinstance(b, Length):
        _small(_terms(a) + _terms(b))
    return a + b


def times(a: Any, b: Any) -> Any:
    """``a * b``, where neither sequences nor numbers become too large.

    >>> times((0,), 3), times(Length.symbol("N"), 2)
    ((0, 0, 0), 2*N)
    """
    if isinstance(a, int) and isinstance(b, int):
        if a.bit_length() + b.bit_length() > LARGEST:
            raise AttributeValueError("an attribute is too large an integer", do=f"at most {LARGEST} bits")
    elif isinstance(a, Length) or isinstance(b, Length):
        _small(_terms(a) * _terms(b))
        _small(_factors(a) + _factors(b))
    else:
        for sequence, number in ((a, b), (b, a)):
            if isinstance(sequence, Sized) and isinstance(number, int):
                counted(len(sequence) * number)
    return a * b


def modulo(a: Any, b: Any) -> Any:
    """``a % b`` of numbers; strings are not formatted.

    >>> modulo(7, 4)
    3
    """
    if isinstance(a, str):
        raise AttributeValueError("% of a string is no attribute", do="use it on numbers")
    return a % b


def _small(count: int) -> None:
    if count > TERMS:
        raise AttributeValueError("an unknown length has become too large a polynomial", do=f"at most {TERMS} terms")


def _terms(value: Any) -> int:
    return len(value.terms) if isinstance(value, Length) else 1


def _factors(value: Any) -> int:
    return max((len(monomial) for monomial, _ in value.terms), default=0) if isinstance(value, Length) else 0
