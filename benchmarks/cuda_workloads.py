# SPDX-License-Identifier: Apache-2.0
"""What is computed on a GPU: elementwise chains, rows, reductions and products, at sizes from a megabyte to a gigabyte.

Networks are in `benchmarks.cuda_networks`. Sizes are in names: bytes that have to be moved, or lengths.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import ngraph_rewrite as ng
from benchmarks.cuda_engines import GRAPH, Problem, Problems, normal, problem
from benchmarks.engines import module

EPS = 1e-5
BYTES = {"1MB": 10**6, "10MB": 10**7, "100MB": 10**8, "1GB": 10**9}
SQUARES = (1024, 4096, 8192)
SHAPES = ((128, 512, 784), (8192, 512, 784))
HALF = 1e-2  # the tolerance of bfloat16, relative to the largest number
SIZE_OF = {"float32": 4, "bfloat16": 2, "float64": 8}


def simple_problems(size: int | None, device: str) -> Problems:
    """All by name; `size` takes the place of the lengths that a name has."""
    return {**_calls(size, device), **_chains(size, device), **_row_problems(size, device), **_rest(size, device)}


def _calls(size: int | None, device: str) -> Problems:
    n = size or 1000
    return {
        "call": partial(_call, "call", n, False, device),
        "call_waited": partial(_call, "call_waited", n, True, device),
    }


def _chains(size: int | None, device: str) -> Problems:
    found, made = {}, (("tanh", _tanh, 16), ("poly", _poly, 8), ("copy", _copy, 8))
    for (label, total), (name, make, each) in product(BYTES.items(), made):
        found[f"{name}_{label}"] = partial(make, f"{name}_{label}", size or total // each, device)
    return found


def _row_problems(size: int | None, device: str) -> Problems:
    softmax = [(64, 1000, "float32"), (65536, 1024, "float32"), (8192, 16384, "float32"), (65536, 1024, "bfloat16")]
    layers = [(65536, 1024, "float32"), (8192, 8192, "float32"), (65536, 1024, "bfloat16")]
    found: dict[str, Any] = {}
    for kind, make, shapes in (("softmax", _softmax, softmax), ("layernorm", _layer_norm, layers)):
        for rows, columns, dtype in shapes:
            name = f"{kind}_{rows}x{columns}" + ("_bf16" if dtype == "bfloat16" else "")
            found[name] = partial(make, name, size or rows, size or columns, dtype, device)
    return {**found, "batchnorm": partial(_batch_norm, size or 64, device)}


def _rest(size: int | None, device: str) -> Problems:
    found: dict[str, Any] = {}
    for n, kind, (axis, way) in product((1024, 16384), ("sum", "max", "argmax"), ((1, "row"), (0, "column"))):
        name = f"{kind}_{way}_{n // 1024}k"
        found[name] = partial(_reduction, name, kind, size or n, axis, device)
    found["sum_all_1GB"] = partial(_sum_all, size or 250_000_000, device)
    squares = [(n, n, n) for n in SQUARES]
    for shape, dtype in product((*squares, *SHAPES), ("float32", "bfloat16")):
        name = "gemm_{}x{}x{}".format(*shape) + ("_bf16" if dtype == "bfloat16" else "")
        found[name] = partial(_gemm, name, *(size or n for n in shape), dtype, device)
    return found


# -- elementwise -------------------------------------------------------------------------------------------------------


def _call(name: str, n: int, waits: bool, device: str) -> Problem:
    """One kernel over few numbers: what is measured is the call, or the call and the way back."""

    def function(x: Any, y: Any) -> Any:
        return x + x * y

    axis = [ng.Axis("H", n)]
    return problem(
        name,
        [axis, axis],
        lambda: [normal(device, n, seed=i) for i in range(2)],
        function,
        function,
        device,
        cupy=lambda _, x, y: function(x, y),
        mode=GRAPH,
        waits=waits,
    )


def _tanh(name: str, n: int, device: str) -> Problem:
    axis = [ng.Axis("H", n)]
    return problem(
        name,
        [axis] * 3,
        lambda: [normal(device, n, seed=i) for i in range(3)],
        lambda w, x, b: ng.tanh(w * x + b),
        lambda w, x, b: module("torch").tanh(w * x + b),
        device,
        cupy=lambda cp, w, x, b: cp.tanh(w * x + b),
        bytes=16 * n,
    )


def _poly(name: str, n: int, device: str) -> Problem:
    def function(x: Any) -> Any:
        twice = x + x
        return twice * twice - x

    return problem(
        name,
        [[ng.Axis("H", n)]],
        lambda: [normal(device, n)],
        function,
        function,
        device,
        cupy=lambda _, x: function(x),
        bytes=8 * n,
    )


def _copy(name: str, n: int, device: str) -> Problem:
    """Nothing but the way to memory and back: what a map of as many bytes can reach."""
    return problem(
        name,
        [[ng.Axis("H", n)]],
        lambda: [normal(device, n)],
        lambda x: x,
        lambda x: x.clone(),
        device,
        cupy=lambda _, x: x.copy(),
        bytes=8 * n,
    )


# -- rows --------------------------------------------------------------------------------------------------------------


def _softmax(name: str, rows: int, columns: int, dtype: str, device: str) -> Problem:
    def in_cupy(cp: Any, x: Any) -> Any:
        e = cp.exp(x - cp.max(x, axis=1, keepdims=True))
        return e / cp.sum(e, axis=1, keepdims=True)

    return problem(
        name,
        [[ng.Axis("N", rows), ng.Axis("C", columns)]],
        lambda: [normal(device, rows, columns, dtype=dtype)],
        lambda x: ng.softmax(x, normalization_axes=["C"]),
        lambda x: module("torch").softmax(x, 1),
        device,
        cupy=in_cupy if dtype != "bfloat16" else None,
        bytes=2 * SIZE_OF[dtype] * rows * columns,
        tolerance=HALF if dtype == "bfloat16" else 1e-4,
    )


def _layer_norm(name: str, rows: int, columns: int, dtype: str, device: str) -> Problem:
    n, c = ng.Axis("N", rows), ng.Axis("C", columns)

    def in_torch(x: Any, gamma: Any, beta: Any) -> Any:
        return module("torch").nn.functional.layer_norm(x, [columns], gamma, beta, EPS)

    return problem(
        name,
        [[n, c], [c], [c]],
        lambda: [
            normal(device, *shape, seed=i, dtype=dtype) for i, shape in enumerate([(rows, columns), *[(columns,)] * 2])
        ],
        lambda x, g, b: ng.layer_norm(x, g, b, ["C"], EPS),
        in_torch,
        device,
        bytes=2 * SIZE_OF[dtype] * rows * columns,
        tolerance=HALF if dtype == "bfloat16" else 1e-4,
    )


def _batch_norm(batch: int, device: str) -> Problem:
    """Training: the mean and the variance are results too."""
    axes = [ng.Axis("N", batch), ng.Axis("C", 64), ng.Axis("H", 56), ng.Axis("W", 56)]

    def ours(x: ng.Op, gamma: ng.Op, beta: ng.Op) -> tuple[ng.Op, ...]:
        return ng.batch_norm(x, gamma, beta, eps=EPS), *ng.batch_statistics(x, ["N", "H", "W"])

    def in_torch(x: Any, gamma: Any, beta: Any) -> Any:
        """Torch gives back one over the root of the variance."""
        y, mean, scale = module("torch").native_batch_norm(x, gamma, beta, None, None, True, 0.1, EPS)
        return y, mean, 1 / (scale * scale) - EPS

    return problem(
        "batchnorm",
        [axes, axes[1:2], axes[1:2]],
        lambda: [normal(device, batch, 64, 56, 56), normal(device, 64, seed=1), normal(device, 64, seed=2)],
        ours,
        in_torch,
        device,
        bytes=8 * batch * 64 * 56 * 56,
    )


# -- reductions and products -------------------------------------------------------------------------------------------


def _reduction(name: str, kind: str, n: int, axis: int, device: str) -> Problem:
    axes = [ng.Axis("A", n), ng.Axis("B", n)]

    def in_torch(x: Any) -> Any:
        return module("torch").amax(x, axis) if kind == "max" else getattr(x, kind)(axis)

    return problem(
        name,
        [axes],
        lambda: [normal(device, n, n)],
        lambda x: getattr(ng, kind)(x, [axes[axis]]),
        in_torch,
        device,
        cupy=lambda cp, x: getattr(cp, kind)(x, axis=axis),
        bytes=4 * n * n,
    )


def _sum_all(n: int, device: str) -> Problem:
    return problem(
        "sum_all_1GB",
        [[ng.Axis("A", n)]],
        lambda: [normal(device, n)],
        lambda x: ng.sum(x, out_axes=[]),
        lambda x: x.sum(),
        device,
        cupy=lambda cp, x: cp.sum(x),
        bytes=4 * n,
    )


def _gemm(name: str, m: int, n: int, k: int, dtype: str, device: str) -> Problem:
    rows, columns, inner = ng.Axis("M", m), ng.Axis("C", n), ng.Axis("K", k)
    return problem(
        name,
        [[rows, inner], [inner, columns]],
        lambda: [normal(device, m, k, dtype=dtype), normal(device, k, n, seed=1, dtype=dtype)],
        ng.dot,
        lambda x, y: x @ y,
        device,
        cupy=(lambda _, x, y: x @ y) if dtype != "bfloat16" else None,
        mode=None,
        flops=2 * m * n * k,
        dtype=dtype,
        tolerance=HALF if dtype == "bfloat16" else 1e-4,
    )
