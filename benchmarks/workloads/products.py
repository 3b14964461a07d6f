# SPDX-License-Identifier: Apache-2.0
"""Products of matrices of the shapes that networks have, and of large squares."""

from __future__ import annotations

from functools import partial
from typing import Any

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import in_ours, in_torch, normal, task
from benchmarks.harness import OURS

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
)


def tasks(size: int | None) -> Tasks:
    """``gemm_MxNxK``: the product of MxK and KxN."""
    shapes = [(size, size, size)] if size else SHAPES
    return {"gemm_{}x{}x{}".format(*shape): partial(_gemm, *shape) for shape in shapes}


def _gemm(m: int, n: int, k: int) -> Task:
    arrays = [normal(m, k), normal(k, n, seed=1)]
    rows, columns, inner = ng.Axis("M", m), ng.Axis("C", n), ng.Axis("K", k)

    def function(_: Any, x: Any, y: Any) -> Any:
        return x @ y

    engines = {
        OURS: in_ours(ng.dot, [[rows, inner], [inner, columns]], arrays),
        "torch": in_torch(lambda x, y: x @ y, arrays),
    }
    return task(f"gemm_{m}x{n}x{k}", function, arrays, engines, flops=2 * m * n * k)
