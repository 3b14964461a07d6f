# SPDX-License-Identifier: Apache-2.0
"""Draws of von Mises' and of Zipf's distribution, by attempts from one uniform number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.ops.attempts import Numbers, accepted, is_unit, of_vectors

SHARP = 1e300  # of a greater concentration all angles are 0
FLAT = 1e8  # beyond it 1 is lost beside four times the square
ALL_ONES = 1e3  # of a greater exponent all ranks are 1
WHOLE = 2.0**53  # beyond it the next rank is no other number


@of_vectors
def vonmises_draw(kappa: Any, u: Any) -> Numbers:
    """Tangents of half of angles around 0, of concentration `kappa`; NaN below 0, or if `u` is not in [0, 1).

    Best and Fisher, "Efficient simulation of the von Mises distribution", Applied Statistics 28 (1979): angles of a
    wrapped Cauchy distribution, of which the tangent of a half is that of an even angle times a number.

    >>> vonmises_draw([0.0, 4.0], 0.75).round(6).tolist()
    [3.435452, 0.174184]
    """
    valid = (kappa >= 0) & is_unit(u)
    zero = valid & (kappa > SHARP)
    k = np.where(valid & ~zero, kappa, 1.0)
    h = np.where(k < FLAT, np.sqrt(1 + 4 * np.minimum(k, FLAT) ** 2), 2 * k)
    root = np.sqrt(1 + h)
    spread = root + np.sqrt(2)
    rho = 2 * k * root / ((h + 1) * spread)
    rest = np.where(k < 1, 1 - rho, (np.sqrt(2) * root - 1 - 1 / (h + 2 * k)) / (2 * np.maximum(k, 1)))
    factor, least = rest / (1 + rho), (h + 1) * spread / (4 * root) * rest * rest

    def propose(unit: Callable[[int], Numbers], left: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
        even = np.pi * (unit(0) - 0.5)
        t = factor[left] * (np.sin(even) / np.cos(even))
        y = least[left] + k[left] * 2 * (t * t / (1 + t * t))
        return t, np.log(1 - unit(1)) <= np.log(y) + 1 - y

    return np.where(zero, 0.0, accepted(propose, 2, u, valid & ~zero, np.zeros_like(k)))


@of_vectors
def zipf_draw(a: Any, u: Any) -> Numbers:
    """Ranks, each as probable as its power of exponent `-a`; NaN unless that is above 1, or `u` not in [0, 1).

    Devroye, "Non-Uniform Random Variate Generation" (1986), section X.6.1.

    >>> zipf_draw([1.1, 2.0, 9.0], 0.75).tolist()
    [28165152898.0, 11.0, 1.0]
    """
    valid = (a > 1) & is_unit(u)
    ones = valid & (a > ALL_ONES)
    e = np.where(valid & ~ones, a, 2.0) - 1
    more = np.expm1(e * np.log(2.0))

    def propose(unit: Callable[[int], Numbers], left: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.bool_]]:
        own = e[left]
        with np.errstate(over="ignore"):
            k = np.floor(np.exp(-np.log(1 - unit(0)) / own))
        rises = np.expm1(own * np.log1p(1 / k))
        slope = np.where(k < WHOLE, np.minimum(k, WHOLE) * rises, own)
        return k, unit(1) * slope * (more[left] + 1) <= (rises + 1) * more[left]

    return np.where(ones, 1.0, accepted(propose, 2, u, valid & ~ones, np.ones_like(e)))
