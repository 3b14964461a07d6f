# SPDX-License-Identifier: Apache-2.0
"""asinh, acosh, atanh: logarithms of one and a number that is worked out without cancellation (the way of fdlibm)."""

from typing import Any

from ngraph_rewrite.runtime.logarithms import log1p_formula
from ngraph_rewrite.runtime.reals import DOUBLE, SINGLE, Real, kernel_function

_LN2 = 0.6931471805599453
_LARGE = {SINGLE: 2.0**26, DOUBLE: 2.0**56}  # from here on a square has nothing to do with one


def _of_twice(large: Any, size: Real, small: Real) -> Real:
    """The logarithm of twice a large number, or of one and a small one."""
    return log1p_formula(size.where(large, small)) + size.of(_LN2).where(large, 0.0)


def _asinh(x: Real) -> Real:
    """The inverse of the hyperbolic sine, to 1.9 ulp."""
    size = x.size()
    large, near = size.is_(">", _LARGE[x.format]), size.at_most(_LARGE[x.format])
    square = near * near
    return _of_twice(large, size, near + square / (1.0 + (square + 1.0).root())).signed_as(x)


def _acosh(x: Real) -> Real:
    """The inverse of the hyperbolic cosine, to 1.9 ulp; NaN below one."""
    large = x.is_(">", _LARGE[x.format])
    above = x.at_most(_LARGE[x.format]) - 1.0
    root = above.times_plus(above, above * 2.0).root()
    total = above + root
    lost = above - (total - root)  # when it was rounded
    found = _of_twice(large, x, total) + lost / (1.0 + total)
    return found.where(x.is_(">=", 1.0), float("nan"))


def _atanh(x: Real) -> Real:
    """The inverse of the hyperbolic tangent, to 1.8 ulp; NaN beyond one."""
    size = x.size()
    twice, rest = size * 2.0, 1.0 - size
    below = twice + twice * size / rest
    return (log1p_formula(below.where(size.is_("<", 0.5), twice / rest)) * 0.5).signed_as(x)


asinh, acosh, atanh = kernel_function(_asinh), kernel_function(_acosh), kernel_function(_atanh)
