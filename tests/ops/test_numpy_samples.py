# SPDX-License-Identifier: Apache-2.0
"""Functions that count, interpolate, convolve and correlate have the dtypes, shapes and values of NumPy's."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from on_targets import agrees, apart, check_gradient, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
SOME = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
NUMBERS = ["int8", "int64", "float16", "float32", "float64"]


def same(function: Callable[..., Any], numpys: Callable[..., Any], *arrays: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = numpys(*arrays)
        for k, one in enumerate(wanted if isinstance(wanted, tuple) else [wanted]):
            pick = (lambda *x, k=k: function(*x)[k]) if isinstance(wanted, tuple) else function
            found, other = np.asarray(meaning(pick, *arrays)), np.asarray(one)
            assert (found.dtype, found.shape) == (other.dtype, other.shape)
            room = 0.0 if other.dtype.kind != "f" else 16 * float(np.finfo(other.dtype).eps)
            np.testing.assert_allclose(found, other, rtol=room, atol=room)


def of_both(name: str, **options: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return (lambda *x: getattr(nx, name)(*x, **options)), (lambda *x: getattr(np, name)(*x, **options))


def vector(dtype: str, length: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(-3, 5, length).astype(dtype)


# -- counting ----------------------------------------------------------------------------------------


@SOME
@given(x=st.lists(st.integers(0, 6), min_size=1, max_size=9), least=st.integers(0, 9))
def test_known_numbers_are_counted_as_numpy_does(x: list[int], least: int) -> None:
    given, weights = np.array(x, np.int64), np.linspace(-1, 1, len(x))
    with ng.make_transformer("reference") as transformer:
        made = [nx.bincount(given, minlength=least), nx.bincount(given, weights, minlength=least)]
        found = transformer.computation(made)()
    np.testing.assert_array_equal(found[0], np.bincount(given, minlength=least), strict=True)
    np.testing.assert_allclose(found[1], np.bincount(given, weights, minlength=least), atol=1e-15, strict=True)


def test_numbers_that_have_no_bin_are_not_counted() -> None:
    x = np.array([3, -1, 0, 3, 7, 100, -4], np.int8)
    agrees(lambda x: nx.bincount(x, minlength=4), lambda x: np.bincount(x[(x >= 0) & (x < 4)], minlength=4), x)
    check_gradient(lambda w: nx.bincount(ng.constant([1, 3, 1]), w, minlength=4), apart(3), target="reference")


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("edges", [[0.0, 1.0, 1.0, 2.5], [2.5, 1.0, 0.0]])
def test_bins_are_numpys(edges: Any, right: bool) -> None:
    x = np.array([[-1.0, 0.0, 1.0], [2.5, 3.0, np.nan]])
    same(lambda x: nx.digitize(x, np.array(edges), right), lambda x: np.digitize(x, np.array(edges), right), x)


@SOME
@given(
    dtype=st.sampled_from(NUMBERS),
    bins=st.sampled_from([4, 1, [0.0, 1.0, 3.0], [-3, -1, 0, 2]]),
    density=st.booleans(),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_histograms_are_numpys(dtype: str, bins: Any, density: bool, weighted: bool, seed: int) -> None:
    x, edges = vector(dtype, 12, seed).reshape(3, 4), np.array(bins) if isinstance(bins, list) else bins
    weights = np.linspace(1, 2, 12).reshape(3, 4) if weighted else None
    same(*of_both("histogram", bins=edges, range=(-2, 4), density=density, weights=weights), x)


# -- samples -----------------------------------------------------------------------------------------


@SOME
@given(
    dtype=st.sampled_from(NUMBERS),
    count=st.integers(1, 5),
    options=st.sampled_from([{}, {"left": -1.0}, {"right": 9.0}, {"period": 3.5}, {"period": -7}]),
    seed=st.integers(0, 99),
)
def test_what_is_straight_between_places_is_numpys(dtype: str, count: int, options: Any, seed: int) -> None:
    xp = np.arange(count) * 1.25 - 1 if "period" not in options else vector("float64", count, seed + 1) * 1.1
    x, fp = vector(dtype, 8, seed).reshape(2, 4), vector("float32", count, seed + 2)
    if "period" in options and len({*(xp % options["period"])}) < count:
        return  # which of two values at one place is meant is open
    same(*of_both("interp", **options), x, xp, fp)


@SOME
@given(
    dtype=st.sampled_from(NUMBERS),
    shape=st.sampled_from([(3, 4), (5, 3), (3, 3, 3)]),
    uneven=st.booleans(),
    order=st.sampled_from([1, 2]),
    seed=st.integers(0, 99),
)
def test_slopes_are_numpys(dtype: str, shape: tuple[int, ...], uneven: bool, order: int, seed: int) -> None:
    f = vector(dtype, int(np.prod(shape)), seed).reshape(shape)
    places = [np.cumsum(1 + vector("int64", n, seed + k) ** 2) / 4 for k, n in enumerate(shape)]
    spacing = places if uneven else [0.5]
    same(lambda f: nx.gradient(f, *spacing, edge_order=order), lambda f: np.gradient(f, *spacing, edge_order=order), f)
    same(*of_both("gradient", axis=-1), f)


CALLS: list[Callable[[Any, Any, Any], Any]] = [
    lambda xp, x, v: (xp.trapezoid(x), xp.trapezoid(x, dx=0.5, axis=0)),
    lambda xp, x, v: (xp.trapezoid(x, v), xp.trapezoid(x, x * 2, axis=1)),
    lambda xp, x, v: (xp.ediff1d(x), xp.ediff1d(v, [7], v[:2])),
    lambda xp, x, v: (xp.polyval(v, x), xp.polyval(np.array([2, 0, 1]), x), xp.polyval(v[:0], x)),
    lambda xp, x, v: (xp.average(x), xp.average(x, 0), xp.average(x, 1, v), xp.average(x, weights=x * x + 1)),
    lambda xp, x, v: xp.average(x, 1, v * v + 1, returned=True),
    lambda xp, x, v: xp.average(x, 0, returned=True),
    lambda xp, x, v: xp.average(x, (0, 1), x * x + 1, keepdims=True),
    lambda xp, x, v: (xp.cov(x), xp.cov(v), xp.cov(x, rowvar=False), xp.cov(x, v, bias=True), xp.cov(x, ddof=2)),
    lambda xp, x, v: (xp.cov(x, fweights=np.array([1, 2, 1, 3])), xp.cov(v, aweights=np.array([0.5, 2.0, 1, 3]))),
    lambda xp, x, v: xp.cov(x, v, ddof=0, fweights=np.array([1, 2, 1, 3]), aweights=np.array([0.5, 2.0, 1, 3])),
    lambda xp, x, v: (xp.corrcoef(x), xp.corrcoef(v), xp.corrcoef(x, v), xp.cov(x, v, dtype="float32")),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("dtype", NUMBERS)
def test_other_functions_are_numpys(number: int, dtype: str) -> None:
    x, v = np.array([[3, -1, 2, 0], [1, 1, -2, 4], [0, 2, 2, 3]], dtype), np.array([2, 0, 3, 1], dtype)
    made = CALLS[number]
    for ours in (nx, np):
        same(lambda x, v, ours=ours: made(ours, x, v), lambda x, v: made(np, x, v), x, v)


# -- vectors along each other ------------------------------------------------------------------------


@SOME
@given(
    name=st.sampled_from(["convolve", "correlate"]),
    mode=st.sampled_from(["full", "same", "valid"]),
    lengths=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    dtypes=st.tuples(st.sampled_from(["bool", *NUMBERS]), st.sampled_from(["bool", *NUMBERS])),
    seed=st.integers(0, 99),
)
def test_convolutions_are_numpys(name: str, mode: str, lengths: Any, dtypes: Any, seed: int) -> None:
    x, y = (vector(d, n, seed + k) for k, (d, n) in enumerate(zip(dtypes, lengths, strict=True)))
    same(*of_both(name, mode=mode), x, y)


def test_windows_and_powers_are_numpys() -> None:
    def some(xp: Any) -> list[Any]:
        windows = [xp.hamming(5), xp.hanning(6), xp.blackman(7), xp.bartlett(4), xp.kaiser(5, 8.6), xp.hamming(1)]
        powers = [xp.logspace(0, 2, 5, base=2), xp.geomspace(1, 1000, 4), xp.geomspace(1, 16, 4, endpoint=False)]
        return [*windows, *powers, xp.hanning(0)]

    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(some(nx))()
    for one, other in zip(found, some(np), strict=True):
        np.testing.assert_array_equal(one, other.astype("float32"), strict=True)
    assert nx.hamming(3, dtype="float64").type.dtype == np.float64


@pytest.mark.parametrize("count", [1, 2, 5])
def test_one_of_two_vectors_may_have_any_length(count: int) -> None:
    x, fixed = np.arange(1.0, count + 1), np.array([1.0, -2.0, 0.5])
    for name in ("convolve", "correlate"):
        ours, theirs = getattr(nx, name), getattr(np, name)
        agrees(lambda x, f=ours: f(x, fixed, "full"), lambda x, f=theirs: f(x, fixed, "full"), x, unknown=True)
        agrees(lambda x, f=ours: f(fixed, x, "full"), lambda x, f=theirs: f(fixed, x, "full"), x, unknown=True)
    with pytest.raises(errors.LengthError, match="convolve: a vector has the unknown length n0"):
        nx.convolve(ng.placeholder((None,)), fixed, "same")


def test_a_slope_between_equal_gaps_does_not_ask_what_is_at_its_place() -> None:
    f = np.array([1.0, 2.0, np.nan, 5.0, np.inf, 3.0, 4.0, 6.0])
    for spacing in (1, 0.1, np.float64(0.7), np.arange(8.0), np.arange(8)[::-1]):
        agrees(lambda f, s=spacing: nx.gradient(f, s), lambda f, s=spacing: np.gradient(f, s), f, rtol=1e-15)


def test_places_of_slopes_may_be_integers_whose_differences_are_out_of_range() -> None:
    f, at = np.array([1.0, 2.0, 4.0, 5.0]), np.array([9, 6, 2, 1], np.uint8)
    agrees(lambda f: nx.gradient(f, at), lambda f: np.gradient(f, at), f, rtol=1e-15)
    agrees(nx.gradient, np.gradient, f, at, rtol=1e-15)


@pytest.mark.parametrize("order", [1, 2])
def test_slopes_along_an_axis_of_any_length(order: int) -> None:
    f, at = ng.placeholder((None, 3), "float64"), ng.placeholder((None,), "float64")
    made = [nx.gradient(f, 0.5, axis=0, edge_order=order), nx.gradient(f, at, axis=0, edge_order=order)]
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(made, f, at)
            for n in range(order + 1, 6):
                x, places = np.random.default_rng(n).standard_normal((n, 3)), np.cumsum(np.arange(1.0, n + 1))
                for found, step in zip(call(x, places), (0.5, places), strict=True):
                    np.testing.assert_allclose(found, np.gradient(x, step, axis=0, edge_order=order), rtol=1e-12)
            with pytest.raises(errors.NGraphRewriteError, match=r"(?s)of length 0|n0 - 1"):
                call(np.ones((order, 3)), np.ones(order))


def test_as_many_numbers_are_counted_as_an_axis_is_long() -> None:
    nodes, ends = ng.placeholder((ng.Length.symbol("nodes"),)), ng.placeholder((None,), "int32")
    with ng.make_transformer("cpu") as transformer:
        call = transformer.computation(nx.bincount(ends, minlength=nodes.shape[0]), nodes, ends)
        for n in (3, 1, 0):
            np.testing.assert_array_equal(call(np.zeros(n), [0, 2, 2, -1, 5]), [1, 0, 2][:n])


def test_both_targets_agree() -> None:
    x = np.array([0.5, 2.0, -1.0, 0.25, 3.5], np.float32)

    places, values = np.arange(3.0), np.array([1.0, 3.0, 2.0])
    agrees(lambda x: nx.interp(x, places, values), lambda x: np.interp(x, places, values), x, rtol=1e-15)


def test_gradients_are_central_differences() -> None:
    def of_all(x: Any, v: Any) -> Any:
        places = nx.cumsum(v)
        several = nx.interp(x, places, v * v), nx.trapezoid(x, v), nx.polyval(v, x), nx.cov(x), nx.corrcoef(x, v)
        more = nx.convolve(x[0], v, "same"), nx.correlate(v, x[1], "full"), nx.average(x, 1, v), nx.ediff1d(x, v)
        return nx.concat([nx.ravel(t) for t in (*several, *more, nx.gradient(v, places, edge_order=2))])

    check_gradient(of_all, apart(2, 4) + 0.013, apart(4, seed=1), target="reference")


X, N = ng.placeholder((2, 3), name="x"), ng.placeholder((4,), "int32", name="n")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.bincount(N), errors.ArgumentError, "(?s)would depend on values.*give minlength"),
    (lambda: nx.bincount(X, minlength=3), errors.AxesError, "bincount: expected a vector"),
    (lambda: nx.bincount(X[0], minlength=3), errors.DTypeError, "bincount: expected integers"),
    (lambda: nx.digitize(X, [0, 2, 1]), errors.AttributeValueError, "put the edges in order"),
    (lambda: nx.histogram(X), errors.ArgumentError, "(?s)edges of 10 bins would depend on values.*give a range"),
    (lambda: nx.histogram(X, [1, 0]), errors.AttributeValueError, "put the edges in order"),
    (lambda: nx.histogram(X, 3, (2, 1)), errors.AttributeValueError, "a finite range that ascends"),
    (lambda: nx.interp(X, [1, 2], [1, 2, 3]), errors.AxesError, "give two vectors of one length"),
    (lambda: nx.interp(X, [1], [1], period=0), errors.AttributeValueError, "the period is 0"),
    (lambda: nx.interp(X, [], []), errors.LengthError, "interp: there are no places"),
    (lambda: nx.gradient(X, edge_order=3), errors.AttributeValueError, "edge_order is 3"),
    (lambda: nx.gradient(X, edge_order=2), errors.LengthError, "2 elements along axis 0"),
    (lambda: nx.gradient(X, 1, 2, 3), errors.ArgumentError, "3 spacings for 2 axes"),
    (lambda: nx.gradient(X, [1.0, 2.0]), errors.ArgumentError, "along an axis of 3 elements"),
    (lambda: nx.polyval(X, 2.0), errors.AxesError, "polyval: expected a vector"),
    (lambda: nx.convolve(X, [1]), errors.AxesError, "convolve: expected vectors"),
    (lambda: nx.convolve([], [1]), errors.LengthError, "a vector is empty"),
    (lambda: nx.correlate(N, N, mode="circular"), errors.AttributeValueError, "full, same, valid"),
    (lambda: nx.average(X, 1, [1, 2]), errors.AxesError, "average: weights int64.2."),
    (lambda: nx.cov(ng.placeholder((1, 2, 3))), errors.AxesError, "cov: expected variables"),
    (lambda: nx.cov(X, aweights=X), errors.AxesError, "give one for each observation"),
    (lambda: nx.geomspace(0, 1), errors.ArgumentError, "geomspace: "),
    (lambda: nx.hamming(X), errors.AttributeValueError, "hamming: m is"),
    (lambda: nx.histogram(X, 3, 2), errors.ArgumentError, "range is 2"),
    (lambda: nx.digitize(X, [[0, 1]]), errors.AxesError, "bins is"),
    (lambda: nx.average(X, returned=np.ones(2)), errors.AttributeValueError, "average: returned is"),
    (lambda: nx.ediff1d(nx.equal(X, 0)), errors.DTypeError, "expected numbers"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
