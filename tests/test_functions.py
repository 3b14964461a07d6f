# SPDX-License-Identifier: Apache-2.0
"""Functions of a graph are typed values; a call is an op, and inlining it is a rule."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing import WrongRule, check_rule

TARGETS = ng.transformer_choices()
H = ng.Axis("H", 3)
VALUES = np.array([1.0, 2.0, 3.0])


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


def values(returns: Any, target: str, *arguments: tuple[ng.Op, Any], **kwargs: Any) -> Any:
    with ng.make_transformer(target, **kwargs) as transformer:
        return transformer.computation(returns, *(p for p, _ in arguments))(*(a for _, a in arguments))


def vector(name: str = "x", dtype: str = "float64") -> ng.Op:
    return ng.parameter([H], dtype, name=name)


def variable() -> ng.Op:
    return ng.variable([H], "float64", initial_value=VALUES, name="v")


def affine() -> ng.Function:
    x, a, b = vector(), ng.parameter([], "float64", name="a"), ng.parameter([], "float64", name="b")
    return ng.function([x, a, b], a * x + b, name="affine")


# -- what it is -------------------------------------------------------------------------------------


def test_a_function_shows_its_signature() -> None:
    f, x = affine(), vector()
    two = ng.function(x, [x, ng.sum(x, out_axes=[]) > 0], name="two")
    assert repr(f) == "affine(x: float64[H:3], a: float64[], b: float64[]) -> float64[H:3]"
    assert repr(two) == "two(x: float64[H:3]) -> (float64[H:3], bool[])"
    assert (f.name, len(f.parameters), f.results.type) == ("affine", 3, f.parameters[0].type)
    assert [r.dtype for r in two.results] == ["float64", "bool"]


def test_a_decorated_function_is_one() -> None:
    @ng.function([vector(), vector("y")])
    def inner(x: ng.Op, y: ng.Op) -> tuple[ng.Op, ng.Op]:
        return ng.sum(x * y, out_axes=[]), x - y

    assert repr(inner) == "inner(x: float64[H:3], y: float64[H:3]) -> (float64[], float64[H:3])"
    product, difference = inner(variable(), 1.0)
    assert values([product, difference], "cpu")[0] == 6


def test_a_call_is_an_op_of_the_results_type() -> None:
    f, v = affine(), variable()
    call = f(v, 2, 1)
    assert call.definition is lookup("core.call") and call.type == v.type and call.attribute("function") == "affine"
    line = ng.call_descriptions([call])[-1]
    assert line.startswith("%") and "core.call(%v, " in line and "function='affine'" in line


def test_the_terms_it_was_made_of_can_serve_again(target: str) -> None:
    """Two functions of the same parameter do not get in each other's way, not even one inside the other."""
    x = vector()
    plus = ng.function(x, x + 1, name="plus")
    twice = ng.function(x, plus(plus(x)) * x, name="twice")
    v = variable()
    assert np.array_equal(values(twice(plus(v)), target), (VALUES + 3) * (VALUES + 1))


# -- values -----------------------------------------------------------------------------------------


def test_a_call_has_the_value_of_the_results(target: str) -> None:
    f, v = affine(), variable()
    assert values(f(v, 2, 1), target).tolist() == [3, 5, 7]
    assert values(f(b=1, x=v, a=2), target).tolist() == [3, 5, 7]
    assert values(f(np.array([5.0, 5, 5]), 0, np.float64(4)), target).tolist() == [4, 4, 4]


def test_several_results_are_a_tuple(target: str) -> None:
    x = vector()
    f = ng.function(x, [x * 2, ng.sum(x, out_axes=[])])
    call = f(variable())
    double, total = call
    assert len(call) == 2 and values(double, target).tolist() == [2, 4, 6] and values(total, target) == 6
    whole = values(call, target)
    assert isinstance(whole, tuple) and whole[0].tolist() == [2, 4, 6] and whole[1] == 6
    (single,) = ng.function(x, [x])(variable())
    assert values(single, target).tolist() == [1, 2, 3]


def test_a_result_need_not_depend_on_a_parameter(target: str) -> None:
    x, v = vector(), variable()
    first, second = ng.function([x, vector("unused")], [v * 10, x])(v + 1, v)
    assert values([first, second], target)[0].tolist() == [10, 20, 30]
    assert values([first, second], target)[1].tolist() == [2, 3, 4]


def test_what_else_it_is_built_of_is_the_same_in_all_calls(target: str) -> None:
    """A placeholder, a variable, a random draw: none is drawn or read anew."""
    x, p, v = vector(), ng.placeholder([H], "float64"), variable()
    noise = ng.uniform([H], dtype="float64")
    f = ng.function(x, x * p + v + noise)
    one, other, drawn_ = values([f(v), f(2 * v), noise], target, (p, VALUES))
    np.testing.assert_allclose(other - one, VALUES * VALUES)
    np.testing.assert_allclose(one, VALUES * VALUES + VALUES + drawn_)


