# SPDX-License-Identifier: Apache-2.0
"""Initial values that are terms are computed once, before anything else, the same for one seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng

TARGETS = ng.transformer_choices()
H, W = ng.Axis("H", 3), ng.Axis("W", 2)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return request.param


def values(returns: list[ng.Op], target: str, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    with ng.make_transformer(target, seed=seed) as transformer:
        return transformer.computation(returns)()


# -- values -----------------------------------------------------------------------------------------


def test_an_initial_value_can_be_computed(target: str) -> None:
    w = ng.variable([H, W], initial_value=ng.constant([1.0, 2.0, 3.0], [H]) * 2 + ng.constant([0.5, 0.25], [W]))
    assert values([w], target)[0].tolist() == [[2.5, 2.25], [4.5, 4.25], [6.5, 6.25]]


def test_it_is_spread_put_in_order_and_cast_like_an_assigned_value(target: str) -> None:
    row = ng.variable([W, H], "float64", initial_value=-ng.constant(np.arange(3, dtype="float32"), [H]))
    plain = ng.variable((2, 3), initial_value=ng.semi.negative(ng.constant(np.arange(3.0))))
    flipped = ng.variable([W, H], initial_value=-ng.constant(np.arange(6.0).reshape(3, 2), [H, W]))
    found = values([row, plain, flipped], target)
    assert found[0].tolist() == found[1].tolist() == [[0, -1, -2]] * 2
    assert np.array_equal(found[2], -np.arange(6.0).reshape(3, 2).T) and found[0].dtype == "float64"


@pytest.mark.parametrize("fill", [[1.0] * 4, [1.0, 2.0, 3.0, 4.0]])
def test_a_constant_of_other_axes_is_refused_whether_or_not_one_number_fills_it(fill: list[float]) -> None:
    for axes in ([H], (3,)):
        for value in (ng.constant(fill), ng.constant(fill, {"W": 4}), ng.constant(fill, {"H": 4})):
            with pytest.raises((ng.AxesError, ng.FamilyError), match=r"test_initializers\.py"):
                ng.variable(axes, initial_value=value)


@pytest.mark.parametrize("value", [ng.constant(2.0), ng.constant(2.0, [W]), ng.constant(2.0, [W, H])])
def test_a_constant_that_one_number_fills_is_spread(value: ng.Op) -> None:
    assert values([ng.variable([H, W], initial_value=value)], "reference")[0].tolist() == [[2.0, 2.0]] * 3
    plain = ng.variable((3, 2), initial_value=ng.constant(np.full((1, 2), 2.0)))
    assert values([plain], "reference")[0].tolist() == [[2.0, 2.0]] * 3


def test_a_variable_stands_for_its_own_initial_value(target: str) -> None:
    """Not for what it is by then, and whether or not the computation uses it."""
    a = ng.variable([H], initial_value=np.array([1.0, 2.0, 3.0]), name="a")
    unused = ng.variable([], initial_value=lambda axes: 10.0)
    b = ng.variable([H], initial_value=a * unused, name="b")
    with ng.make_transformer(target) as transformer:
        transformer.computation(ng.assign(a, a * 100))()
        assert transformer.computation(b)().tolist() == [10, 20, 30]
        assert transformer.get(a).tolist() == [100, 200, 300]


def test_a_function_may_return_a_term(target: str) -> None:
    w = ng.variable([H], initial_value=lambda axes: ng.constant(2.0, axes) + 1)
    assert values([w], target)[0].tolist() == [3, 3, 3]


def test_a_function_is_called_once(target: str) -> None:
    calls = []
    a = ng.variable([], initial_value=lambda axes: calls.append(axes) or len(calls))
    b = ng.variable([], initial_value=a + 1)
    assert [float(x) for x in values([a, b], target)] == [1, 2]


def test_all_are_one_computation() -> None:
    a = ng.variable([H], initial_value=ng.uniform([H]), name="a")
    b = ng.variable([H], initial_value=a * 2, name="b")
    c = ng.variable([H], initial_value=1.0, name="c")
    found = ng.initializers(a + b + c)
    assert list(found) == [a, b]
    assert all(not term.variables() and term.type == v.type for v, term in found.items())
    for name in TARGETS:
        first, twice = values([a, b], name)
        assert np.array_equal(twice, first * 2)


def test_a_long_chain_of_variables_is_no_limit() -> None:
    last = ng.variable([], "float64", initial_value=1.0)
    for _ in range(3000):
        last = ng.variable([], "float64", initial_value=last + 1)
    assert values([last], "reference")[0] == 3001


@drawn(14)
@given(st.data())
def test_drawn_initial_values_follow_their_dependencies(data: st.DataObject) -> None:
    """Each variable's initial value is drawn from those before it; they are met in a drawn order."""
    made: list[tuple[ng.Op, np.ndarray[Any, Any]]] = []
    for i in range(data.draw(st.integers(1, 6))):
        number = float(data.draw(st.integers(-3, 3)))
        if not made or data.draw(st.booleans()):
            value = np.full(3, number) + np.arange(3)
            made.append((ng.variable([H], "float64", initial_value=value, name=f"v{i}"), value))
        else:
            (x, a), (y, b) = (data.draw(st.sampled_from(made)) for _ in range(2))
            made.append((ng.variable([H], "float64", initial_value=x * number + y[::-1]), a * number + b[::-1]))
    order = data.draw(st.permutations(made))
    split = data.draw(st.integers(0, len(order)))
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            for part in (order[:split], order[split:]):
                if part:
                    found = transformer.computation([ng.assign(v, v + 1000) for v, _ in part])()
                    for array, (_, expected) in zip(found, part, strict=True):
                        np.testing.assert_array_equal(array, expected + 1000)


