# SPDX-License-Identifier: Apache-2.0
"""Functions of what numbers are made of, their divisors, bits and fractions, have NumPy's dtypes and values."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from on_targets import agrees, check_gradient, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = "float16 float32 float64".split()


def edges(dtype: str) -> Any:
    """The ends of a dtype, and numbers between."""
    if dtype in INTEGERS:
        most = np.iinfo(dtype)
        return np.array([most.min, most.max, 0, 1, most.max - 1, most.max // 3, 6, 84, 126], dtype)
    most = np.finfo(dtype)
    small = [most.tiny, most.tiny / 2, most.smallest_subnormal, -most.smallest_subnormal]
    near = [np.nextafter(np.array(k, dtype), np.array(0, dtype)) for k in (1, 2)]
    return np.array([0, -0.0, most.max, -most.max, most.max / 2, *small, *near, 0.1, -3, 7, 8.5, np.inf, np.nan], dtype)


def of_all(functions: Callable[..., list[Any]], *arrays: Any, rtol: float = 0.0) -> None:
    terms = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    with ng.make_transformer("reference") as transformer, np.errstate(all="ignore"):
        found = transformer.computation(functions(nx, *terms), *terms)(*arrays)
        wanted = functions(np, *arrays)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol, strict=True)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divisors_and_bits_are_numpys(dtype: str) -> None:
    x = edges(dtype)
    of_all(lambda xp, x, y: [xp.gcd(x, y), xp.lcm(x, y), xp.gcd(6, x), xp.bitwise_count(x)], x[:, None], x)


def test_as_many_divisions_as_numbers_of_64_bits_can_need() -> None:
    numbers = [1, 1]
    while numbers[-1] + numbers[-2] < 2**63:
        numbers.append(numbers[-1] + numbers[-2])
    x, y = (np.array([n, 2**62, 0]) for n in numbers[-2:])
    agrees(nx.gcd, np.gcd, x, y, unknown=True)


def test_a_divisor_inside_of_a_mapped_function_and_beside_a_slope() -> None:
    x = np.array([[4, 6, 8], [9, 3, 6]])
    found = meaning(ng.numpy.vmap(lambda row: nx.gcd(row, nx.sum(row))), x)
    np.testing.assert_array_equal(found, np.gcd(x, x.sum(1, keepdims=True)))
    y = ng.placeholder((3,), "float64")
    slope = ng.deriv(nx.sum(y * nx.astype(nx.gcd(nx.astype(y, "int64"), 6), "float64")), y)
    with ng.make_transformer("reference") as transformer:
        np.testing.assert_array_equal(transformer.computation(slope, y)([4.0, 9.0, 5.0]), [2, 3, 1])


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "bool"])
def test_fractions_powers_and_gaps_are_numpys(dtype: str) -> None:
    x = np.array([True, False]) if dtype == "bool" else edges(dtype)
    of_all(lambda xp, x: [*xp.frexp(x), xp.spacing(x), *xp.frexp(x[:0])], x)


def test_any_number_is_a_fraction_and_a_power() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(2000) * np.exp2(rng.integers(-1070, 1023, 2000))
    of_all(lambda xp, x: [*xp.frexp(x), xp.spacing(-x)], x)
    part, power = (
        meaning(lambda x, k=k: nx.frexp(x)[k], np.float32([1, -3]).astype(ml_dtypes.bfloat16)) for k in range(2)
    )
    assert part.dtype == ml_dtypes.bfloat16 and power.dtype == np.int32


@pytest.mark.parametrize("dtype", [*FLOATS, "int8"])
def test_the_bessel_function_is_numpys(dtype: str) -> None:
    x = np.array([0, -0.0, 0.3, -2, 7.9, 8, 9, 10.7, -11] if dtype != "int8" else [0, -3, 9], dtype)
    room = float(np.finfo(dtype if dtype in FLOATS else "float64").eps)
    of_all(lambda xp, x: [xp.i0(x)], x, rtol=32 * room)


def test_gradients_are_central_differences() -> None:
    x = np.array([0.3, -1.2, 0.9, 8.5])
    check_gradient(lambda x: nx.frexp(x * 7)[0] + nx.i0(x) / 100, x, target="reference")


def packed(xp: Any, x: Any) -> list[Any]:
    ways: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "bitorder": "little"}]
    found = [xp.packbits(x, **way) for way in ways]
    return [*found, *(xp.unpackbits(bits, **way) for bits, way in zip(found, ways, strict=True))]


def test_bits_of_bytes_are_numpys() -> None:
    rng = np.random.default_rng(0)
    for x in (
        rng.random((3, 11)) < 0.5,
        rng.integers(-1, 2, (17, 2)),
        np.zeros((0, 3), bool),
        np.zeros((2, 8), np.uint8),
    ):
        of_all(packed, x)
    of_all(lambda xp, x: [xp.unpackbits(x, axis=1, count=n) for n in (0, 5, -3, 20)], np.array([[7, 130]], np.uint8))


def test_lengths_may_be_known_by_each_call_only() -> None:
    x, term = np.array([[1.5, -300, 1e-30], [0, np.inf, 7]]), ng.placeholder((None, 3), "float64")

    def some(xp: Any, x: Any) -> tuple[Any, ...]:
        return *xp.frexp(x), xp.spacing(x), xp.i0(xp.minimum(x, 20)), *packed(xp, xp.greater(x, 0))[:3]

    with ng.make_transformer("reference") as transformer, np.errstate(all="ignore"):
        found = transformer.computation(some(nx, term), term)(x)
        for one, other in zip(found, some(np, x), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-13, strict=True)


def test_both_targets_agree() -> None:
    x = np.array([1.5, -300, 1e-30, 0, np.inf, 7], np.float32)
    agrees(lambda x: nx.frexp(x), np.frexp, x)


def test_numpys_functions_of_terms_are_these() -> None:
    h, i = ng.placeholder({"H": 3}), ng.placeholder((3,), "int32")
    assert np.i0(h).axes == np.frexp(h)[0].axes == h.axes
    made = [
        np.gcd(i, 6),
        np.lcm(i, i),
        np.bitwise_count(i),
        np.packbits(i),
        np.unpackbits(np.packbits(i)),
        np.spacing(i),
    ]
    assert all(isinstance(t, ng.Op) for t in made)


X, N, U = ng.placeholder((3,), name="x"), ng.placeholder((3,), "int64"), ng.placeholder((2,), "uint8")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.gcd(X, 2), errors.DTypeError, "(?s)gcd: expected integers, got float32.*cast both"),
    (lambda: nx.lcm(N, ng.placeholder((3,), "uint64")), errors.DTypeError, "lcm: expected integers"),
    (lambda: nx.gcd(N, U), errors.IncompatibleAxesError, "the lengths 3 and 2"),
    (lambda: np.gcd(ng.placeholder({"H": 3}, "int32"), [2, 3, 4]), errors.FamilyError, "no axes to match by"),
    (lambda: nx.bitwise_count(X), errors.DTypeError, "bitwise_count: expected bool or integers"),
    (lambda: nx.packbits(X), errors.DTypeError, "(?s)packbits: expected bool or integers.*compare"),
    (lambda: nx.packbits(N, bitorder="middle"), errors.AttributeValueError, "(?s)bitorder is 'middle'.*big, little"),
    (lambda: nx.packbits(N, axis=1), errors.OutOfRangeError, "packbits: axis 1"),
    (lambda: nx.unpackbits(N), errors.DTypeError, "unpackbits: expected uint8"),
    (lambda: nx.unpackbits(U, count=-17), errors.AttributeValueError, "count is -17, of 16 bits"),
    (lambda: nx.unpackbits(ng.placeholder((None,), "uint8"), count=3), errors.LengthError, "unpackbits"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
