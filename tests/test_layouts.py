# SPDX-License-Identifier: Apache-2.0
"""The same model, wherever a transformer wants N and R: the same values, and movement at the border only."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.plan.copies import LayoutCopy
from ngraph_rewrite.plan.plan import make_plan
from ngraph_rewrite.targets.evaluation import evaluate
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

N, R = ng.simple.N, ng.simple.R
PLACES = ("first", "last", "any")
FEW = settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

Model = tuple[list[Op], list[Op], list[Any]]  # results, inputs, their values


def weights(rng: np.random.Generator, *shape: int) -> Op:
    return ng.simple.variable(shape, "float64", initial_value=rng.normal(size=shape) / 2)


def data(rng: np.random.Generator, shape: tuple[Any, ...]) -> tuple[Op, Any]:
    x = ng.simple.placeholder(shape, "float64")
    return x, rng.normal(size=[int(n) for n in x.shape])


ACTIVATIONS: list[Callable[[Any], Op]] = [ng.simple.tanh, ng.simple.relu, ng.simple.sigmoid, ng.simple.softmax]


@st.composite
def perceptrons(draw: st.DrawFn) -> Model:
    """Some layers on a batch given either way, its last activations, a loss and the gradient of every weight."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    sizes = draw(st.lists(st.integers(2, 5), min_size=2, max_size=4))
    first = draw(st.booleans())
    x, value = data(rng, (N(6), sizes[0]) if first else (sizes[0], N(6)))
    h = x
    for size, more in itertools.pairwise(sizes):
        z = draw(st.sampled_from([weights(rng, more, size) @ h, h @ weights(rng, size, more)]))
        h = draw(st.sampled_from(ACTIVATIONS))(z + weights(rng, more))
    loss = ng.simple.mean(ng.simple.squared_L2(h), keep=())
    return [h, loss, *ng.deriv(loss, loss.variables())], [x], [value]


@st.composite
def recurrent_cells(draw: st.DrawFn) -> Model:
    """A recurrent cell, unrolled over a sequence given in any order, its last state, a loss and its gradients."""
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    steps, features, hidden = draw(st.integers(1, 4)), draw(st.integers(2, 4)), draw(st.integers(2, 4))
    order = draw(st.permutations([features, R(steps), N(5)]))
    x, value = data(rng, tuple(order))
    z = weights(rng, hidden, features) @ x + weights(rng, hidden)
    u, h = weights(rng, hidden, hidden), ng.simple.tanh(ng.simple.slice_axis(z, R, 0))
    for step in range(1, steps):
        h = ng.simple.tanh(ng.simple.slice_axis(z, R, step) + u @ h)
    loss = ng.simple.mean(ng.simple.square(h), keep=())
    return [h, loss, *ng.deriv(loss, loss.variables())], [x], [value]


def computed(model: Model, name: str, **places: str) -> tuple[list[Any], dict[str, Any]]:
    """The values of a model and the statistics of the call."""
    results, inputs, values = model
    with ng.make_transformer(name, **places) as transformer:  # type: ignore[arg-type]
        computation = transformer.computation(results, *inputs)
        return computation(*values), computation.stats()


def evaluated(model: Model, **places: str) -> tuple[list[Any], list[Op], list[LayoutCopy]]:
    """The values of what a model is lowered to, the terms themselves, and the layout copies that are planned."""
    results, inputs, values = model
    with ng.make_transformer("cpu", **places) as transformer:  # type: ignore[arg-type]
        roots = transformer.computation(results, *inputs).lowering.roots
        leaves = topological(roots)
        given = {t: transformer.get(t) for t in leaves if t.definition.name == "core.variable"}
    by_uid = {x.attribute("uid"): v for x, v in zip(inputs, values, strict=True)}
    given |= {t: by_uid[t.attribute("uid")] for t in leaves if t.definition.name == "core.placeholder"}
    known = evaluate(roots, given)
    return [known[r] for r in roots], roots, make_plan(roots, []).copies


def inner_movement(roots: list[Op]) -> list[Op]:
    """Transposes of what is computed, beside those that make a result, or an operand that is read transposed."""
    border = [t.args[0] if t.definition.name == "core.label" else t for t in roots]
    free = {a for t in topological(roots) if t.definition.name in ("semi.batch_dot", "cpu.gemm") for a in t.args}
    found = []
    for term in topological(roots):
        if term.definition.name == "semi.transpose" and term not in border and term not in free:
            arg = term.args[0]
            while arg.definition.name in ("core.strip", "semi.slice", "semi.reshape"):
                arg = arg.args[0]
            found += [term] if arg.args else []
    return found


