# SPDX-License-Identifier: Apache-2.0
"""Random counts: how often something happens, and how many attempts it takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError
from ngraph_rewrite.frontend.arrangement import stop_gradient
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import ceil, clip, exp, floor, log, log1p
from ngraph_rewrite.frontend.numpy.gamma_distributions import gamma_numbers, in_double
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.random_parameters import (
    Parameter,
    Size,
    Wanted,
    check_positive,
    check_probability,
    counted,
    drawn,
    known,
    wanted,
)
from ngraph_rewrite.ops.checks import as_int
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import FLOAT64, DType, as_dtype


def poisson(lam: Array = 1.0, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How often something happens that happens `lam` times on average.

    Args:
        lam: A number from 0 on, or a term, which is broadcast. No derivative passes to it.
        size: A length, several, or None for as many as `lam` has.
        dtype: Of the result. What it has no room for is near the largest integer that it has.

    Raises:
        AttributeValueError: if `lam` is a number that is negative or not finite.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.poisson(2.5, (2, 3)).type
    int64[2, 3]
    """
    check_positive("poisson", lam=lam)
    kind = checked("poisson", as_dtype, dtype)
    asked = wanted("poisson", size, FLOAT64, lam)
    return fitting(counted(asked, in_double(asked.parameters[0])), kind)


def negative_binomial(n: Array, p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How many attempts fail before `n` succeed, each with probability `p`. All else is as of `poisson`.

    Args:
        n: A number above 0, which may have a fraction, or a term.
        p: A probability above 0, or a term.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.negative_binomial(3, 0.5, 4).type
    int64[4]
    """
    check_positive("negative_binomial", zero=False, n=n)
    check_probability("negative_binomial", p, zero=False)
    kind = checked("negative_binomial", as_dtype, dtype)
    asked = wanted("negative_binomial", size, FLOAT64, n, p)
    chance = in_double(asked.parameters[1])
    return fitting(counted(asked, gamma_numbers(asked, asked.parameters[0]) * ((1 - chance) / chance)), kind)


def binomial(n: Array, p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How many of `n` attempts succeed, each with probability `p`.

    Args:
        n: An integer from 0 to 2**53, or a term of integers, which is broadcast.
        p: A number, or a term, which is broadcast. No derivative passes to it.
        size: A length, several, or None for as many as `n` and `p` have.

    Raises:
        ArgumentError: if `n` is negative.
        AttributeValueError: if it is an integer that the dtype, or a float64, does not have, or `p` a number that is no
            probability.
        DTypeError: if `n` is a term of another dtype.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.binomial(1, 0.9, (2, 3)).type
    int64[2, 3]
    """
    kind = checked("binomial", as_dtype, dtype)
    count = attempts("binomial", n, kind)
    check_probability("binomial", p)
    asked = wanted("binomial", size, FLOAT64, count, p)
    return fitting(succeeded(asked, *asked.parameters), kind)


def geometric(p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How many attempts it takes until one succeeds, each with probability `p`. All else is as of `binomial`.

    What the dtype has no room for is near the largest integer that it has.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.geometric(0.5, 3).type
    int64[3]
    """
    check_probability("geometric", p, zero=False)
    kind = checked("geometric", as_dtype, dtype)
    asked = wanted("geometric", size, FLOAT64, p)
    chance = asked.parameters[0]
    missed = log1p(-chance) if isinstance(chance, Op) else math.log1p(-chance) if chance < 1 else -math.inf
    return fitting(clip(ceil(log(asked.positive()) / missed), 1, None), kind)


def logseries(p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """Counts from 1 on, each as probable as the power of `p` in the series of -log(1 - `p`). As `geometric` otherwise.

    They are attempts that fail with a probability that is drawn, too, and the one that does not. Kemp, "Efficient
    generation of logarithmically distributed pseudo-random variables", Applied Statistics 30 (1981).

    Args:
        p: A number from 0 to below 1, or a term, which is broadcast. No derivative passes to it.

    Raises:
        AttributeValueError: for another number.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.logseries(0.5, 3).type
    int64[3]
    """
    check_probability("logseries", p, one=False)
    kind = checked("logseries", as_dtype, dtype)
    asked = wanted("logseries", size, FLOAT64, p)
    missed = log1p(-exp(log1p(-stop_gradient(in_double(asked.parameters[0]))) * asked.positive()))
    return fitting(clip(floor(log(asked.positive()) / missed) + 1, 1, None), kind)


def zipf(a: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """Ranks from 1 on, each as probable as its power of exponent -`a`. As `geometric` otherwise.

    Args:
        a: A number above 1, or a term, which is broadcast. No derivative passes to it.

    Raises:
        AttributeValueError: for another number.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.zipf(2.0, 3).type
    int64[3]
    """
    numbers = known(a)
    if numbers is not None and not (np.isfinite(numbers) & (numbers > 1)).all():
        raise AttributeValueError(f"zipf: a is {a!r}", where=user_line(), do="give a finite one above 1")
    kind = checked("zipf", as_dtype, dtype)
    asked = wanted("zipf", size, FLOAT64, a)
    exponent = broadcast_to(in_double(asked.parameters[0]), asked.shape)
    return fitting(build_term("semi.zipf_draw", exponent, drawn(asked.shape, FLOAT64)), kind)


def attempts(call: str, n: Array, kind: DType) -> int | Op:
    """A number of attempts: an integer, or a term of integers.

    Raises:
        ArgumentError: for a negative one, an element of an array included.
        AttributeValueError: for one that the dtype, or a float64, does not have.
        DTypeError: for a term of another dtype.
    """
    if isinstance(n, Op | np.ndarray | list | tuple):
        term = as_term(n)
        if term.dtype.kind not in "biu":
            what = f"{call}: n is {describe(term, 1)} of {term.type!r}"
            raise DTypeError(what, where=user_line(), do="round it, and cast it to int64")
        numbers = known(n)
        if numbers is not None and (numbers < 0).any():
            raise ArgumentError(f"{call}: n is {n!r}", where=user_line(), do="give 0 or more")
        return term
    count = checked(call, as_int, n, "n")
    if count < 0:
        raise ArgumentError(f"{call}: n is {n!r}", where=user_line(), do="give 0 or more")
    if kind.kind in "iu" and count > np.iinfo(kind).max:
        what = f"{call}: n is {count}, and {kind} ends at {np.iinfo(kind).max}"
        raise AttributeValueError(what, where=user_line(), do="choose a wider dtype")
    if count > 2**53:
        what = f"{call}: n is {count}, and counts are exact up to 2**53"
        raise AttributeValueError(what, where=user_line(), do="give fewer attempts")
    return count


def succeeded(asked: Wanted, n: Parameter, p: Parameter) -> Op:
    """How many of some attempts succeed, of float64."""
    stretched = [broadcast_to(in_double(of), asked.shape) for of in (n, p)]
    return build_term("semi.binomial_draw", *stretched, drawn(asked.shape, FLOAT64))


def fitting(counts: Op, kind: DType) -> Op:
    """Counts in a dtype; those that it has no room for as the largest float64 that it has."""
    return astype(clip(counts, None, _largest(kind)), kind)


def _largest(kind: DType) -> float | None:
    """The largest float64 that an integer dtype has."""
    if kind.kind not in "iu":
        return None
    most = float(np.iinfo(kind).max)
    return most if int(most) <= np.iinfo(kind).max else float(np.nextafter(most, 0))
