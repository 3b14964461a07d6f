# SPDX-License-Identifier: Apache-2.0
"""Simple ops of sliding windows: pooling, a view of all windows, and its adjoint, which adds windows up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import extents, flag, known_shape, numeric, several
from ngraph_rewrite.ops.simple_marks import features, keys, placed, places, simple
from ngraph_rewrite.ops.sliding import (
    Slide,
    distinct,
    each,
    fitting,
    in_order,
    pooling_kind,
    pooling_windows,
    reach,
    slides,
    steps,
)
from ngraph_rewrite.ops.window_functions import all_windows, pooled
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Shape = tuple[Extent, ...]
Steps = tuple[int, ...]


# -- pooling ----------------------------------------------------------------------------------------


def _pooling_attributes(x: TensorType, *, over: Any, kind: Any, counted: Any, **windows: Any) -> Attributes:
    simple(x)
    own, kind = distinct(over, len(features(x.axes))), pooling_kind(kind)
    ordered = in_order(own, {"over": own, **pooling_windows(len(own), **windows)})
    return {**ordered, "kind": kind, "counted": flag(counted, "counted")}


def _pooling(term: Op, x: Any) -> Any:
    over, sizes, strides, before, after, dilations, kind, counted = term.attrs
    every = slides(strides, before, after, (0,) * len(over), dilations)
    axes = places(term.axes, over)
    return pooled(x.astype(term.dtype), axes, sizes, every, kind, counted, np.empty(known_shape(term.axes), term.dtype))


@op("simple.pooling", meaning=_pooling, normalise=_pooling_attributes)
def pooling(
    x: TensorType,
    *,
    over: Steps,
    sizes: Steps,
    strides: Steps,
    before: Shape,
    after: Shape,
    dilations: Steps,
    kind: str,
    counted: bool,
) -> TensorType:
    """The maximum, minimum, sum or average (`kind`) of each window that slides over the features `over` of `x`.

    Padding is never greatest or least. In an average, float64 of integers, it counts as zeros if `counted`.
    """
    numeric(x)
    own = list(features(x.axes))
    for k, size, slide in zip(over, sizes, slides(strides, before, after, (0,) * len(over), dilations), strict=True):
        own[k] = fitting(own[k], size, slide, f"feature {k}")
    return TensorType(averaging(x.dtype) if kind == "avg" else x.dtype, placed(own, x.axes))


# -- windows and what undoes them ---------------------------------------------------------------------


def _windows_attributes(x: TensorType, *, over: Any, sizes: Any, strides: Any, dilations: Any) -> Attributes:
    simple(x)
    own = distinct(over, len(features(x.axes)))
    by_axis: dict[str, tuple[Any, ...]] = {
        "over": own,
        "sizes": extents(each(sizes, "sizes", len(own)), "a window's length"),
        "strides": steps(strides, "strides", len(own)),
        "dilations": steps(dilations, "dilations", len(own)),
    }
    return dict(in_order(own, by_axis))


def window_order(axes: Axes, have: Axes, order: Sequence[int]) -> tuple[int, ...]:
    """The positions in `axes`, which have features more, of the axes of `have` in an order, then those more.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> window_order(marked((6, 2, N)), marked((7, N)), (1, 0))
    (2, 0, 1)
    """
    own, less = keys(axes), keys(have)
    first = [own.index(less[i]) for i in order]
    return (*first, *(i for i in range(len(own)) if i not in first))


def _windows(term: Op, x: Any) -> Any:
    over, sizes, strides, dilations = term.attrs
    have, shape = term.args[0].axes, known_shape(term.axes)
    if not over or 0 in shape:
        return x if not over else np.zeros(shape, x.dtype)
    seen = all_windows(x, [keys(have).index(k) for k in over], sizes, strides, dilations)
    return np.transpose(seen, np.argsort(window_order(term.axes, have, range(len(have)))))


@op("simple.windows", "view", meaning=_windows, normalise=_windows_attributes)
def windows(x: TensorType, *, over: Steps, sizes: Shape, strides: Steps, dilations: Steps) -> TensorType:
    """All windows of `x` over the features `over`: in their place numbers of windows, and elements as last features.

    A window has `sizes` elements, `dilations` apart; the next one begins `strides` further on.
    """
    own = list(features(x.axes))
    for k, size, stride, dilation in zip(over, sizes, strides, dilations, strict=True):
        own[k] = fitting(own[k], size, Slide(stride, 0, 0, 0, dilation), f"feature {k}")
    return x.with_axes(placed((*own, *sizes), x.axes))


def _fold_attributes(x: TensorType, *, over: Any, lengths: Any, strides: Any, dilations: Any) -> Attributes:
    simple(x)
    count, rank = len(several(over, "over")), len(features(x.axes))
    if count > rank // 2:
        raise AttributeValueError(f"over {tuple(over)}", do=f"{x!r} has not so many features of windows at its end")
    own = distinct(over, rank - count)
    if list(own) != sorted(own):
        raise AttributeValueError(f"over {own}", do="name the features in order, as those of windows are")
    return {
        "over": own,
        "lengths": extents(each(lengths, "lengths", count)),
        "strides": steps(strides, "strides", count),
        "dilations": steps(dilations, "dilations", count),
    }


def _fold(term: Op, x: Any) -> Any:
    over, _, strides, dilations = term.attrs
    have, result = term.args[0].axes, np.zeros(known_shape(term.axes), term.dtype)
    moved = np.transpose(x, window_order(have, term.axes, range(result.ndim)))
    spots = [keys(term.axes).index(k) for k in over]
    with np.errstate(all="ignore"):
        for offset in np.ndindex(moved.shape[result.ndim :]):
            index: list[Any] = [slice(None)] * result.ndim
            for axis, k, stride, dilation in zip(spots, offset, strides, dilations, strict=True):
                index[axis] = slice(k * dilation, k * dilation + reach(moved.shape[axis], stride), stride)
            result[tuple(index)] += moved[(..., *offset)]
    return result


@op("simple.fold", meaning=_fold, normalise=_fold_attributes)
def fold(x: TensorType, *, over: Steps, lengths: Shape, strides: Steps, dilations: Steps) -> TensorType:
    """The windows `x` put back where `windows` took them and added up; the features `over` get these `lengths`."""
    numeric(x)
    shape = features(x.axes)
    own, sizes = list(shape[: len(shape) - len(over)]), shape[len(shape) - len(over) :]
    for k, length, size, stride, dilation in zip(over, lengths, sizes, strides, dilations, strict=True):
        number = fitting(length, size, Slide(stride, 0, 0, 0, dilation), f"feature {k}")
        if own[k] != number:
            raise AxesError(f"feature {k} of {x!r} is {own[k]!r} windows, and {length!r} elements have {number!r}")
        own[k] = length
    return x.with_axes(placed(own, x.axes))
