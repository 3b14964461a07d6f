# SPDX-License-Identifier: Apache-2.0
"""Means with weights, and how variables vary together."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import clip, divide, maximum, multiply, sqrt, subtract
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.linear_algebra import diagonal, matmul
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to, squeeze, transpose
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term, places
from ngraph_rewrite.frontend.numpy.statistical import mean
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, promote, wide
from ngraph_rewrite.types.lengths import product


def average(
    x: Array, /, axis: Axis = None, weights: Array | None = None, returned: bool = False, *, keepdims: bool = False
) -> Op | tuple[Op, Op]:
    """The mean, in which each element counts as much as its weight; float64 for integers.

    Args:
        weights: As many as `x` has elements, or as it has along the axes.
        returned: Whether to give the sums of weights, too.

    Raises:
        AxesError: for weights of another shape.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.average(ng.placeholder((2, 3)), axis=1, weights=ng.placeholder((3,))).type
    float32[2]
    """
    term, both = as_term(x), checked("average", flag, returned, "returned")
    if weights is not None:
        found, size = _weighted(term, as_term(weights), axis, keepdims)
        return (found, size) if both else found
    found = mean(term, axis, keepdims=keepdims)
    if not both:
        return found
    count = product([term.shape[k] for k in places("average", axis, term.rank)])
    return found, broadcast_to(asarray(count, dtype=found.dtype), found.shape)


def _weighted(x: Op, weights: Op, axis: Axis, keepdims: bool) -> tuple[Op, Op]:
    """The mean, and the sum of weights."""
    share = _weights(x, weights, axis)
    dtype = promote(averaging(x.dtype), share.dtype)
    factors = broadcast_to(astype(share, wide(dtype)), x.shape)
    size = total(factors, axis, keepdims=keepdims)
    sums = total(multiply(astype(x, wide(dtype)), factors), axis, keepdims=keepdims)
    return astype(divide(sums, size), dtype), astype(size, dtype)


def _weights(x: Op, weights: Op, axis: Axis) -> Op:
    """The weights with the axes of `x`."""
    if weights.shape == x.shape:
        return weights
    along = places("average", axis, x.rank)
    if weights.shape != tuple(x.shape[k] for k in along) or axis is None:
        what = f"average: weights {weights.type!r} for {x.type!r}"
        raise AxesError(what, where=user_line(), do="give one for each element, or one for each along the axes")
    return apply("reshape", weights, shape=[n if k in along else 1 for k, n in enumerate(x.shape)])


def cov(
    m: Array,
    /,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Array | None = None,
    aweights: Array | None = None,
    *,
    dtype: Any = None,
) -> Op:
    """The covariances of variables, each a row of observations; of one variable, its variance. At least in float64.

    Args:
        y: More variables.
        rowvar: Whether variables are rows; else they are columns.
        bias: Whether to divide by the number of observations, rather than one less.
        ddof: What to subtract from that number, whatever `bias` says.
        fweights, aweights: How often each observation was made, and how much it counts.
        dtype: What to compute in.

    Raises:
        AxesError: for more than two axes, or weights that are no vector.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cov(ng.placeholder((3, 100)), dtype="float32").type
    float32[3, 3]
    """
    given = [as_term(m)] if y is None else [as_term(m), as_term(y)]
    bias, rowvar = checked("cov", flag, bias, "bias"), checked("cov", flag, rowvar, "rowvar")
    chosen = promote(*(t.dtype for t in given), FLOAT64) if dtype is None else dtype
    rows = [_rows(t, rowvar, chosen) for t in given]
    x = concat(rows, axis=0) if len(rows) > 1 else rows[0]
    less = (0.0 if bias else 1.0) if ddof is None else ddof
    weights, count = _observations(x, less, fweights, aweights)
    middle = mean(x, 1, keepdims=True) if weights is None else _weighted(x, weights, 1, True)[0]
    apart = subtract(x, middle)
    weighted = apart if weights is None else multiply(apart, weights)
    return squeeze(divide(matmul(apart, transpose(weighted)), maximum(count, 0.0)))


def corrcoef(x: Array, /, y: Array | None = None, rowvar: bool = True, *, dtype: Any = None) -> Op:
    """The correlations of variables: `cov`, divided by the deviations of both. Its arguments are those.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.corrcoef(ng.placeholder((3, 100))).type
    float64[3, 3]
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if not found.rank:
        return divide(found, found)
    size = sqrt(diagonal(found))
    return clip(divide(divide(found, apply("expand_dims", size, axis=1)), size), -1.0, 1.0)


def _rows(x: Op, rowvar: bool, dtype: Any) -> Op:
    if x.rank > 2:
        what = f"cov: expected variables as rows or columns, got {x.type!r}"
        raise AxesError(what, where=user_line(), do="give at most two axes")
    if x.rank < 2:
        return astype(apply("reshape", x, shape=(1, x.size)), dtype)
    return astype(x if rowvar else transpose(x), dtype)


def _observations(x: Op, less: float, often: Array | None, weight: Array | None) -> tuple[Op | None, Op]:
    """The weight of each observation, if they differ, and what sums of products are divided by."""
    given = [astype(as_term(w), x.dtype) for w in (often, weight) if w is not None]
    for vector in given:
        if vector.rank != 1:
            raise AxesError(f"cov: weights {vector.type!r}", where=user_line(), do="give one for each observation")
    if not given:
        return None, subtract(astype(asarray(x.shape[1]), x.dtype), less)
    weights = given[0] if len(given) == 1 else multiply(*given)
    size = total(weights)
    if weight is None:
        return weights, subtract(size, less)
    return weights, subtract(size, divide(multiply(total(multiply(weights, given[-1])), less), size))
