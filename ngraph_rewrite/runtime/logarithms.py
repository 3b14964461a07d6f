# SPDX-License-Identifier: Apache-2.0
"""log, log2, log10, log1p: the exponent, and the logarithm of a mantissa between the roots of 1/2 and 2.

The logarithm of ``1 + f`` is f less half its square plus a small rest; log2 and log10 keep its leading part and what is
left in two numbers, so that a logarithm that is an integer comes out as one (the way of fdlibm, Sun Microsystems 1993).
With AVX-512 they are others (`ngraph_rewrite.runtime.lane_logarithms`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.runtime.exponentials import LN2_PARTS, power_of_two
from ngraph_rewrite.runtime.lane_logarithms import log1p_in_lanes, log2_in_lanes, log10_in_lanes, log_in_lanes
from ngraph_rewrite.runtime.lanes import LaneFunction
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Bits, Format, Real, kernel_function

_ROOT_HALF = 0.7071067811865476
# 1 / log 2 and 1 / log 10, then log 2 to base 10: each in two parts, the first of half the digits
_LOG2_E = {SINGLE: (1.44287109375, -0.00017605285393), DOUBLE: (1.4426950407214463, 1.6751713164886512e-10)}
_LOG10_E = {SINGLE: (0.434326171875, -3.168971817e-05), DOUBLE: (0.4342944818781689, 2.5082946711645275e-11)}
_LOG10_2 = {SINGLE: (0.301025390625, 4.605038981e-06), DOUBLE: (0.30102999566361177, 3.694239077158931e-13)}

# (log(1 + f) - f + f**2 / 2) / f**3; and (2 atanh(s) / s - 2) / s**2 in terms of s**2
_REST_SINGLE: Sequence[float] = (
    0.33333312604229565, -0.2500000959892945, 0.20002118651516054, -0.16667995863372714, 0.14219552495667992,
    -0.1240558897177892, 0.11888161402477829, -0.11675650529484922, 0.06746640408987772,
)  # fmt: skip
_REST_DOUBLE: Sequence[float] = (
    0.6666666666666734, 0.3999999999941468, 0.28571428742387406, 0.22222198573209834, 0.18183564324690996,
    0.15314050590854647, 0.1479594929429614,
)  # fmt: skip


class Split(NamedTuple):
    """``x = 2**k * m``; `biased` is k plus the format's bias."""

    biased: Bits
    mantissa: Real

    @property
    def exponent(self) -> Real:
        form = self.mantissa.format
        whole = self.mantissa.of(form.whole)
        return (self.biased + whole.bits() - form.bias).real() - form.whole


def split(x: Real) -> Split:
    """The exponent and the mantissa, in ``[sqrt(1/2), sqrt(2))``, of a normal positive number."""
    form = x.format
    root, one = x.of(_ROOT_HALF).bits(), x.of(1.0).bits()
    moved = x.bits() + (one - root)
    mantissa = (moved & ((1 << (form.digits - 1)) - 1)) + root
    return Split(moved.unsigned_shift(form.digits - 1), mantissa.real())


def split_any(x: Real) -> tuple[Real, Real]:
    """The exponent, as a number, and the mantissa of a positive number that may be subnormal."""
    raised = x.is_("<", x.format.tiny)
    shift = float(x.format.digits)
    parts = split((x * 2.0**shift).where(raised, x))
    return parts.exponent - x.of(shift).where(raised, 0.0), parts.mantissa


def _rest(f: Real, half_square: Real) -> Real:
    """``log(1 + f) - (f - f**2 / 2)``."""
    if f.format == SINGLE:
        return f * f * f * f.polynomial(_REST_SINGLE)
    s = f / (2.0 + f)
    t = s * s
    return s * t.times_plus(t.polynomial(_REST_DOUBLE), half_square)


def _natural(k: Real, f: Real) -> Real:
    """``k * log(2) + log(1 + f)``."""
    high, low = LN2_PARTS[f.format]
    half_square = f * f * 0.5
    return k.times_plus(high, f - (half_square - k.times_plus(low, _rest(f, half_square))))


def _in_base(x: Real, scale: tuple[float, float], of_two: tuple[float, float]) -> Real:
    """The logarithm times the sum of `scale`, where that of 2 is the sum of `of_two`."""
    k, mantissa = split_any(x)
    f = mantissa - 1.0
    half_square = f * f * 0.5
    high = _half_of_the_digits(f - half_square)
    low = f - high - half_square + _rest(f, half_square)
    whole = k * of_two[0]
    leading = high * scale[0]
    trailing = k.times_plus(of_two[1], (low + high).times_plus(scale[1], low * scale[0]))
    total = whole + leading
    return trailing + ((whole - total) + leading) + total


def _half_of_the_digits(x: Real) -> Real:
    form: Format = x.format
    return (x.bits() & -(1 << (form.digits + 1) // 2)).real()


def _edges(result: Real, x: Real, zero: float) -> Real:
    """A result for numbers above `zero`, where the logarithm is -inf; below it is NaN; inf and NaN stay."""
    result = result.where(x.is_("<", float("inf")), x)
    below = x.of(-float("inf")).where(x.is_("==", zero), float("nan"))
    return below.where(x.is_("<=", zero), result)


# -- the functions -----------------------------------------------------------------------------------------------------


def log_formula(x: Real) -> Real:
    """The natural logarithm, as the processor computes it best."""
    found = _LOG_IN_LANES(x)
    return _log(x) if found is None else found


def log1p_formula(x: Real) -> Real:
    """The logarithm of ``1 + x``, as the processor computes it best."""
    found = _LOG1P_IN_LANES(x)
    return _log1p(x) if found is None else found


def _log(x: Real) -> Real:
    """The natural logarithm, to 0.9 ulp."""
    k, mantissa = split_any(x)
    return _edges(_natural(k, mantissa - 1.0), x, 0.0)


def _log2(x: Real) -> Real:
    """The logarithm to base 2, to 1.3 ulp; exact at powers of 2."""
    return _edges(_in_base(x, _LOG2_E[x.format], (1.0, 0.0)), x, 0.0)


def _log10(x: Real) -> Real:
    """The logarithm to base 10, to 1.2 ulp; exact at powers of 10."""
    return _edges(_in_base(x, _LOG10_E[x.format], _LOG10_2[x.format]), x, 0.0)


def _log1p(x: Real) -> Real:
    """The logarithm of ``1 + x``, to 1.4 ulp: the sum is split, and its mantissa is worked out anew from x."""
    form = x.format
    total = 1.0 + x
    parts = split(total)
    correction = (x - (total - 1.0)).where(x.is_("<", 1.0), 1.0 - (total - x))
    k = parts.exponent
    f = parts.mantissa - 1.0 + correction * power_of_two(form.whole - k.at_most(2.0 * form.digits))
    return _edges(_natural(k, f).signed_as(x), x, -1.0)


_LOG_IN_LANES = LaneFunction("log", log_in_lanes, log_in_lanes)
_LOG1P_IN_LANES = LaneFunction("log1p", log1p_in_lanes, log1p_in_lanes)
log = kernel_function(_log, _LOG_IN_LANES)
log2 = kernel_function(_log2, LaneFunction("log2", log2_in_lanes, log2_in_lanes))
log10 = kernel_function(_log10, LaneFunction("log10", log10_in_lanes, log10_in_lanes))
log1p = kernel_function(_log1p, _LOG1P_IN_LANES)