def test_functions_call_functions(target: str) -> None:
    f, x = affine(), vector()
    g = ng.function(x, f(f(x, 2, 1), 3, f(x, 0, 5)[0]), name="g")
    assert values(g(variable()), target).tolist() == [14, 20, 26]


def test_a_function_inside_may_use_the_parameters_outside(target: str) -> None:
    x, y = vector(), vector("y")
    outer = ng.function(x, ng.function(y, x * y)(x + 1) + ng.function(y, x - y)(ng.constant(1.0, [H], "float64")))
    assert np.array_equal(values(outer(variable()), target), VALUES * (VALUES + 1) + VALUES - 1)


def test_a_call_inside_may_bind_a_parameter_that_the_one_around_it_binds(target: str) -> None:
    p, q, x = ng.parameter([], "float64"), ng.parameter([], "float64"), ng.placeholder([], "float64")
    own, other = p.attribute("uid"), q.attribute("uid")
    squared = p * p
    inner = ng.make_op("core.call", q, squared, parameters=(own,), function="f", single=True)
    outer = ng.make_op("core.call", x, x * 3, inner - squared, parameters=(own, other), function="g", single=True)
    assert values(outer, target, (x, 2.0)) == 32


def test_a_variable_is_read_at_the_place_of_the_call(target: str) -> None:
    x, v = vector(), variable()
    f = ng.function(x, x + v)
    zero = ng.constant(0.0, [H], "float64")
    before, after = f(zero), f(zero)
    steps = ng.sequential([before, ng.assign(v, v * 10), after])
    assert values([before, steps], target)[0].tolist() == [1, 2, 3]
    assert values(steps, target).tolist() == [10, 20, 30]


def test_in_an_ordered_block_it_is_too(target: str) -> None:
    x, v = vector(), variable()
    inner = ng.function(x, (x + v, v), name="inner")
    f = ng.function(x, inner(x)[0] + inner(x)[1])
    with ng.ordered():
        before = f(v)
        ng.assign(v, v * 10)
        after = f(v)
    assert values([before, after], target)[0].tolist() == [3, 6, 9]
    assert values(after, target).tolist() == [30, 60, 90]


def test_it_is_called_in_a_scan_and_has_one_inside(target: str) -> None:
    time = ng.Axis("REC", 3)
    rows = ng.constant(np.arange(9.0).reshape(3, 3), [time, H])
    x = vector()
    double = ng.function(x, x * 2)
    sums, _ = ng.scan(lambda s, row: (s + double(row), s), ng.constant(np.zeros(3), [H]), rows)
    assert values(sums, target).tolist() == [18, 24, 30]
    whole = ng.parameter([time, H], "float64")
    total = ng.function(whole, ng.scan(lambda s, row: (s + row, None), ng.constant(np.zeros(3), [H]), whole)[0])
    assert values(total(rows) + total(rows * 2), target).tolist() == [27, 36, 45]


@drawn(10)
@given(st.data())
def test_drawn_calls_have_the_values_of_python_calls(data: st.DataObject) -> None:
    """Functions of drawn bodies, which call the functions before them, beside the same in NumPy."""
    functions: list[tuple[ng.Function, Any]] = []
    for _ in range(data.draw(st.integers(1, 4))):
        x, y = vector(), vector("y")
        kind = data.draw(st.sampled_from(["add", "subtract", "maximum"]))
        scale = float(data.draw(st.integers(-2, 2)))
        body, python = getattr(ng, kind)(x * scale, y), (lambda a, b, k=kind, s=scale: getattr(np, k)(a * s, b))
        if functions and data.draw(st.booleans()):
            (f, pf), (g, pg) = (data.draw(st.sampled_from(functions)) for _ in range(2))
            body, python = f(g(y, x), body), (lambda a, b, p=python, u=pf, w=pg: u(w(b, a), p(a, b)))
        functions.append((ng.function([x, y], body), python))
    f, python = functions[-1]
    v = variable()
    first, second = f(v, v[::-1] + 1), f(f(v, 2.0), v)
    expected = python(VALUES, VALUES[::-1] + 1), python(python(VALUES, 2.0), VALUES)
    for target in TARGETS:
        for one, other in zip(values([first, second], target), expected, strict=True):
            np.testing.assert_array_equal(one, np.broadcast_to(other, (3,)))


# -- inlining ---------------------------------------------------------------------------------------


def test_inlining_is_a_rule_that_can_be_explained() -> None:
    f, v = affine(), variable()
    call = f(v, 2, 1)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(call)
        computation()
        assert "inlining.call" in computation.explain(call)
        assert not any(t.definition.name == "core.call" for t in topological(computation.lowering.roots))


