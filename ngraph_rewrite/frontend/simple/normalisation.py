# SPDX-License-Identifier: Apache-2.0
"""Batch norm and layer norm by position: a scale has the features that are kept, or those that are taken."""

from __future__ import annotations

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.simple.operands import Array, Keys, apply, as_term, reduced
from ngraph_rewrite.frontend.simple.reductions import mean as average_of
from ngraph_rewrite.frontend.simple.reductions import variance as variance_of
from ngraph_rewrite.ops.simple_marks import Key, keys
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

__all__ = ["batch_norm", "batch_statistics", "layer_norm", "standardize"]


def standardize(x: Array, axes: Keys | None = None, keep: Keys | None = None, eps: float = 1e-5) -> Op:
    """`x` less its mean, over the square root of its variance plus `eps`; 0 where all elements are equal.

    Args:
        axes: The axes of mean and variance: features by number, N, R; by default all features.
        keep: Instead, the axes to keep.
        eps: At least 0.

    Raises:
        UnmatchedAxesError: if `x` has no such axis.
        AttributeValueError: for a negative `eps`, or both `axes` and `keep`.
        DTypeError: if `x` is bool.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.standardize(ng.simple.placeholder((3, ng.simple.N(4)), name="x"))
    simple.standardize(x, axes=(0,), eps=9.999999747378752e-06)
    """
    term = as_term(x)
    return apply("standardize", term, axes=reduced("standardize", term.type, axes, keep), eps=eps)


def batch_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    axes: Keys | None = None,
    eps: float = 1e-5,
    *,
    mean: Array | None = None,
    variance: Array | None = None,
) -> Op:
    """`x` with the mean and variance of a batch taken out, times `gamma` plus `beta`.

    For inference give `mean` and `variance`, which are then used instead. In training, `batch_statistics` with the
    same axes are the very numbers that are taken out. ``ng.update_statistics`` keeps running ones.

    Args:
        gamma, beta: Of the features that the statistics keep, such as channels; or numbers.
        axes: The axes of the statistics; by default all but the first features, of which as many are kept as
            `gamma` or `beta` has.
        eps: At least 0.

    Raises:
        AxesError: if `gamma` or `beta` has other features.
        UnmatchedAxesError: if one has N or R, and the statistics do not keep it.
        AttributeValueError: for a negative `eps`, or only one of `mean` and `variance`.
        DTypeError: if one is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.simple.placeholder((3, 8, ng.simple.N))
    >>> gamma, beta = ng.simple.variable((3,)), ng.simple.variable((3,))
    >>> ng.simple.batch_norm(x, gamma, beta).type
    float32[3, 8, sample:N]
    """
    whole = as_term(x)
    if (mean is None) != (variance is None):
        raise AttributeValueError(
            "batch_norm: one of mean and variance is missing", where=user_line(), do="give both, or none in training"
        )
    chosen = _others(whole, gamma, beta) if axes is None else reduced("batch_norm", whole.type, axes, None)
    if mean is not None and variance is not None:
        return apply("batch_norm_inference", whole, gamma, beta, mean, variance, axes=chosen, eps=eps)
    return apply("batch_norm", whole, gamma, beta, axes=chosen, eps=eps)


def layer_norm(x: Array, gamma: Array, beta: Array, axes: Keys | None = None, eps: float = 1e-5) -> Op:
    """`x` with the mean and variance of each sample taken out, times `gamma` plus `beta`.

    Args:
        gamma, beta: Of the features over which the statistics are taken; or numbers.
        axes: The axes of the statistics; by default all features.
        eps: At least 0.

    Raises:
        AxesError: if `gamma` or `beta` has other features.
        UnmatchedAxesError: if one has N or R, over which the statistics are not taken.
        AttributeValueError: for a negative `eps`.
        DTypeError: if one is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.simple.placeholder((16, ng.simple.R(5), ng.simple.N))
    >>> ng.simple.layer_norm(x, ng.simple.variable((16,)), ng.simple.variable((16,))).type
    float32[16, recurrent:5, sample:N]
    """
    whole = as_term(x)
    return apply("layer_norm", whole, gamma, beta, axes=reduced("layer_norm", whole.type, axes, None), eps=eps)


def batch_statistics(x: Array, axes: Keys) -> tuple[Op, Op]:
    """The mean and the variance of `x` over some axes, as `batch_norm` takes them out.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`.

    >>> import ngraph_rewrite as ng
    >>> average, spread = ng.simple.batch_statistics(ng.simple.placeholder((3, 8, ng.simple.N)), [1, ng.simple.N])
    >>> average.type, spread.type
    (float32[3], float32[3])
    """
    return average_of(x, axes), variance_of(x, axes)


def _others(x: Op, *scales: Array) -> tuple[Key, ...]:
    """All axes of `x` but as many first features as the scale or shift has, and N or R that either has."""
    kept = {k for t in scales for k in keys(as_term(t).axes)}
    return tuple(k for k in keys(x.axes) if k not in kept)
