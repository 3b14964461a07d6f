# SPDX-License-Identifier: Apache-2.0
"""Counts of Poisson's and of binomial distributions, each from one uniform number.

Few are looked for from 0 on, many are proposed by Hörmann's transformation until one is accepted, by probabilities as
Loader computes them. `ngraph_rewrite.ops.rejection` has the same in NumPy, and says where it is from.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ngraph_rewrite.ops.attempts import ATTEMPTS
from ngraph_rewrite.ops.rejection import COUNTS, SEARCHED
from ngraph_rewrite.runtime.exponentials import exp
from ngraph_rewrite.runtime.gamma_draws import sequence_unit
from ngraph_rewrite.runtime.logarithms import log, log1p
from ngraph_rewrite.runtime.scalar_functions import fabs, floor, sqrt

# What numbers of distributions are made of: no kernel calls them by themselves.
PARTS = frozenset(
    "sequence_unit stirling_series stirling deviance poisson_log searched_poisson binomial_log searched_binomial "
    "accepted_binomial".split()
)
_3, _5, _7, _9, _11, _13, _15, _17, _19, _21, _23 = (1.0 / odd for odd in range(3, 25, 2))


@register_jitable
def poisson_draw(mean: float, u: float) -> Any:
    """How often something happens that happens `mean` times on average."""
    if not (mean >= 0.0 and u >= 0.0 and u < 1.0):
        return np.nan
    if mean == np.inf:
        return mean
    if mean < SEARCHED:
        return searched_poisson(mean, u)
    width = 0.931 + 2.53 * sqrt(mean)
    slope, scale = -0.059 + 0.02483 * width, 1.1239 + 1.1328 / (width - 3.4)
    near = 0.9277 - 3.6224 / (width - 2.0)
    for attempt in range(ATTEMPTS):
        x, height = sequence_unit(u, 2 * attempt) - 0.5, sequence_unit(u, 2 * attempt + 1)
        rest = 0.5 - fabs(x)
        rest = rest if rest > 2.0**-54 else 2.0**-54
        k = floor((2.0 * slope / rest + width) * x + mean + 0.43)
        if k >= 0.0:
            if rest >= 0.07 and height <= near:
                return k
            if log(height / (slope / (rest * rest) + width) * scale) <= poisson_log(k, mean):
                return k
    return mean


@register_jitable
def searched_poisson(mean: float, u: float) -> Any:
    """The count at which the distribution function passes `u`."""
    chance = exp(-mean)
    reached, k = chance, 0.0
    for _ in range(COUNTS):
        if u < reached:
            break
        chance = chance * (mean / (k + 1.0))
        reached, k = reached + chance, k + 1.0
    return k


@register_jitable
def binomial_draw(n: float, p: float, u: float) -> Any:
    """How many of `n` attempts succeed, each with probability `p`."""
    if not (n >= 0.0 and n < np.inf and n == floor(n) and p >= 0.0 and p <= 1.0 and u >= 0.0 and u < 1.0):
        return np.nan
    q = p if p <= 0.5 else 1.0 - p
    k = searched_binomial(n, q, u) if n * q < SEARCHED else accepted_binomial(n, q, u)
    return k if p <= 0.5 else n - k


@register_jitable
def searched_binomial(n: float, q: float, u: float) -> Any:
    """The count at which the distribution function passes `u`."""
    chance = exp(n * log1p(-q))
    reached, k = chance, 0.0
    for _ in range(COUNTS):
        if u < reached or k >= n:
            break
        chance = chance * ((n - k) / (k + 1.0) * (q / (1.0 - q)))
        reached, k = reached + chance, k + 1.0
    return k


@register_jitable
def accepted_binomial(n: float, q: float, u: float) -> Any:
    """The count that is accepted first. Before the first attempt, how probable the most probable one is."""
    spread = sqrt(n * q * (1.0 - q))
    width = 1.15 + 2.53 * spread
    slope, scale = -0.0873 + 0.0248 * width + 0.01 * q, (2.83 + 5.1 / width) * spread
    near, mode = 0.92 - 4.2 / width, floor((n + 1.0) * q)
    k, most, bound = mode, 0.0, 0.0
    for attempt in range(-1, ATTEMPTS):
        if attempt >= 0:
            x, height = sequence_unit(u, 2 * attempt) - 0.5, sequence_unit(u, 2 * attempt + 1)
            rest = 0.5 - fabs(x)
            rest = rest if rest > 2.0**-54 else 2.0**-54
            k = floor((2.0 * slope / rest + width) * x + n * q + 0.5)
            if k < 0.0 or k > n:
                continue
            if rest >= 0.07 and height <= near:
                return k
            bound = log(height / (slope / (rest * rest) + width) * scale)
        found = binomial_log(k, n, q)
        if attempt < 0:
            most = found
        elif bound <= found - most:
            return k
    return mode


@register_jitable
def poisson_log(k: float, mean: float) -> Any:
    """The logarithm of the probability of a count."""
    return -mean if k == 0.0 else -stirling(k) - deviance(k, mean) - 0.5 * log(2.0 * np.pi * k)


@register_jitable
def binomial_log(k: float, n: float, p: float) -> Any:
    """The logarithm of the probability of a count of `n` attempts, of which there are 16 or more."""
    if k == 0.0:
        return n * log1p(-p)
    if k == n:
        return n * log(p)
    total = stirling_series(n) + 0.5 * log(n / k / (n - k) / (2.0 * np.pi))
    for side in range(2):  # one after the other: the code is there once
        count, chance = (k, p) if side == 0 else (n - k, 1.0 - p)
        total -= stirling(count) + deviance(count, n * chance)
    return total


@register_jitable
def stirling(k: float) -> Any:
    """The logarithm of k! less Stirling's formula, from 1 on."""
    if k >= 16.0:
        return stirling_series(k)
    ratio, factor = 1.0 / sqrt(2.0 * np.pi * k), 1.0
    while factor <= k:
        ratio, factor = ratio * factor / k, factor + 1.0
    return log(ratio) + k


@register_jitable
def stirling_series(k: float) -> Any:
    """The same from 16 on."""
    inverse = 1.0 / k
    square = inverse * inverse
    inner = 1.0 / 1260.0 - (1.0 / 1680.0 - square * (1.0 / 1188.0)) * square
    return (1.0 / 12.0 - (1.0 / 360.0 - inner * square) * square) * inverse


@register_jitable
def deviance(k: float, mean: float) -> Any:
    """``k * log(k / mean) + mean - k`` without cancellation."""
    v = (k - mean) / (k + mean)
    if fabs(v) >= 0.1:
        return k * log(k / mean) + mean - k
    s = v * v
    inner = ((((_23 * s + _21) * s + _19) * s + _17) * s + _15) * s + _13
    series = ((((inner * s + _11) * s + _9) * s + _7) * s + _5) * s + _3
    return (k - mean) * v + 2.0 * k * v * s * series
