# SPDX-License-Identifier: Apache-2.0
"""cbrt: one over the root from a third of the bits, a polynomial in what its cube lacks, and a step of Newton's.

The bits of a positive number are nearly its logarithm, so that a third of them taken from a constant is one over its
cube root, to a tenth (Lomont, *Fast inverse square root*, 2003, of square roots). Nothing is divided. What the cube of
a root lacks is worked out without a rounding error, so that the last step rounds once.
"""

from collections.abc import Sequence

from ngraph_rewrite.runtime.pairs import exact_product
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Format, Real, kernel_function

# Four thirds of the bits of 1, less what makes errors alike on both sides: those bits that stand above the last ones
_BITS: dict[Format, float] = {SINGLE: 2773243.0, DOUBLE: 1499659093495775.0}
# (1 - e) ** (-1 / 3), up to the error of what the bits give
_INVERSE: Sequence[float] = (0.99999761346469, 0.33332743327073605, 0.22388506146590512, 0.17472727645011804)
# Below this products of what a root is made of would underflow, near the largest number they would overflow: numbers
# are multiplied by this power of eight, or by an eighth
_SMALL: dict[Format, tuple[float, int]] = {SINGLE: (2.0**-60, 30), DOUBLE: (2.0**-600, 200)}


def _near_inverse(x: Real) -> Real:
    """One over the cube root of a positive number, to a tenth of it."""
    form = x.format
    above = form.bits - form.digits + 1  # these bits are a number that a float has room for
    whole = 2.0 ** (form.digits - 1)  # plus an integer, it has that in its last bits
    raised = (x.bits().unsigned_shift(above) + x.of(whole).bits()).real()
    return (raised.times_plus(-1 / 3, _BITS[form] + whole * 4 / 3).bits() << above).real()


def _lacking(x: Real, inverse: Real) -> Real:
    """What is left of 1 where the cube of an inverse root times the number is subtracted."""
    return (-(x * inverse)).times_plus(inverse * inverse, 1.0)


def _less(total: Real, x: Real, y: Real) -> Real:
    """A number less a product that is nearly equal."""
    if total.fused:
        return (-x).times_plus(y, total)
    product = exact_product(x, y)
    return (total - product.high) - product.low


def _cbrt(x: Real) -> Real:
    """The cube root, to 0.6 ulp; of 0, infinity and NaN it is that itself."""
    size, (least, power) = x.size(), _SMALL[x.format]
    small = size.is_("<", least)
    scaled = size * x.of(8.0**power).where(small, 0.125)
    inverse = _near_inverse(scaled)
    inverse = inverse * _lacking(scaled, inverse).polynomial(_INVERSE)
    if x.format == DOUBLE:
        inverse = (inverse * _lacking(scaled, inverse)).times_plus(1 / 3, inverse)
    square = inverse * inverse
    root = scaled * square
    once = exact_product(root, root)
    rest = (-once.low).times_plus(root, _less(scaled, once.high, root))
    found = rest.times_plus(square * (1 / 3), root) * x.of(2.0**-power).where(small, 2.0)
    return found.where(size.is_("<", float("inf")), size).signed_as(x)


cbrt = kernel_function(_cbrt)
