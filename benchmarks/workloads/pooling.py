# SPDX-License-Identifier: Apache-2.0
"""The greatest of each 2x2 of images NCHW, and its derivative; peers in their best layout too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Made, Task, Tasks
from benchmarks.engines import Make, in_ours, module, normal, task
from benchmarks.harness import OURS
from benchmarks.workloads.convolutions import image, jaxes, torches


def tasks(size: int | None) -> Tasks:
    """``pool`` and ``pool_dx``; `size` is that of the batch."""
    return {"pool": partial(_pool, size or 64), "pool_dx": partial(_pool_dx, size or 64)}


def pooled(x: Array) -> Array:
    """The greatest of each 2x2."""
    return np.maximum(
        np.maximum(x[:, :, ::2, ::2], x[:, :, 1::2, ::2]), np.maximum(x[:, :, ::2, 1::2], x[:, :, 1::2, 1::2])
    )


def by_pooled(x: Array, d: Array) -> Array:
    """The derivative by the image of what `pooled` gives: at the first of the greatest elements of each 2x2."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // 2, 2, w // 2, 2).swapaxes(3, 4).reshape(n, c, h // 2, w // 2, 4)
    chosen = (np.arange(4) == parts.argmax(-1)[..., None]) * d[..., None]
    return np.asarray(chosen.reshape(n, c, h // 2, w // 2, 2, 2).swapaxes(3, 4).reshape(x.shape))


def different(*shape: int) -> Array:
    """Numbers of which no two are equal, in no order."""
    size = int(np.prod(shape))
    return (np.random.default_rng(0).permutation(size) / np.float32(size)).astype(np.float32).reshape(shape)


def _pool(n: int) -> Task:
    arrays, axes = [different(n, 64, 32, 32)], image(n, 64, 32)
    engines: dict[str, Make] = {
        OURS: in_ours(lambda x: ng.pooling(x, "max", size=2), [axes], arrays),
        **jaxes(_jax_pool, arrays, [1]),
        **torches(lambda x: module("torch").nn.functional.max_pool2d(x, 2), arrays),
    }
    return task("pool", lambda _, x: pooled(x), arrays, engines, ("numpy",), bytes=5 * arrays[0].size)


def _pool_dx(n: int) -> Task:
    """From the image and the derivative by the result; torch is given the places that its forward pass has found."""
    arrays = [different(n, 64, 32, 32), normal(n, 64, 16, 16)]
    x, y = image(n, 64, 32), image(n, 64, 16)

    def ours(image: ng.Op, d: ng.Op) -> ng.Op:
        return ng.deriv(ng.sum(ng.pooling(image, "max", size=2) * d, out_axes=[]), image)

    def slope(layout: str) -> Any:
        return lambda x, d: module("jax").vjp(_jax_pool(layout), x)[1](d)[0]

    def in_torches(channels_last: bool) -> Make:
        def make() -> Made:
            torch = module("torch")
            form = torch.channels_last if channels_last else torch.contiguous_format
            image, d = (torch.from_numpy(a).contiguous(memory_format=form) for a in arrays)
            found = torch.nn.functional.max_pool2d(image, 2, return_indices=True)[1]
            slope = torch.ops.aten.max_pool2d_with_indices_backward
            return Made(lambda: slope(d, image, [2, 2], [2, 2], [0, 0], [1, 1], False, found))

        return make

    engines: dict[str, Make] = {
        OURS: in_ours(ours, [x, y], arrays),
        **jaxes(slope, arrays, [1, 1]),
        "torch": in_torches(False),
        "torch-nhwc": in_torches(True),
    }
    return task("pool_dx", lambda _, x, d: by_pooled(x, d), arrays, engines, ("numpy",), bytes=9 * arrays[0].size)


def _jax_pool(layout: str) -> Any:
    size = (1, 1, 2, 2) if layout == "NCHW" else (1, 2, 2, 1)

    def function(x: Any) -> Any:
        lax = module("jax").lax
        return lax.reduce_window(x, -np.inf, lax.max, size, size, "VALID")

    return function
