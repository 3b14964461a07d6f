# SPDX-License-Identifier: Apache-2.0
"""Products of numbers that rise by one: binomial coefficients, and what gamma functions make of numbers between them.

They are zero where one of the factors is, and have slopes there. All are computed in float64.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    cos,
    digamma,
    equal,
    exp,
    floor,
    lgamma,
    logical_and,
    maximum,
    round,
    where,
)
from ngraph_rewrite.frontend.numpy.gamma_functions import gamma
from ngraph_rewrite.frontend.numpy.gamma_parts import log_beta
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.terms.op import Op

_FEW = 170.0  # gamma functions of greater numbers are no float64
_EXACT = 2.0**52


def rgamma(x: Array, /) -> Op:
    """1 by the gamma function, which is 0 at 0 and negative integers.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.rgamma([-1.0, 0.5, 4.0]))().round(6)
    array([0.      , 0.56419 , 0.166667], dtype=float32)
    """

    def slope(d: Op, x: Op) -> Op:
        none = _no_gamma(x)
        near = where(none, 0.5, x)
        return d * where(none, cos(math.pi * x) * gamma(1 - x), -_rgamma(near) * digamma(near))

    return in_double("rgamma", _rgamma, x, slopes=slope)


def poch(z: Array, m: Array, /) -> Op:
    """``gamma(z + m) / gamma(z)``: the product of `z`, ``z + 1`` and so on, of `m` factors.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.poch([5.0, 0.5, -3.0], 3.0))().round(4)
    array([210.   ,   1.875,  -6.   ], dtype=float32)
    """

    def slopes(d: Op, z: Op, m: Op) -> tuple[Op, Op]:
        share, both = d * _poch(z, m), digamma(z + m)
        return share * (both - digamma(z)), share * both

    return in_double("poch", _poch, z, m, slopes=slopes)


def binom(x: Array, y: Array, /) -> Op:
    """How many choices of `y` there are of `x`, and what gamma functions make of it between integers.

    Of integers it is an integer up to 2 ** 52. It is NaN for a negative integer `x`, and for numbers above 170 of which
    one is negative or `y` is greater than `x`, unless they are integers, of which it is 0.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.binom([5.0, 52.0, 2.5], [2.0, 5.0, 1.0]))()
    array([1.00000e+01, 2.59896e+06, 2.50000e+00], dtype=float32)
    """

    def slopes(d: Op, x: Op, y: Op) -> tuple[Op, Op]:
        share, rest = d * _binom(x, y), digamma(x - y + 1)
        return share * (digamma(x + 1) - rest), share * (rest - digamma(y + 1))

    return in_double("binom", _binom, x, y, slopes=slopes)


def comb(N: Array, k: Array, /) -> Op:
    """`binom`, but 0 where there is nothing to choose: of negative numbers, and of fewer than are chosen.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.comb(ng.placeholder((3,), "int64"), 2).type
    float64[3]
    """

    def formula(n: Op, k: Op) -> Op:
        some = _is_choice(n, k)
        return where(some, binom(where(some, n, 1.0), where(some, k, 1.0)), where(n + k < math.inf, 0.0, math.nan))

    return in_double("comb", formula, N, k)


def perm(N: Array, k: Array, /) -> Op:
    """How many orders of `k` there are of `N`; 0 where there is nothing to choose.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.perm(ng.placeholder((3,), "int64"), 2).type
    float64[3]
    """

    def formula(n: Op, k: Op) -> Op:
        some = _is_choice(n, k)
        n, k = where(some, n, 1.0), where(some, k, 1.0)
        return where(some, poch(n - k + 1, k), 0.0)

    return in_double("perm", formula, N, k)


def _is_choice(n: Op, k: Op) -> Op:
    """Whether there are `k` of `n` to choose."""
    return logical_and(logical_and(k >= 0, n >= k), n >= 0)


# -- formulas ----------------------------------------------------------------------------------------


def _is_whole(x: Op) -> Op:
    return equal(x, floor(x))


def _no_gamma(x: Op) -> Op:
    return logical_and(x <= 0, _is_whole(x))


def _rgamma(x: Op) -> Op:
    none = _no_gamma(x)
    return where(none, 0.0, 1 / gamma(where(none, 1.0, x)))


def _odd(x: Op) -> Op:
    """-1 for odd integers, 1 for even ones."""
    return where(equal(x * 0.5, floor(x * 0.5)), 1.0, -1.0)


def _poch(z: Op, m: Op) -> Op:
    """As many negative factors as there are are taken from the other end."""
    down = logical_and(z + m <= 0, _is_whole(m))
    start, sign = where(down, 1 - z - m, z), where(down, _odd(m), 1.0)
    few = maximum(abs(start), abs(start + m)) < _FEW
    low, count = where(few, start, 1.0), where(few, m, 1.0)
    product = gamma(low + count) * _rgamma(low)
    high, less = where(few, _FEW, start), where(few, 1.0, m)
    behind = less < 0
    first, size = where(behind, high + less, high), abs(less)
    nothing = equal(size, 0)
    ways = lgamma(where(nothing, 1.0, size)) - log_beta(first, where(nothing, 1.0, size))
    large = where(nothing, 1.0, exp(where(behind, -ways, ways)))
    return sign * where(few, product, where(first > 0, large, math.nan))


def _binom(x: Op, y: Op) -> Op:
    few = maximum(abs(x), abs(y)) < _FEW
    n, k = where(few, x, 1.0), where(few, y, 1.0)
    product = gamma(n + 1) * _rgamma(k + 1) * _rgamma(n - k + 1)
    within = logical_and(y >= 0, y <= x)
    usable = logical_and(within, x < math.inf)
    n, k = where(usable, x, 1.0), where(usable, y, 1.0)
    large = exp(-log_beta(n - k + 1, k + 1)) / (n + 1)
    whole = logical_and(_is_whole(x), _is_whole(y))
    found = where(few, product, where(usable, large, where(logical_and(whole, x >= 0), 0.0, math.nan)))
    found = where(logical_and(whole, abs(found) < _EXACT), round(found), found)
    return where(logical_and(x < 0, _is_whole(x)), math.nan, found)
