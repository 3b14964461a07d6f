# SPDX-License-Identifier: Apache-2.0
"""Operators that slide windows over images: convolution and pooling, as ``ng.semi`` has them, channels second."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, known_length, lowest, op, term

Numbers = list[int] | None


class Slide(NamedTuple):
    """How windows go along each spatial axis."""

    sizes: tuple[Any, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]

    @property
    def reach(self) -> tuple[Any, ...]:
        """From the first element of a window to behind the last."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.sizes, self.dilations, strict=True))


def slide(x: Value, sizes: Any, strides: Numbers, dilations: Numbers, pads: Numbers, auto_pad: str) -> Slide:
    """The attributes that convolutions and poolings share."""
    count = len(x.shape) - 2
    ones = (1,) * count
    own = Slide(tuple(sizes), tuple(strides or ones), tuple(dilations or ones), (0,) * count, (0,) * count)
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        total = [_same(*one) for one in zip(x.shape[2:], own.reach, own.strides, strict=True)]
        less, more = tuple(t // 2 for t in total), tuple(t - t // 2 for t in total)
        return (
            own._replace(before=less, after=more) if auto_pad == "SAME_UPPER" else own._replace(before=more, after=less)
        )
    pads = pads if pads and auto_pad != "VALID" else [0] * (2 * count)
    return own._replace(before=tuple(pads[:count]), after=tuple(pads[count:]))


def _same(length: Any, reach: int, stride: int) -> Any:
    """The padding with which there are ceil(length / stride) windows."""
    if stride == 1:
        return reach - 1
    more = (-(-length // stride) - 1) * stride + reach - length
    if reach >= stride:  # then it is never less than 0
        return more
    known_length(length, "an image")
    return max(more, 0)


# -- convolution ------------------------------------------------------------------------------------------


@op("Conv")
def conv(
    x: Value, w: Value, b: Value = None, *, auto_pad: str = "NOTSET", dilations: Numbers = None, group: int = 1,
    kernel_shape: Numbers = None, pads: Numbers = None, strides: Numbers = None,
) -> Value:  # fmt: skip
    s = slide(x, w.shape[2:], strides, dilations, pads, auto_pad)
    y = ng.semi.convolution(term(x), term(w), s.strides, s.before, s.after, 0, s.dilations, group)
    return y if b is None else y + _channels(b, len(x.shape))


@op("ConvTranspose")
def conv_transpose(
    x: Value, w: Value, b: Value = None, *, auto_pad: str = "NOTSET", dilations: Numbers = None, group: int = 1,
    kernel_shape: Numbers = None, output_padding: Numbers = None, output_shape: Numbers = None, pads: Numbers = None,
    strides: Numbers = None,
) -> Value:  # fmt: skip
    """The convolution of what has zeros between its elements with filters that are turned around."""
    s = slide(x, w.shape[2:], strides, dilations, pads, "NOTSET")
    count, more = len(s.sizes), output_padding or [0] * len(s.sizes)
    if output_shape or auto_pad.startswith("SAME"):
        wanted = (output_shape or [n * k for n, k in zip(x.shape[2:], s.strides, strict=True)])[-count:]
        full = [(n - 1) * k + r + m for n, k, r, m in zip(x.shape[2:], s.strides, s.reach, more, strict=True)]
        total = [known_length(f - n, "the padding") for f, n in zip(full, wanted, strict=True)]
        low = [t // 2 if auto_pad == "SAME_UPPER" and t > 0 else -(-t // 2) for t in total]
        s = s._replace(before=tuple(low), after=tuple(t - k for t, k in zip(total, low, strict=True)))
    before = [r - 1 - p for r, p in zip(s.reach, s.before, strict=True)]
    after = [r - 1 - p + m for r, p, m in zip(s.reach, s.after, more, strict=True)]
    c, each, *window = w.shape
    parts = np.flip(np.reshape(w, (group, c // group, each, *window)), tuple(range(3, 3 + count)))
    turned = np.reshape(np.swapaxes(parts, 1, 2), (group * each, c // group, *window))
    interior = [k - 1 for k in s.strides]
    y = ng.semi.convolution(term(x), term(turned), 1, before, after, interior, s.dilations, group)
    return y if b is None else y + _channels(b, len(x.shape))


def _channels(b: Value, rank: int) -> Value:
    """A number for each channel, as it stands beside images."""
    return np.reshape(b, (-1, *(1,) * (rank - 2)))


# -- pooling ----------------------------------------------------------------------------------------------


@op("MaxPool")
def max_pool(
    x: Value, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Numbers = None,
    pads: Numbers = None, storage_order: int = 0, strides: Numbers = None, outputs: int,
) -> Value:  # fmt: skip
    s = _longer(x, slide(x, kernel_shape, strides, dilations, pads, auto_pad), ceil_mode, auto_pad)
    best = _pooled("max", x, s)
    return (best, _places_of_greatest(term(x), s, storage_order)) if outputs > 1 else best


@op("AveragePool")
def average_pool(
    x: Value, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, count_include_pad: int = 0,
    dilations: Numbers = None, pads: Numbers = None, strides: Numbers = None,
) -> Value:  # fmt: skip
    """What ceil_mode adds behind an axis never counts, other padding if it is said so."""
    s = slide(x, kernel_shape, strides, dilations, pads, auto_pad)
    longer = _longer(x, s, ceil_mode, auto_pad)
    if not count_include_pad or longer == s:
        return _pooled("avg", x, longer, bool(count_include_pad))
    padded = np.pad(x, [(0, 0), (0, 0), *zip(s.before, s.after, strict=True)])
    more = tuple(b - a for a, b in zip(s.after, longer.after, strict=True))
    return _pooled("avg", padded, longer._replace(before=(0,) * len(more), after=more))


@op("LpPool")
def lp_pool(
    x: Value, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Numbers = None,
    p: int = 2, pads: Numbers = None, strides: Numbers = None,
) -> Value:  # fmt: skip
    s = _longer(x, slide(x, kernel_shape, strides, dilations, pads, auto_pad), ceil_mode, auto_pad)
    return _pooled("sum", np.abs(x) ** p, s) ** (1 / p)


def _pooled(kind: str, x: Value, s: Slide, counted: bool = False) -> Value:
    axes = range(2, len(x.shape))
    return ng.semi.pooling(term(x), kind, axes, s.sizes, s.strides, s.before, s.after, s.dilations, counted)


def _longer(x: Value, s: Slide, ceil_mode: int, auto_pad: str) -> Slide:
    """With ceil_mode the last window may go beyond the end, if it begins before that; never if padding is VALID."""
    if not ceil_mode or auto_pad == "VALID":
        return s
    every = zip(x.shape[2:], s.reach, s.strides, s.before, s.after, strict=True)
    return s._replace(after=tuple(_beyond(*one) for one in every))


def _beyond(n: Any, reach: int, stride: int, before: int, after: int) -> Any:
    """The padding behind an axis with which the last window that begins before its end is there."""
    count = -(-(n + before + min(after - reach + stride, 0)) // stride)
    more = (count - 1) * stride + reach - n - before
    if after <= reach - stride:  # then it is at least what was asked for
        return more
    known_length(n, "an image")
    return max(after, more)


def _places_of_greatest(x: ng.Op, s: Slide, storage_order: int) -> ng.Op:
    """The place of each window's greatest element in the whole tensor, the last axis first if `storage_order` is 1.

    Padding has the place -1, and is never it: where all elements are the least there are, it is as great as they.
    """
    count = len(s.sizes)
    for n in x.shape:
        known_length(n, "an image")
    order = np.arange(math.prod(x.shape)).reshape(x.shape)
    if storage_order:
        swapped = (*x.shape[:2], *x.shape[:1:-1])
        order = np.arange(math.prod(x.shape)).reshape(swapped).transpose(0, 1, *range(count + 1, 1, -1))
    amounts = [(0, 0), (0, 0), *zip(s.before, s.after, strict=True)]
    values, where = np.pad(x, amounts, constant_values=lowest(x.dtype)), np.pad(order, amounts, constant_values=-1)
    every = (ng.semi.windows(v, range(2, count + 2), s.sizes, s.strides, s.dilations) for v in (values, term(where)))
    shown, found = (np.reshape(v, (*v.shape[: count + 2], -1)) for v in every)
    greatest = np.equal(shown, np.max(shown, axis=-1, keepdims=True)) | np.not_equal(shown, shown)  # NaN is
    best = np.argmax(greatest & (found >= 0), axis=-1, keepdims=True)
    return ng.numpy.take_along_axis(found, best, axis=-1)[..., 0]


@op("MaxUnpool", known="shape")
def max_unpool(
    x: Value, indices: Value, shape: Value = None, *, kernel_shape: list[int], pads: Numbers = None,
    strides: Numbers = None,
) -> Value:  # fmt: skip
    """Each number back at its place, zeros elsewhere. The places are those in the least possible result."""
    s = slide(x, kernel_shape, strides, None, pads, "NOTSET")
    every = zip(x.shape[2:], s.strides, s.sizes, s.before, s.after, strict=True)
    least = (*x.shape[:2], *((n - 1) * k + size - a - b for n, k, size, a, b in every))
    flat = ng.numpy.at(ng.numpy.zeros((math.prod(least),), dtype=x.dtype))[np.reshape(indices, -1)]
    found = np.reshape(flat.set(np.reshape(x, -1)), least)
    return found if shape is None else np.pad(found, [(0, m - n) for n, m in zip(least, shape.tolist(), strict=True)])


@op("GlobalAveragePool")
def global_average_pool(x: Value) -> Value:
    return np.mean(x, axis=tuple(range(2, len(x.shape))), keepdims=True)


@op("GlobalMaxPool")
def global_max_pool(x: Value) -> Value:
    return np.max(x, axis=tuple(range(2, len(x.shape))), keepdims=True)


@op("GlobalLpPool")
def global_lp_pool(x: Value, *, p: int = 2) -> Value:
    return np.sum(np.abs(x) ** p, axis=tuple(range(2, len(x.shape))), keepdims=True) ** (1 / p)


@op("LRN")
def lrn(x: Value, *, alpha: float = 0.0001, beta: float = 0.75, bias: float = 1.0, size: int) -> Value:
    squares = ng.semi.pooling(term(x * x), "sum", [1], size, 1, (size - 1) // 2, size // 2)
    return x / (bias + alpha / size * squares) ** beta


@op("Col2Im", known="image block")
def col2im(
    x: Value, image: Value, block: Value, *, dilations: Numbers = None, pads: Numbers = None, strides: Numbers = None
) -> Value:
    """Windows, whose elements stand beside the channels, added up where they came from."""
    count = len(image)
    s = slide(np.empty((1,) * (count + 2)), block.tolist(), strides, dilations, pads, "NOTSET")
    whole = [int(n) + a + b for n, a, b in zip(image, s.before, s.after, strict=True)]
    numbers = [(n - r) // k + 1 for n, r, k in zip(whole, s.reach, s.strides, strict=True)]
    split = np.reshape(x, (x.shape[0], x.shape[1] // math.prod(s.sizes), *s.sizes, *numbers))
    behind = np.transpose(split, (0, 1, *range(2 + count, 2 + 2 * count), *range(2, 2 + count)))
    found = ng.semi.fold(term(behind), range(2, 2 + count), whole, s.strides, s.dilations)
    return found[(..., *(slice(a, n - b) for n, a, b in zip(whole, s.before, s.after, strict=True)))]
