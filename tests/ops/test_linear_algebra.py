# SPDX-License-Identifier: Apache-2.0
"""Products are NumPy's in every rank and dtype, an einsum is what its subscripts say, and a BLAS does what it can."""

from typing import Any

import numpy as np
import pytest
from drawn import leaf, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from on_targets import agrees, apart, check_gradient, numbers

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.ops.subscripts import canonical
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import DTYPES
from ngraph_rewrite.types.tensor import TensorType

nx = ng.numpy
MANY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 2, "b": 3}
MATRICES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)), ((3, 1, 2, 3), (5, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)),
    ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 2)), ((1, 1), (1, 1)),
]  # fmt: skip


def meaning(function: Any, *arrays: Any) -> Any:
    """The value of a function of placeholders, by the meanings of ops."""
    terms = [leaf(TensorType(a.dtype, anonymous(a.shape))) for a in arrays]
    return value(function(*terms), dict(zip(terms, arrays, strict=True)))


# -- many matrices ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_many_products_of_two_matrices(dtype: np.dtype) -> None:
    shapes = [((2, 3, 4), (2, 4, 5)), ((1, 3, 0), (1, 0, 2)), ((0, 1, 2), (0, 2, 3)), ((3, 1, 1), (3, 1, 1))]
    pairs = [numbers(dtype.name, s, k) for k, pair in enumerate(shapes) for s in pair]

    def each(product: Any, arrays: Any) -> tuple[Any, ...]:
        return tuple(product(x, y) for x, y in zip(arrays[::2], arrays[1::2], strict=True))

    agrees(lambda *t: each(ng.semi.batch_dot, t), lambda *a: each(np.matmul, a), *pairs)


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_operands_of_any_layout(dtype: str) -> None:
    x, y = numbers(dtype, (3, 2, 4), 0), numbers(dtype, (5, 4, 2), 1)

    def each(product: Any, repeated: Any, x: Any, y: Any) -> Any:
        turned = y.transpose(2, 1, 0) if isinstance(y, np.ndarray) else nx.transpose(y, (2, 1, 0))
        return product(x[:2], turned), product(x[::-2, :, ::2], turned[:, ::2]), product(repeated, turned)

    def ours(x: Any, y: Any) -> Any:
        return each(ng.semi.batch_dot, nx.broadcast_to(x[0], (2, 2, 4)), x, y)

    agrees(ours, lambda a, b: each(np.matmul, np.broadcast_to(a[0], (2, 2, 4)), a, b), x, y)


def test_a_blas_multiplies_matrices_of_floats() -> None:
    x, y = ng.placeholder((5, 2, 3)), ng.placeholder((5, 4, 3))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(nx.matmul(x, nx.matrix_transpose(y)), x, y)
        computation(np.ones((5, 2, 3)), np.ones((5, 4, 3)))
        kernels = [k.rsplit("_", 1)[0] for k in computation.stats()["kernels"]]
    assert kernels == ["batch_gemm"]


# -- matmul and its relatives -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
def test_matmul_in_every_rank(dtype: str) -> None:
    arrays = [numbers(dtype, s, k) for k, pair in enumerate(MATRICES) for s in pair]

    def each(product: Any, xs: Any) -> tuple[Any, ...]:
        return tuple(product(x, y) for x, y in zip(xs[::2], xs[1::2], strict=True))

    agrees(lambda *t: each(nx.matmul, t), lambda *a: each(np.matmul, a), *arrays)
    agrees(lambda *t: each(lambda x, y: x @ y, t[:12]), lambda *a: each(np.matmul, a[:12]), *arrays)


@pytest.mark.parametrize("dtypes", [("float32", "int8"), ("float16", "float16"), ("uint8", "int8"), ("bool", "float64")])
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


# -- einsum -----------------------------------------------------------------------------------------------


