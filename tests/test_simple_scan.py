# SPDX-License-Identifier: Apache-2.0
"""The scan along R: whatever order the axes stand in and the transformer wants, it is a loop over the steps."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, AxesError, IncompatibleAxesError, UnmatchedAxesError

s, N, R = ng.simple, ng.simple.N, ng.simple.R
LAYOUTS = list(permutations(("F", "R", "N")))
WEIGHTS = np.linspace(-1, 1, 9).reshape(3, 3)
CLOSE = {"rtol": 1e-12, "atol": 1e-13}  # float64, a few steps of sums of three


def shape(layout: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple({"F": 3, "R": R, "N": N}[k] for k in layout)


def looped(x: np.ndarray, layout: tuple[str, ...], reverse: bool) -> tuple[np.ndarray, np.ndarray]:
    """The final state (F, N) and all states (R, F, N) of ``h = tanh(w h + x)``."""
    walked = np.transpose(x, [layout.index(k) for k in ("R", "F", "N")])
    h, found = np.zeros(walked.shape[1:]), np.zeros(walked.shape)
    for t in range(len(walked))[:: -1 if reverse else 1]:
        found[t] = h = np.tanh(WEIGHTS @ h + walked[t])
    return h, found


def recurrent(layout: tuple[str, ...], reverse: bool = False) -> tuple[ng.Op, ng.Op, ng.Op, ng.Op]:
    """The sequence, the weights, the final state and all states."""
    x, w = s.placeholder(shape(layout), "float64"), s.variable((3, 3), "float64", initial_value=WEIGHTS)

    def step(h: ng.Op, x: ng.Op) -> tuple[ng.Op, ng.Op]:
        h = s.tanh(w @ h + x)
        return h, h

    last, states = s.scan(step, s.constant(0, (3, N), "float64"), x, reverse)
    return x, w, last, states


@given(
    layout=st.sampled_from(LAYOUTS),
    times=st.integers(0, 3),
    samples=st.integers(0, 3),
    reverse=st.booleans(),
    sample=st.sampled_from(("first", "last", "any")),
    along=st.sampled_from(("first", "last", "any")),
)
@settings(max_examples=24, deadline=None)
def test_it_is_a_loop(
    layout: tuple[str, ...], times: int, samples: int, reverse: bool, sample: str, along: str
) -> None:
    x, _, last, states = recurrent(layout, reverse)
    value = np.random.default_rng(times).normal(size=[{"F": 3, "R": times, "N": samples}[k] for k in layout])
    with ng.make_transformer("reference", sample=sample, recurrent=along) as transformer:
        found = transformer.computation((last, states), x)(value)
    for a, wanted in zip(found, looped(value, layout, reverse), strict=True):
        assert a.shape == wanted.shape
        assert_allclose(a, wanted, **CLOSE)


@pytest.mark.parametrize("layout", [("F", "R", "N"), ("N", "R", "F")])
def test_values_and_slopes_on_the_cpu(layout: tuple[str, ...]) -> None:
    x, w, last, states = recurrent(layout)
    loss = s.sum(states * states, keep=())
    value = np.random.default_rng(0).normal(size=[{"F": 3, "R": 4, "N": 2}[k] for k in layout])
    found = []
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            found.append(transformer.computation([last, loss, *ng.deriv(loss, [w, x])], x)(value))
    for a, b in zip(*found, strict=True):
        assert_allclose(a, b, **CLOSE)
    assert_allclose(found[0][1], np.sum(looped(value, layout, False)[1] ** 2), **CLOSE)
    end, direction = 1e-6, np.random.default_rng(1).normal(size=value.shape)
    up, down = (np.sum(looped(value + e * direction, layout, False)[1] ** 2) for e in (end, -end))
    # A central difference is off by about the square of its step, and by rounding errors over it.
    assert_allclose(np.sum(found[0][3] * direction), (up - down) / (2 * end), rtol=1e-7)


def test_the_step_sees_n_and_may_turn_a_state_around() -> None:
    seen = []

    def step(h: ng.Op, x: ng.Op) -> tuple[ng.Op, ng.Op]:
        seen.append((h.type, x.type))
        return s.arrange(h + x, sample="last"), s.sum(x)

    x = s.placeholder((N, R, 3))
    last, sums = s.scan(step, s.constant(0.0, (N, 3)), x)
    assert [repr(t) for t in seen[0]] == ["float32[sample:N, 3]"] * 2
    assert repr(last.type) == "float32[sample:N, 3]" and repr(sums.type) == "float32[recurrent:REC, sample:N]"
    value = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    with ng.make_transformer("reference") as transformer:
        a, b = transformer.computation((last, sums), x)(value)
    assert np.array_equal(a, value.sum(1)) and np.array_equal(b, value.sum(2).T)


def test_states_sequences_and_outputs_are_structures_of_any_dtype() -> None:
    def step(state: dict[str, Any], now: tuple[ng.Op, ng.Op]) -> tuple[dict[str, Any], list[Any]]:
        x, y = now
        return {"sum": state["sum"] + x, "steps": state["steps"] + 1}, [x, None, {"y": y}]

    x, y = s.placeholder((R, 2), "int32"), s.placeholder((R,), "bool")
    first = {"sum": s.constant([0, 0], dtype="int32"), "steps": s.constant(0, (), "int8")}
    last, outputs = s.scan(step, first, (x, y))
    assert repr(last["steps"].type) == "int8[]" and outputs[1] is None
    with ng.make_transformer("reference") as transformer:
        compute = transformer.computation([last["sum"], last["steps"], outputs[0], outputs[2]["y"]], x, y)
        total, steps, xs, ys = compute([[1, 2], [3, 4]], [True, False])
    assert total.tolist() == [4, 6] and steps == 2 and xs.tolist() == [[1, 2], [3, 4]] and ys.tolist() == [True, False]


X = s.placeholder((3, R, N))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: s.scan(lambda h, x: (h, x), 0.0, s.placeholder((3, N))), UnmatchedAxesError, "has no axis R"),
        (lambda: s.scan(lambda h, x: (h, x), 0.0, None), ArgumentError, "no sequences"),
        (lambda: s.scan(lambda h, x: (h, x), X, X), AxesError, "has the axis R"),
        (
            lambda: s.scan(lambda h, x: (h, h), 0.0, (s.placeholder((R(2),)), s.placeholder((R(3),)))),
            IncompatibleAxesError,
            "R has length 2 and 3",
        ),
        (lambda: s.scan(lambda h, x: (h + x, h), s.constant(0.0, (3,)), X), AxesError, "before a step and .* after"),
        (lambda: s.scan(lambda h, x: h, s.constant(0.0, (3, N)), X), ArgumentError, "the step returned"),
        (
            lambda: s.scan(lambda h, x: ((h, h), x), s.constant(0.0, (3, N)), X),
            ArgumentError,
            r"the states after a step are \(\*, \*\), not \*",
        ),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_where(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert Path(__file__).name in str(caught.value)
