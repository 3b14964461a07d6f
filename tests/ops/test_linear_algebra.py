# SPDX-License-Identifier: Apache-2.0
"""Products are NumPy's in every rank and dtype, and tiles do what they can."""

from typing import Any

import numpy as np
import pytest
from on_targets import agrees, apart, check_gradient, meaning, numbers

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.types.dtypes import DTYPES

nx = ng.numpy
MATRICES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)), ((3, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 2)), ((1, 1), (1, 1)),
]  # fmt: skip


# -- many matrices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_many_products_of_two_matrices(dtype: np.dtype) -> None:
    shapes = [((2, 3, 4), (2, 4, 5)), ((1, 3, 0), (1, 0, 2)), ((0, 1, 2), (0, 2, 3)), ((3, 1, 1), (3, 1, 1))]
    pairs = [numbers(dtype.name, s, k) for k, pair in enumerate(shapes) for s in pair]

    def each(product: Any, arrays: Any) -> tuple[Any, ...]:
        return tuple(product(x, y) for x, y in zip(arrays[::2], arrays[1::2], strict=True))

    def product(x: Any, y: Any) -> Any:
        return np.matmul(x, y).astype(dtype)  # NumPy's of bfloat16 is a float32

    agrees(lambda *t: each(ng.semi.batch_dot, t), lambda *a: each(product, a), *pairs)


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_operands_of_any_layout(dtype: str) -> None:
    x, y = numbers(dtype, (3, 2, 4), 0), numbers(dtype, (5, 4, 2), 1)

    def each(product: Any, repeated: Any, x: Any, y: Any) -> Any:
        turned = y.transpose(2, 1, 0) if isinstance(y, np.ndarray) else nx.transpose(y, (2, 1, 0))
        return product(x[:2], turned), product(x[::-2, :, ::2], turned[:, ::2]), product(repeated, turned)

    def ours(x: Any, y: Any) -> Any:
        return each(ng.semi.batch_dot, nx.broadcast_to(x[0], (2, 2, 4)), x, y)

    agrees(ours, lambda a, b: each(np.matmul, np.broadcast_to(a[0], (2, 2, 4)), a, b), x, y)


def test_tiles_multiply_matrices_of_floats() -> None:
    x, y = ng.placeholder((5, 2, 3)), ng.placeholder((5, 4, 3))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(nx.matmul(x, nx.matrix_transpose(y)), x, y)
        computation(np.ones((5, 2, 3)), np.ones((5, 4, 3)))
        kernels = [k.rsplit("_", 1)[0] for k in computation.stats()["kernels"]]
    assert kernels == ["gemm"]


# -- matmul and its relatives -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_matmul_in_every_rank(dtype: str) -> None:
    arrays = [numbers(dtype, s, k) for k, pair in enumerate(MATRICES) for s in pair]

    def each(product: Any, xs: Any) -> tuple[Any, ...]:
        return tuple(product(x, y) for x, y in zip(xs[::2], xs[1::2], strict=True))

    agrees(lambda *t: each(nx.matmul, t), lambda *a: each(np.matmul, a), *arrays)
    agrees(lambda *t: each(lambda x, y: x @ y, t[:12]), lambda *a: each(np.matmul, a[:12]), *arrays)


@pytest.mark.parametrize(
    "dtypes", [("float32", "int8"), ("float16", "float16"), ("uint8", "int8"), ("bool", "float64")]
)
def test_products_promote(dtypes: tuple[str, str]) -> None:
    x, y = numbers(dtypes[0], (2, 3), 0), numbers(dtypes[1], (3, 2), 1)
    for name in ("matmul", "dot", "outer"):
        found, wanted = meaning(getattr(nx, name), x, y), getattr(np, name)(x, y)
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_products_of_tensors() -> None:
    x, y, v = numbers("float32", (2, 3, 4), 0), numbers("float32", (4, 3, 2), 1), numbers("float32", (4,), 2)

    def each(xp: Any, x: Any, y: Any, v: Any) -> tuple[Any, ...]:
        dots = [xp.tensordot(x, y, axes=a) for a in (0, 1, ((1, 0), (1, 2)), (2, 0), ([0], [-1]))]
        vectors = xp.vecdot(x, v), xp.vecdot(x, x, axis=-2), xp.inner(x, v), xp.inner(x, x), xp.inner(v, v)
        return *dots, *vectors, xp.outer(x, v), xp.dot(x, v), xp.dot(v, y[..., 0])

    agrees(lambda *t: each(nx, *t), lambda *a: each(np, *a), x, y, v)


def test_dot_of_many_axes_and_of_numbers() -> None:
    x, y, n = numbers("int64", (5, 2, 3), 0), numbers("int64", (4, 3, 2), 1), np.array(3)
    agrees(
        lambda t, u, m: (nx.dot(t, u), nx.dot(t, m), nx.inner(m, u), nx.tensordot(t, u, axes=0)),
        lambda a, b, m: (np.dot(a, b), np.dot(a, m), np.inner(m, b), np.tensordot(a, b, axes=0)),
        x, y, n,
    )  # fmt: skip


@pytest.mark.parametrize("offset", [0, 1, -1, 3, -9])
def test_diagonals(offset: int) -> None:
    x = numbers("int8", (3, 4, 2), 0)

    def each(xp: Any, x: Any) -> tuple[Any, ...]:
        return xp.diagonal(x, offset), xp.diagonal(x, offset, 2, 1), xp.diagonal(x, offset, -1, 0), xp.trace(x, offset)

    agrees(lambda t: each(nx, t), lambda a: each(np, a), x)


