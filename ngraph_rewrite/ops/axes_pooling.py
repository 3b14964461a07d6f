# SPDX-License-Identifier: Apache-2.0
"""Axes op of pooling: windows slide over named axes, the channels among them if wished."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.ops.alignment import averaging, axis_of
from ngraph_rewrite.ops.checks import flag, known_shape, named, numeric, several
from ngraph_rewrite.ops.sliding import fitting, in_order, pooling_kind, pooling_windows, slides
from ngraph_rewrite.ops.window_functions import pooled
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _attributes(x: TensorType, *, over: Any, kind: Any, counted: Any, **windows: Any) -> Attributes:
    places = [x.axes.index(axis_of(x.axes, a)) for a in several(over, "over")]
    if len(set(places)) != len(places):
        raise AttributeValueError(f"the axes {tuple(over)} name one axis twice")
    kind, names = pooling_kind(kind), tuple(x.axes.names[k] for k in places)
    ordered = in_order(places, {"over": names, **pooling_windows(len(places), **windows)})
    return {**ordered, "kind": kind, "counted": flag(counted, "counted")}


def _pooling(term: Op, x: Any) -> Any:
    over, sizes, strides, before, after, dilations, kind, counted = term.attrs
    places = [term.args[0].axes.index(name) for name in over]
    every = slides(strides, before, after, (0,) * len(over), dilations)
    return pooled(
        x.astype(term.dtype), places, sizes, every, kind, counted, np.empty(known_shape(term.axes), term.dtype)
    )


@op("axes.pooling", meaning=_pooling, normalise=_attributes)
def pooling(
    x: TensorType,
    *,
    over: tuple[str, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    after: tuple[Extent, ...],
    dilations: tuple[int, ...],
    kind: str,
    counted: bool,
) -> TensorType:
    """The maximum, minimum, sum or average (`kind`) of each window that slides over the axes `over` of the padded `x`.

    Padding is never greatest or least. In an average, float64 of integers, it counts as zeros if `counted`.
    """
    named(x)
    numeric(x)
    axes = list(x.axes)
    for name, size, slide in zip(over, sizes, slides(strides, before, after, (0,) * len(over), dilations), strict=True):
        k = x.axes.index(name)
        length = fitting(axes[k].length, size, slide, name)
        if slide.stride != 1 or length != axes[k].length:  # else it stays, whatever its length is
            axes[k] = axes[k].with_length(length)
    return TensorType(averaging(x.dtype) if kind == "avg" else x.dtype, axes)
