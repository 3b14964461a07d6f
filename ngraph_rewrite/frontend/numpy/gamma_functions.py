# SPDX-License-Identifier: Apache-2.0
"""The gamma function and what is made of it: factorials, beta functions, slopes of any order, and Hurwitz's zeta.

All are computed in float64, and have the dtype of their operands.
"""

from __future__ import annotations

import math

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy import elementwise
from ngraph_rewrite.frontend.numpy.creation import full_like
from ngraph_rewrite.frontend.numpy.elementwise import (
    digamma,
    equal,
    exp,
    floor,
    lgamma,
    logical_and,
    logical_or,
    maximum,
    minimum,
    round,
    sin,
    where,
)
from ngraph_rewrite.frontend.numpy.gamma_parts import log_beta, positive_gamma
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.special_operands import in_double
from ngraph_rewrite.ops.checks import as_int
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

_SHIFT = 10  # so many terms of a sum come before the formula for the others
_FACTORIALS = 170  # that of a greater number is no float64
# Bernoulli's numbers by the factorials of their places, of which the formula of Euler and Maclaurin is made.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000, -174611 / 802857662698291200000,
    77683 / 14101100039391805440000, -236364091 / 1693824136731743669452800000,
)  # fmt: skip


def gamma(x: Array, /) -> Op:
    """The gamma function: of a whole number n the factorial of n - 1, exactly up to 23. NaN at negative integers.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.gamma([0.5, 1, 5]))().round(4)
    array([ 1.7725,  1.    , 24.    ], dtype=float32)
    """
    return in_double("gamma", _gamma, x, slopes=lambda d, x: d * _gamma(x) * digamma(x))


def factorial(n: Array, /) -> Op:
    """`gamma` of `n` + 1; 0 below 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.factorial(ng.placeholder((3,), "int32")).type
    float64[3]
    """

    def formula(n: Op) -> Op:
        return where(n < 0, 0.0, _gamma(where(n < 0, 1.0, n + 1)))

    return in_double("factorial", formula, n, slopes=lambda d, n: d * formula(n) * digamma(where(n < 0, 1.0, n + 1)))


def gammaln(x: Array, /) -> Op:
    """The logarithm of the size of `gamma`, ``ng.numpy.lgamma``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.gammaln(ng.placeholder((3,), name="x"))
    numpy.lgamma(x)
    """
    return lgamma(x)


def psi(x: Array, /) -> Op:
    """The slope of `gammaln`, ``ng.numpy.digamma``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.psi(ng.placeholder((3,), name="x"))
    numpy.digamma(x)
    """
    return digamma(x)


def multigammaln(a: Array, d: int, /) -> Op:
    """The logarithm of the gamma function of `d` dimensions, as Wishart's distribution has it.

    Raises:
        AttributeValueError: for a `d` that is no integer from 1 on.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.multigammaln(ng.placeholder((3,)), 2).type
    float32[3]
    """
    count = _order("multigammaln", "d", d, least=1)

    def formula(a: Op) -> Op:
        found = lgamma(a) + count * (count - 1) / 4 * math.log(math.pi)
        for k in range(1, count):
            found = found + lgamma(a - k / 2)
        return found

    return in_double("multigammaln", formula, a)


def polygamma(n: int, x: Array, /) -> Op:
    """The slope of order `n` of `digamma`, for `x` above 0: NaN below, infinite at 0 and negative integers, if `n` > 1.

    Args:
        n: An integer: 0 gives `digamma` itself, 1 `trigamma`.

    Raises:
        AttributeValueError: for an `n` that is no integer from 0 to 170.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.polygamma(2, ng.placeholder((3,))).type
    float32[3]
    """
    order = _order("polygamma", "n", n, most=_FACTORIALS)
    if order < 2:
        return (digamma, elementwise.trigamma)[order](x)
    scale = math.factorial(order) * (-1.0) ** (order + 1)
    return in_double("polygamma", lambda x: scale * _zeta(full_like(x, order + 1.0), x), x)


