# SPDX-License-Identifier: Apache-2.0
"""What a step draws it draws each time: the numbers for all times are drawn before the first, and walked through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.errors import SequencingError
from ngraph_rewrite.terms.op import Op

xp = ng.numpy
T, H = ng.Axis("T", 5), ng.Axis("H", 3)
X = ng.placeholder([T, H], "float64", name="x")
ROWS = ng.placeholder((5, 3), dtype="float64", name="rows")
ZEROS = np.zeros((5, 3))


def ran(target: str, returns: Any, inputs: Sequence[Op] = (), values: Sequence[Any] = (), seed: int = 7) -> Any:
    with ng.make_transformer(target, seed=seed) as transformer:
        return transformer.computation(returns, *inputs)(*values)


def on_both(returns: Any, inputs: Sequence[Op] = (), values: Sequence[Any] = ()) -> Any:
    """What the CPU gives, and the reference too."""
    found = ran("cpu", returns, inputs, values)
    right = ran("reference", returns, inputs, values)
    for one, other in zip(*(a if isinstance(a, list) else [a] for a in (found, right)), strict=True):
        assert_allclose(one, other, rtol=1e-6)
    return found


def scanned(step: Callable[[Op, Op], Any]) -> Op:
    """What a step gives at each time, beside a state that stays 0."""
    outputs: Op = ng.scan(lambda h, x: (h, step(h, x)), ng.constant(0.0, [H], dtype="float64"), X, axis=T)[1]
    return outputs


AXES: Any = {"dtype": "float64"}
# What a step draws, in terms of H, in ways that each need another arrangement of axes.
STEPS: dict[str, Callable[[Op, Op], Op]] = {
    "by names": lambda h, x: x + ng.uniform([H], **AXES),
    "as another term": lambda h, x: x + ng.normal(x, 2.0, 0.5),
    "along the axis of times": lambda h, x: x + ng.sum(ng.uniform([T, H], **AXES), out_axes=[H]),
    "by position": lambda h, x: x + ng.label(ng.semi.uniform((3,), dtype="float64"), [H]),
    "with samples marked": lambda h, x: x + ng.label(ng.strip(ng.simple.uniform((ng.simple.N(3),), **AXES)), [H]),
    "one number": lambda h, x: x * 0 + ng.label(ng.strip(ng.uniform([H], **AXES)), [H]) + ng.uniform([], **AXES),
    "twice": lambda h, x: x + ng.uniform([H], **AXES) - ng.uniform([H], **AXES),
}


@pytest.mark.parametrize("way", STEPS)
def test_each_step_of_a_scan_draws_its_own_numbers(way: str) -> None:
    found = on_both(scanned(STEPS[way]), [X], [ZEROS])
    assert found.shape == (5, 3)
    assert len(np.unique(found)) == found.size


@pytest.mark.parametrize("way", [w for w in STEPS if w != "along the axis of times"])
def test_each_place_of_a_mapped_function_draws_its_own_numbers(way: str) -> None:
    mapped = ng.vmap(lambda x: STEPS[way](x, x), "T")(X)
    assert len(np.unique(on_both(mapped, [X], [ZEROS]))) == 15


def test_mapping_by_position_takes_draws_of_every_family() -> None:
    def noisy(row: Op) -> Op:
        return row + ng.uniform([], **AXES) + ng.semi.normal((3,), dtype="float64") + ng.simple.uniform((3,), **AXES)

    assert len(np.unique(on_both(xp.vmap(noisy)(ROWS), [ROWS], [ZEROS]))) == 15


def test_one_draw_is_one_number_wherever_it_is_read() -> None:
    def step(h: Op, x: Op) -> tuple[Op, Op]:
        u = ng.uniform([H], **AXES)
        return u, h - u

    last, change = ng.scan(step, ng.constant(0.0, [H], dtype="float64"), X, axis=T)
    last, change = on_both([last, change], [X], [ZEROS])
    assert_allclose(change.sum(axis=0), -last)


def test_calls_draw_anew_and_a_seed_gives_the_same() -> None:
    noise = scanned(STEPS["by names"])
    with ng.make_transformer("cpu", seed=1) as transformer:
        computation = transformer.computation(noise, X)
        first, second = computation(ZEROS), computation(ZEROS)
    assert not np.isclose(first, second).any()
    assert np.array_equal(ran("cpu", noise, [X], [ZEROS], seed=1), first)


def test_what_is_drawn_outside_is_the_same_in_all_steps() -> None:
    u = ng.uniform([H], **AXES)
    found = on_both(scanned(lambda h, x: x + u), [X], [ZEROS])
    assert_allclose(found, np.broadcast_to(found[0], found.shape))


def test_a_derivative_sees_the_numbers_of_its_steps() -> None:
    """A dropout in the step: where a mask is zero, so is the slope."""
    w = ng.placeholder([H], "float64", name="w")

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        mask = ng.cast(ng.uniform([H]) < 0.5, "float64")
        return h, mask * w * x

    outputs = ng.scan(step, ng.constant(0.0, [H], dtype="float64"), X, axis=T)[1]
    slope = ng.deriv(ng.sum(outputs, out_axes=[]), w)
    values = np.arange(15.0).reshape(5, 3) + 1
    kept, slope = on_both([outputs, slope], [X, w], [values, np.ones(3)])
    assert 0 < np.count_nonzero(kept) < kept.size
    assert_allclose(slope, kept.sum(axis=0))


def test_draws_of_scans_in_mapped_functions_in_scans() -> None:
    def inner(row: Op) -> Any:
        return xp.scan(lambda s, _: (s, s + ng.uniform([], **AXES)), xp.sum(row), None, length=4)[1]

    outer = xp.scan(lambda s, _: (s, xp.vmap(inner)(s)), ROWS, None, length=2)[1]
    assert outer.shape == (2, 5, 4)
    assert len(np.unique(on_both(outer, [ROWS], [ZEROS]))) == 40


@pytest.mark.parametrize("chosen", [True, False])
def test_a_branch_draws(chosen: bool) -> None:
    p = ng.placeholder([], "bool", name="p")
    found = on_both(ng.cond(p, lambda: ng.uniform([H], **AXES), lambda: -ng.uniform([H], **AXES)), [p], [chosen])
    assert (np.sign(found) == (1 if chosen else -1)).all()


def test_branches_in_steps_draw_anew_in_each() -> None:
    def step(h: Op, x: Op) -> Any:
        more = ng.sum(x, out_axes=[]) > 0
        return ng.cond(more, lambda x: x + ng.uniform([H], **AXES), lambda x: x - ng.uniform([H], **AXES), x)

    assert len(np.unique(on_both(scanned(step), [X], [ZEROS]))) == 15


def test_a_loop_with_a_limit_draws_in_each_step() -> None:
    a = ng.placeholder([], "float64", name="a")

    def step(state: tuple[Op, Op]) -> tuple[Op, Op]:
        return state[0] + a * ng.uniform([], **AXES), state[1] + 1

    total, steps = ng.while_loop(lambda state: state[0] < 2, step, (ng.constant(0.0, dtype="float64"), 0), limit=50)
    total, steps, slope = on_both([total, steps, ng.deriv(total, a)], [a], [1.0])
    assert 2 <= total < 3
    assert 2 < steps < 50
    assert_allclose(slope, total)


def test_a_loop_without_a_limit_cannot_know_how_many_numbers_to_draw() -> None:
    with pytest.raises(SequencingError, match=r"while_loop: the step draws[\s\S]*test_draws.py:[\s\S]*a limit"):
        ng.while_loop(lambda s: s < 2, lambda s: s + ng.uniform([]), 0.0)


def test_the_number_of_steps_may_be_unknown() -> None:
    rows = ng.placeholder((None, 3), dtype="float64", name="rows")
    noisy = xp.vmap(lambda row: row + ng.uniform([], **AXES))(rows)
    for count in (0, 1, 6):
        found = on_both(noisy, [rows], [np.zeros((count, 3))])
        assert len(np.unique(found)) == count


def test_a_variable_that_a_step_makes_draws_its_initial_value_once() -> None:
    weights: list[Op] = []

    def step(h: Op, x: Op) -> Op:
        weights.append(ng.variable([H], "float64", initial_value=ng.uniform([H], **AXES)))
        return x + weights[0]

    found = on_both(scanned(step), [X], [ZEROS])
    assert_allclose(found, np.broadcast_to(found[0], found.shape))
    assert len(np.unique(found)) == 3


def test_a_draw_is_told_of_at_its_own_line() -> None:
    def step(h: Op, x: Op) -> Op:
        return x + ng.uniform([H], **AXES)

    (draw,) = [t for t in scanned(step).args[0].args if t.definition.name == "axes.uniform"]
    assert draw.info.filename.endswith("test_draws.py")
    assert draw.info.lineno == step.__code__.co_firstlineno + 1
    assert draw.axes == ng.make_axes([T, H])


def test_a_derivative_of_ones_own_that_draws_for_a_step_is_refused_and_may_be_given_draws_of_the_step() -> None:
    def by_own_draw(h: Op, x: Op) -> Op:
        return ng.with_deriv(x * 2, lambda d, _: d * ng.uniform([H], **AXES), x)

    def by_draw_of_the_step(h: Op, x: Op) -> Op:
        return ng.with_deriv(x * 2, lambda d, _, u: (d * u, None), x, ng.uniform([H], **AXES))

    with pytest.raises(SequencingError, match=r"draws random numbers[\s\S]*test_draws.py:[\s\S]*draw in the step"):
        ng.deriv(ng.sum(scanned(by_own_draw), out_axes=[]), X)
    slope = ng.deriv(ng.sum(scanned(by_draw_of_the_step), out_axes=[]), X)
    assert len(np.unique(on_both(slope, [X], [ZEROS]))) == 15
