# SPDX-License-Identifier: Apache-2.0
"""A fused op of windows, which several targets execute: the derivative of their sums and averages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, DTypeError
from ngraph_rewrite.ops.checks import extents, flag, tensor
from ngraph_rewrite.ops.semi_windows import folded
from ngraph_rewrite.ops.sliding import distinct, each, reach, steps
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _attributes(
    d: TensorType,
    *,
    axes: Any,
    lengths: Any,
    sizes: Any,
    strides: Any,
    before: Any,
    dilations: Any,
    kind: Any,
    counted: Any,
) -> Attributes:
    own = distinct(axes, d.rank)
    count = len(own)
    if not own or count > 3 or own != tuple(range(own[0], own[0] + count)) or (count > 2 and own[-1] < d.rank - 1):
        raise AttributeValueError(f"axes {own}", do="give one or two beside each other, or the last three")
    if not isinstance(kind, str) or kind not in ("sum", "avg"):
        raise AttributeValueError(f"the kind of windows is {kind!r}", do="use sum or avg")
    return {
        "axes": own,
        "lengths": extents(each(lengths, "lengths", count)),
        "sizes": extents(each(sizes, "sizes", count), "a window's length"),
        "strides": steps(strides, "strides", count),
        "before": extents(each(before, "before", count), "padding"),
        "dilations": steps(dilations, "dilations", count),
        "kind": kind,
        "counted": flag(counted, "counted") and kind == "avg",
    }


def _spread(term: Op, d: Any) -> Any:
    axes, lengths, sizes, strides, before, dilations, kind, counted = term.attrs
    if kind == "avg":
        number = np.prod(sizes) if counted else _numbers(term, d.shape)
        d = d / np.asarray(number, d.dtype)
    shape, inside = list(d.shape), [slice(None)] * d.ndim
    for k, n, size, stride, b, dilation in zip(axes, lengths, sizes, strides, before, dilations, strict=True):
        shape[k] = max(b + n, (d.shape[k] - 1) * stride + reach(size, dilation))
        inside[k] = slice(b, b + n)
    windows = np.broadcast_to(d.reshape(d.shape + (1,) * len(axes)), (*d.shape, *sizes))
    return folded(windows, tuple(shape), axes, strides, dilations)[tuple(inside)]


def _numbers(term: Op, shape: Sequence[int]) -> Any:
    """How many elements each window has of what is not padding, at least 1, along all axes."""
    seen = []
    for k, n, size, stride, before, dilation in zip(*term.attrs[:6], strict=True):
        at = np.arange(shape[k])[:, None] * stride + np.arange(size) * dilation - before
        seen.append(((at >= 0) & (at < n)).sum(1).reshape([-1 if k == j else 1 for j in range(len(shape))]))
    return np.maximum(reduce(np.multiply, seen, np.ones((1,) * len(shape), int)), 1)


@op("fused.spread", meaning=_spread, normalise=_attributes, below="semi.fold")
def spread(
    d: TensorType,
    *,
    axes: tuple[int, ...],
    lengths: tuple[Extent, ...],
    sizes: tuple[Extent, ...],
    strides: tuple[int, ...],
    before: tuple[Extent, ...],
    dilations: tuple[int, ...],
    kind: str,
    counted: bool,
) -> TensorType:
    """What windows have, `d`, given to each of their elements, and added up where windows overlap.

    `axes`, one or two beside each other or the last three, get these `lengths`; the first window begins `before` the
    first element. Of a `kind` "avg" each element gets an equal part: there are as many as a window has elements if
    `counted`, else as many of these as are no padding. Of "sum" each gets all.
    """
    if d.dtype.name not in ("float32", "float64"):
        raise DTypeError(f"expected a tensor of float32 or float64, got {d!r}")
    shape = list(d.shape)
    for axis, length in zip(axes, lengths, strict=True):
        shape[axis] = length
    return tensor(d.dtype, shape)
