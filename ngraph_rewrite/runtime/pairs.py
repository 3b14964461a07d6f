# SPDX-License-Identifier: Apache-2.0
"""A number in twice the digits, as a sum of two floats, and the sums and products that make no error.

Knuth, *The Art of Computer Programming*, section 4.2.2; Dekker, *A floating-point technique for extending the available
precision*, 1971.
"""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.runtime.reals import Real


class Pair(NamedTuple):
    """A number in twice the digits: the sum of a float and of a rest that is small beside it."""

    high: Real
    low: Real


def exact_sum(x: Real, y: Real) -> Pair:
    """``x + y`` without an error (Knuth)."""
    total = x + y
    back = total - x
    return Pair(total, (x - (total - back)) + (y - back))


def ordered_sum(x: Real, y: Real) -> Pair:
    """``x + y`` without an error, where x is zero or the larger of both (Dekker)."""
    total = x + y
    return Pair(total, y - (total - x))


def exact_product(x: Real, y: Real | float) -> Pair:
    """``x * y`` without an error, unless it comes near to overflow or underflow (Dekker, Veltkamp)."""
    y = y if isinstance(y, Real) else x.of(y)
    product = x * y
    if x.fused:
        return Pair(product, x.times_plus(y, -product))
    (a, b), (c, d) = _halves(x), _halves(y)
    return Pair(product, b * d + (b * c + (a * d + (a * c - product))))


def _halves(x: Real) -> Pair:
    """A number as a sum of two of half the digits."""
    scaled = x * (2.0 ** ((x.format.digits + 1) // 2) + 1)
    high = scaled - (scaled - x)
    return Pair(high, x - high)


def pair_product(x: Pair, y: Pair) -> Pair:
    """The product of two pairs, to about twice the digits less three."""
    product = exact_product(x.high, y.high)
    return ordered_sum(product.high, x.high.times_plus(y.low, x.low.times_plus(y.high, product.low)))
