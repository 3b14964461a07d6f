# SPDX-License-Identifier: Apache-2.0
"""Batch norm and layer norm, with derivatives that stay finite where nothing varies, and running statistics."""

from __future__ import annotations

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import AxesOf, Operand, apply
from ngraph_rewrite.frontend.effects import assign, doall
from ngraph_rewrite.frontend.reductions import mean, variance
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import as_operands
from ngraph_rewrite.types.axes import Axes


def standardize(x: Operand, reduction_axes: AxesOf | None = None, eps: float = 1e-5) -> Op:
    """`x` less its mean, over the square root of its variance plus `eps`; 0 where all elements are equal.

    Args:
        reduction_axes: The axes of mean and variance; by default those of one sample, but not time.
        eps: At least 0.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`.
        AttributeValueError: for a negative `eps`.
        DTypeError: if `x` is bool.

    >>> import ngraph_rewrite as ng
    >>> ng.standardize(ng.variable({"H": 3, "N": 4}, name="x"))
    axes.standardize(x, axes=Axes(H:3), eps=9.999999747378752e-06)
    """
    term = as_op(x)
    axes = term.axes.feature_axes() if reduction_axes is None else reduction_axes
    return apply("axes.standardize", term, axes=axes, eps=eps)


def batch_norm(
    x: Operand,
    gamma: Operand,
    beta: Operand,
    reduction_axes: AxesOf | None = None,
    eps: float = 1e-5,
    *,
    mean: Operand | None = None,
    variance: Operand | None = None,
) -> Op:
    """`x` with the mean and variance of a batch taken out, times `gamma` plus `beta`.

    For inference give `mean` and `variance`, which are then used instead. In training, `batch_statistics` with the
    same axes are the very numbers that are taken out: they cost nothing more.

    Args:
        gamma, beta: Some axes of `x` over which the statistics are not taken, such as C; or none.
        reduction_axes: The axes of the statistics; by default all that neither `gamma` nor `beta` has.
        eps: At least 0.

    Raises:
        UnmatchedAxesError: if `gamma` or `beta` has an axis of the statistics, or one that `x` lacks.
        AttributeValueError: for a negative `eps`, or only one of `mean` and `variance`.
        DTypeError: if one is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"C": 3, "H": 8, "N": None})
    >>> gamma, beta = ng.variable({"C": 3}), ng.variable({"C": 3})
    >>> ng.batch_norm(x, gamma, beta).type
    float32[C:3, H:8, N:N]
    """
    terms = _beside(x, gamma, beta)
    if (mean is None) != (variance is None):
        raise AttributeValueError(
            "batch_norm: one of mean and variance is missing", where=user_line(), do="give both, or none in training"
        )
    if mean is not None and variance is not None:
        return apply("axes.batch_norm_inference", *terms, *_beside(x, mean, variance)[1:], eps=eps)
    axes = _others(*terms) if reduction_axes is None else reduction_axes
    return apply("axes.batch_norm", *terms, axes=axes, eps=eps)


def layer_norm(
    x: Operand, gamma: Operand, beta: Operand, reduction_axes: AxesOf | None = None, eps: float = 1e-5
) -> Op:
    """`x` with the mean and variance of each sample taken out, times `gamma` plus `beta`.

    Args:
        gamma, beta: Some of the axes over which the statistics are taken, or none.
        reduction_axes: The axes of the statistics; by default those of one sample, but not time.
        eps: At least 0.

    Raises:
        UnmatchedAxesError: if `gamma` or `beta` has an axis over which the statistics are not taken.
        AttributeValueError: for a negative `eps`.
        DTypeError: if one is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"F": 16, "REC": 5, "N": None})
    >>> ng.layer_norm(x, ng.variable({"F": 16}), ng.variable({"F": 16})).type
    float32[F:16, REC:5, N:N]
    """
    terms = _beside(x, gamma, beta)
    axes = terms[0].axes.feature_axes() if reduction_axes is None else reduction_axes
    return apply("axes.layer_norm", *terms, axes=axes, eps=eps)


def batch_statistics(x: Operand, reduction_axes: AxesOf) -> tuple[Op, Op]:
    """The mean and the variance of `x` over some axes, as `batch_norm` takes them out.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`.

    >>> import ngraph_rewrite as ng
    >>> average, spread = ng.batch_statistics(ng.placeholder({"C": 3, "H": 8, "N": None}), ["H", "N"])
    >>> average.type, spread.type
    (float32[C:3], float32[C:3])
    """
    return mean(x, reduction_axes), variance(x, reduction_axes)


def update_statistics(running_mean: Op, running_variance: Op, average: Op, spread: Op, rate: float = 0.1) -> Op:
    """Move running statistics towards those of a batch, by `rate` of the distance: an effect, for `sequential`.

    Args:
        running_mean, running_variance: Variables, or persistent tensors, that `batch_norm` takes in inference.
        average, spread: What `batch_statistics` gives.
        rate: From 0, which changes nothing, to 1, which keeps the last batch only.

    Raises:
        AttributeValueError: for a rate outside of 0 to 1.
        SequencingError: if the running statistics are no storage.

    >>> import ngraph_rewrite as ng
    >>> kept = [ng.persistent_tensor({"C": 3}, initial_value=v) for v in (0.0, 1.0)]
    >>> x = ng.placeholder({"C": 3, "N": None})
    >>> step = ng.update_statistics(*kept, *ng.batch_statistics(x, "N"))
    """
    if not 0 <= rate <= 1:
        raise AttributeValueError(f"update_statistics: the rate is {rate!r}", where=user_line(), do="give 0 to 1")
    pairs = ((running_mean, average), (running_variance, spread))
    return doall([assign(kept, kept + (new - kept) * rate) for kept, new in pairs])


def _others(x: Op, gamma: Op, beta: Op) -> Axes:
    """The axes of `x` that neither of the other two has."""
    return Axes(a for a in x.axes if a not in gamma.axes and a not in beta.axes)


def _beside(x: Operand, *others: Operand) -> list[Op]:
    """All as terms: numbers of Python take the dtype of `x`, if that is a float."""
    term = as_op(x)
    numbers = [type(t) in (int, float) for t in others]
    pairs = zip(others, numbers, strict=True)
    return [term, *(as_operands((term, t), "axes", "constant")[1] if number else as_op(t) for t, number in pairs)]
