# SPDX-License-Identifier: Apache-2.0
"""Channels as blocks of pixels, and images between pixels: what ONNX and PyTorch define, element by element."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from on_targets import apart, check_gradient, computed

import ngraph_rewrite as ng
from ngraph_rewrite import errors

SOME = settings(max_examples=40, deadline=None)
ORDERS = ["blocks", "channels"]


@pytest.mark.parametrize("order", ORDERS)
@SOME
@given(n=st.integers(1, 2), c=st.integers(1, 3), h=st.integers(1, 3), w=st.integers(1, 3), b=st.integers(1, 3))
def test_channels_become_blocks_as_in_onnx(order: str, n: int, c: int, h: int, w: int, b: int) -> None:
    x = np.arange(n * c * b * b * h * w, dtype=np.float32).reshape(n, c * b * b, h, w)
    if order == "blocks":  # DCR
        wanted = x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c, h * b, w * b)
    else:  # CRD
        wanted = x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c, h * b, w * b)
    term = ng.placeholder(x.shape)
    there = ng.depth_to_space(term, 1, {2: b, 3: b}, order)
    back = ng.space_to_depth(there, 1, {2: b, 3: b}, order)
    with ng.make_transformer("reference") as transformer:
        found, again = transformer.computation([there, back], term)(x)
    np.testing.assert_array_equal(found, wanted, strict=True)
    np.testing.assert_array_equal(again, x, strict=True)


@pytest.mark.parametrize("order", ORDERS)
def test_names_say_which_axes_are_meant(order: str) -> None:
    x = ng.placeholder({"H": 2, "C": 12, "N": None, "W": 3})
    y = ng.depth_to_space(x, "C", {"W": 3, "H": 2}, order)
    assert y.axes.names == ("H", "C", "N", "W") and y.shape == (4, 2, x.shape[2], 9)
    assert ng.space_to_depth(y, "C", {"W": 3, "H": 2}, order).axes == x.axes


def cubic(d: float) -> float:
    """The kernel of cubic convolution (Keys 1981), with a slope of -3/4 at 1."""
    d = abs(d)
    return 1 - 2.25 * d**2 + 1.25 * d**3 if d <= 1 else max(2 - d, 0) ** 2 * (d - 1) * -0.75


def brought_inside(c: float, side: int, beyond: str, places: str) -> float:
    low, high = (0, side - 1) if places == "corners" else (-0.5, side - 0.5)
    while beyond == "reflect" and high > low and not low <= c <= high:
        c = 2 * low - c if c < low else 2 * high - c
    return min(max(c, 0), side - 1) if beyond != "zeros" else c


def sampled(x: Any, grid: Any, how: str, beyond: str, places: str) -> Any:
    """By the definition: the value at each place of a grid, pixel by pixel."""
    sides = x.shape[2:]
    found = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for n, *spot in np.ndindex(grid.shape[:-1]):
        at = []
        for k, side in enumerate(sides):
            g = grid[(n, *spot, -1 - k)]
            c = (g + 1) / 2 * (side - 1) if places == "corners" else ((g + 1) * side - 1) / 2
            at.append(c if how == "cubic" else brought_inside(c, side, beyond, places))
        if how == "nearest":
            near = [[(int(np.round(c)), 1.0)] for c in at]
        elif how == "linear":
            near = [[(int(np.floor(c)), 1 - (c - np.floor(c))), (int(np.floor(c)) + 1, c - np.floor(c))] for c in at]
        else:  # each pixel is brought inside by itself
            around = [[int(np.floor(c)) + k for k in (-1, 0, 1, 2)] for c in at]
            near = [
                [(int(brought_inside(i, side, beyond, places)), cubic(c - i)) for i in four]
                for four, c, side in zip(around, at, sides, strict=True)
            ]
        for pixels in product(*near):
            if all(0 <= i < side for (i, _), side in zip(pixels, sides, strict=True)):
                weight = np.prod([w for _, w in pixels])
                found[(n, slice(None), *spot)] += weight * x[(n, slice(None), *(i for i, _ in pixels))]
    return found


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("beyond", ["zeros", "edge", "reflect"])
@pytest.mark.parametrize("places", ["centers", "corners"])
@settings(max_examples=6, deadline=None)
@given(sides=st.lists(st.integers(1, 4), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_places_of_a_grid_are_sampled(how: str, beyond: str, places: str, sides: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, grid = rng.normal(size=(2, 3, *sides)), rng.uniform(-2.5, 2.5, (2, 2, 3, len(sides)))
    terms = [ng.placeholder(x.shape, "float64"), ng.placeholder(grid.shape, "float64")]
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(ng.grid_sample(*terms, how, beyond, places), *terms)(x, grid)
    np.testing.assert_allclose(found, sampled(x, grid, how, beyond, places), rtol=1e-10, atol=1e-12, strict=True)


def test_both_targets_agree() -> None:
    rng = np.random.default_rng(1)
    x, grid = rng.normal(size=(2, 3, 5)).astype("f"), rng.uniform(-1.2, 1.2, (2, 6, 1)).astype("f")
    for found in computed(lambda x, grid: ng.grid_sample(x, grid, "nearest", "edge"), x, grid):
        np.testing.assert_array_equal(found[0], sampled(x, grid, "nearest", "edge", "centers").astype("f"), strict=True)


def test_lengths_may_be_known_by_each_call_only() -> None:
    rng = np.random.default_rng(1)
    x, grid = rng.normal(size=(2, 3, 4, 5)), rng.uniform(-1.2, 1.2, (2, 6, 2))
    image, places = ng.placeholder((2, 3, None, None), "float64"), ng.placeholder((2, 6, 2), "float64")
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(ng.grid_sample(image, places, beyond="edge"), image, places)(x, grid)
    np.testing.assert_allclose(found, sampled(x, grid, "linear", "edge", "centers"), rtol=1e-10)


def test_gradients_are_central_differences() -> None:
    for beyond in ("zeros", "edge", "reflect"):
        check_gradient(
            lambda x, grid, beyond=beyond: ng.grid_sample(x, grid, "linear", beyond),
            apart(1, 2, 3, 4),
            apart(1, 3, 2, seed=1) - 0.97,
            target="reference",
        )
    check_gradient(lambda x: ng.depth_to_space(x, 0, {1: 2}), apart(4, 3), target="reference")


X = ng.placeholder({"C": 6, "H": 4, "W": 6}, name="x")
Y, G = ng.placeholder((2, 3, 4, 5)), ng.placeholder((2, 7, 2))
WRONG = [
    (lambda: ng.depth_to_space(X, "C", {"H": 4}), errors.LengthError, "depth_to_space: axis C"),
    (lambda: ng.space_to_depth(X, "C", {"H": 3}), errors.LengthError, "space_to_depth: axis H"),
    (lambda: ng.depth_to_space(X, "C", 2), errors.ArgumentError, "the blocks are 2"),
    (lambda: ng.depth_to_space(X, "C", {"C": 2}), errors.AttributeValueError, "an axis twice, or the channels"),
    (lambda: ng.depth_to_space(X, "C", {"H": 0}), errors.AttributeValueError, "a block is 0"),
    (lambda: ng.depth_to_space(X, "D", {"H": 2}), errors.UnmatchedAxesError, "D"),
    (lambda: ng.depth_to_space(X, "C", {"H": 2}, "DCR"), errors.AttributeValueError, "blocks, channels"),
    (lambda: ng.grid_sample(Y, G, how="quintic"), errors.AttributeValueError, "nearest, linear, cubic"),
    (lambda: ng.grid_sample(Y, Y), errors.AxesError, "give .N, C, height, width."),
    (lambda: ng.grid_sample(ng.cast(Y, "int8"), G), errors.DTypeError, "expected floats"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
