# SPDX-License-Identifier: Apache-2.0
"""Of few large matrices threads share what is done to each: the result is the same to the bit as of one thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.codegen import (
    library_blocked,
    library_blocks,
    library_divided,
    library_divided_singular,
    library_factors,
    library_panels,
    library_singular_values,
    library_spectra,
    library_tall,
    library_tall_factors,
    parting,
)

Array = np.ndarray[Any, Any]
_RENDERED = (
    library_blocked.render_blocked_qr,
    library_blocks.render_tridiagonal,
    library_divided.render_blocked_eigvalsh,
    library_divided.render_divided_eigh,
    library_divided_singular.render_divided_svd,
    library_factors.render_cholesky,
    library_factors.render_lu,
    library_panels.render_qr,
    library_singular_values.render_svd,
    library_spectra.render_eigh,
    library_tall.render_tall_svd,
    library_tall_factors.render_tall_qr,
)


@pytest.fixture(scope="module")
def shared() -> Iterator[None]:
    """Whatever can be shared out is, however soon it is done."""

    def forget() -> None:
        for render in _RENDERED:
            render.cache_clear()

    forget()
    with patch.multiple(parting, _WORTH=0, _WORTH_OFTEN=0):
        yield
    forget()


def results(op: str, x: Array, threads: int) -> Array:
    term = ng.placeholder(x.shape, x.dtype)
    with ng.make_transformer("cpu", threads=threads) as transformer:
        return np.asarray(transformer.computation(ng.make_op(f"semi.{op}", term), term)(x))


@pytest.mark.parametrize(
    ("op", "dtype", "n"),
    [
        # each kernel once, of one dtype or the other
        ("cholesky", "float64", 150), ("eigh", "float32", 90), ("eigh", "float64", 300), ("eigvalsh", "float32", 300),
        ("lu", "float32", 150), ("qr", "float64", 90), ("qr", "float32", 300), ("svd", "float32", 90),
        ("svd", "float64", 300), ("svdvals", "float64", 150), ("tall svd", "float32", 1021),
        ("tall svdvals", "float32", 300),
        # and of other lengths
        *[pytest.param(*case, marks=pytest.mark.sampled) for case in (
            ("eigh", "float32", 150), ("eigvalsh", "float64", 150), ("qr", "float64", 150), ("svd", "float32", 150),
            ("tall svd", "float32", 400), ("tall svd", "float64", 250), ("tall svd", "float64", 257),
        )],
    ],
)  # fmt: skip
def test_threads_share_a_matrix(shared: None, op: str, dtype: str, n: int) -> None:
    """Several panels, of which the last one is not full, and more columns than are worth a chunk."""
    x = np.random.default_rng(0).normal(size=(2, n, n)).astype(dtype)
    if op.startswith("tall"):
        op, x = op.removeprefix("tall "), x[:, :, : n // 3]
    elif op in ("qr", "svd", "svdvals"):
        x = x[:, :, : n - 10]
    if op == "cholesky":
        x = x @ np.swapaxes(x, 1, 2)
    found = results(op, x, 3)
    assert np.isfinite(found).all() and np.array_equal(found, results(op, x, 1))


def test_threads_share_blocks_of_rows(shared: None) -> None:
    x = np.random.default_rng(0).normal(size=(1, 5000, 5))
    found = results("qr", x, 3)
    assert np.isfinite(found).all() and np.array_equal(found, results("qr", x, 1))


@pytest.mark.parametrize("op", ["qr", "svd"])
def test_threads_take_little_memory_for_tall_matrices(op: str) -> None:
    """Of few columns there is not a tile for each thread."""
    x = ng.placeholder((1, 4000, 20), "float32")
    taken = []
    for threads in (1, 16):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            computation = transformer.computation(ng.make_op(f"semi.{op}", x), x)
            computation(np.ones(x.shape, np.float32))
            taken.append(computation.stats()["arena_bytes"])
    assert taken[1] < 1.5 * taken[0]