# -- random draws -----------------------------------------------------------------------------------


def test_draws_are_those_of_the_seed(target: str) -> None:
    w = ng.variable([H, W], initial_value=ng.normal([H, W], scale=0.1), name="w")
    one, same, other = (values([w], target, seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other) and len(np.unique(one)) == 6


def test_every_target_draws_the_same() -> None:
    w = ng.variable([H, W], initial_value=ng.uniform([H, W], -1.0, 1.0))
    first, *rest = (values([w], target)[0] for target in TARGETS)
    assert all(np.array_equal(first, other) for other in rest)


def test_initialize_gives_the_same_again(target: str) -> None:
    w = ng.variable([H], initial_value=ng.uniform([H]))
    with ng.make_transformer(target) as transformer:
        step = transformer.computation(ng.assign(w, w + 1))
        transformer.initialize()
        first = transformer.get(w)
        step()
        transformer.initialize()
        assert np.array_equal(transformer.get(w), first)


def test_a_draw_in_two_initial_values_is_one_draw_and_calls_draw_other_numbers(target: str) -> None:
    draw = ng.uniform([H])
    a, b = ng.variable([H], initial_value=draw), ng.variable([H], initial_value=draw + 1)
    with ng.make_transformer(target) as transformer:
        first, call = transformer.computation([a, draw])()
        second = transformer.computation(b)()
        assert np.array_equal(first + 1, second) and not np.array_equal(first, call)


# -- when -------------------------------------------------------------------------------------------


def test_a_computation_added_later_brings_its_variables(target: str) -> None:
    a = ng.variable([], initial_value=ng.constant(1.0) + 1)
    b = ng.variable([], initial_value=a + 10)
    with ng.make_transformer(target) as transformer:
        transformer.computation(ng.assign(a, a * 5))()
        later = transformer.computation(b)
        assert (float(transformer.get(a)), float(later())) == (10, 12)


def test_saved_values_are_not_computed_again(target: str, tmp_path: Path) -> None:
    calls = []
    a = ng.variable([], initial_value=ng.constant(1.0) + 1, name="a")
    b = ng.variable([], initial_value=lambda axes: calls.append(axes) or a + 1, name="b")
    path = tmp_path / "state"
    with ng.make_transformer(target, seed=4) as transformer:
        transformer.computation([ng.assign(a, a * 5), b])()
        transformer.save(path)
    calls.clear()
    with ng.make_transformer(target) as transformer:
        both = transformer.computation([a, b])
        transformer.restore(path)
        assert [float(x) for x in both()] == [10, 3] and not calls


def test_variables_met_after_restoring_are_drawn_by_the_restored_seed(target: str, tmp_path: Path) -> None:
    a = ng.variable([H], initial_value=ng.uniform([H]), name="a")
    b = ng.variable([H], initial_value=ng.uniform([H]), name="b")
    found = []
    for seed, path in ((5, None), (6, tmp_path / "state")):
        with ng.make_transformer(target, seed=seed) as transformer:
            transformer.computation(a)()
            if path is not None:
                transformer.restore(path)
            else:
                transformer.save(tmp_path / "state")
            found.append(transformer.computation([a, b])())
    assert all(np.array_equal(x, y) for x, y in zip(*found, strict=True))


def test_setting_a_variable_wins(target: str) -> None:
    w = ng.variable([H], initial_value=ng.uniform([H]))
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(w * 1)
        transformer.set(w, np.ones(3))
        assert computation().tolist() == [1, 1, 1]


# -- errors -----------------------------------------------------------------------------------------


def test_what_only_a_call_knows_is_refused() -> None:
    p = ng.placeholder([H], name="p")
    with pytest.raises(ng.AttributeValueError, match="initial value depends on p, which each call supplies") as caught:
        ng.variable([H], initial_value=p + 1)
    assert "test_initializers.py" in str(caught.value)


def test_steps_branches_and_functions_may_be_in_it(target: str) -> None:
    """Their parameters are known in them."""
    two, p = ng.variable([H], initial_value=2.0), ng.parameter([H])
    power, _ = ng.scan(lambda s, _: (s * two, None), two, axis=ng.Axis("T", 2))
    large = ng.while_loop(lambda s: ng.sum(s, out_axes=[]) < 90, lambda s: s * two, two)
    either = ng.cond(ng.equal(two[0], 2), lambda x: x + 1, lambda x: x, two)
    given = [ng.variable([H], initial_value=x) for x in (power, large, either, ng.function([p], p * two)(two))]
    assert [value.tolist() for value in values(given, target)] == [[8.0] * 3, [32.0] * 3, [3.0] * 3, [4.0] * 3]


def test_what_only_a_step_knows_is_refused() -> None:
    inside = []
    ng.scan(lambda s, _: (inside.append(s), (s, None))[1], ng.constant(1.0, [H]), axis=ng.Axis("T", 2))
    for term in (ng.parameter([H]), inside[0]):
        with pytest.raises(ng.AttributeValueError, match="which only its function or step knows"):
            ng.variable([H], initial_value=term + 1)


def test_effects_are_refused() -> None:
    x = ng.variable([])
    with pytest.raises(ng.AttributeValueError, match="no state yet"):
        ng.variable([], initial_value=ng.assign(x, 1.0) + 1)
    with pytest.raises(ng.AttributeValueError, match="no state yet"):
        ng.variable([], initial_value=ng.temporary([]) + 1)


@pytest.mark.parametrize(
    ("initial", "error"),
    [
        (lambda: ng.exp(ng.constant(1.0, [ng.Axis("K", 2)])), ng.UnmatchedAxesError),
        (lambda: ng.exp(ng.constant(1.0, [ng.Axis("H", 2)])), ng.AxesError),
        (lambda: ng.semi.exp(ng.constant([1.0, 2.0])), ng.FamilyError),
    ],
)
def test_an_initial_value_has_to_fit(initial: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        ng.variable([H], initial_value=initial())
    with pytest.raises(ng.ComputationError, match="the initial value of w does not fit"):
        values([ng.variable([H], initial_value=lambda axes: initial(), name="w")], "reference")


def test_floats_do_not_become_integers() -> None:
    with pytest.raises(ng.DTypeError, match="the value is float32, the variable is int64"):
        ng.variable([], "int64", initial_value=ng.constant(1.5) + 1)


def test_a_cycle_is_an_error() -> None:
    a = ng.variable([], initial_value=lambda axes: b + 1, name="a")
    b = ng.variable([], initial_value=a * 2, name="b")
    with pytest.raises(ng.ComputationError, match="the initial values of [ab] and [ab] depend on themselves"):
        values([a], "reference")
    own = ng.variable([], initial_value=lambda axes: own + 1, name="own")
    with pytest.raises(ng.ComputationError, match="the initial values of own depend on themselves"):
        values([own], "reference")


def test_after_an_error_nothing_is_initialised_by_half() -> None:
    good = ng.variable([], initial_value=ng.constant(1.0) + 1, name="good")
    bad = ng.variable([], initial_value=lambda axes: bad + 1, name="bad")
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation([good, bad])
        for _ in range(2):
            with pytest.raises(ng.ComputationError):
                computation()


@pytest.mark.parametrize("wrong", [3, []], ids=["a number", "a list"])
def test_initializers_are_of_terms(wrong: Any) -> None:
    with pytest.raises(ng.ArgumentError, match=r"is no term\n  at .*test_initializers.py"):
        ng.initializers(wrong)
