# SPDX-License-Identifier: Apache-2.0
"""The gamma function of positive numbers, and what logarithms of it are sums and differences of, kept apart.

Stirling's formula has a remainder that is small from 10 on; what is before it is a power, or cancels by hand.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    equal,
    exp,
    expm1,
    floor,
    isnan,
    lgamma,
    log,
    log1p,
    maximum,
    minimum,
    sqrt,
    where,
)
from ngraph_rewrite.frontend.numpy.number_formulas import polynomial
from ngraph_rewrite.frontend.numpy.operands import apply
from ngraph_rewrite.terms.op import Op

LARGE = 10.0
_REMAINDER = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
_ATANH = [1 / n for n in range(3, 27, 2)]
_TURN = math.sqrt(2 * math.pi)
# The gamma function from 2 to 3 is a quotient of polynomials of what is above 2 (Cephes). Up to _FEW it is that times
# factors, which are exact: so are factorials.
_ABOVE = (
    9.99999999999999996796e-1, 4.94214826801497100753e-1, 2.07448227648435975150e-1, 4.76367800457137231464e-2,
    1.04213797561761569935e-2, 1.19135147006586384913e-3, 1.60119522476751861407e-4,
)  # fmt: skip
_BELOW = (
    1.00000000000000000320, 7.14304917030273074085e-2, -2.34591795718243348568e-1, 3.58236398605498653373e-2,
    1.18139785222060435552e-2, -4.45641913851797240494e-3, 5.39605580493303397842e-4, -2.31581873324120129819e-5,
)  # fmt: skip
_FEW = 24

# The powers of lgamma(a + 1) from the first on: Euler's constant, and zeta functions of integers by these.
_POWERS = (
    -0.5772156649015329, 0.8224670334241132, -0.40068563438653143, 0.27058080842778454, -0.20738555102867398,
    0.1695571769974082, -0.1440498967688461, 0.12550966952474304, -0.11133426586956469, 0.1000994575127818,
    -0.09095401714582904, 0.083353840546109, -0.0769325164113522, 0.07143294629536133,
)  # fmt: skip


def positive_gamma(x: Op) -> Op:
    """The gamma function of numbers from 0 on."""
    few = x < _FEW
    low, large = where(few, x, 2.0), minimum(where(few, float(_FEW), x), 200.0)
    whole = floor(low)
    part = low - whole
    found = polynomial(apply, part, _ABOVE) / polynomial(apply, part, _BELOW)
    for k in range(2, _FEW - 1):
        found = found * where(whole > k, part + k, 1.0)
    found = found / (where(whole < 2, low, 1.0) * where(whole < 1, low + 1, 1.0))
    # By Stirling's formula, whose power is taken in two parts, as it may be infinite where the product is not.
    half = large ** (large * 0.5)
    tail = exp(-large) * exp(remainder_of_stirling(large)) * _TURN / sqrt(large)
    return where(isnan(x), x, where(few, found, half * tail * half))


def remainder_of_stirling(x: Op) -> Op:
    """lgamma(x) less ``(x - 1 / 2) * log(x) - x + log(2 * pi) / 2``, for `x` from 10 on."""
    inverse = 1 / x
    return polynomial(apply, inverse * inverse, _REMAINDER) * inverse


def log_less(x: Op, of: Op) -> Op:
    """log(x / of) - x / of + 1, by the series of the inverse hyperbolic tangent where the terms would cancel."""
    apart = (x - of) / of
    near = abs(apart) < 0.3
    small = where(near, apart, 0.0)
    s = small / (2 + small)
    far = log(maximum(where(near, of, x), _LEAST) / of) - apart
    return where(near, 2 * s * s * s * polynomial(apply, s * s, _ATANH) - small * s, far)


def gamma_density(a: Op, x: Op) -> Op:
    """``x ** a * exp(-x) / gamma(a + 1)``, for a positive `a`: of a large one by how far `x` is from it."""
    many = a >= LARGE
    large, small = where(many, a, LARGE), where(many, 1.0, a)
    apart = exp(large * log_less(x, large) - remainder_of_stirling(large))
    positive = maximum(x, _LEAST)
    return where(many, apart / (_TURN * large**0.5), exp(small * log(positive) - x - lgamma(small + 1)))


def _log_gamma_above_one(a: Op) -> Op:
    """lgamma(a + 1), of small numbers by its powers."""
    small = a < 1 / 16
    powers = where(small, a, 0.0)
    return where(small, powers * polynomial(apply, powers, _POWERS), lgamma(where(small, 1.0, a) + 1))


def above_of_small(a: Op, x: Op) -> Op:
    """The part of the gamma distribution that is above `x`, both from 0 to 1: of a shape near 0 it is about as small.

    What is below is a power by a gamma function, which is near 1, times 1 and `a` times a series.
    """
    size = a * log(maximum(x, _LEAST)) - _log_gamma_above_one(a)
    term, series = -x, -x / (a + 1)
    for n in range(2, 19):
        term = term * x * (-1 / n)
        series = series + term / (a + n)
    return -expm1(size) - exp(size) * a * series


def log_beta(a: Op, b: Op) -> Op:
    """The logarithm of the beta function: lgamma(a) + lgamma(b) - lgamma(a + b), for positive numbers."""
    less, more = minimum(a, b), maximum(a, b)
    large = maximum(more, LARGE)
    rest = remainder_of_stirling(large) - remainder_of_stirling(large + less)
    # The lesser one is small: only the other two are of Stirling's formula.
    one = lgamma(less) + rest - (large - 0.5) * log1p(less / large) - less * (log(large + less) - 1)
    low = maximum(less, LARGE)
    part = low / (low + large)
    rest = remainder_of_stirling(low) + remainder_of_stirling(large) - remainder_of_stirling(low + large)
    both = (low - 0.5) * log(part) - large * log1p(low / large) - 0.5 * log(large) + math.log(_TURN) + rest
    plain = lgamma(less) + lgamma(more) - lgamma(less + more)
    found = where(less >= LARGE, both, where(more >= LARGE, one, plain))
    return where(equal(more, math.inf), -math.inf, found)


def beta_density(a: Op, b: Op, x: Op, y: Op) -> Op:
    """``x ** a * y ** b / beta(a, b)`` where `y` is ``1 - x``: of two large ones by how far `x` is from their mean."""
    many = minimum(a, b) >= LARGE
    p, q = where(many, a, LARGE), where(many, b, LARGE)
    total = p + q
    middle, other = p / total, q / total
    apart = p * log_less(x, middle) + q * log_less(y, other)
    rest = remainder_of_stirling(total) - remainder_of_stirling(p) - remainder_of_stirling(q)
    large = exp(apart + rest) * (p * other) ** 0.5 / _TURN
    a, b = where(many, 1.0, a), where(many, 1.0, b)
    return where(many, large, exp(a * log(maximum(x, _LEAST)) + b * log(maximum(y, _LEAST)) - log_beta(a, b)))


# The least normal number: a power of 0 is one of it, whose logarithm is finite.
_LEAST = 2.0**-1022
