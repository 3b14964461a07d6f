# SPDX-License-Identifier: Apache-2.0
"""Products of matrices of the shapes that networks have, of large squares, and of what is kept in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Made, Task, Tasks
from benchmarks.engines import Make, both_torches, in_ours, in_torch, module, normal, task
from benchmarks.harness import OURS
from ngraph_rewrite.types.dtypes import BFLOAT16, FLOAT16, DType

SHAPES = (
    (8, 512, 512),
    (32, 512, 128),
    (128, 10, 512),
    (128, 512, 512),
    (128, 512, 784),
    (784, 512, 128),
    (512, 512, 512),
    (1024, 768, 256),
    (1024, 1024, 1024),
    (16, 4096, 4096),
)
INTEGERS = (512, 512, 512)
LINEAR = ((128, 512, 784), (16, 4096, 4096), (4, 512, 512), (4, 3072, 768))
TURNED = ((1, 3072, 768), (1, 4096, 4096), (4, 4096, 4096))
VECTORS, PIXELS = ((1000, 1, 1000), (1024, 1, 2048)), (1080 * 1920, 1, 3)
BFLOATS = ((512, 512, 512), (128, 512, 784), (2048, 2048, 2048))
HALVES, SCALED, WEIGHTS = (512, 512, 512), (16, 4096, 4096), ((128, 3072, 768), (1, 1024, 1024))


def tasks(size: int | None) -> Tasks:
    """``gemm_MxNxK``: the product of MxK and KxN; ``linear_``: of MxK and what lies as NxK; ``vector_``: of what lies
    as KxM and a vector; ``pixels_``: of a few columns and a vector.

    ``halves_``: of float16; ``bfloats_``: of bfloat16, and ``bfloat_linear_`` of what lies as NxK; ``int32_``,
    ``int64_``; ``quantized_``: of int8, summed in int32; ``scaled_``: the second factor is int8, with a factor for each
    column; ``weights_``: of int8 less a zero point, and of int8 that are known, summed in int32, with a factor for each
    column.
    """
    kinds = {"gemm": (_gemm, SHAPES), "linear": (_linear, LINEAR), "halves": (_halves, [HALVES])}
    kinds["bfloats"] = partial(_halves, dtype=BFLOAT16), BFLOATS
    kinds["bfloat_linear"] = partial(_halves, dtype=BFLOAT16, turned=True), TURNED
    kinds |= {
        "scaled": (_scaled, [SCALED]),
        "weights": (_weights, WEIGHTS),
        "vector": (_vector, VECTORS),
        "pixels": (_gemm, [PIXELS]),
    }
    for name, dtypes in (
        ("int32", ("int32", "int32")),
        ("int64", ("int64", "int64")),
        ("quantized", ("int8", "int32")),
    ):
        kinds[name] = (partial(_integers, dtypes=dtypes), [INTEGERS])
    return {
        "{}_{}x{}x{}".format(kind, *shape): partial(make, "{}_{}x{}x{}".format(kind, *shape), *shape)
        for kind, (make, shapes) in kinds.items()
        for shape in ([(size, size, size)] if size else shapes)
    }


def _gemm(name: str, m: int, n: int, k: int) -> Task:
    return _product(name, (m, n, k), [normal(m, k), normal(k, n, seed=1)], lambda _, x, y: x @ y)


def _linear(name: str, m: int, n: int, k: int) -> Task:
    return _product(name, (m, n, k), [normal(m, k), normal(n, k, seed=1)], lambda _, x, y: x @ y.T)


def _vector(name: str, m: int, n: int, k: int) -> Task:
    return _product(name, (m, n, k), [normal(k, m), normal(k, n, seed=1)], lambda _, x, y: x.T @ y)


def _halves(name: str, m: int, n: int, k: int, dtype: DType = FLOAT16, turned: bool = False) -> Task:
    arrays = [x.astype(dtype) for x in (normal(m, k), normal(*((n, k) if turned else (k, n)), seed=1))]
    tolerance = 1e-3 if dtype == FLOAT16 else 1e-2
    return _product(name, (m, n, k), arrays, lambda _, x, y: x @ (y.T if turned else y), tolerance=tolerance)


def _integers(name: str, m: int, n: int, k: int, dtypes: tuple[str, str]) -> Task:
    """Of integers of the first dtype, summed in the second one."""
    kept, summed = dtypes
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-127, 128, s).astype(kept) for s in ((m, k), (k, n))]

    def function(np: Any, x: Any, y: Any) -> Any:
        return x.astype(summed) @ y.astype(summed)

    def ours(x: ng.Op, y: ng.Op) -> ng.Op:
        return ng.cast(x, dtype=summed) @ ng.cast(y, dtype=summed)

    engines = {OURS: _ours(ours, arrays)}
    if kept == "int8":
        engines["torch"] = in_torch(lambda x, y: module("torch")._int_mm(x, y), arrays)
    return task(name, function, arrays, engines, flops=2 * m * n * k)


def _weights(name: str, m: int, n: int, k: int) -> Task:
    rng, zero = np.random.default_rng(1), 5
    x, w = (rng.integers(-127, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    scale, sums = normal(n, seed=2), w.sum(0, dtype=np.int32)

    def function(np: Any, x: Any) -> Any:
        return ((x.astype(np.int32) - zero) @ w.astype(np.int32)).astype(np.float32) * scale

    def ours(x: ng.Op) -> ng.Op:
        return ng.cast((ng.cast(x, dtype="int32") - zero) @ w.astype(np.int32), dtype="float32") * scale

    def make() -> Made:
        torch = module("torch")
        weights, taken, factor = map(torch.from_numpy, (w, zero * sums, scale))
        return in_torch(lambda x: (torch._int_mm(x, weights) - taken).float() * factor, [x])()

    return task(name, function, [x], {OURS: _ours(ours, [x]), "torch": make}, flops=2 * m * n * k)


def _scaled(name: str, m: int, n: int, k: int) -> Task:
    weights = np.random.default_rng(1).integers(-127, 128, (k, n)).astype(np.int8)
    arrays = [normal(m, k), weights, normal(n, seed=2)]

    def function(np: Any, x: Any, w: Any, s: Any) -> Any:
        return x @ (w.astype(x.dtype) * s)

    def ours(x: ng.Op, w: ng.Op, s: ng.Op) -> ng.Op:
        return x @ (ng.cast(w, dtype="float32") * s)

    torchs = both_torches(lambda x, w, s: x @ (w.to(x.dtype) * s), arrays)
    return task(name, function, arrays, {OURS: _ours(ours, arrays), **torchs}, flops=2 * m * n * k)


def _product(
    name: str, sizes: tuple[int, int, int], arrays: list[Array], function: Callable[..., Any], **rest: Any
) -> Task:
    m, n, k = sizes
    engines = {
        OURS: _ours(lambda *a: function(ng.numpy, *a), arrays),
        "torch": in_torch(lambda *a: function(None, *a), arrays),
    }
    return task(name, function, arrays, engines, flops=2 * m * n * k, **rest)


def _ours(build: Callable[..., Any], arrays: list[Array]) -> Make:
    return in_ours(build, [ng.anonymous(a.shape) for a in arrays], arrays)
