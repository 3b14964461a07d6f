# SPDX-License-Identifier: Apache-2.0
"""Functions of one sample mapped over many: a gradient for each sample, and a recurrent net written for one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Arrays, Task, Tasks
from benchmarks.engines import Make, in_jax, in_ours, in_torch, module, normal, task
from benchmarks.harness import OURS

Build = Callable[..., Any]
INPUTS, HIDDEN, CLASSES = 64, 128, 10
STEPS, FEATURES, UNITS = 50, 32, 64


def tasks(size: int | None) -> Tasks:
    """``sample_gradients``, of `size` samples; ``recurrent_of_one``, mapped over `size` sequences."""
    return {"sample_gradients": partial(_gradients, size or 256), "recurrent_of_one": partial(_recurrent, size or 32)}


def _gradients(samples: int) -> Task:
    """Two dense layers and a squared error: the gradients of both weights, of each sample."""
    arrays = [normal(samples, INPUTS), normal(samples, CLASSES, seed=1)]
    arrays += [normal(INPUTS, HIDDEN, scale=0.1), normal(HIDDEN, CLASSES, scale=0.1)]

    def loss(m: Any, x: Any, y: Any, v: Any, w: Any) -> Any:
        return m.sum((m.tanh(x @ v) @ w - y) ** 2)

    def ours(x: ng.Op, y: ng.Op, v: ng.Op, w: ng.Op) -> Any:
        return ng.numpy.vmap(lambda x, y: ng.deriv(loss(ng.numpy, x, y, v, w), [v, w]))(x, y)

    def jax(*given: Any) -> Any:
        slopes = module("jax").grad(partial(loss, module("jax.numpy")), (2, 3))
        return list(module("jax").vmap(slopes, (0, 0, None, None))(*given))

    def torch(*given: Any) -> Any:
        func = module("torch").func
        return list(func.vmap(func.grad(partial(loss, module("torch")), (2, 3)), (0, 0, None, None))(*given))

    return _task("sample_gradients", _gradients_in_numpy, arrays, ours, jax, torch)


def _gradients_in_numpy(_: Any, x: Array, y: Array, v: Array, w: Array) -> Arrays:
    h = np.tanh(x @ v)
    slope = 2 * (h @ w - y)
    return [x[:, :, None] * ((slope @ w.T) * (1 - h * h))[:, None, :], h[:, :, None] * slope[:, None, :]]


def _recurrent(sequences: int) -> Task:
    """``h' = tanh(x w + h u)`` as it is written for one sequence, and what a matrix makes of each state."""
    arrays = [normal(sequences, STEPS, FEATURES), normal(FEATURES, UNITS, scale=0.1), normal(UNITS, UNITS, scale=0.1)]
    arrays += [normal(UNITS, CLASSES, scale=0.1)]

    def step(m: Any, w: Any, u: Any, v: Any, h: Any, x: Any) -> Any:
        h = m.tanh(x @ w + h @ u)
        return h, h @ v

    def ours(x: ng.Op, *weights: ng.Op) -> Any:
        start = np.zeros(UNITS, np.float32)
        return ng.numpy.vmap(lambda x: ng.numpy.scan(partial(step, ng.numpy, *weights), start, x)[1])(x)

    def jax(x: Any, *weights: Any) -> Any:
        jax, jnp = module("jax"), module("jax.numpy")
        start = jnp.zeros(UNITS, x.dtype)
        return jax.vmap(lambda x: jax.lax.scan(partial(step, jnp, *weights), start, x)[1])(x)

    def torch(x: Any, *weights: Any) -> Any:
        torch, found, h = module("torch"), [], x.new_zeros(x.shape[0], UNITS)
        for at in range(STEPS):
            h, y = step(torch, *weights, h, x[:, at])
            found.append(y)
        return torch.stack(found, 1)

    return _task("recurrent_of_one", _recurrent_in_numpy, arrays, ours, jax, torch)


def _recurrent_in_numpy(_: Any, x: Array, w: Array, u: Array, v: Array) -> Array:
    h, found, given = np.zeros((x.shape[0], UNITS), x.dtype), [], x @ w
    for at in range(STEPS):
        h = np.tanh(given[:, at] + h @ u)
        found.append(h)
    return np.stack(found, 1) @ v


def _task(name: str, in_numpy: Build, arrays: Arrays, ours: Build, jax: Build, torch: Build) -> Task:
    """The same by all engines."""
    engines: dict[str, Make] = {
        OURS: in_ours(ours, [a.shape for a in arrays], arrays),
        "jax": in_jax(jax, arrays),
        "torch": in_torch(torch, arrays),
        "torch.compile": in_torch(torch, arrays, compiled=True),
    }
    return task(name, in_numpy, arrays, engines, ("numpy",), tolerance=1e-3)
