# SPDX-License-Identifier: Apache-2.0
"""Kin of the error function: what it leaves to 1, the distribution of normal numbers, their logarithms and inverses.

All are made of one scaled function without tails, of which others are an exponential, so that nothing is lost far out.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    equal,
    erf,
    erfinv,
    exp,
    isnan,
    log,
    log1p,
    logical_or,
    minimum,
    round,
    sqrt,
    where,
)
from ngraph_rewrite.frontend.numpy.number_formulas import chebyshev, polynomial
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.frontend.numpy.special_operands import in_single
from ngraph_rewrite.terms.op import Op

# Chebyshev's coefficients of (1 + 2 x) erfcx(x) from 0 to infinity, a function of (x - 15/4) / (x + 15/4): by mpmath,
# the highest first.
_SCALED = (
    5.0681489047961113e-17, 7.4182352566240435e-17, -1.2507950530688647e-15, -1.8645628804193131e-15,
    3.3478119482868054e-14, 3.2525481481487398e-14, -9.6546967484334389e-13, 1.9455868545777347e-13,
    2.8687950109306699e-11, -6.3180883408866845e-11, -7.7544002088313511e-10, 4.5219598112182869e-09,
    1.0764999465670910e-08, -2.1886401049234395e-07, 7.7403830661984907e-07, 4.1390279860730102e-06,
    -6.9169733025012064e-05, 0.00049077583652580863, -0.0024131635404176082, 0.0090749976707052651,
    -0.026658668435305752, 0.059209939998191890, -0.084249133366517916, -0.0045900545806464773, 2.3551578691348035,
)  # fmt: skip
_NEAR = 3.75
_FAR = 40.0  # no float is as small as what is left there
_ROOT, _ROOT_PI = math.sqrt(2), math.sqrt(math.pi)
# Of the quantiles of small parts, to 4.5e-4 (Hastings 1955, sheet 68).
_ABOVE, _BELOW = (2.515517, 0.802853, 0.010328), (1.0, 1.432788, 0.189269, 0.001308)


def erfc(x: Array, /) -> Op:
    """1 less `erf`, exact also where `erf` is 1.

    The error is below 6 units in the last place, also of what is left far out.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     found = transformer.computation(ng.numpy.special.erfc([0.0, 5.0]))()
    >>> (found * [1, 1e12]).round(4)
    array([1.    , 1.5375])
    """
    return in_single("erfc", _complement, x, slopes=lambda d, x: d * (-2 / _ROOT_PI) * _bell(x))


def erfcx(x: Array, /) -> Op:
    """`erfc` times exp(`x` ** 2), which has no tail: for a great `x` it is 1 / (sqrt(pi) * x). Infinite far below 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.erfcx(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("erfcx", _scaled, x, slopes=lambda d, x: d * _slope_of_scaled(x))


def erfcinv(y: Array, /) -> Op:
    """The number of which `erfc` is `y`, from 0 (infinity) to 2 (-infinity); NaN beyond.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.erfcinv(ng.placeholder((3,))).type
    float32[3]
    """

    def slope(d: Op, y: Op) -> Op:
        return d * (-_ROOT_PI / 2) / _bell(_quantile(y * 0.5), 0.5)

    return in_single("erfcinv", lambda y: _quantile(y * 0.5) * (-1 / _ROOT), y, slopes=slope)


def ndtr(x: Array, /) -> Op:
    """The part of normal numbers that is below `x`; what is above is ``ndtr(-x)``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.ndtr(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("ndtr", _part, x, slopes=lambda d, x: d * _density(x))


def log_ndtr(x: Array, /) -> Op:
    """The logarithm of `ndtr`, which is finite where that is too small for a float.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.log_ndtr([-1000.0, 0.0]))()
    array([-5.000078e+05, -6.931472e-01], dtype=float32)
    """
    return in_single("log_ndtr", _log_part, x, slopes=lambda d, x: d * _hazard(x))


def ndtri(y: Array, /) -> Op:
    """The number below which the part `y` of normal numbers is: the inverse of `ndtr`. NaN below 0 and above 1.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.ndtri([0.5, 0.975, 1e-30]))().round(3)
    array([  0.   ,   1.96 , -11.464], dtype=float32)
    """
    return in_single("ndtri", _quantile, y, slopes=lambda d, y: d / _density(_quantile(y)))


# -- formulas ----------------------------------------------------------------------------------------


def _bell(x: Op, share: float = 1.0) -> Op:
    """exp(-share * x ** 2)."""
    near, rest = _square(x)
    return exp(near * -share) * exp(rest * -share)


def _square(x: Op) -> tuple[Op, Op]:
    """The square of a number of few digits, which is exact, and what that of `x` has beyond it."""
    x = minimum(abs(x), _FAR)
    near = round(x * 16) * (1 / 16)
    return near * near, (x - near) * (x + near)


def _density(x: Op) -> Op:
    return _bell(x, 0.5) * (1 / (_ROOT * _ROOT_PI))


def _above(x: Op) -> Op:
    """`erfcx` from 0 on."""
    return chebyshev(apply, 2 - 4 * _NEAR / (x + _NEAR), _SCALED) / (2 * x + 1)


def _complement(x: Op) -> Op:
    far = x > 0.5
    return where(far, _bell(x) * _above(where(far, x, 1.0)), 1 - erf(where(far, 0.0, x)))


def _scaled(x: Op) -> Op:
    near, rest = _square(where(x < 0, x, 0.0))
    return where(x < 0, 2 * exp(near) * exp(rest) - _above(where(x < 0, -x, 0.0)), _above(where(x < 0, 0.0, x)))


def _slope_of_scaled(x: Op) -> Op:
    """A difference, which far out is that of equal numbers: there by what is left of it, powers of 1 / x ** 2."""
    far = x > 50
    small, great = where(far, 0.0, x), where(far, x, 50.0)
    inverse = 1 / great / great
    rest = polynomial(apply, inverse, (1.0, -1.5, 3.75, -13.125, 59.0625)) * inverse
    return where(far, rest * (-1 / _ROOT_PI), 2 * small * _scaled(small) - 2 / _ROOT_PI)


def _part(x: Op) -> Op:
    below = x < -0.7
    tail = _bell(x, 0.5) * _above(where(below, x, -1.0) * (-1 / _ROOT)) * 0.5
    return where(below, tail, 0.5 + 0.5 * erf(where(below, 0.0, x) * (1 / _ROOT)))


def _log_part(x: Op) -> Op:
    below = x < -1
    low, high = where(below, x, -1.0), where(below, 0.0, x)
    lower = log(_above(low * (-1 / _ROOT)) * 0.5) - low * low * 0.5
    return where(below, lower, log1p(-_part(-high)))


def _hazard(x: Op) -> Op:
    """The slope of the logarithm: the density by the part."""
    return _ROOT / _ROOT_PI / _scaled(x * (-1 / _ROOT))


def _quantile(p: Op) -> Op:
    """By `erfinv` in the middle; of small parts, and large ones as their opposites, by Halley's steps on logarithms."""
    middle = abs(p - 0.5) <= 0.375
    small = minimum(p, 1 - p)
    inside = logical_or(middle, small <= 0)
    goal = log(where(inside, 0.1, small))
    root = sqrt(-2 * goal)
    x = polynomial(apply, root, _ABOVE) / polynomial(apply, root, _BELOW) - root
    for _ in range(2):
        rate = _hazard(x)
        step = (_log_part(x) - goal) / rate
        x = x - step / (1 + step * (x + rate) * 0.5)
    tail = where(small > 0, x, where(equal(small, 0), -math.inf, math.nan)) * where(p > 0.5, -1.0, 1.0)
    return where(isnan(p), p, where(middle, _ROOT * erfinv(where(middle, 2 * p - 1, 0.0)), tail))
