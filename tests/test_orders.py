# SPDX-License-Identifier: Apache-2.0
"""What follows a convolution is computed in the order in which its kernel stores, whatever the order of axes."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite.terms.op import Op

Array = np.ndarray[Any, Any]
FIRST = (0, 1, 2, 3)  # batch, channels, places
ORDERS = list(itertools.permutations(FIRST))


def channels(x: Op) -> ng.Axis:
    """The axis of channels."""
    return next(a for a in x.axes if a.name == "C")


class Net:
    """A net of images in some order of axes, and its weights; all numbers are float64."""

    def __init__(self, order: Sequence[int], seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.order = tuple(order)
        every = [ng.Axis("N", 3), ng.Axis("C", 2), ng.Axis("H", 8), ng.Axis("W", 6)]
        self.x = ng.placeholder([every[i] for i in order], "float64")
        self.images = self.rng.normal(size=[a.length for a in every])
        self.weights: list[Op] = []

    def weight(self, *axes: ng.Axis) -> Op:
        """A new variable."""
        value = self.rng.normal(size=[a.length for a in axes]) / 3
        self.weights.append(ng.variable(list(axes), dtype="float64", initial_value=value))
        return self.weights[-1]

    def convolution(self, x: Op, count: int, size: int = 3, stride: int = 1) -> Op:
        """Windows of odd size with as many places as images have, or a fraction of these; a bias."""
        window = ng.Axis("R", size), ng.Axis("S", size)
        filters = self.weight(channels(x), *window, ng.Axis("K", count))
        y = ng.convolution(x, filters, padding=size // 2, stride=stride, channel="C", spatial=["H", "W"])
        axes = [ng.Axis("C", count) if a.name == "K" else a for a in y.axes]
        return ng.cast_axes(y, axes) + self.weight(ng.Axis("C", count))

    def computed(self, results: Sequence[Op], target: str = "cpu") -> tuple[list[Array], str]:
        """The values of some results, those that are images in the first order; the plan of a kernel's target."""
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation(list(results), self.x)
            found = computation(self.images.transpose(self.order).copy())
            plan = computation.plan() if target == "cpu" else ""
        back = np.argsort(self.order)
        return [a.transpose(back) if a.ndim == 4 and r.axes == self.x.axes else a for a, r in
                zip(found, results, strict=True)], plan  # fmt: skip


def pooled(kind: str, **how: Any) -> Callable[[Net, Op], Op]:
    return lambda net, x: ng.pooling(x, kind, spatial=["H", "W"], **how)


def normalised(net: Net, x: Op) -> Op:
    return ng.batch_norm(x, net.weight(channels(x)), net.weight(channels(x)))


def joined(net: Net, x: Op) -> Op:
    """Filters of two sizes beside each other."""
    return ng.concat_along_axis([ng.tanh(net.convolution(x, 2)), net.convolution(x, 3, 5)], "C")


def residual(net: Net, x: Op) -> Op:
    return x + ng.sigmoid(net.convolution(x, channels(x).length))


def gated(net: Net, x: Op) -> Op:
    """Two results that lie alike, compared and chosen from."""
    y = net.convolution(x, channels(x).length)
    return ng.select(ng.greater(x, y), x * y, ng.minimum(y, 0.5))


def weighed(net: Net, x: Op) -> Op:
    """An operand that no convolution has a part in, of the same axes."""
    return x * net.weight(*x.axes)


LAYERS: list[Callable[[Net, Op], Op]] = [
    lambda net, x: ng.relu(x),
    lambda net, x: net.convolution(x, 3),
    lambda net, x: net.convolution(x, 2, stride=2) if min(a.length for a in x.axes if a.name in "HW") > 4 else x,
    lambda net, x: net.convolution(x, 4, 1),
    pooled("max", size=2, stride=1),
    pooled("max", size=2, stride=2, padding=1),
    pooled("avg", size=3, stride=1, padding=1),
    normalised,
    joined,
    residual,
    gated,
    weighed,
]  # fmt: skip


def loss_of(net: Net, x: Op) -> Op:
    return ng.mean(ng.square(x) + x, out_axes=[])


@drawn(1)
@given(st.lists(st.integers(0, len(LAYERS) - 1), min_size=1, max_size=4), st.sampled_from(ORDERS), st.integers(0, 99))
@example([6, 2, 3, 9, 11], (2, 1, 3, 0), 0)
@example([4, 5, 8, 7, 10], (0, 2, 1, 3), 1)
def test_a_net_has_the_same_values_and_derivatives_in_any_order(
    layers: list[int], order: Sequence[int], seed: int
) -> None:
    """Every layer at least once; the first one is a convolution and draws begin with a ramp."""
    net = Net(order, seed)
    x = net.convolution(net.x, 3)
    for layer in layers:
        x = LAYERS[layer](net, x)
    loss = loss_of(net, x)
    results = [x, loss, *(ng.deriv(loss, w) for w in [*net.weights, net.x])]
    found, _ = net.computed(results, "cpu")
    expected, _ = net.computed(results, "reference")
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def network(net: Net) -> list[Op]:
    """Convolutions, maps and pooling, twice; the loss and all derivatives."""
    x = net.x
    for count in (4, 3):
        x = ng.pooling(ng.relu(net.convolution(x, count)), "max", size=2, stride=1, spatial=["H", "W"])
    loss = loss_of(net, normalised(net, x))
    return [loss, *(ng.deriv(loss, w) for w in net.weights)]


def launched(plan: str) -> Counter[str]:
    """How often kernels of each kind run, but for copies."""
    kinds = re.findall(r"^\d+: (\w+)_\w{16} ", plan, re.MULTILINE)
    return Counter(kind for kind in kinds if kind != "copy")


@pytest.mark.sampled
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_whatever_the_order_the_launches_are_those_of_the_batch_first(order: Sequence[int]) -> None:
    """Nothing but copies is more: of images as they are given, and of what is no image."""
    plain, other = Net(FIRST), Net(order)
    expected, first = plain.computed(network(plain))
    found, plan = other.computed(network(other))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    assert launched(plan) == launched(first)


def test_what_is_replaced_is_explained_and_found() -> None:
    net = Net((1, 2, 3, 0))
    z = ng.tanh(net.convolution(net.x, 4))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.sum(z, out_axes=[]), net.x, keep=[z])
        computation(net.images.transpose(net.order).copy())
        kept, text = computation.value(z), computation.explain(z)
    assert "orders: computed as a convolution lies  (axes (3, 0, 1, 2) of float64[4, 8, 6, 3])" in text
    (expected,), _ = net.computed([z], "reference")
    np.testing.assert_allclose(kept, expected, rtol=1e-12)


@pytest.mark.parametrize("order", [FIRST, (1, 2, 3, 0)])
def test_where_nothing_is_turned_there_is_no_such_stage(order: Sequence[int]) -> None:
    """The batch comes first, or no convolution has a kernel of its own."""
    net = Net(order)
    result = ng.tanh(net.convolution(net.x, 2) if order == FIRST else net.x)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(result, net.x)
        assert "orders" not in [stage.name for stage in computation.lowering.table.stages]


def test_what_is_given_back_is_not_turned() -> None:
    """What no convolution has a part in would be read across, and the result copied across."""
    net = Net((1, 2, 3, 0))
    result = net.convolution(net.x, 2) * ng.sin(net.x)
    (found,), plan = net.computed([result])
    (expected,), _ = net.computed([result], "reference")
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert re.findall(r"^\d+: (\w+)_\w{16} ", plan, re.MULTILINE) == ["convolution", "map"]
