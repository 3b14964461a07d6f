# SPDX-License-Identifier: Apache-2.0
"""What ``ng.numpy.linalg`` has of eigenvalues and singular values is what NumPy has, and gradients are differences.

Values are those of the reference target; what kernels compute is compared with it in test_spectra.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from on_targets import agrees, check_gradient, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from tests.programs import drawn

Array = np.ndarray[Any, Any]
linalg, numpy = ng.numpy.linalg, ng.numpy
BATCHES, SEEDS = st.lists(st.integers(0, 3), max_size=2).map(tuple), st.integers(0, 2**32)
SIZES, FLAGS = st.integers(0, 5), st.booleans()


def normal(shape: tuple[int, ...], seed: int, dtype: str = "float64") -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


def parts(function: Callable[..., Any], *arrays: Array) -> list[Array]:
    """All that a function gives."""
    count = len(function(*[ng.placeholder(a.shape, a.dtype) for a in arrays]))
    return [meaning(lambda *terms, place=place: function(*terms)[place], *arrays) for place in range(count)]


def orthogonal(x: Array) -> bool:
    return np.allclose(np.swapaxes(x, -1, -2) @ x, np.eye(x.shape[-1]), atol=1e-10)


# -- values ------------------------------------------------------------------------------------------------------------


@drawn(30)
@given(BATCHES, SIZES, st.sampled_from(["L", "U", "l"]), SEEDS)
def test_eigenvalues_are_those_of_numpy(batch: tuple[int, ...], n: int, triangle: Any, seed: int) -> None:
    x = normal((*batch, n, n), seed)
    values, vectors = parts(lambda x: linalg.eigh(x, UPLO=triangle), x)
    wanted, theirs = np.linalg.eigh(x, UPLO=triangle)
    close(values, wanted)
    close(np.abs(vectors), np.abs(theirs))
    close(meaning(lambda x: linalg.eigvalsh(x, triangle), x), wanted)


@drawn(40)
@given(BATCHES, SIZES, SIZES, FLAGS, SEEDS)
def test_singular_values_are_those_of_numpy(batch: tuple[int, ...], m: int, n: int, full: bool, seed: int) -> None:
    x = normal((*batch, m, n), seed)
    u, s, vh = parts(lambda x: linalg.svd(x, full_matrices=full), x)
    wanted = np.linalg.svd(x, full_matrices=full)
    assert u.shape == wanted.U.shape and vh.shape == wanted.Vh.shape
    assert orthogonal(u) and orthogonal(np.swapaxes(vh, -1, -2))
    k = min(m, n)
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    close(s, wanted.S)
    close(meaning(linalg.svdvals, x), wanted.S)
    close(meaning(lambda x: linalg.svd(x, compute_uv=False), x), wanted.S)


@drawn(20)
@given(BATCHES, SIZES, SEEDS)
def test_singular_values_of_symmetric_matrices_are_sizes_of_eigenvalues(
    batch: tuple[int, ...], n: int, seed: int
) -> None:
    x = normal((*batch, n, n), seed)
    full = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)
    u, s, vh = parts(lambda x: linalg.svd(x, hermitian=True), x)
    close((u * s[..., None, :]) @ vh, full)
    close(s, np.linalg.svdvals(full))
    close(meaning(lambda x: linalg.svd(x, compute_uv=False, hermitian=True), x), s)
    close(meaning(lambda x: linalg.matrix_rank(x, hermitian=True), x), np.asarray(np.linalg.matrix_rank(full)))
    close(meaning(lambda x: linalg.pinv(x, hermitian=True), x), np.linalg.pinv(full, hermitian=True))


@drawn(30)
@given(BATCHES, SIZES, SIZES, st.integers(0, 4), SEEDS)
def test_ranks_and_pseudo_inverses_are_those_of_numpy(
    batch: tuple[int, ...], m: int, n: int, rank: int, seed: int
) -> None:
    x = normal((*batch, m, rank), seed) @ normal((rank, n), seed + 1)
    close(meaning(linalg.matrix_rank, x), np.asarray(np.linalg.matrix_rank(x)))
    close(meaning(lambda x: linalg.pinv(x, 1e-9), x), np.linalg.pinv(x, 1e-9))
    close(meaning(lambda x: linalg.pinv(x), x), np.linalg.pinv(x, rtol=None))
    for tolerances in ({"tol": 0.5}, {"rtol": 0.3}):
        wanted = np.linalg.matrix_rank(x, **tolerances)
        close(meaning(lambda x, given=tolerances: linalg.matrix_rank(x, **given), x), np.asarray(wanted))


def test_each_matrix_has_a_tolerance_of_its_own_and_a_vector_a_rank() -> None:
    x, each = np.stack([np.diag([3.0, 1.0])] * 3), np.array([0.5, 2.0, 4.0])
    assert meaning(lambda x, tol: linalg.matrix_rank(x, tol), x, each).tolist() == [2, 1, 0]
    assert meaning(linalg.matrix_rank, np.zeros(3)) == 0 and meaning(linalg.matrix_rank, np.ones(3)) == 1


@drawn(30)
@given(st.integers(1, 4), st.integers(1, 4), st.sampled_from([None, 2, -2]), SEEDS)
def test_conditions_are_those_of_numpy(m: int, n: int, order: Any, seed: int) -> None:
    x = normal((2, m, n), seed)
    close(meaning(lambda x: linalg.cond(x, order), x), np.linalg.cond(x, order))
    square = normal((2, n, n), seed)
    for p in ("fro", "nuc", 1, -1, np.inf):
        close(meaning(lambda x, p=p: linalg.cond(x, p), square), np.linalg.cond(square, p))


def test_the_condition_of_a_singular_matrix_is_infinite_and_of_nan_it_is_nan() -> None:
    x = np.stack([np.zeros((2, 2)), np.ones((2, 2)), np.full((2, 2), np.nan)])
    assert meaning(lambda x: linalg.cond(x), x[:1]).tolist() == [np.inf]
    found = meaning(lambda x: linalg.cond(x, 1), x)
    assert found.tolist()[:2] == [np.inf, np.inf] and np.isnan(found[2])


@drawn(30)
@given(SIZES, st.integers(1, 4), st.integers(0, 3), FLAGS, SEEDS)
def test_least_squares_are_those_of_numpy(m: int, n: int, k: int, is_vector: bool, seed: int) -> None:
    a, b = normal((m + 1, n), seed), normal((m + 1,) if is_vector else (m + 1, k), seed + 1)
    found, wanted = parts(linalg.lstsq, a, b), np.linalg.lstsq(a, b)
    for ours, theirs in zip(found, wanted, strict=True):
        close(ours, np.asarray(theirs, ours.dtype))


def test_least_squares_of_dependent_columns_are_the_shortest() -> None:
    a, b = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), np.array([1.0, 3.0, 2.0])
    x, residuals, rank, _ = parts(linalg.lstsq, a, b)
    np.testing.assert_allclose(x, [1, 1])
    np.testing.assert_allclose(residuals, [6])
    assert rank == 1
    # The second column is as good as none if all values below half of the first do not count.
    a = np.diag([2.0, 0.5])
    np.testing.assert_allclose(meaning(lambda a, b: linalg.lstsq(a, b, rcond=0.5).x, a, b[:2]), [0.5, 0])


@drawn(30)
@given(st.sampled_from([2, -2, "nuc"]), FLAGS, st.permutations([0, 1, 2]), SEEDS)
def test_norms_of_singular_values_are_those_of_numpy(order: Any, keepdims: bool, axes: list[int], seed: int) -> None:
    x, (a, b, _) = normal((2, 3, 4), seed), axes
    wanted = np.linalg.matrix_norm(x, keepdims=keepdims, ord=order)
    close(meaning(lambda x: linalg.matrix_norm(x, keepdims=keepdims, ord=order), x), wanted)
    wanted = np.linalg.norm(x, order, (a, b), keepdims)
    close(meaning(lambda x: linalg.norm(x, order, (a, b), keepdims=keepdims), x), wanted)


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_a_matrix_without_elements_has_a_norm_of_zero(order: Any) -> None:
    assert meaning(lambda x: linalg.norm(x, order), np.zeros((0, 3))) == 0


@drawn(20)
@given(BATCHES, SIZES, SIZES, SEEDS)
def test_complete_orthogonal_factors_are_those_of_numpy(batch: tuple[int, ...], m: int, n: int, seed: int) -> None:
    x = normal((*batch, m, n), seed)
    q, r = parts(lambda x: linalg.qr(x, mode="complete"), x)
    wanted = np.linalg.qr(x, mode="complete")
    close(q, wanted.Q)
    close(r, wanted.R)
    close(meaning(lambda x: linalg.qr(x, "r"), x), np.linalg.qr(x, "r"))


@pytest.mark.parametrize("shapes", [[(2, 3), (3, 4)], [(3,), (3, 4), (4, 2)], [(2, 3), (3, 4), (4,)], [(3,), (3,)]])
def test_products_of_several_matrices_are_those_of_numpy(shapes: list[tuple[int, ...]]) -> None:
    arrays = [normal(shape, place) for place, shape in enumerate(shapes)]
    close(meaning(lambda *terms: linalg.multi_dot(terms), *arrays), np.asarray(np.linalg.multi_dot(arrays)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floats_keep_their_dtype_and_short_ones_are_computed_in_float32(dtype: str) -> None:
    x = normal((2, 3, 3), 0).astype(dtype)
    singular = [linalg.svdvals, linalg.pinv, linalg.cond, lambda x: linalg.norm(x, "nuc", (1, 2))]
    for function in [linalg.eigvalsh, lambda x: linalg.eigh(x)[1], lambda x: linalg.svd(x).U, *singular]:
        wide = meaning(function, x.astype("float32"))
        np.testing.assert_array_equal(meaning(function, x), wide.astype(dtype))


def test_kernels_compute_them_of_unknown_numbers_of_matrices() -> None:
    x = normal((5, 4, 4), 0)
    agrees(linalg.eigvalsh, np.linalg.eigvalsh, x, unknown=True, rtol=1e-9)
    agrees(lambda x: numpy.abs(linalg.svd(x).Vh), lambda x: np.abs(np.linalg.svd(x).Vh), x, unknown=True, rtol=1e-9)
    agrees(linalg.pinv, np.linalg.pinv, x, unknown=True, rtol=1e-9)


def test_sizes_of_symmetric_matrices_may_be_unknown() -> None:
    n = ng.Length.symbol("n")
    x, value = ng.placeholder((n, n), "float64"), normal((6, 6), 0)
    with ng.make_transformer("reference") as transformer:
        values, vectors = transformer.computation(linalg.eigh(x), x)(value)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(value))
    np.testing.assert_allclose(np.abs(vectors), np.abs(np.linalg.eigh(value)[1]))


def test_numpys_own_functions_take_terms() -> None:
    x = ng.placeholder((5, 3), "float64")
    assert np.linalg.svd(x, full_matrices=False).S.shape == (3,) and np.linalg.pinv(x).shape == (3, 5)
    assert np.linalg.eigh(x[:3]).eigenvectors.shape == (3, 3) and np.linalg.matrix_rank(x).shape == ()
    assert np.linalg.lstsq(x, x[:, 0]).x.shape == (3,) and np.linalg.multi_dot([x, x[:3]]).shape == (5, 3)


# -- gradients ---------------------------------------------------------------------------------------------------------

SMOOTH: dict[str, Callable[..., ng.Op]] = {
    "eigvalsh": linalg.eigvalsh,
    "eigenvalues": lambda x: linalg.eigh(x).eigenvalues,
    "eigenvectors": lambda x: linalg.eigh(x, "U").eigenvectors,
    "svdvals": lambda x: linalg.svdvals(x[:, :2]),
    "left vectors": lambda x: linalg.svd(x[:, :, :2], full_matrices=False).U,
    "left vectors of squares": lambda x: linalg.svd(x).U,
    "singular values": lambda x: linalg.svd(x).S,
    "right vectors": lambda x: linalg.svd(x[:, :, :2], full_matrices=False).Vh,
    "right vectors of few rows": lambda x: linalg.svd(x[:, :2], full_matrices=False).Vh,
    "what they give back": lambda x: numpy.matmul(linalg.svd(x).U, linalg.svd(x).Vh),
    "svd of symmetric matrices": lambda x: linalg.svd(x, hermitian=True).Vh,
    "pinv of many rows": lambda x: linalg.pinv(x[:, :, :2]),
    "pinv of few rows": lambda x: linalg.pinv(x[:, :2]),
    "pinv of squares": linalg.pinv,
    "lstsq": lambda x: linalg.lstsq(x[0][:, :2], x[1][:, 0]).x,
    "residuals": lambda x: linalg.lstsq(x[0][:, :2], x[1]).residuals,
    "cond": linalg.cond,
    "nuclear norm": lambda x: linalg.norm(x, "nuc", (1, 2)),
    "spectral norm": lambda x: linalg.norm(x, 2, (0, 2)),
    "complete qr": lambda x: linalg.qr(x[:, :, :2], "complete").R,
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_differences(name: str) -> None:
    check_gradient(SMOOTH[name], normal((2, 3, 3), 5), target="reference")


def slope(function: Callable[[ng.Op], ng.Op], x: Array) -> Array:
    term = ng.placeholder(x.shape, x.dtype)
    with ng.make_transformer("reference") as transformer:
        return np.asarray(transformer.computation(ng.deriv(function(term), term), term)(x))


def test_a_gradient_of_a_gradient_is_there() -> None:
    def largest(x: ng.Op) -> ng.Op:
        return numpy.sum(linalg.eigvalsh(x)[:, -1])

    check_gradient(lambda x: ng.deriv(largest(x), x), normal((1, 3, 3), 3), target="reference")
    check_gradient(lambda x: ng.deriv(numpy.sum(linalg.pinv(x)), x), normal((1, 3, 2), 3), target="reference")


def test_where_values_coincide_functions_of_the_values_have_slopes() -> None:
    np.testing.assert_allclose(slope(lambda x: numpy.sum(linalg.eigh(x).eigenvalues), np.eye(3)), np.eye(3))
    np.testing.assert_allclose(slope(lambda x: numpy.sum(linalg.svd(x).S), 2 * np.eye(3)), np.eye(3))
    np.testing.assert_allclose(slope(lambda x: numpy.sum(linalg.svdvals(x)), np.zeros((3, 3))), np.zeros((3, 3)))
    # The slope of the inverse, transposed, between ones.
    np.testing.assert_allclose(slope(lambda x: numpy.sum(linalg.pinv(x)), 2 * np.eye(3)), -np.ones((3, 3)) / 4)


def test_where_values_coincide_vectors_have_no_slopes_between_each_other() -> None:
    for function in (lambda x: linalg.eigh(x).eigenvectors, lambda x: linalg.svd(x).U, lambda x: linalg.svd(x).Vh):
        assert not slope(lambda x, function=function: numpy.sum(function(x)), np.eye(3)).any()


def test_columns_that_complete_others_have_no_slopes() -> None:
    x = normal((4, 2), 0)
    assert not slope(lambda x: numpy.sum(linalg.qr(x, "complete").Q[:, 2:]), x).any()
    assert not slope(lambda x: numpy.sum(linalg.svd(x).U[:, 2:]), x).any()


# -- unknown lengths ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_wide", [False, True])
def test_a_length_that_is_not_known_is_the_greater_one(is_wide: bool) -> None:
    """The factors and what they are for are NumPy's; a call with less is refused."""
    x = ng.placeholder((3, None) if is_wide else (None, 3), "float64")
    y = ng.placeholder(x.shape[:1], "float64")
    q, r = linalg.qr(x, "complete")
    u, s, vh = linalg.svd(x, full_matrices=False)
    best = linalg.lstsq(x, y)
    found = q @ r, q @ linalg.matrix_transpose(q), (u * s) @ vh, s, linalg.pinv(x), linalg.cond(x), best.x, best.rank
    slopes = ng.deriv(numpy.sum(linalg.pinv(x) ** 2), x), ng.deriv(numpy.sum(best.x**2), y)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([*found, *slopes], x, y)
        for length in (3, 4, 9):
            a, b = normal((3, length) if is_wide else (length, 3), length), normal((3 if is_wide else length,), 1)
            p, *best_of_numpy = np.linalg.pinv(a), *np.linalg.lstsq(a, b)
            wanted = a, np.eye(len(a)), a, np.linalg.svd(a)[1], p, np.linalg.cond(a), best_of_numpy[0], 3
            *values, by_x, by_y = computation(a, b)
            for one, other in zip(values, wanted, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-10)
            np.testing.assert_allclose(by_y, 2 * p.T @ p @ b, atol=1e-10)
            step = 1e-6 * np.eye(*a.shape, 1)
            difference = ((np.linalg.pinv(a + step) ** 2).sum() - (np.linalg.pinv(a - step) ** 2).sum()) / 2e-6
            np.testing.assert_allclose((by_x * step).sum() * 1e6, difference, rtol=1e-5)
        with pytest.raises(errors.NGraphRewriteError, match="longer|at least 0"):
            computation(np.ones((3, 2) if is_wide else (2, 3)), np.ones(3 if is_wide else 2))


