# SPDX-License-Identifier: Apache-2.0
"""What a step of a loop does: maps in one launch, nothing that another loop has computed, no sum of products."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering import keeping as keeping_module
from ngraph_rewrite.lowering.driver import replace_in_order
from ngraph_rewrite.lowering.keeping import Keeping
from ngraph_rewrite.lowering.passes import library, lower, passes_of
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.targets.evaluation import evaluate
from ngraph_rewrite.terms.binders import free_parameters
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

TIMES, HIDDEN, FEATURES, SAMPLES = 6, 33, 5, 4
R, H, N = ng.Axis("REC", TIMES), ng.Axis("H", HIDDEN), ng.Axis("N", SAMPLES)
BEFORE, F = ng.Axis("before", HIDDEN), ng.Axis("F", FEATURES)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}  # float64, the same operations in another order


def leaf(*axes: ng.Axis) -> Op:
    return ng.placeholder(list(axes), dtype="float64")


def drawn(inputs: list[Op], scale: float = 0.3) -> list[Any]:
    random = np.random.default_rng(1)
    return [random.normal(scale=scale, size=x.shape) for x in inputs]  # type: ignore[arg-type]


def layer(kind: str) -> tuple[Op, list[Op]]:
    """A loss of a recurrent layer, and its input and weights."""
    gates = ng.Axis("gate", 4 if kind == "lstm" else 3)
    inputs = [leaf(F, R, N), leaf(gates, H, F), leaf(gates, H, BEFORE), leaf(gates, H)]
    outputs = ng.lstm(*inputs)[0] if kind == "lstm" else ng.gru(*inputs)[0]
    return ng.sum(outputs * outputs, out_axes=()), inputs


def calls(target: str, returns: Any, inputs: list[Op], values: list[Any], threads: int | None = None) -> Any:
    with ng.make_transformer(target, **({} if threads is None else {"threads": threads})) as transformer:
        computation = transformer.computation(returns, *inputs)
        return [np.asarray(r) for r in computation(*values)], computation.stats() if target == "cpu" else None


# -- layers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_are_those_of_the_meaning_and_the_same_for_any_number_of_threads(kind: str) -> None:
    loss, inputs = layer(kind)
    returns, values = [loss, *ng.deriv(loss, inputs)], drawn(inputs)
    right, _ = calls("reference", returns, inputs, values)
    alone, _ = calls("cpu", returns, inputs, values, threads=1)
    for one, two in zip(alone, right, strict=True):
        assert_allclose(one, two, **CLOSE)
    for threads in (2, 5):
        for one, two in zip(calls("cpu", returns, inputs, values, threads=threads)[0], alone, strict=True):
            assert np.array_equal(one, two)


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_gradients_that_are_asked_for_one_by_one_are_those_asked_for_together(kind: str) -> None:
    """Each has a scan of its own then; all of them get what the layer keeps."""
    loss, inputs = layer(kind)
    values = drawn(inputs)
    together, _ = calls("cpu", ng.deriv(loss, inputs), inputs, values)
    apart, _ = calls("cpu", [ng.deriv(loss, one) for one in inputs], inputs, values)
    for one, two in zip(apart, together, strict=True):
        assert_allclose(one, two, **CLOSE)


def test_a_step_of_an_lstm_is_a_product_and_a_map() -> None:
    """Forward; and back in time too, where gates are not computed anew and weights are no states."""
    loss, inputs = layer("lstm")
    values = drawn(inputs)
    _, forward = calls("cpu", [loss], inputs, values)
    _, both = calls("cpu", [loss, *ng.deriv(loss, inputs)], inputs, values)
    inside = [k for k in forward["kernels"] if k.startswith("gemm")]
    assert len(inside) == 2  # what the input gives all gates, and the step
    assert (both["launches"] - forward["launches"]) // TIMES == 3  # two, and what is done once outside
    # the step back, three sums over all steps for x, w and u
    assert len([k for k in both["kernels"] if k.startswith("gemm")]) == len(inside) + 4


def test_what_gates_are_is_kept_and_not_the_product_that_they_are_made_of() -> None:
    """The step back has no exponentials but that of the memory, which is no more than a sum."""
    loss, inputs = layer("lstm")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.deriv(loss, inputs), *inputs)
        computation(*drawn(inputs))
        kernels = [text for text in computation.source().split("# ") if "sigmoid(" in text or "tanh(" in text]
        plan = computation.plan().splitlines()
    assert sorted(text.count("= sigmoid(") for text in kernels) == [0, 3]
    assert sorted(text.count("= tanh(") for text in kernels) == [1, 2]
    assert sum("computes a first state of semi.scan(" in line for line in plan) == 4
    assert sum(f": {TIMES} times gemm_" in line or f": {TIMES} times map_" in line for line in plan) == 2


UNARY = {"tanh": ng.tanh, "sigmoid": ng.sigmoid, "square": ng.square, "twice": lambda x: x * 2}


@given(data=st.data())
@settings(max_examples=9, deadline=None)
def test_what_is_kept_of_drawn_gates_is_no_more_than_the_product_and_changes_no_value(data: Any) -> None:
    """Parts of a product go through functions, one after the other; parts overlap, are left out, the whole is read."""
    gates = ng.Axis("gate", 3)
    x, w, h0 = leaf(R, gates, H, N), leaf(gates, H, BEFORE), leaf(H, N)
    part = st.sampled_from([0, 1, 2, slice(0, 2), slice(1, 3)])
    parts = data.draw(st.lists(st.tuples(part, st.lists(st.sampled_from(sorted(UNARY)), max_size=2)), max_size=3))
    whole = data.draw(st.booleans()) or not parts

    def step(h: Op, x: Op) -> Any:
        z = ng.dot(w, ng.map_roles(h, {"H": "before"})) + x
        total = ng.sum(z, reduction_axes=["gate"]) if whole else h * 0.5
        for which, functions in parts:
            gate = z[which]
            for name in functions:
                gate = UNARY[name](gate)
            gate = gate if isinstance(which, int) else ng.sum(gate, reduction_axes=["gate"])
            total = total + gate * h
        return ng.tanh(total), total

    inputs = [x, w, h0]
    loss = ng.sum(ng.square(ng.scan(step, h0, x)[1]), out_axes=())
    passes = passes_of(library(), replace(CPU, passes=()), Cache())
    lowered = lower(ng.deriv(loss, inputs), CPU, {"lower": passes["lower"]}, complete=False)
    roots, order = lowered.roots, topological(lowered.roots)
    keeping = Keeping(order, free_parameters(order), lowered.bank)
    assert 0 < sum(int(term.size) for term in keeping.kept) <= 3 * HIDDEN * SAMPLES  # type: ignore[arg-type]
    given = {one.attribute("uid"): value for one, value in zip(inputs, drawn(inputs, 0.1), strict=True)}
    values = {t: given[t.attribute("uid")] for t in order if t.definition.name == "core.placeholder"}
    made = replace_in_order(order, roots, keeping, lowered.table, lowered.bank, "keep")
    before, after = evaluate(roots, values), evaluate(made, values)
    for one, two in zip(made, roots, strict=True):
        assert_allclose(after[one], before[two], **CLOSE)


@pytest.mark.parametrize("result", ["state", "stacked", "both"])
def test_what_a_layer_gives_anyway_is_kept_as_it_is(result: str) -> None:
    """The new state of a plain layer is what its adjoint would compute anew, and an output too."""
    x, w, h0 = leaf(R, N, H), leaf(H, BEFORE), leaf(N, H)

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        h = ng.tanh(ng.cast_axes(ng.dot(h, w), x.axes) + x)
        return h, h

    last, every = ng.scan(step, h0, x)
    losses = {"state": ng.sum(last, out_axes=()), "stacked": ng.sum(every, out_axes=())}
    loss = losses.get(result, losses["state"] * losses["stacked"])
    inputs = [x, w, h0]
    values = drawn(inputs)
    right, _ = calls("reference", ng.deriv(loss, inputs), inputs, values)
    for threads in (1, 2):
        for one, two in zip(calls("cpu", ng.deriv(loss, inputs), inputs, values, threads)[0], right, strict=True):
            assert_allclose(one, two, **CLOSE)


def test_a_scan_in_a_step_reads_a_product_of_that_step() -> None:
    """What reads the product is a scan, whose type is that of a tuple."""
    x, w = ng.placeholder((4, 5, HIDDEN), dtype="float64"), ng.placeholder((HIDDEN, HIDDEN), dtype="float64")
    zeros = partial(ng.numpy.zeros, dtype="float64")

    def inner(s: Op, z: Op) -> tuple[Op, Op]:
        s = ng.numpy.tanh(s + z)
        return s, s * z

    def step(h: Op, x: Op) -> tuple[Op, None]:
        products = ng.numpy.scan(inner, zeros((HIDDEN,)), h @ w)[1]
        return ng.numpy.tanh(products + x), None

    loss = ng.numpy.sum(ng.numpy.scan(step, zeros((5, HIDDEN)), x)[0])
    values = drawn([x, w])
    right, _ = calls("reference", ng.deriv(loss, [x, w]), [x, w], values)
    for one, two in zip(calls("cpu", ng.deriv(loss, [x, w]), [x, w], values)[0], right, strict=True):
        assert_allclose(one, two, **CLOSE)


def test_short_maps_of_a_step_are_shared_out_and_wait_for_what_they_read() -> None:
    """A map reads the state in another order than that in which chunks of the map before wrote it."""
    turn, wide = ng.Axis("REC", 5), ng.Axis("H", 20_000)
    x, h0 = leaf(turn, wide), leaf(wide)

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        there = ng.tanh(h[::-1]) + x
        return there * h + ng.tanh(there), there

    values = drawn([x, h0])
    state, wanted = values[1], []
    for row in values[0]:
        wanted.append(np.tanh(state[::-1]) + row)
        state = wanted[-1] * state + np.tanh(wanted[-1])
    for _ in range(3):
        (last, every), stats = calls("cpu", list(ng.scan(step, h0, x)), [x, h0], values, threads=2)
        np.testing.assert_allclose(last, state, atol=1e-5)
        np.testing.assert_allclose(every, wanted, atol=1e-5)
    assert sum(chunks > 1 for chunks in stats["chunks"]) >= 2


def test_what_is_cheap_is_computed_anew_and_not_kept() -> None:
    """A product of few numbers takes less time than memory."""
    x, h0 = leaf(R, H, N), leaf(H, N)
    y = ng.scan(lambda h, x: (ng.tanh(h + x), h * x), h0, x)[1]
    loss = ng.sum(y, out_axes=())
    values = drawn([x, h0])
    right, _ = calls("reference", ng.deriv(loss, [x, h0]), [x, h0], values)
    found, stats = calls("cpu", ng.deriv(loss, [x, h0]), [x, h0], values)
    for one, two in zip(found, right, strict=True):
        assert_allclose(one, two, **CLOSE)
    assert not any(k.startswith("gemm") for k in stats["kernels"])


def test_a_sum_that_something_reads_stays_a_state() -> None:
    """Products are summed step by step where the sum until then is a result, or is read in a step."""
    x, y = leaf(R, H, N), leaf(R, BEFORE, N)
    zeros = ng.constant(0.0, [H, BEFORE], dtype="float64")

    def partial(s: Op, slices: Any) -> Any:
        s = s + ng.dot(slices[0], slices[1], reduction_axes=["N"])
        return s, s * 2

    def total(s: Op, slices: Any) -> Any:
        return s + ng.dot(slices[0], slices[1], reduction_axes=["N"]), ()

    values = drawn([x, y])
    expected = np.einsum("rhn,rbn->hb", *values)
    (whole,), stats = calls("cpu", [ng.scan(total, zeros, (x, y))[0]], [x, y], values)
    assert_allclose(whole, expected, **CLOSE)
    assert stats["launches"] < TIMES
    (whole, twice), stats = calls("cpu", list(ng.scan(partial, zeros, (x, y))), [x, y], values)
    assert_allclose(whole, expected, **CLOSE)
    assert_allclose(twice[-1], 2 * expected, **CLOSE)
    assert stats["launches"] >= TIMES


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("start", [0.0, 1.5])
def test_sums_of_products_of_any_layout_begin_with_any_number(left: bool, start: float) -> None:
    """Factors as they lie and transposed, states among them; the sum has two axes or more."""
    a, b, w = leaf(R, H, N), leaf(R, ng.Axis("gate", 3), N), leaf(H, BEFORE)
    out = [ng.Axis("gate", 3), H] if left else [H, ng.Axis("gate", 3)]
    init = (ng.constant(start, out, dtype="float64"), ng.constant(0.25, [H, N], dtype="float64"))

    def step(state: Any, slices: Any) -> Any:
        s, h = state
        x, y = slices
        factors = (y, x * h) if left else (x * h, y)
        h = ng.tanh(ng.dot(w, ng.map_roles(h, {"H": "before"})) + x)
        return (s + ng.dot(*factors, reduction_axes=["N"]), h), ()

    (s, h), _ = ng.scan(step, init, (a, b))
    inputs = [a, b, w]
    values = drawn(inputs)
    returns = [s, h, *ng.deriv(ng.sum(s * s, out_axes=()), inputs)]
    right, _ = calls("reference", returns, inputs, values)
    found, _ = calls("cpu", returns, inputs, values)
    for one, two in zip(found, right, strict=True):
        assert_allclose(one, two, rtol=1e-8, atol=1e-8)


# -- drawn steps ----------------------------------------------------------------------------------------------------

SIDE = 7
P, Q, T = ng.Axis("P", SIDE), ng.Axis("Q", SIDE), ng.Axis("T", 4)
Terms = list[Op]


def turned(x: Op) -> Op:
    """Rows as columns: what a map does not read at the element that it writes."""
    return ng.map_roles(ng.map_roles(ng.map_roles(x, {"P": "other"}), {"Q": "P"}), {"other": "Q"})


def ordered(x: Op) -> Op:
    return ng.axes_with_order(x, [P, Q])


@st.composite
def steps(draw: Any) -> Any:
    """How many states, and a list of operations on earlier terms; which of them are next states and outputs."""
    states = draw(st.integers(1, 3))
    count = draw(st.integers(1, 6))
    number = st.integers(0, 100)
    operations = [
        draw(st.tuples(st.sampled_from("add multiply tanh turn row".split()), number, number)) for _ in range(count)
    ]
    following = [draw(number) for _ in range(states)]
    outputs = [draw(number) for _ in range(draw(st.integers(0, 2)))]
    return states, operations, following, outputs


def run(step: Any, terms: Terms) -> Terms:
    for kind, i, j in step[1]:
        x, y = terms[i % len(terms)], terms[j % len(terms)]
        made = {
            "add": lambda x, y: x + y * 0.5,
            "multiply": lambda x, y: x * y,
            "tanh": lambda x, y: ng.tanh(x),
            "turn": lambda x, y: turned(x),
            "row": lambda x, y: x + ng.sum(y, reduction_axes=["Q"]) * 0.1,
        }[kind](x, y)
        terms = [*terms, ordered(made)]
    return terms


@given(step=steps())
@settings(max_examples=15, deadline=None)
def test_drawn_steps_give_what_they_mean(step: Any) -> None:
    """States change places, are read by rows and by columns, and stand among the outputs as they were."""
    states, _, following, outputs = step
    x = leaf(T, P, Q)
    inits = [leaf(P, Q) for _ in range(states)]

    def body(state: Any, x: Op) -> Any:
        terms = run(step, [*state, ordered(x)])
        return tuple(terms[-1 - f % len(terms)] for f in following), [terms[-1 - o % len(terms)] for o in outputs]

    final, ys = ng.scan(body, tuple(inits), x, axis=T)
    inputs, returns = [x, *inits], [*final, *ys]
    values = drawn(inputs, 0.8)
    right, _ = calls("reference", returns, inputs, values)
    found, _ = calls("cpu", returns, inputs, values)
    for one, two in zip(found, right, strict=True):
        assert_allclose(one, two, **CLOSE)


# -- matrices that steps multiply with ------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "times", "copied"), [(4, 4, True), (4, 3, False), (1, 50, False)])
@pytest.mark.parametrize("across", [True, False])
def test_a_matrix_that_lies_across_is_brought_into_rows_before_many_steps(
    rows: int, times: int, copied: bool, across: bool
) -> None:
    """A product would pack it in each of them; not for a single row, nor if it lies in rows."""
    axes = ng.Axis("T", times), ng.Axis("N", rows), H
    inputs = [leaf(*axes), leaf(*((H, BEFORE) if across else (BEFORE, H)))]
    x, w = inputs

    def step(h: Op, z: Op) -> tuple[Op, None]:
        return ng.tanh(ng.dot(ng.map_roles(h, {"H": "before"}), w) + z), None

    last, _ = ng.scan(step, ng.constant(0.0, axes[1:], "float64"), x, axes[0])
    values = drawn(inputs)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(last, *inputs)
        found, plan = computation(*values), computation.plan()
    state = np.zeros((rows, HIDDEN))
    for z in values[0]:
        state = np.tanh(state @ (values[1].T if across else values[1]) + z)
    assert_allclose(found, state, **CLOSE)
    before = plan.partition(f"{times} times")[0]
    assert ("copy_" in before) == (copied and across)


def test_only_scans_that_bind_the_same_parameters_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many scans was compared with all before it."""
    compared, same = list[Any](), keeping_module._same

    def counted(*args: Any) -> Any:
        compared.append(args)
        return same(*args)

    monkeypatch.setattr(keeping_module, "_same", counted)
    x, w, h0 = leaf(R, N, H), leaf(H, BEFORE), leaf(N, H)

    def step(h: Op, x: Op) -> tuple[Op, Op]:
        h = ng.tanh(ng.cast_axes(ng.dot(h, w), x.axes) + x)
        return h, h

    term: Op = x
    for _ in range(4):
        term = ng.scan(step, h0, term)[1]
    with ng.make_transformer("cpu") as transformer:
        transformer.lowered(term)
        assert not compared
        transformer.lowered(ng.deriv(ng.sum(ng.square(term), out_axes=()), w))
    assert len(compared) == 4  # each with its adjoint
