# SPDX-License-Identifier: Apache-2.0
"""A block of a transformer, forward: attention of 4 heads and two dense layers, each after a layer norm; and gradients
of attention over a long sequence, whose scores no cache holds."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import Make, both_torches, in_jax, in_numpy, in_ours, in_torch, installed, module, normal, task
from benchmarks.harness import OURS

LENGTH, WIDTH, HEADS, EPS = 128, 256, 4, 1e-5
EACH = WIDTH // HEADS
LONG, MANY = 2048, 8  # places, and heads, of the long sequence


def tasks(size: int | None) -> Tasks:
    """``transformer``: 8 sequences of 128 places and 256 numbers; ``attention_slopes``: 2048 places, 8 heads of 64.

    `size` is the number of sequences, or of places.
    """
    return {"transformer": partial(_block, size or 8), "attention_slopes": partial(_slopes, size or LONG)}


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


def _slopes(places: int) -> Task:
    arrays = [normal(MANY, places, EACH, seed=i) for i in range(4)]
    a, p, q, e = ng.Axis("A", MANY), ng.Axis("P", places), ng.Axis("Q", places), ng.Axis("E", EACH)
    engines: dict[str, Make] = {
        OURS: in_ours(_slopes_ours, [[a, p, e], [a, q, e], [a, q, e], [a, p, e]], arrays),
        "torch": in_torch(_slopes_torch, arrays),
    }
    if "jax" in installed():
        engines["jax"] = lambda: in_jax(_slopes_jax, arrays)()
    flops = 2 * 5 * MANY * places * places * EACH
    return task("attention_slopes", lambda _, *x: _slopes_numpy(*x), arrays, engines, ("numpy",), flops=flops)


def _slopes_ours(query: ng.Op, key: ng.Op, value: ng.Op, given: ng.Op) -> list[ng.Op]:
    scores = ng.dot(query, key, reduction_axes=["E"]) * EACH**-0.5
    mixed = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), value, reduction_axes=["Q"])
    return list(ng.deriv(ng.sum(mixed * given, out_axes=[]), [query, key, value]))


def _slopes_torch(query: Any, key: Any, value: Any, given: Any) -> list[Any]:
    torch = module("torch")
    with torch.inference_mode(False), torch.enable_grad():
        wanted = [x.detach()[None].requires_grad_() for x in (query, key, value)]
        mixed = torch.nn.functional.scaled_dot_product_attention(*wanted)
        return [x[0] for x in torch.autograd.grad(mixed, wanted, given[None])]


def _slopes_jax(query: Any, key: Any, value: Any, given: Any) -> list[Any]:
    jax = module("jax")

    def mixed(query: Any, key: Any, value: Any) -> Any:
        return jax.nn.softmax(query @ key.swapaxes(1, 2) * EACH**-0.5) @ value

    return list(jax.vjp(mixed, query, key, value)[1](given))


def _slopes_numpy(query: Any, key: Any, value: Any, given: Any) -> list[Any]:
    scores = query @ key.swapaxes(1, 2) * EACH**-0.5
    weights = np.exp(scores - scores.max(2, keepdims=True))
    weights /= weights.sum(2, keepdims=True)
    slopes = given @ value.swapaxes(1, 2)
    slopes = weights * (slopes - np.sum(slopes * weights, 2, keepdims=True)) * EACH**-0.5
    return [slopes @ key, slopes.swapaxes(1, 2) @ query, weights.swapaxes(1, 2) @ given]