@pytest.mark.parametrize("model", [perceptrons, recurrent_cells], ids=lambda m: m.__name__)
@FEW
@given(draw=st.data(), sample=st.sampled_from(PLACES), recurrent=st.sampled_from(PLACES))
def test_a_model_has_the_same_values_and_moves_at_the_border_only(
    model: Any, draw: st.DataObject, sample: str, recurrent: str
) -> None:
    drawn: Model = draw.draw(model())
    wanted, _ = computed(drawn, "reference")
    found, roots, copies = evaluated(drawn, sample=sample, recurrent=recurrent)
    for left, right in zip(wanted, found, strict=True):
        np.testing.assert_allclose(right, left, rtol=1e-10, atol=1e-12)
    assert inner_movement(roots) == []
    results, inputs, values = drawn
    border = [int(t.size) * 8 for t in (*results, *inputs) if any(a.roles for a in t.axes)]  # type: ignore[arg-type]
    forward = evaluated((results[:2], inputs, values), sample=sample, recurrent=recurrent)[2]
    assert len(forward) <= len(border)
    # a gradient may read an input as a matrix and transposed, and where strides say neither there are two copies
    assert len(copies) <= len(border) + len(inputs)
    assert all(c.bytes in border for c in (*copies, *forward))


@pytest.mark.parametrize("model", [perceptrons, recurrent_cells], ids=lambda m: m.__name__)
@FEW
@given(draw=st.data())
def test_without_a_preference_nothing_is_copied(model: Any, draw: st.DataObject) -> None:
    assert evaluated(draw.draw(model()), sample="any", recurrent="any")[2] == []


@pytest.mark.parametrize("places", [("first", "first"), ("last", "last"), ("any", "any"), ("last", "first")])
def test_kernels_compute_what_the_meanings_say(places: tuple[str, str]) -> None:
    rng = np.random.default_rng(7)
    x, value = data(rng, (N(5), R(3), 4))
    z = weights(rng, 6, 4) @ x + weights(rng, 6)
    h = ng.simple.tanh(ng.simple.slice_axis(z, R, 0) + weights(rng, 6, 6) @ ng.simple.mean(z, R))
    model: Model = ([h, *ng.deriv(ng.simple.sum(h, keep=()), h.variables())], [x], [value])
    wanted, _ = computed(model, "reference")
    found, _ = computed(model, "cpu", sample=places[0], recurrent=places[1])
    for left, right in zip(wanted, found, strict=True):
        np.testing.assert_allclose(right, left, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("first", "place"), list(itertools.product((True, False), ("first", "last"))))
def test_a_batch_given_as_preferred_is_not_copied_and_one_given_otherwise_once(first: bool, place: str) -> None:
    rng = np.random.default_rng(0)
    x, value = data(rng, (N(6), 4) if first else (4, N(6)))
    y = ng.simple.tanh(weights(rng, 3, 4) @ x + weights(rng, 3))
    _, stats = computed(([y], [x], [value]), "cpu", sample=place)
    assert stats["layout_copies"] == (0 if first == (place == "first") else 1)  # the result; gemm reads either
    assert stats["layout_copy_bytes"] == stats["layout_copies"] * 6 * 3 * 8


def test_a_result_is_laid_out_as_its_type_says() -> None:
    rng = np.random.default_rng(0)
    x, value = data(rng, (N(6), 4))
    w = weights(rng, 3, 4)
    y = ng.simple.tanh(w @ x)
    turned = ng.simple.arrange(y, sample="last")
    (a, b), stats = computed(([y, turned], [x], [value]), "cpu", sample="last")
    assert (a.shape, b.shape) == ((6, 3), (3, 6)) and stats["layout_copies"] == 1
    np.testing.assert_array_equal(a, b.T)


