# SPDX-License-Identifier: Apache-2.0
"""Simple ops that normalise: what a sample or a batch has in common is taken out, and a learnt scale put in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, UnmatchedAxesError
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import literal, numeric
from ngraph_rewrite.ops.functions import over_deviation
from ngraph_rewrite.ops.simple_marks import Key, Marker, aligned_to, common, features, keys, keys_of, places, simple
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, promote
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.tensor import TensorType

Keys = tuple[Key, ...]


def _dtype(*types: TensorType) -> DType:
    numeric(*types)
    return averaging(promote(*(t.dtype for t in types)))


def _attributes(x: TensorType, *more: TensorType, axes: Any, eps: Any) -> Attributes:
    simple(x, *more)
    found = literal(eps, _dtype(x, *more))
    if not np.asarray(found.array(())) >= 0:
        raise AttributeValueError(f"eps is {eps!r}", do="give a number of at least 0, such as 1e-5")
    return {"axes": keys_of(x, axes), "eps": found}


def _standardized(term: Op, x: Any) -> Any:
    wide = x.astype(wide_dtype(term.dtype))
    over = places(term.args[0].axes, term.attribute("axes"))
    with np.errstate(all="ignore"):
        count = wide.dtype.type(np.prod([x.shape[k] for k in over]))
        less = wide - np.sum(wide, axis=over, keepdims=True) / count
        return over_deviation(less, np.sum(np.square(less), axis=over, keepdims=True) / count, term.attribute("eps"))


@op(
    "simple.standardize",
    meaning=lambda term, x: _standardized(term, x).astype(term.dtype),
    normalise=_attributes,
)
def standardize(x: TensorType, *, axes: Keys, eps: Literal) -> TensorType:
    """`x` less its mean over `axes`, over the square root of its variance plus `eps`; float64 of integers.

    Where all elements are equal the result is 0, also if `eps` is.
    """
    return x.with_dtype(eps.dtype)


# -- scale and shift ----------------------------------------------------------------------------------


def new_features(axes: Axes, have: Axes, kept: Keys) -> tuple[int, ...]:
    """The numbers of the features of `axes` that a scale lacks: all of a scalar, else those that are not `kept`.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> new_features(marked((3, 8, N)), marked((3,)), (0,)), new_features(marked((3, 8, N)), Axes(), (0,))
    ((1,), (0, 1))
    """
    own = range(len(features(axes)))
    return tuple(k for k in own if k not in kept) if features(have) else tuple(own)


def _spread(array: Any, have: Axes, axes: Axes, kept: Keys) -> Any:
    """A scale or shift, which has the features `kept` of `axes` or none, aligned to these."""
    left = iter([k for k in range(len(features(axes))) if k not in new_features(axes, have, kept)])
    return aligned_to(array, [next(left) if isinstance(k, int) else k for k in keys(have)], keys(axes))


def _check(x: TensorType, others: tuple[TensorType, ...], kept: Keys) -> None:
    """Demand of each scale and shift no features, or those kept; and of N and R only those kept."""
    common(x.axes, *(t.axes for t in others))
    wanted = tuple(n for k, n in enumerate(features(x.axes)) if k in kept)
    for t in others:
        wrong = [m for m in keys(t.axes) if isinstance(m, Marker) and m not in kept]
        if wrong:
            raise UnmatchedAxesError(f"{t!r} has {wrong[0]}, along which {x!r} is not scaled by it")
        if features(t.axes) not in ((), wanted):
            raise AxesError(
                f"expected features {wanted}, or none, got {t!r}",
                do="a scale or shift has the features that are kept by batch norm, or taken by layer norm",
            )


def _others(x: TensorType, axes: Keys) -> Keys:
    return tuple(k for k in keys(x.axes) if k not in axes)


def _normalized(kept: Any) -> Any:
    def meaning(term: Op, x: Any, gamma: Any, beta: Any) -> Any:
        whole, own = term.args[0].type, kept(term.args[0].type, term.attribute("axes"))
        scale, shift = (
            _spread(a, arg.axes, whole.axes, own) for a, arg in zip((gamma, beta), term.args[1:], strict=True)
        )
        with np.errstate(all="ignore"):
            return (_standardized(term, x) * scale + shift).astype(term.dtype)

    return meaning


@op("simple.batch_norm", meaning=_normalized(_others), normalise=_attributes)
def batch_norm(x: TensorType, gamma: TensorType, beta: TensorType, *, axes: Keys, eps: Literal) -> TensorType:
    """`x` standardized over `axes`, times `gamma` plus `beta`, of the other features: batch norm in training."""
    _check(x, (gamma, beta), _others(x, axes))
    return x.with_dtype(eps.dtype)


@op("simple.layer_norm", meaning=_normalized(lambda x, axes: axes), normalise=_attributes)
def layer_norm(x: TensorType, gamma: TensorType, beta: TensorType, *, axes: Keys, eps: Literal) -> TensorType:
    """`x` standardized over `axes`, times `gamma` plus `beta`, of the features among `axes`."""
    _check(x, (gamma, beta), axes)
    return x.with_dtype(eps.dtype)


def _inference(term: Op, x: Any, *others: Any) -> Any:
    whole, wide = term.args[0].type, wide_dtype(term.dtype)
    own = _others(whole, term.attribute("axes"))
    gamma, beta, mean, variance = (
        _spread(a, arg.axes, whole.axes, own).astype(wide) for a, arg in zip(others, term.args[1:], strict=True)
    )
    with np.errstate(all="ignore"):
        return (over_deviation(x.astype(wide) - mean, variance, term.attribute("eps")) * gamma + beta).astype(
            term.dtype
        )


@op("simple.batch_norm_inference", meaning=_inference, normalise=_attributes)
def batch_norm_inference(
    x: TensorType,
    gamma: TensorType,
    beta: TensorType,
    mean: TensorType,
    variance: TensorType,
    *,
    axes: Keys,
    eps: Literal,
) -> TensorType:
    """`x` less `mean`, over the square root of `variance` plus `eps`, times `gamma` plus `beta`: statistics given.

    All four have the features that are not among `axes`.
    """
    _check(x, (gamma, beta, mean, variance), _others(x, axes))
    return x.with_dtype(eps.dtype)
