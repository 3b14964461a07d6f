# SPDX-License-Identifier: Apache-2.0
"""exp, exp2, expm1, tanh, sigmoid, erf: the argument less a multiple of log 2, a polynomial, a power of two.

The reduction is that of Cody and Waite (*Software Manual for the Elementary Functions*, 1980), the polynomials are
minimax (Remez, ``benchmarks/minimax.py``), and a result that is subnormal is rounded once. With AVX-512 some functions
are others (`ngraph_rewrite.runtime.lane_functions`). The docstrings say how many units in the last place
(ulp) a result may be off, with and without an instruction that rounds ``x * y + z`` once: no float32 is further off,
and no float64 of large samples.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.runtime.lane_functions import (
    double_exp2_in_lanes,
    double_exp_in_lanes,
    erf_in_lanes,
    exp2_in_lanes,
    exp_in_lanes,
    tanh_in_lanes,
)
from ngraph_rewrite.runtime.lanes import LaneFunction
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Real, kernel_function

LOG2_E, LN2 = 1.4426950408889634, 0.6931471805599453
# log 2 in two parts, of which the first has so few digits that its product with an exponent is exact
LN2_PARTS = {SINGLE: (0.693145751953125, 1.4286068203094172e-06), DOUBLE: (0.6931471803691238, 1.9082149292705877e-10)}


class _Constants(NamedTuple):
    """What exponentials need in one format.

    Attributes:
        growth: ``(exp(r) - 1 - r) / r**2`` where r is at most half of log 2.
        tanh: ``(tanh(x) / x - 1) / x**2``, in terms of its square, where x is at most 0.55.
        low, high: The exponential underflows below, and overflows above.
        flat: From here on tanh is 1, to the format's digits.
    """

    growth: Sequence[float]
    tanh: Sequence[float]
    low: float
    high: float
    flat: float


_IN = {
    SINGLE: _Constants(
        (0.49999993412473154, 0.1666652010801442, 0.04166839421135456, 0.008368780386972806, 0.001381446717358798),
        (-0.3333331778620698, 0.1333259190903697, -0.05385273852241297, 0.02107279204566613, -0.0062749781688060495),
        -105.0, 89.0, 10.0,
    ),
    DOUBLE: _Constants(
        (0.5000000000000011, 0.1666666666666641, 0.04166666666652919, 0.008333333333495627, 0.0013888888943922725,
         0.000198412695047554, 2.4801492762742128e-05, 2.755758735209191e-06, 2.7630378630897197e-07,
         2.4999961973086914e-08),
        (-0.333333333333333, 0.1333333333332661, -0.05396825396374463, 0.021869488385142778, -0.008863232585861639,
         0.0035920918361566864, -0.001455541370368637, 0.0005884375391367973, -0.0002333617599607175,
         8.328513670557815e-05, -1.9473623090946015e-05),
        -746.0, 710.0, 20.0,
    ),
}  # fmt: skip


# -- reduction and scaling ---------------------------------------------------------------------------------------------


class Reduced(NamedTuple):
    """``exp(x) = 2**k * (1 + growth)``; `shifted` is k plus the format's ``whole``."""

    shifted: Real
    growth: Real


def _growth(r: Real, rest: Real | float) -> Real:
    """``exp(r + rest) - 1`` where r is small, and the rest a rounding error of it."""
    return (r * r).times_plus(r.polynomial(_IN[r.format].growth), rest) + r


def reduced(x: Real, error: float | Real = 0.0) -> Reduced:
    """The reduction of ``x + error``."""
    high, low = LN2_PARTS[x.format]
    shifted = x.times_plus(LOG2_E, x.format.whole)
    k = shifted - x.format.whole
    near = k.times_plus(-high, x)
    if x.format is SINGLE and x.fused and error == 0.0:
        r = k.times_plus(-low, near)  # off by half a unit of the last place of r, a quarter of the result's
        return Reduced(shifted, (r * r).times_plus(r.polynomial(_IN[x.format].growth), r))
    less = k.times_plus(-low, error)
    r = near + less
    return Reduced(shifted, _growth(r, (near - r) + less))


def power_of_two(shifted: Real, less: int = 0) -> Real:
    """``2**(k - less)``, which must be a normal number."""
    form = shifted.format
    return ((shifted.bits() + (form.bias - less)) << (form.digits - 1)).real()


def scaled(growth: Real, shifted: Real) -> Real:
    """``(1 + growth) * 2**k`` for any k, in two steps, of which the second rounds only what is subnormal."""
    form = shifted.format
    whole = shifted.of(form.whole).bits()
    both = shifted.bits() - whole + 2 * form.bias
    half = both.unsigned_shift(1)
    first = (half << (form.digits - 1)).real()
    return growth.times_plus(first, first) * ((both - half) << (form.digits - 1)).real()


def exp_in_range(x: Real) -> Real:
    """The exponential of a number that is neither near overflow nor near underflow."""
    shifted, growth = reduced(x)
    scale = power_of_two(shifted)
    return growth.times_plus(scale, scale)


def exp_in_short(x: Real) -> Real:
    """The exponential of a float64 in the range of float32, to 2**-28."""
    shifted = x.times_plus(LOG2_E, x.format.whole)
    r = (shifted - x.format.whole).times_plus(-LN2, x)
    return r.polynomial((1.0, 1.0, *_IN[SINGLE].growth)) * power_of_two(shifted)


