# SPDX-License-Identifier: Apache-2.0
"""Convolutions 3x3 and 5x5 and both derivatives, of images NCHW; peers in their best layout too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Arrays, Task, Tasks, as_arrays
from benchmarks.engines import Make, in_jax, in_ours, in_torch, installed, module, normal, task
from benchmarks.harness import OURS

# batch, channels, results, size of the image, size of the window
CONV3, CONV5 = (64, 64, 64, 32, 3), (64, 32, 64, 16, 5)
BACK = (0, 3, 1, 2)  # from NHWC to NCHW


def tasks(size: int | None) -> Tasks:
    """``convW``, ``convW_dx`` and ``convW_dw``, by the size of the window; `size` is that of the batch."""
    found = {}
    for shape in (CONV3, CONV5):
        sizes = (size or shape[0], *shape[1:])
        for which, make in (("", _forward), ("_dx", _by_image), ("_dw", _by_filters)):
            found[f"conv{shape[-1]}{which}"] = partial(make, f"conv{shape[-1]}{which}", *sizes)
    return found


# -- in NumPy ----------------------------------------------------------------------------------------------------------


def convolved(x: Array, w: Array) -> Array:
    """A convolution that keeps the size of the image: x[n, c, h, w] and w[k, c, r, s] to y[n, k, h, w]."""
    return np.moveaxis(np.tensordot(windows(x, w.shape[2]), w, ((1, 4, 5), (1, 2, 3))), 3, 1)


def by_image(w: Array, d: Array) -> Array:
    """The derivative of a convolution by its image, where that by its result is d."""
    return convolved(d, w[:, :, ::-1, ::-1].swapaxes(0, 1))


def by_filters(x: Array, d: Array, window: int) -> Array:
    """The derivative of a convolution by its filters."""
    return np.tensordot(d, windows(x, window), ((0, 2, 3), (0, 2, 3)))


def windows(x: Array, window: int) -> Array:
    """All windows of an image with zeros around it: [n, c, h, w, r, s]."""
    pad = window // 2
    return sliding_window_view(np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad))), (window, window), axis=(2, 3))


# -- convolution -------------------------------------------------------------------------------------------------------


def _forward(name: str, n: int, c: int, k: int, size: int, window: int) -> Task:
    arrays, pad = [normal(n, c, size, size), normal(k, c, window, window, seed=1)], window // 2
    axes = [image(n, c, size), _filters(c, k, window)]
    engines: dict[str, Make] = {
        OURS: in_ours(partial(ng.convolution, padding=pad), axes, [arrays[0], _ours_filters(arrays[1])]),
        **jaxes(_jax_convolution(pad), arrays, [1, 0]),
        **torches(lambda x, w: module("torch").conv2d(x, w, padding=pad), arrays),
    }
    return task(name, lambda _, x, w: convolved(x, w), arrays, engines, ("numpy",), flops=_flops(n, c, k, size, window))


def _by_image(name: str, n: int, c: int, k: int, size: int, window: int) -> Task:
    arrays, pad = [normal(k, c, window, window, seed=1), normal(n, k, size, size, seed=2)], window // 2
    x, result = image(n, c, size), image(n, k, size, "K")

    def ours(w: ng.Op, d: ng.Op) -> ng.Op:
        image = ng.placeholder(x)
        return ng.deriv(ng.sum(ng.convolution(image, w, padding=pad) * d, out_axes=[]), image)

    def in_torches(w: Any, d: Any) -> Any:
        return module("torch").nn.grad.conv2d_input((n, c, size, size), w, d, padding=pad)

    def slope(layout: str) -> Any:
        def function(w: Any, d: Any) -> Any:
            zeros = module("jax.numpy").zeros((n, c, size, size) if layout == "NCHW" else (n, size, size, c))
            return module("jax").vjp(lambda x: _jax_convolution(pad)(layout)(x, w), zeros)[1](d)[0]

        return function

    engines: dict[str, Make] = {
        OURS: in_ours(ours, [_filters(c, k, window), result], [_ours_filters(arrays[0]), arrays[1]]),
        **jaxes(slope, arrays, [0, 1]),
        **torches(in_torches, arrays),
    }
    flops = _flops(n, c, k, size, window)
    return task(name, lambda _, w, d: by_image(w, d), arrays, engines, ("numpy",), flops=flops)


def _by_filters(name: str, n: int, c: int, k: int, size: int, window: int) -> Task:
    arrays, pad = [normal(n, c, size, size), normal(n, k, size, size, seed=2)], window // 2

    def ours(x: ng.Op, d: ng.Op) -> ng.Op:
        w = ng.placeholder(_filters(c, k, window))
        return ng.deriv(ng.sum(ng.convolution(x, w, padding=pad) * d, out_axes=[]), w)

    def in_torches(x: Any, d: Any) -> Any:
        return module("torch").nn.grad.conv2d_weight(x, (k, c, window, window), d, padding=pad)

    def slope(layout: str) -> Any:
        def function(x: Any, d: Any) -> Any:
            zeros = module("jax.numpy").zeros((k, c, window, window) if layout == "NCHW" else (window, window, c, k))
            return module("jax").vjp(lambda w: _jax_convolution(pad)(layout)(x, w), zeros)[1](d)[0]

        return function

    def shown(result: Any) -> Arrays:
        return [np.asarray(result).transpose(3, 0, 1, 2)]

    engines: dict[str, Make] = {
        OURS: in_ours(ours, [image(n, c, size), image(n, k, size, "K")], arrays, shown),
        **jaxes(slope, arrays, [1, 1], (3, 2, 0, 1)),
        **torches(in_torches, arrays),
    }
    flops = _flops(n, c, k, size, window)
    return task(name, lambda _, x, d: by_filters(x, d, window), arrays, engines, ("numpy",), flops=flops)


def image(n: int, c: int, size: int, channels: str = "C") -> list[ng.Axis]:
    """The axes of images."""
    return [ng.Axis("N", n), ng.Axis(channels, c), ng.Axis("H", size), ng.Axis("W", size)]


def _filters(c: int, k: int, window: int) -> list[ng.Axis]:
    return [ng.Axis("C", c), ng.Axis("R", window), ng.Axis("S", window), ng.Axis("K", k)]


def _ours_filters(w: Array) -> Array:
    """Filters as the frontend has them: channels, window, results."""
    return np.ascontiguousarray(w.transpose(1, 2, 3, 0))


def _flops(n: int, c: int, k: int, size: int, window: int) -> int:
    """Multiplications and additions, those of the zeros around the image included."""
    return 2 * n * c * k * size * size * window * window


def _jax_convolution(pad: int) -> Any:
    """By layout: a convolution of JAX."""

    def in_layout(layout: str) -> Any:
        numbers = (layout, "OIHW" if layout == "NCHW" else "HWIO", layout)
        return partial(
            module("jax").lax.conv_general_dilated,
            window_strides=(1, 1),
            padding=[(pad, pad)] * 2,
            dimension_numbers=numbers,
        )

    return in_layout


def jaxes(function: Any, arrays: Arrays, images: list[int], back: tuple[int, ...] = BACK) -> dict[str, Make]:
    """JAX in both layouts; `images` says which arrays are images, and not filters."""
    if "jax" not in installed():
        return {}
    turned = [
        np.ascontiguousarray(a.transpose((0, 2, 3, 1) if image else (2, 3, 1, 0)))
        for a, image in zip(arrays, images, strict=True)
    ]

    def make(layout: str, given: Arrays, show: Any) -> Make:
        return lambda: in_jax(function(layout), given, show)()

    def shown(result: Any) -> Arrays:
        return [np.asarray(result).transpose(back)]

    return {"jax": make("NCHW", arrays, as_arrays), "jax-nhwc": make("NHWC", turned, shown)}


def torches(function: Any, arrays: Arrays) -> dict[str, Make]:
    """Torch eager in both layouts, and compiled."""
    return {
        "torch": in_torch(function, arrays),
        "torch-nhwc": in_torch(function, arrays, channels_last=True),
        "torch.compile": in_torch(function, arrays, compiled=True),
    }
