# SPDX-License-Identifier: Apache-2.0
"""Softmax, its logarithm and log-sum-exp by position are SciPy's, and recognized where they are spelled out."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import meaning, slopes
from scipy import special
from test_numpy_gradients import check

import ngraph_rewrite as ng
from ngraph_rewrite.types.dtypes import finfo

nx = ng.numpy
SOME = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
FLOATS = ["bfloat16", "float16", "float32", "float64"]
AXES = [None, 0, -1, 1, (0, 1), (1, -3), ()]
inf, nan = np.inf, np.nan


def known(axis: Any, rank: int) -> bool:
    return axis is None or all(-rank <= k < rank for k in np.atleast_1d(axis))


def numbers(shape: tuple[int, ...], seed: int, size: float) -> Any:
    """Numbers up to a size, some of them -inf, but not the first of each row."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-size, size, shape)
    return np.where((rng.random(shape) < 0.1) & (np.indices(shape).sum(0) > 0) if shape else False, -inf, x)


def scipys(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def near(found: Any, wanted: Any, size: float) -> None:
    """As near as differences of numbers of that size are rounded."""
    room = 4 * float(finfo(found.dtype).eps) * size
    np.testing.assert_allclose(np.asarray(found, "float64"), wanted, 0, room, strict=True)


@SOME
@given(
    name=st.sampled_from(["softmax", "log_softmax", "logsumexp"]),
    dtype=st.sampled_from(FLOATS),
    shape=hnp.array_shapes(max_dims=3, max_side=4),  # of numbers alone SciPy's have an axis
    axis=st.sampled_from(AXES),
    size=st.sampled_from([1.0, 30.0, 3e4]),
    seed=st.integers(0, 99),
)
def test_floats_give_what_scipy_gives_in_double_precision(
    name: str, dtype: str, shape: Any, axis: Any, size: float, seed: int
) -> None:
    if known(axis, len(shape)):
        x = numbers(shape, seed, size).astype(dtype)
        found = meaning(lambda x: getattr(nx, name)(x, axis=axis), x)
        assert found.dtype == dtype
        # an exponential is the less off the smaller it is
        near(found, scipys(getattr(special, name), x.astype("float64"), axis=axis), 1 if name == "softmax" else size)


@SOME
@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=1, max_dims=3, max_side=4),
    axis=st.sampled_from(AXES), keepdims=st.booleans(), part=st.sampled_from([None, 0, 1]),
    size=st.sampled_from([1.0, 300.0]), seed=st.integers(0, 99),
)  # fmt: skip
def test_weights_count_as_in_scipy(
    shapes: Any, axis: Any, keepdims: bool, part: int | None, size: float, seed: int
) -> None:
    """The logarithm of the sum, or that of its size, or its sign. SciPy's sign of a sum that underflows is 0."""
    options = {"axis": axis, "keepdims": keepdims, "return_sign": part is not None}
    if known(axis, len(shapes.result_shape)):
        own, other = shapes.input_shapes
        x, b = numbers(own, seed, size), np.random.default_rng(seed).choice([0.0, 1.0, -0.5, 3.0], other)
        wide, weights = np.broadcast_arrays(x, b)
        wanted = scipys(special.logsumexp, wide, b=weights, **options)
        found = meaning(lambda x, b: picked(nx.logsumexp(x, b=b, **options), part), x, b)
        np.testing.assert_allclose(found, np.asarray(picked(wanted, part)), 1e-12, 1e-12 * size, strict=True)


def picked(found: Any, part: int | None) -> Any:
    return found if part is None else found[part]