def test_polynomials_fit_as_many_places_as_there_are() -> None:
    x = ng.placeholder((None,), "float64")
    y = ng.placeholder(x.shape, "float64")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(numpy.polyfit(x, y, 2, cov=True), x, y)
        for count in (5, 8):
            at, values = np.linspace(0, 1, count), normal((count,), 0)
            for one, other in zip(computation(at, values), np.polyfit(at, values, 2, cov=True), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-7)


def test_each_matrix_may_have_its_own_limit() -> None:
    x = np.stack([np.diag([1.0, 1e-3])] * 2)
    found = meaning(lambda a, r: linalg.pinv(a, r), x, np.array([1e-6, 1e-2]))
    np.testing.assert_allclose(found, [np.diag([1, 1e3]), np.diag([1, 0])], atol=1e-12)


# -- wrong calls -------------------------------------------------------------------------------------------------------

M, WHOLE = ng.placeholder((2, 3, 3)), ng.placeholder((3, 3), "int32")
TALL, OPEN, NAMED = ng.placeholder((4, 3)), ng.placeholder((None, None)), ng.placeholder({"H": 3, "W": 3})


@pytest.mark.parametrize("function", [linalg.eigh, linalg.eigvalsh, lambda x: linalg.svd(x, hermitian=True)])
def test_what_is_not_square_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(errors.AxesError, match=r"expected square matrices in the last two axes, got float32\[4, 3\]"):
        function(TALL)


