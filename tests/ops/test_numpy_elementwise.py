# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of ng.numpy have the shapes, dtypes and values of NumPy's; what they refuse is listed."""

from typing import Any

import numpy as np
import pytest
from drawn import value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES

# The dtypes that NumPy knows itself, and says how they promote.
NUMPYS = [d for d in DTYPES if d != BFLOAT16]
SOME = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
NUMPY = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "bitwise_invert": np.invert, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "expm1": np.expm1, "floor": np.floor, "isfinite": np.isfinite, "isinf": np.isinf, "isnan": np.isnan, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "logical_not": np.logical_not, "negative": np.negative,
    "positive": lambda x: x, "reciprocal": np.reciprocal, "round": np.round, "sign": np.sign, "signbit": np.signbit,
    "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc,
}  # fmt: skip
NUMPY_BINARY = {
    "add": np.add, "atan2": np.arctan2, "bitwise_and": np.bitwise_and, "bitwise_left_shift": np.left_shift,
    "bitwise_or": np.bitwise_or, "bitwise_right_shift": np.right_shift, "bitwise_xor": np.bitwise_xor,
    "copysign": np.copysign, "divide": np.divide, "equal": np.equal, "floor_divide": np.floor_divide,
    "greater": np.greater, "greater_equal": np.greater_equal, "hypot": np.hypot, "less": np.less,
    "less_equal": np.less_equal, "logaddexp": np.logaddexp, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "maximum": np.maximum, "minimum": np.minimum,
    "multiply": np.multiply, "nextafter": np.nextafter, "not_equal": np.not_equal, "pow": np.power,
    "remainder": np.remainder, "subtract": np.subtract,
}  # fmt: skip
# Where NumPy makes int8 of bool, or rounds a reciprocal to an integer, there is a DTypeError instead.
NOT_BOOL = {"ceil", "floor", "round", "square", "trunc", "floor_divide", "pow", "remainder"}
NOT_BOOL |= {"bitwise_left_shift", "bitwise_right_shift"}
ONLY_FLOAT = {"reciprocal", "signbit"}
# What of float16 is computed in float32, and rounded.
WIDER = {"acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "expm1", "log", "log10", "log1p", "log2"}
WIDER |= {"sin", "sinh", "tan", "tanh"}
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3e-7, 40.0, np.inf, -np.inf, np.nan]


def numbers(dtype: np.dtype[Any], shape: tuple[int, ...], rng: np.random.Generator, least: int = -4) -> Any:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        picked = rng.integers(0 if dtype.kind == "u" else least, 7, shape)
        return np.where(rng.random(shape) < 0.1, limits.max, picked.astype(dtype)).astype(dtype)
    return np.where(rng.random(shape) < 0.4, rng.choice(EDGES, shape), rng.normal(size=shape) * 2).astype(dtype)


