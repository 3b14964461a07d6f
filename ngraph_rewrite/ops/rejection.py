# SPDX-License-Identifier: Apache-2.0
"""Draws of distributions that have no formula: numbers are proposed until one is accepted, all from one uniform number.

`attempts` says how, `angles_and_ranks` has more of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.ops.angles_and_ranks import vonmises_draw, zipf_draw
from ngraph_rewrite.ops.attempts import Numbers, accepted, is_unit, of_vectors

__all__ = [
    "DRAWS", "binomial_draw", "binomial_log", "deviance", "gamma_draw", "poisson_draw", "poisson_log", "stirling",
    "vonmises_draw", "zipf_draw",
]  # fmt: skip

DRAWS = ("gamma_draw", "poisson_draw", "binomial_draw", "vonmises_draw", "zipf_draw")
SEARCHED = 10.0  # up to this mean, counts are gone through from 0 on
COUNTS = 200  # and no more of them
_FIRST = np.array([math.nan, *(math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k for k in range(1, 16))])
_FIRST -= math.log(2 * math.pi) / 2  # Stirling's series is too short for these


@of_vectors
def gamma_draw(a: Any, u: Any) -> Numbers:
    """Numbers of gamma distributions of shape `a`; NaN if that is less than 1, or `u` not in [0, 1).

    Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).

    >>> gamma_draw(4.0, [0.25, 0.5]).round(6).tolist()
    [1.107402, 3.243313]
    """
    valid = (a >= 1) & is_unit(u)
    d = np.where(valid, a, 1.0) - 1 / 3

    def propose(unit: Callable[[int], Numbers], left: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
        x = np.sqrt(-2 * np.log(1 - unit(0))) * np.cos(2 * np.pi * unit(1))
        v = (1 + x / np.sqrt(9 * d[left])) ** 3
        bound = 0.5 * x * x + d[left] * (1 - v + np.log(np.where(v > 0, v, 1)))
        return d[left] * v, (v > 0) & (np.log(1 - unit(2)) < bound)

    return np.where(a == np.inf, np.where(valid, a, np.nan), accepted(propose, 3, u, valid & (a < np.inf), d))


@of_vectors
def poisson_draw(mean: Any, u: Any) -> Numbers:
    """How often something happens that happens `mean` times on average; NaN if that is below 0, or `u` not in [0, 1).

    Up to a mean of 10 the count at which the distribution function reaches `u`, beyond Hörmann's PTRS: "The transformed
    rejection method for generating Poisson random variables", Insurance: Mathematics and Economics 12 (1993).

    >>> poisson_draw([0.5, 4.0, 1e6], 0.75).tolist()
    [1.0, 5.0, 1001608.0]
    """
    valid = (mean >= 0) & is_unit(u)
    few, many = valid & (mean < SEARCHED), valid & (mean >= SEARCHED) & (mean < np.inf)
    m = np.where(few | many, mean, 1.0)
    found = np.where(valid & (mean == np.inf), mean, np.nan)
    found[few] = _searched(np.exp(-m[few]), lambda k: m[few] / (k + 1), u[few])
    b = 0.931 + 2.53 * np.sqrt(m)

    def propose(unit: Callable[[int], Numbers], left: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
        center, width = m[left] + 0.43, b[left]
        slope, scale = -0.059 + 0.02483 * width, 1.1239 + 1.1328 / (width - 3.4)
        k, near, height = _transformed(unit, width, slope, center, 0.9277 - 3.6224 / (width - 2))
        fits = np.log(height * scale) <= poisson_log(np.maximum(k, 0), m[left])
        return k, (k >= 0) & (near | fits)

    return np.where(many, accepted(propose, 2, u, many, m), found)


@of_vectors
def binomial_draw(n: Any, p: Any, u: Any) -> Numbers:
    """How many of `n` attempts succeed, each with probability `p`; NaN where one is not so, or `u` not in [0, 1).

    Up to a mean of 10 the count at which the distribution function reaches `u`, beyond Hörmann's BTRS: "The generation
    of binomial random variates", Journal of Statistical Computation and Simulation 46 (1993).

    >>> binomial_draw([1.0, 100.0, 1e9], [0.5, 0.25, 0.75], 0.75).tolist()
    [1.0, 32.0, 749977991.0]
    """
    valid = (n >= 0) & (n < np.inf) & (n == np.floor(n)) & (p >= 0) & (p <= 1) & is_unit(u)
    n, q = np.where(valid, n, 0.0), np.where(valid, np.minimum(p, 1 - p), 0.0)
    many = n * q >= SEARCHED
    some, rare = np.where(many, 0.0, n), np.where(many, 0.0, q)
    found = _searched(np.exp(some * np.log1p(-rare)), lambda k: (some - k) / (k + 1) * (rare / (1 - rare)), u, some)
    spread = np.sqrt(n * q * (1 - q))
    mode = np.floor((n + 1) * q)

    def propose(unit: Callable[[int], Numbers], left: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
        count, chance, width = n[left], q[left], 1.15 + 2.53 * spread[left]
        slope, scale = -0.0873 + 0.0248 * width + 0.01 * chance, (2.83 + 5.1 / width) * spread[left]
        k, near, height = _transformed(unit, width, slope, count * chance + 0.5, 0.92 - 4.2 / width)
        inside = np.clip(k, 0, count)
        fits = np.log(height * scale) <= binomial_log(inside, count, chance) - binomial_log(mode[left], count, chance)
        return k, (k == inside) & (near | fits)

    drawn = np.where(many, accepted(propose, 2, u, many, mode), found)
    return np.where(valid, np.where(p > 0.5, n - drawn, drawn), np.nan)


# -- probabilities -----------------------------------------------------------------------------------------------------


def poisson_log(k: Numbers, mean: Numbers) -> Numbers:
    """The logarithm of the probability of a count.

    Loader, "Fast and accurate computation of binomial probabilities" (2000), as are the others.

    >>> float(poisson_log(np.array(3.0), np.array(2.0)).round(6))
    -1.712318
    """
    more = np.maximum(k, 1)
    return np.where(k > 0, -stirling(more) - deviance(more, mean) - 0.5 * np.log(2 * np.pi * more), -mean)


def binomial_log(k: Numbers, n: Numbers, p: Numbers) -> Numbers:
    """The logarithm of the probability of a count of `n` attempts.

    >>> float(binomial_log(np.array(3.0), np.array(5.0), np.array(0.5)).round(6))
    -1.163151
    """
    ends = np.where(k == 0, n * np.log1p(-p), n * np.log(np.where(p > 0, p, 1)))
    among = np.maximum(n, 2)
    x = np.clip(k, 1, among - 1)
    y = among - x
    apart = deviance(x, among * p) + deviance(y, among * (1 - p))
    inner = stirling(among) - stirling(x) - stirling(y) - apart + 0.5 * np.log(among / x / y / (2 * np.pi))
    return np.where((k > 0) & (k < n), inner, ends)


def stirling(k: Numbers) -> Numbers:
    """The logarithm of k! less Stirling's formula, from 1 on.

    >>> float(stirling(np.array(1.0)).round(6))
    0.081061
    """
    inverse = 1 / (k * k)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - inverse / 1188) * inverse) * inverse) * inverse) / k
    return np.where(k < len(_FIRST), _FIRST[np.minimum(k, len(_FIRST) - 1).astype(int)], series)


def deviance(k: Numbers, mean: Numbers) -> Numbers:
    """``k * log(k / mean) + mean - k``, which is 0 where both are equal, without cancellation.

    >>> float(deviance(np.array(1.0), np.array(2.0)).round(6))
    0.306853
    """
    v = (k - mean) / (k + mean)
    power, total = 2 * k * v, (k - mean) * v
    for odd in range(3, 25, 2):
        power = power * v * v
        total = total + power / odd
    return np.where(np.abs(v) < 0.1, total, k * np.log(k / mean) + mean - k)


# -- ways to draw ------------------------------------------------------------------------------------------------------


def _searched(first: Numbers, ratio: Callable[[int], Numbers], u: Numbers, most: Any = np.inf) -> Numbers:
    """The counts at which distribution functions pass `u`: of so much at 0, and by a ratio more or less at the next."""
    k, chance, reached = np.zeros_like(u), first, first
    for count in range(COUNTS):
        further = (u >= reached) & (k < most) & (k == count)
        chance = chance * ratio(count)
        reached = np.where(further, reached + chance, reached)
        k = k + further
        if not further.any():
            break
    return k


def _transformed(
    unit: Callable[[int], Numbers], width: Numbers, slope: Numbers, center: Numbers, near: Numbers
) -> tuple[Numbers, NDArray[np.bool_], Numbers]:
    """A count by Hörmann's transformation, whether it is taken at once, and what its height is compared by."""
    x, height = unit(0) - 0.5, unit(1)
    rest = np.maximum(0.5 - np.abs(x), 2.0**-54)
    k = np.floor((2 * slope / rest + width) * x + center)
    return k, (rest >= 0.07) & (height <= near), height / (slope / (rest * rest) + width)
