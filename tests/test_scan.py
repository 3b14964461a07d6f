# SPDX-License-Identifier: Apache-2.0
"""Recurrence: a scan gives what its unrolled steps give, and so do its derivatives; it runs as a loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from unrolled import unrolled

import ngraph_rewrite as ng
from ngraph_rewrite.errors import (
    ArgumentError,
    AxesError,
    ComputationError,
    DerivativeError,
    DTypeError,
    DuplicateAxisNames,
    FamilyError,
    IncompatibleAxesError,
    NGraphRewriteError,
    SequencingError,
    UnmatchedAxesError,
)
from ngraph_rewrite.terms.op import Op

R, H, N, K = ng.Axis("REC", 4), ng.Axis("H", 3), ng.Axis("N", 2), ng.Axis("K", 3)
BEFORE = ng.Axis("before", 3)
TARGETS = ["reference", "cpu"]
# Values are of the size of 1 and computed in float64 by the same steps, in another order.
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def leaf(*axes: ng.Axis) -> Op:
    return ng.placeholder(list(axes), dtype="float64")


X, W, H0, B, S = leaf(H, R, N), leaf(H, BEFORE), leaf(H, N), leaf(H), leaf(K, H)
LEAVES = [X, W, H0, B, S]
VALUES = [np.random.default_rng(0).normal(size=[int(a.length) for a in x.axes]) for x in LEAVES]


def computed(target: str, returns: Any, inputs: Any = LEAVES, values: Any = VALUES) -> Any:
    with ng.make_transformer(target) as transformer:
        return transformer.computation(returns, *inputs)(*values)


def total(*terms: Op) -> Op:
    """A scalar that depends on every element."""
    found = [ng.sum(ng.sin(t) + t * t, out_axes=()) for t in terms]
    return found[0] if len(found) == 1 else found[0] + total(*terms[1:])


# -- steps ------------------------------------------------------------------------------------------------


def elman(scan: Any, reverse: bool = False) -> tuple[Op, ...]:
    """A gemm in each step, a weight and a bias from outside, outputs that use slices and old states."""

    def step(h: Op, x: Op) -> Any:
        after = ng.tanh(ng.dot(W, ng.map_roles(h, {"H": "before"})) + x * B)
        return after, {"product": after * x, "before": h}

    h, ys = scan(step, H0, X, reverse=reverse)
    return h, ys["product"], ys["before"]


def swapped(scan: Any) -> tuple[Op, ...]:
    """States that change places, one of them also an output."""
    (a, b), ys = scan(lambda s, x: ((s[1], s[0] * 0.5 + x), [s[0], x]), (H0, H0 * 2), X)
    return a, b, *ys


def counted(scan: Any) -> tuple[Op, ...]:
    """States of several dtypes, which a derivative goes around."""

    def step(s: Any, x: Op) -> Any:
        n, any_, h = s
        big = ng.logical_or(any_, x > 0.5)
        return (n + 1, big, ng.sin(h * x) + ng.cast(n, "float64")), ng.select(big, h, x)

    start = (ng.constant(0, [], dtype="int32"), ng.constant(False, [H, N]), H0)
    (n, any_, h), ys = scan(step, start, X)
    return ng.cast(n, "float64"), ng.cast(any_, "float64"), h, ys


def invariant(scan: Any) -> tuple[Op, ...]:
    """Next states and outputs that no step changes."""
    h, ys = scan(lambda h, x: (B * 2, (x, B + 1, h)), B * 3, X)
    return h, *ys


def several_sequences(scan: Any) -> tuple[Op, ...]:
    """Sequences with the axis at different places, one of them backwards, one a number everywhere."""
    others = (X, ng.axes_with_order(X, [N, H, R])[:, :, ::-1], ng.constant(2.0, [R], dtype="float64"))
    h, ys = scan(lambda h, x: (h * 0.5 + x[0] * x[1] * x[2], ng.max(h, reduction_axes=[N])), H0, others)
    return h, ys


def nested(scan: Any) -> tuple[Op, ...]:
    """A scan in each step of a scan; both read from outside, the inner one also from the outer."""

    def step(h: Op, x: Op) -> Any:
        def inner(c: Op, s: Op) -> Any:
            return ng.tanh(c * s + x + ng.dot(W, ng.map_roles(h, {"H": "before"}))), ng.sin(c * B)

        c, ys = scan(inner, h, S, axis=K, reverse=True)
        return c + x, ng.sum(ys, reduction_axes=[K])

    return scan(step, H0, X)


def chained(scan: Any) -> tuple[Op, ...]:
    """A scan over what a scan gave, backwards."""
    h, ys = scan(lambda h, x: (ng.tanh(h + x), h), H0, X)
    g, zs = scan(lambda h, y: (h * 0.5 + y, y * h), h, ys, reverse=True)
    return g, zs


def squeezed(scan: Any) -> tuple[Op, ...]:
    """A softmax and a product over samples in each step."""

    def step(h: Op, x: Op) -> Any:
        p = ng.softmax(h + x, normalization_axes=[H])
        return p, ng.dot(p, ng.map_roles(x, {"H": "before"}))

    return scan(step, H0, X)


STEPS: list[Callable[..., Any]] = [
    elman, swapped, counted, invariant, several_sequences, nested, chained, squeezed,
    lambda scan: elman(scan, reverse=True),
]  # fmt: skip
NAMES = [s.__name__ for s in STEPS[:-1]] + ["reversed"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", STEPS, ids=NAMES)
def test_a_scan_gives_what_its_steps_give(model: Callable[..., Any], target: str) -> None:
    found, wanted = computed(target, tuple(model(ng.scan))), computed("reference", tuple(model(unrolled)))
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        assert_allclose(a, b, **CLOSE)


@pytest.mark.sampled
@pytest.mark.parametrize("model", STEPS, ids=NAMES)
def test_so_do_its_derivatives_first_and_second(model: Callable[..., Any]) -> None:
    def slopes(scan: Any) -> list[Op]:
        first = ng.deriv(total(*model(scan)), LEAVES)
        return first if model in (chained, squeezed) else [*first, *ng.deriv(total(*first), LEAVES)]

    wanted, found = computed("reference", slopes(unrolled)), computed("cpu", slopes(ng.scan))
    for a, b in zip(found, wanted, strict=True):
        assert_allclose(a, b, rtol=1e-7, atol=1e-9)  # second derivatives are of the size of 1000


def test_derivatives_agree_with_finite_differences() -> None:
    loss = total(*elman(ng.scan))
    step = 1e-5
    with ng.make_transformer("cpu") as transformer:
        value = transformer.computation(loss, *LEAVES)
        slopes = transformer.computation(ng.deriv(loss, LEAVES[:4]), *LEAVES)(*VALUES)
        for i, slope in enumerate(slopes):
            for place in [(0,) * slope.ndim, tuple(n - 1 for n in slope.shape)]:
                sides = []
                for sign in (1, -1):
                    moved = [v.copy() for v in VALUES]
                    moved[i][place] += sign * step
                    sides.append(float(value(*moved)))
                assert np.isclose(slope[place], (sides[0] - sides[1]) / (2 * step), rtol=1e-6, atol=1e-6)


# -- lengths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(times=st.integers(0, 6), samples=st.integers(0, 3), reverse=st.booleans())
def test_any_number_of_steps(target: str, times: int, samples: int, reverse: bool) -> None:
    """Unknown until the call; none at all gives the initial states and empty outputs."""
    x = ng.placeholder([H, ng.Axis("REC"), ng.Axis("N")], dtype="float64")
    first = ng.constant(0.25, [H, ng.Axis("N")], dtype="float64")
    h, ys = ng.scan(lambda h, x: (h * 0.5 + x, h - x), first, x, reverse=reverse)
    slope = ng.deriv(ng.sum(h * h, out_axes=()) + ng.sum(ys, out_axes=()), x)
    value = np.random.default_rng(times).normal(size=(3, times, samples))
    found = computed(target, (h, ys, slope), [x], [value])
    for a, b in zip(found, by_hand(value, reverse), strict=True):
        assert a.shape == b.shape
        assert_allclose(a, b, **CLOSE)


def by_hand(x: np.ndarray, reverse: bool) -> tuple[np.ndarray, ...]:
    order = list(range(x.shape[1]))[:: -1 if reverse else 1]
    h, ys, slope = np.full((3, x.shape[2]), 0.25), np.zeros((x.shape[1], 3, x.shape[2])), np.zeros(x.shape)
    for t in order:
        ys[t], h = h - x[:, t], h * 0.5 + x[:, t]
    d = 2 * h
    for t in order[::-1]:
        slope[:, t], d = d - 1, d * 0.5 + 1
    return h, ys, slope


@pytest.mark.parametrize("target", TARGETS)
def test_without_sequences_the_axis_says_how_often(target: str) -> None:
    fibonacci = (ng.constant(0, [], "int64"), ng.constant(1, [], "int64"))
    (a, _), ys = ng.scan(lambda s, _: ((s[1], s[0] + s[1]), s[0]), fibonacci, axis=ng.Axis("T", 10))
    found = computed(target, (a, ys), (), ())
    assert found[0] == 55 and found[1].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


@pytest.mark.parametrize("target", TARGETS)
def test_by_position_the_first_axis_is_walked(target: str) -> None:
    x = ng.placeholder(ng.anonymous([4, 3]), dtype="float64")
    value = np.arange(12.0).reshape(4, 3)
    start = ng.constant(np.zeros(3))
    h, ys = ng.semi.scan(lambda h, x: (ng.semi.add(h, x), ng.semi.multiply(h, x)), start, x)
    n, _ = ng.semi.scan(lambda n, _: (ng.semi.add(n, 2), None), ng.constant(1, [], "int64"), length=5)
    slope = ng.deriv(ng.semi.sum(ng.semi.multiply(ys, ys), [0, 1]), x)
    found = computed(target, (h, ys, n, slope), [x], [value])
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(value, 0)])
    later = [sum(2 * (sums[t] * value[t]) * value[t] for t in range(s + 1, 4)) for s in range(4)]
    assert_allclose(found[0], sums[-1])
    assert_allclose(found[1], sums[:-1] * value)
    assert found[2] == 11
    assert_allclose(found[3], 2 * sums[:-1] ** 2 * value + np.array([np.zeros(3) + x for x in later]))


# -- a loop, not copies of a step -------------------------------------------------------------------------


def test_a_thousand_steps_compile_as_many_kernels_as_ten() -> None:
    x = ng.placeholder([H, ng.Axis("REC"), N], dtype="float32")
    w = ng.variable([H, BEFORE], initial_value=np.eye(3) * 0.5)

    def step(h: Op, x: Op) -> Any:
        after = ng.tanh(ng.dot(w, ng.map_roles(h, {"H": "before"})) + x)
        return after, after

    h, ys = ng.scan(step, ng.constant(0.0, [H, N]), x)
    loss = ng.sum(ys * ys, out_axes=()) + ng.sum(h, out_axes=())
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([loss, *ng.deriv(loss, [w, x])], x)
        stats = []
        for times in (10, 1000):
            computation(np.ones((3, times, 2), "float32"))
            stats.append(computation.stats())
        assert stats[0]["kernels"] == stats[1]["kernels"]
        assert stats[1]["compiled"] == 0 or stats[0]["compiled"] == stats[1]["compiled"]
        per_step = (stats[1]["launches"] - stats[0]["launches"]) / 990
        assert per_step == int(per_step) < 20


def test_what_does_not_depend_on_a_step_is_computed_once() -> None:
    x, b = ng.placeholder([R, H]), ng.placeholder([H])
    h, _ = ng.scan(lambda h, x: (ng.tanh(h) + x * ng.exp(ng.dot(b, b)), None), ng.constant(0.0, [H]), x)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(h, x, b)
        computation(np.ones((4, 3)), np.zeros(3))
        launches = computation.stats()["launches"]
        assert launches - 4 < 4 <= launches  # one kernel a step


def test_what_nobody_reads_is_not_stored() -> None:
    long = ng.Axis("REC", 1000)
    x = ng.placeholder([long, H])
    (a, _), _ = ng.scan(lambda s, x: ((s[0] + x, s[1] * x), s[0] * x), (ng.constant(0.0, [H]),) * 2, x)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(a, x)
        assert_allclose(computation(np.ones((1000, 3))), 1000)
        assert computation.stats()["arena_bytes"] < 1000


def test_the_kernels_of_a_step_are_shown() -> None:
    h, ys = ng.scan(lambda h, x: (ng.tanh(h + x), h), ng.constant(0.0, [H, N], "float64"), X)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation((h, ys), *LEAVES)
        computation(*VALUES)
        kernels = computation.stats()["kernels"]
        assert all(name in computation.source() for name in kernels)
        said = computation.explain(ys).splitlines()[-1]
        assert re.fullmatch(r"computed by (\w+, )*a loop of 4 steps \(\w+(, \w+)*\)", said)


def test_calls_do_not_disturb_each_other() -> None:
    """Addresses move during a loop, and are where they were afterwards; results of a call stay."""
    h, ys = elman(ng.scan)[:2]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation((h, ys), *LEAVES)
        first = computation(*VALUES)
        kept = [a.copy() for a in first]
        other = computation(*(v * 2 for v in VALUES))
        again = computation(*VALUES)
        for a, b, c, d in zip(first, kept, again, other, strict=True):
            assert a.tobytes() == b.tobytes() == c.tobytes() != d.tobytes()


# -- effects around a scan --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_a_scan_reads_a_variable_as_it_is_at_its_place(target: str) -> None:
    v = ng.variable([H], dtype="float64", initial_value=1.0)
    h, _ = ng.scan(lambda h, x: (h * v + x, None), v * 2, ng.constant(np.ones((4, 3)), [R, H]))
    stored = ng.assign(v, h)
    with ng.make_transformer(target) as transformer:
        program = transformer.computation(ng.sequential([h, stored, ng.make_tuple(v, h)]))
        assert [a.tolist() for a in program()] == [[6.0] * 3, [6.0] * 3]
        assert [a.tolist() for a in program()] == [[15811.0] * 3] * 2
        assert transformer.get(v).tolist() == [15811.0] * 3


@pytest.mark.parametrize("target", TARGETS)
def test_draws_come_in_as_sequences(target: str) -> None:
    noise = ng.uniform([R, H], dtype="float64")
    h, ys = ng.scan(lambda h, e: (h + e, e), ng.constant(0.0, [H], "float64"), noise)
    found = computed(target, (h, ys, noise), (), ())
    assert_allclose(found[0], found[2].sum(0))
    assert found[1].tobytes() == found[2].tobytes()


# -- mistakes ---------------------------------------------------------------------------------------------

FIRST = ng.constant(0.0, [H, N], "float64")
VARIABLE = ng.variable([], "float64")
STATIC = ng.placeholder([H, N], "float64")
OTHER = ng.placeholder([H, ng.Axis("REC", 5), N], "float64")
MISTAKES: list[tuple[type[NGraphRewriteError], str, Callable[[], Any]]] = [
    (DTypeError, r"state 0 is float64\[H:3, N:2\] at first and float32\[H:3, N:2\] after a step",
     lambda: ng.scan(lambda h, x: (ng.cast(h, "float32"), None), FIRST, X)),
    (AxesError, r"state 1 is float64\[\] at first and float64\[H:3, N:2\] after a step",
     lambda: ng.scan(lambda s, x: ((s[0], s[1] + x), None), (FIRST, ng.constant(0.0, [], "float64")), X)),
    (UnmatchedAxesError, "no axis REC", lambda: ng.scan(lambda h, x: (h, None), FIRST, (X, STATIC))),
    (IncompatibleAxesError, "REC has length 4 and 5", lambda: ng.scan(lambda h, x: (h, None), FIRST, (X, OTHER))),
    (IncompatibleAxesError, "REC has length 7 and 4",
     lambda: ng.scan(lambda h, x: (h, None), FIRST, X, axis=ng.Axis("REC", 7))),
    (ArgumentError, "there are no sequences, and axis is None", lambda: ng.scan(lambda h, x: (h, None), FIRST)),
    (ArgumentError, "there are no sequences, and axis is 'REC'",
     lambda: ng.scan(lambda h, x: (h, None), FIRST, axis="REC")),
    (FamilyError, "has no named axes", lambda: ng.scan(lambda h, x: (h, None), 0.0, ng.strip(X))),
    (ArgumentError, "the first sequence has no recurrent axis",
     lambda: ng.scan(lambda h, x: (h, None), FIRST, STATIC)),
    (ArgumentError, "the step returned", lambda: ng.scan(lambda h, x: h, FIRST, X)),
    (ArgumentError, r"the states after a step are \(\*, \*\), not \*",
     lambda: ng.scan(lambda h, x: ((h, h), None), FIRST, X)),
    (DuplicateAxisNames, "cannot get another axis REC", lambda: ng.scan(lambda h, x: (h, X), FIRST, X)),
    (SequencingError, "the step assigns: assign",
     lambda: ng.scan(lambda h, x: (ng.sequential([ng.assign(VARIABLE, 1.0), h]), None), FIRST, X)),
    (SequencingError, "the step assigns: assign",
     lambda: ng.scan(lambda h, x: (ng.sequential([ng.assign(VARIABLE, ng.sum(h, out_axes=())), h]), None), FIRST, X)),
    (ArgumentError, "no sequences and no length", lambda: ng.semi.scan(lambda h, x: (h, None), ng.constant(0.0))),
    (AxesError, "is a number", lambda: ng.semi.scan(lambda h, x: (h, None), ng.constant(0.0), ng.constant(1.0))),
    (FamilyError, "expected anonymous axes", lambda: ng.semi.scan(lambda h, x: (h, None), FIRST, X)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "wrong"), MISTAKES, ids=[str(i) for i in range(len(MISTAKES))])
def test_mistakes_are_said_at_the_users_line(
    error: type[NGraphRewriteError], message: str, wrong: Callable[[], Any]
) -> None:
    with pytest.raises(error, match=message) as caught:
        wrong()
    assert "test_scan.py:" in str(caught.value)


def test_a_term_of_a_step_has_no_value_outside() -> None:
    inside: list[Op] = []

    def step(h: Op, x: Op) -> Any:
        inside.append(h * x)
        return h, None

    h, _ = ng.scan(step, FIRST, X)
    with ng.make_transformer("cpu") as transformer:
        with pytest.raises(ComputationError, match="only inside its step or branch") as caught:
            transformer.computation((h, inside[0]), *LEAVES)
    assert "test_scan.py:" in str(caught.value)
    for ask in (ng.explain, lambda term: ng.why_not("semi.log_exp", term)):
        with pytest.raises(ComputationError, match="ask about, the result of that, or a handle outside"):
            ask(inside[0])


def test_a_derivative_by_a_term_of_a_step() -> None:
    """Outside it has no value; inside, the step may differentiate what it likes."""
    inside: list[Op] = []

    def step(h: Op, x: Op) -> Any:
        inside.append(h * x)
        return ng.deriv(ng.sum(ng.sin(inside[0]), out_axes=()), inside[0]), None

    h, _ = ng.scan(step, H0, X)
    with pytest.raises(DerivativeError, match="stands inside a step, and .* outside of it"):
        ng.deriv(ng.sum(h, out_axes=()), inside[0])
    wanted = VALUES[2]
    for t in range(4):
        wanted = np.cos(wanted * VALUES[0][:, t])
    assert_allclose(computed("cpu", h), wanted, **CLOSE)


def test_descent_along_a_derivative_can_be_differentiated() -> None:
    """Five steps of gradient descent on (h - b) ** 4, and the derivative of where they lead."""

    def descend(h: Op, _: None) -> Any:
        loss = ng.sum((h - B) * (h - B) * (h - B) * (h - B), out_axes=())
        return h - 0.1 * ng.deriv(loss, h), loss

    h, losses = ng.scan(descend, ng.constant(0.0, [H], "float64"), axis=ng.Axis("T", 5))
    found = computed("cpu", (h, losses, ng.deriv(ng.sum(h, out_axes=()), B)))

    def by_hand(b: Any) -> Any:
        h, losses = np.zeros(3), []
        for _ in range(5):
            losses.append(((h - b) ** 4).sum())
            h = h - 0.4 * (h - b) ** 3
        return h, losses

    h, losses = by_hand(VALUES[3])
    assert_allclose(found[0], h, **CLOSE)
    assert_allclose(found[1], losses, **CLOSE)
    assert_allclose(found[2], (by_hand(VALUES[3] + 1e-6)[0] - by_hand(VALUES[3] - 1e-6)[0]) / 2e-6, rtol=1e-6)


def test_functions_are_called_in_steps_and_hold_scans() -> None:
    p, q = ng.parameter([H, N], "float64"), ng.parameter([H, R, N], "float64")
    twice = ng.function([p], ng.tanh(p) * 2.0, name="twice")
    whole = ng.function([q], ng.scan(lambda h, x: (twice(h) + x, None), H0, q)[0], name="whole")
    h = whole(X) + whole(X * 2.0)
    found = computed("cpu", (h, ng.deriv(ng.sum(h, out_axes=()), X)))
    wanted = computed("reference", (h, ng.deriv(ng.sum(h, out_axes=()), X)))
    sums = []
    for factor in (1, 2):
        value = VALUES[2]
        for t in range(4):
            value = 2 * np.tanh(value) + factor * VALUES[0][:, t]
        sums.append(value)
    assert_allclose(found[0], sums[0] + sums[1], **CLOSE)
    for a, b in zip(found, wanted, strict=True):
        assert_allclose(a, b, **CLOSE)


def test_weights_of_any_layout_are_read_in_each_step() -> None:
    """A matrix whose rows lie apart, a part of one, and two axes as one: copied before the loop where it must be."""
    a = ng.placeholder({"H": 3, "Q": 4, "before": 3}, "float64")

    def step(h: Op, x: Op) -> Any:
        y = ng.dot(a, ng.map_roles(h, {"H": "before"}))
        z = ng.map_roles(ng.dot(a[:, 1], x), {"before": "H"})
        return ng.tanh(ng.sum(y, reduction_axes="Q") * 0.2 + z), ng.dot(a, x)

    h, ys = ng.scan(step, H0, X)
    returns = (h, ys, *ng.deriv(total(h, ys), [a, X]))
    values = [np.random.default_rng(3).normal(size=(3, 4, 3)), VALUES[0], VALUES[2]]
    found, wanted = (computed(t, returns, [a, X, H0], values) for t in ("cpu", "reference"))
    for one, two in zip(found, wanted, strict=True):
        assert_allclose(one, two, **CLOSE)
