# SPDX-License-Identifier: Apache-2.0
"""Samples that know nothing of each other go through a loop in bands, each in one thread; others go step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.plan import bands, loops, plan
from ngraph_rewrite.terms.op import Op

Array = np.ndarray[Any, Any]
TIMES, HIDDEN = 5, 6
REC, H, BEFORE = ng.Axis("REC", TIMES), ng.Axis("H", HIDDEN), ng.Axis("before", HIDDEN)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}  # float64, sums in another order
BANDS = "beside each other in "


@pytest.fixture(autouse=True)
def _small_loops_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BANDS_TIME", 0)
    monkeypatch.setattr(bands, "_LEAST", 1)


class Loop:
    """A scan over samples: what its step reads, and values for that."""

    def __init__(self, samples: int, seed: int = 0, times: int = TIMES) -> None:
        self.samples, self.times = ng.Axis("N", samples), ng.Axis("REC", times)
        self.random = np.random.default_rng(seed)
        self.inputs: list[Op] = []
        self.values: list[Array] = []

    def leaf(self, *axes: ng.Axis) -> Op:
        """A new argument."""
        self.inputs.append(ng.placeholder(list(axes), dtype="float64"))
        self.values.append(self.random.normal(size=self.inputs[-1].shape) / 2)  # type: ignore[arg-type]
        return self.inputs[-1]

    def computed(self, results: Sequence[Op], target: str = "cpu", **how: Any) -> tuple[list[Array], str]:
        """The values of results, and what a call does."""
        with ng.make_transformer(target, **how) as transformer:
            computation = transformer.computation(list(results), *self.inputs)
            found = [np.array(a) for a in computation(*self.values)]
            return found, computation.plan() if target == "cpu" else ""

    def check(self, results: Sequence[Op]) -> str:
        """Demand the answers of the reference, and the same bits of any number of threads; what a call does."""
        wanted, _ = self.computed(results, "reference")
        alone, told = self.computed(results, threads=1)
        for a, b in zip(alone, wanted, strict=True):
            assert_allclose(a, b, **CLOSE)
        for threads in (2, 3):
            for a, b in zip(self.computed(results, threads=threads)[0], alone, strict=True):
                assert np.array_equal(a, b)
        return told


def scanned(loop: Loop, step: Callable[[Loop, Op, Op], Op], reverse: bool = False) -> list[Op]:
    """The outputs of a step from a state and a slice of a sequence, the last state, and gradients of all arguments."""
    sequence, start = loop.leaf(loop.times, loop.samples, H), loop.leaf(loop.samples, H)

    def both(h: Op, x: Op) -> tuple[Op, Op]:
        following = ng.axes_with_order(step(loop, h, x), [loop.samples, H])
        return following, following * 2

    last, outputs = ng.scan(both, start, sequence, loop.times, reverse)
    loss = ng.sum(ng.square(outputs), out_axes=()) + ng.sum(last, out_axes=())
    return [outputs, last, *ng.deriv(loss, loop.inputs)]


# -- what a step may do ------------------------------------------------------------------------------------------------


def product(loop: Loop, h: Op, x: Op) -> Op:
    return ng.tanh(ng.dot(ng.map_roles(h, {"H": "before"}), loop.leaf(H, BEFORE)) + x)


def product_of_rows(loop: Loop, h: Op, x: Op) -> Op:
    return ng.tanh(ng.dot(ng.map_roles(h, {"H": "before"}), loop.leaf(BEFORE, H)) + x)


def weights_first(loop: Loop, h: Op, x: Op) -> Op:
    return ng.sigmoid(ng.dot(loop.leaf(H, BEFORE), ng.map_roles(h, {"H": "before"}))) * x


def biased(loop: Loop, h: Op, x: Op) -> Op:
    return ng.sin(h + loop.leaf(H)) * 0.5 + x * loop.leaf()


def masked(loop: Loop, h: Op, x: Op) -> Op:
    return h * loop.leaf(loop.samples, H) + x * loop.leaf(loop.samples)


def normalised(loop: Loop, h: Op, x: Op) -> Op:
    return ng.softmax(h + x, normalization_axes=["H"]) - ng.mean(h, reduction_axes=["H"])


def largest(loop: Loop, h: Op, x: Op) -> Op:
    return h * 0.5 + ng.max(x * h, reduction_axes=["H"])


STEPS = [product, product_of_rows, weights_first, biased, masked, normalised, largest]


@pytest.mark.sampled
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("samples", [32, 53])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_band_is_what_its_samples_are_alone(step: Any, samples: int, reverse: bool) -> None:
    loop = Loop(samples)
    told = loop.check(scanned(loop, step, reverse))
    assert f"{BANDS}{samples // 16} bands" in told


@settings(max_examples=3, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=2, max_size=4), st.integers(32, 70), st.integers(0, 99))
def test_steps_of_steps(steps: list[Any], samples: int, seed: int) -> None:
    loop = Loop(samples, seed)

    def step(loop: Loop, h: Op, x: Op) -> Op:
        for one in steps:
            h = one(loop, h, x)
        return h

    assert BANDS in loop.check(scanned(loop, step))


def mean_of_samples(loop: Loop, h: Op, x: Op) -> Op:
    return h - ng.mean(h, reduction_axes=["N"]) + x


def sample_by_sample(loop: Loop, h: Op, x: Op) -> Op:
    """The matrix has a row for each sample, and one for each sample that it is multiplied with."""
    other = ng.Axis("M", int(loop.samples.length))  # type: ignore[arg-type]
    return ng.dot(loop.leaf(loop.samples, other), ng.cast_axes(h, [other, H])) * 0.1 + x


@pytest.mark.parametrize("step", [mean_of_samples, sample_by_sample])
def test_samples_that_need_each_other_stay_together(step: Any) -> None:
    loop = Loop(32)
    assert BANDS not in loop.check(scanned(loop, step))


def test_few_samples_stay_together() -> None:
    loop = Loop(31)
    assert BANDS not in loop.check(scanned(loop, product))


def test_a_state_without_samples_is_counted_by_all_in_step() -> None:
    loop = Loop(32)
    sequence, start = loop.leaf(loop.times, loop.samples, H), loop.leaf(loop.samples, H)

    def step(state: tuple[Op, Op], x: Op) -> tuple[tuple[Op, Op], Op]:
        h, count = state
        return (h * 0.5 + x * count, count + 1), h

    (last, count), outputs = ng.scan(step, (start, ng.constant(0.0, dtype="float64")), sequence, loop.times)
    assert BANDS not in loop.check([last, count, outputs])


def test_a_state_that_stays_as_it_is() -> None:
    loop = Loop(32)
    sequence, start = loop.leaf(loop.times, loop.samples, H), (loop.leaf(loop.samples, H), loop.leaf(loop.samples))
    (last, kept), outputs = ng.scan(lambda s, x: ((s[0] + x, s[1]), s[0]), start, sequence, loop.times)
    assert BANDS in loop.check([last, kept, outputs])


def test_a_step_of_many_terms() -> None:
    loop = Loop(32)

    def step(loop: Loop, h: Op, x: Op) -> Op:
        for _ in range(600):
            h = ng.absolute(h) - x
        return h

    assert BANDS in loop.check(scanned(loop, step)[:2])


def test_what_is_the_same_for_all_samples_may_change_with_time() -> None:
    loop = Loop(32)
    x, rate, start = loop.leaf(loop.samples, H), loop.leaf(loop.times), loop.leaf(loop.samples, H)
    last, outputs = ng.scan(lambda h, r: (h * r + x, h), start, rate, loop.times)
    assert BANDS in loop.check([last, outputs])


def test_weights_that_fill_the_cache_are_read_by_all_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bands, "_SHARED", 8 * HIDDEN * HIDDEN - 1)
    loop = Loop(32)
    assert BANDS not in loop.check(scanned(loop, product))


def test_what_would_be_computed_by_each_band_again_keeps_them_together() -> None:
    loop = Loop(32)

    def step(loop: Loop, h: Op, x: Op) -> Op:
        weights = ng.tanh(loop.leaf(H, BEFORE) * ng.sum(loop.leaf(loop.times, H), reduction_axes=["REC"]))
        return ng.dot(ng.map_roles(h, {"H": "before"}), weights) + x

    assert BANDS in loop.check(scanned(loop, step)[:2])  # once for all steps
    loop = Loop(32)
    rates, x, start = loop.leaf(loop.times), loop.leaf(loop.samples, H), loop.leaf(loop.samples, H)
    w = loop.leaf(H, BEFORE)
    last, _ = ng.scan(
        lambda h, rate: (ng.dot(ng.map_roles(h, {"H": "before"}), ng.tanh(w * rate)) + x, None), start, rates
    )
    assert BANDS not in loop.check([last])


@pytest.mark.parametrize("times", [1, 7, 8, 9])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_long_loop_goes_in_stretches(monkeypatch: pytest.MonkeyPatch, times: int, reverse: bool) -> None:
    """So Python can look at signals in between; the last stretch may be shorter."""
    wanted = Loop(32, times=times)
    results, _ = wanted.computed(scanned(wanted, product, reverse))
    stretches: list[int] = []
    found = loops._beside

    def short(given: Sequence[Any], length: int, term: Op) -> Any:
        monkeypatch.setattr(loops, "_STRETCH", 4 * sum(one._replace(times=1).weight for one in given))
        made = found(given, length, term)
        stretches.extend(one.times * (one.work[0].work[0].times if one.times > 1 else 1) for one in made)
        return made

    monkeypatch.setattr(loops, "_beside", short)
    loop = Loop(32, times=times)
    for a, b in zip(loop.computed(scanned(loop, product, reverse))[0], results, strict=True):
        assert np.array_equal(a, b)
    assert stretches


def test_a_loop_that_takes_no_time_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BANDS_TIME", 10**9)
    loop = Loop(32)
    assert BANDS not in loop.check(scanned(loop, product))


@pytest.mark.parametrize(("samples", "count"), [(500, 0), (1100, 2), (5000, 9)])
def test_a_band_has_something_to_compute_in_each_step(
    monkeypatch: pytest.MonkeyPatch, samples: int, count: int
) -> None:
    """One number for each sample: bands of sixteen took eight times as long as all in one."""
    monkeypatch.setattr(bands, "_LEAST", 512)
    loop = Loop(samples)
    start = loop.leaf(loop.samples)
    last, _ = ng.scan(lambda h, _: (ng.tanh(h), None), start, axis=REC)
    told = loop.check([last])
    assert f"{BANDS}{count} bands" in told if count else BANDS not in told


def test_a_band_has_something_to_compute_in_each_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four parts of a step of Runge and Kutta, with columns put side by side, each is some kernels."""
    monkeypatch.setattr(bands, "_LEAST", 512)
    loop, parts = Loop(1000), ng.Axis("H", 2)
    start = loop.leaf(loop.samples, parts)

    def step(h: Op, _: None) -> tuple[Op, None]:
        for _part in range(4):
            h = ng.stack([h[:, 1], -h[:, 0]], parts, pos=1) * 0.5 + h
        return h, None

    last, _ = ng.scan(step, start, axis=REC)
    assert f"{BANDS}13 bands" in loop.check([last])


