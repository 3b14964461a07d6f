# SPDX-License-Identifier: Apache-2.0
"""Functions of neural networks by position: softmax and log-sum-exp with the signatures of SciPy's ``special``."""

from __future__ import annotations

import math
from typing import Literal, overload

from ngraph_rewrite.frontend.arrangement import stop_gradient
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import (
    abs,
    add,
    equal,
    exp,
    isfinite,
    less,
    log,
    logical_or,
    multiply,
    not_equal,
    sign,
    subtract,
    where,
)
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, apply, as_term, as_terms, places
from ngraph_rewrite.frontend.numpy.statistical import max, sum
from ngraph_rewrite.ops.alignment import floating
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.ops.stretching import stretched, without
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import finfo, promote


def relu(x: Array, /) -> Op:
    """The greater of `x` and 0; NaN stays NaN. At 0 half of a slope passes.

    Raises:
        DTypeError: for bool.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.relu(ng.placeholder((3,), name="x"))
    numpy.relu(x)
    """
    return apply("relu", as_term(x))


def softmax(x: Array, axis: Axis = None) -> Op:
    """exp(`x`) divided by its sum, without overflow. Spelled out, as ``exp(x) / sum(exp(x))``, it is recognized.

    Args:
        axis: Over which axes is summed: one, several, or None for all.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for one named twice.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.softmax(ng.placeholder((2, 3), name="x"), axis=-1)
    numpy.softmax(x, axis=(1,))
    """
    term = as_term(x)
    return apply("softmax", term, axis=places("softmax", axis, term.rank))


def log_softmax(x: Array, axis: Axis = None) -> Op:
    """The logarithm of `softmax`, finite where that is too small for a float. The arguments and errors are the same.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.log_softmax(ng.placeholder((2, 3), name="x"), axis=-1)
    numpy.log_softmax(x, axis=(1,))
    """
    term = as_term(x)
    return apply("log_softmax", term, axis=places("log_softmax", axis, term.rank))


@overload
def logsumexp(
    a: Array, axis: Axis = None, b: Array | None = None, keepdims: bool = False, return_sign: Literal[False] = False
) -> Op: ...
@overload
def logsumexp(
    a: Array, axis: Axis = None, b: Array | None = None, keepdims: bool = False, *, return_sign: Literal[True]
) -> tuple[Op, Op]: ...
def logsumexp(
    a: Array, axis: Axis = None, b: Array | None = None, keepdims: bool = False, return_sign: bool = False
) -> Op | tuple[Op, Op]:
    """log(sum(`b` * exp(`a`))), without overflow; -inf of nothing, NaN where the sum is negative.

    Args:
        axis: Over which axes is summed: one, several, or None for all.
        b: Weights, which are broadcast with `a` and may be negative; what has a weight of 0 does not count, whatever it
            is. By default 1.
        keepdims: Whether the axes stay, with length 1.
        return_sign: Give two terms, the logarithm of the absolute value of the sum, and its sign.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for one named twice.
        IncompatibleAxesError: if `a` and `b` do not broadcast.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 3), name="x")
    >>> ng.numpy.logsumexp(x, axis=1), ng.numpy.logsumexp(x, axis=0, b=[1.0, 0.5, -0.5]).type
    (numpy.logsumexp(x, axis=(1,), keepdims=False), float32[3])
    """
    kept = checked("logsumexp", flag, keepdims, "keepdims")
    signed = checked("logsumexp", flag, return_sign, "return_sign")
    if b is None and not signed:
        term = as_term(a)
        return apply("logsumexp", term, axis=places("logsumexp", axis, term.rank), keepdims=kept)
    x, weights = _alike(a, 1 if b is None else b)
    reduced = places("logsumexp", axis, x.rank)
    x = where(equal(weights, 0), stop_gradient(x), x)  # else its slope is no number where all weights are 0
    top = _top(where(equal(weights, 0), -math.inf, x), reduced)
    total = sum(_weighted(subtract(x, top), weights), reduced, keepdims=True)
    found = add(log(abs(total) if signed else total), top), sign(total)
    size, way = (apply("reshape", part, shape=without(x.shape, reduced, kept)) for part in found)
    return (size, way) if signed else size


def _alike(*arrays: Array) -> tuple[Op, ...]:
    """Arrays of one shape and one float dtype."""
    terms = as_terms("logsumexp", *arrays)
    shape = checked("logsumexp", stretched, *(x.shape for x in terms))
    dtype = floating(promote(*(x.dtype for x in terms)))
    return tuple(apply("broadcast_to", astype(x, dtype), shape=shape) for x in terms)


def _top(x: Op, axis: tuple[int, ...]) -> Op:
    """The greatest element, or 0 where that is not finite: no result depends on it, so that no derivative does.

    Where it is not known whether there are elements, it is the logarithm of their sum, which is not much more.
    """
    some = all(isinstance(x.shape[k], int) and x.shape[k] for k in axis)
    found = max(x, axis, keepdims=True) if some else apply("logsumexp", x, axis=axis, keepdims=True)
    return stop_gradient(where(isfinite(found), found, 0.0))


def _weighted(x: Op, weights: Op) -> Op:
    """``weights * exp(x)``: 0 where a weight is, with the slope by that weight as far as there is a number for it."""
    limit = math.floor(math.log(float(finfo(x.dtype).max)))
    counts = logical_or(not_equal(weights, 0), less(x, limit))
    return multiply(weights, exp(where(counts, x, limit)))
