# SPDX-License-Identifier: Apache-2.0
"""Rows that are looked up in a table, a step down their slopes, and a buffer that a loop fills row by row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Task, Tasks
from benchmarks.engines import both_torches, in_jax, in_ours, module, normal, task
from benchmarks.harness import OURS

WIDTH, LOOKED_UP = 64, 1000


def tasks(size: int | None) -> Tasks:
    """``lookup_step`` in a table of 200,000 rows, ``filled_rows`` of 2000; `size` is the number of rows."""
    return {"lookup_step": partial(_step, size or 200_000), "filled_rows": partial(_filled, size or 2000)}


def _step(rows: int) -> Task:
    """A table without a tenth of the slopes of the squares of some rows of it, of which a few are the same."""
    arrays = [normal(rows, WIDTH), np.random.default_rng(1).integers(0, rows, LOOKED_UP)]

    def in_numpy(_: Any, table: Array, index: Array) -> Array:
        found = table.copy()
        np.subtract.at(found, index.astype(np.int64), 0.2 * table[index.astype(np.int64)])
        return found

    def build(table: ng.Op, index: ng.Op) -> ng.Op:
        return table - 0.1 * ng.deriv(ng.numpy.sum(ng.numpy.square(ng.numpy.take(table, index, axis=0))), table)

    def in_torch(table: Any, index: Any) -> Any:
        return table.index_add(0, index, table[index], alpha=-0.2)

    engines = {
        OURS: in_ours(build, [(rows, WIDTH), (LOOKED_UP,)], arrays),
        "jax": in_jax(lambda table, index: table.at[index].add(-0.2 * table[index]), arrays),
        **both_torches(in_torch, arrays),
    }
    return task("lookup_step", in_numpy, arrays, engines, ("numpy",))


def _filled(rows: int) -> Task:
    """A state is put into a buffer at the number of each step, and is then its own hyperbolic tangent."""
    arrays = [normal(rows, WIDTH), normal(WIDTH)]

    def in_numpy(_: Any, buffer: Array, state: Array) -> list[Array]:
        buffer = buffer.copy()
        for t in range(rows):
            buffer[t] = state
            state = np.tanh(state)
        return [buffer, state]

    def build(buffer: ng.Op, state: ng.Op) -> list[ng.Op]:
        nx = ng.numpy
        found, _ = nx.scan(
            lambda s, t: ((nx.at(s[0])[t].set(s[1]), nx.tanh(s[1])), None), (buffer, state), nx.arange(rows)
        )
        return list(found)

    def in_jax_scan(buffer: Any, state: Any) -> Any:
        jax = module("jax")
        return jax.lax.scan(
            lambda s, t: ((s[0].at[t].set(s[1]), jax.numpy.tanh(s[1])), None), (buffer, state), jax.numpy.arange(rows)
        )[0]

    engines = {
        OURS: in_ours(build, [(rows, WIDTH), (WIDTH,)], arrays, out=False),
        "jax": in_jax(in_jax_scan, arrays),
    }
    # thousands of tangents of each other: each engine rounds in its own way
    return task("filled_rows", in_numpy, arrays, engines, ("numpy",), tolerance=1e-3)
