# SPDX-License-Identifier: Apache-2.0
"""Functions of neural networks: softmax, log-sum-exp, the cross entropies, and random draws."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.frontend.building import AxesOf, Operand, apply, checked, ordered, reduced_axes
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import combine as combine_axes
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import combine
from ngraph_rewrite.types.axes import Axes, AxesLike
from ngraph_rewrite.types.dtypes import FLOAT32, is_float


def relu(x: Operand) -> Op:
    """The greater of `x` and 0; NaN stays NaN. `x` may be of any family.

    Raises:
        DTypeError: if `x` is bool.

    >>> import ngraph_rewrite as ng
    >>> ng.relu(ng.variable({"H": 3}, name="x"))
    axes.relu(x)
    """
    return combine("relu", x)


def safelog(x: Operand, limit: float = -50.0) -> Op:
    """``maximum(log(x + exp(limit)), limit)``: a logarithm that stays above `limit`.

    >>> import ngraph_rewrite as ng
    >>> ng.safelog(ng.variable({"H": 3}, name="x"))
    axes.safelog(x, limit=-50.0)
    """
    return apply("axes.safelog", as_op(x), limit=limit)


def softmax(x: Operand, normalization_axes: AxesOf | None = None) -> Op:
    """exp(`x`) divided by its sum, without overflow.

    Args:
        normalization_axes: The axes to sum over; by default those of one sample, but not time.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.softmax(ng.variable({"K": 10, "N": 4}, name="x"))
    axes.softmax(x, axes=Axes(K:10))
    """
    term = as_op(x)
    axes = term.axes.feature_axes() if normalization_axes is None else normalization_axes
    return apply("axes.softmax", term, axes=axes)


def logsumexp(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None) -> Op:
    """log(sum(exp(`x`))), without overflow; -inf for no elements. Axes are chosen as in `sum`.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.logsumexp(ng.variable({"K": 10, "N": 4})).type
    float32[N:4]
    """
    term = as_op(x)
    axes = reduced_axes("logsumexp", term.axes, reduction_axes, out_axes, term.axes.feature_axes())
    return ordered(apply("axes.logsumexp", term, axes=axes), out_axes)


def cross_entropy_multi(y: Operand, t: Operand, usebits: bool = False, out_axes: AxesOf | None = None) -> Op:
    """Minus the sum of ``t * log(y)``, with 0 log 0 = 0: how badly the probabilities `y` predict the classes `t`.

    The cross entropy of a softmax is recognized: it and its derivative are exact however certain the softmax is.

    Args:
        y: Probabilities.
        t: The target's probabilities, such as `one_hot` makes; its axes contain those of `y` or the other way round.
        usebits: Measure in bits instead of nats.
        out_axes: The axes to keep; by default N and REC.

    Raises:
        UnmatchedAxesError: if neither's axes contain the other's.

    >>> import ngraph_rewrite as ng
    >>> y, t = ng.variable({"K": 10, "N": 4}), ng.placeholder({"K": 10, "N": 4})
    >>> ng.cross_entropy_multi(ng.softmax(y), t).type
    float32[N:4]
    """
    return _cross_entropy("cross_entropy_multi", y, t, usebits, out_axes)


def cross_entropy_binary(y: Operand, t: Operand, usebits: bool = False, out_axes: AxesOf | None = None) -> Op:
    """Minus the sum of ``t * log(y) + (1 - t) * log(1 - y)``, with 0 log 0 = 0. That of a sigmoid is recognized.

    Arguments and errors are those of `cross_entropy_multi`.

    >>> import ngraph_rewrite as ng
    >>> y, t = ng.variable({"K": 10, "N": 4}), ng.placeholder({"K": 10, "N": 4})
    >>> ng.cross_entropy_binary(ng.sigmoid(y), t).type
    float32[N:4]
    """
    return _cross_entropy("cross_entropy_binary", y, t, usebits, out_axes)


def uniform(x: Op | AxesLike, low: float = 0.0, high: float = 1.0, dtype: Any = None) -> Op:
    """Independent draws from [low, high), fresh in every call of a computation, the same for one seed.

    Args:
        x: The axes of the result, or a term whose axes (and float dtype) it takes; its value is not used.
        dtype: A float dtype; by default that of `x`, or float32.

    Raises:
        DTypeError: if the dtype is not a float.

    >>> import ngraph_rewrite as ng
    >>> ng.uniform({"H": 3}, -1.0, 1.0).type
    float32[H:3]
    """
    axes, kind = _like("uniform", x, dtype)
    return apply("axes.uniform", axes=axes, dtype=kind, low=low, high=high, uid=Uid())


def normal(x: Op | AxesLike, loc: float = 0.0, scale: float = 1.0, dtype: Any = None) -> Op:
    """Independent draws from the normal distribution of mean `loc` and standard deviation `scale`.

    Other arguments and errors are those of `uniform`.

    >>> import ngraph_rewrite as ng
    >>> ng.normal(ng.variable({"H": 3}, "float64")).type
    float64[H:3]
    """
    axes, kind = _like("normal", x, dtype)
    return apply("axes.normal", axes=axes, dtype=kind, loc=loc, scale=scale, uid=Uid())


def _cross_entropy(name: str, y: Operand, t: Operand, usebits: bool, out_axes: AxesOf | None) -> Op:
    prediction, target = as_op(y), as_op(t)
    both = checked(name, combine_axes, prediction.axes, target.axes)
    axes = reduced_axes(name, both, None, out_axes, both.feature_axes())
    return ordered(apply(f"axes.{name}", prediction, target, axes=axes, usebits=usebits), out_axes)


def _like(call: str, x: Op | AxesLike, dtype: Any) -> tuple[Axes, Any]:
    if isinstance(x, Op):
        return x.axes, dtype if dtype is not None else x.dtype if is_float(x.dtype) else FLOAT32
    return checked(call, Axes, x), dtype
