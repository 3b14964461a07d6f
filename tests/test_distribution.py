# SPDX-License-Identifier: Apache-2.0
"""What no step has to wait for leaves the loop: functions mapped over an axis, products before and after it, sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.errors import (
    ArgumentError,
    AxesError,
    FamilyError,
    IncompatibleAxesError,
    SequencingError,
    UnmatchedAxesError,
)
from ngraph_rewrite.lowering import driver
from ngraph_rewrite.terms.op import Op

xp = ng.numpy
Shapes = Sequence[tuple[int, ...]]


def drawn(*shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    random = np.random.default_rng(7)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


def ran(target: str, returns: Any, inputs: Sequence[Op], values: Sequence[Any]) -> tuple[Any, Any]:
    """The results, and the computation (closed)."""
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(returns, *inputs)
        return computation(*values), computation.stats()


def leaves(values: Sequence[Any]) -> list[Op]:
    return [ng.placeholder(v.shape, dtype=v.dtype) for v in values]


def loops(returns: Any, inputs: Sequence[Op], values: Sequence[Any]) -> list[str]:
    """The lines of a plan that are loops."""
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *inputs)
        computation(*values)
        return [line for line in computation.plan().splitlines() if " times " in line]


# -- functions mapped over an axis -------------------------------------------------------------------------------------

W = np.random.default_rng(3).normal(size=(4, 4))
FUNCTIONS: dict[str, tuple[Callable[..., Any], Shapes]] = {
    "softmax": (lambda x: xp.exp(x - xp.max(x)) / xp.sum(xp.exp(x - xp.max(x))), [(4,)]),
    "a product with one matrix": (lambda x: x @ W, [(3, 4)]),
    "a matrix that is multiplied": (lambda x: W @ x, [(4, 3)]),
    "a vector that is multiplied": (lambda x: W @ x, [(4,)]),
    "products of pairs": (lambda x, y: x @ y, [(3, 4), (4, 2)]),
    "an inner product": (lambda x, y: xp.vecdot(x, y), [(4,), (4,)]),
    "an outer product": (lambda x, y: xp.linalg.outer(x, y), [(4,), (3,)]),
    "sorted": (lambda x: xp.sort(x[::-1]), [(5,)]),
    "an order": (lambda x: xp.argsort(x), [(5,)]),
    "a greatest": (lambda x: (xp.argmax(x), xp.max(x, axis=0)), [(3, 2)]),
    "a running sum": (lambda x: xp.cumulative_sum(x, axis=0) * 2, [(3, 2)]),
    "parts": (lambda x: xp.concat([x[1:], x[:1] * 2, xp.ones((1,), dtype="float64")]), [(3,)]),
    "padded": (lambda x: xp.pad(x, 1)[::-1].T, [(2, 3)]),
    "elements at places": (lambda x, y: xp.take(x, xp.argsort(y), axis=0), [(3, 2), (3,)]),
    "elements of one at places": (lambda y: xp.take(W, xp.argsort(y), axis=1), [(4,)]),
    "what is put": (lambda x, y: xp.put_along_axis(x, xp.argsort(y), y * 2, axis=0), [(4,), (4,)]),
    "a diagonal": (lambda x: xp.linalg.diagonal(x) + xp.linalg.trace(x), [(3, 3)]),
    "a solution": (lambda x, y: xp.linalg.solve(x @ x.T + 3 * np.eye(3), y), [(3, 3), (3, 2)]),
    "a determinant": (lambda x: xp.linalg.slogdet(x @ x.T + np.eye(3))[1], [(3, 3)]),
    "a norm": (lambda x: x / xp.linalg.vector_norm(x), [(4,)]),
    "a number": (lambda x: xp.where(x > 0, x, x * 0.1), [()]),
    "what is the same for all": (lambda x: ng.constant(W) * 2.0, [(2,)]),
    "itself": (lambda x: x, [(2,)]),
    "another one's values": (lambda x, y: xp.interp(x, np.arange(4.0), y), [(3,), (4,)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mapped_function_does_for_each_what_it_does_for_one_without_a_loop(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    values = drawn(*((5, *shape) for shape in shapes))
    inputs = leaves(values)
    returns = xp.vmap(function)(*inputs)
    found, _ = ran("cpu", returns, inputs, values)
    singles = leaves([v[0] for v in values])
    each = [ran("reference", function(*singles), singles, [v[i] for v in values])[0] for i in range(5)]
    found, each = (found, list(zip(*each, strict=True))) if isinstance(found, tuple) else ((found,), [each])
    for whole, parts in zip(found, each, strict=True):
        assert_allclose(whole, np.stack(parts), rtol=1e-9, atol=1e-12)
    assert not loops(returns, inputs, values)


@pytest.mark.sampled
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("an order", "a greatest")])
def test_its_derivative_is_that_of_each(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    values = drawn(*((5, *shape) for shape in shapes))
    inputs, singles = leaves(values), leaves([v[0] for v in values])

    def loss(*xs: Op) -> Op:
        return xp.sum(xp.sin(function(*xs)))

    slopes = ng.deriv(xp.sum(xp.vmap(loss)(*inputs)), inputs)
    found, _ = ran("cpu", slopes, inputs, values)
    one = ng.deriv(loss(*singles), singles)
    each = [ran("reference", one, singles, [v[i] for v in values])[0] for i in range(5)]
    for whole, parts in zip(found, zip(*each, strict=True), strict=True):
        assert_allclose(whole, np.stack(parts), rtol=1e-8, atol=1e-10)
    assert not loops(slopes, inputs, values)


def test_derivatives_of_each_sample_are_one_kernel_away() -> None:
    """What frameworks call per-example gradients: a weight that all share has one for each of them."""
    x, w, y = drawn((6, 3), (3, 2), (6, 2))
    inputs = leaves([x, w, y])

    def gradient(row: Op, target: Op) -> Op:
        return ng.deriv(xp.sum(xp.square(row @ inputs[1] - target)), inputs[1])

    found, stats = ran("cpu", xp.vmap(gradient)(inputs[0], inputs[2]), inputs, [x, w, y])
    assert_allclose(found, np.einsum("ni,nj->nij", x, 2 * (x @ w - y)), rtol=1e-12)
    assert stats["launches"] <= 3


def test_a_length_may_be_unknown_and_zero() -> None:
    x = ng.placeholder((None, 3))
    with ng.make_transformer("cpu") as transformer:
        mapped = transformer.computation(xp.vmap(lambda row: row @ np.eye(3, dtype="float32") + 1)(x), x)
        for n in (4, 0, 1):
            assert_allclose(mapped(np.ones((n, 3), "float32")), np.full((n, 3), 2.0))


def test_axes_of_operands_and_results_are_said_and_structures_are_kept() -> None:
    x, y = drawn((3, 5), (5, 2))
    a, b = leaves([x, y])
    mapped = xp.vmap(lambda pair, k: {"sum": pair["x"] + k, "y": (pair["y"],)}, in_axes=(0, None))
    tree = mapped({"x": xp.matrix_transpose(a), "y": b}, 2.0)
    assert (tree["sum"].shape, tree["y"][0].shape) == ((5, 3), (5, 2))
    turned = xp.vmap(lambda p, q: (p * 2, q), in_axes=(1, 0), out_axes=(-1, 0))(a, b)
    (first, second), _ = ran("cpu", turned, [a, b], [x, y])
    assert_allclose(first, x * 2)
    assert_allclose(second, y)
    by_name = xp.vmap(lambda p, *, q: p + q)(b, q=b)
    assert by_name.shape == (5, 2)


def test_maps_within_maps() -> None:
    x, y = drawn((4, 3), (5, 3))
    a, b = leaves([x, y])
    pairs = xp.vmap(lambda p: xp.vmap(lambda q: xp.sum(xp.square(p - q)))(b))(a)
    found, _ = ran("cpu", pairs, [a, b], [x, y])
    assert_allclose(found, np.square(x[:, None] - y[None]).sum(-1), rtol=1e-12)
    assert not loops(pairs, [a, b], [x, y])


def recurrent(x: Op, w: Op, back: bool = False) -> tuple[Op, Op, Op]:
    """A scan whose step reads a slice, a weight, and a state that counts, the same in all samples."""

    def step(states: tuple[Op, Op], s: Op) -> tuple[tuple[Op, Op], tuple[Op, Op]]:
        h, count = states
        h = xp.tanh(s @ w + h * 0.5 + count)
        return (h, count + 0.25), (h * 2, count)

    (h, _), (outputs, counts) = xp.scan(step, (np.zeros(2), np.float64(0)), x, reverse=back)
    return h, outputs, counts


def test_a_scan_in_a_mapped_function_is_one_scan_of_all() -> None:
    x, w = drawn((5, 4, 3), (3, 2))
    a, b = leaves([x, w])
    for back in (False, True):
        mapped = xp.vmap(lambda s: recurrent(s, b, back))(a)  # noqa: B023
        found, _ = ran("cpu", mapped, [a, b], [x, w])
        single = ng.placeholder((4, 3), dtype="float64")
        each = [ran("reference", recurrent(single, b, back), [single, b], [x[i], w])[0] for i in range(5)]
        for whole, parts in zip(found, zip(*each, strict=True), strict=True):
            assert_allclose(whole, np.stack(parts), rtol=1e-12)
        (loop,) = loops(mapped, [a, b], [x, w])
        assert "4 times" in loop  # not five times four


def test_and_so_is_its_derivative() -> None:
    x, w = drawn((5, 4, 3), (3, 2))
    a, b = leaves([x, w])

    def loss(s: Op, w: Op) -> Op:
        h, outputs, _ = recurrent(s, w)
        return xp.sum(xp.sin(outputs)) + xp.sum(h)

    total = ng.deriv(xp.sum(xp.vmap(loss, in_axes=(0, None))(a, b)), [a, b])
    each = xp.vmap(lambda s: ng.deriv(loss(s, b), [s, b]))(a)
    for slopes in (total, each):
        found, _ = ran("cpu", slopes, [a, b], [x, w])
        right, _ = ran("reference", slopes, [a, b], [x, w])
        for one, two in zip(found, right, strict=True):
            assert_allclose(one, two, rtol=1e-9, atol=1e-12)
        assert ["4 times" in loop for loop in loops(slopes, [a, b], [x, w])] == [True, True]


def test_scans_in_steps_with_states_stay_there_and_those_of_slices_alone_do_not() -> None:
    x, w = drawn((5, 4, 3), (3, 2))
    a, b = leaves([x, w])

    def step(total: Op, s: Op) -> tuple[Op, tuple[Op, Op]]:
        h, outputs, _ = recurrent(s, b)
        last, _, _ = recurrent(s * xp.sum(total), b)
        total = xp.tanh(total + h)
        return total, (outputs, last)

    _, results = xp.scan(step, np.ones(2), a)
    found, _ = ran("cpu", results, [a, b], [x, w])
    right, _ = ran("reference", results, [a, b], [x, w])
    for one, two in zip(found, right, strict=True):
        assert_allclose(one, two, rtol=1e-9, atol=1e-12)


def test_an_axis_with_a_name_is_mapped_over_wherever_it_stands() -> None:
    n, f = ng.Axis("N", 5), ng.Axis("F", 3)
    (v,) = drawn((3, 5))
    x, w = ng.placeholder([f, n], dtype="float64"), ng.constant(np.arange(3.0), [f])
    mapped = ng.vmap(lambda x: ng.flatten(x * w), n)(x)
    assert mapped.axes[0] == n
    found, _ = ran("cpu", mapped, [x], [v])
    assert_allclose(found, (v * np.arange(3.0)[:, None]).T)
    shares = ng.vmap(lambda x, w: ng.dot(x, w), "N")(x, w)  # w is the same for all
    assert shares.axes == ng.make_axes([n])


def test_a_loop_in_a_mapped_function_stays_one_and_what_it_reads_is_computed_before() -> None:
    x, w = drawn((4, 3), (3, 3))
    a, b = leaves([x, w])
    powers = xp.vmap(lambda row: ng.while_loop(lambda s: xp.sum(s) < 100, lambda s: s * 2, xp.exp(row @ b)))(a)
    found, _ = ran("cpu", powers, [a, b], [x, w])
    right, _ = ran("reference", powers, [a, b], [x, w])
    assert_allclose(found, right, rtol=1e-12)
    assert len(loops(powers, [a, b], [x, w])) == 1


def test_what_is_wrong_is_said_of_vmap() -> None:
    x, named = ng.placeholder((3, 2)), ng.placeholder({"N": 3})
    with pytest.raises(SequencingError, match="vmap: the function assigns"):
        ng.vmap(lambda y: ng.assign(ng.variable([]), y), "N")(named)
    with pytest.raises(AxesError, match="is a number, which has no axis 0"):
        xp.vmap(lambda row, k: row * k)(x, 2.0)
    with pytest.raises(AxesError, match="has 3 places in .* and 2 in"):
        xp.vmap(lambda p, q: p + q)(x, ng.placeholder((2, 2)))
    with pytest.raises(ArgumentError, match="in_axes is .* for 1 arguments"):
        xp.vmap(lambda p: p, in_axes=(0, 0))(x)
    with pytest.raises(ArgumentError, match="out_axes is .* for 1 results"):
        xp.vmap(lambda p: p, out_axes=(0, 0))(x)
    with pytest.raises(ArgumentError, match="no operand is mapped over"):
        xp.vmap(lambda p: p, in_axes=None)(x)
    with pytest.raises(UnmatchedAxesError, match="nothing has the axis M"):
        ng.vmap(lambda y: y, "M")(named)
    with pytest.raises(FamilyError, match=r"use ng\.numpy\.vmap"):
        ng.vmap(lambda y: y, "N")(x)
    with pytest.raises(IncompatibleAxesError):
        ng.vmap(lambda p, q: p, "N")(named, ng.placeholder({"N": 4}))
    with pytest.raises(ArgumentError, match="axis is 3"):
        ng.vmap(lambda y: y, 3)(named)  # type: ignore[arg-type]


# -- products leave loops ----------------------------------------------------------------------------------------------

STEPS, SAMPLES, FEATURES, HIDDEN, CLASSES = 6, 4, 5, 33, 3


def network(gates: int = 1) -> tuple[Op, list[Op], list[Any]]:
    """A plain recurrent layer as a user writes it, with everything in the step: its outputs, and what it reads."""
    values = drawn((STEPS, SAMPLES, FEATURES), (FEATURES, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES))
    x, w, u, b, v = inputs = leaves([value * 0.3 for value in values])

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        h = xp.tanh(x @ w + h @ u + b)
        return h, h @ v

    _, outputs = xp.scan(step, ng.constant(np.zeros((SAMPLES, HIDDEN))), x)
    return outputs, inputs, [value * 0.3 for value in values]


def test_products_of_inputs_and_of_outputs_are_made_once_for_all_steps() -> None:
    outputs, inputs, values = network()
    found, stats = ran("cpu", outputs, inputs, values)
    right, _ = ran("reference", outputs, inputs, values)
    assert_allclose(found, right, rtol=1e-9, atol=1e-12)
    assert sum(name.startswith("gemm") for name in stats["kernels"]) == 3  # before the loop, in it, after it
    (loop,) = loops(outputs, inputs, values)
    assert loop.count("gemm_") == 1


def test_a_gradient_goes_back_with_one_product_a_step() -> None:
    outputs, inputs, values = network()
    slopes = ng.deriv(xp.sum(xp.square(outputs)), inputs)
    found, stats = ran("cpu", slopes, inputs, values)
    right, _ = ran("reference", slopes, inputs, values)
    for one, two in zip(found, right, strict=True):
        assert_allclose(one, two, rtol=1e-8, atol=1e-10)
    there, back = loops(slopes, inputs, values)
    assert there.count("gemm_") == back.count("gemm_") == 1
    # before, there, after; d h, back, and of x, w, u and v
    assert sum(name.startswith("gemm") for name in stats["kernels"]) == 9


def test_a_sum_over_all_steps_is_no_state() -> None:
    (v,) = drawn((7, 3))
    x = ng.placeholder(v.shape, dtype="float64")
    (total, last), _ = xp.scan(lambda s, x: ((s[0] + xp.exp(x), x), None), (np.ones(3), np.zeros(3)), x)
    found, _ = ran("cpu", total, [x], [v])
    assert_allclose(found, 1 + np.exp(v).sum(0), rtol=1e-12)
    assert not loops(total, [x], [v])
    (both, end), _ = ran("cpu", (total, last), [x], [v])  # the last element goes from step to step
    assert_allclose(both, found, rtol=1e-12)
    assert_allclose(end, v[-1])


def test_a_state_that_no_step_changes_is_none() -> None:
    """Such are the adjoints of what has no slope."""
    (v,) = drawn((4, 3))
    x = ng.placeholder(v.shape, dtype="float64")
    same, floors = xp.scan(lambda s, x: (s, xp.floor(x * s)), np.full(3, 2.0), x)
    slope = ng.deriv(xp.sum(floors) + xp.sum(same), x)
    (found, each, flat), _ = ran("cpu", (same, floors, slope), [x], [v])
    assert_allclose(found, np.full(3, 2.0))
    assert_allclose(each, np.floor(v * 2))
    assert_allclose(flat, np.zeros((4, 3)))
    assert not loops((same, floors, slope), [x], [v])


def test_a_sum_whose_steps_are_read_is_a_state() -> None:
    (v,) = drawn((4, 3))
    x = ng.placeholder(v.shape, dtype="float64")
    total, sums = xp.scan(lambda s, x: (s + x, s + x), np.zeros(3), x)
    (found, each), _ = ran("cpu", (total, sums), [x], [v])
    assert_allclose(found, v.sum(0))
    assert_allclose(each, np.cumsum(v, 0))


def test_what_is_only_elementwise_stays_in_the_loop_and_takes_no_memory() -> None:
    (v,) = drawn((50, 1000))
    x = ng.placeholder(v.shape, dtype="float64")
    last, _ = xp.scan(lambda s, x: (xp.tanh(s) + xp.exp(x), None), np.zeros(1000), x)
    found, stats = ran("cpu", last, [x], [v])
    right, _ = ran("reference", last, [x], [v])
    assert_allclose(found, right, rtol=1e-9)
    assert stats["arena_bytes"] < 50 * 1000 * 8


def test_large_steps_without_states_stay_a_loop() -> None:
    """All at once they would take memory for all steps, and gain nothing."""
    x = ng.placeholder((3, 600, 500))
    _, y = xp.scan(lambda _, x: (None, xp.sum(xp.exp(x) @ xp.ones((500, 700)))), None, x)
    (loop,) = loops(y, [x], [np.zeros((3, 600, 500), "float32")])
    assert "3 times" in loop


def test_more_steps_than_memory_holds_stay_a_loop_that_can_be_interrupted() -> None:
    x = ng.placeholder([])
    total, _ = xp.scan(lambda s, _: (s + x, None), np.float32(0), length=1 << 30)
    few, _ = xp.scan(lambda s, _: (s + x, None), np.float32(0), length=1 << 10)
    with ng.make_transformer("cpu") as transformer:
        long, short = (transformer.computation(term, x).lowering.roots for term in (total, few))
    assert "core.item" in {t.definition.name for t in ng.topological(long)}
    assert "core.item" not in {t.definition.name for t in ng.topological(short)}


def test_an_explanation_says_that_it_was_computed_for_all_steps_at_once() -> None:
    outputs, inputs, values = network()
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(outputs, *inputs)
        computation(*values)
        assert "computed for all steps at once" in computation.explain(outputs)


def test_a_mapped_function_may_have_very_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each result strips all that is mapped, which takes no step: 800 were refused as rewriting without an end."""
    monkeypatch.setattr(driver, "LEAST_STEPS", 500)
    monkeypatch.setattr(driver, "STEPS_PER_TERM", 0)
    x = ng.placeholder([ng.Axis("N", 3), ng.Axis("H", 2)])
    every = ng.vmap(lambda a: [a * float(i) for i in range(40)], "N")(x)
    with ng.make_transformer("cpu") as transformer:
        assert len(transformer.lowered(every).lowering.roots) == 40
