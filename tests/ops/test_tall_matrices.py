"""Singular values of matrices with many more rows than columns, which a CPU takes of a triangle: as exact as others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.plan.factor_calls import BLOCKED
from tests.ops.hard_matrices import check_singular_vectors, hard
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


@pytest.mark.parametrize(
    ("dtype", "n"), [("float64", 1), ("float32", 33), ("float64", 80), ("float32", 104), ("float64", 104)]
)
def test_hard_matrices(cpu: ng.Transformer, dtype: str, n: int) -> None:
    """Graded, of little rank, of zeros, alike, of sizes whose squares are out of range; divided or not."""
    x = hard(dtype, 157)[:, :, :n]
    found = run(cpu, "svd", x)
    check_singular_vectors(x, found)
    values = run(cpu, "svdvals", x)
    wanted = found[:, 157].astype("float64")
    assert np.all(np.abs(values - wanted) <= (8 + n) * np.finfo(dtype).eps * wanted.max(1, keepdims=True))


@drawn(25)
@given(st.integers(1, 3), st.integers(BLOCKED, 300), st.integers(1, 60), st.sampled_from(DTYPES), st.integers(0, 99))
def test_matrices_of_any_shape_and_rank(cpu: ng.Transformer, count: int, m: int, n: int, dtype: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(count, m, n)) * generator.choice([0.0, 1.0, 1e-9], size=(count, 1, n))
    x[:, :, : n // 2] = x[:, :, n - n // 2 :]
    check_singular_vectors(x.astype(dtype), run(cpu, "svd", x.astype(dtype)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("op", ["svd", "svdvals"])
def test_what_is_not_finite_gives_nan_and_nothing_else_does(cpu: ng.Transformer, op: str, value: float) -> None:
    x = np.random.default_rng(0).normal(size=(3, 120, 20))
    x[1, 119, 19] = value
    found = run(cpu, op, x).reshape(3, -1)
    assert np.isfinite(found).all(1).tolist() == [True, False, True] and np.isnan(found[1]).all()


def test_values_out_of_range_are_infinite_and_vectors_are_not(cpu: ng.Transformer) -> None:
    """Numbers are in range; their squares are not, and neither is a singular value."""
    x = np.full((1, 400, 2), 2.0**127, np.float32) * np.array([1, -1], np.float32)
    found = run(cpu, "svd", x)
    assert np.isposinf(found[0, 400, 0]) and np.isfinite(found[0, :400]).all() and np.isfinite(found[0, 401:]).all()
    np.testing.assert_allclose(np.abs(found[0, :400, 0]), 0.05, rtol=1e-5)


def test_matrices_that_lie_in_another_order_are_read_as_they_lie(cpu: ng.Transformer) -> None:
    x = np.random.default_rng(0).normal(size=(2, 30, 110))
    term = ng.placeholder(x.shape, x.dtype)
    turned = ng.make_op("semi.svd", ng.numpy.matrix_transpose(term))
    found = cpu.computation(turned, term)(x)
    np.testing.assert_array_equal(found, run(cpu, "svd", np.swapaxes(x, 1, 2).copy()))
