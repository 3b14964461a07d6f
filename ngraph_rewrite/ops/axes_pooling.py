# SPDX-License-Identifier: Apache-2.0
"""Axes op of pooling: windows slide over named axes, the channels among them if wished."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.ops.alignment import averaging, axis_of
from ngraph_rewrite.ops.checks import extents, flag, known_shape, named, numeric, several
from ngraph_rewrite.ops.sliding import KINDS, each, fitting, slides, steps
from ngraph_rewrite.ops.window_functions import pooled
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _attributes(
    x: TensorType,
    *,
    over: Any,
    sizes: Any,
    strides: Any,
    before: Any,
    after: Any,
    dilations: Any,
    kind: Any,
    counted: Any,
) -> Attributes:
    places = [x.axes.index(axis_of(x.axes, a)) for a in several(over, "over")]
    count = len(places)
    if len(set(places)) != count:
        raise AttributeValueError(f"the axes {tuple(over)} name one axis twice")
    if not isinstance(kind, str) or kind not in KINDS:
        raise AttributeValueError(f"the kind of pooling is {kind!r}", do=f"use one of {', '.join(KINDS)}")
    by_axis: dict[str, tuple[Any, ...]] = {
        "over": tuple(x.axes.names[k] for k in places),
        "sizes": steps(sizes, "sizes", count),
        "strides": steps(strides, "strides", count),
        "before": extents(each(before, "before", count), "padding"),
        "after": extents(each(after, "after", count), "padding"),
        "dilations": steps(dilations, "dilations", count),
    }
    order = sorted(range(count), key=places.__getitem__)
    ordered = {name: tuple(values[i] for i in order) for name, values in by_axis.items()}
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
