# SPDX-License-Identifier: Apache-2.0
"""Arguments that NumPy has beyond the standard mean the same of terms, or the error says what to write."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from on_targets import agrees, check_gradient, computed

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
M = np.array([[0.5, -1.0, 2.0, 4.0], [3.0, 0.0, -2.5, 1.0], [7.0, 1.5, 0.25, -4.0]])
T = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("unknown", [False, True])
def test_places_outside_are_clipped_or_wrapped(mode: Any, axis: int | None, unknown: bool) -> None:
    places = np.array([[-9, -4, -1], [0, 3, 20], [1, 1, 2]])

    def taken(xp: Any, x: Any, k: Any) -> Any:
        return xp.take(x, k, axis=axis, mode=mode)

    agrees(lambda x, k: taken(nx, x, k), lambda x, k: taken(np, x, k), M, places, unknown=unknown)
    agrees(lambda x: taken(np, x, np.uint8([1, 3])), lambda x: taken(np, x, [1, 3]), M, unknown=unknown)


def test_sorts_take_all_elements_as_one_row() -> None:
    agrees(lambda x: nx.sort(x, axis=None), lambda x: np.sort(x, axis=None), T % 7)
    agrees(lambda x: nx.argsort(x, axis=None), lambda x: np.argsort(x, axis=None, stable=True), T % 7)
    agrees(lambda x: nx.sort(x, axis=None, descending=True), lambda x: np.sort(x, axis=None)[::-1], T % 7)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_first_index_may_go_fastest(order: Any) -> None:
    for shape in ((4, -1), -1, (2, 2, 6), np.array([6, 4])):
        agrees(lambda x, s=shape: nx.reshape(x, s, order=order), lambda x, s=shape: np.reshape(x, s, order=order), T)
    agrees(lambda x: nx.ravel(x, order=order), lambda x: np.ravel(x, order=order), T)
    agrees(lambda x: np.ravel(x, "K"), lambda x: np.ravel(x), T, unknown=True)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 5])
def test_steps_between_arrays(axis: int, endpoint: bool, num: int) -> None:
    def steps(xp: Any, start: Any, stop: Any) -> Any:
        return xp.linspace(start, stop, num, endpoint=endpoint, axis=axis)

    agrees(lambda x, y: steps(nx, x, y), lambda x, y: steps(np, x, y), M, M[0] + 1, rtol=1e-15)
    agrees(lambda x, y: steps(np, x, y), lambda x, y: steps(np, x, y), M, M[0] + 1, rtol=1e-15)


def test_steps_between_arrays_end_there_and_have_slopes() -> None:
    start = np.array([0.1, 0.3], np.float32)
    for (found,) in computed(lambda x: nx.linspace(x, 0.7, 8), start):
        assert found.dtype == np.float32
        assert_array_equal(found[-1], np.float32([0.7, 0.7]))
    check_gradient(lambda x, y: nx.linspace(x, y, 4), M[0], M[1])
    agrees(lambda n: nx.linspace(n, 7, 4), lambda n: np.linspace(n, 7, 4), np.arange(3))


def test_floats_of_16_bits_count_to_many() -> None:
    start = np.array([-6e4, 1.0], np.float16)
    for (found,) in computed(lambda x: nx.linspace(x, 6e4, 3001), start):
        assert found.dtype == np.float16
        assert_array_equal(found, np.linspace(start.astype(np.float32), 6e4, 3001).astype(np.float16))


def test_the_greatest_size_of_nothing_is_zero() -> None:
    empty = np.zeros((3, 0))
    for order in (np.inf, 1, 2, None):
        agrees(lambda x, o=order: nx.linalg.norm(x[0], o), lambda x, o=order: np.linalg.norm(x[0], o), empty)
    for order in (np.inf, 1, "fro"):
        agrees(lambda x, o=order: nx.linalg.matrix_norm(x, ord=o), lambda x, o=order: np.linalg.norm(x, o), empty)
        agrees(lambda x, o=order: nx.linalg.matrix_norm(x.T, ord=o), lambda x, o=order: np.linalg.norm(x.T, o), empty)


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda x: nx.take(x, [0.5], mode="clip"), errors.DTypeError, "take: expected integers"),
    (lambda x: nx.take(x[:0], [0], axis=0, mode="clip"), errors.OutOfRangeError, "axis 0 of length 0"),
    (lambda x: nx.take(x[:0], [0], axis=0, mode="wrap"), errors.OutOfRangeError, "axis 0 of length 0"),
    (lambda x: nx.take(x, [0], mode="around"), errors.AttributeValueError, "take: mode is 'around'\n.*\n.*wrap"),
    (lambda x: nx.reshape(x, -1, order="A"), errors.AttributeValueError, "reshape: order is 'A'\n.*\n.*C, F"),
    (lambda x: nx.linspace(x, 1, -1), errors.LengthError, "linspace: num is -1"),
    (lambda x: nx.linspace(x, 1, 3, dtype="int64"), errors.AttributeValueError, "linspace: dtype is int64"),
    (lambda x: nx.linspace(x, 1, 3, axis=3), errors.OutOfRangeError, "axis 3"),
    (lambda x: np.where(x > 0), errors.ArgumentError, "of a condition alone.*\n.*\n.*nonzero"),
    (lambda x: np.put(x, [0], 1), errors.ArgumentError, "ng.numpy.put gives another term"),
    (lambda x: np.logaddexp.reduce(x), errors.ArgumentError, "use ng.numpy.logsumexp"),
    (lambda x: np.add.reduceat(x, [0]), errors.ArgumentError, "ng.numpy.segment_sum"),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2), errors.ArgumentError, "ng.numpy.pooling"),
    (lambda x: nx.at(x)[0].divide(2), errors.MissingMethodError, "no divide\n.*\n.*multiply"),
    (lambda x: nx.at(x)[0].apply(np.sin), errors.MissingMethodError, "no apply\n.*\n.*set"),
    (lambda x: nx.at(x)[0].sett(2), errors.MissingMethodError, "no sett\n.*\n.*there are .*set"),
])  # fmt: skip
def test_wrong_calls_say_what_to_do(call: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call(ng.placeholder((3, 4), name="x"))


# -- names and arguments of NumPy's own --------------------------------------------------------------------------------

# What is called alike of ng.numpy and of NumPy, with the names of NumPy's arguments.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "several shifts of all elements": lambda xp, x: xp.roll(x, (1, 2)),
    "rows of a vector below": lambda xp, x: xp.tril(x[0], k=1),
    "rows of a vector above": lambda xp, x: xp.triu(x[0]),
    "a dtype of what is joined": lambda xp, x: xp.concatenate([x, x[:1]], dtype="float32"),
    "a dtype of what is stacked": lambda xp, x: xp.stack([x, x], axis=1, dtype="float32"),
    "another shape": lambda xp, x: xp.ones_like(x, shape=(2,)),
    "older names of bounds": lambda xp, x: xp.clip(x, a_min=0.0, a_max=None),
    "a kind of sort": lambda xp, x: xp.sort(x, axis=0, kind="stable"),
    "an order of products": lambda xp, x: xp.einsum("ij,kj", x, x, optimize=True),
    "parts": lambda xp, x: xp.split(x, indices_or_sections=2, axis=1)[1],
    "repetitions": lambda xp, x: xp.tile(x, reps=(2, 1)),
    "repeats": lambda xp, x: xp.repeat(x, repeats=2, axis=0),
    "places": lambda xp, x: xp.take(x, indices=[0, 2], axis=0),
    "axes that move": lambda xp, x: xp.moveaxis(x, source=0, destination=1),
    "a part of the order": lambda xp, x: xp.quantile(x, q=0.3, axis=1),
    "a grid": lambda xp, x: xp.meshgrid(x[0], x[1], copy=False)[0],
    "powers from arrays": lambda xp, x: xp.geomspace([1.0, 2.0], 8.0, 3, axis=1, dtype="float64"),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_have_numpys_names(name: str) -> None:
    call = CALLS[name]
    agrees(lambda x: call(nx, x), lambda x: call(np, x), M)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_a_spread_may_be_about_another_mean(name: str) -> None:
    x = M.copy()
    if name.startswith("nan"):
        x[0, 0] = np.nan
    mean = np.array([[1.0, 0.5, -2.0, 3.0]])
    for named in ({"ddof": 1}, {"correction": 1}):
        agrees(
            lambda x, m, named=named: getattr(nx, name)(x, axis=0, mean=m, **named),
            lambda x, m, named=named: getattr(np, name)(x, axis=0, mean=m, **named),
            x,
            mean,
            rtol=1e-14,
        )
    with pytest.raises(errors.ArgumentError, match="both correction and ddof"):
        getattr(nx, name)(x, ddof=1, correction=1)
    with pytest.raises(errors.AxesError):
        getattr(nx, name)(x, axis=0, mean=np.zeros((2, 3, 4)))


METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull
median_unbiased normal_unbiased""".split()


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_quantiles(method: Any) -> None:
    x, q = np.append(M, [[np.nan, 2.0, 2.5, 1.0]], axis=0), [0.0, 0.1, 0.25, 0.5, 2 / 3, 0.9, 1.0]
    for name in ("quantile", "nanquantile"):
        agrees(
            lambda x, name=name: getattr(np, name)(x, q, axis=0, method=method),
            lambda x, name=name: getattr(np, name)(x, q, axis=0, method=method),
            x,
            rtol=1e-14,
        )


