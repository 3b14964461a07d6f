# SPDX-License-Identifier: Apache-2.0
"""Norms and sizes: reductions that take all axes of a sample, time included, unless told otherwise."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.frontend.building import AxesOf, Operand, apply, reduced_axes
from ngraph_rewrite.frontend.reductions import reduction
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op


def squared_L2(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None) -> Op:
    """The sum of squares. By default over all axes of a sample, time included.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names.
        out_axes: The axes to keep, in the order of the result.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.squared_L2(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("squared_L2", x, reduction_axes, out_axes, whole=True)


def L1_norm(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None) -> Op:
    """The sum of absolute values. By default over all axes of a sample, time included.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names.
        out_axes: The axes to keep, in the order of the result.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.L1_norm(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("L1_norm", x, reduction_axes, out_axes, whole=True)


def L2_norm(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, eps: float = 1e-8) -> Op:
    """The square root of the sum of squares plus `eps`. By default over all axes of a sample, time included.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.L2_norm(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("L2_norm", x, reduction_axes, out_axes, whole=True, eps=eps)


def tensor_size(
    x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None
) -> Op:
    """The number of elements along the reduced axes, a scalar. By default along all axes of a sample.

    Args:
        dtype: The dtype of the result; None is float32.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.tensor_size(ng.variable({"H": 3, "N": 4}), "N", dtype="int64").type
    int64[]
    """
    term = as_op(x)
    axes = reduced_axes("tensor_size", term.axes, reduction_axes, out_axes, term.axes.sample_axes())
    return apply("axes.tensor_size", term, axes=axes, dtype=dtype)


def batch_size(x: Operand, dtype: Any = None) -> Op:
    """The length of the sample axis of `x`, a scalar.

    Args:
        dtype: The dtype of the result; None is float32.

    Raises:
        UnmatchedAxesError: if `x` has no sample axis.

    >>> import ngraph_rewrite as ng
    >>> ng.batch_size(ng.placeholder({"H": 3, "N": None})).type
    float32[]
    """
    return apply("axes.batch_size", as_op(x), dtype=dtype)
