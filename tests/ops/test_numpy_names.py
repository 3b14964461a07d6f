# SPDX-License-Identifier: Apache-2.0
"""Grids and rows as indices, polynomials and equations of tensors are NumPy's; what is missing tells what to use."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, check_gradient, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.frontend.numpy import absent

nx = ng.numpy
DTYPES = ["bool", "int8", "int64", "float16", "float32", "float64"]
nan, inf = np.nan, np.inf

# -- indices that make arrays -------------------------------------------------------------------------

GRIDS: list[Callable[[Any], Any]] = [
    lambda xp: xp.mgrid[0:3],
    lambda xp: xp.mgrid[0:3,],
    lambda xp: xp.mgrid[:3, 5:0:-2],
    lambda xp: xp.mgrid[0:2, 1:1, 0:3],
    lambda xp: xp.mgrid[0:1:5j, -1.0:2],
    lambda xp: xp.mgrid[np.int64(1) : np.int32(7) : 2],
    lambda xp: xp.ogrid[0:3],
    lambda xp: xp.ogrid[0:3, 0.0:1.0:0.25],
    lambda xp: xp.ogrid[0:2:3j, 0:4, 1:2],
]


@pytest.mark.parametrize("grid", GRIDS)
def test_grids_are_numpys(grid: Callable[[Any], Any]) -> None:
    """But floats are of single precision, as all that is created."""
    found, wanted = grid(nx), grid(np)
    assert isinstance(found, tuple) == isinstance(wanted, tuple)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, wanted)), strict=True):
        value = meaning(lambda one=one: one)
        assert value.dtype == (np.float32 if other.dtype == np.float64 else other.dtype)
        np.testing.assert_allclose(value, other.astype(value.dtype), rtol=1e-6, strict=True)


def test_a_grid_of_lengths_that_are_not_known() -> None:
    x = ng.placeholder((None, 2))
    assert nx.mgrid[: x.shape[0], 0:2].shape == (2, x.shape[0], 2)


# Of a vector of 3, a matrix (2, 3) and a scalar.
ROWS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda xp, v, m, s: xp.r_[v, 0, s, 1:4],
    lambda xp, v, m, s: xp.r_[v],
    lambda xp, v, m, s: xp.r_[m, m[:1]],
    lambda xp, v, m, s: xp.r_[v, 0:1:3j],
    lambda xp, v, m, s: xp.r_[v, [1, 2], 2.5],
    lambda xp, v, m, s: xp.c_[v, v],
    lambda xp, v, m, s: xp.c_[m, v[:2]],
    lambda xp, v, m, s: xp.c_[v, 0:3, m.T],
    lambda xp, v, m, s: xp.c_[s, 2],
]


@pytest.mark.parametrize("function", ROWS)
@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_rows_and_columns_are_numpys(function: Callable[..., Any], dtype: str) -> None:
    v, m, s = np.arange(3).astype(dtype), np.arange(6).reshape(2, 3).astype(dtype), np.array(7, dtype)
    found, wanted = meaning(lambda *a: function(nx, *a), v, m, s), function(np, v, m, s)
    assert found.dtype in (wanted.dtype, np.float32)
    np.testing.assert_allclose(found, wanted.astype(found.dtype), strict=True)


def test_a_sparse_grid() -> None:
    x, y = np.arange(3.0), np.arange(4)
    for indexing in ("xy", "ij"):
        agrees(
            lambda a, b, i=indexing: nx.meshgrid(a, b, indexing=i, sparse=True),
            lambda a, b, i=indexing: np.meshgrid(a, b, indexing=i, sparse=True), x, y,
        )  # fmt: skip


# -- angles -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("deg", [False, True])
def test_the_angle_of_a_number(dtype: str, deg: bool) -> None:
    x = np.array([0, 1, -1, -100, 50] if dtype.startswith("i") else [0.0, -0.0, 2, -3, inf, -inf, nan], dtype)
    room = 4 * float(np.finfo(np.angle(x).dtype).eps)
    agrees(lambda x: nx.angle(x, deg), lambda x: np.angle(x, deg), x, rtol=room)
    agrees(lambda x: np.angle(x, deg=deg), lambda x: np.angle(x, deg), x, rtol=room)


def test_an_angle_has_no_slope_and_keeps_names() -> None:
    h = ng.placeholder({"H": 3}, "float64")
    assert np.angle(h).axes == h.axes
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(ng.deriv(np.angle(h), h, error=1.0), h)([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(found, [0, 0, 0])


# -- polynomials --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_polynomial_of_its_zeros(dtype: str, count: int) -> None:
    zeros = np.array([1, 0, 3, 2][:count], dtype)
    agrees(nx.poly, lambda z: np.asarray(np.poly(z.astype(own(z))), own(z)), zeros)


def own(zeros: Any) -> Any:
    return zeros.dtype if zeros.dtype == np.float32 else np.float64


@settings(max_examples=60, deadline=None)
@given(
    u=hnp.arrays(np.float64, st.integers(1, 6), elements=st.integers(-4, 4)),
    v=hnp.arrays(np.float64, st.integers(1, 4), elements=st.integers(-4, 4)), first=st.sampled_from([1.0, -2.0, 0.5]),
)  # fmt: skip
def test_quotient_times_divisor_and_remainder_are_what_was_divided(u: Any, v: Any, first: float) -> None:
    v[0] = first
    quotient, rest = (meaning(lambda a, b, k=k: nx.polydiv(a, b)[k], u, v) for k in (0, 1))
    assert len(quotient) == max(len(u) - len(v) + 1, 1)
    assert len(rest) == (max(len(v) - 1, 1) if len(u) >= len(v) else len(u))
    whole = np.polyadd(np.polymul(quotient, v), rest)
    np.testing.assert_allclose(np.polysub(whole, u), 0, atol=1e-9 * np.abs(u).max(initial=1) * 4 ** len(u))
    np.testing.assert_allclose(quotient, np.polydiv(u, v)[0], atol=1e-12)


@pytest.mark.parametrize(("one", "other"), [("int64", "int8"), ("float32", "float32"), ("float16", "int64")])
def test_quotients_are_floats(one: str, other: str) -> None:
    u, v = np.array([1, 5, 6, 1], one), np.array([1, 2], other)
    agrees(nx.polydiv, np.polydiv, u, v)


def test_slopes_of_polynomials() -> None:
    check_gradient(nx.poly, np.array([0.5, -2.0, 1.25]))
    check_gradient(lambda u, v: nx.polydiv(u, v)[1], np.array([1.0, 2.0, -3.0, 0.5]), np.array([2.0, 1.0, -1.0]))


# -- equations of tensors -----------------------------------------------------------------------------


def matrices(*shape: int) -> Any:
    return np.random.default_rng(7).normal(size=shape) + 0.1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equations_of_tensors(dtype: str) -> None:
    room = 1e-3 if dtype == "float32" else 1e-10
    a, b = matrices(2, 3, 6).astype(dtype), matrices(2, 3).astype(dtype)
    agrees(nx.linalg.tensorsolve, np.linalg.tensorsolve, a, b, rtol=room)
    agrees(np.linalg.tensorsolve, np.linalg.tensorsolve, a, b, rtol=room)
    a, b = matrices(4, 3, 2, 6).astype(dtype), matrices(4, 3).astype(dtype)
    agrees(
        lambda a, b: nx.linalg.tensorsolve(a, b, axes=(2,)), lambda a, b: np.linalg.tensorsolve(a, b, axes=(2,)), a, b,
        rtol=room,
    )  # fmt: skip
    a = matrices(4, 6, 8, 3).astype(dtype)
    agrees(nx.linalg.tensorinv, np.linalg.tensorinv, a, rtol=room)
    agrees(lambda a: nx.linalg.tensorinv(a, 1), lambda a: np.linalg.tensorinv(a, 1), matrices(6, 2, 3), rtol=1e-10)


# -- what is missing ----------------------------------------------------------------------------------

MISSING = [
    (nx, "copyto", r"ng.numpy.at\(x\)\[index\].set"),
    (nx, "roots", "no term is complex"),
    (nx, "complex64", "no term is complex"),
    (nx, "csingle", "no term is complex"),
    (nx, "trapz", "use ng.numpy.trapezoid"),
    (nx, "swish", "use ng.numpy.silu"),
    (nx, "loadtxt", "read it with NumPy"),
    (nx, "ndarray", "terms have no values"),
    (nx, "issubdtype", "np.issubdtype is of dtypes"),
    (nx, "intp", "np.intp is of dtypes"),
    (nx, "float128", "no such dtype"),
    (nx, "softmx", "did you mean ng.numpy.softmax"),
    (nx, "deriv", "use ng.deriv"),
    (nx, "cumulative_max", "np.maximum.accumulate"),
    (nx, "fori_loop", "ng.numpy.scan"),
    (ng, "grad", "ng.deriv"),
    (ng, "jvp", "error=direction"),
    (nx.linalg, "eig", "complex"),
    (nx.linalg, "LinAlgError", "is NaN, no error"),
    (nx.random, "randn", "use ng.numpy.random.standard_normal"),
    (nx.random, "default_rng", "seed="),
    (nx.random, "hypergeometric", "draw them with NumPy"),
    (nx, "nonsense", "ng.numpy has no nonsense"),
]


@pytest.mark.parametrize(("module", "name", "told"), MISSING, ids=[name for _, name, _ in MISSING])
def test_a_name_that_is_missing_says_what_to_write(module: Any, name: str, told: str) -> None:
    assert not hasattr(module, name)
    with pytest.raises(errors.MissingMethodError, match=f"(?s){told}") as caught:
        getattr(module, name)
    assert __file__ in str(caught.value)


def test_whatever_numpy_has_is_there_or_advised() -> None:
    for theirs, ours in ((np, nx), (np.linalg, nx.linalg), (np.random, nx.random)):
        for name in {n for n in dir(theirs) if not n.startswith("_")} - {*dir(ours)}:
            with pytest.raises(errors.MissingMethodError) as caught:
                getattr(ours, name)
            assert caught.value.do, name


def test_a_module_lists_what_is_public() -> None:
    for module in (nx, nx.linalg, nx.random):
        assert dir(module) == sorted(module.__all__)


def test_what_is_told_to_use_is_there() -> None:
    for short, names in absent.NAMES.items():
        module = nx if short == "numpy" else getattr(nx, short)
        for path in names.values():
            found: Any = module
            for part in path.split("."):
                found = getattr(found, part)


def test_numpys_functions_that_have_no_meaning_say_so_too() -> None:
    with pytest.raises(errors.ArgumentError, match=r"(?s)np.copyto has no meaning for terms.*at\(x\)\[index\]"):
        np.copyto(ng.placeholder((3,)), 1)


X = ng.placeholder((2, 3))
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.mgrid[3], errors.ArgumentError, "(?s)mgrid: the index 3.*0:1:5j"),
    (lambda: nx.mgrid[0 : 1 : complex(0, np.inf)], errors.ArgumentError, "(?s)infj.*finite"),
    (lambda: nx.ogrid[0:2, 1:], errors.ArgumentError, "ogrid: the index slice"),
    (lambda: nx.mgrid[0 : X[0, 0]], errors.ArgumentError, "cannot depend on values"),
    (lambda: nx.r_["0,2", X], errors.ArgumentError, "(?s)r_: '0,2' has no meaning.*concat or stack"),
    (lambda: nx.c_[X, X.T], errors.AxesError, "concat"),
    (lambda: nx.poly(X), errors.AxesError, "(?s)poly: expected a vector.*eigvalsh"),
    (lambda: nx.polydiv(X, [1.0]), errors.AxesError, "polydiv: expected a vector"),
    (lambda: nx.polydiv([1.0], X[0, :0]), errors.AxesError, "the divisor has no coefficients"),
    (lambda: nx.polydiv(ng.placeholder((None,)), [1.0]), errors.LengthError, "polydiv"),
    (lambda: nx.angle(X, deg="yes"), errors.AttributeValueError, "deg"),
    (lambda: nx.linalg.tensorsolve(X, X[0, :2]), errors.AxesError, "tensorsolve: .*has 2 rows.*3 columns"),
    (lambda: nx.linalg.tensorsolve(X, X[0], axes=(0, 0)), errors.AttributeValueError, "name one twice"),
    (lambda: nx.linalg.tensorsolve(X, X[0], axes=5), errors.OutOfRangeError, "axis 5"),
    (lambda: nx.linalg.tensorinv(X, 0), errors.AttributeValueError, "tensorinv: ind is 0"),
    (lambda: nx.linalg.tensorinv(X, 1), errors.AxesError, "tensorinv: .*has 2 rows"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
