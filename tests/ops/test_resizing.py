# SPDX-License-Identifier: Apache-2.0
"""Resized axes: what PyTorch and ONNX say is between the elements of the old one, in float64, place by place."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_targets import apart, check_gradient, computed

import ngraph_rewrite as ng
from ngraph_rewrite import errors

SOME = settings(max_examples=36, deadline=None)
HOW, PLACES = ["nearest", "linear", "cubic"], ["centers", "corners", "starts"]


def at(i: int, n: int, m: int, places: str) -> float:
    """Where place i of m lies on an axis of n elements."""
    if places == "corners":
        return i * (n - 1) / (m - 1) if m > 1 else 0.0
    return (i + 0.5) * n / m - 0.5 if places == "centers" else i * n / m


def weight(how: str, d: float) -> float:
    """Keys' function with a = -3/4, or a tent."""
    if how == "linear":
        return max(0.0, 1 - d)
    if d <= 1:
        return 1.25 * d**3 - 2.25 * d**2 + 1
    return -0.75 * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0.0


def resized(x: Any, m: int, how: str, places: str) -> Any:
    """A vector, by the definition: elements go on beside it, and each weighs what its distance says."""
    n, found = len(x), []
    for i in range(m):
        c = at(i, n, m, places)
        if how == "nearest":
            c = math.floor(c + (0 if places == "starts" else 0.5) + 1e-9)
            found.append(x[min(max(c, 0), n - 1)])
        else:
            near = range(math.floor(c) - 3, math.floor(c) + 4)
            found.append(sum(weight(how, abs(c - k)) * x[min(max(k, 0), n - 1)] for k in near))
    return np.array(found)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("how", "places"),
    [("nearest", "starts"), ("linear", "corners"), ("cubic", "centers")],
)
def test_lengths_may_be_known_by_each_call_only(how: str, places: str) -> None:
    """The old one, the new one, or both, of which the new one is made."""
    rows = ng.Length.symbol("rows")
    x, y = ng.placeholder((2, rows), "float64"), ng.placeholder((ng.Length.symbol("more"),))
    terms = [ng.resize(x, {1: m}, how, places) for m in (7, 2 * rows, (rows + 1) // 2)]
    terms.append(ng.resize(ng.constant(np.arange(5.0)), {0: y.shape[0]}, how, places))
    slope = ng.deriv(ng.numpy.sum(terms[1] * terms[1]), x)
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation([*terms, slope], x, y)
            for n, more in ((1, 1), (3, 4), (6, 9)):
                value = np.random.default_rng(n).normal(size=(2, n))
                *found, by = computation(value, np.zeros(more))
                for one, m in zip(found, (7, 2 * n, (n + 1) // 2), strict=False):
                    wanted = np.apply_along_axis(lambda v, m=m: resized(v, m, how, places), 1, value)
                    np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-12, strict=True)
                np.testing.assert_allclose(found[3], resized(np.arange(5.0), more, how, places), rtol=1e-12, atol=1e-12)
                # The slope of a sum of squares of linear functions of each line.
                matrix = np.apply_along_axis(lambda v, n=n: resized(v, 2 * n, how, places), 0, np.eye(n))
                np.testing.assert_allclose(by, 2 * value @ (matrix.T @ matrix), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("places", PLACES)
@SOME
@given(n=st.integers(1, 9), m=st.integers(1, 20), axis=st.integers(0, 1))
def test_each_place_is_what_is_near_it(how: str, places: str, n: int, m: int, axis: int) -> None:
    x = np.random.default_rng(0).normal(size=(n, 2) if axis == 0 else (2, n))
    wanted = np.apply_along_axis(lambda v: resized(v, m, how, places), axis, x)
    with ng.make_transformer("reference") as transformer:
        term = ng.placeholder(x.shape, "float64")
        found = transformer.computation(ng.resize(term, {axis: m}, how, places), term)(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12, strict=True)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(("h", "w"), [(6, 10), (2, 3), (3, 5), (7, 4), (1, 1)])
def test_kernels_resize_alike(how: str, h: int, w: int) -> None:
    x = np.random.default_rng(1).normal(size=(2, 3, 5)).astype(np.float32)
    reference, cpu = computed(lambda x: ng.resize(x, {1: h, -1: w}, how), x)
    np.testing.assert_allclose(cpu[0], reference[0], rtol=1e-6, atol=1e-6, strict=True)
    assert cpu[0].shape == (2, h, w)


def test_known_values_of_pytorch() -> None:
    """interpolate(arange(4), size=6, mode=...), which prints four digits."""
    x = np.arange(4.0)
    for how, wanted in {
        "nearest": [0, 0, 1, 2, 2, 3],
        "linear": [0.0, 0.5, 1.1667, 1.8333, 2.5, 3.0],
    }.items():
        places = "starts" if how == "nearest" else "centers"
        for found in computed(lambda x, how=how, places=places: ng.resize(x, {0: 6}, how, places), x):
            np.testing.assert_allclose(found[0], wanted, atol=1e-4)
    for found in computed(lambda x: ng.resize(x, {0: 7}, "linear", "corners"), x):
        np.testing.assert_allclose(found[0], np.linspace(0, 3, 7))


def test_axes_keep_names_and_roles() -> None:
    x = ng.placeholder([ng.Axis("C", 3), ng.Axis("H", 4), ng.Axis("W", 5), ng.Axis("N", 2)])
    y = ng.resize(x, {"H": 8, "W": 3}, "linear")
    assert y.axes == ng.Axes([ng.Axis("C", 3), ng.Axis("H", 8), ng.Axis("W", 3), ng.Axis("N", 2)])
    assert ng.resize(x, {}).type == x.type
    marked = ng.simple.placeholder((3, 4, ng.simple.N))
    assert ng.resize(marked, {1: 8}).axes[2].is_sample


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype: str) -> None:
    x = np.random.default_rng(2).normal(size=9).astype(dtype)
    wanted = resized(x.astype(np.float64), 14, "cubic", "centers").astype(np.float32).astype(dtype)
    for found in computed(lambda x: ng.resize(x, {0: 14}, "cubic"), x):
        np.testing.assert_allclose(found[0].astype(float), wanted.astype(float), rtol=1e-2, atol=1e-3)
        assert found[0].dtype == x.dtype


def test_the_nearest_is_of_any_dtype() -> None:
    for found in computed(lambda x: ng.resize(x, {0: 4}), np.array([True, False])):
        assert found[0].tolist() == [True, True, False, False]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("places", PLACES)
def test_gradients_are_central_differences(how: str, places: str) -> None:
    check_gradient(lambda x: ng.resize(x, {0: 5, 1: 2}, how, places), apart(3, 4))


X = ng.placeholder({"H": 3, "W": 4}, name="x")
WRONG = [
    (lambda: ng.resize(X, 6), errors.ArgumentError, '"W": 64'),
    (lambda: ng.resize(X, {"D": 6}), errors.UnmatchedAxesError, "has no axis 'D'"),
    (lambda: ng.resize(ng.strip(X), {2: 6}), errors.OutOfRangeError, "axis 2"),
    (lambda: ng.resize(ng.strip(X), {1: 6, -1: 7}), errors.AttributeValueError, "an axis twice"),
    (lambda: ng.resize(X, {"H": 0}), errors.AttributeValueError, "at least 1"),
    (lambda: ng.resize(X, {"H": 1.5}), errors.AttributeValueError, "integers"),
    (lambda: ng.resize(X, {"H": 6}, "area"), errors.AttributeValueError, "nearest, linear, cubic"),
    (lambda: ng.resize(X, {"H": 6}, places="edges"), errors.AttributeValueError, "centers, corners, starts"),
    (lambda: ng.resize(ng.cast(X, "int32"), {"H": 6}, "linear"), errors.DTypeError, "take the nearest"),
    (lambda: ng.resize(ng.placeholder({"N": 0}), {"N": 6}), errors.LengthError, "give it a length"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
