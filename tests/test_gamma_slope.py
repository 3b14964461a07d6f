# SPDX-License-Identifier: Apache-2.0
"""The derivative of gamma numbers in their shape is that of the quantiles of the distribution, at every one of them."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

import ngraph_rewrite as ng
from ngraph_rewrite.targets.evaluation import evaluate

SHAPES = np.array([1.0, 1.25, 2.0, 7.5, 40.0, 1e3, 1e6])
PARTS = np.array([1e-12, 1e-4, 0.1, 0.37, 0.5, 0.63, 0.9, 0.9999, 1 - 1e-9])


def by_distribution(a: float, x: float) -> float:
    """Minus the slope of the distribution function in the shape by that in the number, to 40 digits."""
    with mpmath.workdps(40):
        a, x = mpmath.mpf(float(a)), mpmath.mpf(float(x))
        rises = mpmath.diff(lambda shape: mpmath.gammainc(shape, 0, x, regularized=True), a)
        return float(-rises * mpmath.gamma(a) / (x ** (a - 1) * mpmath.exp(-x)))


def slopes(term: Any, a: Any, values: Any, target: str = "cpu") -> Any:
    with ng.make_transformer(target, seed=3) as transformer:
        ones = np.ones(a.shape, a.dtype)
        return transformer.computation([term, ng.deriv(term, a, error=ones)], a)(values)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_slopes_of_drawn_numbers(target: str) -> None:
    a = ng.placeholder((700,), "float64", name="a")
    shapes = np.repeat(SHAPES, 100)
    numbers, found = slopes(ng.numpy.random.standard_gamma(a), a, shapes, target)
    assert_allclose(
        found[::7], [by_distribution(*pair) for pair in zip(shapes[::7], numbers[::7], strict=True)], rtol=1e-9
    )


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_the_slope_of_an_infinite_shape_is_1(target: str) -> None:
    a = ng.placeholder((3,), "float64", name="a")
    numbers, found = slopes(ng.numpy.random.standard_gamma(a), a, np.array([np.inf, 1e308, 1e30]), target)
    assert_allclose(numbers, [np.inf, 1e308, 1e30])
    assert_allclose(found, 1)


def test_slopes_at_all_quantiles() -> None:
    """The rule asks for nothing but the number and its shape: so it is given numbers from far out."""
    a, x = np.broadcast_arrays(SHAPES[:, None], special.gammaincinv(SHAPES[:, None], PARTS))
    found = _slope_at(a.ravel(), x.ravel())
    wanted = [by_distribution(*pair) for pair in zip(a.ravel(), x.ravel(), strict=True)]
    assert_allclose(found, wanted, rtol=1e-10)


def _slope_at(shapes: Any, numbers: Any) -> Any:
    """What the rule says of numbers that are given in the place of drawn ones."""
    a, u = ng.placeholder(shapes.shape, "float64"), ng.placeholder(shapes.shape, "float64")
    drawn = ng.semi.gamma_draw(a, u)
    slope = ng.deriv(drawn, a, error=np.ones(shapes.shape))
    known = {a: np.asarray(shapes), u: np.zeros(shapes.shape), drawn: np.asarray(numbers)}
    return evaluate([slope], known)[slope]


def test_a_shape_below_one() -> None:
    """Numbers are those of one more, times a power. The mean is the shape, so the mean of slopes is 1."""
    a = ng.placeholder((200_000,), "float64", name="a")
    numbers, found = slopes(ng.numpy.random.standard_gamma(a), a, np.full(200_000, 0.2))
    assert abs(numbers.mean() - 0.2) < 0.005
    assert abs(found.mean() - 1) < 0.02


def test_second_derivatives_are_those_of_the_first() -> None:
    a = ng.placeholder((4,), "float64", name="a")
    ones = np.ones(4)
    drawn = ng.numpy.random.standard_gamma(a)
    first = ng.deriv(drawn, a, error=ones)
    values = np.array([1.5, 4.0, 20.0, 300.0])
    with ng.make_transformer("cpu", seed=4) as transformer:
        numbers, found = transformer.computation([drawn, ng.deriv(first, a, error=ones)], a)(values)
    step = 1e-3 * values
    with mpmath.workdps(30):
        moved = [
            [by_distribution(s + sign * h, _quantile(s + sign * h, s, x)) for sign in (1, -1)]
            for s, h, x in zip(values, step, numbers, strict=True)
        ]
    wanted = [(up - down) / (2 * h) for (up, down), h in zip(moved, step, strict=True)]
    assert_allclose(found, wanted, rtol=1e-4)


def _quantile(shape: float, of: float, x: float) -> float:
    """The number of one shape that has as much below it as another number of another shape."""
    return float(special.gammaincinv(shape, special.gammainc(of, x)))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_other_dtypes(dtype: str) -> None:
    a = ng.placeholder((50,), dtype, name="a")
    _, found = slopes(ng.numpy.random.gamma(a, dtype=dtype), a, np.linspace(0.5, 9, 50))
    assert found.dtype == a.dtype
    assert np.isfinite(found.astype(np.float64)).all()


def test_numbers_of_shape_0_do_not_move() -> None:
    """Those of lesser and lesser shapes are so soon too small to be told from 0 that their slope is 0 as well."""
    a = ng.placeholder((3,), "float64", name="a")
    numbers, found = slopes(ng.numpy.random.standard_gamma(a), a, np.array([0.0, 1e-300, 1e-9]))
    assert not numbers.any()
    assert not found.any()


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_slopes_of_numbers_that_are_close_to_their_shape(target: str) -> None:
    """A number of a large shape a is about a + z * sqrt(a), z of a normal one: its slope is 1 + z / sqrt(4 * a)."""
    shapes = np.repeat([1e8, 9e9, 2e10, 1e13, 1e20, 1e100, 1e300], 50)
    a = ng.placeholder(shapes.shape, "float64", name="a")
    numbers, found = slopes(ng.numpy.random.standard_gamma(a), a, shapes, target)
    assert_allclose(found, 1 + (numbers - shapes) / shapes / 2, rtol=4e-8)
    assert_allclose(found[100:], 1 + (numbers - shapes)[100:] / shapes[100:] / 2, rtol=1e-9)