def test_lengths_may_be_unknown() -> None:
    n = ng.Axis("n").length
    x, y = ng.placeholder([n, 2, 3], "float64"), ng.placeholder([n, 3, n], "float64")
    terms = nx.matmul(x, y), nx.einsum("aba->b", y), nx.einsum("abc,ade,bc->", x, y, x[0]), nx.diagonal(y, 0, 0, 2)
    a, b = numbers("float64", (4, 2, 3), 0), numbers("float64", (4, 3, 4), 1)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(terms, x, y)(a, b)
    wanted = a @ b, np.einsum("aba->b", b), np.einsum("abc,ade,bc->", a, b, a[0]), np.diagonal(b, 0, 0, 2)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("offset", [0, 1, -2, 5])
def test_diagonals_of_unknown_lengths_and_their_derivatives(offset: int) -> None:
    x = ng.placeholder((None, 4), "float64")
    taken = nx.diagonal(x, offset)
    slope = ng.deriv(nx.sum(taken * taken), x)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([taken, slope], x)
        for rows in (0, 1, 2, 4, 6):
            array = np.arange(4.0 * rows).reshape(rows, 4)
            diagonal, found = computation(array)
            np.testing.assert_array_equal(diagonal, np.diagonal(array, offset), strict=True)
            np.testing.assert_array_equal(found, 2 * array * np.eye(rows, 4, offset))


def test_numpys_own_functions_multiply_terms() -> None:
    x, y = numbers("float32", (2, 3), 0), numbers("float32", (3, 4), 1)

    def each(x: Any, y: Any) -> tuple[Any, ...]:
        products = np.matmul(x, y), np.dot(x, y), np.tensordot(x, y, 1), np.einsum("ij,jk", x, y), np.vecdot(x, x)
        return *products, np.outer(x, y), np.inner(x, x), np.diagonal(x), np.trace(y), np.matrix_transpose(x)

    agrees(each, each, x, y)


# -- gradients --------------------------------------------------------------------------------------------


def test_gradients_are_central_differences() -> None:
    check_gradient(ng.semi.batch_dot, apart(2, 2, 3), apart(2, 3, 2, seed=1))
    check_gradient(nx.matmul, apart(2, 1, 2, 3), apart(2, 3, 2, seed=1))
    check_gradient(nx.matmul, apart(3), apart(2, 3, 2, seed=1))
    check_gradient(lambda x: nx.diagonal(x, 1, 0, 2), apart(2, 2, 3))
    check_gradient(nx.trace, apart(3, 2))
    check_gradient(lambda x, y: nx.tensordot(x, y, axes=((0,), (1,))), apart(2, 3), apart(2, 2, seed=1))


def test_the_gradient_of_a_gradient() -> None:
    def twice(x: Any, y: Any) -> Any:
        (slope,) = ng.deriv(nx.sum(nx.square(nx.matmul(x, y))), [x])
        return slope

    check_gradient(twice, apart(2, 2, 2), apart(2, 2, 2, seed=1))


X, Y, V = ng.placeholder((2, 3)), ng.placeholder((4, 5)), ng.placeholder((3,))
N = ng.placeholder((None, 3))
WRONG = [
    (lambda: nx.matmul(X, Y), errors.AxesError, "summed over together"),
    (lambda: nx.matmul(X, 2.0), errors.AxesError, "expected operands with axes"),
    (lambda: X @ Y, errors.AxesError, "summed over together"),
    (lambda: nx.matmul(ng.placeholder((2, 1, 3)), ng.placeholder((4, 3, 2))), errors.IncompatibleAxesError, "2 and 4"),
    (lambda: nx.matrix_transpose(V), errors.AxesError, "expected matrices"),
    (lambda: nx.tensordot(X, Y), errors.AxesError, "summed over together"),
    (lambda: nx.tensordot(X, Y, axes=3), errors.AttributeValueError, "axes is 3"),
    (lambda: nx.tensordot(X, X, axes=((0, 1), (0,))), errors.AttributeValueError, "as many axes"),
    (lambda: nx.tensordot(X, X, axes=((0,), (2,))), errors.OutOfRangeError, "axis 2"),
    (lambda: nx.tensordot(X, X, axes=(0, 1, 0)), errors.AttributeValueError, "a sequence of axes for each"),
    (lambda: nx.vecdot(X, V, axis=0), errors.AttributeValueError, "count from the end: -1 to -1"),
    (lambda: nx.vecdot(X, Y), errors.AxesError, "summed over together"),
    (lambda: nx.inner(X, Y), errors.AxesError, "summed over together"),
    (lambda: nx.dot(X, Y), errors.AxesError, "summed over together"),
    (lambda: nx.diagonal(X, 0, 1, 1), errors.AttributeValueError, "both 1"),
    (lambda: nx.diagonal(V), errors.OutOfRangeError, "axis 1 is outside"),
    (lambda: ng.semi.batch_dot(X, X), errors.AxesError, r"expected shapes \(b, m, k\)"),
    (lambda: ng.semi.diagonal(X, (0, 0)), errors.AxesError, "at place 0"),
    (lambda: ng.semi.diagonal(X, (0, 2)), errors.AttributeValueError, "none left out"),
    (lambda: ng.semi.on_diagonal(X, (0, 0)), errors.AttributeValueError, "each of the 2 axes"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
