# SPDX-License-Identifier: Apache-2.0
"""The derivative of pooling as targets have it: what belongs to a window is shared by its greatest elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError
from ngraph_rewrite.ops.sliding import Slide, distinct, pooling_windows, slid
from ngraph_rewrite.terms.catalogue import Attributes
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def unpooling_attributes(x: TensorType, d: TensorType, *, axes: Any, kind: Any, **windows: Any) -> Attributes:
    """The attributes of the derivative of pooling of `x` along some axes."""
    own = distinct(axes, x.rank)
    if not isinstance(kind, str) or kind not in ("max", "min"):
        raise AttributeValueError(f"the kind of pooling is {kind!r}", do="use max or min")
    return {"axes": own, **pooling_windows(len(own), **windows), "kind": kind}


def unpooling_of_values(term: Op, x: Any, d: Any) -> Any:
    """The derivative: what belongs to a window is added to the greatest (least) elements of it, in equal shares."""
    axes, sizes, strides, before, after, dilations, kind = term.attrs
    widths = [(0, 0)] * x.ndim
    for k, first, last in zip(axes, before, after, strict=True):
        widths[k] = (first, last)
    x = np.pad(x, widths, constant_values=-np.inf if kind == "max" else np.inf)
    result, places = np.zeros_like(x), list[tuple[Any, ...]]()
    for offset in np.ndindex(*sizes):
        place: list[Any] = [slice(None)] * x.ndim
        for k, first, stride, dilation in zip(axes, offset, strides, dilations, strict=True):
            start = first * dilation
            place[k] = slice(start, start + max(d.shape[k] - 1, 0) * stride + (d.shape[k] > 0), stride)
        places.append(tuple(place))
    with np.errstate(all="ignore"):
        best = reduce(np.maximum if kind == "max" else np.minimum, [x[seen] for seen in places])
        ties = [(x[seen] == best).astype(x.dtype) for seen in places]
        share = d / sum(ties, np.zeros_like(d))
        for seen, tie in zip(places, ties, strict=True):
            result[seen] += share * tie
    return result[tuple(slice(b, n - a) for (b, a), n in zip(widths, x.shape, strict=True))]


def unpooled(
    x: TensorType, d: TensorType, axes: Sequence[int], sizes: Sequence[Extent], every: Sequence[Slide]
) -> TensorType:
    """The type of the derivative: that of `x`, if `d` has an element for each window over it.

    Raises:
        DTypeError, AxesError: if it has not.
    """
    if x.dtype != d.dtype:
        raise DTypeError(f"expected two tensors of one dtype, got {x!r}, {d!r}")
    shape = list(x.shape)
    for axis, size, slide in zip(axes, sizes, every, strict=True):
        shape[axis] = slid(shape[axis], size, slide)
    if d.shape != tuple(shape):
        raise AxesError(f"the windows over {x!r} have the shape {tuple(shape)}, got {d!r}")
    return x
