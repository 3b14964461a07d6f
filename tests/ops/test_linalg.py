# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.linalg`` gives what NumPy and SciPy give, of many matrices at once, and its gradients are differences.

Values are those of the reference target; what kernels compute is compared with it in test_factors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from on_targets import agrees, check_gradient, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from tests.programs import drawn

Array = np.ndarray[Any, Any]
linalg = ng.numpy.linalg
BATCHES, SEEDS = st.lists(st.integers(0, 3), max_size=2).map(tuple), st.integers(0, 2**32)
SIZES, INF = st.integers(0, 5), float("inf")
SHAPES = st.tuples(BATCHES, SIZES)


def normal(shape: tuple[int, ...], seed: int, dtype: str = "float64") -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def regular(batch: tuple[int, ...], n: int, seed: int) -> Array:
    """Matrices that are far from singular."""
    return normal((*batch, n, n), seed) + 3 * np.eye(n)


def positive(batch: tuple[int, ...], n: int, seed: int) -> Array:
    x = normal((*batch, n, n), seed)
    return x @ np.swapaxes(x, -1, -2) + np.eye(n)


def close(found: Array, wanted: Array) -> None:
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


# -- values ------------------------------------------------------------------------------------------------------------


@drawn(40)
@given(SHAPES, SEEDS)
def test_functions_of_square_matrices_are_those_of_numpy(shape: tuple[tuple[int, ...], int], seed: int) -> None:
    x, spd = regular(*shape, seed), positive(*shape, seed)
    close(meaning(linalg.cholesky, spd), np.linalg.cholesky(spd))
    close(meaning(lambda x: linalg.cholesky(x, upper=True), spd), np.swapaxes(np.linalg.cholesky(spd), -1, -2))
    close(meaning(linalg.inv, x), np.linalg.inv(x))
    close(meaning(linalg.det, x), np.asarray(np.linalg.det(x)))
    for place, wanted in enumerate(np.linalg.slogdet(x)):
        close(meaning(lambda x, place=place: linalg.slogdet(x)[place], x), np.asarray(wanted))
    for n in (-2, 0, 1, 5):
        close(meaning(lambda x, n=n: linalg.matrix_power(x, n), x) / 4.0**n, np.linalg.matrix_power(x, n) / 4.0**n)
    close(meaning(linalg.trace, x), np.asarray(np.linalg.trace(x)))
    close(meaning(linalg.diagonal, x), np.linalg.diagonal(x))


@drawn(30)
@given(BATCHES, SIZES, SIZES, SEEDS)
def test_orthogonal_factors_are_those_of_numpy(batch: tuple[int, ...], m: int, n: int, seed: int) -> None:
    x = normal((*batch, m, n), seed)
    for place, wanted in enumerate(np.linalg.qr(x)):
        close(meaning(lambda x, place=place: linalg.qr(x)[place], x), wanted)


