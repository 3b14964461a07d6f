# SPDX-License-Identifier: Apache-2.0
"""Semi ops of sliding windows: a view of all windows, and its adjoint, which adds windows up where they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops.checks import extents, known_shape, numeric, positional, several, tensor
from ngraph_rewrite.ops.sliding import distinct, each, places, reach, steps
from ngraph_rewrite.ops.window_functions import all_windows
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _windows_attributes(x: TensorType, *, axes: Any, sizes: Any, strides: Any, dilations: Any) -> Attributes:
    own = distinct(axes, x.rank)
    return {
        "axes": own,
        "sizes": extents(each(sizes, "sizes", len(own)), "a window's length"),
        "strides": steps(strides, "strides", len(own)),
        "dilations": steps(dilations, "dilations", len(own)),
    }


def _windows(term: Op, x: Any) -> Any:
    axes, sizes, strides, dilations = term.attrs
    shape = known_shape(term.axes)
    if 0 in shape or not axes:
        return np.zeros(shape, x.dtype) if axes else x
    return all_windows(x, axes, sizes, strides, dilations)


@op("semi.windows", "view", meaning=_windows, normalise=_windows_attributes)
def windows(
    x: TensorType,
    *,
    axes: tuple[int, ...],
    sizes: tuple[Extent, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> TensorType:
    """All windows of `x`: along each of `axes` their number, and at the end an axis of each window's elements.

    A window has `sizes` elements, `dilations` apart; the next one begins `strides` further on.
    """
    positional(x)
    shape = list(x.shape)
    for axis, size, stride, dilation in zip(axes, sizes, strides, dilations, strict=True):
        shape[axis] = places(shape[axis], size, stride, dilation)
    return tensor(x.dtype, (*shape, *sizes))


def _fold_attributes(x: TensorType, *, axes: Any, lengths: Any, strides: Any, dilations: Any) -> Attributes:
    count = len(several(axes, "axes"))
    if count > x.rank // 2:
        raise AttributeValueError(f"axes {axes}", do=f"{x!r} has not so many axes of windows at its end")
    return {
        "axes": distinct(axes, x.rank - count),
        "lengths": extents(each(lengths, "lengths", count)),
        "strides": steps(strides, "strides", count),
        "dilations": steps(dilations, "dilations", count),
    }


def _fold(term: Op, x: Any) -> Any:
    axes, _, strides, dilations = term.attrs
    return folded(x, known_shape(term.axes), axes, strides, dilations)


def folded(
    x: Any, shape: tuple[int, ...], axes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Any:
    """Windows added up in an array of a shape."""
    result = np.zeros(shape, x.dtype)
    with np.errstate(all="ignore"):
        for offset in np.ndindex(x.shape[result.ndim :]):
            index: list[Any] = [slice(None)] * result.ndim
            for axis, k, stride, dilation in zip(axes, offset, strides, dilations, strict=True):
                start = k * dilation
                index[axis] = slice(start, start + reach(x.shape[axis], stride), stride)
            result[tuple(index)] += x[(..., *offset)]
    return result


@op("semi.fold", meaning=_fold, normalise=_fold_attributes)
def fold(
    x: TensorType,
    *,
    axes: tuple[int, ...],
    lengths: tuple[Extent, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
) -> TensorType:
    """The windows `x` put back where `windows` took them and added up; `axes` get these `lengths` again."""
    positional(x)
    numeric(x)
    shape = list(x.shape[: x.rank - len(axes)])
    sizes = x.shape[x.rank - len(axes) :]
    for axis, length, size, stride, dilation in zip(axes, lengths, sizes, strides, dilations, strict=True):
        number = places(length, size, stride, dilation)
        if shape[axis] != number:
            raise AxesError(f"axis {axis} of {x!r} is {shape[axis]!r} windows, and {length!r} elements have {number!r}")
        shape[axis] = length
    return tensor(x.dtype, shape)
