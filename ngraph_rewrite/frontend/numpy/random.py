# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.random``: random numbers by NumPy's names. A term that draws has other numbers in each call.

The seed is that of a transformer; the same seed draws the same numbers on every target.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.distributions import (
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    normal,
    pareto,
    random,
    rayleigh,
    standard_cauchy,
    standard_exponential,
    standard_normal,
    triangular,
    uniform,
    weibull,
)
from ngraph_rewrite.frontend.numpy.elementwise import ceil, clip, floor, log, log1p
from ngraph_rewrite.frontend.numpy.equations import cholesky
from ngraph_rewrite.frontend.numpy.linear_algebra import matrix_transpose
from ngraph_rewrite.frontend.numpy.manipulation import reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_number, as_term
from ngraph_rewrite.frontend.numpy.random_parameters import Size, check_probability, drawn, known, wanted
from ngraph_rewrite.frontend.numpy.searching import searchsorted, take
from ngraph_rewrite.frontend.numpy.sorting import argsort
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_int, extents, listed, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import FLOAT64, INT64, DType, as_dtype, finfo, is_float
from ngraph_rewrite.types.lengths import Length, product

__all__ = [
    "binomial",
    "choice",
    "exponential",
    "geometric",
    "gumbel",
    "integers",
    "laplace",
    "logistic",
    "lognormal",
    "multivariate_normal",
    "normal",
    "pareto",
    "permutation",
    "random",
    "rayleigh",
    "standard_cauchy",
    "standard_exponential",
    "standard_normal",
    "triangular",
    "uniform",
    "weibull",
]

_SPAN = 2**52  # so many integers a float64 from [0, 1) tells apart


def integers(
    low: Array, high: Array | None = None, size: Size = None, dtype: Any = "int64", endpoint: bool = False
) -> Op:
    """Integers from [low, high), or from [0, low) if `high` is None.

    Args:
        low, high: Integers, lengths that are not known yet, or terms, which are broadcast.
        size: A length, several, or None for as many as parameters have.
        dtype: Of the result.
        endpoint: Whether `high` itself may be drawn.

    Raises:
        AttributeValueError: if there are none, more than 2**52, or some that the dtype does not have.
        DTypeError: if an end is no integer.
        AxesError: if the parameters do not broadcast to the size.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.integers(1, 6, (2, 3), endpoint=True).type
    int64[2, 3]
    """
    low, high = (0, low) if high is None else (low, high)
    kind = checked("integers", as_dtype, dtype)
    least, most = _whole(low), _whole(high)
    asked = wanted("integers", size, FLOAT64, least, most)
    _check_range(low, high, 0 if endpoint else 1, None if 0 in asked.shape else kind)
    span = astype(most - least, FLOAT64) + int(endpoint)
    return astype(astype(floor(asked.uniform() * span), INT64) + least, kind)


def _whole(given: Array) -> Op:
    """An end of a range as int64. An unsigned one wraps around, and differences are right all the same.

    Raises:
        DTypeError: if it is no integer.
    """
    if isinstance(given, int | np.integer):
        return as_number((int(given) + 2**63) % 2**64 - 2**63, INT64)
    term = as_number(given) if isinstance(given, Length) else as_term(given)
    if term.dtype.kind not in "biu":
        what = f"integers: an end of the range is {describe(term, 1)} of {term.type!r}"
        raise DTypeError(what, where=user_line(), do="round it, and cast it to int64")
    return astype(term, INT64)


def _check_range(low: Array, high: Array, more: int, kind: DType | None) -> None:
    """Refuse a range that is known and has no integers, too many, or some that the dtype has not; none is of none."""
    if kind is None or isinstance(low, Op | Length) or isinstance(high, Op | Length):
        return
    least, most = np.asarray(low).astype(object), np.asarray(high).astype(object) - more
    first, last = _limits(kind)
    fits = np.all(first <= least) and np.all(most <= last)
    if not (fits and np.all(0 <= most - least) and np.all(most - least < _SPAN)):
        do = "give a range of 1 to 2**52 integers that the dtype has"
        raise AttributeValueError(f"integers: {least} to {most} as {kind}", where=user_line(), do=do)


def _limits(kind: DType) -> tuple[int, int]:
    """The first and the last integer of a dtype; there are none of floats."""
    if kind.kind not in "iu":
        return (0, 1) if kind.kind == "b" else (0, -1)
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def binomial(n: int, p: Array, size: Size = None, *, dtype: Any = "int64") -> Op:
    """How many of `n` attempts succeed, each with probability `p`: n numbers are drawn for each.

    Args:
        p: A number, or a term, which is broadcast.
        size: A length, several, or None for as many as `p` has.

    Raises:
        ArgumentError: if `n` is negative.
        AttributeValueError: if it is no integer that the dtype has, or `p` is a number that is no probability.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.binomial(1, 0.9, (2, 3)).type
    int64[2, 3]
    """
    count = checked("binomial", as_int, n, "n")
    if count < 0:
        raise ArgumentError(f"binomial: n is {n!r}", where=user_line(), do="give 0 or more")
    kind = checked("binomial", as_dtype, dtype)
    if kind.kind in "iu" and count > np.iinfo(kind).max:
        what = f"binomial: n is {count}, and {kind} ends at {np.iinfo(kind).max}"
        raise AttributeValueError(what, where=user_line(), do="choose a wider dtype")
    check_probability("binomial", p)
    asked = wanted("binomial", size, FLOAT64, p)
    won = drawn((count, *asked.shape), FLOAT64) < asked.parameters[0]
    return total(won, axis=0, dtype=kind)


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
    return astype(clip(ceil(log(asked.positive()) / missed), 1, _largest(kind)), kind)


