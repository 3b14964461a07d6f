# SPDX-License-Identifier: Apache-2.0
"""Random numbers of continuous distributions, each a function of uniform or normal ones and of its parameters.

So a derivative passes to the parameters, where numbers are drawn all the same (Kingma and Welling 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.numpy.elementwise import exp, expm1, log, log1p, sqrt, tan, where
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.frontend.numpy.random_parameters import (
    Parameter,
    Size,
    Wanted,
    check_positive,
    drawn,
    known,
    wanted,
)
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def random(size: Size = None, dtype: Any = None) -> Op:
    """Numbers from [0, 1).

    Args:
        size: A length, several, or None for one number. Lengths may be unknown.
        dtype: A float dtype, float32 by default.

    Raises:
        DTypeError: for another dtype.
        LengthError: for a negative length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.random((2, 3)).type
    float32[2, 3]
    """
    asked = wanted("random", size, dtype)
    return drawn(asked.shape, asked.dtype)


def standard_normal(size: Size = None, dtype: Any = None) -> Op:
    """Numbers of the normal distribution of mean 0 and deviation 1.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.standard_normal(3, dtype="float64").type
    float64[3]
    """
    asked = wanted("standard_normal", size, dtype)
    return asked.result(asked.normal())


def standard_exponential(size: Size = None, dtype: Any = None) -> Op:
    """Numbers of the exponential distribution of mean 1.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.standard_exponential(3).type
    float32[3]
    """
    return exponential(1.0, size, dtype=dtype)


def standard_cauchy(size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the Cauchy distribution: quotients of two normal ones.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.standard_cauchy(3).type
    float32[3]
    """
    asked = wanted("standard_cauchy", size, dtype)
    return asked.result(tan((asked.uniform() - 0.5) * math.pi))


