# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values: kernels compute what NumPy does step by step, to the bit, and that is right.

Vectors are orthogonal and give the matrix back, and values are those of LAPACK in float64, to some units in the last
place of the largest value times the number of rows: also of matrices on which a plain iteration would fail.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.codegen import library_rotations, library_singular_values, library_spectra
from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops import eigenvalues, rotations, singular_values
from tests.ops.hard_matrices import check_eigenvectors, check_singular_vectors, hard
from tests.programs import drawn

Array = np.ndarray[Any, Any]
DTYPES = ["float32", "float64"]
COUNTS, SEEDS = st.integers(0, 2), st.integers(0, 2**32)
# Few rows, and more than are in a strip of some columns or in the lanes of a row.
SIZES = st.one_of(st.integers(0, 6), st.sampled_from([17, 35]))
KINDS = st.sampled_from(["normal", "whole", "edges", "tiny"])


def matrices(shape: tuple[int, ...], dtype: str, kind: str, seed: int) -> Array:
    """Numbers of a kind: any, small whole ones, with NaN and infinities among them, or subnormal ones."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, shape).astype(float) if kind == "whole" else rng.normal(size=shape)
    if kind == "edges":
        x = np.where(rng.random(shape) < 0.02, rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), x)
    return (x * (np.finfo(dtype).tiny / 8 if kind == "tiny" else 1)).astype(dtype)


@pytest.fixture(scope="module")
def cpu() -> Any:
    with ng.make_transformer("cpu") as transformer:
        yield transformer


def run(transformer: ng.Transformer, op: str, x: Array) -> Array:
    term = ng.placeholder(x.shape, x.dtype)
    return np.asarray(transformer.computation(ng.make_op(op, term), term)(x))


# -- kernels -----------------------------------------------------------------------------------------------------------


@drawn(14)
@given(COUNTS, SIZES, st.sampled_from(DTYPES), KINDS, SEEDS)
def test_eigenvalues_are_those_of_numpy_to_the_bit(
    cpu: ng.Transformer, count: int, n: int, dtype: str, kind: str, seed: int
) -> None:
    x = matrices((count, n, n), dtype, kind, seed)
    wanted = eigenvalues.eigh(x)
    if dtype == "float32":  # kernels of the other dtype are the same lines
        np.testing.assert_array_equal(run(cpu, "semi.eigh", x), wanted)
    else:
        np.testing.assert_array_equal(run(cpu, "semi.eigvalsh", x), wanted[:, n])


@drawn(14)
@given(COUNTS, SIZES, st.integers(0, 5), st.sampled_from(DTYPES), KINDS, SEEDS)
def test_singular_values_are_those_of_numpy_to_the_bit(
    cpu: ng.Transformer, count: int, n: int, more: int, dtype: str, kind: str, seed: int
) -> None:
    x = matrices((count, n + more, n), dtype, kind, seed)
    wanted = singular_values.svd(x)
    if dtype == "float64":
        np.testing.assert_array_equal(run(cpu, "semi.svd", x), wanted)
    else:
        np.testing.assert_array_equal(run(cpu, "semi.svdvals", x), wanted[:, n + more])


def test_rotations_are_used_before_there_is_no_room_for_more(cpu: ng.Transformer) -> None:
    """Columns are rotated in several goes; and what lies in another order is read as it lies."""
    x, term = matrices((2, 40, 40), "float32", "normal", 0), ng.placeholder((2, 40, 40))
    render = library_singular_values.render_svd
    try:
        with patch.object(library_rotations, "TURNS", 2), patch.object(library_singular_values, "TURNS", 2):
            render.cache_clear()
            made = cpu.computation(ng.semi.svd(ng.numpy.matrix_transpose(term)), term)
            found = made(x)
            assert "> 2 * n or steps == n" in made.source()
    finally:
        render.cache_clear()
    np.testing.assert_array_equal(found, singular_values.svd(np.swapaxes(x, 1, 2)))


# -- what they mean ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvectors_are_orthogonal_and_values_those_of_lapack(dtype: str) -> None:
    x = hard(dtype, 12)
    check_eigenvectors(x, eigenvalues.eigh(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("more", [0, 5])
def test_singular_vectors_are_orthogonal_and_values_those_of_lapack(dtype: str, more: int) -> None:
    x = hard(dtype, 12)[:, :, : 12 - more]
    check_singular_vectors(x, singular_values.svd(x))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_gives_nan_and_nothing_else_does(cpu: ng.Transformer, value: float) -> None:
    for op, dtype in (("eigh", "float32"), ("eigvalsh", "float64"), ("svd", "float64"), ("svdvals", "float32")):
        x = matrices((3, 6, 6), dtype, "normal", 0)
        x[0, 5, 1], x[2, 1, 5] = value, value
        finite = np.isfinite(run(cpu, f"semi.{op}", x)).reshape(3, -1)
        # The upper triangle is not read for eigenvalues.
        assert finite.all(1).tolist() == [False, True, op.startswith("eig")]
        assert not finite[0].any()


def test_what_does_not_converge_is_nan(cpu: ng.Transformer) -> None:
    x = matrices((2, 5, 5), "float32", "normal", 0)
    x[1] = np.diag(np.arange(5))
    try:
        with patch.object(rotations, "STEPS", 3), patch.object(library_spectra, "STEPS", 0):
            library_spectra.render_eigh.cache_clear()
            found = run(cpu, "semi.eigvalsh", x)
        with patch.object(rotations, "STEPS", 0):
            meant, others = eigenvalues.eigh(x), singular_values.svd(x)
    finally:
        library_spectra.render_eigh.cache_clear()
    assert np.isnan(found[0]).all() and found[1].tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(meant[0]).all() and np.isfinite(meant[1]).all()
    assert np.isnan(others[0]).all() and np.isfinite(others[1]).all()


@drawn(200)
@given(st.integers(1, 8), st.integers(1, 3), SEEDS)
def test_few_steps_are_enough(n: int, values: int, seed: int) -> None:
    """Of matrices of few whole numbers, in which much is alike and 0, no more than a third of the steps there are."""
    x = np.random.default_rng(seed).integers(-values, values + 1, (1, n, n)).astype("float64")
    with patch.object(rotations, "STEPS", 10):
        assert np.isfinite(eigenvalues.eigh(x)).all() and np.isfinite(singular_values.svd(x)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_does_not_undo_steps_for_ever(dtype: str) -> None:
    """All that is a few units of rounding from the identity."""
    units = np.finfo(dtype).eps * np.arange(6)
    x = np.zeros((6, 6, 6, 2, 2))
    x[..., 0, 0], x[..., 1, 1] = 1 + units, 1 + units[:, None]
    x[..., 0, 1] = x[..., 1, 0] = units[:, None, None] / 2
    x = x.reshape(-1, 2, 2).astype(dtype)
    assert np.isfinite(eigenvalues.eigh(x)).all() and np.isfinite(singular_values.svd(np.triu(x))).all()


@drawn(200)
@given(st.sampled_from(DTYPES), st.integers(-1000, 1000), st.integers(-1000, 1000), SEEDS)
def test_a_rotation_is_one_for_numbers_of_any_size(dtype: str, one: int, other: int, seed: int) -> None:
    least = int(np.log2(float(np.finfo(dtype).tiny))) - 10
    powers = [min(max(p, least), 40) for p in (one, other)]
    f, g = (np.random.default_rng(seed).normal(size=2) * 2.0 ** np.array(powers)).astype(dtype)
    c, s, r = rotations.rotation(f, g, rotations.limits(dtype))
    c, s, eps = float(c), float(s), float(np.finfo(dtype).eps)
    assert abs(c * c + s * s - 1) <= 4 * eps
    largest = max(abs(float(f)), abs(float(g)))
    assert abs(c * float(g) - s * float(f)) <= 4 * eps * largest
    assert abs(c * float(f) + s * float(g) - float(r)) <= 4 * eps * largest + float(np.finfo(dtype).smallest_subnormal)


# -- pseudo-inverses, and wrong calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 6, 4), (3, 4, 6)])
def test_pseudo_inverses_are_what_they_mean(cpu: ng.Transformer, shape: tuple[int, ...]) -> None:
    x = matrices(shape, "float64", "normal", 0)
    x[1] = np.ones(shape[1:])
    term = ng.placeholder(shape, "float64")
    found = cpu.computation(ng.semi.pinv(term, 1e-9), term)(x)
    np.testing.assert_allclose(found, np.linalg.pinv(x, rcond=1e-9), atol=1e-12)
    np.testing.assert_allclose(found, singular_values.pinv(x, np.full(3, 1e-9)), atol=1e-12)


@pytest.mark.parametrize("op", ["eigh", "eigvalsh", "svd", "svdvals"])
def test_other_types_are_refused(op: str) -> None:
    for shape in ((3, 3), (2, 3, 4), (1, 2, 2, 2)):
        with pytest.raises(AxesError, match="expected .*matrices"):
            ng.make_op(f"semi.{op}", ng.placeholder(shape))
    with pytest.raises(DTypeError, match="expected float32 or float64"):
        ng.make_op(f"semi.{op}", ng.placeholder((1, 2, 2), "float16"))


def test_there_is_a_part_of_the_greatest_value_for_each_matrix() -> None:
    with pytest.raises(AxesError, match="expected one rcond for each matrix"):
        ng.make_op("semi.pinv", ng.placeholder((1, 2, 2)), ng.placeholder((2,)))
