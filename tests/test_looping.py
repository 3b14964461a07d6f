# SPDX-License-Identifier: Apache-2.0
"""Control by data: a loop takes as many steps as Python would, and of two branches one is run."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.errors import (
    ArgumentError,
    AxesError,
    DerivativeError,
    DTypeError,
    KernelError,
    LengthError,
    NGraphRewriteError,
    SequencingError,
)
from ngraph_rewrite.lowering import scan_adjoint, swept_terms
from ngraph_rewrite.runtime import machine
from ngraph_rewrite.targets import device_loops
from ngraph_rewrite.terms import binders
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

xp = ng.numpy
H, N = ng.Axis("H", 3), ng.Axis("N", 2)
TARGETS = ["reference", "cpu"]
# Values are of the size of 1 and computed in float64 by the same steps.
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
COUNT, X, W = ng.placeholder([], "int64"), ng.placeholder([H], "float64"), ng.placeholder([H], "float64")
ON = np.array([0.5, 1.0, 2.0])


def computed(target: str, returns: Any, inputs: Any = (), *values: Any) -> Any:
    with ng.make_transformer(target) as transformer:
        return transformer.computation(returns, *inputs)(*values)


def slope(f: Callable[..., Any], values: list[Any], number: int) -> Any:
    """The derivative of a scalar by one of some values, by differences of the fourth order."""
    at, found = np.asarray(values[number], float), np.zeros(np.shape(values[number]))
    for i in np.ndindex(at.shape):
        for step, weight in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            moved = at.copy()
            moved[i] += 1e-3 * step
            found[i] += weight * f(*values[:number], moved, *values[number + 1 :]) / 12e-3
    return found


# -- how many steps ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_steps_are_those_of_python(target: str) -> None:
    def step(state: Any) -> Any:
        n, steps = state["n"], state["steps"]
        return {"steps": steps + 1, "n": ng.select(ng.equal(n % 2, 0), n // 2, 3 * n + 1)}

    def collatz(n: int) -> int:
        return 0 if n <= 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)

    last = ng.while_loop(lambda state: state["n"] > 1, step, {"n": COUNT, "steps": 0})
    with ng.make_transformer(target) as transformer:
        steps = transformer.computation(last["steps"], COUNT)
        assert [int(steps(n)) for n in range(30)] == [collatz(n) for n in range(30)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 12), st.integers(0, 12), st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_a_limit_ends_a_loop_in_any_case(times: int, limit: int, values: list[float]) -> None:
    def powers(limit: int | None) -> Op:
        state = (ng.constant(0), X)
        return ng.while_loop(lambda s: s[0] < COUNT, lambda s: (s[0] + 1, s[1] * s[1] / 2 + W), state, limit)[1]

    wanted = [np.array(values) / 4]
    for _ in range(times):
        wanted.append(wanted[-1] * wanted[-1] / 2 + ON / 4)
    got = computed("reference", [powers(limit), powers(None)], (COUNT, X, W), times, wanted[0], ON / 4)
    assert_allclose(got, [wanted[min(times, limit)], wanted[times]], **CLOSE)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_outside_of_a_step_is_computed_once_and_read_in_each(target: str) -> None:
    weights, scale = ng.placeholder([H, N], "float64"), ng.placeholder([], "float64")
    rows = ng.sum(weights * scale, out_axes=[H])
    state, count = ng.while_loop(lambda s: ng.sum(s[0], out_axes=[]) < 50, lambda s: (s[0] + rows, s[1] + 1), (X, 0))
    value = np.arange(6.0).reshape(3, 2)
    got, steps = computed(target, [state, count], (X, weights, scale), ON, value, 0.5)
    assert steps == 7 and np.array_equal(got, ON + 7 * value.sum(1) / 2)


def test_a_loop_of_products_and_reductions_by_position() -> None:
    """Subspace iteration, until it does not move any more: matrices as states, and a reduction in the condition."""
    a = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    matrix = xp.asarray(a)

    def step(state: Any) -> Any:
        y = xp.matmul(matrix, state[0])
        return y / xp.sqrt(xp.sum(y * y)), state[0], state[2] + 1

    def moves(state: Any) -> Op:
        return xp.max(xp.abs(state[0] - state[1])) > 1e-12

    start = np.ones(3) / np.sqrt(3)
    x, _, steps = ng.while_loop(moves, step, (start, np.zeros(3), 0))
    vector, value, count = computed("cpu", [x, xp.sum(x * xp.matmul(matrix, x)), steps])
    assert 20 < count < 200
    assert_allclose(value, np.linalg.eigvalsh(a)[-1], rtol=1e-12)
    assert_allclose(a @ vector, value * vector, rtol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_may_be_unknown_until_the_call(target: str) -> None:
    x = ng.placeholder([ng.Axis("K")], "float64")
    halved = ng.while_loop(lambda s: ng.max(s, out_axes=[]) > 1, lambda s: s / 2, x)
    with ng.make_transformer(target) as transformer:
        halve = transformer.computation(halved, x)
        assert halve([4.0]).tolist() == [1.0] and halve([8.0, 3.0]).tolist() == [1.0, 0.375]


def test_axes_without_names_may_have_roles() -> None:
    s = ng.simple
    x = s.placeholder((3, s.N(2)), "float64")
    last = ng.while_loop(lambda x: s.sum(x, keep=()) < 100, lambda x: x * 2, x)
    assert last.axes == x.axes
    wanted = value = np.arange(1.0, 7.0).reshape(3, 2)
    while wanted.sum() < 100:
        wanted = wanted * 2
    assert np.array_equal(computed("cpu", last, [x], value), wanted)


# -- loops in loops ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_loops_stand_in_loops_and_scans_and_these_in_loops(target: str) -> None:
    def doubled(x: Op) -> Op:
        return ng.while_loop(lambda x: ng.sum(x, out_axes=[]) < 10, lambda x: x * 2, x)

    def step(state: Any) -> Any:
        smooth, _ = ng.scan(lambda s, _: (s * 0.5, None), doubled(state[0]), axis=ng.Axis("T", 2))
        return smooth, state[1] + 1

    x, _ = ng.while_loop(lambda s: s[1] < COUNT, step, (X, 0))
    _, ys = ng.scan(lambda s, _: (s / 3, doubled(s)), X, axis=ng.Axis("T", 3))
    wanted, all_wanted = ON, []
    for _ in range(3):
        while wanted.sum() < 10:
            wanted = wanted * 2
        wanted = wanted / 4
    for row in (ON, ON / 3, ON / 9):
        while row.sum() < 10:
            row = row * 2
        all_wanted.append(row)
    got, rows = computed(target, [x, ys], (X, COUNT), ON, 3)
    assert_allclose(got, wanted, **CLOSE)
    assert_allclose(rows, all_wanted, **CLOSE)


@pytest.mark.parametrize("threads", [1, 2])
def test_large_states_are_shared_by_threads(threads: int) -> None:
    x = ng.placeholder((300, 1000), "float64")
    last = ng.while_loop(lambda x: xp.sum(x) > 1, lambda x: x * 0.5 - xp.max(x) / 1e4, x)
    value = np.random.default_rng(0).uniform(size=(300, 1000))
    wanted = value
    while wanted.sum() > 1:
        wanted = wanted * 0.5 - wanted.max() / 1e4
    with ng.make_transformer("cpu", threads=threads) as transformer:
        assert_allclose(transformer.computation(last, x)(value), wanted, rtol=1e-9, atol=1e-12)


# -- branches ----------------------------------------------------------------------------------------------------------


def endless(x: Op) -> Op:
    """What must not be run."""
    return ng.while_loop(lambda s: np.bool_(True), lambda s: s + 1, x)


@pytest.mark.parametrize("target", TARGETS)
def test_a_branch_that_is_not_chosen_is_not_run(target: str) -> None:
    first = ng.cond(COUNT > 0, lambda x: x * 2, endless, X)
    second = ng.cond(COUNT < 0, endless, lambda x: {"a": (-x, 1)}["a"][0], X)
    assert np.array_equal(computed(target, [first, second], (COUNT, X), 1, ON), [ON * 2, -ON])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [-1, 0, 1])
def test_branches_give_structures_and_stand_in_each_other_and_in_steps(target: str, count: int) -> None:
    def sign(x: Op) -> Any:
        negative, zero = (lambda x: {"is": x - 1, "n": -1}), (lambda x: {"n": 0, "is": x})
        return ng.cond(COUNT < 0, negative, zero, x)

    def step(s: Op, _: None) -> Any:
        return ng.cond(s < 3, lambda s: s + 2, lambda s: s - 1, s), None

    found = ng.cond(COUNT > 0, lambda x: {"n": 1, "is": x + 1}, sign, X)
    walked, _ = ng.scan(step, COUNT, axis=ng.Axis("T", 5))
    value, n, last = computed(target, [found["is"], found["n"], walked], (COUNT, X), count, ON)
    s = count
    for _ in range(5):
        s = s + 2 if s < 3 else s - 1
    assert np.array_equal(value, ON + count) and n == count and last == s


def nest(depth: int) -> Callable[[Any], Any]:
    """Branches, loops and scans in each other, so deep."""
    if not depth:
        return lambda x: x * W
    inner = nest(depth - 1)
    if depth % 3 == 0:
        return lambda x: ng.cond(ng.sum(x, out_axes=[]) > 0, lambda x: inner(x + 1), lambda x: x * 0, x)
    if depth % 3 == 1:
        return lambda x: ng.while_loop(lambda s: s[1] < 1, lambda s: (inner(s[0]), s[1] + 1), (x, 0))[0]
    return lambda x: ng.scan(lambda s, _: (inner(s), None), x, axis=ng.Axis("T", 1))[0]


@pytest.mark.parametrize("target", TARGETS)
def test_depth_is_no_limit(target: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)  # functions of the user call each other
    try:
        deep = nest(300)(X)
    finally:
        sys.setrecursionlimit(limit)
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(deep, X, W)
        assert np.array_equal(computation(ON, ON), (ON + 100) * ON)
        assert np.array_equal(computation(-ON, ON), 0 * ON)
        assert "kernels" in computation.stats() or target == "reference"


def test_operands_of_branches_are_structures() -> None:
    operands: Any = (X, {"n": COUNT, "none": None, "list": [W]})
    y = ng.cond(COUNT > 0, lambda s, w: s[0] * s[1]["list"][0] + w, lambda s, w: s[0] * s[1]["n"], operands, W)
    for count, wanted in ((2, ON * ON + ON), (-2, ON * -2)):
        assert np.array_equal(computed("cpu", y, (COUNT, X, W), count, ON, ON), wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_results_can_be_kept(target: str) -> None:
    either = ng.cond(COUNT > 0, lambda x: x * 2, lambda x: -x, X)
    doubled, steps = ng.while_loop(lambda s: s[1] < COUNT, lambda s: (s[0] * 2, s[1] + 1), (X, 0))
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(either + doubled, COUNT, X, keep=[either, doubled, steps])
        computation(3, ON)
        found = [computation.value(term) for term in (either, doubled, steps)]
    assert np.array_equal(found[0], ON * 2) and np.array_equal(found[1], ON * 8) and found[2] == 3


# -- derivatives -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("count", [0, 1])
def test_derivatives_pass_through_the_branch_that_is_run(target: str, count: int) -> None:
    scale = ng.placeholder([], "float64")

    def f(x: Any, w: Any, scale: Any) -> Any:
        y = x * w + np.exp(scale) if count else -x * x * scale
        return (y * y).sum()

    y = ng.cond(COUNT > 0, lambda x: x * W + ng.exp(scale), lambda x: -x * x * scale, X)
    total = ng.sum(y * y, out_axes=[])
    first = ng.deriv(total, [X, W, scale])
    mixed = ng.deriv(ng.sum(first[0], out_axes=[]), scale)
    values = [ON, ON[::-1], 0.3]
    got = computed(target, [total, *first, mixed], (COUNT, X, W, scale), count, *values)
    assert_allclose(got[0], f(*values), **CLOSE)
    for number in range(3):
        assert_allclose(got[1 + number], slope(f, values, number), rtol=1e-6, atol=1e-7)
    of_first = slope(lambda x, w, scale: slope(f, [x, w, scale], 0).sum(), values, 2)
    assert_allclose(got[4], of_first, rtol=1e-5)


def test_a_derivative_looks_at_each_body_once_however_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Op] = []

    def counted(roots: Any, own: Any, free: Any) -> list[Op]:
        looked.extend(roots := [*roots])
        return binders.body_terms(roots, own, free)

    def deep(x: Any, depth: int) -> Any:
        return ng.cond(x > 1, lambda x: deep(x * 2, depth - 1), lambda x: x, x) if depth else x

    monkeypatch.setattr(scan_adjoint, "body_terms", counted)
    x = ng.placeholder([], "float64")
    ng.deriv(deep(x, 6), x)
    assert len(looked) == 2 * 2 * 6  # of each branch a flag and a value


@pytest.mark.parametrize("target", TARGETS)
def test_derivatives_pass_through_a_loop_with_a_limit(target: str) -> None:
    a = ng.placeholder([], "float64")
    one = ng.constant(1.0, dtype="float64")
    root = ng.while_loop(lambda x: ng.absolute(x * x - a) > 1e-13, lambda x: (x + a / x) / 2, one, limit=30)
    state = (ng.constant(0, dtype="int64"), X)
    power = ng.while_loop(lambda s: s[0] < COUNT, lambda s: (s[0] + 1, s[1] * W), state, limit=6)[1]
    slopes = [ng.deriv(root, a), *ng.deriv(ng.sum(power, out_axes=[]), [X, W])]
    got = computed(target, [root, *slopes], (a, COUNT, X, W), 2.0, 4, ON, ON)
    assert_allclose(got[:2], [2**0.5, 0.5 / 2**0.5], rtol=1e-9)
    assert_allclose(got[2:], [ON**4, 4 * ON**4], **CLOSE)


@pytest.mark.parametrize(("target", "limit"), [(t, n) for t in TARGETS for n in (0, 2)] + [("cpu", 10**9)])
def test_a_loop_with_a_limit_ends_early_if_nobody_asks_for_its_states(target: str, limit: int) -> None:
    state = (X, ng.constant(0))
    x, steps = ng.while_loop(lambda s: s[1] < COUNT, lambda s: (s[0] * W, s[1] + 1), state, limit)
    with ng.make_transformer(target) as transformer:
        power = transformer.computation([x, steps], COUNT, X, W)
        for count in (3, 0, 1):
            got, taken = power(count, ON, ON)
            assert_allclose(got, ON ** (1 + min(count, limit)), **CLOSE)
            assert taken == min(count, limit)
        if target == "cpu":
            assert f" is true, {limit} times at most: " in power.plan()


def test_without_a_limit_there_is_no_derivative_and_it_says_what_to_do() -> None:
    x = ng.while_loop(lambda x: ng.sum(x, out_axes=[]) < 10, lambda x: x * 2, X)
    with pytest.raises(DerivativeError, match=r"depends on values.*\n.*\n  .*limit="):
        ng.deriv(ng.sum(x, out_axes=[]), X)


@pytest.mark.parametrize("target", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
def test_too_many_in_each_other_are_refused_where_the_innermost_is(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (machine, device_loops):
        monkeypatch.setattr(module, "DEEPEST", 2)

    def innermost(x: Any) -> Any:
        return ng.cond(x[0] > 2, lambda x: x * 2, lambda x: x, x)

    def within(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: ng.cond(x[0] > 1, inner, lambda x: x, x)

    x = ng.placeholder((3,))
    line = innermost.__code__.co_firstlineno + 1
    with ng.make_transformer(target) as transformer:
        transformer.computation(within(innermost)(x), x)([3, 4, 5])
        with pytest.raises(KernelError, match="more than 2 deep") as refused:
            transformer.computation(within(within(innermost))(x), x)([3, 4, 5])
    assert refused.value.where == f"{__file__}:{line}"


# -- what is told, and what is refused ---------------------------------------------------------------------------------


def test_a_plan_tells_of_a_loop_whose_steps_nobody_counts() -> None:
    last = ng.while_loop(lambda n: n < COUNT, lambda n: n + 1, 0)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(last, COUNT)
        assert [int(computation(n)) for n in (0, 5)] == [0, 5]
        assert "while the flag at 0 of the arena is true: map_" in computation.plan()
        assert ", a loop while its flag is true (map_" in computation.explain(last).splitlines()[-1]
        assert computation.stats()["launches"] == 3


def test_a_branch_is_one_step_and_known_to_end() -> None:
    """So a call does not look for signals meanwhile, and begins in machine code."""
    y = ng.cond(COUNT > 0, lambda x: x * 2, lambda x: -x, X)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(y, COUNT, X)
        assert [computation(n, [1.0, 2, 3]).tolist() for n in (1, 0)] == [[2, 4, 6], [-1, -2, -3]]
        assert "if the flag at 0 of the arena is true: map_" in computation.plan()
        assert ", a branch if its flag is true (map_" in computation.explain(y).splitlines()[-1]
        assert computation._ready().executable.quick() is not None


def test_a_plan_tells_of_a_loop_in_the_steps_of_another() -> None:
    _, rows = ng.scan(lambda n, _: (n + 1, ng.while_loop(lambda m: m < 9, lambda m: m * 2, n)), COUNT, axis=N)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(rows, COUNT)
        assert computation(3).tolist() == [12, 16]
        assert re.search(r"2 times .*, \(while the flag at \d+ of the arena is true: map_.*\)", computation.plan())


def test_a_loop_without_end_can_be_interrupted() -> None:
    last = ng.while_loop(lambda n: ng.not_equal(n, COUNT), lambda n: n + 1, 0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(last, COUNT)
        assert computation(3) == 3
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        try:
            with pytest.raises(KeyboardInterrupt):
                computation(-1)
        finally:
            signal.signal(signal.SIGALRM, before)
        assert computation(4) == 4


V = ng.variable([H], initial_value=0.0)


def looped(step: Callable[[Any], Any], init: Any, **more: Any) -> Any:
    return ng.while_loop(lambda s: (s if isinstance(s, Op) else s[0]) < 1, step, init, **more)


def either(then: Callable[..., Any], otherwise: Callable[..., Any] = lambda x: x) -> Any:
    return ng.cond(COUNT > 0, then, otherwise, X)


def test_derivatives_through_branches_go_through_no_term_for_each_branch_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a body reads from outside was gone through anew for each: a chain of n branches took the square of n."""

    def work(count: int) -> int:
        gone, y = list[Op](), X
        for _ in range(count):
            y = ng.cond(COUNT > 0, lambda y=y: ng.tanh(y) * W, lambda y=y: y * 2)
            y, _ = ng.scan(lambda s, _, y=y: (s * y + W, None), y, axis=N)
        loss = ng.sum(y, out_axes=[])

        def counted(*arguments: Any) -> list[Op]:
            found = topological(*arguments)
            gone.extend(found)
            return found

        with monkeypatch.context() as patch:
            for module in (binders, swept_terms, scan_adjoint):
                patch.setattr(module, "topological", counted)
            ng.deriv(loss, W)
        return len(gone)

    few, some, many = work(5), work(10), work(20)
    assert many - some == 2 * (some - few)


