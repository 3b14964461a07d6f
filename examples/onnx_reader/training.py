# SPDX-License-Identifier: Apache-2.0
"""Training operators (``ai.onnx.preview.training``): derivatives, and steps of optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, op, term

TRAINING = "ai.onnx.preview.training."


@op(f"{TRAINING}Gradient")
def gradient(*inputs: Value, xs: Sequence[str], y: str, zs: Sequence[str] = (), scope: Mapping[str, Value]) -> Any:
    """The slopes of a value of the graph by others. It has to be named where they are inputs of the node, too."""
    return tuple(ng.deriv(ng.numpy.sum(scope[y]), [scope[x] for x in xs]))


def _stepped(function: Callable[..., tuple[Value, ...]], tensors: Sequence[Value], kinds: int) -> Any:
    """What a step gives of each tensor: all new tensors, then all they remember of one kind, and so on."""
    size = len(tensors) // kinds
    groups = [tensors[k * size : (k + 1) * size] for k in range(kinds)]
    found = [function(*map(term, one)) for one in zip(*groups, strict=True)]
    return tuple(v for kind in zip(*found, strict=True) for v in kind)


@op(f"{TRAINING}Momentum")
def momentum(
    rate: Value, count: Value, *tensors: Value, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> Any:
    def step(x: Value, slope: Value, speed: Value) -> tuple[Value, ...]:
        slope = norm_coefficient * x + slope
        speed = alpha * speed + np.where(count > 0, beta, 1.0) * slope
        return x - rate * (slope + alpha * speed if mode == "nesterov" else speed), speed

    return _stepped(step, tensors, 3)


@op(f"{TRAINING}Adagrad")
def adagrad(
    rate: Value, count: Value, *tensors: Value, decay_factor: float = 0.0, epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> Any:  # fmt: skip
    speed = rate / (1 + ng.numpy.astype(term(count), rate.dtype) * decay_factor)

    def step(x: Value, slope: Value, squares: Value) -> tuple[Value, ...]:
        slope = norm_coefficient * x + slope
        squares = squares + slope * slope
        return x - speed * slope / (np.sqrt(squares) + epsilon), squares

    return _stepped(step, tensors, 3)


@op(f"{TRAINING}Adam")
def adam(
    rate: Value, count: Value, *tensors: Value, alpha: float = 0.9, beta: float = 0.999, epsilon: float = 1e-6,
    norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    times = ng.numpy.astype(term(count), rate.dtype)
    unbiased = np.where(times > 0, rate * np.sqrt(1 - beta**times) / (1 - alpha**times), rate)

    def step(x: Value, slope: Value, mean: Value, squares: Value) -> tuple[Value, ...]:
        slope = norm_coefficient * x + slope
        mean, squares = alpha * mean + (1 - alpha) * slope, beta * squares + (1 - beta) * slope * slope
        following = x - unbiased * mean / (np.sqrt(squares) + epsilon)
        return (1 - norm_coefficient_post) * following, mean, squares

    return _stepped(step, tensors, 4)
