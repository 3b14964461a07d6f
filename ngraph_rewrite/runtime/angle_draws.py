# SPDX-License-Identifier: Apache-2.0
"""Angles of von Mises' distribution, and ranks of Zipf's, each from one uniform number.

`ngraph_rewrite.ops.angles_and_ranks` has the same in NumPy, and says where it is from.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ngraph_rewrite.ops.angles_and_ranks import ALL_ONES, FLAT, SHARP, WHOLE
from ngraph_rewrite.ops.attempts import ATTEMPTS
from ngraph_rewrite.runtime.exponentials import exp, expm1
from ngraph_rewrite.runtime.gamma_draws import sequence_unit
from ngraph_rewrite.runtime.logarithms import log, log1p
from ngraph_rewrite.runtime.scalar_functions import floor, sqrt
from ngraph_rewrite.runtime.trigonometry import near_cos, near_sin

_ROOT_2, _LOG_2 = np.sqrt(2.0), np.log(2.0)


@register_jitable
def vonmises_draw(kappa: float, u: float) -> Any:
    """The tangent of half of an angle around 0, of concentration `kappa`."""
    if not (kappa >= 0.0 and u >= 0.0 and u < 1.0):
        return np.nan
    if kappa > SHARP:
        return 0.0
    h = sqrt(1.0 + 4.0 * (kappa * kappa)) if kappa < FLAT else 2.0 * kappa
    root = sqrt(1.0 + h)
    spread = root + _ROOT_2
    rho = 2.0 * kappa * root / ((h + 1.0) * spread)
    rest = 1.0 - rho
    if kappa >= 1.0:
        rest = (_ROOT_2 * root - 1.0 - 1.0 / (h + 2.0 * kappa)) / (2.0 * kappa)
    factor, least = rest / (1.0 + rho), (h + 1.0) * spread / (4.0 * root) * rest * rest
    for attempt in range(ATTEMPTS):
        even = np.pi * (sequence_unit(u, 2 * attempt) - 0.5)
        t = factor * (near_sin(even) / near_cos(even))
        y = least + kappa * 2.0 * (t * t / (1.0 + t * t))
        if log(1.0 - sequence_unit(u, 2 * attempt + 1)) <= log(y) + 1.0 - y:
            return t
    return 0.0


@register_jitable
def zipf_draw(a: float, u: float) -> Any:
    """A rank, as probable as its power of exponent `-a`."""
    if not (a > 1.0 and u >= 0.0 and u < 1.0):
        return np.nan
    if a > ALL_ONES:
        return 1.0
    e = a - 1.0
    more = expm1(e * _LOG_2)
    for attempt in range(ATTEMPTS):
        k = floor(exp(-log(1.0 - sequence_unit(u, 2 * attempt)) / e))
        rises = expm1(e * log1p(1.0 / k))
        slope = k * rises if k < WHOLE else e
        if sequence_unit(u, 2 * attempt + 1) * slope * (more + 1.0) <= (rises + 1.0) * more:
            return k
    return 1.0
