# SPDX-License-Identifier: Apache-2.0
"""Reductions over named axes, and the product that contracts every shared name.

A reduction is told the axes to reduce (`reduction_axes`) or those to keep (`out_axes`, which also sets the order of the
result). Told neither, it reduces the axes of one sample but not those of time: N and REC stay.
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.frontend.building import AxesOf, Operand, apply, checked, ordered, reduced_axes
from ngraph_rewrite.frontend.result_dtypes import with_dtype
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import some_of
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import as_operands, combine


def reduction(
    name: str,
    x: Operand,
    reduction_axes: AxesOf | None,
    out_axes: AxesOf | None,
    whole: bool = False,
    dtype: Any = None,
    **more: Any,
) -> Op:
    """A reduction; by default over all axes of one sample (`whole`), or over those without time."""
    term, call = as_op(x), f"axes.{name}"
    default = term.axes.sample_axes() if whole else term.axes.feature_axes()
    axes = reduced_axes(name, term.axes, reduction_axes, out_axes, default)
    return ordered(with_dtype(call, term, dtype, lambda t: apply(call, t, axes=axes, **more)), out_axes)


def sum(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The sum; small integers and bool are widened to 64 bits.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: What to sum in: elements are cast to it first.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.sum(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("sum", x, reduction_axes, out_axes, dtype=dtype)


def prod(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The product; small integers and bool are widened to 64 bits.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: What to multiply in: elements are cast to it first.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.prod(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("prod", x, reduction_axes, out_axes, dtype=dtype)


def max(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The greatest element; NaN if any is.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: That of the result.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        AxesError: if there is nothing to reduce: a length is 0.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.max(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("max", x, reduction_axes, out_axes, dtype=dtype)


def min(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The least element; NaN if any is.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: That of the result.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        AxesError: if there is nothing to reduce: a length is 0.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.min(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("min", x, reduction_axes, out_axes, dtype=dtype)


def argmax(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The row-major index, int64, of the first greatest element over the reduced axes in the order of `x`.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: That of the result, an integer one; int64 by default.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        AxesError: if there is nothing to reduce: a length is 0.
        DTypeError: if the dtype is no integer one.

    >>> import ngraph_rewrite as ng
    >>> ng.argmax(ng.variable({"H": 3, "N": 4})).type
    int64[N:4]
    """
    return reduction("argmax", x, reduction_axes, out_axes, dtype=dtype)


def argmin(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The row-major index, int64, of the first least element over the reduced axes in the order of `x`.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: That of the result, an integer one; int64 by default.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        AxesError: if there is nothing to reduce: a length is 0.
        DTypeError: if the dtype is no integer one.

    >>> import ngraph_rewrite as ng
    >>> ng.argmin(ng.variable({"H": 3, "N": 4})).type
    int64[N:4]
    """
    return reduction("argmin", x, reduction_axes, out_axes, dtype=dtype)


def any(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None) -> Op:
    """Whether any element is not zero.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.any(ng.variable({"H": 3, "N": 4})).type
    bool[N:4]
    """
    return reduction("any", x, reduction_axes, out_axes)


def all(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None) -> Op:
    """Whether no element is zero.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.all(ng.variable({"H": 3, "N": 4})).type
    bool[N:4]
    """
    return reduction("all", x, reduction_axes, out_axes)


def mean(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None, dtype: Any = None) -> Op:
    """The mean; integers give float64.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.
        dtype: What to compute in: elements are cast to it first.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.mean(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("mean", x, reduction_axes, out_axes, dtype=dtype)


def variance(x: Operand, reduction_axes: AxesOf | None = None, out_axes: AxesOf | None = None) -> Op:
    """The population variance, the mean square of the distance to the mean; integers give float64.

    Args:
        x: A term with named axes.
        reduction_axes: The axes to reduce, or their names; by default, if `out_axes` is not given either, all but
            the sample axis N and the recurrent axis REC, which survive.
        out_axes: The axes to keep, in the order of the result; ``[]`` keeps none, so that all are reduced.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.

    >>> import ngraph_rewrite as ng
    >>> ng.variance(ng.variable({"H": 3, "N": 4})).type
    float32[N:4]
    """
    return reduction("variance", x, reduction_axes, out_axes)


def dot(x: Operand, y: Operand, reduction_axes: AxesOf | None = None) -> Op:
    """The product of `x` and `y`, summed over all axes whose names both have, or over some of them.

    Args:
        x: A term of any family.
        y: Another.
        reduction_axes: Of named axes, those to sum over; the others that both have are kept, as a batch of
            products.

    Returns:
        A term with the other axes of `x`, then those of `y`.

    Raises:
        UnmatchedAxesError: if not both have an axis of `reduction_axes`.
        DTypeError: if both are bool.
        IncompatibleAxesError: if a shared axis has two lengths.
        DuplicateAxisNames: if an axis that is not shared would stand twice.

    >>> import ngraph_rewrite as ng
    >>> w, x = ng.variable({"Y": 2, "H": 3}), ng.placeholder({"H": 3, "N": None})
    >>> ng.dot(w, x).type
    float32[Y:2, N:N]
    >>> query, key = ng.placeholder({"B": 5, "T": 3, "D": 4}), ng.placeholder({"B": 5, "S": 3, "D": 4})
    >>> ng.dot(query, key, reduction_axes="D").type
    float32[B:5, T:3, S:3]
    """
    if reduction_axes is None:
        return combine("dot", x, y)
    left, right = as_operands([x, y])
    reduced = checked("dot", some_of, left.axes & right.axes, reduction_axes)
    return apply("axes.batch_dot", left, right, axes=reduced)
