# SPDX-License-Identifier: Apache-2.0
"""Operators that look at places of images that values say: regions, and convolutions with windows out of shape."""

from __future__ import annotations

import math

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import ModelError, Value, known_length, op, term
from onnx_reader.windows import slide

Numbers = list[int] | None


def pixels(x: Value, places: Value, beyond: str) -> ng.Op:
    """Images (N, C, height, width) at places (N, ..., 2), a row and a column each, linear in between."""
    last = [known_length(n, "an image") - 1 for n in x.shape[2:]]
    along = [np.flip(places, -1)[..., k] * (2 / max(n, 1)) - 1 for k, n in enumerate(reversed(last))]
    return ng.grid_sample(x, np.stack(along, axis=-1), "linear", beyond, "corners")


@op("RoiAlign", known="rois")
def roi_align(
    x: Value, rois: Value, batch: Value, *, coordinate_transformation_mode: str = "half_pixel", mode: str = "avg",
    output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0, opset: int,
) -> Value:  # fmt: skip
    """Each region as an image of one size, of which a pixel is the mean of some places in its part."""
    if mode != "avg":
        raise ModelError(f"RoiAlign with the mode {mode} is not supported")
    half = opset >= 16 and coordinate_transformation_mode == "half_pixel"
    found = []
    for k, roi in enumerate(np.asarray(rois, np.float64)):
        first, last = ((roi[2 * i : 2 * i + 2][::-1] * spatial_scale - (0.5 if half else 0)) for i in (0, 1))
        size = last - first if half else np.maximum(last - first, 1)
        parts = size / (output_height, output_width)
        counts = [sampling_ratio or math.ceil(p) for p in parts]
        rows, columns = (
            f + (np.arange(m * c) + 0.5) * p / c
            for f, m, c, p in zip(first, (output_height, output_width), counts, parts, strict=True)
        )
        spots = np.stack(np.meshgrid(rows, columns, indexing="ij"), -1)[None]
        shown = pixels(term(x)[batch[k : k + 1]], spots.astype(x.dtype), "edge")
        outside = (spots < -1).any(-1) | (spots > x.shape[2:]).any(-1)
        shape = (1, x.shape[1], output_height, counts[0], output_width, counts[1])
        found.append(np.mean(np.reshape(np.where(outside, 0, shown), shape), axis=(3, 5)))
    return np.concatenate(found)


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