@MANY
@given(data=st.data(), seed=st.integers(0, 1000))
def test_an_einsum_is_numpys(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = st.text("ijklb", max_size=3)
    inputs = data.draw(st.lists(letters, min_size=1, max_size=4))
    every = "".join(dict.fromkeys("".join(inputs)))
    result = data.draw(st.permutations(every)) if every else []
    kept = "".join(result[: data.draw(st.integers(0, len(result)))])
    more = data.draw(st.integers(0, 2))
    open_ = [data.draw(st.integers(0, more)) for _ in inputs]
    text = ",".join(("..." if n else "") + s for n, s in zip(open_, inputs, strict=True))
    text += data.draw(st.sampled_from(["", f"->{'...' if any(open_) else ''}{kept}"]))
    arrays = []
    for n, s in zip(open_, inputs, strict=True):
        stretch = [data.draw(st.sampled_from([1, (5, 6)[k - n]])) for k in range(2, 2 + n)] if n else []
        arrays.append(rng.integers(-3, 4, (*stretch, *(LENGTHS[c] for c in s))).astype(float))
    arrays = [a if data.draw(st.booleans()) else a.astype(np.int16) for a in arrays]
    wanted = np.einsum(text, *arrays)
    np.testing.assert_array_equal(meaning(lambda *t: nx.einsum(text, *t), *arrays), wanted, strict=True)


CASES = """
    ij,jk->ik  ij,kj->ki  ij,jk  bij,bjk->bik  bij,kjb->ikb  ...ij,...jk->...ik  ii->i  ii  iij->j  i,j->ji  i,i  ij,j->i
    ijk->kji  ij->  ijj,jk,kl,l->i  b,bi,bij->bij  bi,bi->b  bi,bj->ij  ij,ij,ij->  i,ij,j  ijij->ji  ,ij->i  ij,->
""".split()


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_einsums_on_both_targets(dtype: str) -> None:
    sides = [s.split("->")[0].split(",") for s in CASES]
    shapes = [[(*([2] if "." in p else []), *(LENGTHS[c] for c in p.strip("."))) for p in side] for side in sides]
    arrays = [numbers(dtype, s, k) for k, several in enumerate(shapes) for s in several]

    def each(xp: Any, xs: Any) -> tuple[Any, ...]:
        rest = iter(xs)
        return tuple(xp.einsum(s, *(next(rest) for _ in side)) for s, side in zip(CASES, sides, strict=True))

    agrees(lambda *t: each(nx, t), lambda *a: each(np, a), *arrays)


def test_an_axis_of_length_one_is_repeated() -> None:
    x, y = numbers("float64", (1, 3), 0), numbers("float64", (2, 1), 1)
    for text in ("ij,ij->ij", "ij,ij->", "ij,ij,ij->j", "ij,ik->jk"):
        arrays = [x, y, x][: text.count(",") + 1]
        np.testing.assert_array_equal(meaning(lambda *t, text=text: nx.einsum(text, *t), *arrays), np.einsum(text, *arrays))


def test_axes_may_be_numbered() -> None:
    x, y = numbers("int64", (2, 3), 0), numbers("int64", (3, 4), 1)
    for extra in ([], [[0, 2]], [[2, 0]]):
        found = meaning(lambda t, u, extra=extra: nx.einsum(t, [0, 1], u, [1, 2], *extra), x, y)
        np.testing.assert_array_equal(found, np.einsum(x, [0, 1], y, [1, 2], *extra))


def test_the_cheapest_contraction_comes_first() -> None:
    x, y, z = (ng.placeholder(s) for s in ((50, 60), (60, 70), (70,)))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(nx.einsum("ij,jk,k->i", x, y, z), x, y, z)
        computation(np.ones((50, 60)), np.ones((60, 70)), np.ones(70))
        assert computation.stats()["arena_bytes"] < 50 * 70 * 4  # no product of the two matrices


@pytest.mark.parametrize(("text", "ranks", "full"), [
    ("ij,jk", (2, 2), "ij,jk->ik"), ("ba", (2,), "ba->ab"), ("ii", (2,), "ii->"), ("...", (2,), "YZ->YZ"),
    ("...i,...i", (3, 2), "YZi,Zi->YZ"), ("Ab,bA", (2, 2), "Ab,bA->"), (" i , j -> j i ", (1, 1), "i,j->ji"),
])  # fmt: skip
def test_subscripts_written_out(text: str, ranks: tuple[int, ...], full: str) -> None:
    assert canonical(text, ranks) == full


def test_numpys_own_functions_multiply_terms() -> None:
    x, y = numbers("float32", (2, 3), 0), numbers("float32", (3, 4), 1)

    def each(x: Any, y: Any) -> tuple[Any, ...]:
        products = np.matmul(x, y), np.dot(x, y), np.tensordot(x, y, 1), np.einsum("ij,jk", x, y), np.vecdot(x, x)
        return *products, np.outer(x, y), np.inner(x, x), np.diagonal(x), np.trace(y), np.matrix_transpose(x)

    agrees(each, each, x, y)


# -- gradients --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ij,jk,k->i", "iij->j", "bij,bjk->bik", "bi,bi->b", "i,j->ij", "ii,ij->", "...i,...i"])
def test_the_gradient_of_an_einsum(text: str) -> None:
    inputs = text.replace("...", "b").split("->")[0].split(",")
    check_gradient(lambda *t: nx.einsum(text, *t), *(apart(*(LENGTHS[c] for c in s), seed=k) for k, s in enumerate(inputs)))


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
    (lambda: nx.diagonal(N, 1), errors.AxesError, "is not known"),
    (lambda: nx.einsum("ij,jk->ik", X, Y), errors.AxesError, "'j' in 'ij,jk->ik' have the lengths 3 and 4"),
    (lambda: nx.einsum("ii", X), errors.AxesError, "the axes 'i' of one operand"),
    (lambda: nx.einsum("ij,jk", X), errors.AttributeValueError, "of 2 operands, and there are 1"),
    (lambda: nx.einsum("ijk", X), errors.AttributeValueError, "is of 3 axes, and the operand has 2"),
    (lambda: nx.einsum("i", X), errors.AttributeValueError, "is of 1 axes, and the operand has 2"),
    (lambda: nx.einsum("ij->ik", X), errors.AttributeValueError, "names 'k', which no operand has"),
    (lambda: nx.einsum("ij->ii", X), errors.AttributeValueError, "names 'i' twice"),
    (lambda: nx.einsum("i?", X), errors.AttributeValueError, r"contain '\?'"),
    (lambda: nx.einsum("..ij", X), errors.AttributeValueError, "three dots"),
    (lambda: nx.einsum("i...->i", X), errors.AttributeValueError, "leaves out the axes of the ellipsis"),
    (lambda: nx.einsum("->"), errors.ArgumentError, "no operands"),
    (lambda: nx.einsum(X, "ij"), errors.ArgumentError, "is no list of axes"),
    (lambda: ng.semi.batch_dot(X, X), errors.AxesError, r"expected shapes \(b, m, k\)"),
    (lambda: ng.semi.diagonal(X, (0, 0)), errors.AxesError, "at place 0"),
    (lambda: ng.semi.diagonal(X, (0, 2)), errors.AttributeValueError, "none left out"),
    (lambda: ng.semi.on_diagonal(X, (0, 0)), errors.AttributeValueError, "each of the 2 axes"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
