# SPDX-License-Identifier: Apache-2.0
"""Numbers of the gamma distribution, each from one uniform number.

Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000). The uniform number begins a
sequence of others (SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014),
of which attempts are made until one is taken. `ngraph_rewrite.ops.rejection` has the same in NumPy.
"""

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ngraph_rewrite.ops.attempts import ATTEMPTS, GOLDEN, MIX
from ngraph_rewrite.runtime.logarithms import log
from ngraph_rewrite.runtime.scalar_functions import sqrt
from ngraph_rewrite.runtime.trigonometry import near_cos

_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = (np.uint64(word) for word in MIX)
_A, _B, _C, _D = (np.uint64(bits) for bits in (30, 27, 31, 11))
_TURN = 2.0 * np.pi


@register_jitable
def sequence_unit(u: float, at: int) -> Any:
    """The number in [0, 1) at a place of the sequence that one of them begins."""
    word = np.uint64(np.int64(u * 2.0**53)) + np.uint64(at + 1) * _GOLDEN
    word = (word ^ (word >> _A)) * _FIRST
    word = (word ^ (word >> _B)) * _SECOND
    word = word ^ (word >> _C)
    return np.float64(np.int64(word >> _D)) * 2.0**-53


@register_jitable
def gamma_draw(a: float, u: float) -> Any:
    """A number of the gamma distribution of shape `a`; NaN if that is less than 1, or `u` not in [0, 1)."""
    if not (a >= 1.0 and u >= 0.0 and u < 1.0):
        return np.nan
    if a == np.inf:
        return a
    d = a - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    for attempt in range(ATTEMPTS):
        radius = sqrt(-2.0 * log(1.0 - sequence_unit(u, 3 * attempt)))
        x = radius * near_cos(_TURN * sequence_unit(u, 3 * attempt + 1))
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            height = 1.0 - sequence_unit(u, 3 * attempt + 2)
            if height < 1.0 - 0.0331 * (x * x) * (x * x):  # which is less than the bound, and needs no logarithm
                return d * v
            if log(height) < 0.5 * x * x + d * (1.0 - v + log(v)):
                return d * v
    return d
