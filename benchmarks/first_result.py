# SPDX-License-Identifier: Apache-2.0
"""How long a process takes from its first import to the first result of a training step: one engine, one process.

``python -m benchmarks.first_result ngraph_rewrite`` prints the seconds, the loss, and the packages that were imported.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

SIZES, BATCH, RATE = (784, 512, 512, 10), 128, 1e-6
WATCHED = ("numba", "llvmlite", "scipy", "sympy", "matchpy", "torch", "jax")
Step = Callable[[], float]


def _data(numpy: Any) -> tuple[list[Any], Any, Any]:
    """Weights, images and one-hot classes; samples are columns."""
    rng = numpy.random.default_rng(0)
    weights = [rng.normal(scale=m**-0.5, size=(n, m)).astype("f") for m, n in zip(SIZES, SIZES[1:], strict=False)]
    x = rng.normal(size=(SIZES[0], BATCH)).astype("f")
    return weights, x, numpy.eye(SIZES[-1], dtype="f")[rng.integers(0, SIZES[-1], BATCH)].T.copy()


def ours() -> Step:
    """This package, on the CPU."""
    ng, numpy = importlib.import_module("ngraph_rewrite"), importlib.import_module("numpy")
    starts, x_value, target_value = _data(numpy)
    n = ng.Axis("N", BATCH)
    axes = [ng.Axis(f"H{i}", length) for i, length in enumerate(SIZES)]
    x, target = ng.placeholder([axes[0], n]), ng.placeholder([axes[-1], n])
    y, weights = x, []
    for start, before, after in zip(starts, axes, axes[1:], strict=False):
        w, b = ng.variable([after, before], initial_value=start), ng.variable([after], initial_value=0.0)
        y, weights = ng.dot(w, y) + b, [*weights, w, b]
        y = y if after is axes[-1] else ng.relu(y)
    losses = ng.cross_entropy_multi(ng.softmax(y, [axes[-1]]), target, out_axes=[n])
    loss = ng.mean(losses, out_axes=[])
    step = ng.doall([ng.assign(w, w - RATE * ng.deriv(loss, w)) for w in weights])
    computation = ng.make_transformer("cpu").computation([loss, step], x, target)
    return lambda: float(computation(x_value, target_value)[0])


def in_torch() -> Step:
    """PyTorch, eager: it has nothing to compile."""
    torch, numpy = importlib.import_module("torch"), importlib.import_module("numpy")
    starts, x, target = _data(numpy)
    layers = [(torch.tensor(w).requires_grad_(), torch.zeros(len(w), requires_grad=True)) for w in starts]
    x, classes = torch.tensor(x.T.copy()), torch.tensor(target.argmax(0))

    def step() -> float:
        y = x
        for i, (w, b) in enumerate(layers):
            y = torch.nn.functional.linear(y, w, b)
            y = y if i == len(layers) - 1 else torch.relu(y)
        loss = torch.nn.functional.cross_entropy(y, classes)
        loss.backward()
        with torch.no_grad():
            for parameter in (p for layer in layers for p in layer):
                parameter -= RATE * parameter.grad
        return float(loss)

    return step


def in_jax() -> Step:
    """JAX, compiled; its cache of compiled code is off, as it is by default."""
    jax, numpy = importlib.import_module("jax"), importlib.import_module("numpy")
    starts, x, target = _data(numpy)
    layers = [(w, numpy.zeros((len(w), 1), "f")) for w in starts]

    def loss(layers: Any) -> Any:
        y = x
        for i, (w, b) in enumerate(layers):
            y = w @ y + b
            y = y if i == len(layers) - 1 else jax.nn.relu(y)
        return -(jax.nn.log_softmax(y, axis=0) * target).sum(0).mean()

    def step(layers: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(layers)
        return value, jax.tree_util.tree_map(lambda w, d: w - RATE * d, layers, slopes)

    compiled = jax.jit(step)
    return lambda: float(compiled(layers)[0])


ENGINES: dict[str, Callable[[], Step]] = {"ngraph_rewrite": ours, "torch": in_torch, "jax": in_jax}


def main(engine: str) -> None:
    """Start, take one step, tell."""
    start = time.perf_counter()
    loss = ENGINES[engine]()()
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "loss": loss, "imported": [m for m in WATCHED if m in sys.modules]}))


if __name__ == "__main__":
    main(sys.argv[1])
