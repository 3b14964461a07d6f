# SPDX-License-Identifier: Apache-2.0
"""Axes ops of neural networks: softmax, log-sum-exp and the cross entropies, stable by definition."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import UnmatchedAxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import aligned, combine, floating, some_of
from ngraph_rewrite.ops.checks import flag, known_shape, literal, named, numeric
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, promote
from ngraph_rewrite.types.tensor import TensorType


def _relu(term: Op, x: Any) -> Any:
    return np.maximum(x, x.dtype.type(0))


@op("axes.relu", "elementwise", meaning=_relu)
def relu(x: TensorType) -> TensorType:
    """The greater of `x` and 0; NaN stays NaN."""
    named(x)
    numeric(x)
    return x


def _limit(x: TensorType, *, limit: Any) -> Attributes:
    return {"limit": literal(limit, floating(x.dtype))}


def _safelog(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return functions.safelog(x.astype(term.dtype), term.attribute("limit").array(()))


@op("axes.safelog", "elementwise", meaning=_safelog, normalise=_limit)
def safelog(x: TensorType, *, limit: Literal) -> TensorType:
    """``maximum(log(x + exp(limit)), limit)``: a logarithm that stays above `limit`."""
    named(x)
    return x.with_dtype(limit.dtype)


# -- softmax and log-sum-exp ------------------------------------------------------------------------


def _axes(x: TensorType, *, axes: Any) -> Attributes:
    return {"axes": some_of(x.axes, axes)}


def _softmax(term: Op, x: Any) -> Any:
    places = tuple(term.axes.index(a) for a in term.attribute("axes"))
    with np.errstate(all="ignore"):
        return functions.softmax(x.astype(term.dtype), places)


@op("axes.softmax", meaning=_softmax, normalise=_axes)
def softmax(x: TensorType, *, axes: Axes) -> TensorType:
    """exp(`x`) divided by its sum over `axes`, without overflow; a float dtype."""
    named(x)
    return x.with_dtype(floating(x.dtype))


def _logsumexp(term: Op, x: Any) -> Any:
    have = term.args[0].axes
    with np.errstate(all="ignore"):
        places = tuple(have.index(a) for a in term.attribute("axes"))
        return np.asarray(functions.logsumexp(x.astype(term.dtype), places)).reshape(term.shape)


@op("axes.logsumexp", "reduction", meaning=_logsumexp, normalise=_axes)
def logsumexp(x: TensorType, *, axes: Axes) -> TensorType:
    """log(sum(exp(`x`))) over `axes`, without overflow; -inf for no elements. A float dtype."""
    named(x)
    return TensorType(floating(x.dtype), x.axes - axes)


# -- cross entropies --------------------------------------------------------------------------------


def _entropy_dtype(x: TensorType, t: TensorType) -> DType:
    return floating(promote(x.dtype, t.dtype))


def _together(x: TensorType, t: TensorType) -> Axes:
    """The axes of prediction and target: those of one must contain those of the other."""
    named(x, t)
    both = combine(x.axes, t.axes)
    if len(both) > max(x.rank, t.rank):
        raise UnmatchedAxesError(
            f"the axes of the prediction {x!r} and the target {t!r} must contain one another",
            do="broadcast one of them to the axes of both",
        )
    return both


def _entropy_axes(x: TensorType, t: TensorType, *, axes: Any, usebits: Any) -> Attributes:
    return {"axes": some_of(_together(x, t), axes), "usebits": flag(usebits, "usebits")}


def _summed(term: Op, values: Any, both: Axes) -> Any:
    """Minus the sum over the term's axes, in bits if asked for."""
    places = tuple(both.index(a) for a in term.attribute("axes"))
    total = -functions.total(np.broadcast_to(values, known_shape(both)).astype(term.dtype), places)
    scale = term.dtype.type(1 / math.log(2) if term.attribute("usebits") else 1)
    return np.asarray(total * scale, term.dtype)


def _operands(term: Op, arrays: tuple[Any, ...]) -> tuple[Axes, Any, Any]:
    both = combine(term.args[0].axes, term.args[1].axes)
    x, t = (np.asarray(a).astype(term.dtype) for a in aligned(term, arrays, both))
    return both, x, t


def _multi(term: Op, *arrays: Any) -> Any:
    both, y, t = _operands(term, arrays)
    with np.errstate(all="ignore"):
        return _summed(term, functions.times_log(t, y), both)


@op("axes.cross_entropy_multi", "reduction", meaning=_multi, normalise=_entropy_axes)
def cross_entropy_multi(y: TensorType, t: TensorType, *, axes: Axes, usebits: bool) -> TensorType:
    """Minus the sum over `axes` of ``t * log(y)``, with 0 log 0 = 0; in bits if `usebits`.

    ngraph-python clipped the logarithm at -50; here a certain error costs infinity.
    """
    return TensorType(_entropy_dtype(y, t), _together(y, t) - axes)


def _binary(term: Op, *arrays: Any) -> Any:
    both, y, t = _operands(term, arrays)
    with np.errstate(all="ignore"):
        return _summed(term, functions.times_log(t, y) + functions.times_log(1 - t, 1 - y), both)


@op("axes.cross_entropy_binary", "reduction", meaning=_binary, normalise=_entropy_axes)
def cross_entropy_binary(y: TensorType, t: TensorType, *, axes: Axes, usebits: bool) -> TensorType:
    """Minus the sum over `axes` of ``t * log(y) + (1 - t) * log(1 - y)``, with 0 log 0 = 0; in bits if `usebits`."""
    return TensorType(_entropy_dtype(y, t), _together(y, t) - axes)


def _softmax_axes(x: TensorType, t: TensorType, *, normalized: Any, axes: Any, usebits: Any) -> Attributes:
    return {"normalized": some_of(x.axes, normalized), **_entropy_axes(x, t, axes=axes, usebits=usebits)}


def _of_softmax(term: Op, *arrays: Any) -> Any:
    both, x, t = _operands(term, arrays)
    places = tuple(both.index(a) for a in term.attribute("normalized"))
    with np.errstate(all="ignore"):
        less, _ = functions.shifted(x, places)
        return _summed(term, functions.times(t, less - np.log(functions.total(np.exp(less), places, True))), both)


@op("axes.cross_entropy_softmax", "reduction", meaning=_of_softmax, normalise=_softmax_axes)
def cross_entropy_softmax(x: TensorType, t: TensorType, *, normalized: Axes, axes: Axes, usebits: bool) -> TensorType:
    """`cross_entropy_multi` of the softmax of `x` over `normalized`, finite wherever it can be."""
    return TensorType(_entropy_dtype(x, t), _together(x, t) - axes)


def _of_sigmoid(term: Op, *arrays: Any) -> Any:
    both, x, t = _operands(term, arrays)
    with np.errstate(all="ignore"):
        on, off = functions.times(t, functions.softplus(-x)), functions.times(1 - t, functions.softplus(x))
        return _summed(term, -(on + off), both)


@op("axes.cross_entropy_sigmoid", "reduction", meaning=_of_sigmoid, normalise=_entropy_axes)
def cross_entropy_sigmoid(x: TensorType, t: TensorType, *, axes: Axes, usebits: bool) -> TensorType:
    """`cross_entropy_binary` of the sigmoid of `x`, finite wherever it can be."""
    return TensorType(_entropy_dtype(x, t), _together(x, t) - axes)
