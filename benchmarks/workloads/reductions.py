# SPDX-License-Identifier: Apache-2.0
"""Sums, maxima, means and places of maxima of matrices, along rows and along columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import both_torches, in_ours, module, normal, task
from benchmarks.harness import OURS

KINDS = ("sum", "max", "mean", "argmax")


def tasks(size: int | None) -> Tasks:
    """``KIND_row_S`` and ``KIND_column_S``: of 1024x1024 (``1k``) and of 8192x2048 (``8k``), or of `size` rows."""
    shapes = {f"{size}": (size, size)} if size else {"1k": (1024, 1024), "8k": (8192, 2048)}
    found: dict[str, Callable[[], Task]] = {}
    for (label, shape), kind, (axis, way) in product(shapes.items(), KINDS, ((1, "row"), (0, "column"))):
        name = f"{kind}_{way}_{label}"
        found[name] = partial(_reduction, name, kind, *shape, axis)
    return found


def _reduction(name: str, kind: str, rows: int, columns: int, axis: int) -> Task:
    arrays, axes = [normal(rows, columns)], [ng.Axis("A", rows), ng.Axis("B", columns)]

    def function(xp: Any, x: Any) -> Any:
        return getattr(xp, kind)(x, axis=axis)

    def in_torch(x: Any) -> Any:
        return module("torch").amax(x, axis) if kind == "max" else getattr(x, kind)(axis)

    engines = {
        OURS: in_ours(lambda x: getattr(ng, kind)(x, [axes[axis]]), [axes], arrays),
        **both_torches(in_torch, arrays),
    }
    return task(name, function, arrays, engines, ("numpy", "jax", "pytensor"), bytes=4 * rows * columns)