@pytest.mark.parametrize(("shape", "axis"), [((4,), 0), ((3, 4), None), ((3, 4), 0)])
def test_quantiles_of_elements_that_weigh_something(shape: tuple[int, ...], axis: int | None) -> None:
    x, weights = np.resize(M, shape), np.resize([0.0, 1.0, 2.0, 0.5, 0.0, 3.0], shape)
    if len(shape) > 1:
        x[0, 1] = np.nan
    options: Any = {"method": "inverted_cdf"}
    for name in ("quantile", "nanquantile"):

        def found(x: Any, w: Any, name: str = name) -> Any:
            return getattr(np, name)(x, [0.0, 0.3, 0.5, 1.0], axis=axis, weights=w, **options)

        agrees(found, found, x, weights)
    along = np.arange(1.0, 5)
    agrees(
        lambda x: nx.percentile(x, 30, axis=-1, weights=along, **options),
        lambda x: np.percentile(x, 30, axis=-1, weights=along, **options),
        np.resize(M, (2, 4)),
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_distinct_slices(axis: int) -> None:
    x = np.array([[[0, 1, 0], [1, 1, 1]], [[0, 0, 0], [1, 1, 1]], [[0, 1, 0], [1, 1, 1]]], np.int32)
    wanted: Any = dict.fromkeys(("return_index", "return_inverse", "return_counts"), True)
    expected = np.unique(x, axis=axis, **wanted)
    size = expected[0].shape[axis]
    x_term = ng.placeholder(x.shape, "int32")
    parts = [
        *nx.unique(x_term, axis=axis, size=size, **wanted),
        nx.unique(x_term, axis=axis, size=size + 1, fill_value=7),
    ]
    with ng.make_transformer("cpu") as transformer:
        *found, padded = transformer.computation(parts, x_term)(x)
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)
    assert_array_equal(padded, np.insert(expected[0], size, 7, axis=axis))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: nx.where(ng.placeholder((3,)) > 0), errors.ArgumentError, "ng.numpy.nonzero"),
        (lambda: nx.concatenate([M], dtype="int64"), errors.DTypeError, "float64 does not cast to int64"),
        (lambda: nx.quantile(M, 0.5, weights=M), errors.AttributeValueError, "method='inverted_cdf'"),
        (lambda: nx.quantile(M, 0.5, weights=M[0], method="inverted_cdf"), errors.AxesError, "weights of shape"),
        (lambda: nx.unique(ng.placeholder((None, 3)), axis=1, size=2), errors.LengthError, "slice"),
    ],
)
def test_arguments_that_have_no_meaning(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def on_reference(made: Any, *arrays: Any) -> Any:
    terms = [ng.placeholder((None, *a.shape[1:]), a.dtype) for a in arrays]
    with ng.make_transformer("reference") as transformer:
        return transformer.computation(made(*terms), *terms)(*arrays)


def test_weights_of_unknown_lengths() -> None:
    def middle(xp: Any, x: Any, weights: Any) -> Any:
        return xp.quantile(x, [0.3, 1.0], axis=0, weights=weights, method="inverted_cdf")

    weights = np.arange(1.0, 13.0).reshape(3, 4)
    assert_array_equal(on_reference(lambda x, w: middle(nx, x, w), M, weights), middle(np, M, weights))


def test_weights_have_the_order_of_the_axes_that_are_named() -> None:
    x, weights = T[:, :2, :2], np.array([[1.0, 5.0], [0.0, 1.0]])

    def middle(xp: Any) -> Any:
        return xp.quantile(x, 0.5, axis=(-1, 0), weights=weights, method="inverted_cdf")

    assert_array_equal(on_reference(lambda: middle(nx)), middle(np))
    assert (middle(np) != np.quantile(x, 0.5, axis=(0, -1), weights=weights, method="inverted_cdf")).any()


def test_truths_stay_truths_where_some_are_chosen() -> None:
    for found in (lambda x: nx.unique(x, size=2), lambda x: nx.compress([True, False], x, axis=0)):
        assert on_reference(found, np.array([True, False])).dtype == bool


def test_a_bound_has_one_name() -> None:
    x = ng.placeholder((3,))
    for names in ({"min": 0, "a_min": 1}, {"max": 0, "a_max": 1}):
        with pytest.raises(errors.ArgumentError, match="a bound has both of its names"):
            nx.clip(x, **names)


def test_what_is_placed_has_numpys_name() -> None:
    x = ng.placeholder((3,))
    assert nx.place(x, mask=x > 1, vals=[4.0]).same_as(nx.place(x, x > 1, [4.0]))
