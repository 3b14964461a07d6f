# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: LSTM and GRU against loops in NumPy, their derivatives, both directions, any length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, AxesError, FamilyError, UnmatchedAxesError
from ngraph_rewrite.terms.op import Op

TIMES, FEATURES, HIDDEN, SAMPLES = 5, 4, 3, 2
F, R, N, H = ng.Axis("F", FEATURES), ng.Axis("REC", TIMES), ng.Axis("N", SAMPLES), ng.Axis("H", HIDDEN)
BEFORE = ng.Axis("before", HIDDEN)
CLOSE = {"rtol": 1e-11, "atol": 1e-12}  # float64, five steps of sums of four
STEP = 1e-5


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm_by_hand(x: Any, w: Any, u: Any, b: Any, h: Any, c: Any, order: Any) -> Any:
    ys = np.zeros((x.shape[1], *h.shape))
    for t in order:
        i, f, g, o = np.einsum("ghf,fn->ghn", w, x[:, t]) + np.einsum("ghk,kn->ghn", u, h) + b[:, :, None]
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        ys[t] = h = sigmoid(o) * np.tanh(c)
    return ys.transpose(0, 2, 1), h.T, c.T


def gru_by_hand(x: Any, w: Any, u: Any, b: Any, h: Any, order: Any) -> Any:
    ys = np.zeros((x.shape[1], *h.shape))
    for t in order:
        z = np.einsum("ghf,fn->ghn", w, x[:, t]) + b[:, :, None]
        r, s = sigmoid(z[0] + u[0] @ h), sigmoid(z[1] + u[1] @ h)
        ys[t] = h = s * h + (1 - s) * np.tanh(z[2] + u[2] @ (r * h))
    return ys.transpose(0, 2, 1), h.T


class Layer:
    """Terms and values of a layer with this number of gates."""

    def __init__(self, gates: int, times: int | None = TIMES, dtype: str = "float64") -> None:
        gate = ng.Axis("gate", gates)
        axes = [[F, ng.Axis("REC", times), N], [gate, H, F], [gate, H, BEFORE], [gate, H], [H, N], [H, N]]
        self.terms: list[Op] = [ng.placeholder(a, dtype=dtype) for a in axes]
        random = np.random.default_rng(gates)
        shapes = [[TIMES if a.name == "REC" else int(a.length) for a in own] for own in axes]
        self.values = [random.normal(size=s) for s in shapes]


def computed(target: str, returns: Any, layer: Layer) -> Any:
    with ng.make_transformer(target) as transformer:
        return transformer.computation(returns, *layer.terms)(*layer.values)


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("times", [TIMES, None])
def test_lstm_is_its_equations(target: str, reverse: bool, times: int | None) -> None:
    layer = Layer(4, times)
    x, w, u, b, h, c = layer.terms
    ys, (last, memory) = ng.lstm(x, w, u, b, (h, c), reverse=reverse)
    order = range(TIMES)[:: -1 if reverse else 1]
    found = computed(target, (ys, last, memory), layer)
    for a, wanted in zip(found, lstm_by_hand(*layer.values, order), strict=True):
        assert_allclose(a, wanted, **CLOSE)


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("times", [TIMES, None])
def test_gru_is_its_equations(target: str, reverse: bool, times: int | None) -> None:
    layer = Layer(3, times)
    x, w, u, b, h, _ = layer.terms
    ys, last = ng.gru(x, w, u, b, h, reverse=reverse)
    order = range(TIMES)[:: -1 if reverse else 1]
    found = computed(target, (ys, last), layer)
    for a, wanted in zip(found, gru_by_hand(*layer.values[:5], order), strict=True):
        assert_allclose(a, wanted, **CLOSE)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_states_are_zero_and_biases_none_by_default(target: str) -> None:
    layer, zero = Layer(4), np.zeros((HIDDEN, SAMPLES))
    x, w, u = layer.terms[:3]
    ys, (_, c) = ng.lstm(x, w, u)
    wanted = lstm_by_hand(*layer.values[:3], np.zeros((4, HIDDEN)), zero, zero, range(TIMES))
    for a, b in zip(computed(target, (ys, c), layer), (wanted[0], wanted[2]), strict=True):
        assert_allclose(a, b, **CLOSE)


def by_differences(function: Any, values: list[Any], number: int) -> Any:
    """The derivative of a function of arrays by one of them, by central differences."""
    slope = np.zeros(values[number].shape)
    for place in np.ndindex(*slope.shape):
        sides = []
        for sign in (1, -1):
            moved = [v.copy() for v in values]
            moved[number][place] += sign * STEP
            sides.append(function(moved))
        slope[place] = (sides[0] - sides[1]) / (2 * STEP)
    return slope


def test_the_derivatives_of_lstm() -> None:
    layer = Layer(4)
    x, w, u, b, h, c = layer.terms
    ys, (last, memory) = ng.lstm(x, w, u, b, (h, c))
    loss = ng.sum(ys * ys, out_axes=()) + ng.sum(last * memory, out_axes=())

    def by_hand(values: list[Any]) -> float:
        ys, h, c = lstm_by_hand(*values, range(TIMES))
        return float((ys * ys).sum() + (h * c).sum())

    for i, found in enumerate(computed("cpu", ng.deriv(loss, layer.terms), layer)):
        assert_allclose(found, by_differences(by_hand, layer.values, i), rtol=1e-6, atol=1e-7)


