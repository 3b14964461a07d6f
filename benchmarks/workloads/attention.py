# SPDX-License-Identifier: Apache-2.0
"""A block of a transformer, forward: attention of 4 heads and two dense layers, each after a layer norm."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import Make, both_torches, in_jax, in_numpy, in_ours, installed, module, normal, task
from benchmarks.harness import OURS

LENGTH, WIDTH, HEADS, EPS = 128, 256, 4, 1e-5
EACH = WIDTH // HEADS


def tasks(size: int | None) -> Tasks:
    """``transformer``: 8 sequences of 128 places and 256 numbers; `size` is the number of sequences."""
    return {"transformer": partial(_block, size or 8)}


def _block(batch: int) -> Task:
    inner = [normal(WIDTH, WIDTH, seed=i, scale=WIDTH**-0.5) for i in range(4)]
    norms = [1 + normal(WIDTH, seed=4, scale=0.1), normal(WIDTH, seed=5, scale=0.1)]
    dense = [normal(WIDTH, 4 * WIDTH, scale=WIDTH**-0.5), normal(4 * WIDTH, scale=0.1)]
    dense += [normal(4 * WIDTH, WIDTH, scale=0.5 * WIDTH**-0.5), normal(WIDTH, seed=6, scale=0.1)]
    arrays = [normal(batch, LENGTH, WIDTH), *norms, *inner, *norms, *dense]
    heads = [a.reshape(WIDTH, HEADS, EACH) for a in inner[:3]] + [inner[3].reshape(HEADS, EACH, WIDTH)]
    d, h = ng.Axis("D", WIDTH), [ng.Axis("A", HEADS), ng.Axis("E", EACH)]
    axes = [[ng.Axis("N", batch), ng.Axis("P", LENGTH), d], [d], [d], *([[d, *h]] * 3), [*h, d], [d], [d]]
    wide = ng.Axis("F", 4 * WIDTH)
    axes += [[d, wide], [wide], [wide, d], [d]]
    engines: dict[str, Make] = {
        OURS: in_ours(block_ours, axes, [arrays[0], *norms, *heads, *norms, *dense]),
        "numpy": in_numpy(partial(_like_numpy, np, erf()), arrays),
        **both_torches(block_torch, arrays),
    }
    if "jax" in installed():
        engines["jax"] = lambda: in_jax(partial(_like_numpy, module("jax.numpy"), module("jax").lax.erf), arrays)()
    return task("transformer", lambda xp, *a: _like_numpy(xp, erf(), *a), arrays, engines, ())


def erf() -> Any:
    """The error function of SciPy, which NumPy lacks."""
    return module("scipy.special").erf


def _like_numpy(xp: Any, erf: Any, x: Any, *weights: Any) -> Any:
    """In NumPy, or in what has its names."""
    g1, b1, wq, wk, wv, wo, g2, b2, w1, c1, w2, c2 = weights

    def norm(x: Any, g: Any, b: Any) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + EPS) * g + b

    def heads(x: Any) -> Any:
        return x.reshape(len(x), -1, HEADS, EACH).swapaxes(1, 2)

    y = norm(x, g1, b1)
    scores = heads(y @ wq) @ heads(y @ wk).swapaxes(2, 3) * EACH**-0.5
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    mixed = (e / xp.sum(e, axis=-1, keepdims=True)) @ heads(y @ wv)
    x = x + mixed.swapaxes(1, 2).reshape(x.shape) @ wo
    inner = norm(x, g2, b2) @ w1 + c1
    return x + 0.5 * inner * (1 + erf(inner * math.sqrt(0.5))) @ w2 + c2


def block_ours(x: ng.Op, *weights: ng.Op) -> ng.Op:
    """The block; weights that make heads have these as an axis."""
    g1, b1, wq, wk, wv, wo, g2, b2, w1, c1, w2, c2 = weights
    n, p, _ = x.axes
    y = ng.layer_norm(x, g1, b1, ["D"], EPS)
    seen = [n, ng.Axis("Q", p.length), *wq.axes[1:]]
    keys, values = (ng.cast_axes(ng.dot(y, w), seen) for w in (wk, wv))
    scores = ng.dot(ng.dot(y, wq), keys, reduction_axes=["E"]) * EACH**-0.5
    mixed = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), values, reduction_axes=["Q"])
    x = x + ng.dot(mixed, wo)
    inner = ng.dot(ng.layer_norm(x, g2, b2, ["D"], EPS), w1) + c1
    return x + ng.dot(0.5 * inner * (1 + ng.erf(inner * math.sqrt(0.5))), w2) + c2


def block_torch(x: Any, *weights: Any) -> Any:
    """The same in torch; heads are parts of a row."""
    g1, b1, wq, wk, wv, wo, g2, b2, w1, c1, w2, c2 = weights
    functional = module("torch").nn.functional

    def heads(x: Any) -> Any:
        return x.unflatten(2, (HEADS, EACH)).transpose(1, 2)

    y = functional.layer_norm(x, [WIDTH], g1, b1, EPS)
    mixed = functional.scaled_dot_product_attention(heads(y @ wq), heads(y @ wk), heads(y @ wv))
    x = x + mixed.transpose(1, 2).flatten(2) @ wo
    inner = functional.linear(functional.layer_norm(x, [WIDTH], g2, b2, EPS), w1.T, c1)
    return x + functional.linear(functional.gelu(inner), w2.T, c2)
