# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification, against the sum over all paths."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.errors import DTypeError, UnmatchedAxesError
from ngraph_rewrite.terms.op import Op

CLASSES = 3


def by_paths(activations: Any, labels: Any) -> float:
    """Minus the logarithm of the probability of all paths that become the labels, one by one."""
    p = np.exp(activations - activations.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    times, classes = activations.shape
    found = 0.0
    for path in itertools.product(range(classes), repeat=times):
        if [label for label, _ in itertools.groupby(path) if label] == list(labels):
            found += float(np.prod(p[np.arange(times), path]))
    return -np.log(found) if found else np.inf


class Costs:
    """The cost and its derivative for any lengths, on one target."""

    def __init__(self, target: str) -> None:
        batch = ng.Axis("N")
        self.x = ng.placeholder([ng.Axis("REC"), ng.Axis("C", CLASSES), batch], dtype="float64")
        labels = ng.placeholder([ng.Axis("L"), batch], dtype="int32")
        lens = [ng.placeholder([batch], dtype="int32") for _ in range(2)]
        cost = ng.ctc(self.x, labels, *lens)
        slope = ng.deriv(ng.sum(ng.select(ng.isfinite(cost), cost, 0.0), out_axes=()), self.x)
        self.transformer = ng.make_transformer(target)
        self.computation = self.transformer.computation((cost, slope), self.x, labels, *lens)

    def __call__(self, *values: Any) -> Any:
        return self.computation(*values)


@pytest.fixture(scope="module")
def costs() -> Costs:
    return Costs("cpu")


@st.composite
def batches(draw: st.DrawFn) -> Any:
    """Activations, labels and their lengths; some labels too long for their time."""
    times, most, samples = draw(st.integers(0, 4)), draw(st.integers(0, 3)), draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    labels = random.integers(1, CLASSES, (most, samples))
    ends, steps = random.integers(0, most + 1, samples), random.integers(0, times + 1, samples)
    return random.normal(size=(times, CLASSES, samples)), labels, steps, ends


TOO_SHORT = (np.zeros((1, CLASSES, 1)), np.array([[1], [1]]), np.array([1]), np.array([2]))
DOUBLED = (np.zeros((3, CLASSES, 2)), np.array([[1, 1], [1, 2]]), np.array([3, 2]), np.array([2, 2]))

RANDOM = np.random.default_rng(5)
SEVERAL = (
    RANDOM.normal(size=(4, CLASSES, 3)), RANDOM.integers(1, CLASSES, (3, 3)), np.array([4, 3, 0]), np.array([3, 1, 0])
)  # fmt: skip
NO_TIME = (np.zeros((0, CLASSES, 2)), np.array([[1, 1]]), np.array([0, 0]), np.array([0, 1]))
REFERENCE = Costs("reference")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(batches())
@example(TOO_SHORT)
@example(DOUBLED)
def test_the_cost_is_that_of_all_paths(batch: Any) -> None:
    check(REFERENCE, batch)


@pytest.mark.parametrize("batch", [TOO_SHORT, DOUBLED, SEVERAL, NO_TIME])
def test_so_it_is_on_the_cpu(costs: Costs, batch: Any) -> None:
    check(costs, batch)


def check(costs: Costs, batch: Any) -> None:
    x, labels, steps, ends = batch
    cost, slope = costs(x, labels, steps, ends)
    wanted = [by_paths(x[: steps[n], :, n], labels[: ends[n], n]) for n in range(x.shape[2])]
    assert_allclose(cost, wanted, rtol=1e-10, atol=1e-12)
    assert_allclose(slope, slopes(x, labels, steps, ends), atol=1e-7)  # of differences of 1e-5


def slopes(x: Any, labels: Any, steps: Any, ends: Any) -> Any:
    """The derivative by central differences; zero where the cost is infinite."""
    found = np.zeros(x.shape)
    for t, c, n in np.ndindex(*x.shape):
        if t < steps[n] and np.isfinite(by_paths(x[: steps[n], :, n], labels[: ends[n], n])):
            sides = []
            for sign in (1e-5, -1e-5):
                moved = x[: steps[n], :, n].copy()
                moved[t, c] += sign
                sides.append(by_paths(moved, labels[: ends[n], n]))
            found[t, c, n] = (sides[0] - sides[1]) / 2e-5
    return found


def test_an_impossible_label_costs_infinity_and_has_no_slope(costs: Costs) -> None:
    x = np.random.default_rng(0).normal(size=(3, CLASSES, 3))
    labels = np.array([[CLASSES, 1, 1], [1, 1, 1], [1, 1, 1]])  # no class; no time; fine
    cost, slope = costs(x, labels, [3, 3, 3], [1, 3, 2])
    assert cost.tolist()[:2] == [np.inf, np.inf] and np.isfinite(cost[2])
    assert not slope[:, :, :2].any() and slope[:, :, 2].any() and np.isfinite(slope).all()


def test_long_sequences_do_not_underflow(costs: Costs) -> None:
    """The probability of a path of 800 steps is below what float64 can say."""
    cost, slope = costs(np.zeros((800, CLASSES, 1)), [[1]], [800], [1])
    assert_allclose(cost, 800 * np.log(3) - np.log(800 * 801 / 2), rtol=1e-12)
    assert np.isfinite(slope).all()


def test_without_a_sample_axis() -> None:
    x = ng.placeholder({"REC": 3, "C": CLASSES}, "float64")
    cost = ng.ctc(x, ng.constant([1, 2], {"L": 2}), 3, 2)
    value = np.random.default_rng(1).normal(size=(3, CLASSES))
    with ng.make_transformer("cpu") as transformer:
        assert_allclose(transformer.computation(cost, x)(value), by_paths(value, [1, 2]))


BATCH = ng.Axis("N", 2)
LENS = ng.placeholder([BATCH], dtype="int32")


def leaf(dtype: str, **axes: int) -> Op:
    return ng.placeholder(axes, dtype=dtype)


@pytest.mark.parametrize(
    ("x", "labels"),
    [
        (leaf("float32", C=3, N=2), leaf("int32", L=2, N=2)),
        (leaf("float32", REC=4, N=2), leaf("int32", L=2, N=2)),
        (leaf("float32", REC=4, C=3, D=3, N=2), leaf("int32", L=2, N=2)),
        (leaf("float32", REC=4, C=3, N=2), leaf("int32", L=2)),
        (leaf("float32", REC=4, C=3, N=2), leaf("int32", N=2)),
    ],
)
def test_axes_that_do_not_fit(x: Op, labels: Op) -> None:
    with pytest.raises(UnmatchedAxesError, match=r"ctc: the activations are .*\n  at .*test_ctc.py") as caught:
        ng.ctc(x, labels, LENS, LENS)
    assert "give the activations a recurrent axis" in str(caught.value)


def test_labels_are_integers() -> None:
    with pytest.raises(DTypeError):
        ng.ctc(leaf("float32", REC=4, C=3, N=2), leaf("float32", L=2, N=2), LENS, LENS)
