# SPDX-License-Identifier: Apache-2.0
"""The plan: what shares a kernel, what is only a view, what is written in place, and where buffers lie."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan import plan
from ngraph_rewrite.plan.fusion import LARGEST_GROUP
from ngraph_rewrite.plan.memory import ALIGNMENT, MANY_BLOCKS, Block, place
from ngraph_rewrite.plan.schedule import in_order
from ngraph_rewrite.plan.views import Layout, reshaped, row_major
from ngraph_rewrite.runtime.features import vectors

FILLED = vectors().bytes == 64  # whether a short loop is a part of a vector
H, W, C, N = ng.Axis("H", 4), ng.Axis("W", 5), ng.Axis("C", 3), ng.Axis("N")
Axes = list[ng.Axis]


def x_of(*axes: ng.Axis, dtype: str = "float32") -> ng.Op:
    return ng.placeholder(list(axes), dtype, name="x")


def kernels(returns: Any, *inputs: ng.Op, out: Any = None) -> dict[str, Any]:
    """The figures of a call on cpu, with the kinds of the kernels instead of their names."""
    arguments = [np.ones([n if isinstance(n, int) else 2 for n in p.shape], p.dtype) for p in inputs]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *inputs)
        computation(*arguments, out=out)
        found = computation.stats()
    return {**found, "kernels": [name.partition("_")[0] for name in found["kernels"]]}


# -- fusion -----------------------------------------------------------------------------------------


def test_a_shared_part_is_computed_once_in_registers() -> None:
    x = x_of(H)
    x1 = x + x
    found = kernels(x1 * x1 - x, x)
    assert (found["kernels"], found["temporaries"], found["arena_bytes"]) == (["map"], 0, 0)
    assert kernels(x1 * x1 - x, x, out=np.empty(4, np.float32))["temporaries"] == 0


def test_softmax_is_one_kernel() -> None:
    """The greatest elements, made finite; the exponentials (kept in the result's place); their sums; the quotients."""
    x = x_of(C, N)
    found = kernels(ng.softmax(x), x)
    assert (found["kernels"], found["temporaries"]) == (["rows"], 0)


def test_bias_and_activation_are_in_the_kernel_of_the_product() -> None:
    x, w, b = x_of(C, N), ng.variable([H, C]), ng.variable([H])
    found = kernels(ng.tanh(ng.dot(w, x) + b), x)
    assert (found["kernels"], found["temporaries"]) == (["gemm"], 1)  # the workspace of the product


def test_a_map_goes_into_the_reduction_that_reads_it() -> None:
    x = x_of(H, W)
    assert kernels(ng.sum(ng.square(x - 1), out_axes=[]), x)["kernels"] == ["reduce"]


def test_a_long_chain_is_cut() -> None:
    """Longer kernels compile slower than they run faster."""
    x = x_of(H)
    y = x
    for _ in range(3 * LARGEST_GROUP):
        y = ng.tanh(y)
    assert kernels(y, x)["launches"] == 3


def test_pieces_of_a_concatenation_are_computed_in_place() -> None:
    x = x_of(H, W)
    found = kernels(ng.concat_along_axis([x * 2, x + 1], W), x)
    assert (found["kernels"], found["temporaries"]) == (["map", "map"], 0)


@pytest.mark.parametrize("count", [2, 4, 7])
@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_columns_are_put_side_by_side_by_few_launches(count: int, dtype: str) -> None:
    """Computed ones, too; bytes go one after the other."""
    columns = [np.arange(2000 * (k + 1)).astype(dtype).reshape(2000, -1)[:, :1] for k in range(count)]
    terms = [ng.placeholder((2000, 1), dtype) for _ in columns]
    with ng.make_transformer("cpu") as transformer:
        joined = transformer.computation(ng.numpy.concat([terms[0] + 1, *terms[1:]], axis=1), *terms)
        np.testing.assert_array_equal(joined(*columns), np.hstack([columns[0] + 1, *columns[1:]]).astype(dtype))
        assert joined.stats()["launches"] == (count if dtype == "int8" else -(-count // 4))


def test_columns_may_replace_those_of_a_variable() -> None:
    v = ng.variable(ng.anonymous((2000, 2)), initial_value=np.arange(4000.0).reshape(2000, 2))
    with ng.make_transformer("cpu") as transformer:
        swap = transformer.computation(ng.assign(v, ng.numpy.concat([v[:, 1:], v[:, :1] * 2], axis=1)))
        read = transformer.computation(v)
        swap()
        np.testing.assert_array_equal(read(), np.arange(4000.0).reshape(2000, 2)[:, ::-1] * [1, 2])


def test_equal_kernels_are_compiled_once() -> None:
    """Layers differ in names and lengths only: one kernel for their products, one for what is done with these."""
    x = y = x_of(H, N)
    for i, o in ((H, W), (W, C), (C, ng.Axis("L", 2))):
        y = ng.tanh(ng.dot(ng.variable([o, i]), y) + ng.variable([o]))
    found = kernels(y, x)
    assert (found["launches"], found["distinct_kernels"]) == (3, 2)


def test_another_batch_size_compiles_nothing(cache_folder: Path) -> None:
    x, w = x_of(C, N), ng.variable([H, C])
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.softmax(ng.dot(w, x)), x)
        computation(np.ones((3, 4), np.float32))
        compiled = set(cache_folder.iterdir())
        computation(np.ones((3, 7), np.float32))
        computation(np.ones((3, 9), np.float32))
        assert set(cache_folder.iterdir()) == compiled
        assert computation.stats()["plans"] == 3


# -- views ------------------------------------------------------------------------------------------


def test_a_part_of_what_was_joined_is_not_copied_and_the_other_parts_are_not_computed() -> None:
    x, y = ng.placeholder((4, 3), name="x"), ng.placeholder((4, 3), name="y")
    joined = ng.numpy.concat([x, ng.numpy.sin(y)])
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([ng.numpy.stack([x, y])[1], joined[3:0:-2] + 1], x, y)
        array = np.arange(12, dtype=np.float32).reshape(4, 3)
        one, two = computation(array, -array)
        np.testing.assert_array_equal(one, -array)
        np.testing.assert_array_equal(two, array[3:0:-2] + 1)
        assert "sin" not in computation.source() and "semi.concat" not in computation.plan(), computation.plan()


@pytest.mark.parametrize(
    "view",
    [
        lambda x: semi.transpose(x),
        lambda x: semi.slice(x, (0, 4), (4, -1), (2, -1)),
        lambda x: semi.broadcast(x, (2, 4, 5), (1, 2)),
        lambda x: semi.reshape(x, (20,)),
        lambda x: semi.reshape(semi.slice(x, (1, 0), (3, 5)), (10,)),
    ],
)
def test_an_operand_is_read_through_a_view(view: Any) -> None:
    x = ng.placeholder(ng.anonymous([4, 5]), name="x")
    seen = view(x)
    y = ng.placeholder(seen.axes, name="y")
    found = kernels(semi.add(semi.multiply(seen, y), y), x, y)
    assert (found["kernels"], found["temporaries"]) == (["map"], 0)


def test_a_reshape_that_strides_cannot_say_is_a_copy() -> None:
    x = ng.placeholder(ng.anonymous([4, 5]), name="x")
    flat = semi.reshape(semi.transpose(x), (20,))
    found = kernels(semi.tanh(flat), x)
    assert (found["kernels"], found["temporaries"]) == (["copy", "map"], 1)


def test_contiguous_axes_are_one_loop() -> None:
    """The same kernel serves every rank."""
    x4, x1 = x_of(H, W, C, N), x_of(H)
    with ng.make_transformer("cpu") as transformer:
        names = []
        for x, shape in ((x4, (4, 5, 3, 2)), (x1, (4,))):
            computation = transformer.computation(ng.tanh(x) * 3, x)
            computation(np.ones(shape, np.float32))
            names += computation.stats()["kernels"]
        assert names[0] == names[1]


layouts = st.lists(st.tuples(st.integers(1, 4), st.integers(-8, 8)), max_size=4)


@given(layouts, st.data())
def test_a_reshaped_layout_names_the_same_elements(dims: list[tuple[int, int]], data: st.DataObject) -> None:
    shape = tuple(n for n, _ in dims)
    layout = Layout(0, shape, tuple(s for _, s in dims))
    size = int(np.prod(shape))
    divisor = data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
    found = reshaped(layout, (divisor, size // divisor))
    if found is not None:
        assert addresses(found) == addresses(layout)


@given(st.lists(st.integers(0, 4), max_size=4).map(tuple), st.data())
def test_a_row_major_layout_takes_every_shape(shape: tuple[int, ...], data: st.DataObject) -> None:
    other = tuple(data.draw(st.permutations(shape)))
    assert reshaped(row_major(shape), other) is not None


def addresses(layout: Layout) -> list[int]:
    """The address of each element, in row-major order."""
    return [
        layout.offset + sum(i * s for i, s in zip(index, layout.strides, strict=True))
        for index in np.ndindex(*layout.shape)
    ]


# -- writing in place -------------------------------------------------------------------------------


def steps(
    variable: ng.Op, effect: ng.Op, *inputs: ng.Op, count: int = 1
) -> tuple[dict[str, Any], np.ndarray[Any, Any]]:
    """The figures of an effect that was run some times, and the variable's value then."""
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(effect, *inputs)
        for _ in range(count):
            computation(*(np.ones([int(n) for n in p.shape], p.dtype) for p in inputs))
        return computation.stats(), transformer.get(variable)


def test_an_update_is_written_straight_into_the_variable() -> None:
    w, g = ng.variable([H], initial_value=1.0), x_of(H)
    found, value = steps(w, ng.doall([ng.assign(w, w - 0.25 * g)]), g, count=2)
    assert (found["launches"], found["temporaries"]) == (1, 0)
    assert value.tolist() == [0.5] * 4


def test_an_update_waits_for_the_kernels_that_read_the_old_value() -> None:
    w, v = ng.variable([H], initial_value=1.0), ng.variable([], initial_value=0.0)
    update = ng.doall([ng.assign(w, w * 2), ng.assign(v, ng.sum(w, out_axes=[]))])
    found, value = steps(v, update, count=2)
    assert (found["launches"], float(value)) == (2, 8.0)


def test_an_exchange_computes_both_before_it_writes_either() -> None:
    w, v = ng.variable([H], initial_value=1.0), ng.variable([H], initial_value=5.0)
    found, value = steps(w, ng.doall([ng.assign(w, v * 2), ng.assign(v, w * 3)]), count=2)
    assert value.tolist() == [6.0] * 4
    assert found["launches"] == 4


def test_an_old_value_beside_a_new_one_is_copied_once() -> None:
    w = ng.variable([H], initial_value=1.0)
    old = ng.value_of(w)
    both = ng.sequential([old, ng.assign(w, w * 2), old + w * 10])
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(both)
        assert computation().tolist() == [21.0] * 4
        assert computation.stats()["launches"] == 3


def test_what_others_read_is_not_computed_where_it_will_be_overwritten() -> None:
    """The sum reads t after the variable that was given t has been given something else."""
    w, v = ng.variable([H], initial_value=1.0), ng.variable([], initial_value=0.0)
    t = w + 1
    steps_in_order = [t, ng.assign(w, t), ng.assign(w, w * 0), ng.assign(v, v + ng.sum(t, out_axes=[]))]
    _, value = steps(v, ng.sequential(steps_in_order), count=2)
    assert float(value) == 4 * 2.0 + 4 * 1.0


def test_two_variables_are_given_one_value() -> None:
    w, v = ng.variable([H], initial_value=1.0), ng.variable([H], initial_value=0.0)
    t = ng.square(w + 1)
    update = ng.doall([ng.assign(w, t), ng.assign(v, t)])
    assert steps(w, update)[1].tolist() == steps(v, update)[1].tolist() == [4.0] * 4


def test_an_operand_read_out_of_step_keeps_its_place() -> None:
    """The sum of a product and its transpose cannot take the place of the product."""
    square = [ng.Axis("R", 4), ng.Axis("S", 4)]
    x = ng.placeholder(square, name="x")
    value = np.arange(16, dtype=np.float32).reshape(4, 4)

    def times(a: ng.Op, b: ng.Op) -> ng.Op:
        return ng.cast_axes(ng.dot(a, ng.map_roles(b, {"R": "S", "S": "T"})), square)

    product = times(x, x)
    both = product + ng.cast_axes(ng.axes_with_order(product, square[::-1]), square)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(times(both, x), x)(value)
    expected = (value @ value + (value @ value).T) @ value
    assert found.tolist() == expected.tolist()  # integers below 2**24: exact


def test_a_temporary_that_dies_gives_its_place_to_the_result() -> None:
    """Three products in a row of one size need two buffers, not three: whole tiles need no workspace."""
    square = [ng.Axis("R", 32), ng.Axis("S", 32)]
    x = ng.placeholder(square, name="x")
    y = x
    for _ in range(4):
        y = ng.cast_axes(ng.dot(y, ng.map_roles(x, {"R": "S", "S": "T"})), square)
    assert kernels(y, x)["arena_bytes"] == 2 * 32 * 32 * 4


# -- memory -----------------------------------------------------------------------------------------

blocks = st.lists(
    st.builds(
        lambda size, first, more: Block(size, first, first + more),
        st.integers(0, 300),
        st.integers(0, 8),
        st.integers(0, 4),
    ),
    max_size=12,
)


@settings(max_examples=150)
@given(blocks)
def test_blocks_alive_together_do_not_overlap(drawn: list[Block]) -> None:
    offsets, total = place(drawn)
    placed = list(zip(drawn, offsets, strict=True))
    for i, (a, at) in enumerate(placed):
        assert at % ALIGNMENT == 0
        assert at + a.size <= total
        for b, other in placed[:i]:
            together = a.first <= b.last and b.first <= a.last
            assert not together or at + a.size <= other or other + b.size <= at


@settings(max_examples=18, deadline=None)
@given(blocks)
def test_many_blocks_are_placed_one_after_the_other(drawn: list[Block]) -> None:
    """More blocks than the search by size can take: the same promises, in less time."""
    many = [Block(b.size, b.first + 13 * k, b.last + 13 * k) for k in range(MANY_BLOCKS // 12 + 1) for b in drawn]
    many += [Block(0, 0, 0)] * (MANY_BLOCKS + 1 - len(many))
    offsets, total = place(many)
    for t in range(13):
        alive = sorted((at, b.size) for b, at in zip(many, offsets, strict=True) if b.size and b.first <= t <= b.last)
        assert all(at + size <= after for (at, size), (after, _) in pairwise(alive))
        assert all(at % ALIGNMENT == 0 and at + size <= total for at, size in alive)
    assert total <= sum(rounded(b.size) for b in drawn)


@settings(max_examples=150)
@given(blocks)
def test_the_arena_is_between_the_peak_and_the_sum(drawn: list[Block]) -> None:
    _, total = place(drawn)
    assert total <= sum(rounded(b.size) for b in drawn)
    assert total >= max((sum(rounded(b.size) for b in drawn if b.first <= t <= b.last) for t in range(13)), default=0)


def rounded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


# -- order ------------------------------------------------------------------------------------------


@given(st.integers(1, 8), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_each_node_comes_after_those_it_waits_for(count: int, pairs: set[tuple[int, int]]) -> None:
    before: dict[int, list[int]] = {}
    for a, b in pairs:
        if a > b:  # so that there is no cycle
            before.setdefault(a, []).append(b)
    order = in_order({n: -n for n in range(count)}, before)
    assert order is not None
    assert sorted(order) == list(range(count))
    assert all(order.index(b) < order.index(a) for a in order for b in before.get(a, ()) if b < count)


def test_a_cycle_has_no_order() -> None:
    assert in_order({"a": 0, "b": 1}, {"a": ["b"], "b": ["a"]}) is None


def test_results_and_writes_may_see_what_strides_cannot_say() -> None:
    """The transposed input is copied once, and the flattened view is of the copy."""
    h, n = ng.Axis("H", 3), ng.Axis("N", 4)
    x = ng.placeholder([h, n])
    flat = ng.flatten(ng.axes_with_order(x, [n, h]))
    stored = ng.variable(flat.axes)
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    with ng.make_transformer("cpu") as transformer:
        found, _ = transformer.computation([flat, ng.assign(stored, flat)], x)(values)
        assert np.array_equal(found, values.T.reshape(-1))
        assert np.array_equal(transformer.get(stored), found)
        assert np.array_equal(transformer.computation(flat, x)(values), found)


@pytest.mark.parametrize("kind", ["moves", "exchanges", "results"])
def test_what_many_parts_need_is_found_together(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning takes as many tries for many writes and results as for few."""

    attempt, made = plan.Attempt, list[object]()

    def counted(*args: Any) -> Any:
        made.append(args)
        return attempt(*args)

    def tries(count: int) -> int:
        made.clear()
        kernels(program(count))
        return len(made)

    def program(count: int) -> Any:
        xs = [ng.variable((4, 5)) for _ in range(count)]
        if kind == "moves":
            return ng.sequential([ng.doall([ng.assign(x[1:], x[:-1]) for x in xs]), xs[0]])
        if kind == "exchanges":
            return ng.doall([ng.assign(x, y) for x, y in zip(xs, xs[1:] + xs[:1], strict=True)])
        return [ng.numpy.reshape(x.T, (20,)) for x in xs]

    monkeypatch.setattr(plan, "Attempt", counted)
    assert tries(3) == tries(12) > 1


def test_convolutions_of_one_form_have_operands_and_workspace_of_their_own() -> None:
    """Their filters are few or as large as the images, as in derivatives; one reads what the other gives."""
    rng = np.random.default_rng(0)
    for k in (3, 7):
        w = [ng.placeholder({"C": 4, "R": k, "S": k, "K": 4}, name=f"w{i}") for i in range(3)]
        x = [ng.placeholder({"C": 4, "H": 7, "W": 7, "N": 2}, name=f"x{i}") for i in range(3)]
        found = [ng.convolution(a, b) for a, b in zip(x, w, strict=True)]
        values = [rng.standard_normal(tuple(map(int, p.shape))).astype("float32") for p in (*x, *w)]  # type: ignore[arg-type]
        with ng.make_transformer("cpu") as transformer:
            together = transformer.computation(found, *x, *w)(*values)
            for i, one in enumerate(found):
                alone = transformer.computation(one, x[i], w[i])(values[i], values[3 + i])
                np.testing.assert_array_equal(together[i], alone)


@pytest.mark.parametrize(
    ("dtype", "length", "told"),
    [
        ("uint8", 8, True),
        ("float32", 7, True),
        ("float32", 16, FILLED),
        ("float32", 17, False),
        ("float64", 15, FILLED),
        ("float64", 16, False),
    ],
)
def test_a_last_loop_too_short_for_vectors_is_told(dtype: str, length: int, told: bool) -> None:
    """So that they are made of the loop before it, or of parts of those of 512 bits."""
    x, y = ng.placeholder((100, 1), dtype), ng.placeholder((length,), dtype)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x + y, x, y)
        one, other = np.arange(100).astype(dtype)[:, None], np.arange(length).astype(dtype)
        np.testing.assert_array_equal(computation(one, other), one + other)
        assert (f"range({length})" in computation.source()) == told


@pytest.mark.parametrize("length", [2, 8, 12])
def test_rows_of_few_elements_are_written_out_and_mean_what_they_mean(length: int) -> None:
    """There are NaN, infinities, zeros of both signs, and elements that are equal."""
    nx, dtype = ng.numpy, "float64" if length == 2 else "float32"
    rng = np.random.default_rng(length)
    array = rng.integers(-2, 3, (20, 15, length)).astype(dtype)
    array[0, ::2, 0], array[1, :, -1], array[2, ::3, 0], array[3] = np.nan, np.inf, -np.inf, -0.0
    x = ng.placeholder(array.shape, dtype)
    once = [f(x, axis=-1) for f in (nx.sum, nx.max, nx.min, nx.prod)]
    once += [nx.sqrt(nx.sum(nx.square(x - x[:1, :1]), axis=-1))]
    if length <= 8:
        once += [nx.any(x > 1, axis=-1), nx.all(x > -2, axis=-1), nx.argmax(x, axis=-1), nx.argmin(x, axis=-1)]
    again = [nx.softmax(x, axis=-1), (x - nx.mean(x, axis=-1, keepdims=True)) / nx.max(x, axis=-1, keepdims=True)]
    for wanted in once, again:
        found, expected = list[np.ndarray](), list[np.ndarray]()
        for target, values in ("cpu", found), ("reference", expected):
            with ng.make_transformer(target) as transformer:
                computation = transformer.computation(wanted, x)
                values += computation(array)
                assert target != "cpu" or f"range({length})" in computation.source()
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6 if dtype == "float32" else 1e-15)


SOFTMAX, LOGSUMEXP = partial(ng.numpy.softmax, axis=1), partial(ng.numpy.logsumexp, axis=1)


def centred(x: ng.Op) -> ng.Op:
    """Rows less what is largest in them."""
    return x - ng.numpy.max(x, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("function", "dtype", "length", "asked"),
    [
        (SOFTMAX, "float32", 15, "write_out_loops()"),
        (SOFTMAX, "float32", 16, "keep_loops()"),
        (SOFTMAX, "bfloat16", 9, "write_out_loops()"),
        (SOFTMAX, "float16", 13, "keep_loops()"),
        (LOGSUMEXP, "float32", 16, "write_out_loops()"),
        (LOGSUMEXP, "float64", 8, "write_out_loops()"),
        (lambda x: ng.numpy.tan(SOFTMAX(ng.erf(ng.numpy.tanh(x)))), "float32", 15, "keep_loops()"),
        (centred, "int32", 9, "keep_loops()"),
        (centred, "float32", 9, None),
        (centred, "float64", 15, None),
    ],
)
def test_functions_of_rows_that_are_read_again_are_written_out(
    function: Callable[[ng.Op], ng.Op], dtype: str, length: int, asked: str | None
) -> None:
    """Unless they are many; integers are kept as parts of vectors, and extrema of floats alone are not told."""
    x = ng.placeholder((300, length), dtype)
    array = np.random.default_rng(length).normal(scale=9, size=x.shape).astype(x.dtype)  # type: ignore[arg-type]
    with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
        computation = transformer.computation(function(x), x)
        found, expected = computation(array), reference.computation(function(x), x)(array)
        source = computation.source()
    if FILLED:
        assert [word for word in ("write_out_loops()", "keep_loops()") if word in source] == ([asked] if asked else [])
    tolerance = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-5}.get(dtype, 1e-14)
    np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance)


LAST_LOOPS = [
    (17, "float32", True), (32, "float32", True), (63, "float32", True), (64, "float32", False), (97, "float32", False),
    (16, "float64", True), (32, "float64", False), (47, "float64", True), (63, "float16", True), (64, "float16", False),
]  # fmt: skip


@pytest.mark.parametrize(("length", "dtype", "filled"), LAST_LOOPS)
def test_rows_that_are_shorter_than_one_step_of_vectors_fill_them(length: int, dtype: str, filled: bool) -> None:
    """There are NaN and infinities. What computes no functions stays as it is."""
    nx, tolerance = ng.numpy, 2e-3 if dtype == "float16" else 1e-5
    array = np.random.default_rng(length).normal(size=(300, length)).astype(dtype)
    array[0, -1], array[1], array[2, ::3] = np.nan, -np.inf, np.inf
    x = ng.placeholder(array.shape, dtype)
    functions = [nx.softmax(x, axis=1), nx.sum(nx.exp(-x * x) * nx.tanh(x), axis=1)]
    for found, asked in ((functions, filled and FILLED), ([nx.max(x, axis=1, keepdims=True) - x], False)):
        with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
            computation = transformer.computation(found, x)
            for one, other in zip(computation(array), reference.computation(found, x)(array), strict=True):
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
            assert ("fill_loops()" in computation.source()) == asked


@pytest.mark.parametrize(("length", "dtype", "filled"), LAST_LOOPS)
def test_a_last_loop_of_a_map_that_is_shorter_than_one_step_of_vectors_fills_them(
    length: int, dtype: str, filled: bool
) -> None:
    """There are NaN and infinities. What computes no functions stays as it is."""
    rng = np.random.default_rng(length)
    array, row = rng.normal(size=(40, length)).astype(dtype), rng.normal(size=length).astype(dtype)
    array[0, -1], array[1, ::2], array[2, 1::3] = np.nan, -np.inf, np.inf
    x, b = ng.placeholder(array.shape, dtype), ng.placeholder(row.shape, dtype)
    for found, asked in ((ng.numpy.tanh(x + b), filled and FILLED), (x * b, False)):
        with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
            computation = transformer.computation(found, x, b)
            expected = reference.computation(found, x, b)(array, row)
            np.testing.assert_allclose(computation(array, row), expected, rtol=1e-3 if dtype == "float16" else 1e-6)
            assert ("fill_loops()" in computation.source()) == asked


@pytest.mark.parametrize(("length", "told"), [(3, False), (4, FILLED)])
def test_three_rows_side_by_side_are_told_only_if_functions_are_computed(length: int, told: bool) -> None:
    x = ng.placeholder((1000, length), "float64")
    for found, asked in ((ng.numpy.var(x, axis=0), told), (ng.numpy.softmax(x, axis=0), FILLED)):
        with ng.make_transformer("cpu") as transformer:
            computation = transformer.computation(found, x)
            computation(np.ones(x.shape))
            assert ("keep_loops()" in computation.source()) == asked


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("outer", [(), (20,)], ids=["alone", "many times"])
@pytest.mark.parametrize("length", [3, 4, 7, 15])
def test_few_rows_side_by_side_are_told_and_mean_what_they_mean(
    length: int, outer: tuple[int, ...], threads: int
) -> None:
    """There are NaN and infinities."""
    nx, rng = ng.numpy, np.random.default_rng(length)
    array = rng.normal(size=(*outer, 351, length)).astype(np.float32)
    if outer:
        array[0, ::2, 0], array[1, :, -1], array[2, ::3, 0], array[3] = np.nan, np.inf, -np.inf, -0.0
    else:
        array[::2, 0], array[:, -1], array[::3, 1] = np.nan, np.inf, -np.inf
    x = ng.placeholder(array.shape)
    wanted = [nx.softmax(x, axis=-2), nx.logsumexp(x, axis=-2), nx.sum(nx.exp(x), axis=-2), nx.var(x, axis=-2)]
    wanted.append(nx.max(x, axis=-2, keepdims=True) - x)
    with ng.make_transformer("cpu", threads=threads) as transformer, ng.make_transformer("reference") as reference:
        computation = transformer.computation(wanted, x)
        found, expected = computation(array), reference.computation(wanted, x)(array)
        assert (f"range({length})" in computation.source()) == FILLED
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_vectors_that_few_rows_are_a_part_of_hold_no_subnormal_numbers() -> None:
    """Whatever lay there before was computed with: a softmax of five rows took forty times as long as of four."""
    x = ng.placeholder((351, 5))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.numpy.softmax(x, axis=0), x)
        computation(np.zeros((351, 5), np.float32))
        source = computation.source()
    arrays = re.findall(r"(\w+_lanes) = workspace", source)
    filled = re.search(r"for lane in range\(16\):\n((?: {8}store.*\n)+)", source)
    assert bool(filled) == FILLED  # elsewhere a part of a vector is loaded number by number
    assert not filled or arrays and re.findall(r"\((\w+), lane, (?:np.float32\()?0.0", filled[1]) == arrays


@pytest.mark.parametrize(
    ("function", "dtype", "written"),
    [("max", "float16", False), ("sum", "float16", True), ("max", "float32", True), ("argmax", "float32", False)],
)
def test_longer_rows_stay_as_they_are_where_one_is_a_few_instructions(function: str, dtype: str, written: bool) -> None:
    """Extrema of halves took four times as long written out, and places twice."""
    x = ng.placeholder((300, 12), dtype)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(getattr(ng.numpy, function)(x, axis=-1), x)
        array = np.arange(3600).reshape(300, 12)[:, ::-1].astype(dtype)
        np.testing.assert_array_equal(computation(array), getattr(np, function)(array, axis=-1))
        assert ("range(12)" in computation.source()) == written
