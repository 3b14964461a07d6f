# SPDX-License-Identifier: Apache-2.0
"""Axes ops that normalise: what a sample or a batch has in common is taken out, and a learnt scale put in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, UnmatchedAxesError
from ngraph_rewrite.ops.alignment import align, averaging, contained, some_of
from ngraph_rewrite.ops.checks import literal, named, numeric
from ngraph_rewrite.ops.functions import over_deviation
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, promote
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.tensor import TensorType


def _dtype(*types: TensorType) -> DType:
    numeric(*types)
    return averaging(promote(*(t.dtype for t in types)))


def _eps(value: Any, dtype: DType) -> Literal:
    found = literal(value, dtype)
    if not np.asarray(found.array(())) >= 0:
        raise AttributeValueError(f"eps is {value!r}", do="give a number of at least 0, such as 1e-5")
    return found


def _attributes(x: TensorType, *more: TensorType, axes: Any, eps: Any) -> Attributes:
    return {"axes": some_of(x.axes, axes), "eps": _eps(eps, _dtype(x, *more))}


def _standardized(term: Op, x: Any) -> Any:
    wide = x.astype(wide_dtype(term.dtype))
    places = tuple(term.args[0].axes.index(a) for a in term.attribute("axes"))
    with np.errstate(all="ignore"):
        count = wide.dtype.type(np.prod([x.shape[k] for k in places]))
        less = wide - np.sum(wide, axis=places, keepdims=True) / count
        return over_deviation(less, np.sum(np.square(less), axis=places, keepdims=True) / count, term.attribute("eps"))


def _standardize(term: Op, x: Any) -> Any:
    return _standardized(term, x).astype(term.dtype)


@op("axes.standardize", meaning=_standardize, normalise=_attributes)
def standardize(x: TensorType, *, axes: Axes, eps: Literal) -> TensorType:
    """`x` less its mean over `axes`, over the square root of its variance plus `eps`; float64 of integers.

    Where all elements are equal the result is 0, also if `eps` is.
    """
    named(x)
    return x.with_dtype(eps.dtype)


def _normalized(term: Op, x: Any, gamma: Any, beta: Any) -> Any:
    """Standardized, scaled and shifted."""
    own = term.args[0].axes
    scale, shift = (align(a, arg.axes, own) for a, arg in zip((gamma, beta), term.args[1:], strict=True))
    with np.errstate(all="ignore"):
        return (_standardized(term, x) * scale + shift).astype(term.dtype)


@op("axes.batch_norm", meaning=_normalized, normalise=_attributes)
def batch_norm(x: TensorType, gamma: TensorType, beta: TensorType, *, axes: Axes, eps: Literal) -> TensorType:
    """`x` standardized over `axes`, times `gamma` plus `beta`, which have other axes of `x`: batch norm in training."""
    _within(x, gamma, beta)
    for t in (gamma, beta):
        if t.axes & axes:
            raise UnmatchedAxesError(f"{t!r} has {(t.axes & axes)!r}, over which the statistics are taken")
    return x.with_dtype(eps.dtype)


@op("axes.layer_norm", meaning=_normalized, normalise=_attributes)
def layer_norm(x: TensorType, gamma: TensorType, beta: TensorType, *, axes: Axes, eps: Literal) -> TensorType:
    """`x` standardized over `axes`, times `gamma` plus `beta`, which have some of `axes`."""
    _within(x, gamma, beta)
    for t in (gamma, beta):
        contained(t.axes, axes)
    return x.with_dtype(eps.dtype)


def _within(x: TensorType, *others: TensorType) -> None:
    named(x, *others)
    for t in others:
        contained(t.axes, x.axes)


def _inference_attributes(x: TensorType, *more: TensorType, eps: Any) -> Attributes:
    return {"eps": _eps(eps, _dtype(x, *more))}


def _inference(term: Op, x: Any, *others: Any) -> Any:
    own = term.args[0].axes
    wide = wide_dtype(term.dtype)
    each = (align(a, arg.axes, own).astype(wide) for a, arg in zip(others, term.args[1:], strict=True))
    with np.errstate(all="ignore"):
        gamma, beta, mean, variance = each
        scaled = over_deviation(x.astype(wide) - mean, variance, term.attribute("eps"))
        return (scaled * gamma + beta).astype(term.dtype)


@op("axes.batch_norm_inference", meaning=_inference, normalise=_inference_attributes)
def batch_norm_inference(
    x: TensorType, gamma: TensorType, beta: TensorType, mean: TensorType, variance: TensorType, *, eps: Literal
) -> TensorType:
    """`x` less `mean`, over the square root of `variance` plus `eps`, times `gamma` plus `beta`, all given."""
    _within(x, gamma, beta, mean, variance)
    return x.with_dtype(eps.dtype)
