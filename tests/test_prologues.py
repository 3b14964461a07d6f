# SPDX-License-Identifier: Apache-2.0
"""Operands of products that are maps: computed where they are packed, whatever they read and however that lies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cut_products import DTYPES, EXAMPLES, Array, cut_so, cuts, drawn, kernels_of, lengths, placeholder, run, whole
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.codegen.epilogue import render_prologue
from ngraph_rewrite.codegen.loops import MapNest, Operand
from ngraph_rewrite.errors import DTypeError, KernelError
from ngraph_rewrite.plan import attempt, products
from ngraph_rewrite.targets.cpu import CPU

HALVES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def prologue(draw: st.DrawFn, shape: tuple[int, ...], dtype: str, inputs: dict[ng.Op, Array]) -> ng.Op:
    """A map of arrays of several dtypes, which lie in rows or columns, or are the same for all of these."""
    seed = len(inputs)

    def part(axes: tuple[int, ...], kind: str) -> ng.Op:
        order = draw(st.permutations(axes))
        array = whole(tuple(shape[a] for a in order), kind, seed + len(inputs))
        x = placeholder(array)
        inputs[x] = array
        x = semi.transpose(x, tuple(order.index(a) for a in axes))
        x = x if len(axes) == len(shape) else semi.broadcast(x, shape, axes)
        return semi.cast(x, dtype)

    every = tuple(range(len(shape)))
    found = part(every, draw(st.sampled_from([dtype, "float16", "bfloat16", "int8", "uint8"])))
    if draw(st.booleans()):
        axes = draw(st.sampled_from([every, every[:-1], every[1:], every[-1:], ()]))
        found = draw(st.sampled_from([semi.add, semi.multiply]))(found, part(axes, dtype))
    return semi.absolute(found) if draw(st.booleans()) else found


@settings(drawn, max_examples=10)
@given(st.data(), st.sampled_from(DTYPES), st.sampled_from([None, 0, 1, 3]), lengths, lengths, lengths)
def test_an_operand_that_is_a_map_is_as_if_it_were_in_memory(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject, dtype: str, count: int | None, m: int, n: int, k: int
) -> None:
    """For any way to cut products up; numbers are whole, so that any order of sums is exact."""
    inputs: dict[ng.Op, Array] = {}
    batch = () if count is None else (count,)
    shapes = [(*batch, m, k), (*batch, k, n)]
    sides = [data.draw(st.composite(prologue)(shape, dtype, inputs)) for shape in shapes]  # type: ignore[arg-type]
    if count is None and data.draw(st.booleans()):
        product = semi.transpose(semi.dot(semi.transpose(sides[1]), semi.transpose(sides[0])))
    else:
        product = (semi.dot if count is None else semi.batch_dot)(*sides)
    if data.draw(st.booleans()):
        product = semi.maximum(product, 0.0)
    parts, ahead = data.draw(st.sampled_from([1, 1, 2, 5])), data.draw(st.sampled_from([None, 3, 16, 40]))
    threads = data.draw(st.sampled_from([1, 3]))
    with cut_so(monkeypatch, data.draw(cuts()), parts, ahead) as patch:
        patch.setattr(
            products, "_LONG", data.draw(st.sampled_from([2, 32]))
        )  # else a product of one row is no sum of rows
        together = run(product, inputs, threads)
        patch.setattr(attempt, "with_prologues", lambda jobs, *_: list(jobs))
        apart = run(product, inputs, threads)
    assert np.array_equal(together, apart)


@settings(drawn, max_examples=EXAMPLES)
@given(
    st.sampled_from(list(HALVES)), st.sampled_from([None, 2]), lengths, lengths, lengths, st.booleans(), st.booleans()
)
def test_products_of_halves_are_summed_in_float32_and_rounded_once(
    dtype: str, count: int | None, m: int, n: int, k: int, ta: bool, tb: bool
) -> None:
    rng, batch = np.random.default_rng(m * n + k), () if count is None else (count,)
    a, b = (rng.normal(size=(*batch, *s)).astype(HALVES[dtype]) for s in ((m, k), (k, n)))
    left, right = (np.swapaxes(x, -1, -2).copy() if t else x for x, t in ((a, ta), (b, tb)))
    x, y = placeholder(left), placeholder(right)
    turn = (*range(len(batch)), len(batch) + 1, len(batch))
    term = (semi.dot if count is None else semi.batch_dot)(
        semi.transpose(x, turn) if ta else x, semi.transpose(y, turn) if tb else y
    )
    found = run(term, {x: left, y: right})
    exact, size = a.astype("float64") @ b.astype("float64"), np.abs(a).astype("float64") @ np.abs(b).astype("float64")
    step = float(ml_dtypes.finfo(HALVES[dtype]).eps)
    assert found.dtype == HALVES[dtype]
    assert np.all(np.abs(found.astype("float64") - exact) <= step / 2 * np.abs(exact) + (k + 2) * 2**-23 * size + 1e-7)


A, B = whole((40, 50), "float32", 1), whole((50, 60), "float32", 2)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_product_of_halves_is_one_kernel(dtype: str) -> None:
    a, b = A.astype(HALVES[dtype]), B.astype(HALVES[dtype])
    x, y = placeholder(a), placeholder(b)
    assert kernels_of(semi.dot(x, y), {x: a, y: b}) == ["gemm"]
    turned = ["copy"] if dtype == "bfloat16" and CPU.float_pairs[0] <= 40 else []  # whose pairs lie side by side
    assert kernels_of(semi.dot(semi.transpose(x), x), {x: a}) == [*turned, "gemm"]
    stack = placeholder(a[None])
    assert kernels_of(semi.batch_dot(stack, semi.transpose(stack, (0, 2, 1))), {stack: a[None]}) == ["gemm"]


@pytest.mark.parametrize("dtype", HALVES)
def test_for_a_row_or_two_of_halves_nothing_is_packed(dtype: str) -> None:
    a, b = A[:2].astype(HALVES[dtype]), B.astype(HALVES[dtype])
    many, others = np.stack([a, a]), np.stack([b, b])
    x, y, xs, ys = (placeholder(array) for array in (a, b, many, others))
    assert kernels_of(semi.dot(x, y), {x: a, y: b}) == ["dot"]
    assert kernels_of(semi.batch_dot(xs, ys), {xs: many, ys: others}) == ["batch"]


def test_products_of_many_are_of_wide_numbers() -> None:
    x, y = placeholder(A[None]), placeholder(B[None])
    assert ng.make_op("cpu.batch_gemm", x, y).shape == (1, 40, 60)
    with pytest.raises(DTypeError, match="batch_gemm takes matrices of one dtype of 32 or 64 bits, not"):
        ng.make_op("cpu.batch_gemm", semi.cast(x, "float16"), semi.cast(y, "float16"))


def test_weights_of_whole_numbers_are_scaled_where_they_are_packed() -> None:
    """Nobody writes them down as floats."""
    kept, scale = whole((50, 60), "int8", 3), whole((60,), "float32", 4)
    x, w, s = placeholder(A), placeholder(kept), placeholder(scale)
    term = semi.dot(x, semi.multiply(semi.cast(w, "float32"), semi.broadcast(s, (50, 60), (1,))))
    inputs = {x: A, w: kept, s: scale}
    assert kernels_of(term, inputs) == ["gemm"]
    assert np.array_equal(run(term, inputs), A @ (kept * scale))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, *inputs)
        computation(*inputs.values())
        assert computation.stats()["arena_bytes"] < 1 << 17


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_one_row_times_what_is_kept_in_fewer_bits_is_a_sum_of_rows(dtype: str) -> None:
    """Columns of the second factor lie along memory, as PyTorch keeps weights: they are read once, as they are."""
    kept = whole((300, 64), "int8", 3).astype(HALVES.get(dtype, np.int8))
    row, scale = whole((1, 64), "float32", 4).astype(HALVES.get(dtype, np.float32)), whole((300,), "float32", 5)
    x, w, s = placeholder(row), placeholder(kept), placeholder(scale)
    inputs, terms = {x: row, w: kept, s: scale}, [semi.dot(x, semi.transpose(semi.cast(w, x.dtype)))]
    terms.append(semi.maximum(semi.multiply(semi.cast(terms[0], "float32"), semi.broadcast(s, (1, 300), (1,))), 1.0))
    exact = row.astype("float32") @ kept.astype("float32").T
    for term, expected in zip(terms, [exact, np.maximum(exact * scale, 1)], strict=True):
        given = {k: v for k, v in inputs.items() if k is not s or term is not terms[0]}
        assert kernels_of(term, given) in (
            ["reduce"],
            ["map", "reduce"],
            ["reduce", "map"],
        )  # the row may be cast before
        assert np.array_equal(run(term, given).astype("float32"), expected.astype(HALVES.get(dtype, np.float32)))


def test_explain_tells_where_an_operand_is_computed() -> None:
    x, y = placeholder(A), placeholder(B)
    positive = ramp(x)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(semi.dot(positive, y), x, y)
        computation(A, B)
        assert "computed inside the kernel of cpu.gemm" in computation.explain(positive)
        assert "def prologue_" in computation.source()


# -- what stays in memory ------------------------------------------------------------------------------


def ramp(x: Any) -> Any:
    return np.maximum(x, 0) if isinstance(x, np.ndarray) else semi.maximum(x, 0.0)


STAYS = {
    "a result": lambda x, y: [dot(ramp(x), y), ramp(x)],
    "read by two products": lambda x, y: [dot(ramp(x), y), dot(turned(ramp(x)), x)],
    "both operands": lambda x, y: [dot(turned(ramp(x)), ramp(x))],
}


def dot(x: Any, y: Any) -> Any:
    return x @ y if isinstance(x, np.ndarray) else semi.dot(x, y)


def turned(x: Any) -> Any:
    return x.T if isinstance(x, np.ndarray) else semi.transpose(x)


@pytest.mark.parametrize("name", STAYS)
def test_an_operand_that_others_need_is_in_memory(name: str) -> None:
    x, y = placeholder(A), placeholder(B)
    results, inputs = STAYS[name](x, y), {x: A, y: B}
    assert "map" in kernels_of(results, inputs)
    for found, expected in zip(run(results, inputs), STAYS[name](A, B), strict=True):
        assert np.array_equal(found, expected)


def test_a_map_that_takes_long_is_not_computed_for_each_group() -> None:
    """The second operand is needed by all rows, of which there are several groups."""
    a, b = np.ones((1024, 512), np.float32), np.ones((512, 512), np.int8)
    x, y = placeholder(a), placeholder(b)
    numbers = semi.cast(y, "float32")
    assert kernels_of(semi.dot(x, numbers), {x: a, y: b}) == ["gemm"]
    assert kernels_of(semi.dot(x, semi.atan2(numbers, ramp(numbers))), {x: a, y: b}) == ["map", "gemm"]


def test_an_operand_of_a_variable_is_read_before_that_is_overwritten() -> None:
    """The product is computed after the variable is written, the operand was before."""
    start = whole((50, 60), "float32", 9)
    x = placeholder(A)
    w = ng.variable(ng.anonymous(start.shape), initial_value=start)
    old = ramp(w)
    step = ng.assign(w, semi.multiply(w, 2.0))
    after = ng.sequential([old, step, semi.dot(x, old)])
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(after, x)(A)
    assert np.array_equal(found, A @ ramp(start))


def test_parts_of_a_long_sum_compute_their_operands() -> None:
    a, b = whole((64, 1 << 16), "float32", 5), whole((1 << 16, 64), "int8", 6)
    x, y = placeholder(a), placeholder(b)
    floats, numpys = semi.cast(y, "float32"), b.astype("float32")
    terms = [semi.dot(ramp(x), floats), semi.tanh(semi.dot(x, floats))]
    for term, ours in zip(terms, [ramp(a) @ numpys, np.tanh(a @ numpys)], strict=True):
        assert kernels_of(term, {x: a, y: b}) == ["gemm", "product"]
        np.testing.assert_allclose(run(term, {x: a, y: b}, 2), ours, rtol=1e-6)


def test_a_prologue_is_a_nest_of_rows_and_columns_with_one_store() -> None:
    load, store = Operand("float16", ("s", "1")), Operand("float32", ("s", "1"))
    assert render_prologue(MapNest(2, (load,), (), ((0, store),), (0, 1))).signature == ("x0", "x0_batch", "x0_s0")
    for wrong in (MapNest(1, (Operand("float16", ("1",)),), (), ((0, Operand("float32", ("1",))),), (0, 1)),
                  MapNest(2, (load,), (), ((0, Operand("float32", ("1", "s"))),), (0, 1))):  # fmt: skip
        with pytest.raises(KernelError, match="a nest of rows and columns with one store"):
            render_prologue(wrong)
