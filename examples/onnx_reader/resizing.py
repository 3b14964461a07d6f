# SPDX-License-Identifier: Apache-2.0
"""Operators that look at images between their pixels: Resize, Upsample and GridSample.

An axis gets a new length by ``ng.resize`` where that means the same. Else it is multiplied with a matrix, which has the
weights of the old elements for each new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, cast, known_length, lowest, op, places, term

PLACES = {"half_pixel": "centers", "align_corners": "corners", "asymmetric": "starts"}
ROUNDINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


@op("Resize", since=11, known="roi scales sizes")
def resize(
    x: Value, roi: Value = None, scales: Value = None, sizes: Value = None, *, antialias: int = 0, axes: Any = None,
    coordinate_transformation_mode: str = "half_pixel", cubic_coeff_a: float = -0.75, exclude_outside: int = 0,
    extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Value:  # fmt: skip
    along = places(axes, len(x.shape))
    old = [x.shape[a] for a in along]
    new, factors = _new_lengths(old, scales, sizes, keep_aspect_ratio_policy)
    crops = coordinate_transformation_mode == "tf_crop_and_resize"
    regions = np.asarray(roi, np.float64).reshape(2, -1) if crops else np.zeros((2, len(along)))
    usual = not (antialias or exclude_outside or cubic_coeff_a != -0.75)
    y = term(x) if mode == "nearest" else _between(x)
    for axis, n, m, scale, region in zip(along, old, new, factors, regions.T, strict=True):
        if (n, scale) == (m, 1) and not crops:
            continue
        if usual and _means_the_same(mode, coordinate_transformation_mode, nearest_mode, n, m, scale):
            y = ng.resize(y, {axis: m}, mode, PLACES[coordinate_transformation_mode])
            continue
        at = coordinates(coordinate_transformation_mode, known_length(n, "an image"), m, scale, region)
        if mode == "nearest":
            y = ng.numpy.take(y, np.clip(ROUNDINGS[nearest_mode](at), 0, n - 1).astype(np.int64), axis=axis)
        else:
            reach = min(scale, 1) if antialias else 1
            y = _weighed(y, axis, weights(at, n, mode, reach, cubic_coeff_a, bool(exclude_outside)))
        if crops:
            outside = np.reshape((at < 0) | (at > n - 1), (-1, *(1,) * (y.ndim - 1 - axis)))
            y = np.where(outside, extrapolation_value, y)
    return _rounded(y, x.dtype)


def _between(x: Value) -> ng.Op:
    """`x` as floats: integers have nothing between them."""
    dtype = np.dtype(x.dtype)
    return term(x if dtype.kind not in "biu" else cast(x, np.float32 if dtype.itemsize < 4 else np.float64))


def _rounded(y: ng.Op, dtype: Any) -> Value:
    """Floats as the nearest integers, if the dtype is of such, that it has."""
    if np.dtype(dtype).kind in "iu" and y.dtype != dtype:
        y = np.clip(np.round(y), lowest(dtype), lowest(dtype, False))
    return cast(y, dtype)


def _means_the_same(mode: str, where: str, rounding: str, n: Any, m: Any, scale: Any) -> bool:
    """Whether ``ng.resize`` does so; of the nearest it takes the first of two, or the last, where that is rounded."""
    if where not in PLACES or (scale is not None and scale * n != m):
        return False
    halves = where == "half_pixel" and rounding.startswith("round") and isinstance(scale, int)
    return mode != "nearest" or halves or (where, rounding) == ("asymmetric", "floor")


@op("Resize", "Upsample", known="given")
def upsample(x: Value, given: Value = None, *, mode: str = "nearest", scales: Any = None) -> Value:
    """What resizing was before version 11."""
    old = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return resize(x, None, np.asarray(scales if given is None else given), mode=mode, **old)


def _new_lengths(old: Sequence[Any], scales: Value, sizes: Value, policy: str) -> tuple[list[Any], list[Any]]:
    """The new lengths, and how many times the old ones they are: None if those are not known yet."""
    if sizes is None or not sizes.size:
        factors = [int(s) if s == int(s) else float(s) for s in scales]
        own = [n if isinstance(s, int) else known_length(n, "an image") for n, s in zip(old, factors, strict=True)]
        new = [n * s if isinstance(s, int) else int(np.floor(n * s)) for n, s in zip(own, factors, strict=True)]
        return new, factors
    if policy == "stretch":
        pairs = [_stretched(n, m) for n, m in zip(old, sizes, strict=True)]
        return [m for m, _ in pairs], [p for _, p in pairs]
    own = [known_length(n, "an image") for n in old]
    one = (min if policy == "not_larger" else max)(int(m) / n for n, m in zip(own, sizes, strict=True))
    return [int(np.floor(n * one + 0.5)) for n in own], [one] * len(own)


def _stretched(n: Any, wanted: Any) -> tuple[Any, Any]:
    """A new length, and how many times the old one it is; one that is not known yet is as it was."""
    if n == wanted:
        return n, 1
    m = known_length(wanted, "a resized image")
    part = None if isinstance(n, ng.Length) else m / n
    return m, int(part) if part is not None and part == int(part) else part


def coordinates(mode: str, n: int, m: int, scale: float, region: Sequence[float]) -> np.ndarray:
    """Where the `m` places of a new axis lie on the old one, of length `n`."""
    i, whole = np.arange(m, dtype=np.float64), scale * n
    if mode == "align_corners":
        return i * (n - 1) / (whole - 1) if whole != 1 else i * 0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_crop_and_resize":
        start, end = region
        return (start + i * (end - start) / (m - 1)) * (n - 1) if m > 1 else i + 0.5 * (start + end) * (n - 1)
    if mode == "pytorch_half_pixel" and m == 1:
        return i * 0
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    shift = n / 2 * (1 - m / whole) if mode == "half_pixel_symmetric" else 0
    return shift + (i + 0.5) / scale - 0.5


def weights(at: np.ndarray, n: int, mode: str, scale: float, sharp: float, only_inside: bool) -> np.ndarray:
    """For each place the weights of the old elements. With a `scale` below 1 they reach as much further."""
    reach = 1 if mode == "linear" else 2
    wide = int(np.ceil(reach / scale))
    index = np.floor(at).astype(int)[:, None] + np.arange(1 - wide, wide + 1)
    distance = np.abs(index - at[:, None]) * scale
    found = np.maximum(1 - distance, 0) if mode == "linear" else _cubic(distance, sharp)
    if only_inside:
        found = np.where((index < 0) | (index >= n), 0, found)
    found = found / found.sum(1, keepdims=True)
    matrix = np.zeros((len(at), n))
    np.add.at(matrix, (np.arange(len(at))[:, None], np.clip(index, 0, n - 1)), found)
    return matrix


def _cubic(d: np.ndarray, a: float) -> np.ndarray:
    """The cubic convolution kernel (Keys 1981) at a distance."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _weighed(x: ng.Op, axis: int, matrix: np.ndarray) -> ng.Op:
    return np.moveaxis(np.tensordot(x, matrix.astype(x.dtype), ([axis], [1])), -1, axis)


# -- grids ------------------------------------------------------------------------------------------------


@op("GridSample")
def grid_sample(
    x: Value, grid: Value, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Value:
    how = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if (how, padding_mode) == ("cubic", "border"):
        grid = _inside(x, grid, bool(align_corners))
    beyond = {"border": "edge", "reflection": "reflect"}.get(padding_mode, padding_mode)
    found = ng.grid_sample(_between(x), grid, how, beyond, "corners" if align_corners else "centers")
    return cast(found, x.dtype)


def _inside(x: Value, grid: Value, align_corners: bool) -> Value:
    """A grid whose places outside are those of the nearest pixels, which a curve through pixels would go beyond."""
    last = [1 if align_corners else 1 - 1 / known_length(n, "an image") for n in reversed(x.shape[2:])]
    return np.where(np.greater(np.abs(grid), 1), np.sign(grid) * np.array(last, grid.dtype), grid)
