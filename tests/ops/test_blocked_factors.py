"""Factors Q and R of matrices with many rows, whose columns a CPU reflects by blocks of reflections, or of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.plan.factor_calls import BLOCKED
from tests.ops.hard_matrices import hard
from tests.programs import drawn

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64"]


@pytest.fixture(scope="module")
def cpu() -> Any:
    with ng.make_transformer("cpu") as transformer:
        yield transformer


def run(transformer: ng.Transformer, x: Array) -> Array:
    term = ng.placeholder(x.shape, x.dtype)
    return np.asarray(transformer.computation(ng.make_op("semi.qr", term), term)(x))


def check_factors(x: Array, found: Array, wide: str = "float64") -> None:
    """Q has orthogonal columns, R is a triangle, and each column of their product is that of x, to its own size."""
    m, n = x.shape[1:]
    found, exact = found.astype(wide), x.astype(wide)
    q, r = found[:, :m], found[:, m:]
    unit = float(np.finfo(x.dtype).eps) * (8 + n + np.sqrt(m))
    most = np.abs(exact).max(1, keepdims=True)
    scale = most * np.linalg.norm(exact / np.where(most == 0, 1, most), axis=1)[:, None]
    nothing = 4 * (n + m) * np.finfo(x.dtype).smallest_subnormal.astype("float64")
    assert not np.tril(r, -1).any()
    assert np.all(np.abs(np.swapaxes(q, 1, 2) @ q - np.eye(n)) <= unit)
    assert np.all(np.abs(q @ r - exact) <= unit * scale + nothing)


@pytest.mark.parametrize(("dtype", "n"), [("float32", 131), ("float64", BLOCKED + 5)])
def test_hard_matrices(cpu: ng.Transformer, dtype: str, n: int) -> None:
    """Graded, of little rank, with columns of zeros, alike, of sizes whose squares are out of range."""
    x = hard(dtype, n)
    check_factors(x, run(cpu, x))
    check_factors(x[:, :, : n - 60], run(cpu, x[:, :, : n - 60]))
    check_factors(x[:, :, :9], run(cpu, x[:, :, :9]), wide="longdouble")


@drawn(40)
@given(st.integers(1, 3), st.integers(BLOCKED, 400), st.integers(0, 48), st.sampled_from(DTYPES), st.integers(0, 99))
def test_any_number_of_panels(cpu: ng.Transformer, count: int, m: int, n: int, dtype: str, seed: int) -> None:
    """Whole ones, one of up to sixteen columns, and no column at all; columns of zeros and of any size."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, m, n)) * 10.0 ** generator.choice([-20, 0, 0, 0, 15, -400], size=(count, 1, n))
    x[:, generator.integers(1, m) :, : seed % 5] = 0
    check_factors(x.astype(dtype), run(cpu, x.astype(dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [[0, 0, 1, 0], [3, 2, 3, 3, 1, 0, 1, 2], [*range(20), *range(20)]])
def test_columns_that_others_equal(cpu: ng.Transformer, dtype: str, columns: list[int]) -> None:
    """What is left of one is rounding errors, which are reflected as they are stored."""
    x = np.random.default_rng(0).normal(size=(2, 100, 20))[:, :, columns].astype(dtype)
    check_factors(x, run(cpu, x))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen_in_its_matrix_alone(cpu: ng.Transformer, value: float) -> None:
    x = np.random.default_rng(0).normal(size=(2, 120, 40))
    x[0, 100, 20] = value
    found = run(cpu, x)
    assert not np.isfinite(found[0]).all() and np.isfinite(found[1]).all()
    np.testing.assert_array_equal(found[1:], run(cpu, x[1:]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_signs_are_those_of_lapack(cpu: ng.Transformer, dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(2, 150, 70)).astype(dtype)
    found, close = run(cpu, x), 1e-3 if dtype == "float32" else 1e-11
    for one, own in zip(x.astype("float64"), found, strict=True):
        q, r = np.linalg.qr(one)
        np.testing.assert_allclose(own, np.concatenate([q, r]), atol=close)


@pytest.mark.parametrize(("m", "n", "dtype"), [(3000, 2, "float32"), (5000, 16, "float64"), (1100, 3, "float64")])
def test_signs_of_blocks_of_rows_are_those_of_lapack(cpu: ng.Transformer, m: int, n: int, dtype: str) -> None:
    """Of triangles of triangles; one column is not reflected, and of one no square is in range."""
    x = np.random.default_rng(0).normal(size=(2, m, n)).astype(dtype)
    x[0, :, 0] = np.arange(m) == 0
    found, close = run(cpu, x), 1e-4 if dtype == "float32" else 1e-12
    for one, own in zip(x.astype("float64"), found, strict=True):
        q, r = np.linalg.qr(one)
        np.testing.assert_allclose(own, np.concatenate([q, r]), atol=close)
    tiny = np.array(2.0 ** (-120 if dtype == "float32" else -1000), dtype) * x
    np.testing.assert_allclose(run(cpu, tiny)[:, :m], found[:, :m], atol=close)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_rounding_error_in_first_rows_of_zeros_is_no_sign(cpu: ng.Transformer, dtype: str) -> None:
    """LAPACK's reflections turn such columns to what is below zero."""
    x = np.random.default_rng(0).normal(size=(20, 600, 4)).astype(dtype)
    x[:, :100] = 0
    found = run(cpu, x)
    assert (np.diagonal(found[:, 600:], axis1=1, axis2=2) < 0).all()
    check_factors(x, found)


def test_a_triangle_of_few_columns_is_left_as_it_is(cpu: ng.Transformer) -> None:
    x = np.triu(np.random.default_rng(0).normal(size=(1, 1100, 3)))
    np.testing.assert_array_equal(run(cpu, x)[0], np.concatenate([np.eye(1100, 3), x[0, :3]]))


def test_a_triangle_is_left_as_it_is(cpu: ng.Transformer) -> None:
    x = np.triu(np.random.default_rng(0).normal(size=(1, 110, 50)))
    found = run(cpu, x)
    np.testing.assert_array_equal(found[:, :110], np.eye(110, 50)[None])
    np.testing.assert_array_equal(found[:, 110:], x[:, :50])


def test_matrices_that_lie_in_another_order_are_read_as_they_lie(cpu: ng.Transformer) -> None:
    x = np.random.default_rng(0).normal(size=(2, 30, 110))
    term = ng.placeholder(x.shape, x.dtype)
    turned = ng.make_op("semi.qr", ng.numpy.matrix_transpose(term))
    found = cpu.computation(turned, term)(x)
    np.testing.assert_array_equal(found, run(cpu, np.swapaxes(x, 1, 2).copy()))