def test_columns_that_are_sums_of_others_have_orthogonal_factors() -> None:
    x = np.array([[0.0, 1.0, 1.0], [0.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    q, r = (meaning(lambda x, place=place: linalg.qr(x)[place], x) for place in (0, 1))
    close(q @ r, x)
    close(q.T @ q, np.eye(3))


@pytest.mark.parametrize("upper", [False, True])
def test_the_other_triangle_is_not_read(upper: bool) -> None:
    spd, beside = positive((), 4, 0), np.triu if upper else np.tril
    hidden = np.where(beside(np.ones((4, 4))) == 1, spd, np.nan)
    found = meaning(lambda x: linalg.cholesky(x, upper=upper), hidden)
    np.testing.assert_array_equal(found, meaning(lambda x: linalg.cholesky(x, upper=upper), spd))


@drawn(40)
@given(SHAPES, st.integers(0, 3), SEEDS)
def test_equations_have_vectors_or_matrices_as_right_sides(
    shape: tuple[tuple[int, ...], int], m: int, seed: int
) -> None:
    batch, n = shape
    a = regular(batch, n, seed)
    for b in (normal((n,), seed + 1), normal((n, m), seed + 1), normal((*batch, n, m), seed + 1)):
        close(meaning(linalg.solve, a, b), np.linalg.solve(a, b))


@pytest.mark.parametrize(("left", "right"), [((3, 1), (2,)), ((), (2, 3)), ((2, 3), ()), ((1,), (5,))])
def test_any_leading_axes_that_broadcast_do(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = regular(left, 3, 0), normal((*right, 3, 2), 1)
    close(meaning(linalg.solve, a, b), np.linalg.solve(a, b))


@pytest.mark.parametrize("trans", [0, 1, "T"])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangles_are_solved_as_scipy_does(lower: bool, unit: bool, trans: Any) -> None:
    a, b = regular((), 4, 0), normal((4, 2), 1)
    wanted = scipy.linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit)
    of = {"trans": trans, "lower": lower, "unit_diagonal": unit}
    close(meaning(lambda a, b: linalg.solve_triangular(a, b, **of), a, b), wanted)
    close(meaning(lambda a, b: linalg.solve_triangular(a, b, **of), a, b[:, 0]), wanted[:, 0])


@drawn(60)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.sampled_from([0, 1, 2, 3, -1, 0.5, INF, -INF]),
    st.booleans(),
    st.data(),
    SEEDS,
)
def test_norms_of_vectors_are_those_of_numpy(
    shape: list[int], order: float, keepdims: bool, data: st.DataObject, seed: int
) -> None:
    x = normal(tuple(shape), seed)
    axes = data.draw(st.none() | st.integers(0, x.ndim - 1) | st.permutations(range(x.ndim)).map(tuple))
    wanted = np.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=order)
    found = meaning(lambda x: linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=order), x)
    close(found, np.asarray(wanted))


