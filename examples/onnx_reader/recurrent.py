# SPDX-License-Identifier: Apache-2.0
"""Recurrent operators: RNN, GRU and LSTM, in either direction or both, as scans over the steps of a sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader import activations as own
from onnx_reader.table import ModelError, Value, op, term

Numbers = list[float] | None
ACTIVATIONS: dict[str, tuple[Callable[..., Value], tuple[str, ...]]] = {
    "affine": (lambda x, alpha=1.0, beta=0.0: alpha * x + beta, ("alpha", "beta")),
    "elu": (own.elu, ("alpha",)), "hardsigmoid": (own.hard_sigmoid, ("alpha", "beta")),
    "leakyrelu": (own.leaky_relu, ("alpha",)), "relu": (own.relu, ()), "sigmoid": (own.sigmoid, ()),
    "scaledtanh": (lambda x, alpha=1.0, beta=1.0: alpha * np.tanh(beta * x), ("alpha", "beta")),
    "softplus": (own.softplus, ()), "softsign": (own.softsign, ()), "tanh": (np.tanh, ()),
    "thresholdedrelu": (own.thresholded_relu, ("alpha",)),
}  # fmt: skip


def functions(names: Sequence[str], alphas: Numbers, betas: Numbers, clip: float | None) -> list[Any]:
    """Activations by name. The lists of numbers have one for each that takes such a number."""
    numbers = {"alpha": iter(alphas or ()), "beta": iter(betas or ())}
    found = []
    for name in names:
        if name.lower() not in ACTIVATIONS:
            raise ModelError(f"the activation {name} is not supported")
        function, takes = ACTIVATIONS[name.lower()]
        given = {k: v for k in takes if (v := next(numbers[k], None)) is not None}
        found.append(partial(_clipped, partial(function, **given), clip))
    return found


def _clipped(function: Any, clip: float | None, x: Value) -> Value:
    return function(x if clip is None else np.clip(x, -clip, clip))


def directions(direction: str) -> Sequence[bool]:
    """For each direction whether it is that from the end."""
    return {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[direction]


def run(x: ng.Op, steps: Value, states: Sequence[Value], cell: Any, reverse: bool) -> tuple[Value, tuple[Value, ...]]:
    """The first state at each step, and the states at the end. What is behind the end of a sample leaves them."""
    times = ng.numpy.arange(x.shape[0])

    def step(before: tuple[ng.Op, ...], now: tuple[ng.Op, ng.Op]) -> tuple[tuple[ng.Op, ...], ng.Op]:
        after = cell(now[0], *before)
        if steps is None:
            return after, after[0]
        alive = np.expand_dims(now[1] < steps, 1)
        return tuple(np.where(alive, a, b) for a, b in zip(after, before, strict=True)), np.where(alive, after[0], 0)

    final, outputs = ng.numpy.scan(step, tuple(map(term, states)), (x, times), reverse=reverse)
    return outputs, final


class Layer:
    """The inputs and attributes that recurrent operators share, for `gates` gates.

    Args:
        states: First states, one of each kind, or None for zeros.
        names: The activations of one direction, unless the model names others.
    """

    def __init__(
        self, inputs: Sequence[Value], states: Sequence[Value], names: Sequence[str], *, activations: Any, layout: int,
        activation_alpha: Numbers, activation_beta: Numbers, clip: float | None, direction: str,
    ) -> None:  # fmt: skip
        self.x, self.w, self.r, self.b, self.steps = inputs
        self.states, self.layout, self.reverse = states, layout, directions(direction)
        wanted = activations or [*names] * len(self.reverse)
        every = functions(wanted, activation_alpha, activation_beta, clip)
        self.functions = [every[d * len(names) : (d + 1) * len(names)] for d in range(len(self.reverse))]

    def run(self, cell: Callable[..., tuple[Value, ...]]) -> tuple[Value, ...]:
        """Outputs (steps, directions, samples, hidden), and the states at the end.

        `cell` is one step: of a direction, what the input gives the gates, the recurrent weights and their bias, and
        the states before.
        """
        x = term(np.swapaxes(self.x, 0, 1) if self.layout else self.x)
        pairs = [
            run(*self.prepared(x, d), partial(cell, d, *self.recurrent(d)), back) for d, back in enumerate(self.reverse)
        ]
        outputs, finals = (
            np.stack([y for y, _ in pairs], 1),
            [np.stack(s) for s in zip(*(f for _, f in pairs), strict=True)],
        )
        if not self.layout:
            return (outputs, *finals)
        return (np.transpose(outputs, (2, 0, 1, 3)), *(np.swapaxes(s, 0, 1) for s in finals))

    def prepared(self, x: ng.Op, d: int) -> tuple[ng.Op, Value, list[Value]]:
        """What the input gives the gates at all times, the number of steps, and the first states."""
        z = np.matmul(x, np.transpose(self.w[d]))
        z = z if self.b is None else z + self.b[d, : self.w.shape[1]]
        zeros = ng.numpy.zeros((x.shape[1], self.r.shape[2]), dtype=x.dtype)
        own = [zeros if s is None else s[:, d] if self.layout else s[d] for s in self.states]
        return z, self.steps, own

    def recurrent(self, d: int) -> tuple[Value, Value]:
        """The recurrent weights of a direction, to multiply states with, and their bias."""
        none = ng.numpy.zeros(self.w.shape[1], dtype=self.w.dtype)
        return np.transpose(self.r[d]), none if self.b is None else self.b[d, self.w.shape[1] :]


def _gates(z: Value, count: int) -> list[Value]:
    """What each gate gets: neighbouring parts of equal length."""
    each = z.shape[-1] // count
    return [z[..., k * each : (k + 1) * each] for k in range(count)]


@op("RNN")
def rnn(
    x: Value, w: Value, r: Value, b: Value = None, steps: Value = None, h: Value = None, *, activations: Any = None,
    activation_alpha: Numbers = None, activation_beta: Numbers = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0,
) -> tuple[Value, ...]:  # fmt: skip
    layer = Layer(
        (x, w, r, b, steps), [h], ["Tanh"], activations=activations, activation_alpha=activation_alpha,
        activation_beta=activation_beta, clip=clip, direction=direction, layout=layout,
    )  # fmt: skip

    def cell(d: int, u: Value, bias: Value, z: Value, h: Value) -> tuple[Value, ...]:
        return (layer.functions[d][0](z + (h @ u + bias)),)

    return layer.run(cell)


@op("GRU")
def gru(
    x: Value, w: Value, r: Value, b: Value = None, steps: Value = None, h: Value = None, *, activations: Any = None,
    activation_alpha: Numbers = None, activation_beta: Numbers = None, clip: float | None = None,
    direction: str = "forward", hidden_size: int = 0, layout: int = 0, linear_before_reset: int = 0,
) -> tuple[Value, ...]:  # fmt: skip
    layer = Layer(
        (x, w, r, b, steps), [h], ["Sigmoid", "Tanh"], activations=activations, activation_alpha=activation_alpha,
        activation_beta=activation_beta, clip=clip, direction=direction, layout=layout,
    )  # fmt: skip

    def cell(d: int, u: Value, bias: Value, z: Value, h: Value) -> tuple[Value, ...]:
        f, g = layer.functions[d]
        size = h.shape[-1]
        update, reset = (f(v) for v in _gates(z[:, : 2 * size] + (h @ u[:, : 2 * size] + bias[: 2 * size]), 2))
        own, more = u[:, 2 * size :], bias[2 * size :]
        inner = reset * (h @ own + more) if linear_before_reset else (reset * h) @ own + more
        return ((1 - update) * g(z[:, 2 * size :] + inner) + update * h,)

    return layer.run(cell)


@op("LSTM")
def lstm(
    x: Value, w: Value, r: Value, b: Value = None, steps: Value = None, h: Value = None, c: Value = None,
    peep: Value = None, *, activations: Any = None, activation_alpha: Numbers = None, activation_beta: Numbers = None,
    clip: float | None = None, direction: str = "forward", hidden_size: int = 0, input_forget: int = 0, layout: int = 0,
) -> tuple[Value, ...]:  # fmt: skip
    """The gates are input, output, forget and cell; the first three may see the cell, too (`peep`)."""
    layer = Layer(
        (x, w, r, b, steps), [h, c], ["Sigmoid", "Tanh", "Tanh"], activations=activations,
        activation_alpha=activation_alpha, activation_beta=activation_beta, clip=clip, direction=direction,
        layout=layout,
    )  # fmt: skip

    def cell(d: int, u: Value, bias: Value, z: Value, h: Value, c: Value) -> tuple[Value, ...]:
        f, g, squash = layer.functions[d]
        enter, leave, forget, new = _gates(z + (h @ u + bias), 4)
        see_enter, see_leave, see_forget = (0, 0, 0) if peep is None else _gates(peep[d], 3)
        kept = f(enter + see_enter * c)
        lost = 1 - kept if input_forget else f(forget + see_forget * c)
        following = lost * c + kept * g(new)
        return f(leave + see_leave * following) * squash(following), following

    return layer.run(cell)