MISTAKES: list[tuple[type[NGraphRewriteError], str, Callable[[], Any]]] = [
    (DTypeError, "condition is .* of int64", lambda: ng.while_loop(lambda s: s, lambda s: s + 1, 0)),
    (AxesError, "condition is .* of bool.H:3", lambda: looped(lambda s: s + 1, X)),
    (DTypeError, "False, of Python", lambda: ng.while_loop(lambda s: s == 3, lambda s: s + 1, 0)),
    (ArgumentError, "no states", lambda: ng.while_loop(lambda s: np.bool_(True), lambda s: s, None)),
    (DTypeError, "state 0 is int64.* and float64", lambda: looped(lambda s: s * 1.5, 0)),
    (ArgumentError, r"after a step are \*, not \(\*, \*\)", lambda: looped(lambda s: s[0], (0, 0))),
    (LengthError, "the limit", lambda: looped(lambda s: s + 1, 0, limit=-1)),
    (SequencingError, "step assigns", lambda: looped(lambda s: ng.sequential([ng.assign(V, X), s]), 0)),
    (SequencingError, "step draws", lambda: looped(lambda s: s + ng.uniform([]), 0.0)),
    (
        AxesError,
        "cond: the predicate is axes.greater",
        lambda: ng.cond(X > 0, lambda: 1, lambda: 2),
    ),
    (DTypeError, "result 0 is int64.* true and float64", lambda: either(lambda x: 1)),
    (AxesError, "result 0 is float64.* true and float64.H:3", lambda: either(lambda x: ng.sum(x, out_axes=[]))),
    (ArgumentError, r"false are \*, not \(\*, \[\*\]\)", lambda: either(lambda x: (x, [x]))),
    (ArgumentError, "no terms", lambda: either(lambda x: None, lambda x: None)),
    (SequencingError, "branch assigns", lambda: either(lambda x: ng.assign(V, x))),
]


@pytest.mark.parametrize(("error", "says", "call"), MISTAKES)
def test_a_wrong_call_says_what_is_wrong_and_where(
    error: type[NGraphRewriteError], says: str, call: Callable[[], Any]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert type(caught.value) is error and __file__ in str(caught.value)
