# SPDX-License-Identifier: Apache-2.0
"""Vectors of large matrices, whose tridiagonal or bidiagonal form a CPU divides: as exact as those of an iteration."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.codegen import library_divided_singular, library_joining
from ngraph_rewrite.plan.spectral_calls import BLOCKED_VALUES, DIVIDED
from tests.ops.hard_matrices import check_eigenvectors, check_singular_vectors, hard
from tests.programs import drawn

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64"]


@pytest.fixture(scope="module")
def cpu() -> Any:
    with ng.make_transformer("cpu") as transformer:
        yield transformer


def run(transformer: ng.Transformer, op: str, x: Array) -> Array:
    term = ng.placeholder(x.shape, x.dtype)
    return np.asarray(transformer.computation(ng.make_op(f"semi.{op}", term), term)(x))


@pytest.mark.parametrize(("dtype", "n"), [("float32", 131), ("float64", DIVIDED + 5)])
def test_vectors_are_orthogonal_and_values_those_of_lapack(cpu: ng.Transformer, dtype: str, n: int) -> None:
    """Two pieces or four on each side, all as long as one another or not; columns fewer than rows."""
    x = hard(dtype, n)
    check_eigenvectors(x, run(cpu, "eigh", x))
    check_singular_vectors(x, run(cpu, "svd", x))
    check_singular_vectors(x[:, :, : n - 5], run(cpu, "svd", x[:, :, : n - 5]))


# Numbers of a tridiagonal matrix: alike, next to alike, next to nothing beside others.
NUMBERS = st.lists(st.sampled_from([0.0, 1.0, -1.0, 2.0, 1e-4, 1e-8, 1e-16, 1e-30, 1 + 2e-7, 1 + 2e-16]), min_size=1)


@drawn(60)
@given(st.integers(DIVIDED, 150), NUMBERS, NUMBERS, st.sampled_from(DTYPES), st.booleans())
def test_any_tridiagonal_and_any_bidiagonal_matrix(
    cpu: ng.Transformer, n: int, diagonal: list[float], beside: list[float], dtype: str, is_shaken: bool
) -> None:
    """Few numbers in turn: many values are alike, or next to, and vectors are zero in places."""
    d, e = np.resize(diagonal, n), np.resize(beside, n - 1)
    if is_shaken:
        d = d * (1 + np.random.default_rng(0).normal(size=n) * 1e-6)
    x = (np.diag(d) + np.diag(e, -1))[None].astype(dtype)
    check_eigenvectors(x, run(cpu, "eigh", x))
    x = (np.diag(d) + np.diag(e, 1))[None].astype(dtype)
    check_singular_vectors(x, run(cpu, "svd", x))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_gives_nan_and_nothing_else_does(cpu: ng.Transformer, value: float) -> None:
    x = np.random.default_rng(0).normal(size=(3, DIVIDED, DIVIDED))
    x[0, 95, 1], x[2, 1, 95] = value, value  # the upper triangle is not read for eigenvalues
    for op in ("eigh", "svd"):
        finite = np.isfinite(run(cpu, op, x)).reshape(3, -1)
        assert finite.all(1).tolist() == [False, True, op == "eigh"] and not finite[0].any()


def test_what_does_not_converge_is_nan(cpu: ng.Transformer) -> None:
    x = np.random.default_rng(0).normal(size=(2, DIVIDED, DIVIDED)).astype("float32")
    x[1] = np.diag(np.arange(DIVIDED))
    made = {"eigh": library_joining.render_pieces, "svd": library_divided_singular.render_bidiagonal_pieces}
    try:
        with patch.object(library_joining, "STEPS", 0), patch.object(library_divided_singular, "STEPS", 0):
            for render in made.values():
                render.cache_clear()
            found = {op: run(cpu, op, x) for op in made}
    finally:
        for render in made.values():
            render.cache_clear()
    assert all(np.isnan(of_op[0]).all() for of_op in found.values())
    assert np.array_equal(found["eigh"][1, -1], np.arange(DIVIDED))
    assert np.array_equal(found["svd"][1, DIVIDED], np.arange(DIVIDED)[::-1])


def test_what_counts_for_nothing_in_the_whole_matrix_is_not_iterated(cpu: ng.Transformer) -> None:
    """A matrix of rank 2 has pieces of rounding errors alone, products of which may be too small for any number."""
    x = np.add.outer(np.arange(131), np.arange(126))[None] % 2.0
    check_singular_vectors(x, run(cpu, "svd", x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_left_of_a_matrix_of_rank_one_is_soon_zero(cpu: ng.Transformer, dtype: str) -> None:
    """Rounding errors of rounding errors became subnormal numbers, with which 400 rows took 950 ms, not 47."""
    values = run(cpu, "svd", np.ones((1, 140, 120), dtype))[0, 140]
    assert np.sum((values > 0) & (values < np.finfo(dtype).tiny)) < 5


def test_matrices_that_lie_in_another_order_are_read_as_they_lie(cpu: ng.Transformer) -> None:
    x = np.random.default_rng(0).normal(size=(2, 110, 110))
    term = ng.placeholder(x.shape, x.dtype)
    for op in ("eigh", "svd"):
        turned = ng.make_op(f"semi.{op}", ng.numpy.matrix_transpose(term))
        found = cpu.computation(turned, term)(x)
        np.testing.assert_array_equal(found, run(cpu, op, np.swapaxes(x, 1, 2).copy()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_alone_are_the_same_but_for_rounding(cpu: ng.Transformer, dtype: str) -> None:
    x = hard(dtype, 100)[:-2]  # the last ones are of other sizes
    for op, alone, row in (("eigh", "eigvalsh", -1), ("svd", "svdvals", 100)):
        wanted, values = run(cpu, alone, x), run(cpu, op, x)[:, row]
        assert np.all(np.abs(wanted - values) <= 108 * np.finfo(dtype).eps * np.abs(wanted).max(1, keepdims=True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_alone_of_large_matrices_are_those_of_lapack(cpu: ng.Transformer, dtype: str) -> None:
    """The upper triangles are not read; one with a NaN has NaN only."""
    n = BLOCKED_VALUES + 5
    x = hard(dtype, n)
    scale = np.abs(x).max((1, 2), keepdims=True).astype("float64")
    lower = np.tril(x) / np.where(scale == 0, 1, scale)
    wanted = np.linalg.eigvalsh(lower + np.swapaxes(np.tril(lower, -1), 1, 2))
    found = run(cpu, "eigvalsh", x) / np.where(scale == 0, 1, scale)[:, 0]
    close = (8 + n) * np.finfo(dtype).eps * np.abs(wanted).max(1, keepdims=True)
    assert np.all(np.diff(found) >= 0) and np.all(np.abs(found - wanted) <= close)
    x = x[:3].copy()
    x[0, 7, n - 1], x[1, n - 1, 7] = np.nan, np.nan
    np.testing.assert_array_equal(np.isnan(run(cpu, "eigvalsh", x)).sum(1), [0, n, 0])
