# SPDX-License-Identifier: Apache-2.0
"""Reductions that pass over NaN, medians and quantiles have the dtypes, shapes and values of NumPy's."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, apart, check_gradient, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
SOME = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ["bool", "int8", "uint64", "float16", "float32", "float64"]
SUMS = ["nansum", "nanprod", "nanmean", "nanvar", "nanstd"]
ORDERS = ["nanmax", "nanmin", "ptp", "median", "nanmedian"]
METHODS = ["linear", "lower", "higher", "nearest", "midpoint"]


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    whole = rng.integers(0 if dtype[0] == "u" else -3, 5, shape).astype(dtype)
    if whole.dtype.kind != "f":
        return whole
    return np.where(rng.random(shape) < 0.25, np.array(np.nan, dtype), whole + np.array(0.5, dtype))


def same(function: Callable[..., Any], numpys: Callable[..., Any], *arrays: Any) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = np.asarray(numpys(*arrays))
        found = np.asarray(meaning(function, *arrays))
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    room = 0.0 if wanted.dtype.kind != "f" else 8 * float(np.finfo(wanted.dtype).eps)
    np.testing.assert_allclose(found, wanted, rtol=room, atol=room)


AXES = st.sampled_from([None, 0, -1, (0, 1), (1, 0)])


MASKED = ["sum", "prod", "mean", "var", "std", "any", "all", "max", "min"]
BEGUN = ["sum", "prod", "max", "min"]


@SOME
@given(
    name=st.sampled_from([*MASKED, *SUMS, "nanmax", "nanmin"]),
    dtype=st.sampled_from(DTYPES),
    shape=hnp.array_shapes(min_dims=2, max_dims=3, max_side=4, min_side=0),
    axis=AXES,
    keepdims=st.booleans(),
    begins=st.booleans(),
    masked=st.sampled_from(["no", "each", "last"]),
    seed=st.integers(0, 99),
)
def test_masks_and_beginnings_are_numpys(
    name: str, dtype: str, shape: Any, axis: Any, keepdims: bool, begins: bool, masked: str, seed: int
) -> None:
    x, options = numbers(dtype, shape, seed), {"axis": axis, "keepdims": keepdims}
    if name.removeprefix("nan") in BEGUN and (begins or name.endswith(("max", "min"))):
        options["initial"] = 1 if x.dtype.kind != "f" else 1.5
    mask = np.random.default_rng(seed + 1).random(shape[-1:] if masked == "last" else shape) < 0.6
    given = (x, mask) if masked != "no" else (x,)

    def call(module: Any) -> Any:
        return lambda x, *mask: getattr(module, name)(x, **options, **({"where": mask[0]} if mask else {}))

    rounded = dtype == "float16" and name in ("prod", "nanprod", "var", "std", "sum", "nansum")
    if not rounded:  # which NumPy computes in 16 bits
        same(call(nx), call(np), *given)
        same(call(np), call(np), *given)


def test_what_a_reduction_begins_with_may_be_a_term_and_has_a_slope() -> None:
    x, first = ng.placeholder((3,), "float64", name="x"), ng.placeholder((), "float64", name="first")
    total = nx.sum(x * x, initial=first, where=x > 0)
    results = [total, ng.deriv(total, x), ng.deriv(total, first)]
    with ng.make_transformer("reference") as transformer:
        value, slope, begun = transformer.computation(results, x, first)(np.array([1.0, -2.0, 3.0]), 5.0)
    assert (value, begun) == (15.0, 1.0)
    np.testing.assert_array_equal(slope, [2.0, 0.0, 6.0])


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
@pytest.mark.parametrize("shape", [(0,), (3,), (0, 3), (3, 0), (2, 3)])
def test_what_it_begins_with_is_the_greatest_of_nothing_of_unknown_lengths_too(name: str, shape: Any) -> None:
    x = np.arange(np.prod(shape), dtype="float32").reshape(shape) - 2
    for axis in range(-1, len(shape)):
        over = None if axis < 0 else axis
        terms = ng.placeholder((None,) * len(shape))
        with ng.make_transformer("cpu") as transformer:
            found = transformer.computation(getattr(nx, name)(terms, axis=over, initial=0.5), terms)(x)
        np.testing.assert_array_equal(found, getattr(np, name)(x, axis=over, initial=0.5))


def test_a_masked_element_shares_in_no_tie() -> None:
    x = ng.placeholder((4,), "float64")
    greatest = nx.max(x, initial=2.0, where=np.array([True, False, False, False]))
    with ng.make_transformer("reference") as transformer:
        slope = transformer.computation(ng.deriv(greatest, x), x)(np.array([2.0, 9, 9, 9]))
    np.testing.assert_array_equal(slope, [0.5, 0, 0, 0])


@pytest.mark.parametrize("given", [[1.0, np.nan], [np.nan, np.nan]])
@pytest.mark.parametrize("initial", [np.nan, 0.5, np.float64(3)])
def test_an_initial_that_is_nan_is_passed_over_as_elements_are(given: Any, initial: float) -> None:
    for name in ("nanmax", "nanmin"):
        same(lambda x, name=name: getattr(nx, name)(x, initial=initial),
             lambda x, name=name: getattr(np, name)(x, initial=initial), np.array(given))  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: nx.max(x, where=x > 0), errors.ArgumentError, "where a mask has no element there is none"),
        (lambda x: nx.sum(x, where=x), errors.DTypeError, "bool"),
        (lambda x: nx.sum(x, where=np.ones((1, 3), bool)), errors.AxesError, "the mask has 2 axes, the array 1"),
        (lambda x: nx.sum(x, where=np.ones(2, bool)), errors.AxesError, "broadcast"),
        (lambda x: nx.sum(x, where=False), errors.DTypeError, "the condition is False, of Python"),
        (lambda x: nx.max(nx.astype(x, "int8"), initial=300), errors.DTypeError, "300"),
        (lambda x: nx.max(nx.astype(x, "int8"), initial=np.int64(300)), errors.DTypeError, "300"),
        (lambda x: nx.sum(x, initial=np.ones(3)), errors.AxesError, "what it begins with has 1 axes"),
    ],
)
def test_masks_and_beginnings_that_have_no_meaning(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(ng.placeholder((3,), "float32", name="x"))


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_and_spreads_are_computed_in_the_dtype_that_is_asked_for(name: str, dtype: str) -> None:
    """NumPy's `nanvar` takes means from elements in the dtype that these have, so that they are cast here."""
    x = np.array([[16777216.0, 1.5, 3.0], [0.5, -2.0, 8.0]], "float32")
    known: Any = getattr(np, name)
    same(lambda x: getattr(nx, name)(x, 1, dtype), lambda x: known(x.astype(dtype), 1), x)
    same(lambda x: known(x, dtype=dtype), lambda x: known(x.astype(dtype)), x.astype("int8"))
    mask = x > 1
    same(lambda x: getattr(nx, name)(x, dtype=dtype, where=mask), lambda x: known(x.astype(dtype), where=mask), x)


