# SPDX-License-Identifier: Apache-2.0
"""Factors of matrices and equations solved by them: kernels compute what NumPy does step by step, to the bit.

Factors, multiplied, give the matrix; what is solved, multiplied with it, the right side. Adjoints are compared with
differences where rules are checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.codegen import library_factors
from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops import factors
from ngraph_rewrite.plan import factor_calls
from tests.programs import drawn

Array = np.ndarray[Any, Any]
DTYPES = st.sampled_from(["float32", "float64"])
COUNTS, SEEDS = st.integers(0, 3), st.integers(0, 2**32)
# Less than a panel, some panels, and more columns than are taken at once.
SIZES = st.one_of(st.integers(0, 6), st.integers(15, 50), st.integers(library_factors.COLUMNS, 150))
KINDS = st.sampled_from(["normal", "whole", "edges"])


def matrices(shape: tuple[int, ...], dtype: str, seed: int, kind: str = "normal") -> Array:
    """Numbers of a kind: any, whole ones of which many are alike, or with NaN and infinities among them."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, shape) if kind == "whole" else rng.normal(size=shape)
    if kind == "edges":
        x = np.where(rng.random(shape) < 0.02, rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), x)
    return x.astype(dtype)


def positive(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    x = matrices(shape, "float64", seed)
    return (x @ np.swapaxes(x, 1, 2) + np.eye(shape[-1])).astype(dtype)


def run(transformer: ng.Transformer, op: str, *arrays: Array, **attributes: Any) -> Array:
    terms = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    return np.asarray(transformer.computation(ng.make_op(op, *terms, **attributes), *terms)(*arrays))


@pytest.fixture(scope="module")
def cpu() -> Any:
    with ng.make_transformer("cpu") as transformer:
        yield transformer


@drawn(12)
@given(COUNTS, SIZES, DTYPES, KINDS, SEEDS)
def test_factors_are_those_of_numpy_to_the_bit(
    cpu: ng.Transformer, count: int, n: int, dtype: str, kind: str, seed: int
) -> None:
    x = matrices((count, n, n), dtype, seed, kind)
    np.testing.assert_array_equal(run(cpu, "semi.lu", x), factors.lu(x))
    if dtype == "float64":  # kernels of the other dtype are the same lines
        tall = x[:, :, : n - seed % (1 + n // 2)]
        np.testing.assert_array_equal(run(cpu, "semi.qr", tall), factors.qr(tall))
    else:
        x = positive((count, n, n), dtype, seed) if kind == "normal" else x
        np.testing.assert_array_equal(run(cpu, "semi.cholesky", x), factors.cholesky(x))


@drawn(40)
@given(COUNTS, SIZES, SIZES, KINDS, st.booleans(), st.booleans(), st.booleans(), SEEDS)
def test_solutions_are_those_of_numpy_to_the_bit(
    cpu: ng.Transformer, count: int, n: int, m: int, kind: str, lower: bool, unit: bool, turned: bool, seed: int
) -> None:
    dtype = "float32" if lower == unit else "float64"  # half of the kernels that there are
    a, b = matrices((count, n, n), dtype, seed, kind), matrices((count, n, m), dtype, seed + 1, kind)
    x, y = ng.placeholder(a.shape, dtype), ng.placeholder(b.shape, dtype)
    of = ng.numpy.matrix_transpose(x) if turned else x
    found = cpu.computation(ng.make_op("semi.triangular_solve", of, y, lower=lower, unit=unit), x, y)(a, b)
    meant = factors.triangular_solve(np.swapaxes(a, 1, 2) if turned else a, b, lower, unit)
    np.testing.assert_array_equal(found, meant)


@drawn(5)
@given(st.integers(4, 40), st.integers(0, factor_calls.SMALL), st.integers(1, 3), DTYPES, KINDS, SEEDS)
def test_many_small_matrices_are_done_with_side_by_side_to_the_bit(
    cpu: ng.Transformer, count: int, n: int, m: int, dtype: str, kind: str, seed: int
) -> None:
    x, b = matrices((count, n, n), dtype, seed, kind), matrices((count, n, m), dtype, seed + 1, kind)
    np.testing.assert_array_equal(run(cpu, "semi.lu", x), factors.lu(x))
    lower, unit = bool(seed & 1), bool(seed & 2)
    found = run(cpu, "semi.triangular_solve", x, b, lower=lower, unit=unit)
    np.testing.assert_array_equal(found, factors.triangular_solve(x, b, lower, unit))
    x = positive((count, n, n), dtype, seed) if kind == "normal" else x
    np.testing.assert_array_equal(run(cpu, "semi.cholesky", x), factors.cholesky(x))


@pytest.mark.parametrize("op", ["semi.lu", "semi.cholesky"])
def test_small_matrices_may_lie_in_any_order(cpu: ng.Transformer, op: str) -> None:
    x = positive((20, 3, 3), "float64", 0) + np.triu(np.ones((3, 3)))  # not symmetric
    term = ng.placeholder(x.shape, x.dtype)
    found = cpu.computation(ng.make_op(op, ng.numpy.matrix_transpose(term)), term)(x)
    np.testing.assert_array_equal(found, getattr(factors, op.removeprefix("semi."))(np.swapaxes(x, 1, 2)))


@pytest.mark.parametrize(("count", "n", "small"), [(11, 3, 0), (12, 3, 3), (17, 3, 0), (12, 16, 2), (12, 17, 0)])
def test_matrices_are_side_by_side_where_they_are_small_and_fill_vectors(
    cpu: ng.Transformer, count: int, n: int, small: int
) -> None:
    """A lane without a matrix takes as long as any other, and the more rows there are the longer do exchanges."""
    x = ng.placeholder((count, n, n))
    solved = ng.make_op("semi.triangular_solve", x, x, lower=True, unit=False)
    forward = cpu.computation([ng.make_op("semi.lu", x), ng.make_op("semi.cholesky", x), solved], x)
    forward(np.broadcast_to(np.eye(n, dtype="float32"), (count, n, n)))
    assert sum(name.startswith("small_matrices") for name in forward.stats()["kernels"]) == small


def test_threads_share_small_matrices_out_to_the_same_bits() -> None:
    x = matrices((5003, 5, 5), "float32", 0)
    for threads in (1, 2):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            np.testing.assert_array_equal(run(transformer, "semi.lu", x), factors.lu(x))


@drawn(30)
@given(COUNTS, st.integers(0, 40), DTYPES, SEEDS)
def test_factors_multiply_to_the_matrix(count: int, n: int, dtype: str, seed: int) -> None:
    x, close = positive((count, n, n), dtype, seed), 1e-4 if dtype == "float32" else 1e-12
    lower = factors.cholesky(x)
    np.testing.assert_allclose(lower @ np.swapaxes(lower, 1, 2), x, rtol=close, atol=close * (1 + n))
    found = factors.lu(matrices((count, n, n), dtype, seed))
    below, above = np.tril(found[:, :-1], -1) + np.eye(n), np.triu(found[:, :-1])
    rows = np.take_along_axis(matrices((count, n, n), dtype, seed), factors.order_of(found)[:, :, None], 1)
    np.testing.assert_allclose(below @ above, rows, atol=close * (1 + n))
    assert np.all(np.abs(below) <= 1)


@drawn(30)
@given(COUNTS, st.integers(1, 30), DTYPES, SEEDS)
def test_equations_and_determinants_are_those_of_lapack(count: int, n: int, dtype: str, seed: int) -> None:
    x, b = matrices((count, n, n), dtype, seed) + 3 * np.eye(n, dtype=dtype), matrices((count, n, 2), dtype, seed + 1)
    sign, logarithm = np.linalg.slogdet(x.astype("float64"))
    np.testing.assert_array_equal(factors.det_sign(x), sign)
    np.testing.assert_allclose(factors.logdet(x), logarithm, atol=1e-2 if dtype == "float32" else 1e-10)
    for transposed in (False, True):
        of = np.swapaxes(x, 1, 2) if transposed else x
        residue = of.astype("float64") @ factors.solve(x, b, transposed) - b
        scale = 1 + np.abs(factors.solve(x, b, transposed)).max(initial=0) * n
        assert np.abs(residue).max(initial=0) <= 100 * np.finfo(dtype).eps * scale


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 1e-25), ("float32", 1e-45), ("float64", 1e-200)])
def test_reflections_whose_squares_are_nothing_give_the_matrix(cpu: ng.Transformer, dtype: str, tiny: float) -> None:
    x = np.array([[[3.0], [tiny]], [[0], [tiny]], [[tiny], [3]], [[-3], [0]]], dtype)
    found = run(cpu, "semi.qr", x)
    np.testing.assert_array_equal(found, factors.qr(x))
    assert np.all(np.abs(found[:, :2] @ found[:, 2:] - x) <= 1e-6 * np.abs(x).max(1, keepdims=True))