def compare(function: Any, numpys: Any, arrays: list[Any], may_refuse: bool) -> None:
    terms = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    with np.errstate(all="ignore"):
        try:
            wanted = np.asarray(numpys(*arrays))
        except TypeError:
            with pytest.raises(errors.DTypeError):
                function(*terms)
            return
    try:
        term = function(*terms)
    except errors.DTypeError:
        assert may_refuse
        return
    assert (term.shape, term.dtype) == (wanted.shape, wanted.dtype)
    found = value(term, dict(zip(terms, arrays, strict=True)))
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("name", NUMPY)
@SOME
@given(
    dtype=st.sampled_from(NUMPYS),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    seed=st.integers(0, 99),
)
def test_of_one_argument(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> None:
    array = numbers(dtype, shape, np.random.default_rng(seed))
    refuse = (dtype.kind == "b" and name in NOT_BOOL) or (dtype.kind != "f" and name in ONLY_FLOAT)
    compare(getattr(ng.numpy, name), NUMPY[name], [array], refuse)


@pytest.mark.parametrize("name", NUMPY_BINARY)
@SOME
@given(
    dtypes=st.tuples(st.sampled_from(NUMPYS), st.sampled_from(NUMPYS)),
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3),
    seed=st.integers(0, 99),
)
def test_of_two_arguments(name: str, dtypes: Any, shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # a negative power of an integer is an error of NumPy's, and is not defined here
    least = 0 if name == "pow" else -4
    arrays = [numbers(d, s, rng, least) for d, s in zip(dtypes, shapes.input_shapes, strict=True)]
    refuse = "b" in [d.kind for d in dtypes] and name in NOT_BOOL
    compare(getattr(ng.numpy, name), NUMPY_BINARY[name], arrays, refuse)


@SOME
@given(
    dtypes=st.tuples(st.sampled_from(NUMPYS), st.sampled_from(NUMPYS)),
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=3, min_side=0, max_side=3),
    seed=st.integers(0, 99),
)
def test_where_and_clip(dtypes: Any, shapes: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    condition = rng.random(shapes.input_shapes[0]) < 0.5
    x, y = (numbers(d, s, rng) for d, s in zip(dtypes, shapes.input_shapes[1:], strict=True))
    compare(ng.numpy.where, np.where, [condition, x, y], False)
    compare(ng.numpy.clip, np.clip, [x, y, y], False)


@pytest.mark.parametrize("dtype", NUMPYS, ids=str)
@pytest.mark.parametrize("number", [True, 2, 1.5, np.float32(1.5), np.int8(3)], ids=repr)
def test_numbers_promote_as_those_of_numpy(dtype: np.dtype[Any], number: Any) -> None:
    array = np.ones(3, dtype)
    for operation in (lambda x: x + number, lambda x: number * x, lambda x: np.maximum(x, number)):
        term, wanted = operation(ng.placeholder((3,), dtype)), operation(array)
        assert term.dtype == wanted.dtype


def test_python_s_numbers_choose_the_dtype_of_where() -> None:
    x = ng.placeholder((3,), "int8")
    assert ng.numpy.where(x > 0, x, 0).dtype == np.dtype("int8")
    assert ng.numpy.where(x > 0, x, 0.5).dtype == np.dtype("float64")
    assert ng.numpy.where(x > 0, 1, 2).dtype == np.dtype("int64")


@pytest.mark.parametrize("decimals", [2, 0, -1])
def test_round_to_decimals(decimals: int) -> None:
    array = np.array([1.2345, -17.5, 0.125, np.inf])
    x = ng.placeholder((4,), "float64")
    found = value(ng.numpy.round(x, decimals), {x: array})
    np.testing.assert_array_equal(found, np.round(array, decimals))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
@pytest.mark.parametrize("decimals", [3, 0, -1, -2])
def test_integers_are_rounded_to_decimals(dtype: str, decimals: int) -> None:
    array = np.array([0, 4, 5, 6, 15, 25, 50, 51, 116], dtype)
    x = ng.placeholder(array.shape, dtype)
    found = ng.numpy.round(x, decimals), np.round(x, decimals)
    with ng.make_transformer("cpu") as transformer:
        for one in transformer.computation(found, x)(array):
            np.testing.assert_array_equal(one, np.round(array, decimals), strict=True)


@pytest.mark.parametrize("decimals", [0.5, "1", True, 309, -(10**30)])
def test_wrong_decimals_are_refused(decimals: object) -> None:
    with pytest.raises(ng.AttributeValueError, match="round: decimals is") as found:
        ng.numpy.round(ng.placeholder((3,)), decimals)  # type: ignore[arg-type]
    assert __file__ in str(found.value)


def test_signed_and_unsigned_integers_are_compared_exactly() -> None:
    low, high = np.array([-1, 2**53 + 1, 2**62]), np.array([2**64 - 1, 2**53, 2**62], np.uint64)
    x, y = ng.placeholder((3,), "int64"), ng.placeholder((3,), "uint64")
    functions = "equal not_equal less less_equal greater greater_equal".split()
    terms = [getattr(ng.numpy, f)(a, b) for f in functions for a, b in ((x, y), (y, x))]
    wanted = [getattr(np, f)(a, b) for f in functions for a, b in ((low, high), (high, low))]
    with ng.make_transformer("cpu") as transformer:
        np.testing.assert_array_equal(transformer.computation(terms, x, y)(low, high), wanted)


@pytest.mark.sampled
@pytest.mark.parametrize("dtypes", [("float32", "float32"), ("int32", "uint8"), ("float16", "int8")], ids=str)
def test_kernels_compute_what_numpy_computes(dtypes: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    x, y = (numbers(np.dtype(d), s, rng, 0) for d, s in zip(dtypes, ((3, 1), (2, 1, 4)), strict=True))
    terms = [ng.placeholder(a.shape, a.dtype) for a in (x, y)]
    whole = dtypes[0] != "float32"
    binary = {n: f for n, f in NUMPY_BINARY.items() if ("bitwise" in n) == (dtypes[0] == "int32") or "bitwise" not in n}
    unary = {n: f for n, f in NUMPY.items() if n not in ONLY_FLOAT | {"bitwise_invert"} or not whole}
    unary.pop("bitwise_invert", None)
    if dtypes[0] == "float16":  # computed as float32, and rounded once more: by every other function is enough
        unary = {n: f for n, f in list(unary.items())[::2] if n not in WIDER}
        binary = dict(list(binary.items())[::2])
    with np.errstate(all="ignore"):
        wanted = [f(x, y) for f in binary.values()] + [f(x) for f in unary.values()]
    made = [getattr(ng.numpy, n)(*terms) for n in binary] + [getattr(ng.numpy, n)(terms[0]) for n in unary]
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(made, *terms)(x, y)
    for name, one, other in zip([*binary, *unary], found, wanted, strict=True):
        assert one.dtype == other.dtype, name
        exact = other.dtype.kind != "f"
        # both libraries may be off by 2 ulp; half precision is rounded on the way, and logaddexp has four steps
        eps = 0 if exact else 8 * float(np.finfo(other.dtype).eps)
        np.testing.assert_allclose(one, other, rtol=eps, atol=eps, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_by_few_products_are_those_of_numpy(dtype: str) -> None:
    """Also at zeros of both signs, below zero, at infinities and where a square would overflow or underflow."""
    given = np.array([*EDGES, 1e-30, -1e-30, 1e30, 2e-45], dtype)
    exponents = [2, 3, 4, 5, 6, -1, -2, -3, 0.5, -0.5, 1.5, -1.5]
    x = ng.placeholder(given.shape, dtype)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([x**e for e in exponents], x)
        found = computation(given)
        assert "power(" not in computation.source()
    with np.errstate(all="ignore"):
        for exponent, one in zip(exponents, found, strict=True):
            wanted = np.power(given, np.full_like(given, exponent))  # of one number NumPy takes a root
            np.testing.assert_allclose(one, wanted, rtol=8 * float(np.finfo(dtype).eps), err_msg=f"{exponent}")