def test_the_derivatives_of_gru() -> None:
    layer = Layer(3)
    x, w, u, b, h, _ = layer.terms
    ys, last = ng.gru(x, w, u, b, h, reverse=True)
    loss = ng.sum(ys * ys, out_axes=()) + ng.sum(ng.sin(last), out_axes=())

    def by_hand(values: list[Any]) -> float:
        ys, h = gru_by_hand(*values[:5], range(TIMES)[::-1])
        return float((ys * ys).sum() + np.sin(h).sum())

    for i, found in enumerate(computed("cpu", ng.deriv(loss, layer.terms[:5]), layer)):
        assert_allclose(found, by_differences(by_hand, layer.values, i), rtol=1e-6, atol=1e-7)


def test_features_may_be_several_axes_and_samples_none() -> None:
    x = ng.placeholder({"A": 2, "REC": 3, "B": 2}, "float64")
    w = ng.placeholder({"gate": 3, "H": 3, "B": 2, "A": 2}, "float64")
    u = ng.placeholder({"gate": 3, "H": 3, "before": 3}, "float64")
    ys, h = ng.gru(x, w, u)
    assert (ys.axes, h.axes) == (ng.Axes({"REC": 3, "H": 3}), ng.Axes({"H": 3}))
    values = [np.random.default_rng(0).normal(size=t.shape) for t in (x, w, u)]
    flat = values[0].transpose(0, 2, 1).reshape(4, 3)[:, :, None], values[1].transpose(0, 1, 3, 2).reshape(3, 3, 4)
    wanted = gru_by_hand(*flat, values[2], np.zeros((3, 3)), np.zeros((3, 1)), range(3))
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation((ys, h), x, w, u)(*values)
    assert_allclose(found[0], wanted[0][:, 0], **CLOSE)
    assert_allclose(found[1], wanted[1][0], **CLOSE)


def test_a_layer_learns_what_came_first() -> None:
    """The first symbol of a sequence is told at its end: impossible without a memory."""
    random = np.random.default_rng(0)
    x = ng.placeholder([ng.Axis("F", 2), ng.Axis("REC"), ng.Axis("N")])
    wanted = ng.placeholder([ng.Axis("N")])
    gates = {"gate": 4, "H": 8}
    shapes: list[dict[str, int]] = [{**gates, "F": 2}, {**gates, "before": 8}, gates, {"H": 8}]
    weights = [ng.variable(s, initial_value=random.normal(size=list(s.values())) * 0.4) for s in shapes]
    _, (h, _) = ng.lstm(x, *weights[:3])
    loss = ng.mean(ng.square(ng.dot(weights[3], h) - wanted), out_axes=())
    slopes = ng.deriv(loss, weights)
    train = ng.doall([ng.assign(v, v - 0.5 * d) for v, d in zip(weights, slopes, strict=True)])
    with ng.make_transformer("cpu") as transformer:
        step = transformer.computation([loss, train], x, wanted)
        losses = []
        for _ in range(200):
            first = random.integers(0, 2, 16)
            value = random.normal(size=(2, 4, 16)).astype("float32") * 0.1
            value[0, 0] = first
            losses.append(float(step(value, first.astype("float32"))[0]))
    assert np.mean(losses[-10:]) < 0.05 < 0.2 < losses[0]


WRONG: list[tuple[type[Exception], str, Any]] = [
    (AxesError, "give three axes: 4 gates", lambda x, w, u: ng.lstm(x, w, w)),
    (AxesError, "give three axes: 3 gates", lambda x, w, u: ng.gru(x, w, u)),
    (AxesError, "give three axes: 4 gates", lambda x, w, u: ng.lstm(x, w, u[:, :, 0])),
    (FamilyError, "lstm: .* has no named axes", lambda x, w, u: ng.lstm(ng.strip(x), w, u)),
    (FamilyError, "gru: .* has no named axes", lambda x, w, u: ng.gru(x, ng.strip(w), u)),
    (ArgumentError, "has no axis of time steps", lambda x, w, u: ng.lstm(x[:, 0], w, u)),
    (ArgumentError, "has no axis T", lambda x, w, u: ng.lstm(x, w, u, axis="T")),
    (UnmatchedAxesError, "the input weights .* lack the axis gate:4", lambda x, w, u: ng.lstm(x, w[0], u)),
    (UnmatchedAxesError, "the state .* lacks the axis H:3",
     lambda x, w, u: ng.lstm_cell(ng.dot(w, x[:, 0]), (x[:, 0], x[:, 0]), u)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "wrong"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_mistakes(error: type[Exception], message: str, wrong: Any) -> None:
    x, w, u = Layer(4).terms[:3]
    with pytest.raises(error, match=message) as caught:
        wrong(x, w, u)
    assert "test_recurrent.py:" in str(caught.value)
