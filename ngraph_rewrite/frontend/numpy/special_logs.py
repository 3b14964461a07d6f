# SPDX-License-Identifier: Apache-2.0
"""Products with logarithms, which are 0 where the number before one is, entropies made of them, and odds.

Each has a derivative of its own, as what stands in for a logarithm of 0 has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ngraph_rewrite.frontend.numpy.activations import log_sigmoid
from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    equal,
    greater_equal,
    isnan,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    sigmoid,
    where,
)
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_single
from ngraph_rewrite.terms.op import Op


def expit(x: Array, /) -> Op:
    """The logistic sigmoid, ``ng.numpy.sigmoid``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.expit(ng.placeholder((3,), name="x"))
    numpy.sigmoid(x)
    """
    return sigmoid(x)


def log_expit(x: Array, /) -> Op:
    """The logarithm of `expit`, ``ng.numpy.log_sigmoid``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.log_expit(ng.placeholder((3,))).type
    float32[3]
    """
    return log_sigmoid(x)


def logit(x: Array, /) -> Op:
    """The logarithm of the odds, ``log(x / (1 - x))``: the inverse of `expit`. NaN below 0 and above 1.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.logit([0.0, 0.5, 0.75]))()
    array([     -inf, 0.       , 1.0986123], dtype=float32)
    """
    return in_single("logit", _logit, x, slopes=lambda d, x: d / (x * (1 - x)))


def xlogy(x: Array, y: Array, /) -> Op:
    """`x` times log(`y`), and 0 where `x` is 0 unless `y` is NaN. So is the derivative by `y`; that by `x` is log(`y`).

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.xlogy([0.0, 1.0], [0.0, 2.0]))()
    array([0.       , 0.6931472], dtype=float32)
    """
    return in_single("xlogy", _times(log), x, y, slopes=lambda d, x, y: (d * log(y), d * _share(x, y)))


def xlog1py(x: Array, y: Array, /) -> Op:
    """`x` times log(1 + `y`), and 0 where `x` is 0 unless `y` is NaN. Derivatives are as of `xlogy`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.xlog1py(ng.placeholder((3,)), 1e-6).type
    float32[3]
    """
    return in_single("xlog1py", _times(log1p), x, y, slopes=lambda d, x, y: (d * log1p(y), d * _share(x, 1 + y)))


def entr(x: Array, /) -> Op:
    """``-x * log(x)``, the entropy: 0 at 0, and -infinity below.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.entr(ng.placeholder((3,))).type
    float32[3]
    """

    def formula(x: Op) -> Op:
        return where(x < 0, -math.inf, -_times(log)(x, where(x < 0, 1.0, x)))

    return in_single("entr", formula, x, slopes=lambda d, x: d * where(x < 0, 0.0, -1 - log(where(x < 0, 1.0, x))))


def rel_entr(x: Array, y: Array, /) -> Op:
    """``x * log(x / y)``, the relative entropy: 0 where `x` is 0 and `y` is not negative; infinite for other signs.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.rel_entr(ng.placeholder((3,)), ng.placeholder((3,))).type
    float32[3]
    """

    def slopes(d: Op, x: Op, y: Op) -> tuple[Op, Op]:
        return d * _proper(x, y, _slope(x, y) + 1), d * _proper(x, y, -_share(x, y))

    return in_single("rel_entr", _relative, x, y, slopes=slopes)


def kl_div(x: Array, y: Array, /) -> Op:
    """``x * log(x / y) - x + y``: `rel_entr`, which sums to as much where both sum to 1, made positive everywhere.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.kl_div(ng.placeholder((3,)), ng.placeholder((3,))).type
    float32[3]
    """

    def formula(x: Op, y: Op) -> Op:
        found = _relative(x, y)
        return where(equal(found, math.inf), found, found - x + y)

    def slopes(d: Op, x: Op, y: Op) -> tuple[Op, Op]:
        return d * _proper(x, y, _slope(x, y)), d * _proper(x, y, 1 - _share(x, y))

    return in_single("kl_div", formula, x, y, slopes=slopes)


# -- formulas ----------------------------------------------------------------------------------------


def _logit(x: Op) -> Op:
    """Near a half by twice the difference from it, whose logarithms do not cancel."""
    near = abs(x - 0.5) < 0.25
    twice = where(near, 2 * x - 1, 0.0)
    far = where(near, 0.25, x)
    return where(near, log1p(twice) - log1p(-twice), log(far / (1 - far)))


def _times(logarithm: Callable[[Op], Op]) -> Callable[[Op, Op], Op]:
    def formula(x: Op, y: Op) -> Op:
        nothing = logical_and(equal(x, 0), logical_not(isnan(y)))
        return where(nothing, 0.0, x * logarithm(y))

    return formula


def _share(x: Op, y: Op) -> Op:
    return where(equal(x, 0), 0.0, x / y)


def _ratio(x: Op, y: Op) -> Op:
    """The logarithm of a quotient, which may be too large or too small for a float."""
    quotient = x / y
    plain = logical_and(quotient > 0, quotient < math.inf)
    return where(plain, log(where(plain, quotient, 1.0)), log(x) - log(y))


def _proper(x: Op, y: Op, slope: Op) -> Op:
    """A slope where neither number is negative; 0 elsewhere, where the function is infinite."""
    return where(logical_or(x < 0, y < 0), 0.0, slope)


def _slope(x: Op, y: Op) -> Op:
    """The logarithm of a quotient of positive numbers; of two zeros 0, so that what both leave out has no part."""
    nothing = logical_and(equal(x, 0), equal(y, 0))
    p, q = (where(logical_or(nothing, z < 0), 1.0, z) for z in (x, y))
    return _ratio(p, q)


def _relative(x: Op, y: Op) -> Op:
    both = logical_and(x > 0, y > 0)
    none = logical_and(equal(x, 0), greater_equal(y, 0))
    found = where(none, 0.0, where(both, x * _ratio(x, y), math.inf))
    return where(logical_or(isnan(x), isnan(y)), math.nan, found)
