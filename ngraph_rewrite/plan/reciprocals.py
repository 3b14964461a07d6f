# SPDX-License-Identifier: Apache-2.0
"""What a row may be multiplied by instead of being divided: a product takes a fraction of a quotient's time.

A quotient is rounded once, a product with a reciprocal twice: 1.5 units in the last place at most. It is special where
the quotient is only if the reciprocal is neither infinite nor subnormal but where the divisor is 0 or infinite. That is
so of two things that rows are divided by:

* roots: they lie in the middle of all exponents;
* the sum of a softmax, ``sum(exp(x - m))`` where m is the greatest x, or 0 if that is infinite: one exponential is 1.

Numbers of 16 bits are multiplied in float32 by a reciprocal that is not rounded to 16 bits. What comes of it is their
quotient, rounded once, if that is not subnormal: quotients of numbers of so few bits are farther from where a rounding
changes than two roundings of 24 bits go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ngraph_rewrite.codegen.scalar import HALVES
from ngraph_rewrite.plan.nests import ScalarStep, Value
from ngraph_rewrite.terms.literal import Literal

_DTYPES = ("float32", "float64", *HALVES)


def has_fair_reciprocal(divisor: Value, steps: Sequence[ScalarStep]) -> bool:
    """Whether a product with the reciprocal of a value of a program does for a quotient.

    >>> root = ("sqrt", "float32", (-1,), None)
    >>> has_fair_reciprocal(0, [root]), has_fair_reciprocal(-1, [root])
    (True, False)
    """
    return _is(divisor, "sqrt", steps) or _is_sum_of_softmax(divisor, steps)


def multiplied(dividend: Value, divisor: Value, dtype: str, step: Callable[..., Value]) -> Value:
    """The steps of a quotient by way of a reciprocal.

    Args:
        step: Takes an operation, a dtype and operands, and gives what they make.
    """
    if dtype not in HALVES:
        return step("multiply", dtype, (dividend, step("reciprocal", dtype, (divisor,))))
    wide = [step("cast", "float32", (value,)) for value in (dividend, divisor)]
    found = step("multiply", "float32", (wide[0], step("reciprocal", "float32", (wide[1],))))
    return step("cast", dtype, (found,))


def _is(value: Value, op: str, steps: Sequence[ScalarStep]) -> bool:
    return value >= 0 and steps[value][0] == op and steps[value][1] in _DTYPES


def _is_sum_of_softmax(value: Value, steps: Sequence[ScalarStep]) -> bool:
    for op in ("sum", "exp", "subtract"):
        if not _is(value, op, steps):
            return False
        value, *others = steps[value][2]
    return _is_top(others[0], value, steps)


def _is_top(value: Value, of: Value, steps: Sequence[ScalarStep]) -> bool:
    """Whether it is the greatest element, which may be replaced by 0 where it is not finite."""
    if _is(value, "select", steps):
        condition, value, otherwise = steps[value][2]
        if condition < 0 or steps[condition][::2] != ("isfinite", (value,)) or not _is_zero(otherwise, steps):
            return False
    return _is(value, "max", steps) and steps[value][2] == (of,)


def _is_zero(value: Value, steps: Sequence[ScalarStep]) -> bool:
    number = steps[value][3] if _is(value, "constant", steps) else None
    return isinstance(number, Literal) and number.scalar == 0
