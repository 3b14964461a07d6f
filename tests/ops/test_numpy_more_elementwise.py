# SPDX-License-Identifier: Apache-2.0
"""Functions of ng.numpy that are formulas of others have the shapes, dtypes and values of NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import check_gradient, computed, meaning, slopes

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES

nx = ng.numpy
NUMPYS = [d for d in DTYPES if d != BFLOAT16]
SOME = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
UNARY = "fabs rint fix cbrt exp2 deg2rad radians rad2deg degrees sinc isposinf isneginf modf nan_to_num".split()
BINARY = "fmax fmin fmod float_power logaddexp2 heaviside divmod isclose".split()
# Where NumPy makes int8 of bool, or refuses it, there may be an error instead.
NOT_BOOL = {"fmod", "divmod", "fix", "float_power"}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3e-7, 8.0, np.inf, -np.inf, np.nan]


def numbers(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -4, 7, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.5, rng.choice(EDGES, shape), rng.normal(size=shape) * 3).astype(dtype)


def same(found: Any, wanted: Any, signs: bool = True) -> None:
    """The dtype and shape, the signs of zeros, and all but the last two units of the numbers."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted)
        return
    room = 4 * float(np.finfo(wanted.dtype).eps)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, wanted, rtol=room, atol=room)
    if signs:
        np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(wanted)[found == 0])


def compare(name: str, *arrays: Any) -> None:
    function, numpys = getattr(nx, name), getattr(np, name)
    try:
        with np.errstate(all="ignore"):
            wanted = numpys(*arrays)
            made = function(*(ng.placeholder(a.shape, a.dtype) for a in arrays))
    except TypeError:
        assert name in NOT_BOOL and any(a.dtype == bool for a in arrays)
        return
    for place, one in enumerate(wanted if isinstance(made, tuple) else [wanted]):
        pick: Any = (lambda *x, k=place: function(*x)[k]) if isinstance(made, tuple) else function
        same(np.asarray(meaning(pick, *arrays)), np.asarray(one), name not in ("fmax", "fmin"))


