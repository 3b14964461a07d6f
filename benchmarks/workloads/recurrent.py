# SPDX-License-Identifier: Apache-2.0
"""An LSTM over 50 steps, and all its gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Arrays, Task, Tasks
from benchmarks.engines import Make, in_numpy, module, normal, task
from benchmarks.harness import OURS
from benchmarks.workloads.training import jax_gradients, ours_gradients, torch_gradients

BATCH, FEATURES, HIDDEN = 32, 64, 128


def tasks(size: int | None) -> Tasks:
    """``lstm``: 128 hidden units, a batch of 32; `size` is the number of steps."""
    return {"lstm": partial(_lstm, size or 50)}


def _lstm(steps: int) -> Task:
    """The loss is the mean square of all outputs; gates are input, forget, candidate, output."""
    arrays = [normal(steps, BATCH, FEATURES), normal(4, HIDDEN, FEATURES, scale=0.1)]
    arrays += [normal(4, HIDDEN, HIDDEN, scale=0.1), normal(4, HIDDEN, scale=0.1)]
    gates, hidden, features = ng.Axis("gate", 4), ng.Axis("H", HIDDEN), ng.Axis("F", FEATURES)
    axes = [[ng.Axis("REC", steps), ng.Axis("N", BATCH), features], [gates, hidden, features]]
    axes += [[gates, hidden, ng.Axis("before", HIDDEN)], [gates, hidden]]
    engines: dict[str, Make] = {
        OURS: ours_gradients(_in_ours, axes, arrays, 1),
        "numpy": in_numpy(partial(_in_numpy, np), arrays),
        "jax": jax_gradients(_in_jax, arrays, 1),
        "torch": torch_gradients(_in_torch, arrays, 1),
        "torch.compile": torch_gradients(_in_torch, arrays, 1, compiled=True),
    }
    return task("lstm", _in_numpy, arrays, engines, (), tolerance=1e-3)


def _in_numpy(_: Any, x: Array, w: Array, u: Array, b: Array) -> Arrays:
    """Forward, and back through time."""
    steps, hidden = len(x), u.shape[1]
    inner, recurrent = w.reshape(-1, x.shape[2]), u.reshape(-1, hidden)
    z = x @ inner.T + b.reshape(-1)
    h, c = (np.zeros((steps + 1, x.shape[1], hidden), x.dtype) for _ in range(2))
    gates = np.empty((steps, 4, x.shape[1], hidden), x.dtype)
    for t in range(steps):
        a = np.moveaxis((z[t] + h[t] @ recurrent.T).reshape(-1, 4, hidden), 1, 0)
        gates[t] = 1 / (1 + np.exp(-a))
        gates[t, 2] = np.tanh(a[2])
        i, f, g, o = gates[t]
        c[t + 1] = f * c[t] + i * g
        h[t + 1] = o * np.tanh(c[t + 1])
    slopes, later_h, later_c = np.empty_like(z), np.zeros_like(h[0]), np.zeros_like(h[0])
    for t in reversed(range(steps)):
        (i, f, g, o), bent = gates[t], np.tanh(c[t + 1])
        dh = later_h + h[t + 1] * (2 / h[1:].size)
        dc = later_c + dh * o * (1 - bent * bent)
        parts = [dc * g * i * (1 - i), dc * c[t] * f * (1 - f), dc * i * (1 - g * g), dh * bent * o * (1 - o)]
        slopes[t] = np.concatenate(parts, axis=1)
        later_h, later_c = slopes[t] @ recurrent, dc * f
    flat = slopes.reshape(-1, 4 * hidden)
    found = [flat.T @ x.reshape(-1, x.shape[2]), flat.T @ h[:-1].reshape(-1, hidden), flat.sum(0)]
    return [(h[1:] ** 2).mean(), *(d.reshape(p.shape) for d, p in zip(found, (w, u, b), strict=True))]


def _in_ours(x: ng.Op, w: ng.Op, u: ng.Op, b: ng.Op) -> ng.Op:
    return ng.mean(ng.square(ng.lstm(x, w, u, b)[0]), out_axes=[])


def _in_jax(x: Any, w: Any, u: Any, b: Any) -> Any:
    jax = module("jax")
    jnp, hidden = jax.numpy, u.shape[1]
    z = x @ w.reshape(-1, x.shape[2]).T + b.reshape(-1)

    def step(state: Any, z: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(z + h @ u.reshape(-1, hidden).T, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((x.shape[1], hidden), x.dtype)
    return (jax.lax.scan(step, (start, start), z)[1] ** 2).mean()


def _in_torch(x: Any, w: Any, u: Any, b: Any) -> Any:
    """What ``torch.nn.LSTM`` calls, with weights of ours."""
    torch, hidden = module("torch"), u.shape[1]
    start, bias = x.new_zeros(1, x.shape[1], hidden), b.reshape(-1)
    weights = [w.reshape(-1, x.shape[2]), u.reshape(-1, hidden), bias, torch.zeros_like(bias)]
    output = torch.lstm(x, (start, start), weights, True, 1, 0.0, True, False, False)[0]
    return (output * output).mean()
