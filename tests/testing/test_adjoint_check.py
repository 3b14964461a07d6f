# SPDX-License-Identifier: Apache-2.0
"""Adjoints are checked: wrong ones are refused with a program that fails, right ones of functions proved by sympy."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.data import data_folder
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules, parse_rules
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.testing.adjoints import check_adjoint
from ngraph_rewrite.testing.differences import Adjoint, NoDifferences, differences, disagreement
from ngraph_rewrite.testing.directions import wrong_along
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Effort, Finding
from ngraph_rewrite.testing.printing import term
from ngraph_rewrite.testing.proof.adjoint import prove_adjoint
from ngraph_rewrite.testing.proof.derivative import FORMULAS, A, B, NoDerivative, derivatives
from ngraph_rewrite.testing.proof.numeric import evaluate, moderate
from ngraph_rewrite.testing.proof.symbols import Scalar, apply, number, symbol

FLOAT64 = np.dtype("float64")
X, Y, D = (symbol(name, FLOAT64) for name in "xyd")


def rule_of(text: str, family: str = "semi") -> Rule:
    (rule,) = parse_rules(f"derive {family}\nrule r:\n    {text}", "my.rules", "my")
    return rule


def checked(text: str, family: str = "semi", **effort: Any) -> Finding:
    rule = rule_of(text, family)
    return check_adjoint(rule, Context(RuleSet([rule]), Effort(**{"examples": 12, "seconds": 20.0, **effort})))


def proved(text: str, family: str = "semi") -> Finding:
    rule = rule_of(text, family)
    return prove_adjoint(rule, Context(RuleSet([rule]), Effort(seconds=0.5)))


WRONG = {
    "another sign": "tanh(x)  =>  d * (1 + self * self)",
    "the incoming adjoint forgotten": "exp(x)  =>  self",
    "adjoints exchanged": "x * y  =>  d * x,  d * y",
    "no adjoint": "sin(x)  =>  none",
    "an adjoint where there is none": "floor(x)  =>  d",
    "a factor lost": "square(x)  =>  d * x",
    "a constant slightly off": "erf(x)  =>  d * exp(negative(square(x))) * 1.1284",
    "the other side of a choice": "select(c, x, y)  =>  none,  select(c, 0, d),  select(c, d, 0)",
    "the wrong extremum": "maximum(x, y)  =>  select(x < y, d, 0),  select(y < x, d, 0)",
    "mean for sum": "sum(x, axes=k)  =>  broadcast(d, shape=x.shape, dims=others(k, x.rank)) * 0.5",
    "defined above 1 only": "acosh(x)  =>  d / (sqrt(x - 1) * sqrt(x + 2))",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_adjoint_is_refused_with_a_program_that_fails(name: str) -> None:
    found = checked(WRONG[name])
    assert found.status == FAILED
    assert found.says.endswith("a wrong adjoint")
    with pytest.raises(AssertionError, match="the adjoint of [xy] in .* is .*, by differences"):
        exec(found.shown, {})  # noqa: S102


@pytest.mark.parametrize(
    "text", ["log(x)  =>  d / x + 0 * exp(x)", "sigmoid(x)  =>  d * exp(negative(x)) / square(1 + exp(negative(x)))"]
)
def test_an_adjoint_that_overflows_on_its_way_is_refused(text: str) -> None:
    found = checked(text)
    assert (found.status, found.says) == (FAILED, "gives x an adjoint that is NaN where the slope is a number")
    with pytest.raises(AssertionError, match="is .*nan.*, by differences"):
        exec(found.shown, {})  # noqa: S102


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_adjoint_is_not_proved(name: str) -> None:
    assert proved(WRONG[name]).status == OPEN


@pytest.mark.parametrize("right, wrong", [("1.1283791670955126", "1.12838"), ("0.886226925452758", "0.886227"),
                                          ("62.01255336059963", "62.0125")])  # fmt: skip
@pytest.mark.parametrize("seed", [0, 1])
def test_a_constant_that_is_off_in_its_seventh_digit_is_found(right: str, wrong: str, seed: int) -> None:
    text = (data_folder("rules") / "deriv_semi.rules").read_text()
    shipped, mended = (parse_rules(t, "my.rules", "my") for t in (text, text.replace(right, wrong)))
    (rule,) = [b for a, b in zip(shipped, mended, strict=True) if a.right != b.right]
    found = check_adjoint(rule, Context(RuleSet([rule]), Effort(8, 20.0, seed)))
    assert found.status == FAILED and "add up to" in found.says


def test_along_a_direction_that_passes_a_kink_nothing_is_said() -> None:
    x, d = (term("core.placeholder", axes=[2], dtype="float64").named(name) for name in "xd")
    size, both = term("semi.absolute", x), {x: np.array([1e-4, 0.5]), d: np.array([1.0, 1.0])}
    for value, said in (both, False), ({**both, x: np.array([0.1, 0.5])}, True):
        what = wrong_along(size, [Adjoint(x, term("semi.negative", d))], value, value[d], Random(0))
        assert (what is not None) == said


def test_at_a_pole_far_away_there_is_no_slope() -> None:
    """-500 is a whole number: of lgamma, which is infinite there, the differences of both sides are a number."""
    for seed in range(6):
        assert checked("lgamma(x)  =>  d * digamma(x)", "axes", seed=seed).status == PASSED


def test_an_infinite_sum_hides_no_adjoint_of_another_sum() -> None:
    x = term("core.placeholder", axes=[2, 2], dtype="float64")
    each, values = term("semi.exp", x), {x: np.array([[800.0, 0.0], [1.0, 2.0]])}
    sums = term("semi.sum", each, axes=(1,))
    assert disagreement(sums, x, each, values, np.ones(2)) is None
    wrong = disagreement(sums, x, term("semi.negative", each), values, np.ones(2))
    assert wrong is not None and np.isnan(wrong[1]).tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize("seed", range(4))
def test_few_examples_are_enough_of_what_is_defined_between_0_and_1_alone(seed: int) -> None:
    """Some are of either sign, or have no element: more are drawn then, and moved to where there is a value."""
    rule = load_rules(data_folder("rules") / "deriv.rules").find("deriv.cross_entropy_binary")
    assert rule is not None
    assert check_adjoint(rule, Context(RuleSet([rule]), Effort(8, 0.15, seed))).status == PASSED


GUARDS = ["x.dtype == 'float32'", "x.dtype == 'float16'", "x.dtype == 'bfloat16' or x.dtype == 'float16'",
          "x.dtype != 'float64'"]  # fmt: skip


@pytest.mark.parametrize("guard", GUARDS)
def test_an_adjoint_for_narrow_floats_alone_is_compared_in_float64(guard: str) -> None:
    """Differences of narrow floats tell no slope: the rule is tried without its guard."""
    assert checked(f"erf(x)  =>  d * exp(negative(square(x))) * 1.1283791670955126\n    if {guard}").status == PASSED
    for wrong in ("d * exp(negative(square(x))) * 1.12837", "none", "d * self"):
        found = checked(f"erf(x)  =>  {wrong}\n    if {guard}")
        assert found.status == FAILED
        with pytest.raises(AssertionError):
            exec(found.shown, {})  # noqa: S102


def test_a_rule_that_fails_is_refused() -> None:
    found = checked("sum(x, axes=k)  =>  transpose(d, perm=(7,))")
    assert found.status == FAILED
    assert "fails on" in found.says


def test_an_adjoint_that_does_not_fit_is_refused() -> None:
    found = checked("sum(x, axes=k)  =>  reshape(d, shape=(7,))\n        if self.rank == 0 and x.rank == 1")
    assert found.status == FAILED


def test_arrays_without_elements_are_no_comparison() -> None:
    """Of a function without a value where numbers are drawn nothing else was compared, and any rule passed."""
    found = checked("gamma_draw(x, y)  =>  d * 5 * x,  none", examples=50)
    assert found.status == FAILED
    assert found.says.startswith("could be compared with central differences on")


def test_other_rules_have_no_adjoints_to_check() -> None:
    (rule,) = parse_rules("simplify semi\nrule r: negative(negative(x)) => x", "my.rules", "my")
    context = Context(RuleSet([rule]))
    assert check_adjoint(rule, context).status == prove_adjoint(rule, context).status == NONE


def test_a_function_is_proved_by_sympy_and_says_so() -> None:
    found = checked("tanh(x)  =>  d * (1 - self * self)")
    assert found.status == PASSED
    assert found.says.startswith("sympy: d/da tanh = 1 - tanh(a)**2, over the reals")
    assert "equals central differences on 12 of 12" in found.says


def test_what_is_only_compared_says_so() -> None:
    found = checked("sum(x, axes=k)  =>  broadcast(d, shape=x.shape, dims=others(k, x.rank))")
    assert found.status == PASSED
    assert found.says.startswith("compared only: equals central differences on 12 of 12")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sum(x, axes=k)  =>  broadcast(d, shape=x.shape, dims=others(k, x.rank))", "chain rule"),
        ("reshape(x, shape=s)  =>  reshape(d, shape=x.shape)", "chain rule"),
        ("dot(x, y)  =>  dot(d, transpose(y, perm=(1, 0))),  dot(transpose(x, perm=(1, 0)), d)", "chain rule"),
        ("x / y  =>  d / y,  negative(d * self / y)", "sympy: d/da divide = 1/b"),
        ("erf(x)  =>  d * exp(negative(square(x))) * 1.1283791670955126", "sympy: d/da erf"),
        ("x ** y  =>  d * (y * x ** select(y == 0, 1, y - 1)),  d * (self * log(select(x == 0, 1, x)))", "positive"),
    ],
)
def test_adjoints_are_proved_on_small_tensors(text: str, says: str) -> None:
    found = proved(text)
    assert found.status == PASSED, found.says
    assert says in found.says


def test_the_share_at_a_tie_is_part_of_the_proof() -> None:
    half = "select(x > y, d, select(x == y, d * 0.5, 0)),  select(y > x, d, select(x == y, d * 0.5, 0))"
    assert proved(f"maximum(x, y)  =>  {half}").status == PASSED
    assert proved("maximum(x, y)  =>  select(x >= y, d, 0),  select(y > x, d, 0)").status == OPEN


def test_the_functions_of_the_mathematics_library_are_proved() -> None:
    rules = load_rules(data_folder("rules") / "deriv_semi_functions.rules")
    context = Context(RuleSet(rules), Effort(seconds=0.5))
    assert [r.name for r in rules if prove_adjoint(r, context).status != PASSED] == []


def test_checks_give_the_same_every_time() -> None:
    text = WRONG["another sign"]
    assert checked(text) == checked(text)
    assert proved("sin(x)  =>  d * cos(x)") == proved("sin(x)  =>  d * cos(x)")


# -- derivatives of expressions ------------------------------------------------------------------------------

FUNCTIONS = sorted(FORMULAS)


@st.composite
def functions(draw: st.DrawFn, depth: int = 3) -> Scalar:
    """A smooth function of x and y, inside of which nothing grows fast."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([X, Y, number(0.5, FLOAT64), number(2, FLOAT64)]))
    op = draw(st.sampled_from(["sin", "cos", "tanh", "sigmoid", "add", "subtract", "multiply", "atan", "hypot"]))
    below = [draw(functions(depth - 1)) for _ in range(2 if op in ("add", "subtract", "multiply", "hypot") else 1)]
    return apply(op, FLOAT64, *below)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(functions())
