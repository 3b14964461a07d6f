# SPDX-License-Identifier: Apache-2.0
"""asin, acos, atan, atan2: polynomials below one half, to which halves of angles and eighths of a turn lead; and hypot.

The ways are those of fdlibm and of Cephes (Moshier, 1989): what is left of a quarter of a turn is the angle of an
inverse, and what is left of an eighth that of ``(y - x) / (y + x)``, each found with one division.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.runtime.pairs import ordered_sum
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Format, Real, kernel_function

_PI = Fraction(3.141592653589793) + Fraction(1.2246467991473532e-16)
# (atan(x) / x - 1) / x**2 and (asin(x) / x - 1) / x**2, in terms of the square, up to one half
_ATAN: dict[Any, Sequence[float]] = {
    SINGLE: (-0.33333236537506755, 0.1999431218772404, -0.14176029278618613, 0.10164796979610381,
             -0.051403340928841364),
    DOUBLE: (-0.33333333333332993, 0.19999999999905269, -0.1428571427655764, 0.11111110666446238,
             -0.09090896401560754, 0.07692076183047021, -0.06663832148416339, 0.058584346827503665,
             -0.05122569943707506, 0.041879884401712475, -0.027457349432468418, 0.010131623520569597),
}  # fmt: skip
_ASIN: dict[Any, Sequence[float]] = {
    SINGLE: (0.16666754131718514, 0.07495232653680863, 0.04547834478555515, 0.024140981132405138,
             0.04223055987729731),
    DOUBLE: (0.16666666666665375, 0.07500000000344834, 0.044642856821951855, 0.030381959396333067,
             0.02237175192034992, 0.017359795868977096, 0.013884348449593933, 0.012174954630619796,
             0.0065034688364959195, 0.019594478625749465, -0.016326904241126563, 0.03198183169140624),
}  # fmt: skip


class _Turn(NamedTuple):
    """A number of eighths of a turn, in two parts."""

    high: float
    low: float


@cache
def _turn(eighths: int, form: Format) -> _Turn:
    exact = _PI * eighths / 4
    high = float(exact) if form == DOUBLE else float(np.float32(float(exact)))
    return _Turn(high, float(exact - Fraction(high)))


def _less(eighths: int, angle: Real, more: Real) -> Real:
    """Some eighths of a turn less an angle that is the sum of two."""
    turn = _turn(eighths, angle.format)
    return turn.high - (angle - (turn.low - more))


# -- of a point --------------------------------------------------------------------------------------------------------


def _angle(y: Real, x: Real, back: Any = None) -> Real:
    """The angle of a point, ``y`` up and ``x`` to the right, or to the left where `back` holds; neither is negative."""
    flat, steep = (y + y).is_("<=", x), y.is_(">=", x + x)
    over = y.where(flat, (-x).where(steep, y - x))
    under = x.where(flat, y.where(steep, y + x))
    high, low = (_begin(flat, steep, part, y, back) for part in (0, 1))
    ratio = (over if back is None else (-over).where(back, over)) / y.of(1.0).where(under.is_("==", 0.0), under)
    square = ratio * ratio
    return high + (ratio + (ratio * square).times_plus(square.polynomial(_ATAN[y.format]), low))


def _begin(flat: Any, steep: Any, part: int, like: Real, back: Any) -> Real:
    """One part of the turn that an angle is counted from."""
    turns = [like.of(_turn(eighths, like.format)[part]) for eighths in range(5)]
    if back is not None:
        turns[0], turns[1] = turns[4].where(back, turns[0]), turns[3].where(back, turns[1])
    return turns[0].where(flat, turns[2].where(steep, turns[1]))


def _atan(x: Real) -> Real:
    """The inverse of the tangent, to 1.5 ulp."""
    return _angle(x.size(), x.of(1.0)).signed_as(x)


def _atan2(y: Real, x: Real) -> Real:
    """The angle in [-pi, pi] of the point ``x`` to the right and ``y`` up, to 1.6 ulp, as C has it at its edges."""
    up, aside = y.size(), x.size()
    infinite = y.builder.and_(*[side.is_("==", float("inf")) for side in (up, aside)])
    up, aside = (side.of(1.0).where(infinite, side) for side in (up, aside))
    scale = y.of(0.25).where(up.is_(">", 2.0 ** (y.format.bias - 2)), 1.0)  # else their sum might overflow
    return _angle(up * scale, aside * scale, x.bits().is_("<", 0)).signed_as(y)


def _hypot(x: Real, y: Real) -> Real:
    """The length of (x, y), to 1.2 ulp: of float32 in float64, of others far from where squares overflow."""
    sides = [side.size() for side in (x, y)]
    infinite = x.builder.or_(*[side.is_("==", float("inf")) for side in sides])
    return x.of(float("inf")).where(infinite, _length(*sides))


def _length(x: Real, y: Real) -> Real:
    if x.format == SINGLE:
        wide = [side.double() for side in (x, y)]
        return wide[0].times_plus(wide[0], wide[1] * wide[1]).root().single()
    large = x.builder.or_(*[side.is_(">", 2.0**500) for side in (x, y)])
    small = x.builder.and_(*[side.is_("<", 2.0**-400) for side in (x, y)])
    scale, back = (x.of(f).where(large, x.of(1 / f).where(small, 1.0)) for f in (2.0**-600, 2.0**600))
    x, y = x * scale, y * scale
    return x.times_plus(x, y * y).root() * back


# -- of a side ---------------------------------------------------------------------------------------------------------


class _Arc(NamedTuple):
    """An angle as a sum: that of a sine where it is `small`, else half of that of a cosine."""

    small: Any
    most: Real
    rest: Real


def _arc(size: Real) -> _Arc:
    small = size.is_("<=", 0.5)
    square = (size * size).where(small, (1.0 - size) * 0.5)
    most = size.where(small, square.root())
    return _Arc(small, most, most * square * square.polynomial(_ASIN[size.format]))


def _asin(x: Real) -> Real:
    """The inverse of the sine, to 1.4 ulp; NaN beyond one."""
    small, most, rest = _arc(x.size())
    quarter = _turn(2, x.format)
    left = ordered_sum(x.of(quarter.high), most * -2.0)
    large = left.high + (left.low + (quarter.low - (rest + rest)))
    return (most + rest).where(small, large).signed_as(x)


def _acos(x: Real) -> Real:
    """The inverse of the cosine, to 1.3 ulp; NaN beyond one."""
    small, most, rest = _arc(x.size())
    double, more = most + most, rest + rest
    large = _less(4, double, more).where(x.bits().is_("<", 0), double + more)
    return _less(2, x, rest.signed_as(x)).where(small, large)


asin, acos, atan = kernel_function(_asin), kernel_function(_acos), kernel_function(_atan)
atan2, hypot = kernel_function(_atan2), kernel_function(_hypot)
