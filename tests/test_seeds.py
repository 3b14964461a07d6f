# SPDX-License-Identifier: Apache-2.0
"""The examples of the nGraph documents this library grew from, as they would be met by their readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng


@pytest.fixture(params=ng.transformer_choices())
def transformer(request: pytest.FixtureRequest) -> Iterator[ng.Transformer]:
    with ng.make_transformer(request.param) as made:
        yield made


@pytest.fixture
def cpu() -> Iterator[ng.Transformer]:
    with ng.make_transformer("cpu") as made:
        yield made


# -- expressions ------------------------------------------------------------------------------------


def test_operators_build_the_expression(transformer: ng.Transformer) -> None:
    """tanh(w*x+b), by magic methods."""
    x, w, b = ng.placeholder([]), ng.variable([], initial_value=2.0), ng.variable([], initial_value=1.0)
    y = ng.tanh(w * x + b)
    assert y.same_as(ng.tanh(ng.add(ng.multiply(w, x), b)))
    assert transformer.computation(y, x)(0.25) == pytest.approx(np.tanh(1.5))


def test_variables_are_found_through_the_graph() -> None:
    x, w, b = ng.placeholder([], name="x"), ng.variable([], name="w"), ng.variable([], name="b")
    y = ng.tanh(w * x + b)
    assert y.variables() == [w, b]
    assert y.placeholders() == [x]


def test_a_shared_part_is_computed_once_and_in_place(cpu: ng.Transformer) -> None:
    """x1 = x + x; y = x1*x1 - x needs one temporary at most, and none if the caller gives the result's memory."""
    x = ng.placeholder([ng.Axis("H", 5)])
    x1 = x + x
    y = x1 * x1 - x
    computation = cpu.computation(y, x)
    values = np.arange(5, dtype=np.float32)
    assert np.array_equal(computation(values), 4 * values * values - values)
    assert computation.stats()["launches"] == 1
    assert computation.stats()["temporaries"] <= 1

    memory = np.zeros(5, np.float32)
    assert computation(values, out=memory) is memory
    assert np.array_equal(memory, 4 * values * values - values)
    assert computation.stats()["temporaries"] == 0


def test_a_shared_part_is_one_term_after_lowering(cpu: ng.Transformer) -> None:
    """Even if it was written twice."""
    x = ng.placeholder([ng.Axis("H", 5)])
    one, other = ng.exp(x), ng.exp(x)
    computation = cpu.computation([one * 2, other * 3], x)
    snap = computation.lowering.table.snap
    assert one is not other
    assert snap(one) is snap(other)


# -- effects ----------------------------------------------------------------------------------------


def test_an_assignment_is_seen_where_it_is_sequenced(transformer: ng.Transformer) -> None:
    """x + 1 after assign(x, 5) is 1 unsequenced, and 6 inside sequential."""
    x = ng.variable([], initial_value=0.0)
    assigned = ng.assign(x, 5)
    unsequenced = transformer.computation([x + 1, assigned])
    sequenced = transformer.computation(ng.sequential([assigned, x + 1]))
    assert unsequenced()[0] == 1
    transformer.initialize()
    assert sequenced() == 6


def test_each_handle_in_a_sequence_has_the_state_of_its_place(transformer: ng.Transformer) -> None:
    x = ng.variable([], initial_value=0.0)
    x0, x1 = x + x, x + x
    result = ng.sequential([x0, ng.assign(x, 2), x1, x0])
    assert transformer.computation([x0, x1, result])() == [0, 4, 0]


def test_nested_sequences_run_each_part_once(transformer: ng.Transformer) -> None:
    """A variable that is returned is its state at the end; value_of keeps what it was."""
    x = ng.variable([], initial_value=1.0)
    kept = ng.value_of(x)
    a = ng.sequential([ng.assign(x, x * 2), kept])
    b = ng.sequential([a, ng.assign(x, x + 1), x])
    assert transformer.computation([a, b, x])() == [2, 3, 3]
    assert transformer.get(x) == 3


def test_a_variable_in_a_sequence_is_read_anew(transformer: ng.Transformer) -> None:
    x = ng.variable([], initial_value=0.0)
    result = ng.sequential([x, ng.assign(x, 5), x + 1])
    assert transformer.computation(result)() == 6


def test_the_order_of_returns_does_not_matter(transformer: ng.Transformer) -> None:
    x = ng.variable([], initial_value=1.0)
    increased = ng.assign(x, x + 1)
    doubled = ng.sequential([ng.assign(x, x * 2), ng.value_of(x)])
    both = ng.sequential([doubled, increased, x])
    returns = {"increased": increased, "doubled": doubled, "both": both, "x": x}
    for order in permutations(returns):
        transformer.initialize()
        found = transformer.computation({name: returns[name] for name in order})()
        assert found == {"doubled": 2, "increased": 3, "both": 3, "x": 3}


def test_doall_reads_before_it_writes(transformer: ng.Transformer) -> None:
    x, y = ng.variable([], initial_value=1.0), ng.variable([], initial_value=2.0)
    swap = transformer.computation(ng.doall([ng.assign(x, y), ng.assign(y, x)]))
    assert swap() is None
    assert (transformer.get(x), transformer.get(y)) == (2, 1)


# -- derivatives ------------------------------------------------------------------------------------