def _largest(kind: DType) -> float | None:
    """The largest float64 that an integer dtype has."""
    if kind.kind not in "iu":
        return None
    most = float(np.iinfo(kind).max)
    return most if int(most) <= np.iinfo(kind).max else float(np.nextafter(most, 0))


def permutation(x: Array, axis: int = 0) -> Op:
    """The elements along an axis in another order, each as probable as any; of a number, those of its ``arange``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.permutation(5).type, ng.numpy.random.permutation(ng.placeholder((7, 2))).type
    (int64[5], float32[7, 2])
    """
    if (count := _count(x)) is not None:
        return _order(*checked("permutation", extents, (count,)))
    term = as_term(x)
    place = checked("permutation", position, axis, term.rank)
    return take(term, _order(term.shape[place]), axis=place)


def _count(x: Array) -> Any:
    """An integer, or a length; None is an array or a term."""
    if isinstance(x, Op | Length | bool):
        return None if isinstance(x, Op) else x
    try:
        return operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        return None


def _order(count: Any) -> Op:
    """The first integers, shuffled."""
    return argsort(drawn((count,), FLOAT64))


def choice(a: Array, size: Size = None, replace: bool = True, p: Array | None = None, axis: int = 0) -> Op:
    """Elements of `a` along an axis, or integers below `a`, drawn alike or by probabilities.

    Args:
        size: How many: a length, several, or None for one.
        replace: Whether an element may be drawn again.
        p: A probability for each element; their sum is 1.

    Raises:
        AttributeValueError: if `p` is known and is no probabilities, or too few are not 0.
        AxesError: if there are not as many elements, or probabilities of another number.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.choice(5, 3, replace=False).type
    int64[3]
    >>> ng.numpy.random.choice(ng.placeholder((7, 2)), (4,)).type
    float32[4, 2]
    """
    shape = () if size is None else checked("choice", extents, listed(size))
    count = _count(a)
    term = as_term(a) if count is None else None
    place = 0 if term is None else checked("choice", position, axis, term.rank)
    count = count if term is None else term.shape[place]
    if isinstance(count, int) and count < 1 and 0 not in shape:
        raise AxesError(f"choice: there are {count} elements", where=user_line(), do="give one at least")
    weights = None if p is None else astype(as_term(p), FLOAT64)
    if weights is not None and weights.shape != (count,):
        what = f"choice: {weights.shape!r} probabilities of {count!r} elements"
        raise AxesError(what, where=user_line(), do="give a vector with one for each")
    if p is not None:
        _check_weights(p, 1 if replace else product(shape))
    found = (_again if replace else _once)(count, shape, weights)
    return found if term is None else take(term, found, axis=place)


def _check_weights(p: Array, wanted: Any) -> None:
    """Refuse probabilities that are known and whose sum is not 1, or of which fewer are positive than are wanted."""
    x = known(p)
    if x is None:
        return
    narrow = getattr(p, "dtype", FLOAT64)
    near = math.sqrt(finfo(narrow).eps) if is_float(narrow) else 1e-8
    if not (np.all(x >= 0) and abs(x.sum() - 1) <= near):
        do = "give numbers that are not negative, and divide them by their sum"
        raise AttributeValueError(f"choice: p is {p!r}, of sum {x.sum()}", where=user_line(), do=do)
    if isinstance(wanted, int) and np.count_nonzero(x) < wanted:
        what = f"choice: {wanted} elements, none of them twice, and {np.count_nonzero(x)} have a probability above 0"
        raise AttributeValueError(what, where=user_line(), do="draw fewer, or replace=True")


def _again(count: Any, shape: Any, weights: Op | None) -> Op:
    """Indices that may stand twice."""
    if weights is None:
        return integers(0, count, shape)
    ends = cumulative_sum(weights, axis=0)
    u = drawn(shape, FLOAT64) * ends[-1]
    found = searchsorted(ends, reshape(u, (product(shape),)), side="right")
    return reshape(clip(found, 0, as_number(count) - 1), shape)


def _once(count: Any, shape: Any, weights: Op | None) -> Op:
    """Indices of which none stands twice: the first of a random order, in which what weighs more comes earlier."""
    number = product(shape)
    if isinstance(count, int) and isinstance(number, int) and number > count:
        what = f"choice: {number} of {count} elements, none of them twice"
        raise AxesError(what, where=user_line(), do="draw fewer, or replace=True")
    waits = wanted("choice", (count,), FLOAT64)
    late = -log(waits.positive()) / weights if weights is not None else waits.uniform()
    return reshape(argsort(late)[:number], shape)


def multivariate_normal(mean: Array, cov: Array, size: Size = None, *, dtype: Any = None) -> Op:
    """Vectors of the normal distribution of a mean (..., n) and a covariance (..., n, n), which is positive definite.

    Args:
        size: How many, before the axes that `mean` and `cov` have in front.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.multivariate_normal(ng.placeholder((3,)), ng.placeholder((3, 3)), 5).type
    float32[5, 3]
    """
    center, matrix = as_term(mean), as_term(cov)
    if center.rank < 1 or matrix.rank < 2 or matrix.shape[-2:] != (center.shape[-1],) * 2:
        what = f"multivariate_normal: a mean {center.type!r} and a covariance {matrix.type!r}"
        raise AxesError(what, where=user_line(), do="give (..., n) and (..., n, n)")
    more = () if size is None else checked("multivariate_normal", extents, listed(size))
    asked = wanted("multivariate_normal", None, dtype, center, matrix[..., 0])
    center, _ = asked.parameters
    factor = cholesky(astype(matrix, asked.inner))
    vectors = asked._replace(shape=(*more, *asked.shape)).normal()
    return asked.result((vectors[..., None, :] @ matrix_transpose(factor))[..., 0, :] + center)
