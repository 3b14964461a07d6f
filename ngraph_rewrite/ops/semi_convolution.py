# SPDX-License-Identifier: Apache-2.0
"""Semi ops that combine what sliding windows see: convolution, closed under derivatives, and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.checks import (
    as_int,
    extents,
    flag,
    float_only,
    known_shape,
    numeric,
    positional,
    same_dtype,
    tensor,
)
from ngraph_rewrite.ops.sliding import (
    distinct,
    each,
    in_order,
    paddings,
    pooling_kind,
    pooling_windows,
    slid,
    slides,
    steps,
)
from ngraph_rewrite.ops.window_functions import correlated, pooled
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def convolution_attributes(
    x: TensorType,
    w: TensorType,
    *,
    strides: Any,
    before: Any,
    after: Any,
    interior: Any,
    dilations: Any,
    groups: Any,
) -> Attributes:
    """The attributes of a convolution along the axes that `x` has behind images and channels."""
    count = max(x.rank - 2, 0)
    if as_int(groups, "groups") < 1:
        raise AttributeValueError(f"groups is {groups}", do="give at least 1")
    return {
        "strides": steps(strides, "strides", count),
        "before": paddings(before, "before", count),
        "after": paddings(after, "after", count),
        "interior": tuple(as_int(v, "interior") for v in extents(each(interior, "interior", count), "interior")),
        "dilations": steps(dilations, "dilations", count),
        "groups": as_int(groups, "groups"),
    }


def convolution_of_values(term: Op, x: Any, w: Any) -> Any:
    """The meaning of a convolution."""
    *each_axis, groups = term.attrs
    with np.errstate(all="ignore"):
        return correlated(x, w, slides(*each_axis), groups, known_shape(term.axes))


@op("semi.convolution", meaning=convolution_of_values, normalise=convolution_attributes)
def convolution(
    x: TensorType,
    w: TensorType,
    *,
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    interior: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
) -> TensorType:
    """The cross-correlation of `x` (N, C, spatial...) and `w` (K, C/groups, window...): (N, K, spatial...).

    `x` is padded with zeros before, after and (`interior` times) between its elements; negative paddings crop.
    Windows are `strides` apart and their elements `dilations`. Channels are split into `groups`, each of which
    sees its own part of `w`. Every convolution of a framework is one of these, and so are both derivatives.
    """
    positional(x, w)
    numeric(x, w)
    same_dtype(x, w)
    if x.rank < 2 or w.rank != x.rank:
        raise AxesError(f"expected (N, C, spatial...) and (K, C, window...), got {x!r} and {w!r}")
    if x.shape[1] != w.shape[1] * groups:
        raise AxesError(f"{x!r} has {x.shape[1]!r} channels, {w!r} in {groups} groups takes {w.shape[1] * groups!r}")
    if w.shape[0] // groups * groups != w.shape[0]:
        raise AxesError(f"the {w.shape[0]!r} filters of {w!r} cannot be split into {groups} groups")
    every = zip(x.shape[2:], w.shape[2:], slides(strides, before, after, interior, dilations), strict=True)
    return tensor(x.dtype, (x.shape[0], w.shape[0], *(slid(n, size, s) for n, size, s in every)))


# -- pooling ----------------------------------------------------------------------------------------


def pooling_attributes(x: TensorType, *, axes: Any, kind: Any, counted: Any, **windows: Any) -> Attributes:
    """The attributes of pooling along some axes, which are put in order."""
    own, kind = distinct(axes, x.rank), pooling_kind(kind)
    ordered = in_order(own, {"axes": own, **pooling_windows(len(own), **windows)})
    return {**ordered, "kind": kind, "counted": flag(counted, "counted")}


def pooling_of_values(term: Op, x: Any) -> Any:
    """What pooling means."""
    axes, sizes, strides, before, after, dilations, kind, counted = term.attrs
    every = slides(strides, before, after, (0,) * len(axes), dilations)
    return pooled(x, axes, sizes, every, kind, counted, np.empty(known_shape(term.axes), term.dtype))


@op("semi.pooling", meaning=pooling_of_values, normalise=pooling_attributes)
def pooling(
    x: TensorType,
    *,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    dilations: tuple[int, ...],
    kind: str,
    counted: bool,
) -> TensorType:
    """The maximum, minimum, sum or average (`kind`) of each window that slides over `axes` of the padded `x`.

    Padding is never greatest or least. In an average it counts as zeros if `counted`, else not at all; the
    average of nothing but such padding is 0, and the maximum (minimum) the least (greatest) number.
    """
    positional(x)
    (float_only if kind == "avg" else numeric)(x)
    shape = list(x.shape)
    for axis, size, slide in zip(axes, sizes, slides(strides, before, after, (0,) * len(axes), dilations), strict=True):
        shape[axis] = slid(shape[axis], size, slide)
    return tensor(x.dtype, shape)
