# SPDX-License-Identifier: Apache-2.0
"""Simple ops of neural networks: softmax, log-sum-exp and the cross entropies, stable by definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import floating
from ngraph_rewrite.ops.checks import flag, known_shape, literal, numeric
from ngraph_rewrite.ops.simple_marks import Key, aligned, keys_of, places, simple, together, without
from ngraph_rewrite.ops.simple_reduce import reduced_attribute, reduced_places
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType, promote
from ngraph_rewrite.types.tensor import TensorType


@op("simple.relu", "elementwise", meaning=lambda term, x: np.maximum(x, x.dtype.type(0)))
def relu(x: TensorType) -> TensorType:
    """The greater of `x` and 0; NaN stays NaN."""
    simple(x)
    numeric(x)
    return x


def _limit(x: TensorType, *, limit: Any) -> Attributes:
    return {"limit": literal(limit, floating(x.dtype))}


def _safelog(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return functions.safelog(x.astype(term.dtype), term.attribute("limit").array(()))


@op("simple.safelog", "elementwise", meaning=_safelog, normalise=_limit)
def safelog(x: TensorType, *, limit: Literal) -> TensorType:
    """``maximum(log(x + exp(limit)), limit)``: a logarithm that stays above `limit`."""
    simple(x)
    return x.with_dtype(limit.dtype)


# -- softmax and log-sum-exp ------------------------------------------------------------------------


def _softmax(term: Op, x: Any) -> Any:
    axis = reduced_places(term)
    with np.errstate(all="ignore"):
        return functions.softmax(x.astype(term.dtype), axis)


@op("simple.softmax", meaning=_softmax, normalise=reduced_attribute)
def softmax(x: TensorType, *, axes: tuple[Key, ...]) -> TensorType:
    """exp(`x`) divided by its sum over `axes`, without overflow; a float dtype."""
    return x.with_dtype(floating(x.dtype))


def _logsumexp(term: Op, x: Any) -> Any:
    axis = reduced_places(term)
    with np.errstate(all="ignore"):
        return functions.logsumexp(x.astype(term.dtype), axis).reshape(term.shape)


@op("simple.logsumexp", "reduction", meaning=_logsumexp, normalise=reduced_attribute)
def logsumexp(x: TensorType, *, axes: tuple[Key, ...]) -> TensorType:
    """log(sum(exp(`x`))) over `axes`, without overflow; -inf for no elements. A float dtype."""
    return TensorType(floating(x.dtype), without(x.axes, axes))


# -- cross entropies --------------------------------------------------------------------------------


def _entropy_dtype(x: TensorType, t: TensorType) -> DType:
    return floating(promote(x.dtype, t.dtype))


def _both(x: TensorType, t: TensorType) -> TensorType:
    """The type of prediction and target together."""
    simple(x, t)
    return TensorType(_entropy_dtype(x, t), together(x.axes, t.axes))


def _entropy_axes(x: TensorType, t: TensorType, *, axes: Any, usebits: Any) -> Attributes:
    return {"axes": keys_of(_both(x, t), axes), "usebits": flag(usebits, "usebits")}


def _entropy_type(x: TensorType, t: TensorType, axes: tuple[Key, ...]) -> TensorType:
    both = _both(x, t)
    return both.with_axes(without(both.axes, axes))


def _summed(term: Op, values: Any) -> Any:
    """Minus the sum over the term's axes, in bits if asked for."""
    both = together(*(a.axes for a in term.args))
    values = np.broadcast_to(values, known_shape(both)).astype(term.dtype)
    total = -functions.total(values, places(both, term.attribute("axes")))
    return np.asarray(total * term.dtype.type(1 / math.log(2) if term.attribute("usebits") else 1), term.dtype)


def _operands(term: Op, arrays: tuple[Any, ...]) -> list[Any]:
    both = together(*(a.axes for a in term.args))
    return [np.asarray(a).astype(term.dtype) for a in aligned(term, arrays, both)]


def _multi(term: Op, *arrays: Any) -> Any:
    y, t = _operands(term, arrays)
    with np.errstate(all="ignore"):
        return _summed(term, functions.times_log(t, y))


@op("simple.cross_entropy_multi", "reduction", meaning=_multi, normalise=_entropy_axes)
def cross_entropy_multi(y: TensorType, t: TensorType, *, axes: tuple[Key, ...], usebits: bool) -> TensorType:
    """Minus the sum over `axes` of ``t * log(y)``, with 0 log 0 = 0; in bits if `usebits`."""
    return _entropy_type(y, t, axes)


def _binary(term: Op, *arrays: Any) -> Any:
    y, t = _operands(term, arrays)
    with np.errstate(all="ignore"):
        return _summed(term, functions.times_log(t, y) + functions.times_log(1 - t, 1 - y))


@op("simple.cross_entropy_binary", "reduction", meaning=_binary, normalise=_entropy_axes)
def cross_entropy_binary(y: TensorType, t: TensorType, *, axes: tuple[Key, ...], usebits: bool) -> TensorType:
    """Minus the sum over `axes` of ``t * log(y) + (1 - t) * log(1 - y)``, with 0 log 0 = 0; in bits if `usebits`."""
    return _entropy_type(y, t, axes)


def _softmax_axes(x: TensorType, t: TensorType, *, normalized: Any, axes: Any, usebits: Any) -> Attributes:
    return {"normalized": keys_of(x, normalized), **_entropy_axes(x, t, axes=axes, usebits=usebits)}


def _of_softmax(term: Op, *arrays: Any) -> Any:
    x, t = _operands(term, arrays)
    both = together(*(a.axes for a in term.args))
    axis = places(both, term.attribute("normalized"))
    with np.errstate(all="ignore"):
        less, _ = functions.shifted(x, axis)
        return _summed(term, functions.times(t, less - np.log(functions.total(np.exp(less), axis, True))))


@op("simple.cross_entropy_softmax", "reduction", meaning=_of_softmax, normalise=_softmax_axes)
def cross_entropy_softmax(
    x: TensorType, t: TensorType, *, normalized: tuple[Key, ...], axes: tuple[Key, ...], usebits: bool
) -> TensorType:
    """`cross_entropy_multi` of the softmax of `x` over `normalized`, finite wherever it can be."""
    return _entropy_type(x, t, axes)


def _of_sigmoid(term: Op, *arrays: Any) -> Any:
    x, t = _operands(term, arrays)
    with np.errstate(all="ignore"):
        on, off = functions.times(t, functions.softplus(-x)), functions.times(1 - t, functions.softplus(x))
        return _summed(term, -(on + off))


@op("simple.cross_entropy_sigmoid", "reduction", meaning=_of_sigmoid, normalise=_entropy_axes)
def cross_entropy_sigmoid(x: TensorType, t: TensorType, *, axes: tuple[Key, ...], usebits: bool) -> TensorType:
    """`cross_entropy_binary` of the sigmoid of `x`, finite wherever it can be."""
    return _entropy_type(x, t, axes)
