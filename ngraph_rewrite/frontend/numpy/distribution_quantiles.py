# SPDX-License-Identifier: Apache-2.0
"""Inverses of the incomplete gamma and beta functions: the quantiles of gamma and beta numbers, by Newton's way.

The logarithm of the part of a distribution that is on one side is a concave function of the logarithm of a number (of
``x / (1 - x)``, of beta numbers), so that steps seldom lead astray. Of those that do only half is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ngraph_rewrite.frontend.numpy.creation import zeros_like
from ngraph_rewrite.frontend.numpy.dual_numbers import Dual, Numbers, repeated
from ngraph_rewrite.frontend.numpy.elementwise import abs as size_of
from ngraph_rewrite.frontend.numpy.elementwise import (
    digamma,
    equal,
    exp,
    isfinite,
    lgamma,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sigmoid,
    sqrt,
    trigamma,
    where,
)
from ngraph_rewrite.frontend.numpy.error_functions import ndtri
from ngraph_rewrite.frontend.numpy.gamma_parts import beta_density, gamma_density, log_beta
from ngraph_rewrite.frontend.numpy.incomplete_betas import beta_slopes, betainc, betaincc
from ngraph_rewrite.frontend.numpy.incomplete_gammas import gamma_slopes, gammainc, gammaincc
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_arrays
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.terms.op import Op

_NEAR = 1e-9  # after a step as short there is nothing left to find
_LEAST = -700.0  # the logarithm of nearly the least number


def gammaincinv(a: Array, y: Array, /) -> Op:
    """The number below which the part `y` of the gamma distribution of shape `a` is: the inverse of `gammainc`.

    It is computed in float64, and NaN for a shape that is not above 0, or a part outside of 0 to 1. Derivatives pass to
    both.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.gammaincinv([1.0, 5.0], 0.5))().round(6)
    array([0.693147, 4.670909], dtype=float32)
    """
    return _inverse_gamma("gammaincinv", a, y, lower=True)


def gammainccinv(a: Array, y: Array, /) -> Op:
    """The number above which the part `y`, which may be small, of the gamma distribution is. As of `gammaincinv`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.gammainccinv(ng.placeholder((3,)), 0.05).type
    float32[3]
    """
    return _inverse_gamma("gammainccinv", a, y, lower=False)


def betaincinv(a: Array, b: Array, y: Array, /) -> Op:
    """The number below which the part `y` of the beta distribution of `a` and `b` is: the inverse of `betainc`.

    It is computed in float64, and NaN for a parameter that is not above 0, or a part outside of 0 to 1. Derivatives
    pass to all three.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.betaincinv(2.0, 2.0, [0.15625, 0.5]))().round(6)
    array([0.25, 0.5 ], dtype=float32)
    """
    return _inverse_beta("betaincinv", a, b, y, lower=True)


def betainccinv(a: Array, b: Array, y: Array, /) -> Op:
    """The number above which the part `y`, which may be small, of the beta distribution is. As of `betaincinv`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.betainccinv(ng.placeholder((3,)), 2.0, 0.05).type
    float32[3]
    """
    return _inverse_beta("betainccinv", a, b, y, lower=False)


# -- formulas ----------------------------------------------------------------------------------------


def _inverse_gamma(call: str, a: Array, y: Array, lower: bool) -> Op:
    def formula(a: Op, y: Op) -> Op:
        a, y = broadcast_arrays(a, y)
        inside = _inside(y, a)
        p, share = where(inside, a, 1.0), where(inside, y, 0.5)
        return _with_edges(_gamma_quantile(p, share, lower), a > 0, inside, y, math.inf, lower)

    def slopes(d: Op, a: Op, y: Op) -> tuple[Op, Op]:
        a, y = broadcast_arrays(a, y)
        by_shape, by_number = gamma_slopes(a, formula(a, y))
        by_share = d / by_number
        return -by_share * by_shape, by_share if lower else -by_share

    return in_double(call, formula, a, y, slopes=slopes)


def _gamma_quantile(a: Op, share: Op, lower: bool) -> Op:
    below, part, early, late = _sides(share, lower)
    normal, tail = ndtri(part), -log(late)
    root = 1 - 1 / (9 * a) + where(below, normal, -normal) / (3 * sqrt(a))  # Wilson and Hilferty
    fits = logical_and(a >= 1, root > 0)
    least, most = (log(early) + lgamma(a + 1)) / a, log(a + sqrt(2 * a * tail) + tail)
    start = where(fits, 3 * log(where(root > 0, root, 1.0)) + log(a), where(below, least, most))

    def apart(y: Op) -> tuple[Op, Op]:
        x = exp(y)
        of = where(below, gammainc(a, x), gammaincc(a, x))
        beyond = log(of) - log(part)
        return where(below, beyond, -beyond), a * gamma_density(a, x) / of

    return exp(_found(apart, start, least, most))


def _inverse_beta(call: str, a: Array, b: Array, y: Array, lower: bool) -> Op:
    def formula(a: Op, b: Op, y: Op) -> Op:
        a, b, y = broadcast_arrays(a, b, y)
        inside = logical_and(_inside(y, a), _inside(y, b))
        p, q, share = where(inside, a, 1.0), where(inside, b, 1.0), where(inside, y, 0.5)
        found = _beta_quantile(p, q, share, lower)
        return _with_edges(found, logical_and(a > 0, b > 0), inside, y, 1.0, lower)

    def slopes(d: Op, a: Op, b: Op, y: Op) -> tuple[Op, Op, Op]:
        a, b, y = broadcast_arrays(a, b, y)
        by_a, by_b, by_number = beta_slopes(a, b, formula(a, b, y))
        by_share = d / by_number
        return -by_share * by_a, -by_share * by_b, by_share if lower else -by_share

    return in_double(call, formula, a, b, y, slopes=slopes)


def _beta_quantile(a: Op, b: Op, share: Op, lower: bool) -> Op:
    """From the side whose part is the smaller one: what is above is below 1 - x, of both parameters exchanged."""
    below, part, _, _ = _sides(share, lower)
    p, q = where(below, a, b), where(below, b, a)
    both = log_beta(p, q)
    least, most = (log(part) + log(p) + both) / p, (math.log(2) - log(q) - both) / q
    start = digamma(p) - digamma(q) + ndtri(part) * sqrt(trigamma(p) + trigamma(q))

    def apart(y: Op) -> tuple[Op, Op]:
        late, x = y > 0, sigmoid(-size_of(y))
        first, second = where(late, q, p), where(late, p, q)
        of = where(late, betaincc(first, second, x), betainc(first, second, x))
        return log(of) - log(part), beta_density(first, second, x, 1 - x) / of

    found = _found(apart, start, least, most)
    return where(below, sigmoid(found), sigmoid(-found))


def _sides(share: Op, lower: bool) -> tuple[Op, Op, Op, Op]:
    """Whether the smaller part is below, that part, and the parts that are below and above."""
    few, other = share <= 0.5, 1 - share
    below = few if lower else logical_not(few)
    early, late = (share, other) if lower else (other, share)
    return below, where(few, share, other), early, late


def _found(apart: Callable[[Op], tuple[Op, Op]], start: Op, least: Op, most: Op) -> Op:
    """The number at which something that grows is 0, between two: halfway where a step would lead out of these.

    One below which there is nothing but an exponential is the least one.

    Args:
        apart: What is to be 0, and its slope.
    """
    tiny = least < _LEAST

    def step(_: Op, state: Numbers) -> Numbers:
        at, moved, low, high = (x.value for x in state)
        beyond, slope = apart(at)
        low, high = where(beyond < 0, at, low), where(beyond < 0, high, at)
        change = beyond / slope
        to = at - change
        fits = logical_or(size_of(change) <= _NEAR, logical_and(to >= low, to <= high))
        to = where(fits, to, (low + high) / 2)
        to = where(logical_or(tiny, size_of(moved) <= _NEAR), at, to)
        return [Dual(x) for x in (to, to - at, low, high)]

    low, high = maximum(least - 1, _LEAST), maximum(most + 1, _LEAST)
    first = [Dual(x) for x in (minimum(maximum(start, low), high), zeros_like(start) + 1.0, low, high)]
    found = repeated(step, lambda state: size_of(state[1].value) <= _NEAR, first)[0].value
    return where(tiny, least, found)


def _inside(share: Op, parameter: Op) -> Op:
    within = logical_and(share > 0, share < 1)
    return logical_and(within, logical_and(parameter > 0, isfinite(parameter)))


def _with_edges(found: Op, proper: Op, inside: Op, share: Op, most: float, lower: bool) -> Op:
    none, every = (0.0, most) if lower else (most, 0.0)
    edge = where(equal(share, 0), none, where(equal(share, 1), every, math.nan))
    return where(inside, found, where(proper, edge, math.nan))
