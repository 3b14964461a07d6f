# SPDX-License-Identifier: Apache-2.0
"""Networks that are trained: a step of an MLP of 784-512-512-10, and all gradients of a small convolution net."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Arrays, Task, Tasks, as_arrays
from benchmarks.engines import Make, in_numpy, installed, module, normal, task
from benchmarks.harness import OURS
from benchmarks.workloads.convolutions import by_filters, by_image, convolved
from benchmarks.workloads.pooling import by_pooled, pooled
from benchmarks.workloads.training import (
    jax_gradients,
    jax_step,
    numpy_step,
    ours_gradients,
    ours_step,
    torch_gradients,
    torch_step,
)

WIDTHS = (784, 512, 512, 10)


def tasks(size: int | None) -> Tasks:
    """``mlp``, with a batch of 128, ``mlp_8192`` with that, and ``cnn`` with one of 64; `size` is that of the batch."""
    if size:
        return {"mlp": partial(mlp, "mlp", size), "cnn": partial(_cnn, size)}
    return {"mlp": partial(mlp, "mlp", 128), "mlp_8192": partial(mlp, "mlp_8192", 8192), "cnn": partial(_cnn, 64)}


def classes(batch: int) -> Array:
    """Targets: for each sample 1 at one of ten classes."""
    return np.eye(10, dtype=np.float32)[np.random.default_rng(1).integers(0, 10, batch)]


def cross_entropy(y: Array, t: Array) -> tuple[Array, Array]:
    """The mean cross entropy of a softmax, and its derivative."""
    y = y - y.max(1, keepdims=True)
    e = np.exp(y)
    total = e.sum(1, keepdims=True)
    return -(t * (y - np.log(total))).sum() / len(y), (e / total - t) / np.array(len(y), y.dtype)


def ours_cross_entropy(y: ng.Op, t: ng.Op) -> ng.Op:
    """The same, as the frontend has it."""
    found = ng.cross_entropy_multi(ng.softmax(y, normalization_axes=["Y"]), t, out_axes=["N"])
    return ng.mean(found, out_axes=[])


# -- MLP ---------------------------------------------------------------------------------------------------------------


def mlp(name: str, batch: int, lengths: Sequence[int] = WIDTHS) -> Task:
    """A training step of dense layers; `lengths` are those of the input, of what is hidden, and ten classes."""
    widths = list(zip(lengths, lengths[1:], strict=False))
    weights = [normal(a, b, scale=a**-0.5) for a, b in widths], [normal(b, seed=2, scale=0.1) for _, b in widths]
    arrays = [normal(batch, lengths[0]), classes(batch), *(w for pair in zip(*weights, strict=True) for w in pair)]
    n = ng.Axis("N", batch)
    names = [*(f"H{i}" for i in range(len(widths))), "Y"]
    layers = [ng.Axis(axis, width) for axis, width in zip(names, lengths, strict=True)]
    axes = [[n, layers[0]], [n, layers[-1]]]
    axes += [a for before, after in zip(layers, layers[1:], strict=False) for a in ([before, after], [after])]
    engines: dict[str, Make] = {OURS: ours_step(mlp_ours, axes, arrays, 2), "numpy": numpy_step(_mlp_numpy, arrays, 2)}
    engines["jax"] = jax_step(_mlp_jax, arrays, 2)
    engines |= {"torch": torch_step(mlp_torch, arrays, 2), "torch.compile": torch_step(mlp_torch, arrays, 2, True)}
    return task(name, _mlp_numpy, arrays, engines, (), tolerance=2e-3)


def _mlp_numpy(_: Any, x: Array, t: Array, *weights: Array) -> Arrays:
    """The loss and the slopes of all weights."""
    layers, slopes = [x], list[Array]()
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        layers.append(layers[-1] @ w + b)
        if len(layers) <= len(weights) // 2:
            np.maximum(layers[-1], 0, out=layers[-1])
    loss, d = cross_entropy(layers[-1], t)
    for i in reversed(range(len(weights) // 2)):
        slopes = [layers[i].T @ d, d.sum(0), *slopes]
        d = d @ weights[2 * i].T * (layers[i] > 0)
    return [loss, *slopes]


def mlp_ours(x: ng.Op, t: ng.Op, *weights: ng.Op) -> ng.Op:
    """The loss of dense layers."""
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = ng.relu(ng.dot(x, w) + b)
    return ours_cross_entropy(ng.dot(x, weights[-2]) + weights[-1], t)


def _mlp_jax(x: Any, t: Any, *weights: Any) -> Any:
    nn = module("jax.nn")
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = nn.relu(x @ w + b)
    return -(t * nn.log_softmax(x @ weights[-2] + weights[-1])).sum(1).mean()


def mlp_torch(x: Any, t: Any, *weights: Any) -> Any:
    """The same in torch."""
    torch = module("torch")
    for w, b in zip(weights[:-2:2], weights[1:-2:2], strict=True):
        x = torch.relu(torch.addmm(b, x, w))
    return torch.nn.functional.cross_entropy(torch.addmm(weights[-1], x, weights[-2]), t)


# -- convolution net ---------------------------------------------------------------------------------------------------


def _cnn(batch: int) -> Task:
    """5x5x32, relu, pool, 3x3x64, relu, pool, 10 classes, of images 3x32x32."""
    weights = [normal(32, 3, 5, 5, scale=0.1), normal(32, scale=0.1), normal(64, 32, 3, 3, scale=0.1)]
    weights += [normal(64, scale=0.1), normal(4096, 10, scale=0.02), normal(10)]
    arrays = [normal(batch, 3, 32, 32), classes(batch), *weights]
    engines: dict[str, Make] = {OURS: _cnn_in_ours(batch, arrays)}
    engines[f"{OURS}-last"] = _cnn_in_ours(batch, arrays, last=True)
    engines |= {"numpy": in_numpy(partial(_cnn_numpy, np), arrays)}
    if "jax" in installed():
        engines["jax"] = jax_gradients(partial(_cnn_jax, "NCHW"), arrays, 2)
        turned = [np.ascontiguousarray(arrays[0].transpose(0, 2, 3, 1)), *arrays[1:]]
        engines["jax-nhwc"] = jax_gradients(partial(_cnn_jax, "NHWC"), turned, 2)
    engines["torch"] = torch_gradients(cnn_torch, arrays, 2)
    engines["torch-nhwc"] = torch_gradients(cnn_torch, arrays, 2, channels_last=True)
    engines["torch.compile"] = torch_gradients(cnn_torch, arrays, 2, compiled=True)
    return task("cnn", _cnn_numpy, arrays, engines, (), tolerance=1e-3)


def _cnn_numpy(_: Any, x: Array, t: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Arrays:
    """The loss and the slopes of all weights."""
    first = np.maximum(convolved(x, w1) + b1[:, None, None], 0)
    middle = pooled(first)
    second = np.maximum(convolved(middle, w2) + b2[:, None, None], 0)
    flat = pooled(second).reshape(len(x), -1)
    loss, d = cross_entropy(flat @ w3 + b3, t)
    last = [flat.T @ d, d.sum(0)]
    d2 = by_pooled(second, (d @ w3.T).reshape(len(x), 64, 8, 8)) * (second > 0)
    d1 = by_pooled(first, by_image(w2, d2)) * (first > 0)
    sums = [d.sum((0, 2, 3)) for d in (d1, d2)]
    return [loss, by_filters(x, d1, 5), sums[0], by_filters(middle, d2, 3), sums[1], *last]


def _cnn_in_ours(batch: int, arrays: Arrays, last: bool = False) -> Make:
    """The frontend has filters as channels, window, results; the batch may come last."""
    n, c, y = ng.Axis("N", batch), {k: ng.Axis("C", k) for k in (3, 32, 64)}, ng.Axis("Y", 10)
    size = {k: [ng.Axis("H", k), ng.Axis("W", k)] for k in (32, 8)}

    def filters(channels: int, window: int, results: int) -> list[ng.Axis]:
        return [c[channels], ng.Axis("R", window), ng.Axis("S", window), ng.Axis("K", results)]

    axes = [[n, c[3], *size[32]], [n, y], filters(3, 5, 32), [c[32]], filters(32, 3, 64), [c[64]]]
    axes += [[c[64], *size[8], y], [y]]
    given = [a.transpose(1, 2, 3, 0).copy() if i in (2, 4) else a for i, a in enumerate(arrays)]
    given[6] = given[6].reshape(64, 8, 8, 10)
    if last:
        axes[:2] = [[*a[1:], n] for a in axes[:2]]
        given[:2] = [np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in given[:2]]

    def show(result: Any) -> Arrays:
        found = list(as_arrays(result))
        found[1], found[3] = (found[i].transpose(3, 0, 1, 2) for i in (1, 3))
        found[5] = found[5].reshape(4096, 10)
        return found

    return ours_gradients(cnn_ours, axes, given, 2, show)


def cnn_ours(x: ng.Op, t: ng.Op, *weights: ng.Op) -> ng.Op:
    """The loss of the convolution net, with filters as channels, window, results."""
    for w, b in (weights[:2], weights[2:4]):
        y = ng.convolution(x, w, padding=w.axes[1].length // 2)
        y = ng.cast_axes(y, [b.axes[0] if a.name == "K" else a for a in y.axes])
        x = ng.pooling(ng.relu(y + b), "max", size=2)
    return ours_cross_entropy(ng.dot(x, weights[4]) + weights[5], t)


def _cnn_jax(layout: str, x: Any, t: Any, *weights: Any) -> Any:
    jax, channels_last = module("jax"), layout == "NHWC"
    size = (1, 2, 2, 1) if channels_last else (1, 1, 2, 2)
    for w, b in (weights[:2], weights[2:4]):
        x = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=(layout, "OIHW", layout))
        x = jax.nn.relu(x + (b if channels_last else b[:, None, None]))
        x = jax.lax.reduce_window(x, -np.inf, jax.lax.max, size, size, "VALID")
    flat = (x.transpose(0, 3, 1, 2) if channels_last else x).reshape(len(x), -1)
    return -(t * jax.nn.log_softmax(flat @ weights[4] + weights[5])).sum(1).mean()


def cnn_torch(x: Any, t: Any, *weights: Any) -> Any:
    """The same in torch, with filters as results, channels, window."""
    torch = module("torch")
    functional = torch.nn.functional
    for (w, b), pad in ((weights[:2], 2), (weights[2:4], 1)):
        x = functional.max_pool2d(torch.relu(torch.conv2d(x, w, b, padding=pad)), 2)
    return functional.cross_entropy(torch.addmm(weights[5], x.flatten(1), weights[4]), t)
