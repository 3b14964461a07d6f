# SPDX-License-Identifier: Apache-2.0
"""Exponential integrals: what is left of an exponential divided by its variable, by series and, far out, polynomials.

The polynomials are of the inverse of a number, and give what is beside an exponential: they are Chebyshev's, by mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ngraph_rewrite.frontend.numpy.elementwise import equal, exp, isnan, log, logical_or, where
from ngraph_rewrite.frontend.numpy.number_formulas import chebyshev, polynomial
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.terms.op import Op

_EULER = 0.5772156649015329
# The series of ei(x) - log(x) - _EULER by x: for numbers up to 6, and down to -1.
_SERIES = [1 / (k * math.factorial(k)) for k in range(1, 38)]
# Of x * exp(x) * exp1(x) from 1 to 4, and above.
_FALLING_TO_4 = (
    2.3434812288949573e-17, -9.451717302757913e-17, 3.8367865399315405e-16, -1.5682760501666479e-15,
    6.457851441771653e-15, -2.680422543484031e-14, 1.1221172048389864e-13, -4.741328303955583e-13,
    2.023672864586796e-12, -8.733026632444629e-12, 3.8145706749552266e-11, -1.6886433329881412e-10,
    7.587542091903628e-10, -3.4668022114907356e-09, 1.6143270567198776e-08, -7.682345587055264e-08,
    3.7494319356894736e-07, -1.8853689849165184e-06, 9.827812880247493e-06, -5.356413212961842e-05,
    0.0003091183377206032, -0.0019268451873811457, 0.01343226624790278, -0.1125352434836609, 1.3942267533593966,
)  # fmt: skip
_FALLING = (
    1.847470159346898e-17, -5.408917538957171e-17, 1.6062155757002903e-16, -4.841672496239229e-16,
    1.4827103482893693e-15, -4.617388988712924e-15, 1.4637618643932435e-14, -4.7291682970803986e-14,
    1.5592182725919257e-13, -5.253831761558461e-13, 1.8122469802048165e-12, -6.411481049213786e-12,
    2.33158866322266e-11, -8.737853904474682e-11, 3.3846628887608844e-10, -1.3599576648056003e-09,
    5.692324201833754e-09, -2.4950304402693382e-08, 1.15268083971414e-07, -5.65964914577193e-07,
    2.9856275144792833e-06, -1.7173329989377674e-05, 0.00010999134432661389, -0.0008097559457557386,
    0.007224101543746595, -0.08648117855259871, 1.8107081999246983,
)  # fmt: skip
# Of x * exp(-x) * ei(x) from 6 to 12, from there to 40, and above.
_RISING_TO_12 = (
    2.0895115006185691e-16, -1.7064640854405607e-15, 8.22817443438954e-15, -1.3060424323093775e-14,
    -1.824894014255641e-13, 2.0752769575841014e-12, -1.1038674953026538e-11, 1.5005396668585005e-11,
    2.9077513809389464e-10, -2.804867660824966e-09, 9.457713014017885e-09, 4.3431190977401596e-08,
    -6.410426692376372e-07, 1.7610424153850599e-06, 1.860281858277769e-05, -0.0001311802094421383,
    -0.0007360917133533506, 0.004538849615854891, 0.08867277799156566, 2.373039463211886,
)  # fmt: skip
_RISING_TO_40 = (
    1.4222262035319945e-16, -7.863320736779587e-16, 8.550423850447549e-16, 7.817768510030738e-15,
    -3.662248784746324e-14, 4.815674129651895e-16, 5.150856938500669e-13, -1.3007801977258963e-12,
    -4.604686597879766e-12, 2.8129253681400847e-11, 2.6752080246004274e-11, -4.691836971233049e-10,
    -1.4934471012628788e-10, 7.847379703439082e-09, 8.48558455085582e-09, -1.3050905428162642e-07,
    -5.403631817059884e-07, 3.919172473593174e-07, 1.5453283783968214e-05, 0.000143008326382546, 0.001691466590585316,
    0.03816673959426899, 2.125916280605656,
)  # fmt: skip
_RISING = (
    6.776097942327009e-17, 5.180722800738425e-16, 4.721533478404251e-15, 5.0886257016631476e-14,
    6.466039306640236e-13, 9.723024129155511e-12, 1.747202457794016e-10, 3.813480680688831e-09,
    1.0363147927429254e-07, 3.642352053413062e-06, 0.00017620552371111085, 0.013173609544194371, 2.026001892777882,
)  # fmt: skip


def exp1(x: Array, /) -> Op:
    """The integral of exp(-t) / t from `x` on: infinite at 0, and NaN below, where it is complex.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.exp1([0.5, 1.0, 5.0]))().round(6)
    array([0.559774, 0.219384, 0.001148], dtype=float32)
    """

    def formula(x: Op) -> Op:
        found = _falling(where(x > 0, x, 1.0))
        return where(x > 0, found, where(equal(x, 0), math.inf, math.nan))

    return in_double("exp1", formula, x, slopes=lambda d, x: d * (-exp(-x) / x))


def expi(x: Array, /) -> Op:
    """The integral of exp(t) / t up to `x`, its principal value above 0; -inf at 0.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.expi([-1.0, 0.0, 1.0]))().round(6)
    array([-0.219384,      -inf,  1.895118], dtype=float32)
    """

    def formula(x: Op) -> Op:
        above, below = _rising(where(x > 0, x, 1.0)), -_falling(where(x < 0, -x, 1.0))
        found = where(x > 0, above, where(x < 0, below, -math.inf))
        return where(isnan(x), math.nan, found)

    return in_double("expi", formula, x, slopes=lambda d, x: d * (exp(x) / x))


def _falling(x: Op) -> Op:
    """exp1 of positive numbers."""
    few, some = x <= 1, x <= 4
    near = where(few, x, 1.0)
    series = near * polynomial(apply, -near, _SERIES) - log(near) - _EULER
    far = where(few, 4.0, x)
    middle, high = _between(where(some, far, 4.0), 1.0, 4.0, _FALLING_TO_4), _above(where(some, 4.0, x), 4.0, _FALLING)
    return where(few, series, exp(-x) / far * where(some, middle, high))


def _rising(x: Op) -> Op:
    """expi of positive numbers: far out by two exponentials, one of which alone may be infinite."""
    few, some, many = x <= 6, x <= 12, x <= 40
    near = where(few, x, 1.0)
    series = near * polynomial(apply, near, _SERIES) + log(near) + _EULER
    low = _between(where(logical_or(few, x > 12), 6.0, x), 6.0, 12.0, _RISING_TO_12)
    middle = _between(where(some, 12.0, where(many, x, 40.0)), 12.0, 40.0, _RISING_TO_40)
    high = _above(where(many, 40.0, x), 40.0, _RISING)
    half = exp(x * 0.5)
    found = half / where(few, 6.0, x) * where(some, low, where(many, middle, high)) * half
    return where(few, series, where(equal(x, math.inf), x, found))


def _between(x: Op, low: float, high: float, factors: Sequence[float]) -> Op:
    """Chebyshev's polynomial of inverses of the numbers from a low one to a high one."""
    least, most = 1 / high, 1 / low
    return chebyshev(apply, (1 / x - (least + most) / 2) * (4 / (most - least)), factors)


def _above(x: Op, low: float, factors: Sequence[float]) -> Op:
    return chebyshev(apply, (1 / x) * (4 * low) - 2.0, factors)
