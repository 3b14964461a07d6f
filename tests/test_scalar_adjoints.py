# SPDX-License-Identifier: Apache-2.0
"""The adjoints of elementwise ops against the derivatives that sympy finds, in all families, at drawn points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy

import ngraph_rewrite as ng
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.ops import rejection
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tensor import TensorType

nx = ng.numpy
FAMILIES = ("semi", "simple", "numpy", "axes")
X, Y = VARIABLES = sympy.symbols("x y", real=True)
ANY, POSITIVE, INSIDE, ABOVE = (-4.0, 4.0), (0.0625, 6.0), (-0.9375, 0.9375), (1.0625, 6.0)
POINTS = 12


class Scalar(NamedTuple):
    """What an op means as a formula, and where each of its variables is drawn from."""

    formula: Any
    ranges: tuple[tuple[float, float], ...]


def one(formula: Any, *ranges: tuple[float, float]) -> Scalar:
    return Scalar(sympy.sympify(formula), ranges or (ANY,))


def two(formula: Any, *ranges: tuple[float, float]) -> Scalar:
    return Scalar(sympy.sympify(formula), ranges or (ANY, ANY))


MEANINGS = {
    "negative": one(-X), "absolute": one(sympy.Abs(X)), "sign": one(sympy.sign(X)), "square": one(X**2),
    "sqrt": one(sympy.sqrt(X), POSITIVE), "reciprocal": one(1 / X), "exp": one(sympy.exp(X)),
    "expm1": one(sympy.exp(X) - 1), "log": one(sympy.log(X), POSITIVE), "log1p": one(sympy.log(X + 1), INSIDE),
    "log2": one(sympy.log(X, 2), POSITIVE), "log10": one(sympy.log(X, 10), POSITIVE), "sin": one(sympy.sin(X)),
    "cos": one(sympy.cos(X)), "tan": one(sympy.tan(X), INSIDE), "asin": one(sympy.asin(X), INSIDE),
    "acos": one(sympy.acos(X), INSIDE), "atan": one(sympy.atan(X)), "sinh": one(sympy.sinh(X)),
    "cosh": one(sympy.cosh(X)), "tanh": one(sympy.tanh(X)), "asinh": one(sympy.asinh(X)),
    "acosh": one(sympy.acosh(X), ABOVE), "atanh": one(sympy.atanh(X), INSIDE),
    "sigmoid": one(1 / (1 + sympy.exp(-X))), "erf": one(sympy.erf(X)), "erfinv": one(sympy.erfinv(X), INSIDE),
    "lgamma": one(sympy.loggamma(X), POSITIVE), "digamma": one(sympy.digamma(X), POSITIVE),
    "trigamma": one(sympy.polygamma(1, X), POSITIVE),
    "cbrt": one(sympy.cbrt(X), POSITIVE),
    "relu": one(sympy.Max(X, 0)),
    "floor": one(0), "ceil": one(0), "round": one(0), "trunc": one(0),  # steps: flat almost everywhere
    "add": two(X + Y), "subtract": two(X - Y), "multiply": two(X * Y), "divide": two(X / Y), "floordivide": two(0),
    "mod": two(X - Y * sympy.Symbol("q")), "power": two(X**Y, POSITIVE, ANY), "atan2": two(sympy.atan2(X, Y)),
    "maximum": two(sympy.Max(X, Y)), "minimum": two(sympy.Min(X, Y)), "hypot": two(sympy.sqrt(X**2 + Y**2)),
    "copysign": two(sympy.Abs(X) * sympy.sign(Y)), "nextafter": two(X),
    "logaddexp": two(sympy.log(sympy.exp(X) + sympy.exp(Y))),
}  # fmt: skip


def scalar_ops() -> Iterator[OpDef]:
    """The elementwise ops that take float scalars, and nothing else, to a float scalar; of what is drawn none is.

    The slopes of that are those of a distribution: `test_gamma_slope.py` has them.
    """
    number = TensorType("float64")
    for family in FAMILIES:
        for definition in definitions(family):
            if definition.short in rejection.DRAWS:
                continue
            if "elementwise" in definition.traits and not definition.attributes and definition.arity in (1, 2):
                try:
                    _, result = definition.infer((number,) * definition.arity, ())
                except NGraphRewriteError:  # it takes integers, or bool
                    continue
                if is_float(result.dtype):
                    yield definition


OPS = list(scalar_ops())


def test_every_op_of_scalars_has_a_formula_here() -> None:
    assert {d.short for d in OPS} == set(MEANINGS)


@cache
def slopes(short: str, *orders: int) -> Any:
    """The derivative of a formula, so many times by each of its variables."""
    formula = MEANINGS[short].formula
    for variable, order in zip(VARIABLES, orders, strict=False):
        formula = sympy.diff(formula, variable, order)
    return formula


def expected(short: str, point: tuple[float, ...], *orders: int) -> float:
    """Its value, worked out with 40 digits."""
    exact = {v: sympy.Rational(p) for v, p in zip(VARIABLES, point, strict=False)}
    quotient = np.floor(point[0] / point[-1])
    return float(slopes(short, *orders).subs({**exact, sympy.Symbol("q"): int(quotient)}).evalf(40))


def points(definition: OpDef) -> list[tuple[float, ...]]:
    """Points that are multiples of 1/1024, and at which no two variables meet or are multiples of each other."""
    random, ranges = Random(definition.short), MEANINGS[definition.short].ranges
    found: list[tuple[float, ...]] = []
    while len(found) < POINTS:
        point = tuple(random.randint(int(low * 1024), int(high * 1024)) / 1024 for low, high in ranges)
        ratio = point[0] / point[-1] if point[-1] else 1.0
        if 0.0 not in point and (len(point) == 1 or abs(ratio - np.round(ratio)) > 0.01):
            found.append(point)
    return found


def value(term: Op, variables: list[Op], point: tuple[float, ...]) -> float:
    given = {v: np.asarray(p) for v, p in zip(variables, point, strict=True)}
    return float(evaluate(term, given)[term])


@pytest.mark.parametrize("definition", OPS, ids=str)
def test_the_adjoint_of_a_scalar_function_is_its_derivative(definition: OpDef) -> None:
    variables = [ng.placeholder([], dtype="float64") for _ in MEANINGS[definition.short].ranges]
    found = ng.deriv(build(definition, tuple(variables)), variables)
    for point in points(definition):
        for i, term in enumerate(found):
            orders = [int(k == i) for k in range(len(variables))]
            wanted = expected(definition.short, point, *orders)
            # A few roundings; where a formula subtracts (1 - tanh(x)**2) they are relative to 1.
            assert value(term, variables, point) == pytest.approx(wanted, rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("definition", OPS, ids=str)
def test_so_is_the_adjoint_of_the_adjoint(definition: OpDef) -> None:
    variables = [ng.placeholder([], dtype="float64") for _ in MEANINGS[definition.short].ranges]
    first = ng.deriv(build(definition, tuple(variables)), variables)
    for i, term in enumerate(first):
        second = ng.deriv(term, variables)
        for point in points(definition)[:4]:
            for j, twice in enumerate(second):
                orders = [int(k == i) + int(k == j) for k in range(len(variables))]
                wanted = expected(definition.short, point, *orders)
                # As above, with powers of numbers down to 1/16 between.
                assert value(twice, variables, point) == pytest.approx(wanted, rel=1e-11, abs=1e-12)


SMOOTH = [
    (lambda x, y: nx.logaddexp(x, y), (1.5, 1.5), [[0.25, -0.25], [-0.25, 0.25]]),
    (lambda x, y: nx.logaddexp2(x, y), (0.0, 0.0), np.log(2) / 4 * np.array([[1, -1], [-1, 1]])),
    (lambda x, y: x**y, (0.5, 0.0), [[0.0, 2.0], [2.0, np.log(0.5) ** 2]]),
    (lambda x, y: nx.sinc(x) * y, (0.0, 1.0), [[-(np.pi**2) / 3, 0.0], [0.0, 0.0]]),
    (lambda x, y: nx.sinc(x) * y, (1e-9, 1.0), [[-(np.pi**2) / 3, 0.0], [0.0, 0.0]]),
    (lambda x, y: nx.i0(x) * y, (0.0, 1.0), [[0.5, 0.0], [0.0, 0.0]]),
    (
        lambda x, y: nx.trigamma(x) * y,
        (1.0, 1.0),
        [[np.pi**4 / 15, -2 * 1.2020569031595942], [-2 * 1.2020569031595942, 0]],
    ),
]


@pytest.mark.parametrize("number", range(len(SMOOTH)))
def test_second_derivatives_have_no_holes_where_a_formula_chooses(number: int) -> None:
    function, point, wanted = SMOOTH[number]
    variables = [ng.placeholder([], dtype="float64") for _ in point]
    found = [ng.deriv(first, variables) for first in ng.deriv(function(*variables), variables)]
    values = [[value(term, variables, point) for term in row] for row in found]
    np.testing.assert_allclose(values, wanted, rtol=1e-7, atol=1e-7)


TINY = [("float16", 1e-3), ("float16", 1e-5), ("float32", 1e-20), ("float32", 1e-39), ("float64", 5e-324)]


@pytest.mark.parametrize(("dtype", "at"), TINY)
@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_slopes_of_powers_are_numbers_near_zero(dtype: str, at: float, power: float) -> None:
    """The factor 0 of what has no slope any more is 0, though the power beside it overflows."""
    x = ng.placeholder([], dtype=dtype)
    slope: Any = nx.pow(x, power)
    wanted = [at**power, power * at ** max(power - 1, 0), power * (power - 1), 0.0]
    for order in range(4):
        found = float(evaluate(slope, {x: np.asarray(at, dtype)})[slope])
        np.testing.assert_allclose(found, wanted[order], rtol=2e-3, atol=1e-4, err_msg=str(order))
        slope = ng.deriv(slope, x)


@pytest.mark.parametrize(
    ("x", "y", "wanted"), [(np.inf, 3, 1), (3, np.inf, 0), (np.inf, -np.inf, 1), (np.inf, np.inf, 0.5)]
)
def test_the_slope_of_a_sum_of_powers_goes_with_the_greater_one(x: float, y: float, wanted: float) -> None:
    variables = [ng.placeholder([], dtype="float64") for _ in range(2)]
    for function in (nx.logaddexp, nx.logaddexp2):
        slope = ng.deriv(function(*variables), variables[0])
        assert value(slope, variables, (x, y)) == wanted


def test_an_adjoint_of_half_precision_is_computed_in_it() -> None:
    x = ng.placeholder([], dtype="float16")
    slope = ng.deriv(build(lookup("semi.exp"), (x,)), x)
    assert slope.dtype == np.float16
    at = np.float16(1.5)
    assert abs(float(evaluate(slope, {x: np.asarray(at)})[slope]) - np.exp(1.5)) <= np.spacing(np.float16(4.5))
