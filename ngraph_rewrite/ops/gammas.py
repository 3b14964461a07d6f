# SPDX-License-Identifier: Apache-2.0
"""What lgamma, digamma and trigamma mean, in double precision: recurrence to where a series is known, and that.

Below zero they are reflected: NIST *Digital Library of Mathematical Functions*, 5.5, 5.11 and 5.15.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

_LARGE = 16.0
# The root of digamma, in two parts, and the slopes there, each over a factorial: (-1)**(k + 1) * zeta(k + 1, root).
_ROOT = (1.4616321449683622, 9.549995429965697e-17)
_SLOPES = (
    0.9676722454476212,
    -0.4427631689835921,
    0.258499760955651,
    -0.16394270544240652,
    0.10782405069126237,
    -0.07219956125645471,
    0.04880428816414311,
    -0.03316112647484736,
    0.022597648232218104,
    -0.01542476590494896,
    0.010538791616612175,
    -0.007204534386356869,
    0.004926781395729853,
    -0.003369801655439328,
    0.002305126326734928,
    *((-1) ** (k + 1) * math.fsum((n + 1.4616321449683622) ** -(k + 1.0) for n in range(100)) for k in range(16, 60)),
)
# lgamma(2 + x) in powers of x, from the first on: (-1)**k * (zeta(k) - 1) / k but for the first (5.7.3).
_NEAR_TWO = (
    0.42278433509846713, 0.3224670334241132, -0.0673523010531981, 0.020580808427784546, -0.007385551028673986,
    0.0028905103307415234, -0.001192753911703261, 0.0005096695247430425, -0.00022315475845357939,
    9.945751278180853e-05, -4.492623673813314e-05, 2.050721277567069e-05, -9.439488275268397e-06,
    4.374866789907488e-06, -2.039215753801366e-06, 9.55141213040742e-07, -4.492469198764566e-07,
    2.1207184805554665e-07, -1.0043224823968099e-07,
    *((-1) ** k * math.fsum(float(n) ** -k for n in range(2, 8)) / k for k in range(20, 45)),
)  # fmt: skip
# B(2 k) / (2 k), and B(2 k): Bernoulli's numbers.
_DI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
_TRI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def lgamma(x: Any) -> Any:
    """The logarithm of the size of gamma(x), in double precision; infinite at 0 and at negative integers.

    >>> float(lgamma(5.0).round(6)), float(lgamma(-1.0))
    (3.178054, inf)
    """
    return _lgamma(x)


def digamma(x: Any) -> Any:
    """The slope of `lgamma`, in double precision; infinite at 0, NaN at negative integers.

    >>> float(digamma(1.0).round(6)), float(digamma(-1.0))
    (-0.577216, nan)
    """
    return _digamma(x)


def trigamma(x: Any) -> Any:
    """The slope of `digamma`, in double precision; infinite at 0 and at negative integers.

    >>> float(trigamma(1.0).round(6)), float(trigamma(-1.0))
    (1.644934, inf)
    """
    return _trigamma(x)


def _vectorised(function: Callable[[float], float]) -> Callable[[Any], Any]:
    return np.vectorize(lambda x: function(float(x)), otypes=[np.float64])


def _is_pole(x: float) -> bool:
    return x <= 0 and (math.isinf(x) or x == math.floor(x))


def _powers(x: float, coefficients: Sequence[float]) -> float:
    return math.fsum(c * x**k for k, c in enumerate(coefficients, 1))


def _series(x: float, coefficients: Sequence[float]) -> float:
    """The sum of coefficients over ``x ** 2``, ``x ** 4`` and so on."""
    return math.fsum(c * x ** (-2.0 * k) for k, c in enumerate(coefficients, 1))


@_vectorised
def _lgamma(x: float) -> float:
    if _is_pole(x):
        return math.inf
    if abs(x - 2) <= 0.75:
        return _powers(x - 2, _NEAR_TWO)
    if abs(x - 1) <= 0.75:
        return _powers(x - 1, _NEAR_TWO) - math.log1p(x - 1)
    if 2.75 < x < _LARGE:
        steps = math.ceil(x - 2.5)
        return math.fsum((_powers(x - steps - 2, _NEAR_TWO), *(math.log(x - k) for k in range(1, steps + 1))))
    return math.lgamma(x) if x < 2.5e305 else x * math.inf


@_vectorised
def _digamma(x: float) -> float:
    if _is_pole(x):
        return math.copysign(math.inf, -x) if x == 0 else math.nan
    if x < 0:
        turn = x - round(x)
        return math.fsum((float(_digamma(1 - x)), -math.pi / math.tan(math.pi * turn)))
    if x < 0.9:
        return math.fsum((_near_root(x + 1), -1 / x))
    if x < _LARGE:  # down to where the root is, as terms would cancel on the way up
        steps = max(0, math.ceil(x - 2.06))
        return math.fsum((_near_root(x - steps), *(1 / (x - k) for k in range(1, steps + 1))))
    return math.fsum((math.log(x), -0.5 / x, -_series(x, _DI)))


def _near_root(x: float) -> float:
    """Digamma between 0.9 and 2.06."""
    return _powers((x - _ROOT[0]) - _ROOT[1], _SLOPES)


def _inverse_square(x: float) -> float:
    """Infinite where that is too large, and not where ``x * x`` is too small."""
    inverse = 1 / x if x else math.inf
    return inverse * inverse


@_vectorised
def _trigamma(x: float) -> float:
    if _is_pole(x):
        return math.inf
    if x < 0:
        sine = math.sin(math.pi * (x - round(x)))
        return math.pi**2 * _inverse_square(sine) - float(_trigamma(1 - x))
    steps = max(0, math.ceil(_LARGE - x)) if x < _LARGE else 0
    large = x + steps
    terms = [_inverse_square(x + k) for k in range(steps)]
    return math.fsum((1 / large, 0.5 / large / large, _series(large, _TRI) / large, *terms))
