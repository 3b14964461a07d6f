# SPDX-License-Identifier: Apache-2.0
"""Softmax, layer norm, batch norm, and reductions of what is broadcast."""

from __future__ import annotations

from functools import partial
from typing import Any

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import both_torches, in_ours, module, normal, task
from benchmarks.harness import OURS

EPS = 1e-5


def tasks(size: int | None) -> Tasks:
    """``softmax_RxC``, ``layernorm_RxC``, and networks' and geometry's other rows; `size` is how many there are."""
    softmax = [(size, 1000)] if size else [(64, 1000), (4096, 128), (1024, 4096), (100_000, 3), (100_000, 8)]
    layer_norm = [(size, 256)] if size else [(1024, 256), (4096, 1024)]
    return {
        **{f"softmax_{r}x{c}": partial(_softmax, r, c) for r, c in softmax},
        **{f"layernorm_{r}x{c}": partial(_layer_norm, r, c) for r, c in layer_norm},
        "batchnorm": partial(_batch_norm, size or 64),
        "bred": partial(_bred, size or 4096, 512),
        "rbf": partial(_rbf, size or 2048),
        "distances": partial(_distances, size or 1000),
    }


def _softmax(rows: int, columns: int) -> Task:
    arrays, axes = [normal(rows, columns)], [ng.Axis("N", rows), ng.Axis("C", columns)]

    def function(xp: Any, x: Any) -> Any:
        e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)

    engines = {
        OURS: in_ours(lambda x: ng.softmax(x, normalization_axes=["C"]), [axes], arrays),
        **both_torches(lambda x: module("torch").softmax(x, 1), arrays),
    }
    return task(f"softmax_{rows}x{columns}", function, arrays, engines, bytes=8 * rows * columns)


def _layer_norm(rows: int, columns: int) -> Task:
    n, c = ng.Axis("N", rows), ng.Axis("C", columns)
    arrays = [normal(rows, columns), normal(columns, seed=1), normal(columns, seed=2)]

    def function(xp: Any, x: Any, gamma: Any, beta: Any) -> Any:
        centred = x - xp.mean(x, axis=1, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True) + EPS) * gamma + beta

    def in_torch(x: Any, gamma: Any, beta: Any) -> Any:
        return module("torch").nn.functional.layer_norm(x, [columns], gamma, beta, EPS)

    engines = {
        OURS: in_ours(lambda x, g, b: ng.layer_norm(x, g, b, ["C"], EPS), [[n, c], [c], [c]], arrays),
        **both_torches(in_torch, arrays),
    }
    return task(f"layernorm_{rows}x{columns}", function, arrays, engines, bytes=8 * rows * columns)


def _batch_norm(batch: int) -> Task:
    """Training: the mean and the variance are results too."""
    axes = [ng.Axis("N", batch), ng.Axis("C", 64), ng.Axis("H", 32), ng.Axis("W", 32)]
    arrays = [normal(batch, 64, 32, 32), normal(64, seed=1), normal(64, seed=2)]

    def function(xp: Any, x: Any, gamma: Any, beta: Any) -> Any:
        mean = xp.mean(x, axis=(0, 2, 3), keepdims=True)
        variance = xp.mean((x - mean) ** 2, axis=(0, 2, 3), keepdims=True)
        y = (x - mean) / xp.sqrt(variance + EPS) * gamma[:, None, None] + beta[:, None, None]
        return y, mean[0, :, 0, 0], variance[0, :, 0, 0]

    def ours(x: ng.Op, gamma: ng.Op, beta: ng.Op) -> tuple[ng.Op, ...]:
        return ng.batch_norm(x, gamma, beta, eps=EPS), *ng.batch_statistics(x, ["N", "H", "W"])

    def in_torch(x: Any, gamma: Any, beta: Any) -> Any:
        """Torch gives back one over the root of the variance."""
        y, mean, scale = module("torch").native_batch_norm(x, gamma, beta, None, None, True, 0.1, EPS)
        return y, mean, 1 / (scale * scale) - EPS

    engines = {OURS: in_ours(ours, [axes, axes[1:2], axes[1:2]], arrays), **both_torches(in_torch, arrays)}
    return task("batchnorm", function, arrays, engines, bytes=8 * arrays[0].size)


def _bred(rows: int, columns: int) -> Task:
    """A weighted sum of squared distances from the mean of each column: a reduction, broadcast, reduced again."""
    n, c = ng.Axis("N", rows), ng.Axis("C", columns)
    arrays = [normal(rows, columns), normal(columns, seed=1)]

    def function(xp: Any, x: Any, w: Any) -> Any:
        return xp.sum(w * (x - xp.mean(x, axis=0)) ** 2, axis=1)

    def ours(x: ng.Op, w: ng.Op) -> ng.Op:
        return ng.sum(w * ng.square(x - ng.mean(x, ["N"])), ["C"])

    def in_torch(x: Any, w: Any) -> Any:
        return (w * (x - x.mean(0)) ** 2).sum(1)

    engines = {OURS: in_ours(ours, [[n, c], [c]], arrays), **both_torches(in_torch, arrays)}
    return task("bred", function, arrays, engines, bytes=4 * rows * columns)


def _rbf(size: int) -> Task:
    """Sums of ``exp(-(a_i - b_j)^2)`` over j: a square that need not be stored."""
    a, b = ng.Axis("A", size), ng.Axis("B", size)
    arrays = [normal(size), normal(size, seed=1)]

    def function(xp: Any, x: Any, y: Any) -> Any:
        return xp.sum(xp.exp(-((x[:, None] - y[None, :]) ** 2)), axis=1)

    def ours(x: ng.Op, y: ng.Op) -> ng.Op:
        return ng.sum(ng.exp(-ng.square(ng.broadcast(x, [a, b]) - y)), ["B"])

    def in_torch(x: Any, y: Any) -> Any:
        return module("torch").exp(-((x[:, None] - y[None, :]) ** 2)).sum(1)

    engines = {OURS: in_ours(ours, [[a], [b]], arrays), **both_torches(in_torch, arrays)}
    return task("rbf", function, arrays, engines)


def _distances(size: int) -> Task:
    """The squares of how far points in space are from each other."""
    arrays = [normal(size, 3), normal(size, 3, seed=1)]

    def function(xp: Any, x: Any, y: Any) -> Any:
        return xp.sum((x[:, None] - y[None]) ** 2, axis=-1)

    engines = {
        OURS: in_ours(partial(function, ng.numpy), [a.shape for a in arrays], arrays),
        **both_torches(lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), arrays),
    }
    return task("distances", function, arrays, engines)