@drawn(60)
@given(st.sampled_from(["fro", 1, -1, INF, -INF]), st.booleans(), st.permutations([0, 1, 2]), SEEDS)
def test_norms_of_matrices_are_those_of_numpy(order: Any, keepdims: bool, axes: list[int], seed: int) -> None:
    x, (a, b, _) = normal((2, 3, 4), seed), axes
    close(meaning(lambda x: linalg.matrix_norm(x, keepdims=keepdims, ord=order), x),
          np.linalg.matrix_norm(x, keepdims=keepdims, ord=order))  # fmt: skip
    found = meaning(lambda x: linalg.norm(x, order, (a, b), keepdims=keepdims), x)
    close(found, np.linalg.norm(x, order, (a, b), keepdims))
    close(meaning(lambda x: linalg.norm(x, axis=a, keepdims=keepdims), x), np.linalg.norm(x, axis=a, keepdims=keepdims))
    for given_ in (x, x[0], x[0, 0]):
        close(meaning(linalg.norm, given_), np.asarray(np.linalg.norm(given_)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floats_keep_their_dtype_and_short_ones_are_computed_in_float32(dtype: str) -> None:
    x, b = positive((2,), 3, 0).astype(dtype), normal((2, 3, 1), 1).astype(dtype)
    for function in (linalg.cholesky, linalg.inv, linalg.det, linalg.norm, lambda x: linalg.solve(x, x[..., :1])):
        wide = meaning(function, x.astype("float32"))
        np.testing.assert_array_equal(meaning(function, x), wide.astype(dtype))
    assert linalg.solve(ng.placeholder(x.shape, x.dtype), ng.placeholder(b.shape, "float64")).dtype == np.float64


def test_kernels_compute_them_of_unknown_numbers_of_matrices() -> None:
    x, b = positive((5,), 4, 0), normal((5, 4, 2), 1)
    agrees(linalg.solve, np.linalg.solve, x, b, unknown=True, rtol=1e-9)
    agrees(linalg.det, np.linalg.det, x, unknown=True, rtol=1e-9)
    agrees(linalg.cholesky, np.linalg.cholesky, x, unknown=True, rtol=1e-9)


def test_sizes_of_matrices_may_be_unknown() -> None:
    n = ng.Length.symbol("n")
    x = ng.placeholder((n, n), "float64")
    value = positive((), 6, 0)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation([linalg.inv(x), linalg.slogdet(x).logabsdet], x)(value)
    np.testing.assert_allclose(found[0], np.linalg.inv(value))
    np.testing.assert_allclose(found[1], np.linalg.slogdet(value)[1])


def test_numpys_own_functions_take_terms() -> None:
    x, b = ng.placeholder((2, 3, 3), "float64"), ng.placeholder((3,), "float64")
    assert np.linalg.solve(x, b).type == linalg.solve(x, b).type
    assert np.linalg.norm(x, axis=-1).shape == (2, 3) and np.linalg.slogdet(x).sign.shape == (2,)


# -- gradients ---------------------------------------------------------------------------------------------------------

SMOOTH: dict[str, Callable[..., ng.Op]] = {
    "cholesky": lambda x: linalg.cholesky(ng.numpy.matmul(x, ng.numpy.matrix_transpose(x))),
    "cholesky of one triangle": lambda x: linalg.cholesky(x + 9 * ng.numpy.eye(3, dtype="float64"), upper=True),
    "inv": linalg.inv,
    "det": linalg.det,
    "slogdet": lambda x: linalg.slogdet(x).logabsdet,
    "lu": lambda x: ng.semi.lu(x)[:, :3],
    "qr": lambda x: ng.numpy.concat(linalg.qr(x[:, :, :2]), axis=1),
    "qr of few rows": lambda x: ng.numpy.concat(linalg.qr(x[:, :2]), axis=2),
    "matrix_power": lambda x: linalg.matrix_power(x, -3),
    "vector_norm": lambda x: linalg.vector_norm(x, axis=1),
    "norm": lambda x: linalg.norm(x, 1, (0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_differences(name: str) -> None:
    check_gradient(SMOOTH[name], regular((2,), 3, 5))


@pytest.mark.parametrize("trans", [0, 1])
def test_gradients_of_solutions_are_differences(trans: int) -> None:
    a, b = regular((2,), 3, 5), normal((2, 3, 2), 6)
    check_gradient(linalg.solve, a, b)
    check_gradient(lambda a, b: linalg.solve_triangular(a, b, trans=trans, lower=True), a, b)
    check_gradient(lambda a, b: linalg.solve_triangular(a, b, trans=trans, unit_diagonal=True), a, b)


def test_a_gradient_of_a_gradient_is_there() -> None:
    x = ng.placeholder((1, 2, 2), "float64")
    slope = ng.deriv(linalg.slogdet(x).logabsdet, x, error=np.ones(1))
    check_gradient(lambda x: ng.deriv(linalg.slogdet(x).logabsdet, x, error=np.ones(1)), regular((1,), 2, 3))
    assert slope.type == x.type


def cofactors(x: Array) -> Array:
    """The determinants of what is left without a row and a column, with their signs."""
    n = len(x)
    left = [[np.delete(np.delete(x, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array([[(-1) ** (i + j) * np.linalg.det(left[i][j]) for j in range(n)] for i in range(n)])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_slopes_of_determinants_are_cofactors_of_singular_matrices_too(n: int) -> None:
    x = normal((5, n, n), n)
    x[1] = 0
    x[2], x[3, :, 0] = 1, 0
    x[4, -1] = 2 * x[4, 0] if n > 1 else 0
    given = ng.placeholder(x.shape, "float64")
    slope = ng.deriv(linalg.det(given), given, error=np.ones(5))
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(slope, given)(x)
    np.testing.assert_allclose(found, np.array([cofactors(m) for m in x]), rtol=1e-12, atol=1e-13)


def test_second_slopes_of_determinants() -> None:
    x = ng.placeholder((2, 2), "float64")
    first = ng.deriv(linalg.det(x), x)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(ng.deriv(first[0, 0], x), x)(np.array([[1.0, 2.0], [2.0, 4.0]]))
    np.testing.assert_array_equal(found, [[0, 0], [0, 1]])
    check_gradient(lambda x: ng.deriv(linalg.det(x), x, error=np.ones(1)), regular((1,), 4, 3))


@pytest.mark.parametrize("order", [2, 3, 0.5])
def test_the_norm_of_zeros_has_a_slope_of_zero(order: float) -> None:
    x = ng.placeholder((2,), "float64")
    with ng.make_transformer("reference") as transformer:
        slope = transformer.computation(ng.deriv(linalg.norm(x, order), x), x)
        assert slope(np.zeros(2)).tolist() == [0, 0]


# -- wrong calls -------------------------------------------------------------------------------------------------------

M, WHOLE = ng.placeholder((2, 3, 3)), ng.placeholder((3, 3), "int32")
WIDE, NAMED = ng.placeholder((3, 4)), ng.placeholder({"H": 3, "W": 3})
SQUARE = [linalg.cholesky, linalg.inv, linalg.det, linalg.slogdet, lambda x: linalg.solve(x, M)]
SQUARE += [lambda x: linalg.solve_triangular(x, M, trans=1)]


@pytest.mark.parametrize("function", SQUARE)
def test_what_is_not_square_of_floats_and_without_names_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(errors.AxesError, match=r"expected square matrices in the last two axes, got float32\[3, 4\]"):
        function(WIDE)
    with pytest.raises(errors.DTypeError, match=r"expected a float dtype, got int32\[3, 3\]"):
        function(WHOLE)
    with pytest.raises(errors.FamilyError, match=r"has the names H, W.*\n.*\n.*ng\.strip"):
        function(NAMED)


WRONG: list[tuple[Callable[[], Any], type[errors.NGraphRewriteError], str]] = [
    (lambda: linalg.solve(M, ng.placeholder((4,))), errors.AxesError, "the right side .* does not fit"),
    (lambda: linalg.solve(M, ng.placeholder((5, 3, 1))), errors.IncompatibleAxesError, "solve: axis -1"),
    (lambda: linalg.solve(M, WHOLE), errors.DTypeError, "solve: expected a float"),
    (lambda: linalg.solve_triangular(M, M, trans="H"), errors.AttributeValueError, "trans is 'H'"),
    (lambda: linalg.solve_triangular(M, M, lower=2), errors.AttributeValueError, "lower is 2"),
    (lambda: linalg.cholesky(M, upper="L"), errors.AttributeValueError, "upper is 'L'"),
    (lambda: linalg.qr(M[0, 0]), errors.AxesError, "qr: expected matrices"),
    (lambda: linalg.qr(WIDE, mode="raw"), errors.AttributeValueError, "the mode 'raw' .* is not here"),
    (lambda: linalg.matrix_norm(M, ord=3), errors.AttributeValueError, "3 is no norm of matrices"),
    (lambda: linalg.matrix_norm(M[0, 0]), errors.AxesError, "expected matrices"),
    (lambda: linalg.vector_norm(M, ord="fro"), errors.AttributeValueError, "'fro' is no norm of vectors"),
    (lambda: linalg.vector_norm(WHOLE), errors.DTypeError, "vector_norm: expected a float"),
    (lambda: linalg.norm(M, 1), errors.AxesError, "norm: expected vectors or matrices"),
    (lambda: linalg.norm(M, 1, (1, 1)), errors.AxesError, "norm: expected vectors or matrices"),
    (lambda: linalg.norm(M, axis=3), errors.OutOfRangeError, "norm: axis 3"),
    (lambda: linalg.matrix_power(M, 0.5), errors.AttributeValueError, "n is 0.5"),
    (lambda: linalg.matrix_power(WHOLE, -1), errors.DTypeError, "expected a float"),
    (lambda: linalg.outer(M, M), errors.AxesError, "outer: expected a vector"),
    (lambda: linalg.trace(M[0, 0]), errors.OutOfRangeError, "trace: axis -2"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_wrong_calls_are_told(call: Callable[[], Any], error: type[errors.NGraphRewriteError], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