@pytest.mark.parametrize(
    ("x", "softmax", "logarithm", "total"),
    [
        ([inf, 1.0], [nan, 0.0], [nan, -inf], inf),
        ([-inf, 2.0], [0.0, 1.0], [-inf, 0.0], 2.0),
        ([-inf, -inf], [nan, nan], [nan, nan], -inf),
        ([nan, 1.0], [nan, nan], [nan, nan], nan),
        ([1000.0, -1000.0], [1.0, 0.0], [0.0, -2000.0], 1000.0),
        (3.0, 1.0, 0.0, 3.0),
    ],
)
def test_special_values(x: Any, softmax: Any, logarithm: Any, total: Any) -> None:
    x = np.array(x)
    for function, wanted in ((nx.softmax, softmax), (nx.log_softmax, logarithm), (nx.logsumexp, total)):
        np.testing.assert_array_equal(meaning(function, x), wanted)


@pytest.mark.parametrize(
    ("x", "b", "wanted"),
    [([inf, 2], [0, 1], 2), ([nan, 2], [0, 1], 2), ([1e3, 1], [0, 1], 1), ([1, 1], [1, -1], -inf), ([-1e3], [-1], nan)],
)
def test_what_has_no_weight_does_not_count(x: Any, b: Any, wanted: float) -> None:
    np.testing.assert_array_equal(meaning(lambda x: nx.logsumexp(x, b=b), np.array(x, "float32")), wanted)


@pytest.mark.parametrize(("dtype", "own"), [("bool", "float16"), ("int16", "float32"), ("uint32", "float64")])
def test_integers_are_floats_as_they_are_to_exp(dtype: str, own: str) -> None:
    x = np.array([[0, 1, 1], [1, 0, 0]], dtype)
    for function in (nx.softmax, nx.log_softmax, nx.logsumexp, ng.numpy.exp):
        assert function(ng.placeholder((2, 3), dtype)).dtype == own
    near(meaning(nx.softmax, x), special.softmax(x.astype("float64")), 1)


def test_nothing_has_the_sum_0() -> None:
    """Whether that is known where the graph is built, or with each call."""
    for length, targets in ((0, ["reference"]), (None, ["reference", "cpu"])):
        x = ng.placeholder((length, 3), "float64")
        made = nx.softmax(x, 0), nx.log_softmax(x), nx.logsumexp(x, 0), nx.logsumexp(x, 0, b=2.0), nx.logsumexp(x, 1)
        for target in targets:
            with ng.make_transformer(target) as transformer:
                call = transformer.computation(made, x)
                for found, shape in zip(call(np.zeros((0, 3))), [(0, 3), (0, 3), (3,), (3,), (0,)], strict=True):
                    np.testing.assert_array_equal(found, np.full(shape, -inf), strict=True)
                if length is None:
                    y = numbers((2, 3), 1, 9.0)
                    np.testing.assert_allclose(call(y)[3], special.logsumexp(y, 0, b=2.0), 1e-12)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_what_is_mapped_over_rows_is_that_of_each_row(name: str) -> None:
    x = ng.placeholder((5, 4))
    function = getattr(nx, name)
    with ng.make_transformer("cpu") as transformer:
        one, other = transformer.computation([nx.vmap(function)(x), function(x, 1)], x).lowering.roots
    assert one is other


def test_names_and_marks_are_forgotten() -> None:
    x = ng.placeholder({"H": 3, "N": 2})
    assert (nx.softmax(x, 0).type, nx.logsumexp(x, 0).shape) == (ng.placeholder((3, 2)).type, (2,))


def test_relu_is_of_all_families() -> None:
    terms = ng.placeholder({"H": 3}), ng.simple.placeholder((3, ng.simple.N)), ng.placeholder((3,))
    assert [ng.relu(x).definition.name for x in terms] == ["axes.relu", "simple.relu", "numpy.relu"]
    x = np.array([-1.0, 0.0, 2.0, nan])
    np.testing.assert_array_equal(meaning(nx.relu, x), [0.0, 0.0, 2.0, nan])
    np.testing.assert_array_equal(slopes(nx.relu, x, target="reference")[0][:3], [0.0, 0.5, 1.0])


# -- derivatives --------------------------------------------------------------------------------------------