def test_calls_share_what_does_not_depend_on_their_arguments() -> None:
    """The exponential of the variable is one term, and the two calls of equal arguments are one."""
    x, v = vector(), variable()
    f = ng.function(x, x * ng.exp(v))
    p = ng.placeholder([H], "float64")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([f(p), f(p), f(p + 1)], p)
        made = topological(computation.lowering.roots)
        assert sum(t.definition.short == "exp" for t in made) == 1
        assert computation.lowering.roots[0] is computation.lowering.roots[1]


def test_rules_see_across_a_call() -> None:
    """The softmax is inside, its cross-entropy outside: recognized all the same."""
    x, p = vector(), ng.placeholder([H], "float64")
    softmax = ng.function(x, ng.softmax(x))
    loss = ng.cross_entropy_multi(softmax(p), ng.constant([1.0, 0.0, 0.0], [H]), out_axes=[])
    assert values(loss, "cpu", (p, np.array([-1000.0, 0.0, 1000.0]))) == 2000


def test_an_item_is_taken_out_of_inlined_results_early() -> None:
    x, p = vector(), ng.placeholder([H], "float64")
    both = ng.function(x, [ng.softmax(x), x])
    loss = ng.cross_entropy_multi(both(p)[0], ng.constant([1.0, 0.0, 0.0], [H], "float64"), out_axes=[])
    assert values(loss, "cpu", (p, np.array([-1000.0, 0.0, 1000.0]))) == 2000


def test_many_calls_in_a_row_are_no_limit() -> None:
    f, v = affine(), variable()
    for _ in range(300):
        v = f(v, 1, 1)
    assert values(v, "reference").tolist() == [301, 302, 303]
    assert values(v, "cpu").tolist() == [301, 302, 303]


# -- derivatives ------------------------------------------------------------------------------------


def test_derivatives_pass_through_calls(target: str) -> None:
    x, w, v = vector(), vector("w"), variable()
    f = ng.function([x, w], [ng.sum(x * w * w, out_axes=[]), ng.exp(x)])
    u = ng.variable([H], "float64", initial_value=VALUES + 1, name="u")
    first, second = f(v, u)
    loss = first + ng.sum(second, out_axes=[]) + f(u, v)[0]
    dv, du = values(ng.deriv(loss, [v, u]), target)
    np.testing.assert_allclose(dv, (VALUES + 1) ** 2 + np.exp(VALUES) + 2 * (VALUES + 1) * VALUES)
    np.testing.assert_allclose(du, 2 * VALUES * (VALUES + 1) + VALUES**2)


def test_derivatives_pass_to_what_a_function_is_built_of(target: str) -> None:
    x, v = vector(), variable()
    f = ng.function(x, ng.sum(x * v * v, out_axes=[]))
    two = ng.constant(2.0, [H], "float64")
    assert values(ng.deriv(f(two) + f(v), v), target).tolist() == (4 * VALUES + 3 * VALUES**2).tolist()


def test_second_derivatives_pass_through_calls(target: str) -> None:
    x = ng.parameter([], "float64")
    cube = ng.function(x, x * x * x)
    v = ng.variable([], "float64", initial_value=2.0)
    assert values(ng.deriv(ng.deriv(cube(cube(v)), v), v), target) == 72 * 2**7


def test_a_derivative_may_be_a_function_too(target: str) -> None:
    x = vector()
    square = ng.function(x, ng.sum(ng.square(x), out_axes=[]))
    slope = ng.function(x, ng.deriv(square(x), x), name="slope")
    assert values(slope(variable()), target).tolist() == [2, 4, 6]


# -- errors -----------------------------------------------------------------------------------------

V, F = variable(), affine()
ILL_TYPED = [
    (lambda: F(V, 1), ng.ArgumentError, "affine takes 3 arguments, not 2"),
    (lambda: F(V, 1, 2, 3), ng.ArgumentError, "affine takes 3 arguments, not 4"),
    (lambda: F(V, 1, c=2), ng.ArgumentError, "affine has no parameter c"),
    (lambda: F(V, 1, x=2), ng.ArgumentError, "affine has no parameter x"),
    (lambda: F(ng.cast(V, "float32"), 1, 1), ng.DTypeError, "takes float64[H:3] for parameter 0, x, and the argument"),
    (lambda: F(ng.cast(V, "float32"), 1, 1), ng.DTypeError, "is float32[H:3]"),
    (lambda: F(V[:2], 1, 1), ng.UnmatchedAxesError, "is float64[H:2]"),
    (lambda: F(ng.strip(V), 1, 1), ng.UnmatchedAxesError, "is float64[3]"),
    (lambda: F(V, V, 1), ng.UnmatchedAxesError, "for parameter 1, a, and the argument is float64[H:3]"),
    (lambda: F(np.ones(2), 1, 1), ng.UnmatchedAxesError, "is an array of shape (2,)"),
    (lambda: F(ng.make_tuple(V, V), 1, 1), ng.UnmatchedAxesError, "(float64[H:3], float64[H:3])"),
]