def test_unknown_lengths_are_bound_by_each_call() -> None:
    rng = np.random.default_rng(0)
    x = ng.simple.placeholder((N, R, 4), "float64")
    y = ng.simple.mean(ng.simple.tanh(weights(rng, 3, 4) @ x), R)
    for place in PLACES:
        with ng.make_transformer("cpu", sample=place) as transformer, ng.make_transformer("reference") as oracle:
            found, wanted = transformer.computation(y, x), oracle.computation(y, x)
            for shape in ((5, 2, 4), (1, 1, 4), (0, 3, 4), (2, 7, 4)):
                value = rng.normal(size=shape)
                np.testing.assert_allclose(found(value), wanted(value), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("place", PLACES)
def test_draws_do_not_depend_on_the_preference(place: str) -> None:
    x = ng.simple.uniform((3, N(4), 2), dtype="float64")
    wanted, _ = computed(([x], [], []), "reference")
    found, _ = computed(([x], [], []), "cpu", sample=place)
    np.testing.assert_array_equal(found[0], wanted[0])


def test_training_takes_the_same_steps_either_way() -> None:
    rng = np.random.default_rng(0)
    losses = []
    images, classes = rng.normal(size=(8, 4)), rng.integers(0, 3, 8)
    start = rng.normal(size=(3, 4))
    for place in PLACES:
        x, t = ng.simple.placeholder((N, 4), "float64"), ng.simple.placeholder((N,), "int64")
        w = ng.simple.variable((3, 4), "float64", initial_value=start)
        y = ng.simple.softmax(w @ x)
        loss = ng.simple.mean(ng.simple.cross_entropy_multi(y, ng.simple.one_hot(t, 3, "float64")), keep=())
        step = ng.sequential([loss, ng.assign(w, w - ng.deriv(loss, w) * 0.5), loss])
        with ng.make_transformer("cpu", sample=place) as transformer:
            train = transformer.computation(step, x, t)
            losses.append([float(train(images, classes)) for _ in range(5)])
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(losses, [losses[0]] * 3, rtol=1e-12)


@pytest.mark.parametrize("length", [8, 300])
def test_arguments_are_copied_by_kernels_in_any_order(length: int) -> None:
    """One of the two copies is one into another order."""
    x = ng.placeholder([ng.Axis("C", 3), ng.Axis("H", length), ng.Axis("W", length)], dtype="float32")
    turned = ng.axes_with_order(x, ["H", "W", "C"])
    value = np.random.default_rng(0).normal(size=(3, length, length)).astype("float32")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([turned, x], x)
        found, same = computation(value)
        assert len(computation.stats()["kernels"]) == 2
        assert computation.stats()["layout_copies"] == 1
    np.testing.assert_array_equal(found, value.transpose(1, 2, 0))
    np.testing.assert_array_equal(same, value)


def looked_at(x: Any, way: str) -> Any:
    """An array from behind, or some of it, or turned."""
    ways = {
        "back": lambda: x[:, ::-1],
        "below": lambda: x[::-1],
        "around": lambda: x[::-1, ::-1],
        "seconds": lambda: x[:, 1::2],
        "thirds": lambda: x[:, ::3],
        "fourths": lambda: x[:, 3::4],
        "backwards": lambda: x[:, ::-2],
        "left": lambda: x.T[::-1],
        "right": lambda: x.T[:, ::-1],
    }
    return ways[way]()


WAYS = ["back", "below", "around", "seconds", "thirds", "fourths", "backwards", "left", "right"]


@pytest.mark.sampled
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(3, 1), (17, 35), (40, 131)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_maps_of_what_is_seen_otherwise_are_what_they_mean(way: str, shape: tuple[int, int], dtype: str) -> None:
    x, value = ng.placeholder(shape, dtype), np.arange(shape[0] * shape[1]).reshape(shape).astype(dtype)
    y = looked_at(x, way)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation([y, y + y, ng.numpy.sum(y * 2, axis=1)], x)(value)
    seen = looked_at(value, way)
    for one, other in zip(found, (seen, seen + seen, np.sum(seen * 2, axis=1)), strict=True):
        np.testing.assert_array_equal(one, other.astype(one.dtype))


def text_of(way: str) -> str:
    x = ng.placeholder((64, 96))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(looked_at(x, way), x)
        computation(np.zeros((64, 96), np.float32))
        return str(computation.source())


def test_kernels_know_of_strides_that_are_worth_shuffles() -> None:
    assert "i1 * -1" in text_of("back") and "i0 * 2" in text_of("seconds")


@pytest.mark.parametrize("way", ["left", "right"])
def test_what_is_turned_is_transposed_in_tiles(way: str) -> None:
    assert "transpose_block" in text_of(way)
