# SPDX-License-Identifier: Apache-2.0
"""Execution on the CPU: call latency, fused elementwise expressions, softmax, a training step of an MLP."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.harness import OURS, Run, Workload, measure, options

SIZES = (100, 10_000, 1_000_000)


def _torch() -> Any:
    return importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def _ours(expression: Callable[..., ng.Op], axes: list[ng.Axis], arrays: list[Any]) -> Callable[[], Run]:
    def make() -> Run:
        inputs = [ng.placeholder(axes[: a.ndim]) for a in arrays]
        run = ng.make_transformer("cpu").computation(expression(*inputs), *inputs)
        out = run(*arrays)
        return lambda: run(*arrays, out=out)

    return make


def _poly(x: Any) -> Any:
    x1 = x + x
    return x1 * x1 - x


def _elementwise(sizes: tuple[int, ...]) -> Iterator[Workload]:
    rng = np.random.default_rng(0)
    torch = _torch()
    for n in sizes:
        axis = ng.Axis("H", n)
        w, x, b = (rng.normal(size=n).astype(np.float32) for _ in range(3))
        engines = {
            OURS: _ours(lambda w, x, b: ng.tanh(w * x + b), [axis], [w, x, b]),
            "numpy": lambda w=w, x=x, b=b: lambda: np.tanh(w * x + b),
        }
        if torch:
            tensors = [torch.from_numpy(a) for a in (w, x, b)]
            engines["torch"] = lambda t=tensors: lambda: torch.tanh(t[0] * t[1] + t[2])
        yield Workload(f"tanh_{n}", engines)
        yield Workload(f"poly_{n}", {OURS: _ours(_poly, [axis], [x]), "numpy": lambda x=x: lambda: _poly(x)})


def _softmax(rows: int = 1024, columns: int = 256) -> Workload:
    x = np.random.default_rng(0).normal(size=(rows, columns)).astype(np.float32)
    axes = [ng.Axis("H", rows), ng.Axis("W", columns)]

    def in_numpy() -> Any:
        e = np.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    engines = {
        OURS: _ours(lambda p: ng.softmax(p, normalization_axes=[axes[1]]), axes, [x]),
        "numpy": lambda: in_numpy,
    }
    torch = _torch()
    if torch:
        tensor = torch.from_numpy(x)
        engines["torch"] = lambda: lambda: torch.softmax(tensor, 1)
    return Workload(f"softmax_{rows}x{columns}", engines)


def main() -> None:
    """Measure what the command line asks for."""
    chosen = options(__doc__ or "").parse_args()
    sizes = (chosen.size,) if chosen.size else SIZES
    measure([*_elementwise(sizes), _softmax()], chosen)


if __name__ == "__main__":
    main()