def test_no_spread_is_computed_in_integers_or_bool() -> None:
    for function in (nx.var, nx.std, nx.nanvar, np.std):
        with pytest.raises(errors.DTypeError, match="dtype is int32(?s:.*)give a float dtype"):
            function(ng.placeholder((3,)), dtype="int32")


@SOME
@given(
    name=st.sampled_from(SUMS + ORDERS),
    dtype=st.sampled_from(DTYPES),
    shape=hnp.array_shapes(min_dims=2, max_dims=3, max_side=4),
    axis=AXES,
    keepdims=st.booleans(),
    seed=st.integers(0, 99),
)
def test_reductions_are_numpys(name: str, dtype: str, shape: Any, axis: Any, keepdims: bool, seed: int) -> None:
    if name in ("ptp", "nanprod") and dtype in ("bool", "float16"):
        return  # NumPy subtracts no bool, and rounds each product to 16 bits
    x = numbers(dtype, shape, seed)
    same(
        lambda x: getattr(nx, name)(x, axis=axis, keepdims=keepdims),
        lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims),
        x,
    )


@SOME
@given(
    method=st.sampled_from(METHODS),
    dtype=st.sampled_from(DTYPES[1:]),
    shape=hnp.array_shapes(min_dims=2, max_dims=3, max_side=4),
    q=st.sampled_from([0, 0.5, 0.9, 1, [0.1], [[0.3, 0.77], [0.0, 1.0]], np.float32(0.3)]),
    axis=AXES,
    skip=st.booleans(),
    seed=st.integers(0, 99),
)
def test_quantiles_are_numpys(method: Any, dtype: str, shape: Any, q: Any, axis: Any, skip: bool, seed: int) -> None:
    x = numbers("float64" if skip and dtype[0] == "f" else dtype, shape, seed)

    def numpys(x: Any) -> Any:  # gives NaN its own dtype and rounding, and two axes of `q` another order
        plain = np.quantile(np.nan_to_num(x), q, axis=axis, method=method)
        function = np.nanquantile if skip else np.quantile
        each = [np.asarray(function(x, part, axis=axis, method=method)) for part in np.ravel(q)]
        return np.stack(each).reshape(np.shape(plain)).astype(plain.dtype)

    same(lambda x: getattr(nx, "nanquantile" if skip else "quantile")(x, q, axis=axis, method=method), numpys, x)


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
@pytest.mark.parametrize("correction", [1, 2.5, 4])
def test_a_correction_is_subtracted_from_the_count(name: str, correction: float) -> None:
    x = numbers("float64", (3, 4), 5)
    same(
        lambda x: getattr(nx, name)(x, 1, correction=correction), lambda x: getattr(np, name)(x, 1, ddof=correction), x
    )


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin", "nancumsum", "nancumprod"])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_places_and_running_sums_pass_over_nan(name: str, axis: int | None) -> None:
    x = np.array([[np.nan, 2.0, 7.0], [3.0, np.nan, -1.0]])
    same(lambda x: getattr(nx, name)(x, axis=axis), lambda x: getattr(np, name)(x, axis=axis), x)