def uniform(low: Array = 0.0, high: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers from [low, high); between ends that are terms rounding may give `high` itself, as it does in NumPy.

    Args:
        low, high: Numbers, or terms, which are broadcast. A derivative passes to terms.
        size: A length, several, or None for as many as parameters have.
        dtype: A float dtype; by default that of parameters that are terms, or float32.

    Raises:
        AttributeValueError: for numbers that are not finite.
        AxesError: if the parameters do not broadcast to the size.
        DTypeError: for another dtype.
        LengthError: for a negative length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.uniform(-1, 1, (2, 3)).type
    float32[2, 3]
    """
    _check_bounds(low, high)
    asked = wanted("uniform", size, dtype, low, high)
    least, most = asked.parameters
    if not isinstance(least, Op) and not isinstance(most, Op):
        return drawn(asked.shape, asked.dtype, least, most)
    return asked.result(asked.uniform() * (most - least) + least)


def normal(loc: Array = 0.0, scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the normal distribution of mean `loc` and standard deviation `scale`.

    Other arguments and errors are those of `uniform`.

    Raises:
        AttributeValueError: for a negative number as `scale`.

    >>> import ngraph_rewrite as ng
    >>> mean = ng.placeholder((4, 1), name="mean")
    >>> ng.numpy.random.normal(mean, 0.5, (4, 3)).type
    float32[4, 3]
    """
    return _moved("normal", Wanted.normal, loc, scale, size, dtype)


def lognormal(mean: Array = 0.0, sigma: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers whose logarithms are normal, of mean `mean` and deviation `sigma`. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.lognormal(0, 0.25, 3).type
    float32[3]
    """
    check_positive("lognormal", sigma=sigma)
    asked = wanted("lognormal", size, dtype, mean, sigma)
    center, width = asked.parameters
    return asked.result(exp(asked.normal() * width + center))


def exponential(scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the exponential distribution of mean `scale`. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.exponential(2.0, 3).type
    float32[3]
    """
    check_positive("exponential", scale=scale)
    asked = wanted("exponential", size, dtype, scale)
    return asked.result(-log1p(-asked.uniform()) * asked.parameters[0])


def laplace(loc: Array = 0.0, scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the Laplace distribution: exponential ones of both signs, around `loc`. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.laplace(0, 1, 3).type
    float32[3]
    """
    return _moved("laplace", _standard_laplace, loc, scale, size, dtype)


def _standard_laplace(asked: Wanted) -> Op:
    u = asked.positive()
    return where(u < 0.5, log(u * 2), -log(2 - u * 2))


def logistic(loc: Array = 0.0, scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers whose distribution is the logistic function, around `loc`. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.logistic(0, 1, 3).type
    float32[3]
    """
    return _moved("logistic", _standard_logistic, loc, scale, size, dtype)


def _standard_logistic(asked: Wanted) -> Op:
    u = asked.positive()
    return log(u) - log1p(-u)


def gumbel(loc: Array = 0.0, scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the Gumbel distribution, that of the greatest of many. All else is as of `normal`.

    The greatest of logarithms of weights plus such numbers is a draw by the weights.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.gumbel(0, 1, 3).type
    float32[3]
    """
    return _moved("gumbel", lambda asked: -log(-log(asked.positive())), loc, scale, size, dtype)


def rayleigh(scale: Array = 1.0, size: Size = None, *, dtype: Any = None) -> Op:
    """Lengths of vectors of two normal numbers. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.rayleigh(2.0, 3).type
    float32[3]
    """
    check_positive("rayleigh", scale=scale)
    asked = wanted("rayleigh", size, dtype, scale)
    return asked.result(sqrt(log1p(-asked.uniform()) * -2) * asked.parameters[0])


def weibull(a: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the Weibull distribution of shape `a`: roots of exponential ones. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.weibull(1.5, 3).type
    float32[3]
    """
    check_positive("weibull", a=a)
    asked = wanted("weibull", size, dtype, a)
    return asked.result((-log1p(-asked.uniform())) ** _inverse(asked.parameters[0]))


def pareto(a: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers of the Pareto II (Lomax) distribution of shape `a`. All else is as of `normal`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.pareto(3.0, 3).type
    float32[3]
    """
    check_positive("pareto", a=a)
    asked = wanted("pareto", size, dtype, a)
    return asked.result(expm1(-log1p(-asked.uniform()) * _inverse(asked.parameters[0])))


def triangular(left: Array, mode: Array, right: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Numbers from `left` to `right`, the more of them the nearer `mode`. All else is as of `uniform`.

    Raises:
        AttributeValueError: for numbers of which `mode` is not between the others.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.triangular(0, 1, 4, 3).type
    float32[3]
    """
    asked = wanted("triangular", size, dtype, left, mode, right)
    _check_order(left, mode, right)
    low, top, high = asked.parameters
    u, span = asked.positive(), high - low
    rising = u * span < top - low
    root = sqrt(where(rising, u * (top - low), (1 - u) * (high - top)) * span)  # of what is not 0: it has a slope
    return asked.result(where(rising, low + root, high - root))


def _moved(call: str, standard: Callable[[Wanted], Op], loc: Array, scale: Array, size: Size, dtype: Any) -> Op:
    """Numbers of a distribution around 0, stretched and moved."""
    check_positive(call, scale=scale)
    asked = wanted(call, size, dtype, loc, scale)
    center, width = asked.parameters
    return asked.result(standard(asked) * width + center)


def _check_bounds(low: Array, high: Array) -> None:
    """Refuse numbers that are known between which a float64 has no way."""
    ends = [x for x in (known(low), known(high)) if x is not None and x.size]
    far = bool(ends) and not math.isfinite(float(ends[-1].max()) - float(ends[0].min()))
    if far or not all(np.isfinite(x).all() for x in ends):
        do = "give finite numbers, and a finite range"
        raise AttributeValueError(f"uniform: from {low!r} to {high!r}", where=user_line(), do=do)


def _check_order(*given: Array) -> None:
    """Refuse corners of a triangle, if all are known, that do not follow on each other."""
    left, mode, right = map(known, given)
    if left is None or mode is None or right is None or (np.all(left <= mode) and np.all(mode <= right)):
        return
    shown = ", ".join(map(repr, given))
    do = "give left, mode and right, none less than the one before"
    raise AttributeValueError(f"triangular: left, mode and right are {shown}", where=user_line(), do=do)


def _inverse(a: Parameter) -> Any:
    return 1 / a if isinstance(a, Op) else math.inf if a == 0 else 1 / a
