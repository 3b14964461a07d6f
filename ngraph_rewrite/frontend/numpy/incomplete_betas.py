# SPDX-License-Identifier: Apache-2.0
"""Incomplete beta functions: the distribution functions of beta numbers, of Student's t, of F and of binomial counts.

Each is a density times a continued fraction, of whichever side is the lesser one. Its slopes by parameters come out of
the same loop, of numbers that carry them along.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.numpy.creation import ones_like
from ngraph_rewrite.frontend.numpy.dual_numbers import Dual, Numbers, fraction, next_part
from ngraph_rewrite.frontend.numpy.elementwise import digamma, equal, isfinite, log, logical_and, logical_or, where
from ngraph_rewrite.frontend.numpy.gamma_parts import beta_density
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_arrays
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.terms.op import Op


def betainc(a: Array, b: Array, x: Array, /) -> Op:
    """The part of the beta distribution of `a` and `b` that is below `x`. NaN for an `x` outside of 0 to 1.

    It is computed in float64; steps are as of `gammainc`. Derivatives pass to all three.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.betainc(2.0, 2.0, [0.25, 0.5]))()
    array([0.15625, 0.5    ], dtype=float32)
    """

    def slopes(d: Op, a: Op, b: Op, x: Op) -> tuple[Op, Op, Op]:
        by_a, by_b, by_x = beta_slopes(a, b, x)
        return d * by_a, d * by_b, d * by_x

    return in_double("betainc", lambda a, b, x: _beta_part(a, b, x, lower=True), a, b, x, slopes=slopes)


def betaincc(a: Array, b: Array, x: Array, /) -> Op:
    """The part of the beta distribution that is above `x`, which may be small. All else is as of `betainc`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.betaincc(ng.placeholder((3,)), 2.0, 0.5).type
    float32[3]
    """

    def slopes(d: Op, a: Op, b: Op, x: Op) -> tuple[Op, Op, Op]:
        by_a, by_b, by_x = beta_slopes(a, b, x)
        return -d * by_a, -d * by_b, -d * by_x

    return in_double("betaincc", lambda a, b, x: _beta_part(a, b, x, lower=False), a, b, x, slopes=slopes)


def beta_slopes(a: Op, b: Op, x: Op) -> tuple[Op, Op, Op]:
    """Those of `betainc`: by both parameters, and by the number, which is the density.

    >>> import ngraph_rewrite as ng
    >>> [slope.type for slope in beta_slopes(*(ng.placeholder((3,), "float64") for _ in "abx"))]
    [float64[3], float64[3], float64[3]]
    """
    a, b, x = broadcast_arrays(a, b, x)
    inside = _proper(a, b, x)
    p, q, z = where(inside, a, 1.0), where(inside, b, 1.0), where(inside, x, 0.5)
    early = z * (p + q + 2) < p + 1
    density = beta_density(p, q, z, 1 - z)
    first, second, u = where(early, p, q), where(early, q, p), where(early, z, 1 - z)
    by_first, by_second = _slopes_of_less(first, second, u, 1 - u)
    by_a, by_b = where(early, by_first, -by_second), where(early, by_second, -by_first)
    return where(inside, by_a, 0.0), where(inside, by_b, 0.0), where(inside, density / (z * (1 - z)), 0.0)


# -- formulas ----------------------------------------------------------------------------------------


def _beta_part(a: Op, b: Op, x: Op, lower: bool) -> Op:
    a, b, x = broadcast_arrays(a, b, x)
    inside = _proper(a, b, x)
    p, q, z = where(inside, a, 1.0), where(inside, b, 1.0), where(inside, x, 0.5)
    early = z * (p + q + 2) < p + 1
    p, q, z, y = where(early, p, q), where(early, q, p), where(early, z, 1 - z), where(early, 1 - z, z)
    found = beta_density(p, q, z, y) / p * _fraction(Dual(p), Dual(q), z).value
    part = where(early, found, 1 - found) if lower else where(early, 1 - found, found)
    edge = _at_edges(a, b, x)
    return where(inside, part, edge if lower else 1 - edge)


def _at_edges(a: Op, b: Op, x: Op) -> Op:
    """At 0 and 1; and of a parameter of 0, for which all is at one of them."""
    within = logical_and(x > 0, x < 1)
    one = where(equal(a, 0), 1.0, where(equal(b, 0), 0.0, math.nan))
    found = where(within, one, where(logical_or(equal(x, 0), equal(x, 1)), x, math.nan))
    return where(logical_and(logical_and(a >= 0, b >= 0), a + b > 0), found, math.nan)


def _proper(a: Op, b: Op, x: Op) -> Op:
    finite = logical_and(isfinite(a), isfinite(b))
    return logical_and(logical_and(finite, logical_and(a > 0, b > 0)), logical_and(x > 0, x < 1))


def _slopes_of_less(a: Op, b: Op, x: Op, y: Op) -> tuple[Op, Op]:
    """By both parameters, where `x` is on the side for which the fraction is."""
    density, both = beta_density(a, b, x, y), digamma(a + b)
    found = []
    for grows, p, q in (
        (log(x) - digamma(a) + both, Dual(a, ones_like(a)), Dual(b)),
        (log(y) - digamma(b) + both, Dual(a), Dual(b, ones_like(b))),
    ):
        part = _fraction(p, q, x).by(p)
        found.append(density * (part.slope + part.value * grows))
    return found[0], found[1]


def _fraction(a: Dual, b: Dual, x: Op) -> Dual:
    """The continued fraction of Abramowitz and Stegun 26.5.8, two of its parts in each step."""
    both, one = a.plus(b), Dual(1.0)

    def step(k: Op, state: Numbers) -> Numbers:
        at = Dual(k)
        least = a.plus(Dual(2 * k))
        even = b.plus(Dual(-k)).times(Dual(k * x)).by(least.plus(Dual(-1.0)).times(least))
        odd = a.plus(at).times(both.plus(at)).times(Dual(-x)).by(least.times(least.plus(one)))
        return next_part(odd, one, next_part(even, one, state))

    first = both.times(Dual(-x)).by(a.plus(one)).plus(one)
    return fraction(step, 1.0, one.by(first))