def test_the_derivative_of_an_expression_is_its_difference(term: Scalar) -> None:
    at = moderate([X, Y, D], 40)
    step = 1e-6
    for s, found in zip((X, Y), derivatives([term], [number(1, FLOAT64)], [X, Y]), strict=True):
        sides = [evaluate(term, {**at, s: at[s] + sign * step})[0] for sign in (1, -1)]
        slope, _, finite = evaluate(found, at)
        wanted = (sides[0] - sides[1]) / (2 * step)
        near = np.isclose(slope, wanted, rtol=1e-5, atol=1e-5)  # a central difference, of arguments up to 3
        assert (near | ~finite).all()


@pytest.mark.parametrize("op", FUNCTIONS)
def test_formulas_mean_what_the_ops_mean(op: str) -> None:
    """Otherwise sympy would differentiate something else."""
    formula = FORMULAS[op]
    args = [X, Y] if B in formula.free_symbols else [X]
    at = {X: np.array([0.3, 0.8, 1.7, 2.5]), Y: np.array([1.5, 0.4, -0.7, 2.0])}
    values = evaluate(apply(op, FLOAT64, *args), at)[0]
    for place, value in enumerate(values):
        point = {A: sympy.Float(at[X][place], 30), B: sympy.Float(at[Y][place], 30)}
        if math.isfinite(value):
            assert float(sympy.N(formula.subs(point), 20)) == pytest.approx(value, rel=1e-12)
    assert np.isfinite(values).any()


