# SPDX-License-Identifier: Apache-2.0
"""Matrices put into another order: rows become columns, by themselves or on the way to something else."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import both_torches, in_jax, in_numpy, in_ours, module, normal, task
from benchmarks.harness import OURS

SHAPES = ((1000, 1000), (2048, 2048), (64, 50176))


def tasks(size: int | None) -> Tasks:
    """``turned_MxN``, a transposed matrix, and ``across_MxN``, the relu of one and a row; or squares of `size`."""
    shapes = ((size, size),) if size else SHAPES
    found: dict[str, Callable[[], Task]] = {}
    for kind, shape in ((kind, shape) for kind in (_turned, _across) for shape in shapes):
        name = f"{kind.__name__[1:]}_{shape[0]}x{shape[1]}"
        found[name] = partial(kind, name, *shape)
    return found


def _turned(name: str, rows: int, columns: int) -> Task:
    """Whoever gives back another view of the same array is asked for a copy."""
    arrays, axes = [normal(rows, columns)], [ng.Axis("A", rows), ng.Axis("B", columns)]
    engines = {
        OURS: in_ours(lambda x: ng.axes_with_order(x, axes[::-1]), [axes], arrays),
        "numpy": in_numpy(lambda x: np.ascontiguousarray(x.T), arrays),
        "jax": in_jax(lambda x: module("jax.numpy").transpose(x), arrays),
        **both_torches(lambda x: x.t().contiguous(), arrays),
    }
    return task(name, lambda _, x: np.ascontiguousarray(x.T), arrays, engines, (), bytes=8 * rows * columns)


def _across(name: str, rows: int, columns: int) -> Task:
    arrays, axes = [normal(rows, columns), normal(rows, seed=1)], [ng.Axis("A", rows), ng.Axis("B", columns)]

    def function(xp: Any, x: Any, b: Any) -> Any:
        return xp.maximum(x.T + b, 0)

    engines = {
        OURS: in_ours(lambda x, b: ng.relu(ng.axes_with_order(x, axes[::-1]) + b), [axes, axes[:1]], arrays),
        **both_torches(lambda x, b: module("torch").relu(x.t() + b).contiguous(), arrays),
    }
    return task(name, function, arrays, engines, ("numpy", "jax"), bytes=8 * rows * columns)