def test_where_all_is_nan_the_place_is_the_first() -> None:
    x = np.ones((2, 3))
    assert list(meaning(lambda x: nx.nanargmax(x * np.nan, axis=1), x)) == [0, 0]


@pytest.mark.parametrize("name", ["median", "nanmedian", "nanmean", "nansum", "nanvar"])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_what_is_made_of_nothing_is_numpys(name: str, dtype: str) -> None:
    x = np.zeros((0, 3), dtype)
    for axis in (0, 1):
        same(lambda x, axis=axis: getattr(nx, name)(x, axis), lambda x, axis=axis: getattr(np, name)(x, axis), x)


def test_percentiles_are_hundredths() -> None:
    x = numbers("float64", (3, 5), 2)
    same(lambda x: nx.percentile(x, [10, 95], axis=0), lambda x: np.percentile(x, [10, 95], axis=0), x)
    same(lambda x: nx.nanpercentile(x, 30.0), lambda x: np.nanpercentile(x, 30.0), x)


def test_lengths_and_parts_may_be_known_by_each_call_only() -> None:
    x, q = numbers("float32", (5, 3), 3), np.array([0.25, 0.8, 1.0, 0.0, 0.5], np.float32)
    term, part = ng.placeholder((None, 3)), ng.placeholder((None,))
    with ng.make_transformer("reference") as transformer:
        made = nx.nanquantile(term, part, 0), nx.quantile(term, 0.4, 0), nx.median(term, 0)
        found = transformer.computation(made, term, part)(x, q)
    for one, other in zip(found, (np.nanquantile(x, q, 0), np.quantile(x, 0.4, 0), np.median(x, 0)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, strict=True)


def test_the_order_of_an_axis_that_turns_out_to_be_empty_is_nan() -> None:
    x, n = ng.placeholder((None, 3), "float64"), ng.placeholder((None, 3), "int32")
    some = np.array([[1.0, 5.0, np.nan], [3.0, 1.0, 2.0]])
    made = [nx.median(x, 0), nx.nanmedian(x, 0), nx.quantile(x, 0.5, 0), nx.nanquantile(x, 0.5), nx.median(n, 0)]
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            call = transformer.computation(made, x, n)
            for found in call(np.zeros((0, 3)), np.zeros((0, 3), "int32")):
                assert np.isnan(found).all()
            found = call(some, np.array([[1, 2, 3]] * 2, "int32"))
        np.testing.assert_array_equal(found[0], [2, 3, np.nan])
        np.testing.assert_array_equal(found[1], [2, 3, 2])
        np.testing.assert_array_equal(found[2], [2, 3, np.nan])
        assert found[3] == 2
        np.testing.assert_array_equal(found[4], [1, 2, 3])


def test_both_targets_find_the_median() -> None:
    agrees(lambda x: nx.median(x, axis=0), lambda x: np.median(x, axis=0), numbers("float32", (4, 3), 1))


def test_gradients_are_central_differences() -> None:
    check_gradient(
        lambda x: nx.concat(
            [nx.median(x, 0), nx.quantile(x, 0.3, 1), nx.nanmean(x, 0), nx.nanstd(x, 1), nx.nanmax(x, 1), nx.ptp(x, 0)]
        ),
        apart(4, 3),
        target="reference",
    )


def test_what_is_nan_has_no_part_in_a_derivative() -> None:
    x = ng.constant(np.array([1.0, np.nan, 3.0, 2.0]))
    same = ng.constant(np.array([2.0, np.nan, 2.0]))
    made = [nx.nanmean(x), nx.nansum(x), nx.nanmax(x), nx.nanmedian(x), nx.nanvar(x)]
    slopes = [ng.deriv(one, x) for one in made] + [ng.deriv(nx.nanstd(same), same)]
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(slopes)()
    wanted = [[1 / 3, 0, 1 / 3, 1 / 3], [1, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [-2 / 3, 0, 2 / 3, 0], [0, 0, 0]]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-15)


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda x: np.nanmean(x, 0),
    lambda x: np.nanmean(x, None, "f8"),
    lambda x: np.nanvar(x, 1, ddof=1),
    lambda x: np.nanargmax(x, 1),
    lambda x: np.median(x, 1),
    lambda x: np.percentile(x, [20, 80], 1, method="lower"),
    lambda x: np.ptp(x, 0),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_numpys_functions_of_terms_are_these(number: int) -> None:
    same(FUNCTIONS[number], FUNCTIONS[number], np.array([[1.5, np.nan, 2.0], [3.0, 4.0, 0.5]], np.float32))


X = ng.placeholder((2, 3), name="x")
WRONG = [
    (lambda: nx.quantile(X, 1.5), errors.AttributeValueError, "quantile: q is 1.5"),
    (lambda: nx.percentile(X, -1), errors.AttributeValueError, "from 0 to 100"),
    (lambda: nx.quantile(X, 0.5, method="cubic"), errors.AttributeValueError, "linear, midpoint, lower"),
    (lambda: nx.quantile(X, "half"), errors.ArgumentError, "q is 'half'"),
    (lambda: nx.quantile(nx.greater(X, 0), 0.5), errors.DTypeError, "quantile: expected numbers"),
    (lambda: nx.quantile(X, [[0.1], [0.2, 0.3]]), errors.ArgumentError, "quantile: q is"),
    (lambda: nx.median(X, keepdims=2), errors.AttributeValueError, "median: keepdims is 2"),
    (lambda: nx.quantile(X[:0], 0.5, axis=0), errors.LengthError, "quantile of no elements"),
    (lambda: nx.median(X, axis=2), errors.OutOfRangeError, "median: axis 2"),
    (lambda: nx.nanmax(X[:0], axis=0), errors.AxesError, "numpy.max"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
