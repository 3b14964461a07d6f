# SPDX-License-Identifier: Apache-2.0
"""Numpy ops of neural networks: softmax, its logarithm and log-sum-exp, stable by definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import floating
from ngraph_rewrite.ops.checks import flag, numeric, positional, tensor
from ngraph_rewrite.ops.stretching import positions, without
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType

Places = tuple[int, ...]


@op("numpy.relu", "elementwise", meaning=lambda term, x: np.maximum(x, x.dtype.type(0)))
def relu(x: TensorType) -> TensorType:
    """The greater of `x` and 0; NaN stays NaN."""
    positional(x)
    numeric(x)
    return x


def _axis(x: TensorType, *, axis: Any) -> Attributes:
    return {"axis": positions(axis, x.rank)}


def _axis_kept(x: TensorType, *, axis: Any, keepdims: Any) -> Attributes:
    return {"axis": positions(axis, x.rank), "keepdims": flag(keepdims, "keepdims")}


def _softmax(term: Op, x: Any) -> Any:
    (axis,) = term.attrs
    with np.errstate(all="ignore"):
        return functions.softmax(x.astype(term.dtype), axis)


@op("numpy.softmax", meaning=_softmax, normalise=_axis)
def softmax(x: TensorType, *, axis: Places) -> TensorType:
    """exp(`x`) divided by its sum over the positions `axis`, without overflow; a float dtype."""
    positional(x)
    return x.with_dtype(floating(x.dtype))


def _log_softmax(term: Op, x: Any) -> Any:
    (axis,) = term.attrs
    with np.errstate(all="ignore"):
        less, _ = functions.shifted(x.astype(term.dtype), axis)
        return less - np.log(functions.total(np.exp(less), axis, True))


@op("numpy.log_softmax", meaning=_log_softmax, normalise=_axis)
def log_softmax(x: TensorType, *, axis: Places) -> TensorType:
    """The logarithm of the softmax of `x` over the positions `axis`, finite also where that is 0; a float dtype."""
    positional(x)
    return x.with_dtype(floating(x.dtype))


def _logsumexp(term: Op, x: Any) -> Any:
    axis, _ = term.attrs
    with np.errstate(all="ignore"):
        return functions.logsumexp(x.astype(term.dtype), axis).reshape(term.shape)


@op("numpy.logsumexp", "reduction", meaning=_logsumexp, normalise=_axis_kept)
def logsumexp(x: TensorType, *, axis: Places, keepdims: bool) -> TensorType:
    """log(sum(exp(`x`))) over the positions `axis`, without overflow; -inf for no elements. A float dtype.

    The axes stay with length 1 if `keepdims`.
    """
    positional(x)
    return tensor(floating(x.dtype), without(x.shape, axis, keepdims))
