# SPDX-License-Identifier: Apache-2.0
"""x ** y as the exponential of y times a logarithm that has more digits than the result.

A large exponent multiplies the error of the logarithm, by up to a thousand. A float32 is computed in float64; for a
float64 the logarithm is a pair of numbers, good to 2**-66: the series of the inverse hyperbolic tangent, whose first
two terms are pairs. With AVX-512 either logarithm is a pair, by a table. The special cases are those of C
(ISO/IEC 9899, F.10.4.4), which few vectors have to look at.
"""

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.runtime.exponentials import EXP2_IN_LANES, LN2, LN2_PARTS, exp_in_short, exp_of_pair
from ngraph_rewrite.runtime.lane_functions import exp_of_pair_in_lanes
from ngraph_rewrite.runtime.lane_logarithms import pair_log_in_lanes
from ngraph_rewrite.runtime.lanes import LaneFunction
from ngraph_rewrite.runtime.logarithms import split, split_any
from ngraph_rewrite.runtime.pairs import Pair, exact_product, ordered_sum, pair_product
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Real, kernel_function
from ngraph_rewrite.runtime.seldom import Seldom

_THIRD = (0.3333333333333333, 1.850371707708594e-17)
# (2 atanh(s) / s - 2) / s**2, and (atanh(s) / s - 1 - s**2 / 3) / s**4, in terms of s**2
_SHORT: Sequence[float] = (0.6666666564545868, 0.4000033519033684, 0.2853730857783352, 0.23582150612186162)
_LONG: Sequence[float] = (
    0.20000000000001128, 0.14285714285050027, 0.11111111259913208, 0.09090892188211254, 0.07693378433818093,
    0.06628414638618808, 0.06598107760296379,
)  # fmt: skip


def _short_log(x: Real) -> Real:
    """The logarithm of a float64 that is a normal number, to 2**-36."""
    parts = split(x)
    f = parts.mantissa - 1.0
    s = f / (2.0 + f)
    t = s * s
    return parts.exponent.times_plus(LN2, s.times_plus(2.0, s * t * t.polynomial(_SHORT)))


def _long_log(x: Real) -> Pair:
    """The logarithm of a positive float64 as a pair."""
    k, mantissa = split_any(x)
    f = mantissa - 1.0
    below = ordered_sum(x.of(2.0), f)
    inverse = 1.0 / below.high
    s = f * inverse
    product = exact_product(s, below.high)
    s2 = Pair(s, ((f - product.high) - product.low - s * below.low) * inverse)
    square = exact_product(s, s)
    t = Pair(square.high, (s * s2.low).times_plus(2.0, square.low))
    more = ordered_sum(x.of(_THIRD[0]), t.high * t.high.polynomial(_LONG))
    series = pair_product(s2, pair_product(t, Pair(more.high, more.low + _THIRD[1])))
    whole = ordered_sum(s * 2.0, series.high * 2.0)
    of_two, rest = LN2_PARTS[DOUBLE]
    total = ordered_sum(k * of_two, whole.high)
    low = (series.low + s2.low).times_plus(2.0, whole.low + total.low)
    return Pair(total.high, k.times_plus(rest, low))


def _bounded(y: Real) -> Real:
    """The exponent, or one that gives 0, 1 or inf just as well, and is finite."""
    return y.at_least(-(2.0**70)).at_most(2.0**70)


def _single(x: Real, y: Real) -> Real:
    """The power of float32, x being positive."""
    product = _bounded(y).double() * _short_log(x.double())
    return exp_in_short(product.at_least(-110.0).at_most(90.0)).single()


def _double(x: Real, y: Real) -> Real:
    """The power of float64, x being positive."""
    near = _bounded(y)
    log = _long_log(x)
    product = exact_product(near, log.high)
    return exp_of_pair(product.high, near.times_plus(log.low, product.low))


def _in_lanes(x: Real, y: Real) -> Real:
    """The power of the size of x by what AVX-512 has; of x = 1 by an infinite y it is NaN."""
    log = pair_log_in_lanes(x)
    product = exact_product(y, log.high)
    return exp_of_pair_in_lanes(product.high, y.times_plus(log.low, product.low))


# -- special cases -----------------------------------------------------------------------------------------------------


def _is_whole(x: Real) -> Any:
    """Whether a number that is not negative has no fraction, as a condition."""
    limit = 2.0 ** (x.format.digits - 1)
    return x.builder.or_(x.is_(">=", limit), ((x + limit) - limit).is_("==", x))


def _is_special(usual: Real, x: Real, y: Real) -> Any:
    """Whether a base is not positive and finite, which its bits say, or that of its size is no number."""
    build, bits = x.builder, x.bits()
    positive = build.and_(bits.is_(">", 0), bits.is_("<", x.of(float("inf")).bits()))
    return build.not_(build.and_(positive, usual.is_("==", usual)))


def _special(usual: Real, x: Real, y: Real) -> Real:
    """x ** y by the special cases of C, where `usual` is that of the size of x."""
    build, inf = x.builder, float("inf")
    size, height = x.size(), y.size()
    large, small = size.is_("==", inf), size.is_("==", 0.0)
    grows = build.or_(build.and_(large, y.is_(">", 0.0)), build.and_(small, y.is_("<", 0.0)))
    result = x.of(inf).where(grows, 0.0).where(build.or_(large, small), usual)

    whole = _is_whole(height)
    odd = build.and_(whole, build.not_(_is_whole(height * 0.5)))
    result = result.signed_as(x).where(odd, result)
    real = build.or_(build.or_(whole, x.is_(">=", 0.0)), x.is_("==", -inf))
    result = result.where(real, float("nan"))

    unknown = build.or_(x.is_nan(), y.is_nan())
    result = x.of(float("nan")).where(unknown, result)
    result = x.of(1.0).where(build.and_(size.is_("==", 1.0), height.is_("==", inf)), result)
    return x.of(1.0).where(build.or_(x.is_("==", 1.0), y.is_("==", 0.0)), result)


_IN_LANES = LaneFunction("power", _in_lanes, _in_lanes)
_SPECIAL = Seldom("power", _is_special, _special)


def _any_power(x: Real, y: Real) -> Real:
    usual = _IN_LANES(x, y)
    if usual is None:
        size = x.size()
        usual = _single(size, y) if x.format == SINGLE else _double(size, y)
    return _SPECIAL(usual, usual, x, y)


def _power(x: Real, y: Real) -> Real:
    """x ** y, to 1 ulp, with the special cases of C; of two it may be a function of its own."""
    of_two = EXP2_IN_LANES(y)
    if of_two is None:
        return _any_power(x, y)
    return of_two.where(x.builder.and_(x.is_constant(), x.is_("==", 2.0)), _any_power(x, y))


power = kernel_function(_power)
