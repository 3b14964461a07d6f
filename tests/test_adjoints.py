# SPDX-License-Identifier: Apache-2.0
"""Derivatives: against finite differences through whole expressions, and the stated values at ties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.differences import differences
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.types.axes import Axis

# Drawn instances of each derive rule are compared with finite differences in test_rules.py, of each op in
# ops/test_op_adjoints.py, and scalar functions with sympy's derivatives in test_scalar_adjoints.py.

H, W, M = Axis("H", 2), Axis("W", 3), Axis("M", 4)


def variable(*axes: Axis) -> Op:
    return ng.placeholder(list(axes), dtype="float64")


def derivative(function: Callable[..., Op], *values: Any, axes: tuple[Axis, ...] | None = None) -> list[Any]:
    """The derivatives of the sum of a function, by each argument, at some values."""
    arrays = [np.asarray(v, np.float64) for v in values]
    names = [axes if axes is not None else tuple(Axis(f"A{i}", n) for i, n in enumerate(a.shape)) for a in arrays]
    terms = [variable(*own) for own in names]
    result = function(*terms)
    total = ng.sum(result) if result.rank else result
    given = dict(zip(terms, arrays, strict=True))
    return [evaluate(found, given)[found].tolist() for found in ng.deriv(total, terms)]


# -- finite differences: whole expressions -------------------------------------------------------------------

EXPRESSIONS: dict[str, Callable[[Op, Op, Op], Op]] = {
    "a layer": lambda w, x, b: ng.squared_L2(ng.tanh(ng.dot(w, x) + b), out_axes=()),
    "a chain of broadcasts": lambda w, x, b: ng.sum(ng.exp(w * b) * x - x / (w * w + 1.0)),
    "softmax and cross-entropy": lambda w, x, b: ng.sum(
        ng.cross_entropy_multi(ng.softmax(ng.dot(w, x) + b, [H]), ng.softmax(b * 2.0, [H]), out_axes=[M])
    ),
    "a mean of variances": lambda w, x, b: ng.mean(ng.variance(x * b, reduction_axes=[M])),
    "a shared term, twice": lambda w, x, b: ng.sum(ng.sigmoid(b) * ng.sigmoid(b) - ng.sigmoid(b)),
    "products": lambda w, x, b: ng.sum(ng.prod(ng.dot(w, x) + b, reduction_axes=[M])),
    "max and min": lambda w, x, b: ng.max(ng.dot(w, x) + b) - ng.min(x),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_against_finite_differences(name: str) -> None:
    w, x, b = variable(H, W), variable(W, M), variable(H)
    random = np.random.default_rng(1)
    values = {t: random.uniform(0.2, 0.9, t.shape) for t in (w, x, b)}
    scalar = EXPRESSIONS[name](w, x, b)
    for argument, found in zip((w, x, b), ng.deriv(scalar, [w, x, b]), strict=True):
        assert found.type == argument.type
        expected = differences(scalar, argument, values, np.ones(()), 1e-5)
        # a central difference is right to about the square of its step
        np.testing.assert_allclose(evaluate(found, values)[found], expected, rtol=1e-7, atol=1e-8)


# -- the values where there is a choice ------------------------------------------------------------------------


def test_maximum_and_minimum_give_half_to_each_side_at_a_tie() -> None:
    for function in (ng.maximum, ng.minimum):
        assert derivative(function, 2.0, 2.0) == [0.5, 0.5]


def test_max_and_min_split_evenly_among_ties() -> None:
    for function, values in ((ng.max, [1.0, 4.0, 4.0]), (ng.min, [5.0, 4.0, 4.0])):
        assert derivative(function, values) == [[0.0, 0.5, 0.5]]


def test_relu_gives_half_at_zero() -> None:
    assert derivative(ng.relu, [-1.0, 0.0, 1.0]) == [[0.0, 0.5, 1.0]]


def test_the_absolute_value_and_the_sign_are_flat_at_zero() -> None:
    assert derivative(ng.absolute, [-2.0, 0.0, 3.0]) == [[-1.0, 0.0, 1.0]]
    assert derivative(ng.sign, [-2.0, 0.0, 3.0]) == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([0.0, 3.0, 4.0], [12.0, 0.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
        ([-1.0, 3.0], [3.0, -1.0]),
    ],
)
def test_a_product_is_differentiated_exactly_where_factors_are_zero(values: list[float], expected: list[float]) -> None:
    assert derivative(ng.prod, values) == [expected]


@pytest.mark.parametrize(
    ("base", "exponent", "slopes"),
    [
        (0.0, 2.0, [0.0, 0.0]),
        (0.0, 1.0, [1.0, 0.0]),
        (0.0, 0.0, [0.0, 0.0]),
        (-3.0, 2.0, [-6.0, None]),
        (5.0, 0.0, [0.0, np.log(5.0)]),
    ],
)
def test_powers_at_the_edges(base: float, exponent: float, slopes: list[float | None]) -> None:
    found = derivative(ng.power, base, exponent)
    for one, slope in zip(found, slopes, strict=True):
        assert slope is None or one == pytest.approx(slope)


def test_the_cross_entropy_of_a_softmax_is_exact_in_its_gradient() -> None:
    """softmax - target, also where the softmax is 0 or 1 to the last bit."""
    x, t = variable(H), variable(H)
    loss = ng.cross_entropy_multi(ng.softmax(x, [H]), t)
    found = ng.deriv(loss, x)
    values = {x: np.array([1000.0, -1000.0]), t: np.array([0.0, 1.0])}
    assert evaluate(found, values)[found].tolist() == [1.0, -1.0]


def test_zero_times_the_logarithm_of_zero_has_no_slope() -> None:
    y, t = variable(H), variable(H)
    found = ng.deriv(ng.cross_entropy_multi(y, t), y)
    assert evaluate(found, {y: np.array([0.0, 1.0]), t: np.array([0.0, 1.0])})[found].tolist() == [0.0, -1.0]


def test_nothing_passes_a_stop() -> None:
    assert derivative(lambda x: ng.stop_gradient(x) * x, 3.0) == [3.0]


def test_unconnected_terms_have_a_derivative_of_zero() -> None:
    x, y = variable(H), variable(W)
    found = ng.deriv(ng.sum(x), y)
    assert found.type == y.type
    assert evaluate(found, {})[found].tolist() == [0.0, 0.0, 0.0]


def test_integers_and_bool_take_no_derivative() -> None:
    flags = ng.placeholder([H], dtype="bool")
    with pytest.raises(ng.DerivativeError, match="which has no derivative"):
        ng.deriv(ng.sum(flags), flags)


def test_a_float_of_a_comparison_has_a_slope_of_zero() -> None:
    assert derivative(lambda x: ng.log1p(ng.cast(x > 0.5, "bool")) * x, [0.2, 0.7])[0] == pytest.approx(
        [0.0, float(np.log1p(np.float16(1.0)))], rel=1e-3
    )  # a bool becomes a float16
