# SPDX-License-Identifier: Apache-2.0
"""Matrices on which a plain iteration for eigenvalues would fail, and what is right of their vectors.

Vectors are orthogonal and give the matrix back, and values are those of LAPACK in float64, to some units in the last
place of the largest value times the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def orthogonal(n: int, seed: int) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0]


def of_values(values: Callable[[int], Array], symmetric: bool = True) -> Callable[[int], Array]:
    def made(n: int) -> Array:
        left = orthogonal(n, 0)
        return (left * values(n)) @ (left if symmetric else orthogonal(n, 1)).T

    return made


def graded(n: int, rows: int, columns: int) -> Array:
    """Each row, and column, some powers of ten smaller or larger than the one before."""
    steps = np.arange(n) - n / 2
    return 10.0 ** (rows * steps)[:, None] * np.random.default_rng(2).normal(size=(n, n)) * 10.0 ** (columns * steps)


def _exponents(n: int) -> Array:
    return np.random.default_rng(4).uniform(-30, 0, (n, n))


def _pair(n: int) -> Array:
    return np.eye(n, k=1) * (np.arange(n) == 0)[:, None] + np.eye(n, k=-1) * (np.arange(n) == 0)


def _far(n: int) -> Array:
    """Powers of ten of columns that are so far apart that squares of quotients are out of range in float32."""
    return np.where(np.arange(n) == 1, 0, 24 + np.arange(n) * 1.0)


HARD: dict[str, Callable[[int], Array]] = {
    "normal": lambda n: np.random.default_rng(3).normal(size=(n, n)),
    "zero": lambda n: np.zeros((n, n)),
    "identity": np.eye,
    "diagonal": lambda n: np.diag(np.arange(n) % 4 - 1.5),
    "of rank one": lambda n: np.ones((n, n)),
    "repeated": of_values(lambda n: np.arange(n) // 4 - 1.0),
    "repeated, not symmetric": of_values(lambda n: np.arange(n) // 4 + 0.0, symmetric=False),
    "in a cluster": of_values(lambda n: 1 + 1e-7 * np.arange(n)),
    "of little rank": of_values(lambda n: np.maximum(np.arange(n) - n + 3.0, 0)),
    "of little rank, not symmetric": of_values(lambda n: np.maximum(np.arange(n) - n + 3.0, 0), symmetric=False),
    "of many orders": of_values(lambda n: 10.0 ** -np.arange(n)),
    "graded down": lambda n: graded(n, -1, -1),
    "graded up": lambda n: graded(n, 1, 1),
    "graded rows": lambda n: graded(n, 1, 0),
    "graded columns": lambda n: graded(n, 0, 1),
    "of any size": lambda n: np.random.default_rng(4).normal(size=(n, n)) * 10.0 ** _exponents(n),
    "next to nothing beside a pair": lambda n: _pair(n) + 1e-25 * np.random.default_rng(5).normal(size=(n, n)),
    "next to nothing in a row": lambda n: np.random.default_rng(6).normal(size=(n, n)) * 10.0 ** -_far(n),
    "Wilkinson's": lambda n: np.diag(np.abs(np.arange(n) - n // 2) + 0.0) + np.eye(n, k=1) + np.eye(n, k=-1),
    "Kahan's": lambda n: np.eye(n) - np.tri(n, k=-1),
    "nilpotent": lambda n: np.eye(n, k=1),
    "with a zero on its diagonal": lambda n: np.diag(np.abs(np.arange(n) - n // 2) + 0.0) + np.eye(n, k=1),
    "a checkerboard": lambda n: (np.add.outer(np.arange(n), np.arange(n)) % 2) + 0.0,
}  # fmt: skip
SCALES = {"float32": [2.0**100, 2.0**-120], "float64": [2.0**1000, 2.0**-1000]}


def hard(dtype: str, n: int) -> Array:
    """All of n rows, and some of a size whose squares are out of range; none has subnormal numbers that count."""
    made = [function(n) for function in HARD.values()]
    made = [x / max(1.0, np.abs(x).max()) for x in made]
    return np.stack(made + [made[0] * scale for scale in SCALES[dtype]]).astype(dtype)


def bounds(x: Array, sizes: Array) -> tuple[float, Array]:
    """How far vectors may be from orthogonal ones, and values and products from what they should be."""
    unit = float(np.finfo(x.dtype).eps) * (8 + x.shape[1])
    return unit, unit * sizes


def check_eigenvectors(x: Array, found: Array) -> None:
    """Check eigenvectors of symmetric matrices, of which the lower triangles count, over their values."""
    found = found.astype("float64")
    vectors, values = found[:, :-1], found[:, -1]
    scale = np.abs(x).max((1, 2)).astype("float64")
    scale[scale == 0] = 1
    lower = np.tril(x).astype("float64") / scale[:, None, None]
    full = lower + np.swapaxes(np.tril(lower, -1), 1, 2)
    wanted, values = np.linalg.eigvalsh(full), values / scale[:, None]
    unit, close = bounds(x, np.abs(wanted).max(1))
    assert np.all(np.diff(values) >= 0)
    assert np.all(np.abs(np.swapaxes(vectors, 1, 2) @ vectors - np.eye(x.shape[1])) <= unit)
    assert np.all(np.abs(full @ vectors - vectors * values[:, None]) <= close[:, None, None])
    assert np.all(np.abs(values - wanted) <= close[:, None])
    assert np.all(first_large(vectors) > 0)


def check_singular_vectors(x: Array, found: Array) -> None:
    """Check singular vectors U of matrices over their values, over V."""
    m, n = x.shape[1:]
    found = found.astype("float64")
    scale = np.abs(x).max((1, 2)).astype("float64")
    scale[scale == 0] = 1
    u, s, v = found[:, :m], found[:, m] / scale[:, None], found[:, m + 1 :]
    full = x.astype("float64") / scale[:, None, None]
    wanted = np.linalg.svdvals(full)
    unit, close = bounds(x, wanted.max(1))
    assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
    for vectors in (u, v):
        assert np.all(np.abs(np.swapaxes(vectors, 1, 2) @ vectors - np.eye(n)) <= unit)
    assert np.all(np.abs((u * s[:, None]) @ np.swapaxes(v, 1, 2) - full) <= close[:, None, None])
    assert np.all(np.abs(s - wanted) <= close[:, None])
    assert np.all(first_large(u) > 0)


def first_large(vectors: Array) -> Array:
    """Of each column the first element that is larger than 5/8 of its largest one."""
    sizes = np.abs(vectors)
    first = np.argmax(sizes > 0.625 * sizes.max(1, keepdims=True), axis=1)
    return np.take_along_axis(vectors, first[:, None], 1)
