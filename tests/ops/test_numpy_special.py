# SPDX-License-Identifier: Apache-2.0
"""Functions of ng.numpy.special have the values of SciPy's, and mpmath's where those have lost digits, and slopes."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from on_targets import check_gradient, computed, meaning, slopes
from scipy import special

import ngraph_rewrite as ng
from ngraph_rewrite import errors

ours = ng.numpy.special
SOME = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 1e-8, 1e-300, 2.0, 3.5, 40.0, -3.5, -40.0, INF, -INF, NAN]
UNARY = [
    "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "expit", "factorial", "gamma", "i0",
    "i0e", "i1", "i1e", "log_expit", "log_ndtr", "logit", "ndtr", "ndtri",
]  # fmt: skip
BINARY = ["xlogy", "xlog1py", "rel_entr"]
# What SciPy loses in tails, where it squares a rounded number, and of powers of large numbers.
LOST = {"ndtr": 1e-12, "log_ndtr": 1e-12, "erfc": 1e-12, "gamma": 1e-13, "factorial": 1e-13}


def near(found: Any, wanted: Any, rtol: float) -> None:
    """The same numbers, of which those far below others have their digits too."""
    with np.errstate(all="ignore"):
        assert_allclose(found, wanted, rtol=rtol, atol=1e-307)


@pytest.mark.parametrize("name", UNARY)
@SOME
@given(numbers=st.lists(st.floats(-30, 170) | st.floats(0, 1) | st.sampled_from(EDGES), min_size=1, max_size=6))
def test_of_one_argument(name: str, numbers: list[float]) -> None:
    x = np.array(numbers)
    with np.errstate(all="ignore"):
        wanted = np.asarray(getattr(special, name)(x))
    near(meaning(getattr(ours, name), x), wanted, LOST.get(name, 4e-14))


@pytest.mark.parametrize("name", BINARY)
@SOME
@given(data=st.data())
def test_of_two_arguments(name: str, data: st.DataObject) -> None:
    some = st.lists(st.floats(0, 10) | st.sampled_from(EDGES), min_size=4, max_size=4)
    x, y = (np.array(data.draw(some)) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = getattr(special, name)(x[:, None], y)
    near(meaning(getattr(ours, name), x[:, None], y), wanted, 1e-12)


POSITIVE = st.floats(1e-3, 200) | st.sampled_from([0.5, 1.0, 10.0, 1e3])


@SOME
@given(a=POSITIVE, b=POSITIVE, x=st.floats(0, 1) | st.floats(0, 1e-3), y=st.floats(0, 400))
def test_incomplete_functions(a: float, b: float, x: float, y: float) -> None:
    p, q, z, of = np.array([a]), np.array([b]), np.array([x]), np.array([y])
    for name, given_to in (
        ("gammainc", (p, of)), ("gammaincc", (p, of)), ("betainc", (p, q, z)), ("betaincc", (p, q, z))
    ):  # fmt: skip
        found, wanted = meaning(getattr(ours, name), *given_to), getattr(special, name)(*given_to)
        assert_allclose(found, wanted, rtol=1e-9, atol=1e-14, err_msg=f"{name} of {given_to}")


def test_incomplete_functions_at_their_edges() -> None:
    edges = np.array([0.0, 1.0, 2.5, 10.0, INF, -1.0, NAN])
    a, x = (z.ravel() for z in np.meshgrid(edges, edges))
    for name in ("gammainc", "gammaincc"):
        near(meaning(getattr(ours, name), a, x), getattr(special, name)(a, x), 1e-13)
    p, q, z = (z.ravel() for z in np.meshgrid([0.0, 1.0, 2.5, -1.0], [0.0, 1.0, 2.5], [0, 0.3, 1.0, -0.1, 1.1, NAN]))
    for name in ("betainc", "betaincc"):
        near(meaning(getattr(ours, name), p, q, z), getattr(special, name)(p, q, z), 1e-13)


@pytest.mark.parametrize(("a", "x"), [(1e4, 9.9e3), (1e6, 1e6), (10.0, 1e-10), (1e-3, 1.0), (100.0, 130.0)])
def test_incomplete_gamma_functions_keep_digits_of_large_shapes_and_of_tails(a: float, x: float) -> None:
    with mpmath.workdps(40):
        wanted = float(mpmath.gammainc(mpmath.mpf(a), 0, mpmath.mpf(x), regularized=True))
    assert_allclose(meaning(ours.gammainc, np.array(a), np.array(x)), wanted, rtol=1e-13)


def test_beta_functions_do_not_subtract_large_numbers() -> None:
    pairs = np.array([(1e6, 0.3), (1e6, 2.5), (1e4, 1e4), (11, 1e-5), (2, 3), (-0.5, 2.2)])
    with mpmath.workdps(40):
        wanted = [float(mpmath.log(abs(mpmath.beta(*map(mpmath.mpf, pair))))) for pair in pairs.tolist()]
    near(meaning(ours.betaln, *pairs.T), wanted, 1e-15)
    near(np.abs(meaning(ours.beta, *pairs.T)), np.exp(wanted), 1e-13)
    near(meaning(ours.betaln, np.array([2.0, 0.0]), np.array([INF, 1.0])), [-INF, INF], 0)


@SOME
@given(x=st.floats(1.01, 60), q=st.floats(1e-3, 1e4))
def test_zeta_and_slopes_of_any_order(x: float, q: float) -> None:
    near(meaning(ours.zeta, np.array(x), np.array(q)), special.zeta(x, q), 1e-13)
    for n in (0, 1, 2, 5, 30):
        near(meaning(lambda t, n=n: ours.polygamma(n, t), np.array(q)), special.polygamma(n, q), 1e-12)


def test_edges_of_zeta() -> None:
    x, q = np.array([1.0, 0.5, INF, 2, 2, 2.5, 3, NAN]), np.array([1.0, 1, 1, 0, -1, -0.5, INF, 1])
    near(meaning(ours.zeta, x, q), [INF, NAN, 1, INF, INF, NAN, 0, NAN], 0)
    near(meaning(lambda t: ours.polygamma(3, t), np.array([INF, 0.0, -2])), [0, INF, INF], 0)


def test_factorials_are_those_of_integers() -> None:
    n = np.arange(-1, 171)
    exact = [0.0] + [float(math.factorial(k)) for k in range(171)]
    found = meaning(ours.factorial, n)
    assert found.dtype == np.float64
    assert_array_equal(found[:24], exact[:24])
    assert_allclose(found, exact, rtol=1e-15)


def test_of_shapes_near_0_little_is_above() -> None:
    a, x = np.geomspace(1e-14, 1, 15), np.array([1e-9, 0.01, 0.5, 1.0, 1.5])
    with mpmath.workdps(40):
        wanted = [[float(mpmath.gammainc(p, z, mpmath.inf, regularized=True)) for z in x] for p in a]
    near(meaning(ours.gammaincc, a[:, None], x), wanted, 1e-13)


def test_slopes_of_scaled_bessel_functions_keep_their_digits_far_out() -> None:
    x = np.array([0.5, 40.0, 49.9, 50.1, 1e3, 1e8])
    with mpmath.workdps(40):
        zeroth, first = (np.array([mpmath.besseli(n, z) * mpmath.exp(-z) for z in map(mpmath.mpf, x)]) for n in (0, 1))
        apart = np.array([(a - b, a - b - b / z) for a, b, z in zip(zeroth, first, x, strict=True)]).astype(float)
    for signed, sign in ((x, 1), (-x, -1)):
        assert_allclose(slopes(ours.i0e, signed)[0], -sign * apart[:, 0], rtol=1e-12)
        assert_allclose(slopes(ours.i1e, signed)[0], apart[:, 1], rtol=1e-12)


def test_gamma_functions_are_few_units_off() -> None:
    random = np.random.default_rng(0)
    x = np.concatenate(
        [random.uniform(0, 24, 60), random.uniform(24, 171.6, 60), random.uniform(-170, 0, 60), [-171.5]]
    )
    wanted = np.array([float(mpmath.gamma(mpmath.mpf(float(v)))) for v in x])
    assert np.max(np.abs(meaning(ours.gamma, x) - wanted) / np.spacing(np.abs(wanted))) <= 8


@pytest.mark.parametrize(("name", "x"), [
    ("erfc", 26.0), ("erfcx", -20.0), ("ndtr", -37.0), ("log_ndtr", 8.1), ("log_ndtr", -39.0),
])  # fmt: skip
def test_tails_have_all_digits(name: str, x: float) -> None:
    formulas: dict[str, Callable[[Any], Any]] = {
        "erfc": mpmath.erfc, "ndtr": mpmath.ncdf, "erfcx": lambda z: mpmath.exp(z * z) * mpmath.erfc(z),
        "log_ndtr": lambda z: mpmath.log(mpmath.erfc(-z / mpmath.sqrt(2)) / 2),
    }  # fmt: skip
    with mpmath.workdps(40):
        wanted = float(formulas[name](mpmath.mpf(x)))
    assert_allclose(meaning(getattr(ours, name), np.array(x)), wanted, rtol=1e-15)


@SOME
@given(p=st.floats(5e-324, 1, exclude_max=True))
def test_quantiles_are_inverses(p: float) -> None:
    near(meaning(ours.ndtri, np.array(p)), special.ndtri(p), 1e-14)
    back = meaning(lambda p: ours.log_ndtr(ours.ndtri(p)), np.array(p))
    assert_allclose(back, math.log(p), rtol=1e-13, atol=1e-16)


# -- slopes ------------------------------------------------------------------------------------------

X = np.array([0.2, 0.45, 0.9])
Y = np.array([1.3, 0.4, 3.2])


@pytest.mark.parametrize("name", UNARY)
def test_slopes_of_one_argument(name: str) -> None:
    x = X
    if name not in ("entr", "erfinv", "logit", "ndtri", "erfcinv"):
        x = np.append(x, [1.7, 3.3, 5.1] if name == "factorial" else [1.7, 3.3, 5.1, *(-X - 1)])
    check_gradient(getattr(ours, name), x)


# By what the steps of these formulas mean: kernels compute such steps above, and below where functions are zero.
@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr", "kl_div", "beta", "betaln", "gammainc", "gammaincc"])
def test_slopes_of_two_arguments(name: str) -> None:
    check_gradient(getattr(ours, name), X[:, None], Y, target="reference")
    check_gradient(getattr(ours, name), Y, X, target="reference")


def test_slopes_of_three_arguments_and_of_orders() -> None:
    for name in ("betainc", "betaincc"):
        check_gradient(getattr(ours, name), Y[:, None] * 4, Y, X, target="reference")
    check_gradient(lambda x: ours.polygamma(2, x), Y, target="reference")
    check_gradient(ours.zeta, Y + 1.5, Y, target="reference")
    check_gradient(lambda a: ours.multigammaln(a, 3), Y + 1, target="reference")
    twice = lambda x: ng.deriv(ng.numpy.sum(ours.log_ndtr(x)), x)  # noqa: E731
    check_gradient(twice, X, target="reference")


def test_slopes_of_distribution_functions_are_densities_that_have_slopes() -> None:
    check_gradient(lambda a, x: ng.deriv(ng.numpy.sum(ours.gammainc(a, x)), x), Y, X, target="reference")
    check_gradient(
        lambda a, b, x: ng.deriv(ng.numpy.sum(ours.betainc(a, b, x)), x), Y + 1, Y + 1, X, target="reference"
    )
    a = ng.placeholder((3,), "float64")
    slope = ng.deriv(ng.numpy.sum(ours.gammainc(a, X)), a)
    with pytest.raises(errors.DerivativeError, match="while_loop takes depends on values"):
        ng.deriv(ng.numpy.sum(slope), a)


def test_slopes_where_functions_are_zero_or_their_tails_are() -> None:
    by_x, by_y = slopes(ours.xlogy, np.array([0.0, 0.0, 2.0]), np.array([0.5, 0.0, 4.0]))
    assert_allclose(by_x, [math.log(0.5), -INF, math.log(4)])
    assert_allclose(by_y, [0, 0, 0.5])
    x, y = np.array([0.0, 0, 0.5, -1, 1]), np.array([0, 0.5, 0, 1, -1])
    assert_allclose(slopes(ours.rel_entr, x, y), [[1, -INF, INF, 0, 0], [0, 0, -INF, 0, 0]])
    assert_allclose(slopes(ours.kl_div, x, y), [[0, -INF, INF, 0, 0], [1, 1, -INF, 0, 0]])
    assert_allclose(slopes(ours.entr, np.array([-1.0, -0.0, 0.0, 1.0, INF]))[0], [0, INF, INF, -1, -INF])
    assert_allclose(slopes(ours.log_ndtr, np.array([-1e4, 1e4]))[0], [1e4, 0], rtol=1e-7)
    assert_allclose(slopes(ours.erfcx, np.array([1e3]))[0], [-1 / math.sqrt(math.pi) * 1e-6], rtol=1e-5)
    assert_allclose(slopes(ours.i1, np.array([0.0]))[0], [0.5])
    assert_allclose(slopes(ours.gammainc, np.array([1.0, 2.0]), np.zeros(2))[1], [1, 0])


# -- targets, dtypes, families -----------------------------------------------------------------------


def test_both_targets_agree() -> None:
    x = np.array([0.01, 0.3, 0.77, 0.999])
    y = np.array([0.5, 3.0, 12.0, 250.0])

    def some(x: Any, y: Any) -> tuple[Any, ...]:
        unary = [getattr(ours, name)(x) for name in UNARY]
        return *unary, ours.gammainc(y, 240 * x), ours.betainc(y, 2.0, x), ours.zeta(1 + y, x), ours.kl_div(x, y)

    reference, cpu = computed(some, x, y)
    for found, wanted in zip(cpu, reference, strict=True):
        assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize(("name", "rtol"), [("float32", 3e-6), ("float16", 2e-2)])
def test_floats_keep_their_dtype(name: str, rtol: float) -> None:
    x = np.array([0.1, 0.5, 0.75], name)
    for function in (ours.ndtri, ours.gamma, ours.erfc, lambda t: ours.gammainc(t, t), ours.i0e, ours.entr):
        found = meaning(function, x)
        assert found.dtype == name
        assert_allclose(found, meaning(function, x.astype("float64")), rtol=rtol)


def test_integers_become_floats_and_numbers_are_weak() -> None:
    n = ng.placeholder((3,), "int64")
    assert ours.gamma(n).dtype == ours.xlogy(n, 2.5).dtype == "float64"
    assert ours.xlogy(ng.placeholder((3,)), 2.5).dtype == "float32"
    assert ours.betainc(2.0, 3.0, ng.placeholder((3,))).dtype == "float32"


def test_scipy_takes_terms_and_names_stay() -> None:
    x, h = ng.placeholder((3,), name="x"), ng.placeholder({"H": 3}, name="h")
    assert special.ndtri(x).type == x.type
    assert repr(special.gammaln(h)) == "axes.lgamma(h)"
    assert repr(special.expit(x)) == "numpy.sigmoid(x)"
    assert special.xlogy(h, 2.0).type == special.i0e(h).type == h.type
    assert special.betainc(x, 2.0, 0.5).type == x.type
    with pytest.raises(errors.FamilyError, match="goes by position, and h has the names H"):
        special.betainc(h, 2.0, 0.5)


def test_functions_are_mapped() -> None:
    x = np.array([[0.5, 2.0], [7.0, 40.0]])
    mapped = computed(lambda x: ng.numpy.vmap(lambda row: ours.gammainc(3.0, row))(x), x)
    for (found,) in mapped:
        assert_allclose(found, special.gammainc(3.0, x), rtol=1e-13)


@pytest.mark.parametrize(("call", "error", "says"), [
    (lambda x: ours.polygamma(-1, x), errors.AttributeValueError, "polygamma: n is -1\n.*\n.*from 0 to 170"),
    (lambda x: ours.polygamma(x, x), errors.AttributeValueError, "polygamma: n is x\n.*\n.*give an integer"),
    (lambda x: ours.multigammaln(x, 0), errors.AttributeValueError, "d is 0\n.*\n.*from 1 on"),
    (lambda x: ours.ndtr(True), errors.DTypeError, "the array is True, of Python"),
    (lambda x: ours.xlogy(x, np.ones(4)), errors.IncompatibleAxesError, "xlogy: .*lengths 3 and 4"),
    (lambda x: ours.gammainc(x, np.ones(4)), errors.IncompatibleAxesError, "gammainc: .*lengths 3 and 4"),
    (lambda x: ours.lambertw, errors.MissingMethodError, "special has no lambertw\n.*\n.*complex"),
    (lambda x: ours.lgamma, errors.MissingMethodError, "use ng.numpy.special.gammaln"),
    (lambda x: ng.numpy.erfc, errors.MissingMethodError, "use ng.numpy.special.erfc"),
    (lambda x: ng.numpy.nn, errors.MissingMethodError, "in ng.numpy itself"),
])  # fmt: skip
def test_wrong_calls_say_what_to_do(call: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call(ng.placeholder((3,), name="x"))
