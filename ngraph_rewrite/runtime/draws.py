# SPDX-License-Identifier: Apache-2.0
"""Random draws inside a kernel: the scalar form of `ngraph_rewrite.runtime.philox`, with the same bits."""

from typing import Any

import numpy as np
from numba.extending import register_jitable

from ngraph_rewrite.runtime.logarithms import log
from ngraph_rewrite.runtime.philox import MULTIPLIERS, ROUNDS, WEYL
from ngraph_rewrite.runtime.scalar_functions import sqrt
from ngraph_rewrite.runtime.trigonometry import near_cos, near_sin

_M0, _M1 = (np.uint64(word) for word in MULTIPLIERS)
_W0, _W1 = (np.uint64(word) for word in WEYL)
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_TURN = 2.0 * np.pi


@register_jitable
def philox_block(block: int, call: int, stream: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Four words of 32 random bits, as uint64."""
    c0, c1 = np.uint64(block) & _LOW, np.uint64(block) >> _SHIFT
    c2, c3 = np.uint64(call) & _LOW, np.uint64(stream) & _LOW
    k0, k1 = np.uint64(seed) & _LOW, np.uint64(seed) >> _SHIFT
    for _ in range(ROUNDS):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _SHIFT) ^ c1 ^ k0, p1 & _LOW, (p0 >> _SHIFT) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@register_jitable
def unit_single(word: int) -> float:
    """24 of the bits as a number in [0, 1)."""
    return np.float64(np.int64(word >> np.uint64(8))) * 2.0**-24


@register_jitable
def unit_double(high: int, low: int) -> float:
    """53 bits of two words as a number in [0, 1)."""
    top, bottom = np.int64(high >> np.uint64(5)), np.int64(low >> np.uint64(6))
    return (np.float64(top) * 2.0**26 + np.float64(bottom)) * 2.0**-53


@register_jitable
def box_muller(first: float, second: float) -> tuple[float, float]:
    """Two independent normal draws from two uniform ones."""
    radius, angle = sqrt(-2.0 * log(1.0 - first)), _TURN * second
    return radius * near_cos(angle), radius * near_sin(angle)
