# SPDX-License-Identifier: Apache-2.0
"""Incomplete gamma functions: the distribution functions of gamma numbers, and of sums of squared normal ones.

Each is a density times a series below the mean, and a continued fraction above it. Its slope by the shape comes out of
the same loop, of numbers that carry it along.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.numpy.creation import ones_like, zeros_like
from ngraph_rewrite.frontend.numpy.dual_numbers import CLOSE, TINY, Dual, Numbers, fraction, next_part, repeated
from ngraph_rewrite.frontend.numpy.elementwise import abs as size_of
from ngraph_rewrite.frontend.numpy.elementwise import (
    digamma,
    equal,
    isfinite,
    isnan,
    log,
    logical_and,
    logical_or,
    where,
)
from ngraph_rewrite.frontend.numpy.gamma_parts import above_of_small, gamma_density
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_arrays
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.terms.op import Op


def gammainc(a: Array, x: Array, /) -> Op:
    """The part of the gamma distribution of shape `a` that is below `x`. NaN for what is negative.

    It is computed in float64, to 1e-13 or better up to an `a` of a million. The number of steps grows with its root,
    and ends at 20,000. Derivatives pass to both.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.gammainc(1.0, [0.0, 1.0]))().round(6)
    array([0.      , 0.632121], dtype=float32)
    """

    def slopes(d: Op, a: Op, x: Op) -> tuple[Op, Op]:
        by_shape, by_number = gamma_slopes(a, x)
        return d * by_shape, d * by_number

    return in_double("gammainc", lambda a, x: _gamma_part(a, x, lower=True), a, x, slopes=slopes)


def gammaincc(a: Array, x: Array, /) -> Op:
    """The part of the gamma distribution that is above `x`, which may be small. All else is as of `gammainc`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.gammaincc(ng.placeholder((3,)), 2.0).type
    float32[3]
    """

    def slopes(d: Op, a: Op, x: Op) -> tuple[Op, Op]:
        by_shape, by_number = gamma_slopes(a, x)
        return -d * by_shape, -d * by_number

    return in_double("gammaincc", lambda a, x: _gamma_part(a, x, lower=False), a, x, slopes=slopes)


def gamma_slopes(a: Op, x: Op) -> tuple[Op, Op]:
    """Those of `gammainc`: by the shape, and by the number, which is the density.

    >>> import ngraph_rewrite as ng
    >>> [slope.type for slope in gamma_slopes(ng.placeholder((3,), "float64"), ng.placeholder((), "float64"))]
    [float64[3], float64[3]]
    """
    a, x = broadcast_arrays(a, x)
    inside = _plain(a, x)
    p, z = where(inside, a, 1.0), where(inside, x, 1.0)
    few = z <= where(p < 1, 1.0, p + 1)
    density = gamma_density(p, z)
    grows = log(z) - digamma(p + 1)
    series = _series(Dual(p, ones_like(p)), where(few, z, 0.0))
    fraction = Dual(p, ones_like(p)).times(_fraction(Dual(p, ones_like(p)), where(few, p + 2, z)))
    by_shape = where(few, series.slope + series.value * grows, -(fraction.slope + fraction.value * grows)) * density
    at_zero = where(equal(x, 0), where(a < 1, math.inf, where(equal(a, 1), 1.0, 0.0)), 0.0)
    return where(inside, by_shape, 0.0), where(inside, density * p / z, where(a > 0, at_zero, 0.0))


# -- formulas ----------------------------------------------------------------------------------------


def _gamma_part(a: Op, x: Op, lower: bool) -> Op:
    a, x = broadcast_arrays(a, x)
    inside = _plain(a, x)
    p, z = where(inside, a, 1.0), where(inside, x, 1.0)
    few = z <= where(p < 1, 1.0, p + 1)
    density = gamma_density(p, z)
    series = density * _series(Dual(p), where(few, z, 0.0)).value
    fraction = density * p * _fraction(Dual(p), where(few, p + 2, z)).value
    part = where(few, series, 1 - fraction) if lower else where(few, _above(p, z, few, series), fraction)
    return where(inside, part, _at_edges(a, x, lower))


def _above(a: Op, x: Op, few: Op, below: Op) -> Op:
    """What a series leaves above, which is small where the shape is."""
    small = logical_and(few, a < 1)
    return where(small, above_of_small(where(small, a, 0.5), where(small, x, 0.5)), 1 - below)


def _at_edges(a: Op, x: Op, lower: bool) -> Op:
    """Nothing is below 0, and all of it above a shape of 0 and below infinity."""
    wrong = logical_or(logical_or(a < 0, x < 0), logical_or(isnan(a + x), equal(a, x)))
    everything = logical_or(equal(a, 0), equal(x, math.inf))
    return where(wrong, math.nan, where(everything, 1.0, 0.0) if lower else where(everything, 0.0, 1.0))


def _plain(a: Op, x: Op) -> Op:
    return logical_and(logical_and(a > 0, x > 0), logical_and(isfinite(a), isfinite(x)))


def _series(a: Dual, x: Op) -> Dual:
    """The sum of ``x ** n / ((a + 1) ... (a + n))``, from 1 on."""

    def step(k: Op, state: Numbers) -> Numbers:
        term, total = state
        term = term.times(Dual(x)).by(a.plus(Dual(k)))
        return term, total.plus(term)

    def rests(state: Numbers) -> Op:
        (term, slope), total = state[0], state[1].value
        near = size_of(term) <= CLOSE * total
        return near if isinstance(slope, float) else logical_and(near, size_of(slope) <= CLOSE * total)

    one = Dual(ones_like(x), 0.0 if isinstance(a.slope, float) and not a.slope else zeros_like(x))
    return repeated(step, rests, [one, one])[1]


def _fraction(a: Dual, x: Op) -> Dual:
    """Legendre's fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...))."""
    opposite = a.times(Dual(-1.0))
    first = opposite.plus(Dual(x + 1))

    def step(k: Op, state: Numbers) -> Numbers:
        return next_part(a.plus(Dual(-k)).times(Dual(k)), first.plus(Dual(2 * k)), state)

    return fraction(step, 1 / TINY, Dual(1.0).by(first))
