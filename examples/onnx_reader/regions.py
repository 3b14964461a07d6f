# SPDX-License-Identifier: Apache-2.0
"""Operators that look at places of images that values say: regions, and convolutions with windows out of shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import ModelError, NotKnown, Value, is_term, known_length, op, term
from onnx_reader.windows import slide

Numbers = list[int] | None


def pixels(x: Value, places: Value, beyond: str) -> ng.Op:
    """Images (N, C, height, width) at places (N, ..., 2), a row and a column each, linear in between."""
    last = [known_length(n, "an image") - 1 for n in x.shape[2:]]
    along = [np.flip(places, -1)[..., k] * (2 / max(n, 1)) - 1 for k, n in enumerate(reversed(last))]
    return ng.grid_sample(x, np.stack(along, axis=-1), "linear", beyond, "corners")


@op("RoiAlign")
def roi_align(
    x: Value, rois: Value, batch: Value, *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0, opset: int,
) -> Value:  # fmt: skip
    """Each region as an image of one size, of which a pixel is the mean of some places in its part.

    Without a sampling_ratio there are more places in larger regions, which have to be known then.
    """
    if mode != "avg":
        raise ModelError(f"RoiAlign with the mode {mode} is not supported")
    if not sampling_ratio and is_term(rois):
        raise NotKnown("the input rois is computed by the model, and without a sampling_ratio has to be known", rois)
    half = opset >= 16 and coordinate_transformation_mode == "half_pixel"
    ends = np.reshape(rois, (-1, 2, 2))[..., ::-1] * np.float32(spatial_scale) - np.float32(0.5 if half else 0)
    first, size = ends[:, 0], ends[:, 1] - ends[:, 0]
    size = size if half else np.maximum(size, 1)
    parts = size / np.array([output_height, output_width], np.float32)
    shape = (output_height, output_width)
    if sampling_ratio or not len(rois):
        return _regions(x, batch, first, parts, shape, (sampling_ratio or 1,) * 2)
    each = [(slice(k, k + 1), [math.ceil(p) for p in parts[k]]) for k in range(len(parts))]
    return np.concatenate([_regions(x, batch[s], first[s], parts[s], shape, counts) for s, counts in each])


def _regions(x: Value, batch: Value, first: Value, parts: Value, shape: Sequence[int], counts: Sequence[int]) -> Value:
    """Regions that begin at `first`, whose pixels are means of as many places as `counts` says."""
    rows, columns = (
        first[:, k, None] + (np.arange(m * c, dtype=np.float32) + 0.5) * parts[:, k, None] / c
        for k, (m, c) in enumerate(zip(shape, counts, strict=True))
    )
    many, high, wide = first.shape[0], rows.shape[1], columns.shape[1]
    whole = [ng.numpy.broadcast_to(v, (many, high, wide)) for v in (rows[:, :, None], columns[:, None])]
    spots, alone = np.stack(whole, -1), x.shape[0] == 1
    shown = pixels(term(x) if alone else term(x)[batch], spots[None] if alone else spots, "edge")
    shown = np.moveaxis(shown[0], 0, 1) if alone else shown
    outside = np.any((spots < -1) | (spots > np.array(x.shape[2:], np.float32)), axis=-1)
    split = (many, x.shape[1], shape[0], counts[0], shape[1], counts[1])
    return np.mean(np.reshape(np.where(outside[:, None], 0, shown), split), axis=(3, 5))


@op("DeformConv")
def deform_conv(
    x: Value, w: Value, offset: Value, b: Value = None, mask: Value = None, *, dilations: Numbers = None,
    group: int = 1, kernel_shape: Numbers = None, offset_group: int = 1, pads: Numbers = None, strides: Numbers = None,
) -> Value:  # fmt: skip
    """A convolution whose windows have a place of their own for each element, moved by an offset."""
    s = slide(x, w.shape[2:], strides, dilations, pads, "NOTSET")
    n, c, (high, wide), (rows, columns), g = x.shape[0], x.shape[1], s.sizes, offset.shape[2:], offset_group
    own = np.reshape(offset, (n, g, high, wide, 2, rows, columns))
    start = [np.arange(m) * k - a for m, k, a in zip((rows, columns), s.strides, s.before, strict=True)]
    within = [np.arange(k) * d for k, d in zip(s.sizes, s.dilations, strict=True)]
    first = within[0][:, None, None, None] + start[0][:, None], within[1][:, None, None] + start[1]
    spots = np.stack([own[:, :, :, :, k] + first[k].astype(x.dtype) for k in (0, 1)], axis=-1)
    image = np.reshape(x, (n * g, c // g, *x.shape[2:]))
    shown = pixels(image, np.reshape(spots, (n * g, high, wide, rows, columns, 2)), "zeros")
    if mask is not None:
        shown = shown * np.reshape(mask, (n * g, 1, high, wide, rows, columns))
    parts = np.reshape(shown, (n, group, c // group, high, wide, rows, columns))
    filters = np.reshape(w, (group, w.shape[0] // group, *w.shape[1:]))
    y = np.reshape(ng.numpy.einsum("ngcijxy,gkcij->ngkxy", parts, filters), (n, w.shape[0], rows, columns))
    return y if b is None else y + np.reshape(b, (-1, 1, 1))
