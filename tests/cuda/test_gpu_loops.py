# SPDX-License-Identifier: Apache-2.0
"""Loops and branches on a GPU take the steps that values ask for, in every call, wherever they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.terms.op import Op

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

H = ng.Axis("H", 3)
COUNT, X, W = ng.placeholder([], "int64"), ng.placeholder([H], "float64"), ng.placeholder([H], "float64")
ON = np.array([0.5, 1.0, 2.0])


def doubled(x: Op) -> Op:
    return ng.while_loop(lambda x: ng.sum(x, out_axes=[]) < 10, lambda x: x * 2, x)


def doubling(x: Any) -> Any:
    while x.sum() < 10:
        x = x * 2
    return x


def test_each_call_takes_the_steps_that_its_arguments_ask_for() -> None:
    count, power = ng.while_loop(lambda s: s[0] < COUNT, lambda s: (s[0] + 1, s[1] * W), (0, X))
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation([power, count, power + W], COUNT, X, W)
        for number in (2, 0, 5):
            got = computation(number, ON, ON + number)
            assert_allclose(got[0], ON * (ON + number) ** number, rtol=1e-12)
            assert got[1] == number and np.array_equal(got[2], got[0] + ON + number)


@pytest.mark.parametrize("limit", [0, 2, 10**9])
def test_a_loop_ends_by_its_limit_or_before(limit: int) -> None:
    state = ng.constant(0), X
    steps, power = ng.while_loop(lambda s: s[0] < COUNT, lambda s: (s[0] + 1, s[1] * W), state, limit)
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation([power, steps], COUNT, X, W)
        for number in (3, 1):
            got, taken = computation(number, ON, ON)
            assert taken == min(number, limit)
            assert_allclose(got, ON ** (1 + taken), rtol=1e-12)


def test_loops_stand_in_scans_and_loops_and_what_follows_waits_for_them() -> None:
    _, rows = ng.scan(lambda s, _: (s / 3, doubled(s)), X, axis=ng.Axis("T", 3))
    twice, _ = ng.while_loop(lambda s: s[1] < COUNT, lambda s: (doubled(s[0]) / 4, s[1] + 1), (X, 0))
    with ng.make_transformer("cuda") as transformer:
        got, after = transformer.computation([rows * 2, twice], COUNT, X)(2, ON)
    assert_allclose(got, [2 * doubling(ON / 3**i) for i in range(3)], rtol=1e-12)
    assert_allclose(after, doubling(doubling(ON) / 4) / 4, rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1])
def test_one_branch_is_run_and_derivatives_pass_through_it(count: int) -> None:
    y = ng.cond(COUNT > 0, lambda x: x * W, lambda x: x * x, X)
    with ng.make_transformer("cuda") as transformer:
        found = transformer.computation([y, *ng.deriv(ng.sum(y, out_axes=[]), [X, W])], COUNT, X, W)(count, ON, ON + 1)
    wanted = [ON * (ON + 1), ON + 1, ON] if count else [ON * ON, 2 * ON, 0 * ON]
    assert_allclose(found, wanted, rtol=1e-12)


def test_steps_are_told_of_and_results_may_stay() -> None:
    last = ng.while_loop(lambda n: n < COUNT, lambda n: n + 1, 0)
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(last, COUNT)
        there = computation.on_device(4)
        assert int(np.asarray(computation.on_device(there))) == 4
        assert "while the flag at 0 of the arena is true: map_" in computation.plan()
        assert "a loop while its flag is true (map_" in computation.explain(last).splitlines()[-1]


def test_mapped_functions_are_no_loops_and_steps_have_the_product_that_they_wait_for() -> None:
    xp, random = ng.numpy, np.random.default_rng(0)
    shapes = (3, 2, 4), (4, 5), (5, 5), (5, 2)
    values = [random.normal(size=shape) for shape in shapes]
    x, w, u, v = inputs = [ng.placeholder(shape, dtype="float64") for shape in shapes]

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        h = xp.tanh(x @ w + h @ u)
        return h, h @ v

    outputs = xp.vmap(lambda x: xp.scan(step, np.zeros(5), x)[1])(x)
    slopes = xp.vmap(lambda y: ng.deriv(xp.sum(xp.sin(y @ v[:2])), v))(xp.sum(outputs, axis=1))
    results = [outputs, slopes, *ng.deriv(xp.sum(xp.square(outputs)), inputs)]
    with ng.make_transformer("cuda") as cuda, ng.make_transformer("reference") as reference:
        computation = cuda.computation(results, *inputs)
        for got, right in zip(computation(*values), reference.computation(results, *inputs)(*values), strict=True):
            assert_allclose(got, right, rtol=1e-8, atol=1e-10)
        loops = [line for line in computation.plan().splitlines() if " times " in line]
    assert len(loops) == 2  # there and back, over the steps of all


def test_each_step_of_a_loop_with_a_limit_draws_its_own_number() -> None:
    """It ends before its limit, and what it draws is walked through: each step reads at another place."""

    def step(state: Any) -> Any:
        return state[0] * 2 + ng.floor(ng.uniform([], dtype="float64") * 2), state[1] + 1

    bits = ng.while_loop(lambda s: s[1] < COUNT, step, (ng.constant(0.0, dtype="float64"), 0), limit=12)[0]
    found = []
    for target in ("cuda", "cpu"):
        with ng.make_transformer(target, seed=5) as transformer:
            computation = transformer.computation(bits, COUNT)
            found.append([float(computation(number)) for number in (10, 0, 20)])
    assert found[0] == found[1]
    assert 0 < found[0][0] < 1023