SMOOTH: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: nx.softmax(x, axis=1),
    "log_softmax": nx.log_softmax,
    "logsumexp": lambda x: nx.logsumexp(x, axis=0, keepdims=True),
    "spelled out": lambda x: nx.exp(x) / nx.sum(nx.exp(x), axis=0),
    "shifted": lambda x: shifted(x, 1),
    "the logarithm of a softmax": lambda x: nx.log(nx.softmax(x, axis=0)),
    "the logarithm, spelled out": lambda x: nx.log(nx.exp(x) / nx.sum(nx.exp(x))),
    "log-sum-exp, spelled out": lambda x: nx.log(nx.sum(nx.exp(x), axis=1)),
    "log-sum-exp, shifted": lambda x: total_shifted(x, 1),
}


def shifted(x: Any, axis: Any) -> Any:
    e = nx.exp(x - nx.max(x, axis=axis, keepdims=True))
    return e / nx.sum(e, axis=axis, keepdims=True)


def total_shifted(x: Any, axis: Any) -> Any:
    top = nx.max(x, axis=axis, keepdims=True)
    return nx.log(nx.sum(nx.exp(x - top), axis=axis, keepdims=True)) + top


def finite_shifted(x: Any, axis: Any) -> Any:
    """As SciPy has it."""
    top = nx.max(x, axis=axis, keepdims=True)
    top = nx.where(nx.isfinite(top), top, 0)
    return nx.log(nx.sum(nx.exp(x - top), axis=axis)) + nx.squeeze(top, axis=axis)


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_differences(name: str) -> None:
    x = ng.placeholder((2, 3), "float64")
    check(SMOOTH[name](x), x)


def test_weights_have_derivatives_also_where_they_are_0() -> None:
    x, b = ng.placeholder((2, 3), "float64"), ng.placeholder((3,), "float64")
    check(nx.logsumexp(x, axis=1, b=b), x, b)
    found = slopes(lambda x, b: nx.logsumexp(x, b=b), np.array([5.0, 1.0]), np.array([0.0, 1.0]), target="reference")
    np.testing.assert_allclose(found, [[0.0, 1.0], [np.exp(4.0), 1.0]])


def test_a_row_without_weights_has_slopes_of_0() -> None:
    """Its sum is 0, and the logarithm -inf, as it is of elements that are hidden."""
    x, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 0.0], [1.0, 1.0]])

    def seen(x: ng.Op) -> ng.Op:
        total = nx.logsumexp(x, axis=1, b=b)
        return nx.where(nx.isfinite(total), total, 0.0)

    (found,) = slopes(seen, x, target="reference")
    np.testing.assert_allclose(found, [[0.0, 0.0], special.softmax(x[1])])


SIGMOIDS: list[Callable[[ng.Op], ng.Op]] = [lambda x: 1 / (1 + ng.exp(-x)), lambda x: ng.reciprocal(1 + ng.exp(-x))]


@pytest.mark.parametrize("spelled", SIGMOIDS)
@pytest.mark.parametrize("family", ["numpy", "axes", "simple"])
def test_a_sigmoid_that_is_spelled_out_has_its_slope(family: str, spelled: Callable[[ng.Op], ng.Op]) -> None:
    """Where the exponential overflows, too."""
    x = {
        "numpy": ng.placeholder((3,), "float64"),
        "axes": ng.placeholder({"H": 3}, "float64"),
        "simple": ng.simple.placeholder((ng.simple.N(3),), "float64"),
    }[family]
    assert spelled(x).definition.family == family
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(ng.deriv(nx.sum(spelled(x)), x), x)([-1000.0, 0.0, 1000.0])
    np.testing.assert_array_equal(found, [0.0, 0.25, 0.0])


@pytest.mark.parametrize(
    "spelled", [nx.log_softmax, lambda x: nx.log(nx.softmax(x)), lambda x: nx.log(shifted(x, None))]
)
def test_a_certain_loss_has_a_finite_derivative(spelled: Callable[..., Any]) -> None:
    """Where the softmax is 0 its logarithm is -inf, and has no slope."""
    x = np.array([1000.0, 0.0, 0.0], np.float32)
    (found,) = slopes(lambda x: spelled(x)[1], x, target="reference")
    np.testing.assert_array_equal(found, [-1.0, 1.0, 0.0])


