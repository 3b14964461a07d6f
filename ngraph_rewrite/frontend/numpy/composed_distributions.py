# SPDX-License-Identifier: Apache-2.0
"""Random numbers made of others: those of distributions that are not central, Wald's, and angles."""

from __future__ import annotations

import math
from typing import Any

from ngraph_rewrite.frontend.arrangement import stop_gradient
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import atan, exp, log, remainder, sqrt, square, where
from ngraph_rewrite.frontend.numpy.gamma_distributions import gamma_logarithms, gamma_numbers, in_double
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.random_parameters import (
    Parameter,
    Size,
    Wanted,
    check_finite,
    check_positive,
    counted,
    drawn,
    wanted,
)
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64


def noncentral_chisquare(df: Array, nonc: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the noncentral chi-square distribution: squares of normal numbers whose means are not 0, added up.

    Args:
        df: How many squares, above 0, which may have a fraction; or a term, which is broadcast.
        nonc: The sum of the squares of means, from 0 on, or a term. A derivative passes to it if `df` is a number above
            1, where it is infinite at 0; to a `df` that is a term one always passes.
        size: A length, several, or None for as many as the parameters have.
        dtype: A float dtype; by default that of parameters that are terms, or float32.

    Raises:
        AttributeValueError: for a number that is negative or not finite, or a `df` of 0.
        AxesError: if parameters do not broadcast to the size.
        DTypeError: for another dtype.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.noncentral_chisquare(3.0, 0.5, 4).type
    float32[4]
    """
    check_positive("noncentral_chisquare", zero=False, df=df)
    check_positive("noncentral_chisquare", nonc=nonc)
    asked = wanted("noncentral_chisquare", size, dtype, df, nonc)
    return asked.result(exp(_logarithms(asked, *asked.parameters)))


def noncentral_f(dfnum: Array, dfden: Array, nonc: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the noncentral F distribution: quotients of two chi-square ones by what they are made of.

    The first one is `noncentral_chisquare`, of `dfnum` and `nonc`. All else is as there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.noncentral_f(3.0, 5.0, 0.5, 4).type
    float32[4]
    """
    check_positive("noncentral_f", zero=False, dfnum=dfnum, dfden=dfden)
    check_positive("noncentral_f", nonc=nonc)
    asked = wanted("noncentral_f", size, dtype, dfnum, dfden, nonc)
    first, second, apart = asked.parameters
    above = _logarithms(asked, first, apart) - log(in_double(first))
    below = gamma_logarithms(asked, in_double(second) * 0.5) - log(in_double(second) * 0.5)
    return asked.result(exp(above - below))


def vonmises(mu: Array, kappa: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Angles from -pi to pi of von Mises' distribution, which is what a normal one is on a circle.

    Args:
        mu: The angle around which they are, a number or a term, which is broadcast. A derivative passes to it.
        kappa: How close they are to it, from 0 on, where all angles are as probable; or a term. None passes to it.
        size: A length, several, or None for as many as the parameters have.
        dtype: A float dtype; by default that of parameters that are terms, or float32.

    Raises:
        AttributeValueError: for a `kappa` that is negative or not finite, or a `mu` that is not finite.
        AxesError: if parameters do not broadcast to the size.
        DTypeError: for another dtype.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.vonmises(0.5, 4.0, 3).type
    float32[3]
    """
    check_finite("vonmises", mu=mu)
    check_positive("vonmises", kappa=kappa)
    asked = wanted("vonmises", size, dtype, mu, kappa)
    center, close = (in_double(p) for p in asked.parameters)
    tangent = build_term("semi.vonmises_draw", broadcast_to(close, asked.shape), drawn(asked.shape, FLOAT64))
    return asked.result(remainder(center + atan(tangent) * 2.0 + math.pi, 2 * math.pi) - math.pi)


def wald(mean: Array, scale: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the Wald (inverse Gaussian) distribution: when a motion with a drift first comes to a place.

    Michael, Schucany and Haas, "Generating random variates using transformations with multiple roots", The American
    Statistician 30 (1976). Which root is taken jumps with the parameters, so that no derivative passes to them.

    Args:
        mean, scale: Numbers above 0, or terms, which are broadcast.
        size: A length, several, or None for as many as the parameters have.
        dtype: A float dtype; by default that of parameters that are terms, or float32.

    Raises:
        AttributeValueError: for a number that is not above 0 and finite.
        AxesError: if parameters do not broadcast to the size.
        DTypeError: for another dtype.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.wald(3.0, 2.0, 4).type
    float32[4]
    """
    check_positive("wald", zero=False, mean=mean, scale=scale)
    asked = wanted("wald", size, dtype, mean, scale)
    center, shape = (stop_gradient(in_double(p)) for p in asked.parameters)
    w = square(astype(asked.normal(), FLOAT64)) * (center / shape * 0.5)
    less = 1 / (1 + w + sqrt(w * (2 + w)))  # the lesser root, without a difference; the other one is 1 by it
    is_less = drawn(asked.shape, FLOAT64) * (1 + less) < 1
    return asked.result(center * where(is_less, less, 1 / less))


def _logarithms(asked: Wanted, df: Parameter, nonc: Parameter) -> Op:
    """The logarithms of noncentral chi-square numbers, of float64.

    One square with a mean and others without, if there are so many: so numbers move with the mean. Else as many more
    pairs of squares without one as a Poisson number says.
    """
    apart = in_double(nonc)
    if not isinstance(df, Op) and df > 1:
        shifted = square(astype(asked.normal(), FLOAT64) + sqrt(apart))
        return log(gamma_numbers(asked, (df - 1) / 2) * 2.0 + shifted)
    half = in_double(df) * 0.5
    if isinstance(df, Op):  # with a count beside it, a negative one might be taken for a shape
        half = where(half < 0, math.nan, half)
    return gamma_logarithms(asked, half + counted(asked, apart * 0.5)) + math.log(2)
