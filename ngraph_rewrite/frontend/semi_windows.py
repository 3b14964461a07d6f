# SPDX-License-Identifier: Apache-2.0
"""Functions of the semi family that slide windows: views of them, their sums, convolution and pooling."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.checks import several
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent

# One value for every axis, or one for each.
Each = int | Iterable[Extent]


def _each(value: Any, count: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def windows(x: Operand, axes: Iterable[int], sizes: Each, strides: Each = 1, dilations: Each = 1) -> Op:
    """All windows of `x` over `axes`, as a view: their numbers along these axes, their elements along new last axes.

    Args:
        sizes: The elements of a window along each of `axes`; as the next two, one number serves all.
        strides: How far the next window begins.
        dilations: How far apart the elements of a window are.

    Raises:
        AttributeValueError: for an axis that stands twice, or a stride or dilation below 1.
        OutOfRangeError: for an axis that `x` does not have.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.windows(ng.placeholder(ng.anonymous([2, 7])), [1], 3, strides=2).type
    float32[2, 3, 3]
    """
    over = checked("semi.windows", several, axes, "axes")
    every = (_each(v, len(over)) for v in (sizes, strides, dilations))
    return apply(
        "semi.windows", as_op(x), axes=over, **dict(zip(("sizes", "strides", "dilations"), every, strict=True))
    )


def fold(x: Operand, axes: Iterable[int], lengths: Each, strides: Each = 1, dilations: Each = 1) -> Op:
    """Windows put back where `windows` took them and added up: its adjoint.

    Args:
        axes: Those of the result that windows slid over; the last axes of `x` are the elements of windows.
        lengths: How long they are in the result.

    Raises:
        AxesError: if so many windows do not fit into axes of these lengths.
        AttributeValueError: for an axis that stands twice, or a stride or dilation below 1.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.fold(ng.placeholder(ng.anonymous([2, 3, 3])), [1], 7, strides=2).type
    float32[2, 7]
    """
    over = checked("semi.fold", several, axes, "axes")
    every = (_each(v, len(over)) for v in (lengths, strides, dilations))
    return apply("semi.fold", as_op(x), axes=over, **dict(zip(("lengths", "strides", "dilations"), every, strict=True)))


def convolution(
    x: Operand,
    w: Operand,
    strides: Each = 1,
    before: Each = 0,
    after: Each = 0,
    interior: Each = 0,
    dilations: Each = 1,
    groups: int = 1,
) -> Op:
    """The cross-correlation of `x` (N, C, spatial...) and `w` (K, C/groups, window...): (N, K, spatial...).

    Args:
        strides: How far apart windows are, for each spatial axis; one number serves all, here and below.
        before, after: Zeros at either end of a spatial axis; negative ones crop.
        interior: Zeros between neighbours along a spatial axis, as a transposed convolution has them.
        dilations: How far apart the elements of a window are.
        groups: Into how many parts channels are split, each of which sees its part of `w` only.

    Raises:
        AxesError: if the shapes do not fit.
        DTypeError: if the dtypes differ, or are bool.
        AttributeValueError: for a wrong number of strides and the like, or a stride or dilation below 1.

    >>> import ngraph_rewrite as ng
    >>> x, w = ng.placeholder(ng.anonymous([2, 3, 8, 8])), ng.placeholder(ng.anonymous([4, 3, 3, 3]))
    >>> ng.semi.convolution(x, w, strides=2, before=1, after=1).type
    float32[2, 4, 4, 4]
    """
    image = as_op(x)
    names = ("strides", "before", "after", "interior", "dilations")
    values = (_each(v, image.rank - 2) for v in (strides, before, after, interior, dilations))
    return apply("semi.convolution", image, as_op(w), groups=groups, **dict(zip(names, values, strict=True)))


def pooling(
    x: Operand,
    kind: str,
    axes: Iterable[int],
    sizes: Each,
    strides: Each = 1,
    before: Each = 0,
    after: Each = 0,
    dilations: Each = 1,
    counted: bool = False,
) -> Op:
    """The maximum, minimum, sum or average of each window that slides over `axes`.

    Args:
        kind: "max", "min", "sum" or "avg". Padding is never greatest or least.
        counted: Whether an average counts padding, as zeros.

    Raises:
        AttributeValueError: for another kind, a wrong number of sizes and the like, or one below 1.
        LengthError: for a negative padding.
        DTypeError: for bool, and for an average of integers.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.pooling(ng.placeholder(ng.anonymous([2, 3, 8, 8])), "max", [2, 3], 2, strides=2).type
    float32[2, 3, 4, 4]
    """
    over = checked("semi.pooling", several, axes, "axes")
    names = ("sizes", "strides", "before", "after", "dilations")
    values = (_each(v, len(over)) for v in (sizes, strides, before, after, dilations))
    every: dict[str, Any] = dict(zip(names, values, strict=True))
    return apply("semi.pooling", as_op(x), axes=over, kind=kind, counted=counted, **every)
