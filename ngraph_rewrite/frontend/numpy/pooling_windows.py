# SPDX-License-Identifier: Apache-2.0
"""Pooling by position: what windows that slide over some axes have of greatest, least, average and sum."""

from __future__ import annotations

from collections.abc import Mapping

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, as_term, each, places, positional
from ngraph_rewrite.frontend.numpy.slides import by_place, columns, slides_of
from ngraph_rewrite.frontend.sliding import PLACE, ByAxis
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.ops.sliding import KINDS, fitting, steps
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def pooling(
    inputs: Array,
    op: str,
    /,
    *,
    size: ByAxis = None,
    stride: ByAxis = None,
    padding: ByAxis = 0,
    dilation: ByAxis = 1,
    axis: Axis = None,
    counted: bool = False,
) -> Op:
    """The greatest, least or average element of each window, or the sum of its elements.

    Padding is never the greatest or least element; of padding alone the greatest is -inf, or the least integer,
    and the average 0. Equal greatest elements share the derivative evenly.

    Args:
        op: "max", "min", "avg" or "sum".
        size: The elements of a window: one number, one for each axis that windows slide over, or numbers by axis,
            which choose the axes too: ``{2: 3, 3: 3}``.
        stride: How far windows are apart, given likewise; by default as far as they are large.
        padding: What is added on either side, or pairs (before, after), likewise.
        dilation: How far the elements of a window are apart, likewise.
        axis: The axes that windows slide over, in the order of sizes and the like; by default those of `size`, the
            last ones if it is a list of numbers, or all but the first two (N, C).
        counted: Whether an average counts padding, as zeros.

    Raises:
        ArgumentError: if there is no size.
        AxesError: if windows are longer than an axis with its padding.
        AttributeValueError: for another `op`, or a size or stride below 1.
        OutOfRangeError: for an axis that is not there.
        LengthError: for a negative padding.
        DTypeError: if `inputs` is bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((None, 16, 32, 32))
    >>> ng.numpy.pooling(x, "max", size=3, stride=2, padding=1).type
    float32[n0, 16, 16, 16]
    >>> ng.numpy.pooling(x, "avg", size={1: 4}).type
    float32[n0, 4, 32, 32]
    """
    if op not in KINDS:
        raise AttributeValueError(f"pooling: op is {op!r}", where=user_line(), do=f"use one of {', '.join(KINDS)}")
    if size is None:
        raise ArgumentError("pooling: windows have no size", where=user_line(), do="say size=2, or by axis {2: 2}")
    x = positional("pooling", as_term(inputs))
    over = _over(x, size, axis)
    sizes = checked("pooling", steps, by_place("pooling", "size", x, size, over, 1), "size", len(over))
    slides = slides_of("pooling", x, over, sizes if stride is None else stride, padding, dilation)
    for k, n, slide in zip(over, sizes, slides, strict=True):
        checked("pooling", fitting, x.shape[k], n, slide, f"{PLACE}{k}")
    order = sorted(range(len(over)), key=over.__getitem__)
    over, sizes = (tuple(given[k] for k in order) for given in (over, sizes))
    strides, before, after, _, dilations = columns([slides[k] for k in order])
    how = {"sizes": sizes, "strides": strides, "before": before, "after": after, "dilations": dilations}
    own = astype(x, averaging(x.dtype)) if op == "avg" and x.dtype.kind in "iu" else x
    return build_term("semi.pooling", own, axes=over, kind=op, counted=counted, **how)


def _over(x: Op, size: ByAxis, axis: Axis) -> tuple[int, ...]:
    """The axes that windows slide over, in the order in which they are given, which is that of strides and the like."""
    if axis is None and isinstance(size, Mapping):
        axis = tuple(size)
    if axis is not None:
        places("pooling", axis, x.rank)
        return tuple(checked("pooling", position, k, x.rank) for k in each(axis))
    if isinstance(size, list | tuple) and len(size) <= x.rank:
        return tuple(range(x.rank - len(size), x.rank))
    return tuple(range(min(2, x.rank), x.rank))