# -- recognition --------------------------------------------------------------------------------------------

SPELLED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "softmax": (lambda x: nx.exp(x) / nx.sum(nx.exp(x), axis=1, keepdims=True), lambda x: nx.softmax(x, 1)),
    "softmax of all": (lambda x: nx.exp(x) / nx.sum(nx.exp(x)), nx.softmax),
    "softmax of columns": (lambda x: nx.exp(x) / nx.sum(nx.exp(x), axis=0), lambda x: nx.softmax(x, 0)),
    "softmax, shifted": (lambda x: shifted(x, 1), lambda x: nx.softmax(x, 1)),
    "softmax, shifted by another row": (lambda x: nx.softmax(x - x[0], 0), lambda x: nx.softmax(x, 0)),
    "softmax of a logarithm": (lambda x: nx.softmax(nx.log_softmax(x), 1), lambda x: nx.softmax(x, 1)),
    "log_softmax": (lambda x: nx.log(nx.softmax(x)), nx.log_softmax),
    "log_softmax, a difference": (lambda x: x - nx.log(nx.sum(nx.exp(x), axis=0)), lambda x: nx.log_softmax(x, 0)),
    "log_softmax, shifted": (lambda x: nx.log(shifted(x, 1)), lambda x: nx.log_softmax(x, 1)),
    "logsumexp": (lambda x: nx.log(nx.sum(nx.exp(x), axis=1)), lambda x: nx.logsumexp(x, 1)),
    "logsumexp, shifted": (lambda x: total_shifted(x, 0), lambda x: nx.logsumexp(x, 0, keepdims=True)),
    "logsumexp, by hand": (lambda x: finite_shifted(x, 1), lambda x: nx.logsumexp(x, 1)),
    "logsumexp, squeezed": (
        lambda x: (
            nx.logsumexp(x - nx.max(x, axis=1, keepdims=True), 1) + nx.squeeze(nx.max(x, axis=1, keepdims=True), 1)
        ),
        lambda x: nx.logsumexp(x, 1),
    ),
    "sigmoid": (lambda x: 1 / (1 + nx.exp(-x)), nx.sigmoid),
    "sigmoid, a reciprocal": (lambda x: nx.reciprocal(1 + nx.exp(-x)), nx.sigmoid),
    "log1p": (lambda x: nx.log(x + 1), nx.log1p),
    "expm1": (lambda x: nx.exp(x) - 1, nx.expm1),
}
# What looks alike: sums over other axes than those along which they are repeated, or in another dtype.
APART: dict[str, Callable[..., Any]] = {
    "rows beside columns": lambda x: nx.exp(x) / nx.sum(nx.exp(x), axis=1),
    "a difference of rows and columns": lambda x: x - nx.logsumexp(x, axis=1),
    "another dtype": lambda x: nx.exp(x) / nx.sum(nx.exp(x), axis=1, keepdims=True, dtype="float64"),
    "another maximum": lambda x: nx.softmax(x - nx.max(x, axis=0), axis=1),
    "another sum": lambda x: nx.exp(x) / nx.sum(nx.exp(-x)),
}


@pytest.mark.parametrize("name", SPELLED)
def test_what_is_spelled_out_is_recognized(name: str) -> None:
    x = ng.placeholder((3, 3), "float32")
    spelled, short = SPELLED[name]
    with ng.make_transformer("cpu") as transformer:
        one, other = transformer.computation([spelled(x), short(x)], x).lowering.roots
    assert one is other


@pytest.mark.parametrize("name", APART)
def test_what_looks_alike_is_not(name: str) -> None:
    x = ng.placeholder((3, 3), "float32")
    made = APART[name](x)
    with ng.make_transformer("cpu") as transformer:
        assert "recognize_numpy" not in transformer.computation(made, x).explain(made)