def test_a_loop_in_a_loop() -> None:
    """The inner one goes in bands in each step of the outer one."""
    loop = Loop(32)
    outer = ng.Axis("T", 3)
    start, sequence = loop.leaf(loop.samples, H), loop.leaf(outer, loop.times, loop.samples, H)

    def step(h: Op, xs: Op) -> tuple[Op, Op]:
        last, inner = ng.scan(lambda g, x: (ng.tanh(g + x), g), h, xs, loop.times)
        return last, ng.sum(inner, reduction_axes=["REC"])

    last, outputs = ng.scan(step, start, sequence, outer)
    assert BANDS not in loop.check([last, outputs]).split(BANDS)[0]


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_layers_go_in_bands(kind: str) -> None:
    gates, hidden, before = ng.Axis("gate", 4 if kind == "lstm" else 3), ng.Axis("H", 32), ng.Axis("before", 32)
    loop, F = Loop(32), ng.Axis("F", 3)
    axes = [REC, loop.samples, F], [gates, hidden, F], [gates, hidden, before], [gates, hidden]
    inputs = [loop.leaf(*own) for own in axes]
    outputs = getattr(ng, kind)(*inputs)[0]
    told = loop.check([outputs, *ng.deriv(ng.sum(ng.square(outputs), out_axes=()), inputs)])
    assert told.count(BANDS + "2 bands of samples") == 2


def test_a_cell_with_biases_goes_in_bands_back_too() -> None:
    """What biases and weights get is summed over samples, but of what all steps give, behind the loop."""
    loop = Loop(32)
    results = scanned(loop, lambda loop, h, x: product(loop, h, x + loop.leaf(H)))
    assert loop.check(results).count(BANDS) == 2


def test_explanations_name_the_kernels_of_a_band() -> None:
    loop = Loop(32)
    results = scanned(loop, product)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(results, *loop.inputs)
        computation(*loop.values)
        assert "a loop of 5 steps" in computation.explain(results[0])