@pytest.mark.parametrize("name", UNARY)
@SOME
@given(
    dtype=st.sampled_from(NUMPYS), shape=hnp.array_shapes(min_dims=0, max_dims=2, min_side=0), seed=st.integers(0, 99)
)
def test_of_one_argument(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> None:
    compare(name, numbers(dtype, shape, np.random.default_rng(seed)))


@pytest.mark.parametrize("name", BINARY)
@SOME
@given(
    dtypes=st.tuples(st.sampled_from(NUMPYS), st.sampled_from(NUMPYS)),
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, min_side=0, max_side=4),
    seed=st.integers(0, 99),
)
def test_of_two_arguments(name: str, dtypes: Any, shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    compare(name, *(numbers(d, s, rng) for d, s in zip(dtypes, shapes.input_shapes, strict=True)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_power_of_two_is_put_on_any_number(dtype: str) -> None:
    limits = np.finfo(dtype)
    thrice_up = limits.tiny + 0b1011111 * limits.smallest_subnormal  # rounded to fewer digits step by step
    x = np.array([1.5, -1.0, thrice_up, limits.tiny, limits.smallest_subnormal, 0.0, -0.0, np.inf, np.nan], dtype)
    limit = 2200 if dtype == "float64" else 300
    powers = np.array([-limit, -20, -6, -1, 0, 3, 13, 120, limit], np.int32)[:, None]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(meaning(nx.ldexp, x, powers), np.ldexp(x, powers), strict=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_powers_of_two_are_of_any_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    powers = np.array([limits.min, 0, 3, 100, limits.max], dtype)
    x = np.array([[1.5], [-0.0], [np.inf], [2.0**-1074]])
    with np.errstate(all="ignore"):
        wanted = np.ldexp(x, np.clip(powers.astype(object), -5000, 5000).astype(np.int64))
        for (found,) in computed(lambda x, k: (nx.ldexp(x, k),), x, powers):
            np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("number", [2, True, 70000, 2.5])
def test_a_number_with_a_power_of_two_has_the_dtype_that_numpy_gives_it(number: float) -> None:
    for dtype in ("int8", "int32", "int64"):
        powers = np.array([-1, 0, 3], dtype)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(
                meaning(lambda k: nx.ldexp(number, k), powers), np.ldexp(number, powers), strict=True
            )


def test_both_targets_agree_with_numpy() -> None:
    x = np.array([-7.25, -1e-30, -0.0, 0.0, 0.3, 2.0, 64.0, np.inf, np.nan], np.float32)
    y = np.array([2.0, 3.0, np.nan, 1.0, -0.5, 2.0, 7.0, np.inf, 1.0], np.float32)

    def some(xp: Any, x: Any, y: Any) -> tuple[Any, ...]:
        return xp.cbrt(x), xp.fmod(x, y)

    with np.errstate(all="ignore"):
        wanted = some(np, x, y)
    for results in computed(lambda x, y: some(nx, x, y), x, y):
        for found, one in zip(results, wanted, strict=True):
            same(found, one)


def test_gradients_are_central_differences() -> None:
    def of_both(x: Any, y: Any) -> Any:
        several = nx.cbrt(x), nx.exp2(y), nx.sinc(x), nx.fmod(x * 3, y), nx.fmax(x, y) * 2 + nx.fmin(x, y)
        more = nx.logaddexp2(x, y), nx.heaviside(x - 2, y), nx.ldexp(x, 3), nx.deg2rad(y), nx.modf(x * 1.7)[0]
        return nx.stack([*several, *more, nx.nan_to_num(x), nx.float_power(y, x)])

    check_gradient(of_both, np.array([0.31, -0.72, 1.13]), np.array([0.83, 0.45, 0.27]), target="reference")


def test_the_slope_of_a_remainder_is_one_where_it_is_zero() -> None:
    x, y = np.array([0.0, -0.0, 3.0, -3.0, 0.5]), np.array([2.0, 2.0, 1.5, 1.5, -2.0])
    by_x, by_y = slopes(nx.fmod, x, y)
    np.testing.assert_array_equal(by_x, np.ones(5))
    np.testing.assert_array_equal(by_y, -np.trunc(x / y))


def test_gradients_where_a_formula_has_a_hole() -> None:
    x = ng.constant(np.array([0.0, np.nan, 1.0]))
    with ng.make_transformer("reference") as transformer:
        slopes = [ng.deriv(nx.sum(nx.sinc(x)), x), ng.deriv(nx.sum(nx.fmax(x, 0.5)), x)]
        found = transformer.computation(slopes)()
    np.testing.assert_allclose(found, [[0, np.nan, -1], [0, 0, 1]], atol=1e-12)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_the_slope_of_a_cube_root_is_infinite_at_zero_and_zero_at_infinity(target: str) -> None:
    x = ng.placeholder((6,), "float64")
    with ng.make_transformer(target) as transformer:
        call = transformer.computation([nx.cbrt(x), ng.deriv(nx.sum(nx.cbrt(x)), x)], x)
        root, slope = call(np.array([0.0, -0.0, np.inf, -np.inf, -8.0, np.nan]))
    np.testing.assert_array_equal(root, [0, 0, np.inf, -np.inf, -2, np.nan])
    np.testing.assert_array_equal(np.signbit(root[:2]), [False, True])
    np.testing.assert_allclose(slope, [np.inf, np.inf, 0, 0, 1 / 12, np.nan], rtol=1e-15)


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_cube_root_is_good_to_a_unit_in_the_last_place(target: str, dtype: str) -> None:
    """Of any size, also where numbers are subnormal; those of the first cubes are exact."""
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    low, high = np.log2(float(info.tiny)), np.log2(float(info.max))
    sizes = np.concatenate([2.0 ** rng.uniform(low, high - 0.01, 3000), rng.uniform(0.5, 8, 3000)]).astype(dtype)
    small = (float(info.smallest_subnormal) * rng.integers(1, 1 << 10, 500)).astype(dtype)
    cubes = np.arange(1, 40 if dtype == "float16" else 250) ** 3
    x = np.concatenate([sizes, -sizes, small, cubes.astype(dtype)])
    term = ng.placeholder(x.shape, dtype)
    with ng.make_transformer(target) as transformer:
        found = transformer.computation(nx.cbrt(term), term)(x)
    exact = np.cbrt(x.astype(np.longdouble))
    assert np.all(np.abs(found - exact) <= np.spacing(np.abs(found)))
    np.testing.assert_array_equal(found[-len(cubes) :], np.arange(1, len(cubes) + 1))


def test_numpys_functions_of_terms_are_these_and_names_stay() -> None:
    h, x = ng.placeholder({"H": 3}, name="h"), ng.placeholder((3,))
    for name in UNARY:
        made = getattr(np, name)(x)
        assert all(isinstance(t, ng.Op) for t in (made if isinstance(made, tuple) else [made]))
    for kept in (
        np.fmax(h, 0.5),
        np.fmin(h, h),
        np.exp2(h),
        np.sinc(h),
        np.logaddexp2(h, h),
        np.isclose(h, 1.0),
        np.nan_to_num(h),
    ):
        assert kept.axes == h.axes
    assert isinstance(np.allclose(x, 1.0), ng.Op) and isinstance(np.array_equal(x, x), ng.Op)


def test_arrays_are_equal_if_their_shapes_are() -> None:
    x = np.array([1.0, np.nan])
    found = [
        meaning(lambda x: nx.array_equal(x, x), x),
        meaning(lambda x: nx.array_equal(x, x, equal_nan=True), x),
        meaning(lambda x: nx.array_equal(x, [1.0]), x),
        meaning(lambda x: nx.array_equal(x[:1], [1.0]), x),
        meaning(lambda x: nx.allclose(x, [1.0, np.nan], equal_nan=True), x),
    ]
    assert found == [False, True, False, True, True]


X = ng.placeholder((3,), name="x")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.fmod(nx.equal(X, 0), True), errors.DTypeError, "fmod: numpy.mod"),
    (lambda: nx.ldexp(X, 0.5), errors.DTypeError, "ldexp: expected integers"),
    (lambda: nx.fmax(X, [1, 2]), errors.IncompatibleAxesError, "fmax: numpy.maximum"),
    (lambda: np.ldexp(X, X), errors.DTypeError, "ldexp: expected integers"),
    (lambda: nx.array_equal(ng.placeholder((None,)), X), errors.LengthError, "array_equal: whether"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
