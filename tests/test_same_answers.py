# SPDX-License-Identifier: Apache-2.0
"""Cases in which the two targets once gave different answers, each as small as it gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng

A, N = ng.Axis("A", 3), ng.Axis("N")


def both(result: ng.Op, inputs: list[ng.Op], values: list[Any]) -> list[Any]:
    """What the reference and the cpu target make of the same graph."""
    found = []
    for name in ("reference", "cpu"):
        with ng.make_transformer(name) as transformer:
            found.append(transformer.computation(result, *inputs)(*values))
    return found


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ng.softmax(x, [N]),
        lambda x: ng.logsumexp(x, [N]),
        lambda x: ng.cross_entropy_multi(ng.softmax(x, [N]), x * 0, out_axes=[A]),
        lambda x: ng.sum(x, out_axes=[A]),
    ],
)
def test_an_unknown_length_may_turn_out_to_be_zero(function: Callable[[ng.Op], ng.Op]) -> None:
    x = ng.placeholder([A, N])
    reference, cpu = both(function(x), [x], [np.ones((3, 0), np.float32)])
    assert np.array_equal(reference, cpu)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_a_negative_power_of_an_integer_is_truncated(dtype: str) -> None:
    x, y = ng.placeholder([A], dtype), ng.placeholder([A], dtype)
    values = [np.array([2, 1, -1], dtype), np.array([-1, -2, -3], dtype)]
    reference, cpu = both(x**y, [x, y], values)
    assert list(cpu) == list(reference) == [0, 1, -1]


def test_a_softmax_in_another_order_still_has_a_stable_cross_entropy() -> None:
    """Logits of 1000 make the loss of a softmax infinite and its gradient NaN, unless the pair is recognized."""
    x, t = ng.placeholder([A, N]), ng.placeholder([N, A])
    y = ng.axes_with_order(ng.softmax(x, [A]), [N, A])
    loss = ng.cross_entropy_multi(y, t, out_axes=[])
    logits = np.array([[1000.0], [0.0], [-1000.0]], np.float32)
    targets = np.array([[0.0, 0.0, 1.0]], np.float32)
    with ng.make_transformer("cpu") as transformer:
        value, gradient = transformer.computation([loss, ng.deriv(loss, x)], x, t)(logits, targets)
    assert value == 2000
    assert gradient[:, 0].tolist() == [1, 0, -1]