EVERY = [linalg.eigh, linalg.eigvalsh, linalg.svd, linalg.svdvals, linalg.pinv, linalg.matrix_rank, linalg.cond]


@pytest.mark.parametrize("function", [*EVERY, lambda x: linalg.lstsq(x, x)])
def test_what_is_not_of_floats_or_has_names_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(errors.DTypeError, match=r"expected a float dtype, got int32\[3, 3\]"):
        function(WHOLE)
    with pytest.raises(errors.FamilyError, match=r"has the names H, W.*\n.*\n.*ng\.strip"):
        function(NAMED)


WRONG: list[tuple[Callable[[], Any], type[errors.NGraphRewriteError], str]] = [
    (lambda: linalg.eigh(M, "lower"), errors.AttributeValueError, "eigh: UPLO is 'lower'"),
    (lambda: linalg.eigvalsh(M, UPLO=1), errors.AttributeValueError, "eigvalsh: UPLO is 1"),
    (lambda: linalg.svd(M, full_matrices="U"), errors.AttributeValueError, "svd: full_matrices is .U."),
    (lambda: linalg.svd(M[0, 0]), errors.AxesError, "svd: expected matrices"),
    (lambda: linalg.svd(OPEN), errors.AxesError, "svd: whether .* more rows or more columns is not known"),
    (lambda: linalg.svdvals(OPEN), errors.AxesError, "svdvals: whether"),
    (lambda: linalg.pinv(M, 0.1, rtol=0.1), errors.ArgumentError, "pinv: rcond and rtol"),
    (lambda: linalg.pinv(M, rcond=M), errors.IncompatibleAxesError, "pinv: .* does not broadcast"),
    (lambda: linalg.matrix_rank(M, 0.1, rtol=0.1), errors.ArgumentError, "matrix_rank: there is a tol"),
    (lambda: linalg.cond(TALL, 1), errors.AxesError, "cond: expected square"),
    (lambda: linalg.cond(M, 3), errors.AttributeValueError, "3 is no norm of matrices"),
    (lambda: linalg.cond(ng.placeholder((0, 3))), errors.AxesError, "cond: .* has no elements"),
    (lambda: linalg.lstsq(M, M), errors.AxesError, "lstsq: expected shapes"),
    (lambda: linalg.lstsq(TALL, M[0]), errors.AxesError, "lstsq: expected shapes"),
    (lambda: linalg.lstsq(TALL, TALL, rcond="x"), errors.DTypeError, "lstsq: .*'x' is no array of numbers"),
    (lambda: linalg.multi_dot([TALL]), errors.ArgumentError, "multi_dot: expected several matrices, got 1"),
    (lambda: linalg.multi_dot([TALL, M[0, 0], M[0]]), errors.AxesError, "multi_dot: expected matrices, and vectors"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_wrong_calls_are_told(call: Callable[[], Any], error: type[errors.NGraphRewriteError], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
