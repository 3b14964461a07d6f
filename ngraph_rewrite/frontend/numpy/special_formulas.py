# SPDX-License-Identifier: Apache-2.0
"""Functions of ``scipy.special`` that are short formulas, each of which keeps the digits that the plain one loses.

They have slopes wherever what they are made of has none by itself, as at 0.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    clip,
    equal,
    exp,
    expm1,
    isnan,
    log,
    log1p,
    logical_and,
    logical_or,
    pow,
    sin,
    sqrt,
    where,
)
from ngraph_rewrite.frontend.numpy.number_formulas import polynomial
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.frontend.numpy.special_operands import in_single
from ngraph_rewrite.terms.op import Op

_EXPREL = [1 / math.factorial(k + 1) for k in range(19)]  # up to 1
_ATANH = [1 / (2 * k + 1) for k in range(12)]  # up to 1 / 5
_STEEP = 2.0**60  # 1 beside it is nothing


def exprel(x: Array, /) -> Op:
    """``(exp(x) - 1) / x``, 1 at 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.exprel(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("exprel", _exprel, x)


def cosm1(x: Array, /) -> Op:
    """``cos(x) - 1``, also where the cosine is nearly 1.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.cosm1(ng.placeholder((3,))).type
    float32[3]
    """

    def formula(x: Op) -> Op:
        half = sin(x * 0.5)
        return -2 * half * half

    return in_single("cosm1", formula, x)


def exp10(x: Array, /) -> Op:
    """10 to the power of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.exp10(ng.placeholder((3,))).type
    float32[3]
    """
    return in_single("exp10", lambda x: pow(10.0, x), x)


def boxcox(x: Array, lmbda: Array, /) -> Op:
    """``(x ** lmbda - 1) / lmbda``, and log(`x`) where `lmbda` is 0. NaN below 0.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.boxcox(4.0, [0.0, 0.5, 1.0]))().round(4)
    array([1.3863, 2.    , 3.    ], dtype=float32)
    """
    return in_single("boxcox", lambda x, power: _boxcox(equal(x, 0), log(x), power), x, lmbda)


def boxcox1p(x: Array, lmbda: Array, /) -> Op:
    """`boxcox` of 1 + `x`, also where `x` is small.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.boxcox1p(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return in_single("boxcox1p", lambda x, power: _boxcox(equal(x, -1), log1p(x), power), x, lmbda)


def inv_boxcox(y: Array, lmbda: Array, /) -> Op:
    """The number of which `boxcox` is `y`.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.inv_boxcox([1.3862944, 2.0, 3.0], [0.0, 0.5, 1.0]))().round(4)
    array([4., 4., 4.], dtype=float32)
    """
    return in_single("inv_boxcox", lambda y, power: exp(_log1p_by(y, power)), y, lmbda)


def inv_boxcox1p(y: Array, lmbda: Array, /) -> Op:
    """The number of which `boxcox1p` is `y`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.inv_boxcox1p(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return in_single("inv_boxcox1p", lambda y, power: expm1(_log1p_by(y, power)), y, lmbda)


def huber(delta: Array, r: Array, /) -> Op:
    """Half of the square of `r` up to `delta`, and beyond it a line; infinite for a negative `delta`.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.huber(1.0, [0.5, -3.0]))()
    array([0.125, 2.5  ], dtype=float32)
    """

    def formula(delta: Op, r: Op) -> Op:
        size = abs(r)
        few = size <= delta
        near = where(few, r, 0.0)
        return where(delta < 0, math.inf, where(few, 0.5 * near * near, delta * (size - 0.5 * delta)))

    return in_single("huber", formula, delta, r)


def pseudo_huber(delta: Array, r: Array, /) -> Op:
    """A smooth `huber`: ``delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1)``; infinite for a negative `delta`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.pseudo_huber(1.0, ng.placeholder((3,))).type
    float32[3]
    """

    def formula(delta: Op, r: Op) -> Op:
        some = delta > 0
        scaled = clip(r / where(some, delta, 1.0), -_STEEP, _STEEP)
        # What is beside 1 in the root, by the sum of both.
        found = delta * r * (scaled / (sqrt(1 + scaled * scaled) + 1))
        return where(delta < 0, math.inf, where(some, found, where(isnan(r + delta), math.nan, 0.0)))

    return in_single("pseudo_huber", formula, delta, r)


# -- formulas ----------------------------------------------------------------------------------------


def _exprel(x: Op) -> Op:
    near = abs(x) < 1
    low, high = where(near, x, 0.0), where(near, 1.0, x)
    far = where(equal(x, math.inf), x, expm1(high) / high)
    return where(near, polynomial(apply, low, _EXPREL), far)


def _log1p_by(y: Op, power: Op) -> Op:
    """``log(1 + y * power) / power``, `y` where the power is 0."""
    x = y * power
    near = abs(x) < 0.25
    low, high = where(near, x, 0.0), where(near, 1.0, x)
    share = low / (2 + low)
    line = y * (polynomial(apply, share * share, _ATANH) * 2 / (2 + low))
    return where(logical_or(near, equal(power, 0)), line, log1p(high) / where(near, 1.0, power))


def _expm1_by(y: Op, power: Op) -> Op:
    """``(exp(y * power) - 1) / power``, `y` where the power is 0."""
    x = y * power
    near = abs(x) < 1
    low, high = where(near, x, 0.0), where(near, 1.0, x)
    line = y * polynomial(apply, low, _EXPREL)
    return where(logical_or(near, equal(power, 0)), line, expm1(high) / where(near, 1.0, power))


def _boxcox(zero: Op, logarithm: Op, power: Op) -> Op:
    """By the logarithm of a number; of 0, unless the power is negative, the power of nothing."""
    flat = logical_and(zero, power >= 0)
    found = _expm1_by(where(flat, 0.0, logarithm), power)
    return where(flat, -1 / where(flat, power, 1.0), found)