def zeta(x: Array, q: Array = 1.0, /) -> Op:
    """The sum of ``(q + k) ** -x`` over all k from 0 on, for `x` above 1 and `q` above 0: Riemann's, of a `q` of 1.

    It is infinite for an `x` of 1, and where `q` is 0 or a negative integer, and NaN where it has no sum otherwise.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.special.zeta([2.0, 4.0]))().round(6)
    array([1.644934, 1.082323], dtype=float32)
    """
    return in_double("zeta", _zeta, x, q)


def beta(a: Array, b: Array, /) -> Op:
    """The beta function: ``gamma(a) * gamma(b) / gamma(a + b)``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.beta(ng.placeholder((3,)), 2.0).type
    float32[3]
    """

    def slopes(d: Op, a: Op, b: Op) -> tuple[Op, Op]:
        share, both = d * _beta(a, b), digamma(a + b)
        return share * (digamma(a) - both), share * (digamma(b) - both)

    return in_double("beta", _beta, a, b, slopes=slopes)


def betaln(a: Array, b: Array, /) -> Op:
    """The logarithm of the size of `beta`, without the difference of the large numbers that its parts may be.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.special.betaln(ng.placeholder((3,)), 2.0).type
    float32[3]
    """

    def formula(a: Op, b: Op) -> Op:
        positive = minimum(a, b) > 0
        near = log_beta(where(positive, a, 1.0), where(positive, b, 1.0))
        return where(positive, near, lgamma(a) + lgamma(b) - lgamma(a + b))

    def slopes(d: Op, a: Op, b: Op) -> tuple[Op, Op]:
        both = digamma(a + b)
        return d * (digamma(a) - both), d * (digamma(b) - both)

    return in_double("betaln", formula, a, b, slopes=slopes)


# -- formulas ----------------------------------------------------------------------------------------


def _order(call: str, what: str, given: object, least: int = 0, most: int | None = None) -> int:
    order = checked(call, as_int, given, what)
    if order < least or (most is not None and order > most):
        do = f"give an integer from {least} " + ("on" if most is None else f"to {most}")
        raise AttributeValueError(f"{call}: {what} is {order}", where=user_line(), do=do)
    return order


def _gamma(x: Op) -> Op:
    """Of negative numbers by reflection. Parity tells the sign of a sine, so that it is one of less than a turn.

    The other one of ``1 - x``, which would be rounded, is the next one times -x.
    """
    below, far = x < 0, x < -1
    whole = round(x)
    odd = where(equal(whole * 0.5, floor(whole * 0.5)), 1.0, -1.0)
    sine = sin(math.pi * (x - whole)) * odd
    found = positive_gamma(where(far, -x, where(below, 1 - x, x)))
    mirrored = math.pi / (where(below, sine, 1.0) * found) / where(far, -x, 1.0)
    return where(below, where(equal(whole, x), math.nan, mirrored), found)


def _beta(a: Op, b: Op) -> Op:
    few = maximum(elementwise.abs(a), elementwise.abs(b)) < _FACTORIALS / 2
    p, q = where(few, a, 1.0), where(few, b, 1.0)
    return where(few, _gamma(p) / _gamma(p + q) * _gamma(q), exp(log_beta(where(few, 1.0, a), where(few, 1.0, b))))


def _zeta(x: Op, q: Op) -> Op:
    """The first terms, and the formula of Euler and Maclaurin for the others (Cephes)."""
    positive = q > 0
    start, power = where(positive, q, 1.0), where(x > 1, x, 2.0)
    found = start**-power
    for k in range(1, _SHIFT):
        found = found + (start + k) ** -power
    rest, exponent = start + _SHIFT, minimum(power, 1e4)
    share = rest**-exponent
    found = found + share * rest / (exponent - 1) + share * 0.5
    share = share * exponent / rest
    for k, number in enumerate(_BERNOULLI):
        found = found + share * number
        share = share * (exponent + (2 * k + 1)) * (exponent + (2 * k + 2)) / (rest * rest)
    whole = logical_and(q <= 0, equal(q, floor(q)))
    found = where(logical_or(equal(x, 1), whole), math.inf, where(positive, found, math.nan))
    found = where(equal(q, math.inf), 0.0, found)
    return where(logical_and(x >= 1, logical_or(positive, whole)), found, math.nan)
