# SPDX-License-Identifier: Apache-2.0
"""sinh and cosh: half the sum or the difference of an exponential and its inverse; near zero sinh is a polynomial."""

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.runtime.exponentials import power_of_two, reduced
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Real, kernel_function

# (sinh(x) / x - 1) / x**2, in terms of its square, below 1
_SINH: dict[Any, Sequence[float]] = {
    SINGLE: (0.16666666488721119, 0.008333350597901574, 0.00019836066273702446, 2.8174395115933146e-06),
    DOUBLE: (
        0.16666666666666669,
        0.008333333333333139,
        0.0001984126984143768,
        2.755731915533713e-06,
        2.5052123398512244e-08,
        1.6057240344604227e-10,
        7.759312104243974e-13,
    ),
}
_HIGH = {SINGLE: 89.5, DOUBLE: 710.6}  # the results overflow below


def _quarter(size: Real) -> Real:
    """A quarter of the exponential of a number that is not negative, which is not in danger of overflow."""
    shifted, growth = reduced(size.at_most(_HIGH[size.format]))
    scale = power_of_two(shifted, less=2)
    return growth.times_plus(scale, scale)


def _sinh(x: Real) -> Real:
    """The hyperbolic sine, to 1.7 ulp."""
    size = x.size()
    square = x * x
    below = (x * square).times_plus(square.polynomial(_SINH[x.format]), x)
    quarter = _quarter(size)
    above = (quarter - 0.0625 / quarter) * 2.0
    return below.where(size.is_("<", 1.0), above.signed_as(x))


def _cosh(x: Real) -> Real:
    """The hyperbolic cosine, to 1.4 ulp."""
    quarter = _quarter(x.size())
    return (quarter + 0.0625 / quarter) * 2.0


sinh, cosh = kernel_function(_sinh), kernel_function(_cosh)
