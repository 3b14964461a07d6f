# SPDX-License-Identifier: Apache-2.0
"""Modified Bessel functions of orders 0 and 1, and what is left of them beside exponentials.

Each is one polynomial up to 8 and another one above, as ``ng.numpy.i0`` is. Their slopes are made of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngraph_rewrite.frontend.numpy.elementwise import abs, equal, exp, sqrt, where
from ngraph_rewrite.frontend.numpy.number_formulas import ABOVE_8, UP_TO_8, chebyshev, polynomial
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.frontend.numpy.special_operands import in_single
from ngraph_rewrite.terms.op import Op

# Chebyshev's coefficients of exp(-x) i1(x) / x for x / 2 - 2, and of that times x * sqrt(x) for 32 / x - 2: by mpmath.
_FIRST_UP_TO_8 = (
    2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16, -1.1055969477353862e-15,
    7.600684294735408e-15, -5.042185504727912e-14, 3.223793365945575e-13, -1.9839743977649436e-12,
    1.1736186298890901e-11, -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-09,
    9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07, -8.568720264695455e-07,
    3.4702513081376785e-06, -1.3273163656039436e-05, 4.781565107550054e-05, -0.00016176081582589674,
    0.0005122859561685758, -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197, 0.024726449030626516,
    -0.05294598120809499, 0.1026436586898471, -0.17641651835783406, 0.25258718644363365,
)  # fmt: skip
_FIRST_ABOVE_8 = (
    7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17, -3.209525921993424e-17,
    2.96262899764595e-16, 3.3082023109209285e-16, -1.8803547755107825e-15, -3.8144030724370075e-15,
    1.0420276984128802e-14, 4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11, 3.2526035830154884e-11,
    -1.8974958123505413e-11, -5.589743462196584e-10, -3.835380385964237e-09, -2.6314688468895196e-08,
    -2.512236237870209e-07, -3.882564808877691e-06, -0.00011058893876262371, -0.009761097491361469,
    0.7785762350182801,
)  # fmt: skip
# Of the difference of both, times x * sqrt(2 * pi * x), the powers of 1 / x, for great x.
_APART = (
    0.5, 0.1875, 0.17578125, 0.25634765625, 0.5046844482421875, 1.249094009399414, 3.7212592363357544,
    12.95795626938343, 51.629357010824606, 231.6150321457826,
)  # fmt: skip
_FAR = 50.0


def i0(x: Array, /) -> Op:
    """The modified Bessel function of order 0, as ``ng.numpy.i0``: an average of exponentials of `x` times cosines.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.i0(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("i0", lambda x: _zeroth(x) * exp(abs(x)), x, slopes=lambda d, x: d * _first(x) * exp(abs(x)))


def i0e(x: Array, /) -> Op:
    """`i0` times exp(-abs(`x`)), which does not grow.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.i0e(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("i0e", _zeroth, x, slopes=lambda d, x: d * -_sign(x) * _apart(abs(x)))


def i1(x: Array, /) -> Op:
    """The modified Bessel function of order 1, the slope of `i0`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.i1(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("i1", lambda x: _first(x) * exp(abs(x)), x, slopes=lambda d, x: d * _second(x) * exp(abs(x)))


def i1e(x: Array, /) -> Op:
    """`i1` times exp(-abs(`x`)).

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.i1e(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("i1e", _first, x, slopes=lambda d, x: d * (_apart(abs(x)) - _by_number(x)))


def _zeroth(x: Op) -> Op:
    return _scaled(abs(x), UP_TO_8, ABOVE_8)


def _first(x: Op) -> Op:
    size = abs(x)
    near = size <= 8.0
    return _scaled(size, _FIRST_UP_TO_8, _FIRST_ABOVE_8) * where(near, x, _sign(x))


def _second(x: Op) -> Op:
    """The slope of i1, scaled: i0 less i1 by `x`, of which a half is left at 0."""
    return _zeroth(x) - _by_number(x)


def _by_number(x: Op) -> Op:
    nothing = equal(x, 0)
    return where(nothing, 0.5, _first(x) / where(nothing, 1.0, x))


def _apart(size: Op) -> Op:
    """i0 less i1, scaled: far out the difference of equal numbers, and so there by what is left of it."""
    far = size > _FAR
    near, inverse = where(far, 0.0, size), 1 / where(far, size, _FAR)
    rest = polynomial(apply, inverse, _APART) * inverse**1.5 * math.sqrt(0.5 / math.pi)
    return where(far, rest, _zeroth(near) - _first(near))


def _sign(x: Op) -> Op:
    return where(x < 0, -1.0, where(x > 0, 1.0, x))


def _scaled(size: Op, up_to: Sequence[float], above: Sequence[float]) -> Op:
    small = size <= 8.0
    low, high = where(small, size, 8.0), where(small, 8.0, size)
    few = chebyshev(apply, low / 2 - 2, up_to)
    return where(small, few, chebyshev(apply, 32 / high - 2, above) / sqrt(high))
