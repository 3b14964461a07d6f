# SPDX-License-Identifier: Apache-2.0
"""Random numbers of the gamma distribution, and of those that are made of it.

A number of a shape below 1 is one of a shape that is 1 more, times a power of a uniform number. Where quotients of such
numbers are asked for they are computed by logarithms, as the numbers themselves are soon too small to be told from 0.
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import abs, clip, exp, log, sigmoid, sign, where
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array, as_number
from ngraph_rewrite.frontend.numpy.random_parameters import (
    Parameter,
    Size,
    Wanted,
    check_positive,
    drawn,
    wanted,
)
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64

# Of a lesser shape, such as 0, all numbers are 0, and have a slope: 1 by the square of this is no infinity.
_LEAST = 2.0**-500


def standard_gamma(shape: Array, size: Size = None, dtype: Any = None) -> Op:
    """Numbers of the gamma distribution of a shape: the sum of so many exponential ones, if that is a whole number.

    Args:
        shape: A number from 0 on, or a term, which is broadcast. A derivative passes to it: how numbers of the
            distribution grow with the shape (Figurnov, Mohamed and Mnih 2018), to 10 digits.
        size: A length, several, or None for as many as the shape has.
        dtype: A float dtype; by default that of a shape that is a term, or float32.

    Raises:
        AttributeValueError: for a shape that is negative or not finite.
        AxesError: if the shape does not broadcast to the size.
        DTypeError: for another dtype.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.standard_gamma(2.0, 3).type
    float32[3]
    """
    check_positive("standard_gamma", shape=shape)
    asked = wanted("standard_gamma", size, dtype, shape)
    return asked.result(gamma_numbers(asked, asked.parameters[0]))


def gamma(shape: Array, scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the gamma distribution, times `scale`. All else is as of `standard_gamma`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.gamma(ng.placeholder((4, 1), name="shape"), 0.5, (4, 3)).type
    float32[4, 3]
    """
    check_positive("gamma", shape=shape, scale=scale)
    asked = wanted("gamma", size, dtype, shape, scale)
    return asked.result(gamma_numbers(asked, asked.parameters[0]) * in_double(asked.parameters[1]))


def beta(a: Array, b: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the beta distribution: the part of two gamma ones that the first is. All else is as of `gamma`.

    Raises:
        AttributeValueError: for a number that is not above 0 and finite.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.beta(0.5, 0.5, 3).type
    float32[3]
    """
    check_positive("beta", zero=False, a=a, b=b)
    asked = wanted("beta", size, dtype, a, b)
    first, second = (gamma_logarithms(asked, of) for of in asked.parameters)
    return asked.result(sigmoid(first - second))


def chisquare(df: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the chi-square distribution: the sum of so many squared normal ones. All else is as of `beta`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.chisquare(3, 3).type
    float32[3]
    """
    check_positive("chisquare", zero=False, df=df)
    asked = wanted("chisquare", size, dtype, df)
    return asked.result(_squares(asked, asked.parameters[0]))


def f(dfnum: Array, dfden: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the F distribution: quotients of two chi-square ones, each of its mean. All else is as of `beta`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.f(3, 5, 3).type
    float32[3]
    """
    check_positive("f", zero=False, dfnum=dfnum, dfden=dfden)
    asked = wanted("f", size, dtype, dfnum, dfden)
    first, second = (gamma_logarithms(asked, in_double(of) * 0.5) - log(in_double(of)) for of in asked.parameters)
    return asked.result(exp(first - second))


def standard_t(df: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of Student's t distribution: normal ones, by the root of a mean of squares. All else is as of `beta`.

    Those of a `df` near 0 soon exceed a float: these are infinite.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.standard_t(5, 3).type
    float32[3]
    """
    check_positive("standard_t", zero=False, df=df)
    asked = wanted("standard_t", size, dtype, df)
    half = in_double(asked.parameters[0]) * 0.5
    mean = gamma_logarithms(asked, half) - log(half)
    number = astype(asked.normal(), FLOAT64)
    return asked.result(sign(number) * exp(log(abs(number)) - mean * 0.5))


def power(a: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers from [0, 1) whose density is a power, of exponent ``a - 1``. All else is as of `beta`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.power(3.0, 3).type
    float32[3]
    """
    check_positive("power", zero=False, a=a)
    asked = wanted("power", size, dtype, a)
    return asked.result(exp(log(positive(asked)) / in_double(asked.parameters[0])))


def gamma_numbers(asked: Wanted, a: Parameter) -> Op:
    """Numbers of the gamma distribution of a shape, of float64."""
    if not isinstance(a, Op) and a >= 1:
        return _drawn(asked, a)
    shape = in_double(a)
    less = shape < 1
    lifted = _drawn(asked, where(less, shape + 1, shape))
    return where(less, lifted * exp(log(positive(asked)) / clip(shape, _LEAST, 1.0)), lifted)


def gamma_logarithms(asked: Wanted, a: Parameter) -> Op:
    """The logarithms of such numbers."""
    shape = in_double(a)
    return log(_drawn(asked, shape + 1)) + log(positive(asked)) / shape


def _squares(asked: Wanted, df: Parameter) -> Op:
    """Numbers of the chi-square distribution, of float64."""
    return gamma_numbers(asked, in_double(df) * 0.5 if isinstance(df, Op) else df / 2) * 2.0


def _drawn(asked: Wanted, a: Parameter) -> Op:
    """Numbers of a shape that is 1 or more."""
    return build_term("semi.gamma_draw", broadcast_to(in_double(a), asked.shape), drawn(asked.shape, FLOAT64))


def positive(asked: Wanted) -> Op:
    """Numbers from (0, 1), of float64."""
    return asked._replace(dtype=FLOAT64).positive()


def in_double(given: Parameter) -> Op:
    """A parameter as a term of float64."""
    return astype(given, FLOAT64) if isinstance(given, Op) else as_number(float(given), FLOAT64)