COMPOSITES = [("float64", "semi.solve", True), ("float32", "semi.solve", False), ("float64", "semi.logdet", False)]


@pytest.mark.parametrize(("dtype", "op", "transposed"), [*COMPOSITES, ("float64", "semi.det_sign", False)])
def test_composites_are_what_they_mean(cpu: ng.Transformer, dtype: str, op: str, transposed: bool) -> None:
    x, b = matrices((3, 5, 5), dtype, 0), matrices((3, 5, 2), dtype, 1)
    given, attributes = ([x, b], {"transposed": transposed}) if op == "semi.solve" else ([x], {})
    with ng.make_transformer("reference") as reference:
        wanted = run(reference, op, *given, **attributes)
    np.testing.assert_allclose(run(cpu, op, *given, **attributes), wanted, rtol=1e-6)


def test_a_matrix_that_is_not_positive_definite_is_nan_from_there_on(cpu: ng.Transformer) -> None:
    x = np.array([[[4.0, 0, 0], [2, 1, 0], [2, 1, 5]]])  # the second pivot is 0
    found = run(cpu, "semi.cholesky", x)
    nan = np.nan
    np.testing.assert_array_equal(found, [[[2, 0, 0], [1, nan, 0], [1, nan, nan]]])


def test_a_singular_matrix_has_factors_and_no_solution(cpu: ng.Transformer) -> None:
    x = np.ones((1, 3, 3))
    np.testing.assert_array_equal(run(cpu, "semi.lu", x)[0, :3], [[1, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert not np.isfinite(run(cpu, "semi.solve", x, np.ones((1, 3, 1)), transposed=False)).all()
    assert run(cpu, "semi.logdet", x) == -np.inf and run(cpu, "semi.det_sign", x) == 0


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 4), (1, 2, 2, 2)])
def test_what_is_no_square_matrix_is_refused(shape: tuple[int, ...]) -> None:
    for op in ("semi.cholesky", "semi.lu", "semi.logdet", "semi.det_sign"):
        with pytest.raises(AxesError, match="square matrices"):
            ng.make_op(op, ng.placeholder(shape))


@pytest.mark.parametrize("dtype", ["float16", "int32", "bool"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(DTypeError, match="expected float32 or float64"):
        ng.make_op("semi.lu", ng.placeholder((1, 2, 2), dtype))


def test_a_matrix_of_few_columns_needs_no_room_for_others() -> None:
    x = ng.placeholder((10_000, 3))
    with ng.make_transformer("cpu", threads=1) as transformer:
        computation = transformer.computation(list(ng.numpy.linalg.qr(x)), x)
        computation(np.ones((10_000, 3), np.float32))
        assert computation.stats()["arena_bytes"] < 10_000 * 4 * 24