def dense_layer() -> tuple[ng.Op, list[ng.Op], list[ng.Op]]:
    """The squared error of a dense layer over C, W and H, for samples N and outputs Y; its leaves."""
    C, W, H, N, Y = (ng.Axis(name, length) for name, length in zip("CWHNY", (2, 1, 2, 2, 3), strict=True))
    x, y0 = ng.placeholder([C, W, H, N], "float64"), ng.placeholder([Y, N], "float64")
    w, b = ng.variable([Y, C, W, H], "float64"), ng.variable([Y], "float64")
    y = ng.tanh(ng.dot(w, x) + b)
    return ng.squared_L2(y - y0, out_axes=[]), [x, y0], [w, b]


def test_the_derivative_of_a_dense_layer(transformer: ng.Transformer) -> None:
    error, inputs, parameters = dense_layer()
    random = np.random.default_rng(0)
    arguments = [random.standard_normal(p.axes.lengths) for p in inputs]
    value = transformer.computation(error, *inputs)
    slopes = transformer.computation(ng.deriv(error, parameters), *inputs)
    for p in parameters:
        transformer.set(p, random.standard_normal(p.axes.lengths) / 3)

    def at(parameter: ng.Op, moved: np.ndarray) -> float:
        before = transformer.get(parameter)
        transformer.set(parameter, moved)
        found = float(value(*arguments))
        transformer.set(parameter, before)
        return found

    for parameter, slope in zip(parameters, slopes(*arguments), strict=True):
        expected = finite_differences(lambda moved, p=parameter: at(p, moved), transformer.get(parameter))
        # Central differences with a step of 1e-5: a truncation error of about 1e-10, a rounding error of 1e-9.
        np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


def finite_differences(function: Any, at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The slope of a function of an array, element by element."""
    slopes = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        ends = []
        for sign in (1, -1):
            moved = at.copy()
            moved[place] += sign * step
            ends.append(function(moved))
        slopes[place] = (ends[0] - ends[1]) / (2 * step)
    return slopes


# -- rewriting --------------------------------------------------------------------------------------


def test_log_of_exp_needs_no_kernel(cpu: ng.Transformer) -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    e = ng.exp(x)
    y = ng.log(e)
    computation = cpu.computation(y, x)
    values = np.array([-1.0, 0.0, 1000.0], np.float32)
    assert np.array_equal(computation(values), values)
    assert computation.lowering.table.snap(y).same_as(x)
    # The result is a fresh array: copying x into it is all that is left to do.
    assert computation.stats()["launches"] <= 1
    assert not re.search(r"\b(exp|log)\(", computation.source())


def test_the_derivation_names_every_rule(cpu: ng.Transformer) -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    y = ng.log(ng.exp(x))
    derivation = cpu.computation(y, x).explain(y)
    for rule in ("axes.unary.exp", "axes.unary.log", "semi.log_exp"):
        assert re.search(rf"{rule}  \(rules/\w+\.rules:\d+\)", derivation)
    assert derivation.endswith("normal form: x")


def test_a_removed_handle_says_why_it_has_no_value(cpu: ng.Transformer) -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    e = ng.exp(x)
    computation = cpu.computation(ng.log(e), x)
    computation([0.0, 1.0, 2.0])
    with pytest.raises(ng.InvalidHandleError, match=r"semi\.log_exp \(rules/semi\.rules:\d+\)"):
        computation.value(e)


def test_a_removed_handle_is_recomputed_when_asked(cpu: ng.Transformer) -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    e = ng.exp(x)
    computation = cpu.computation(ng.log(e), x)
    values = np.array([0.0, 1.0, 2.0], np.float32)
    computation(values)
    np.testing.assert_allclose(computation.value(e, recompute=True), np.exp(values), rtol=1e-6)  # a few float32 ulps


def test_a_kept_handle_has_its_value(cpu: ng.Transformer) -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    e = ng.exp(x)
    computation = cpu.computation(ng.log(e), x, keep=[e])
    values = np.array([0.0, 1.0, 2.0], np.float32)
    computation(values)
    np.testing.assert_allclose(computation.value(e), np.exp(values), rtol=1e-6)  # a few float32 ulps


def test_one_graph_serves_two_transformers_at_once() -> None:
    x = ng.placeholder([ng.Axis("H", 3)], name="x")
    inner = x * x
    y = ng.exp(inner) + inner
    before = repr(y)
    values = np.array([0.0, 1.0, 2.0], np.float32)
    with ng.make_transformer("cpu") as first, ng.make_transformer("reference") as second:
        computations = [t.computation(y, x, keep=[inner]) for t in (first, second)]
        for computation in computations:
            computation(values)
        for computation in computations:
            assert np.array_equal(computation.value(inner), values * values)
            # exp differs by at most a few float32 ulps between the two.
            np.testing.assert_allclose(computation.value(y), np.exp(values * values) + values * values, rtol=1e-6)
    assert repr(y) == before


def test_depth_is_no_limit(cpu: ng.Transformer) -> None:
    """A graph 100,000 ops deep builds, lowers and runs."""
    x = ng.placeholder([ng.Axis("H", 2)])
    y = x
    for _ in range(50_000):
        y = -ng.absolute(y)
    result = cpu.computation(y, x)(np.array([-1.0, 2.0], np.float32))
    assert np.array_equal(result, [-1.0, -2.0])


# -- the library's rules ----------------------------------------------------------------------------


def test_rules_are_listed_with_file_and_line() -> None:
    lines = repr(ng.rules()).splitlines()
    assert len(lines) == len(ng.rules()) > 0
    for line, rule in zip(lines, ng.rules(), strict=True):
        assert line.startswith(f"{rule.file}:{rule.line}: {rule.name} ")
        assert rule.file.startswith("rules/")
