# SPDX-License-Identifier: Apache-2.0
"""Logarithms by what AVX-512 has: a number is divided, without a rounding error, by one whose logarithm is in a table.

A reciprocal c of a mantissa, of five or six binary places, makes ``c m = 1 + f`` with f below 1/32 or 1/64, which is
exact; the logarithm of c is looked up (Tang, *Table-driven implementation of the logarithm function*, 1990). Nothing is
divided, and subnormal numbers have exponents and mantissas like the others. Tables are worked out in decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from functools import cache
from typing import NamedTuple

from ngraph_rewrite.runtime.lanes import (
    exponent_of,
    looked_up,
    mantissa_of,
    near_inverse,
    times_power,
    with_special,
)
from ngraph_rewrite.runtime.pairs import Pair, exact_product, exact_sum, ordered_sum
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Format, Real

_PLACES, _MORE_PLACES = 5, 6
_DIGITS = 50  # decimal ones, of what tables are worked out in
# The last place of leading parts, sums of multiples of which with exponents are exact
_LAST = {SINGLE: Decimal(2) ** -16, DOUBLE: Decimal(2) ** -42}
# What there is instead of a logarithm: NaN of a NaN and below 0, -inf of 0, inf of inf; of others nothing
_SPECIAL = 0x03530422

# (log(1 + f) - f) / f**2, and (log(1 + f) - f + f**2 / 2) / f**3
_REST: dict[Format, Sequence[float]] = {
    SINGLE: (-0.49999994946689746, 0.33333327013944325, -0.2502054208254372, 0.20019992044710178),
    DOUBLE: (-0.5, 0.3333333333333273, -0.24999999999998673, 0.20000000005927301, -0.1666666667509392,
             0.14285696141528198, -0.12499979191189836, 0.11132995490369733, -0.10021980379781946),
}  # fmt: skip
_CUBIC: dict[Format, Sequence[float]] = {
    SINGLE: (0.33333333140693683, -0.2500360803915236, 0.20004060241351176),
    DOUBLE: (0.3333333333333333, -0.24999999999999997, 0.20000000000095117, -0.1666666666678931, 0.14285713131449324,
             -0.12499998725313265, 0.11116629419625015, -0.10005473723492186),
}  # fmt: skip


class _Base(NamedTuple):
    """What logarithms to a base are made of, each but `scale` in two parts, of which the first has few digits.

    Attributes:
        scale: What a natural logarithm is multiplied by, in two numbers as exact as they come.
        of_two: The logarithm of 2.
        rows: The logarithms of one over sixteenths from 1 on, or smaller parts: leading parts, and what is left.
    """

    scale: tuple[float, float]
    of_two: tuple[float, float]
    rows: tuple[list[float], list[float]]


@cache
def _base(number: int | None, form: Format, places: int = _PLACES) -> _Base:
    """The logarithms to the base of a number, or natural ones, for reciprocals of so many places."""
    with localcontext() as context:
        context.prec = _DIGITS
        scale = Decimal(1) if number is None else 1 / Decimal(number).ln()
        leading = float((scale * 2 ** (form.digits - 1)).to_integral_value()) / 2 ** (form.digits - 1)
        two = _in_parts(scale * Decimal(2).ln(), form)
        count = 2 ** (places - 1)
        parts = [_in_parts(-scale * (1 + Decimal(j) / count).ln(), form) for j in range(count)]
        rows = [high for high, _ in parts], [low for _, low in parts]
        return _Base((leading, float(scale - Decimal(leading))), two, rows)


def _in_parts(x: Decimal, form: Format) -> tuple[float, float]:
    leading = (x / _LAST[form]).to_integral_value() * _LAST[form]
    return float(leading), float(x - leading)


class _Divided(NamedTuple):
    """``log(x) = high + low + log(1 + f) * scale``.

    Attributes:
        inverse: What x was multiplied by to give ``1 + f``: times two to the exponent, less its sign.
    """

    high: Real
    low: Real
    f: Real
    exponent: Real
    inverse: Real


def _divided(x: Real, base: _Base) -> _Divided:
    """A number, or that without its sign, divided by one of a table."""
    mantissa, exponent = mantissa_of(x), exponent_of(x)
    # added, this rounds to so many places and leaves them in the last bits
    shift = x.format.whole / (2 * len(base.rows[0]))
    shifted = near_inverse(mantissa) + shift
    inverse, place = shifted - shift, shifted.bits()
    f = mantissa.times_plus(inverse, -1.0)
    k = exponent - exponent_of(inverse)  # of one half and what follows -1, of one 0
    high, low = (
        _of_exponent(k, of_two, looked_up(place, row)) for of_two, row in zip(base.of_two, base.rows, strict=True)
    )
    return _Divided(high, low, f, exponent, inverse)


def _of_exponent(k: Real, of_two: float, more: Real) -> Real:
    return k.times_plus(of_two, more) if of_two else more


def pair_log_in_lanes(x: Real) -> Pair:
    """The natural logarithm of the size of a number, in twice the digits less ten; of 0 and infinity it is NaN."""
    high, low, f, *_ = _divided(x, _base(None, x.format, _MORE_PLACES))
    square, lost = exact_product(f, f)
    first = ordered_sum(high, f)
    second = square.times_plus(-0.5, first.high)
    less = square.times_plus(-0.5, first.high - second)
    cubic = (square * f).times_plus(f.polynomial(_CUBIC[x.format]), lost.times_plus(-0.5, less))
    return ordered_sum(second, (low + first.low) + cubic)


def _total(divided: _Divided, base: _Base, rest: Real | None = None) -> Real:
    """The logarithm of a number that was divided, and a rest that is small beside it."""
    f, scale = divided.f, base.scale
    leading = f * scale[0]
    total, lost = ordered_sum(divided.high, leading)
    low = divided.low + lost
    if scale[1]:
        low = f.times_plus(scale[0], -leading) + f.times_plus(scale[1], low)
    series = f.polynomial([scale[0] * coefficient for coefficient in _REST[f.format]])
    return total + (f * f).times_plus(series, low if rest is None else low + rest)


def _logarithm(number: int | None) -> Callable[[Real], Real]:
    """The logarithm to the base of a number, or the natural one."""

    def formula(x: Real) -> Real:
        base = _base(number, x.format)
        return with_special(_total(_divided(x, base), base), x, _SPECIAL)

    return formula


log_in_lanes, log2_in_lanes, log10_in_lanes = (_logarithm(number) for number in (None, 2, 10))


def log1p_in_lanes(x: Real) -> Real:
    """The logarithm of ``1 + x``: what the sum loses is divided as well."""
    whole, lost = exact_sum(x.of(1.0), x)
    base = _base(None, x.format)
    divided = _divided(whole, base)
    rest = times_power(lost, -divided.exponent) * divided.inverse
    total = _total(divided, base, rest.times_plus(-divided.f, rest))
    return with_special(total, whole, _SPECIAL).signed_as(x)