def test_of_an_unknown_function_there_is_no_derivative() -> None:
    with pytest.raises(NoDerivative, match="zeta"):
        derivatives([apply("zeta", FLOAT64, X)], [D], [X])


# -- differences -----------------------------------------------------------------------------------------------


def test_an_element_at_a_kink_is_not_compared_but_its_neighbours_are() -> None:
    x = term("core.placeholder", axes=[3], dtype="float64").named("x")
    steps = term("semi.add", term("semi.floor", x), term("semi.square", x))
    values = {x: np.array([1.0, 2.5, -0.5])}
    right, wrong = (
        term("core.constant", value=Literal(np.array(slopes)), axes=x.axes) for slopes in ([7, 5.0, -1], [2, 5.0, 1])
    )
    assert disagreement(steps, x, right, values, np.ones(3)) is None
    assert disagreement(steps, x, wrong, values, np.ones(3)) is not None


def test_where_there_are_kinks_only_nothing_is_said() -> None:
    x = term("core.placeholder", axes=[2], dtype="float64").named("x")
    with pytest.raises(NoDifferences):
        disagreement(term("semi.floor", x), x, None, {x: np.array([1.0, 2.0])}, np.ones(2))


def test_differences_of_some_elements() -> None:
    x = term("core.placeholder", axes=[4], dtype="float64").named("x")
    values = {x: np.arange(4.0)}
    found = differences(term("semi.square", x), x, values, np.ones(4), 1e-5, np.array([1, 3]))
    np.testing.assert_allclose(found, [np.nan, 2.0, np.nan, 6.0], rtol=1e-8)
