# SPDX-License-Identifier: Apache-2.0
"""A Python integer that the integers beside it do not hold means what NumPy makes of it, in every family."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import errors

COMPARISONS = [np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal]
IN_FLOATS = [np.divide, np.hypot, np.arctan2, np.copysign, np.logaddexp, np.nextafter, np.heaviside, np.float_power]
ASK_TRUTH = [np.logical_and, np.logical_or, np.logical_xor]


def ends(dtype: str) -> np.ndarray[Any, Any]:
    return np.array([np.iinfo(dtype).min, 1, np.iinfo(dtype).max], dtype)


def same(functions: Callable[..., list[Any]], x: np.ndarray[Any, Any], axes: Any = (3,), target: str = "cpu") -> None:
    """Of a term there comes what comes of an array."""
    term = ng.placeholder(axes, x.dtype)
    with ng.make_transformer(target) as transformer, np.errstate(all="ignore"):
        found, wanted = transformer.computation(functions(term), term)(x), functions(x)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3)
        assert one.dtype == other.dtype


def both_ways(functions: list[Any], x: Any, number: int) -> list[Any]:
    return [f(*operands) for f in functions for operands in ((x, number), (number, x))]


@pytest.mark.sampled
@pytest.mark.parametrize("axes", [(3,), {"H": 3}])
@pytest.mark.parametrize(
    "dtype, number",
    [
        ("uint8", -1),
        ("uint8", 300),
        ("int8", -129),
        ("int64", 2**63),
        ("uint64", -1),
        ("uint64", 2**64),
        ("int8", -(10**400)),
    ],
)
def test_it_is_compared_by_its_value(dtype: str, number: int, axes: Any) -> None:
    same(lambda x: both_ways(COMPARISONS, x, number), ends(dtype), axes)
    same(lambda x: [x < number, number < x, x <= number, x > number, x >= number], ends(dtype), axes)


@pytest.mark.parametrize("dtype, number", [("uint8", -2), ("uint8", 300), ("int16", 2**70), ("int64", 2**64)])
def test_functions_that_compute_in_floats_take_it_as_one(dtype: str, number: int) -> None:
    """Which float it is the frontend says; how kernels compute in floats those of one dtype show."""
    target = "cpu" if dtype == "int64" else "reference"
    same(lambda x: both_ways(IN_FLOATS, x, number), ends(dtype), target=target)


def test_its_truth_is_asked_and_what_is_close_to_it() -> None:
    same(lambda x: [*both_ways(ASK_TRUTH, x, 300), np.isclose(x, -1), np.isclose(300, x)], ends("uint8"))
    same(lambda x: [np.searchsorted(x, 300), np.searchsorted(x, -1)], ends("uint8"))


@pytest.mark.parametrize("bounds", [(-3, 300), (-3, None), (5, 300), (0, 255), (-3, 2)])
def test_a_bound_beyond_the_dtype_bounds_nothing(bounds: Any) -> None:
    same(lambda x: [np.clip(x, *bounds)], ends("uint8"))
    same(lambda x: [np.clip(x, *bounds)], ends("uint8"), {"H": 3})


def test_the_simple_family_goes_by_the_same_table() -> None:
    x = ng.simple.placeholder((3,), "uint8")
    terms = [ng.simple.less(x, 300), ng.simple.divide(x, -2), x > -1]
    with ng.make_transformer("cpu") as transformer:
        less, half, more = transformer.computation(terms, x)(ends("uint8"))
    np.testing.assert_array_equal([*less, *more], [True] * 6)
    np.testing.assert_array_equal(half, ends("uint8") / -2)


@pytest.mark.parametrize("function", [np.add, np.maximum, np.floor_divide, np.power, np.bitwise_and, np.fmax, np.gcd])
def test_other_functions_refuse_it(function: Any) -> None:
    with pytest.raises(errors.DTypeError, match="300 cannot be a constant of uint8"):
        function(ng.placeholder((3,), "uint8"), 300)
    with pytest.raises(errors.DTypeError, match="maximum: 300 cannot be a constant of uint8"):
        ng.numpy.clip(ng.placeholder((3,), "uint8"), 300, None)
