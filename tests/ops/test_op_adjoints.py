# SPDX-License-Identifier: Apache-2.0
"""Adjoints against central differences, and at the points where a formula is easily wrong."""

import math
from typing import Any

import numpy as np
import pytest
from drawn import applications, apply, arrays, leaf, value
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.rewriting.domains import Domain
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType

FLOAT64 = np.dtype("float64")
FLOATS = Domain((2, 3, 1), (Axis("H", 2), Axis("W", 3), Axis("N", 1), Axis("C", 2)), (FLOAT64,))
FEW = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
SMOOTH = """
    negative absolute square sqrt reciprocal exp expm1 log log1p sin cos tan tanh sigmoid erf
    add subtract multiply divide mod maximum minimum power relu safelog cast
    sum prod max min mean variance squared_L2 L1_norm L2_norm dot softmax logsumexp
    cross_entropy_multi cross_entropy_binary cross_entropy_softmax cross_entropy_sigmoid
    broadcast axes_with_order cast_axes map_roles flatten unflatten expand_dims tensor_slice unslice pad concat stack
""".split()
W = Axis("W", 3)


@pytest.mark.parametrize("name", SMOOTH)
@FEW
@given(data=st.data(), seed=st.integers(0, 1000))
def test_an_adjoint_is_the_central_difference(name: str, data: st.DataObject, seed: int) -> None:
    term = data.draw(applications(lookup(f"axes.{name}"), FLOATS))
    assume(term.dtype == FLOAT64 and term.args)
    rng = np.random.default_rng(seed)
    values = _distinct(arrays(term, 0), rng)
    assume(name != "mod" or not _near_a_multiple(values))
    error, weights = leaf(term.type), rng.normal(size=term.shape)
    for x in values:
        adjoint = deriv(term, x, error=error)
        assert adjoint.type == x.type
        found = value(adjoint, {**values, error: weights})
        # steps of 1e-6 leave an error of 1e-10 in the difference, and values are about 1
        np.testing.assert_allclose(found, _differences(term, values, x, weights), rtol=1e-5, atol=1e-6)


def _distinct(values: dict[Op, Any], rng: np.random.Generator) -> dict[Op, Any]:
    """Numbers in (0.2, 0.8), where everything is defined, all different, so that a step crosses no kink."""
    numbers = rng.permutation(np.linspace(0.2137, 0.7993, sum(v.size for v in values.values())))
    cuts = np.cumsum([v.size for v in values.values()])
    return {x: part.reshape(v.shape) for (x, v), part in zip(values.items(), np.split(numbers, cuts), strict=False)}


def _near_a_multiple(values: dict[Op, Any]) -> bool:
    """Whether one number is nearly a multiple of another: there the slope of a remainder jumps."""
    numbers = np.concatenate([v.ravel() for v in values.values()])
    ratio = (numbers[:, None] / numbers[None, :])[~np.eye(numbers.size, dtype=bool)]
    return bool((np.abs(ratio - np.round(ratio)) < 1e-4).any())


def _differences(term: Op, values: dict[Op, Any], x: Op, weights: Any, step: float = 1e-6) -> Any:
    result = np.zeros(values[x].shape)
    for place in np.ndindex(result.shape):
        sides = []
        for sign in (1, -1):
            moved = values[x].copy()
            moved[place] += sign * step
            sides.append((value(term, {**values, x: moved}) * weights).sum())
        result[place] = (sides[0] - sides[1]) / (2 * step)
    return result


def slope(name: str, *points: Any, **attributes: Any) -> list[Any]:
    """The adjoints of an op of vectors along W, for an incoming adjoint of ones."""
    xs = [leaf(TensorType("float64", [W] if np.ndim(p) else [])) for p in points]
    term = apply(f"axes.{name}", *xs, **attributes)
    error = leaf(term.type)
    values = {**dict(zip(xs, map(np.asarray, points), strict=True)), error: np.ones(term.shape)}
    return [value(a, values).tolist() for a in deriv(term, xs, error=error)]


def test_ties_share_evenly() -> None:
    assert slope("max", np.array([2.0, 1.0, 2.0]), axes=W) == [[0.5, 0.0, 0.5]]
    assert slope("min", np.array([2.0, 2.0, 2.0]), axes=W) == [[1 / 3] * 3]
    assert slope("maximum", np.array([1.0, 2.0, 3.0]), 2.0) == [[0.0, 0.5, 1.0], 1.5]
    assert slope("minimum", np.array([1.0, 2.0, 3.0]), 2.0) == [[1.0, 0.5, 0.0], 1.5]
    assert slope("relu", np.array([-1.0, 0.0, 1.0])) == [[0.0, 0.5, 1.0]]


def test_a_product_has_a_slope_where_factors_are_zero() -> None:
    assert slope("prod", np.array([0.0, 2.0, 3.0]), axes=W) == [[6.0, 0.0, 0.0]]
    assert slope("prod", np.array([0.0, 0.0, 3.0]), axes=W) == [[0.0, 0.0, 0.0]]


def test_slopes_at_zero_are_finite() -> None:
    zeros = np.zeros(3)
    assert slope("absolute", zeros) == [[0.0] * 3]
    assert slope("power", zeros, 2.0) == [[0.0] * 3, 0.0]
    assert slope("power", zeros, 0.0) == [[0.0] * 3, 0.0]
    assert slope("power", zeros, 1.0)[0] == [1.0] * 3
    assert slope("divide", zeros, 2.0) == [[0.5] * 3, 0.0]
    assert slope("mean", zeros, axes=W) == [[1 / 3] * 3]
    assert slope("variance", zeros, axes=W) == [[0.0] * 3]
    assert slope("L2_norm", zeros, axes=W, eps=0.0) == [[0.0] * 3]
    assert slope("cross_entropy_multi", zeros, zeros, axes=W, usebits=False)[0] == [0.0] * 3


def test_the_gradient_of_a_cross_entropy_of_a_softmax_is_exact() -> None:
    x, t = leaf(TensorType("float64", [W])), leaf(TensorType("float64", [W]))
    loss = apply("axes.cross_entropy_multi", apply("axes.softmax", x, axes=W), t, axes=W, usebits=False)
    values = {x: np.array([1000.0, 0.0, -1000.0]), t: np.array([0.0, 0.0, 1.0])}
    assert value(deriv(loss, x), values).tolist() == [1.0, 0.0, -1.0]


def test_the_gradient_of_a_cross_entropy_of_a_sigmoid_is_exact() -> None:
    x, t = leaf(TensorType("float64", [W])), leaf(TensorType("float64", [W]))
    loss = apply("axes.cross_entropy_binary", apply("axes.sigmoid", x), t, axes=W, usebits=True)
    values = {x: np.array([1000.0, 0.0, -1000.0]), t: np.array([0.0, 0.5, 1.0])}
    assert value(deriv(loss, x), values).tolist() == [1 / math.log(2), 0.0, -1 / math.log(2)]


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round"])
def test_a_step_has_no_slope(name: str) -> None:
    assert slope(name, np.array([-0.5, 0.0, 1.5])) == [[0.0] * 3]


def test_no_derivative_passes_stop_gradient() -> None:
    x = leaf(TensorType("float64"))
    product = apply("axes.multiply", x, apply("core.stop_gradient", x))
    assert value(deriv(product, x), {x: np.asarray(3.0)}) == 3.0
