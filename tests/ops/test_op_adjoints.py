# SPDX-License-Identifier: Apache-2.0
"""Derivatives of every op against central differences, and at the points where a formula is easily wrong."""

import math
from typing import Any

import numpy as np
import pytest
from drawn import apply, leaf, value

from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.terms.catalogue import OpDef, definitions
from ngraph_rewrite.testing.derivatives import WrongAdjoint, check_adjoint, has_float_results
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType

W = Axis("W", 3)
FAMILIES = ("semi", "simple", "numpy", "axes")
# Every op there is: what is new in the catalogue is checked as soon as something can be drawn for it.
# A drawn part of the greatest singular value leaves out others that are not 0: see test_linalg_spectra.py. To a
# concentration no derivative passes, though what is drawn moves with it.
LEFT_OUT = ("semi.pinv", "semi.vonmises_draw")
OPS = [d for d in definitions() if d.family in FAMILIES and d.arity != 0 and d.name not in LEFT_OUT]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_the_derivative_of_an_op_is_its_central_difference(op: OpDef) -> None:
    assert (check_adjoint(op, examples=2) > 0) == has_float_results(op)


@pytest.mark.sampled
@pytest.mark.parametrize("op", [d for d in OPS if has_float_results(d)], ids=str)
def test_so_is_its_second_derivative(op: OpDef) -> None:
    assert check_adjoint(op, examples=2, order=2)


def test_a_wrong_derivative_is_found() -> None:
    with pytest.raises(WrongAdjoint, match=r"numpy.tanh: x0 gets a wrong adjoint(?s:.*)adjoint(?s:.*)differences"):
        check_adjoint("numpy.tanh", rules="derive numpy\nrule tanh: tanh(x) => d * self")


def test_a_slope_where_there_is_none_is_found() -> None:
    with pytest.raises(WrongAdjoint, match="numpy.floor: x0 gets a wrong adjoint"):
        check_adjoint("numpy.floor", rules="derive numpy\nrule floor: floor(x) => d")


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