@pytest.mark.parametrize(("call", "error", "message"), ILL_TYPED)
def test_an_ill_typed_call_fails_at_the_users_line(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        call()
    assert "test_functions.py" in str(caught.value) and "affine(x: float64[H:3]" in str(caught.value)


def test_a_number_has_to_be_of_the_parameters_kind() -> None:
    f = ng.function(ng.parameter([], "int64", name="n"), ng.constant(1))
    with pytest.raises(ng.DTypeError, match="the parameter n is int64"):
        f(0.5)
    with pytest.raises(ng.DTypeError, match="the argument is"):
        f(np.float32(0.5))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ng.function([V], V), ng.ArgumentError, "v is no parameter"),
        (lambda: ng.function(None, V), ng.ArgumentError, "expected a list of terms"),  # type: ignore[arg-type]
        (lambda: ng.function([3], V), ng.ArgumentError, "3 is no parameter"),  # type: ignore[list-item]
        (lambda: ng.function([], []), ng.ArgumentError, "returns []"),
        (lambda: ng.function([])(lambda: None), ng.ArgumentError, "returns None"),
        (lambda: ng.parameter([H, H]), ng.DuplicateAxisNames, "H"),
        (lambda: ng.parameter([H], "complex64"), ng.DTypeError, "complex64"),
    ],
)
def test_a_wrong_function_is_refused(make: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        make()


def test_a_parameter_stands_once() -> None:
    x = vector()
    with pytest.raises(ng.ArgumentError, match="x stands twice"):
        ng.function([x, x], x)


def test_a_function_has_no_effects() -> None:
    x, v = vector(), variable()
    for results in (ng.assign(v, x), ng.sequential([ng.assign(v, 1), x]), ng.after(x, ng.assign(v, 1))):
        with pytest.raises(ng.SequencingError, match="a function has no effects"):
            ng.function(x, results)


def test_recursion_is_an_error() -> None:
    with pytest.raises(ng.ArgumentError, match="forever calls itself"):

        @ng.function([vector()])
        def forever(x: ng.Op) -> ng.Op:
            return forever(x)


def test_a_parameter_has_no_value_outside() -> None:
    x = vector()
    with pytest.raises(ng.ComputationError, match="x has a value only inside"):
        values(x + 1, "cpu")
    with pytest.raises(ng.ComputationError, match="a has a value only inside"):
        values(affine().results, "cpu")


# -- term functions ---------------------------------------------------------------------------------


@ng.term_function(consumes="semi.square")
def unrolled_square(make: Any, term: ng.Op, x: ng.Op) -> ng.Op:
    return make(lookup("semi.multiply"), (x, x), ())


@ng.term_function(consumes="semi.negative")
def unsigned(make: Any, term: ng.Op) -> ng.Op:
    return term.args[0]


@ng.term_function(consumes="semi.isnan")
def of_another_type(make: Any, term: ng.Op) -> ng.Op:
    return term.args[0]


def test_a_rule_may_call_a_function_of_terms() -> None:
    rules = ng.rule("square(x) => unrolled_square(self, x)", kind="select", name="mine")
    with ng.make_transformer("cpu", rules=rules) as transformer:
        square = ng.square(variable())
        computation = transformer.computation(square)
        assert computation().tolist() == [1, 4, 9]
        assert "mine.mine" in computation.explain(square)
        assert "square" not in {t.definition.short for t in topological(computation.lowering.roots)}


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("exp(x) => unsigned(self)", "unsigned removes semi.negative, and the left side is semi.exp"),
        ("negative(x) => exp(unsigned(self))", "can only be a whole right side"),
        ("negative(x) => unsigned(self, axis=1)", "takes terms only"),
        ("negative(x) => unsigned(y)", "`y` is not bound"),
        ("isnan(x) => of_another_type(self)", "to float32"),
    ],
)
def test_a_rule_that_calls_one_is_checked(equation: str, message: str) -> None:
    with pytest.raises(ng.RuleFileError, match=re.escape(message)):
        ng.rule(equation, kind="lower")


def test_a_wrong_term_function_is_found() -> None:
    with pytest.raises(WrongRule, match="is not @exact"):
        check_rule(next(iter(ng.rule("negative(x) => unsigned(self)", kind="lower", grade="exact"))), 20)


def test_a_name_is_taken_once() -> None:
    for name in ("inlined", "span"):
        with pytest.raises(ng.AttributeValueError, match="registered already"):
            ng.term_function(consumes="core.call")(type(name, (), {}))
