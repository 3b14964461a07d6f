# SPDX-License-Identifier: Apache-2.0
"""What windows over arrays show and sum up to, in plain NumPy: the meanings of convolution and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.sliding import Slide, back, reach
from ngraph_rewrite.types.dtypes import DType, is_float
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.lengths import known


def shifted(x: Any, first: int, slides: Sequence[Slide]) -> Any:
    """`x` with zeros before, after and between along its axes from `first` on; negative paddings crop."""
    for axis, (_, before, after, interior, _) in enumerate(slides, first):
        length = max(before + reach(x.shape[axis], interior + 1) + after, 0)  # type: ignore[type-var]
        result = np.zeros((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype)
        at = before + np.arange(x.shape[axis]) * (interior + 1)
        inside = (at >= 0) & (at < length)
        np.moveaxis(result, axis, 0)[at[inside]] = np.moveaxis(x, axis, 0)[inside]
        x = result
    return x


def all_windows(
    x: Any, axes: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> Any:
    """The windows over `axes`, of which there is at least one: their elements are the last axes."""
    reaches = tuple(int(reach(n, d)) for n, d in zip(sizes, dilations, strict=True))  # type: ignore[arg-type]
    every = np.lib.stride_tricks.sliding_window_view(x, reaches, tuple(axes)) if axes else x
    index: list[Any] = [slice(None)] * every.ndim
    for i, (axis, stride, dilation) in enumerate(zip(axes, strides, dilations, strict=True)):
        index[axis], index[x.ndim + i] = slice(None, None, stride), slice(None, None, dilation)
    return every[tuple(index)]


def correlated(x: Any, w: Any, slides: Sequence[Slide], groups: int, shape: tuple[int, ...]) -> Any:
    """The cross-correlation of `x` (N, C, spatial...) and `w` (K, C/groups, window...), of this shape."""
    if 0 in shape or 0 in w.shape:
        return np.zeros(shape, x.dtype)
    rank, k = len(slides), math.prod(w.shape[1:])
    strides, dilations = [s.stride for s in slides], [s.dilation for s in slides]
    every = all_windows(shifted(x, 2, slides), range(2, 2 + rank), w.shape[2:], strides, dilations)
    columns = np.transpose(every, (1, *range(2 + rank, 2 + 2 * rank), 0, *range(2, 2 + rank)))
    rows = (w.shape[0] // groups, k)
    if groups == 1:  # one product of matrices, whose sums have the order that a lowered convolution has
        found = np.matmul(w.reshape(rows), columns.reshape(k, -1))
    else:
        found = np.matmul(w.reshape(groups, *rows), columns.reshape(groups, k, -1))
    return np.moveaxis(found.reshape(shape[1], shape[0], *shape[2:]), 0, 1)


def spread_out(x: Any, w: Any, slides: Sequence[Slide], groups: int, shape: tuple[int, ...]) -> Any:
    """The transposed convolution: what `correlated` with `w` has as its adjoint, for `x` (N, K, spatial...)."""
    turned = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])[(..., *(slice(None, None, -1),) * len(slides))]
    swapped = np.swapaxes(turned, 1, 2).reshape(shape[1], w.shape[0] // groups, *w.shape[2:])
    every = [back(n, size, slide) for n, size, slide in zip(shape[2:], w.shape[2:], slides, strict=True)]
    return correlated(x, swapped, every, groups, shape)


# -- pooling ----------------------------------------------------------------------------------------


def pooled(
    x: Any, axes: Sequence[int], sizes: Sequence[int], slides: Sequence[Slide], kind: str, counted: bool, result: Any
) -> Any:
    """The maximum, minimum, sum or average of what each window sees of `x`, written to `result`, which is returned."""
    count = int(np.prod(sizes)) if counted else None
    for place in np.ndindex(*(result.shape[k] for k in axes)):
        seen: list[Any] = [slice(None)] * x.ndim
        here: list[Any] = [slice(None)] * x.ndim
        for axis, p, size, slide in zip(axes, place, sizes, slides, strict=True):
            here[axis], seen[axis] = p, _window(p, x.shape[axis], size, slide)
        with np.errstate(all="ignore"):
            result[tuple(here)] = _COMBINED[kind](x[tuple(seen)], tuple(axes), count)
    return result


def _window(place: int, length: int, size: int, slide: Slide) -> slice:
    """The part of an axis that a window sees, without the padding."""
    at = place * slide.stride - known(slide.before) + np.arange(size) * slide.dilation
    inside = at[(at >= 0) & (at < length)]
    return slice(inside[0], inside[-1] + 1, slide.dilation) if inside.size else slice(0, 0)


def edge(dtype: DType, sign: int) -> Any:
    """The greatest number of a dtype, or the least one, infinities included.

    >>> edge(np.dtype("int8"), -1), edge(np.dtype("float32"), 1)
    (-128, inf)
    """
    if is_float(dtype):
        return sign * np.inf
    return int(np.iinfo(dtype).max) if sign > 0 else int(np.iinfo(dtype).min)


def _extremum(ufunc: Any, sign: int) -> Any:
    return lambda part, axes, count: ufunc.reduce(part, axis=axes, initial=edge(part.dtype, sign))


def _sum(part: Any, axes: tuple[int, ...], count: int | None) -> Any:
    return functions.total(part, axes)


def _average(part: Any, axes: tuple[int, ...], count: int | None) -> Any:
    wide = wide_dtype(part.dtype)
    number = count if count is not None else max(int(np.prod([part.shape[k] for k in axes])), 1)
    return np.add.reduce(part, axis=axes, dtype=wide) / wide.type(number)


_COMBINED = {"max": _extremum(np.maximum, -1), "min": _extremum(np.minimum, 1), "sum": _sum, "avg": _average}