def exp_of_pair(high: Real, low: Real) -> Real:
    """The exponential of ``high + low``, where the second is small."""
    inside = high.size().is_("<", -_IN[high.format].low)
    near = high.at_least(_IN[high.format].low).at_most(_IN[high.format].high)
    shifted, growth = reduced(near, low.where(inside, 0.0))
    return scaled(growth, shifted)


# -- the functions -----------------------------------------------------------------------------------------------------


def _exp(x: Real) -> Real:
    """The exponential, to 1.02 ulp."""
    shifted, growth = reduced(x.at_least(_IN[x.format].low).at_most(_IN[x.format].high))
    return scaled(growth, shifted)


def _exp2(x: Real) -> Real:
    """Two to a power, to 1.2 ulp; exact at integers."""
    form = x.format
    near = x.at_least(-float(form.bias + form.digits)).at_most(form.bias + 1.0)
    shifted = near + form.whole
    return scaled(_growth((near - (shifted - form.whole)) * LN2, 0.0), shifted)


def _expm1(x: Real) -> Real:
    """The exponential less one, to 1.6 ulp."""
    shifted, growth = reduced(x.at_least(-3 * _IN[x.format].flat).at_most(_IN[x.format].high))
    half = power_of_two(shifted, less=1)
    grown = growth.times_plus(half, half - 0.5) * 2.0
    return growth.where(shifted.is_("==", x.format.whole), grown).signed_as(x)


def _tanh(x: Real) -> Real:
    """The hyperbolic tangent, to 1.4 ulp: a polynomial where it is below a half, else ``1 - 2 / (exp(2 |x|) + 1)``."""
    a = x.size().at_most(_IN[x.format].flat)
    square = a * a
    below = (a * square).times_plus(square.polynomial(_IN[x.format].tanh), a)
    shifted, growth = reduced(a * 2.0)
    scale = power_of_two(shifted)
    above = 1.0 - 2.0 / growth.times_plus(scale, scale + 1.0)
    return below.where(a.is_("<", 0.55), above).signed_as(x)


def _sigmoid(x: Real) -> Real:
    """``1 / (1 + exp(-x))``, to 1.7 ulp.

    At ``-|x|`` it is ``c / (c + c * exp(|x|))``, where c keeps the exponential in range.

    Of the two sums that this takes the exact one comes first; if the exponential is large, that is the other one.
    """
    less = x.format.bias // 4
    c = 2.0**-less
    a = x.size().at_most(-_IN[x.format].low)
    shifted, growth = reduced(a)
    scale = power_of_two(shifted, less)
    first = growth.times_plus(scale, scale + c)
    last = growth.times_plus(scale, c) + scale
    small = c / first.where(a.is_("<", 8.0), last)
    return small.where(x.is_("<", 0.0), 1.0 - small)


# -- the error function ------------------------------------------------------------------------------------------------

_ERF: dict[Any, tuple[Sequence[float], Sequence[float], float]] = {
    SINGLE: (
        (0.12837916591374554, -0.3761262713604985, 0.11283600177562096, -0.026854444654028305, 0.00518953546763438,
         -0.0008020842481442868, 7.889123715099647e-05),
        (-0.0003124729655377441, -1.127202263634945, -0.6379650219669704, -0.10325618166417122, 0.021906465860128958,
         -0.002964003454726393, 0.00018797141477467277),
        4.0,
    ),
    DOUBLE: (
        (0.12837916709551256, -0.3761263890318355, 0.11283791670945252, -0.026866170643276028, 0.005223977607422234,
         -0.0008548325989650998, 0.00012055295319464764, -1.4924744649089411e-05, 1.6447517560185545e-06,
         -1.6209175390025372e-07, 1.372297541398921e-08, -7.801189534224746e-10),
        (-1.5492159525094426e-07, -1.1283775702154968, -0.6366273932574168, -0.10275033715653169, 0.019084181307637494,
         0.00027181856114344134, -0.0017594786865729505, 0.0006330122106960166, -3.9290634152469196e-05,
         -7.335461491347271e-05, 4.6326344819478516e-05, -1.695695109517979e-05, 4.447449984376061e-06,
         -8.761030115681061e-07, 1.298343160594204e-07, -1.411841638451318e-08, 1.0662919655740658e-09,
         -5.003341501915339e-11, 1.09891976277947e-12),
        6.0,
    ),
}  # fmt: skip


def _erf(x: Real) -> Real:
    """The error function, to 1.6 ulp: a polynomial below 1, and ``1 - exp(log(erfc))``, that a polynomial, above."""
    small, log_erfc, flat = _ERF[x.format]
    a = x.size().at_most(flat)
    below = a.times_plus((a * a).polynomial(small), a)
    above = 1.0 - exp_in_range(a.polynomial(log_erfc))
    return below.where(a.is_("<", 1.0), above).signed_as(x)


expm1, sigmoid = kernel_function(_expm1), kernel_function(_sigmoid)
EXP2_IN_LANES = LaneFunction("exp2", exp2_in_lanes, double_exp2_in_lanes)
exp2 = kernel_function(_exp2, EXP2_IN_LANES)
exp = kernel_function(_exp, LaneFunction("exp", exp_in_lanes, double_exp_in_lanes))
tanh = kernel_function(_tanh, LaneFunction("tanh", tanh_in_lanes))
erf = kernel_function(_erf, LaneFunction("erf", erf_in_lanes))
