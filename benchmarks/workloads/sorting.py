# SPDX-License-Identifier: Apache-2.0
"""Sorted rows, from a single one to a hundred thousand short ones, and where their elements stood before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import both_torches, in_ours, module, normal, task
from benchmarks.harness import OURS

SHAPES = ((1, 1_000_000), (1000, 1000), (100_000, 10))


def tasks(size: int | None) -> Tasks:
    """``sort_MxN`` and ``argsort_MxN``, which keeps equal ones in order; or one row of `size`."""
    shapes = ((1, size),) if size else SHAPES
    found: dict[str, Callable[[], Task]] = {}
    for kind, shape in ((kind, shape) for kind in ("sort", "argsort") for shape in shapes):
        name = f"{kind}_{shape[0]}x{shape[1]}"
        found[name] = partial(_sorted, name, kind, *shape)
    return found


def _sorted(name: str, kind: str, rows: int, columns: int) -> Task:
    arrays, axes = [normal(rows, columns)], [(rows, columns)]
    stable = {"stable": True} if kind == "argsort" else {}

    def in_torch(x: Any) -> Any:
        found = module("torch").sort(x, dim=1, stable=kind == "argsort")
        return found.values if kind == "sort" else found.indices

    engines = {
        OURS: in_ours(lambda x: getattr(ng.numpy, kind)(x, axis=1), axes, arrays),
        **both_torches(in_torch, arrays),
    }
    return task(name, lambda xp, x: getattr(xp, kind)(x, axis=1, **stable), arrays, engines, ("numpy", "jax"))
