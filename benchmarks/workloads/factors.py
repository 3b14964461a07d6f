# SPDX-License-Identifier: Apache-2.0
"""Factors of matrices, of many small ones and of one: what is computed by them is the same whatever signs they have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Task, Tasks
from benchmarks.engines import both_torches, in_ours, module, normal, task
from benchmarks.harness import OURS

SHAPES = ((1000, 16), (200, 64), (1, 512))


def tasks(size: int | None) -> Tasks:
    """``FUNCTION_BxN`` of B symmetric or general matrices of N rows; or of one of `size` rows."""
    shapes = ((1, size),) if size else SHAPES
    return {f"{name}_{b}x{n}": partial(_task, name, b, n) for name in FUNCTIONS for b, n in shapes}


def _cholesky(m: Any, x: Any) -> Any:
    return m.linalg.cholesky(x)


def _solve(m: Any, x: Any) -> Any:
    return m.linalg.solve(x, x[..., :1] + 1)


def _whitening(m: Any, x: Any) -> Any:
    values, vectors = m.linalg.eigh(x)
    return (vectors / m.sqrt(values)[..., None, :]) @ m.swapaxes(vectors, -1, -2)


def _polar(m: Any, x: Any) -> Any:
    """The nearest orthogonal matrix, by singular vectors."""
    u, _, v = m.linalg.svd(x, full_matrices=False)
    return u @ v


def _projection(m: Any, x: Any) -> Any:
    """Onto what half of the columns span, by orthogonal columns."""
    q, _ = m.linalg.qr(x[..., : x.shape[-1] // 2])
    return q @ m.swapaxes(q, -1, -2)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": _cholesky,
    "solve": _solve,
    "whitening": _whitening,
    "polar": _polar,
    "projection": _projection,
}


def _task(name: str, count: int, rows: int) -> Task:
    arrays, function = [_matrices(count, rows, name != "polar")], FUNCTIONS[name]
    engines = {
        OURS: in_ours(partial(function, ng.numpy), [(count, rows, rows)], arrays),
        **both_torches(lambda x: function(module("torch"), x), arrays),
    }
    return task(f"{name}_{count}x{rows}", function, arrays, engines, tolerance=1e-2)


def _matrices(count: int, rows: int, symmetric: bool) -> Array:
    """Products of normally distributed numbers with themselves, or such numbers: with more on the diagonal."""
    x, ones = normal(count, rows, rows, scale=rows**-0.5), np.eye(rows, dtype=np.float32)
    return x @ x.swapaxes(1, 2) + ones if symmetric else x + 3 * ones
