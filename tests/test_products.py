# SPDX-License-Identifier: Apache-2.0
"""Products of matrices by tiles: of any shape and strides, cut up in any way, and with anything done to the result."""

from __future__ import annotations

import ctypes
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cut_products import (
    DTYPES,
    EXAMPLES,
    INTEGERS,
    SMALL,
    Array,
    cut_so,
    cuts,
    drawn,
    kernels_of,
    lengths,
    operands,
    placeholder,
    run,
    same_bits,
    whole,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.plan import attempt, products
from ngraph_rewrite.plan.blocking import blocking, parts_of_sum, product_time
from ngraph_rewrite.plan.blocks import (
    DOTS,
    FETCHES,
    PACKS_A,
    PACKS_B,
    PACKS_CROWDED,
    SWEEPS,
    Blocking,
    Lies,
    Mapped,
    Maps,
    ahead,
)
from ngraph_rewrite.runtime import products as tile_products
from ngraph_rewrite.runtime import sweeps, tiles
from ngraph_rewrite.runtime.engine import host_machine
from ngraph_rewrite.runtime.features import (
    Tile,
    Vectors,
    first_cache_ways,
    multiplies_quads,
    processor,
    tile_shape,
    vectors,
)
from ngraph_rewrite.runtime.products import product_number

# -- cutting up ----------------------------------------------------------------------------------------


@drawn
@given(st.data(), st.sampled_from(DTYPES + INTEGERS), st.sampled_from([0, 1, 1, 3]), lengths, lengths, lengths)
def test_a_product_is_numpys_however_it_lies_and_is_cut(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject, dtype: str, count: int, m: int, n: int, k: int
) -> None:
    (a, left), (b, right) = (data.draw(operands(s, dtype, i)) for i, s in enumerate([(count, m, k), (count, k, n)]))
    x, y = placeholder(a), placeholder(b)
    parts, ahead = data.draw(st.sampled_from([1, 1, 2, 3, 5])), data.draw(st.sampled_from([None, 3, 16, 40]))
    with cut_so(monkeypatch, data.draw(cuts()), parts, ahead) as patch:
        patch.setattr(products, "_LONG", data.draw(st.sampled_from([2, 1000])))
        patch.setattr(products, "_FILLED", data.draw(st.sampled_from([0, 64])))
        found = run(semi.batch_dot(left(x), right(y)), {x: a, y: b}, data.draw(st.sampled_from([1, 3])))
    assert np.array_equal(found, left(a) @ right(b))


@drawn
@given(
    st.data(),
    st.sampled_from([*INTEGERS, *SMALL, *SMALL]),
    st.sampled_from([0, 0, 3]),
    lengths,
    lengths,
    lengths,
)
def test_products_of_integers_wrap_as_numpys(
    data: st.DataObject, dtype: str, count: int, m: int, n: int, k: int
) -> None:
    """Of one product and of several, and of operands that are converted: the kernel reads them as they are kept."""
    rng, many = np.random.default_rng(m + 100 * n), (count,) * bool(count)
    turned, to = data.draw(st.booleans()), data.draw(st.sampled_from([dtype, "int32", "int32", "int64"]))
    ends = (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if data.draw(st.booleans()):  # the ends alone, whose products are the largest
        a, b = (rng.choice(np.array(ends, dtype), (*many, *s)) for s in ((m, k), (n, k) if turned else (k, n)))
    else:
        a, b = (rng.integers(*ends, (*many, *s), dtype, True) for s in ((m, k), (n, k) if turned else (k, n)))
    x, y = placeholder(a), placeholder(b)
    order = (*range(len(many)), len(many) + 1, len(many)) if turned else tuple(range(len(many) + 2))
    multiply = semi.batch_dot if count else semi.dot
    term = multiply(ng.cast(x, dtype=to), semi.transpose(ng.cast(y, dtype=to), order))
    found = run(term, {x: a, y: b}, data.draw(st.sampled_from([1, 3])))
    expected = np.matmul(a.astype(to), b.astype(to).transpose(order))
    assert found.dtype == to and np.array_equal(found, expected)


@drawn
@given(lengths, lengths, lengths)
def test_products_of_truths_ask_whether_there_is_a_pair(m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m + 100 * n)
    a, b = (rng.random((2, *s)) < 0.1 for s in ((m, k), (k, n)))
    x, y = placeholder(a), placeholder(b)
    found = run([semi.batch_dot(x, y), ng.numpy.matmul(x, y)], {x: a, y: b})
    assert all(f.dtype == bool and np.array_equal(f, a @ b) for f in found)


def test_converted_integers_are_multiplied_in_one_launch() -> None:
    """Where four bytes that both have a sign, or none, are multiplied at once, rows are summed, too.

    Else, and where bytes are summed in a byte, they are pairs, of which the rows are made of int16.
    """
    other, alike = ([], ["reduce"]) if multiplies_quads() else (["map"], ["map"])
    for left, right, launched in (("int16", "int8", []), ("uint8", "int8", other), ("int8", "int8", alike)):
        a, b = np.ones((65, 64), left), np.ones((64, 65), right)
        x, y = placeholder(a), placeholder(b)
        term = semi.dot(ng.cast(x, dtype="int32"), ng.cast(y, dtype="int32"))
        assert kernels_of(term, {x: a, y: b}) == [*launched, "gemm"]
        if left == right:
            assert kernels_of(semi.dot(x, y), {x: a, y: b}) == ["map", "gemm"]


@drawn
@given(st.sampled_from(DTYPES), st.booleans(), st.booleans(), lengths, lengths, lengths, st.booleans())
def test_rounding_is_that_of_one_sum(dtype: str, ta: bool, tb: bool, m: int, n: int, k: int, large: bool) -> None:
    """Each number is off by no more than the bound for a sum of products in any order."""
    rng, k = np.random.default_rng(m + 100 * n), k * 40 if large else k
    a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
    left, right = np.ascontiguousarray(a.T) if ta else a, np.ascontiguousarray(b.T) if tb else b
    x, y = placeholder(left), placeholder(right)
    found = run(semi.dot(semi.transpose(x) if ta else x, semi.transpose(y) if tb else y), {x: left, y: right})
    exact, size = a.astype("longdouble") @ b, np.abs(a).astype("longdouble") @ np.abs(b)
    assert np.all(np.abs(found - exact) <= (k + 2) * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_special_values_stay_in_their_row_or_column(value: float, side: int) -> None:
    """No zero of padding is multiplied with them into what is stored."""
    shapes = (17, 33), (33, 21)
    arrays = [np.ones(s, np.float32) for s in shapes]
    arrays[side][(3, 32) if side == 0 else (32, 20)] = value
    x, y = (placeholder(a) for a in arrays)
    for term in (semi.dot(x, y), semi.transpose(semi.dot(semi.transpose(y), semi.transpose(x)))):
        found = run(term, {x: arrays[0], y: arrays[1]})
        expected = np.full((17, 21), 33, np.float32)
        expected[(3, slice(None)) if side == 0 else (slice(None), 20)] = value
        assert np.array_equal(found, expected, equal_nan=True)


def test_zeros_times_infinities_are_nan() -> None:
    x, y = placeholder(np.zeros((2, 3), np.float32)), placeholder(np.zeros((3, 5), np.float32))
    found = run(semi.dot(x, y), {x: np.zeros((2, 3), np.float32), y: np.full((3, 5), np.inf, np.float32)})
    assert np.isnan(found).all()


@given(
    st.integers(0, 40), *[st.integers(0, 5000) for _ in range(3)], st.sampled_from([4, 8]),
    *[st.integers(0, 9000) for _ in range(2)], st.booleans(), st.booleans(),
    st.builds(Maps, *[st.builds(Mapped, st.booleans(), st.booleans())] * 2), st.booleans(),
)  # fmt: skip
def test_groups_cover_a_product_and_are_whole_tiles(
    count: int, m: int, n: int, k: int, itemsize: int, a_step: int, b_step: int, plain: bool, across: bool, maps: Maps,
    aside: bool,
) -> None:  # fmt: skip
    cut = blocking(count, m, n, k, itemsize, Lies(a_step, b_step, plain, across, maps))
    assert cut.groups == count * cut.down * cut.across
    assert (cut.down - 1) * cut.rows < max(m, 1) <= max(cut.down, 1) * cut.rows
    assert (cut.across - 1) * cut.columns < max(n, 1) <= max(cut.across, 1) * cut.columns
    assert cut.columns % 32 == 0 and 1 <= cut.block <= cut.rows and cut.deep >= 1
    assert (plain and not maps.b.there) or cut.packs & PACKS_B  # tiles read rows of B of unit stride only
    assert not (
        maps.a.there and cut.packs & (PACKS_A | PACKS_CROWDED)
    )  # A that is computed is there as if it were packed
    room = cut.room(n, k, itemsize, aside, maps)
    assert room.a_at <= room.b_at <= room.c_at <= room.bytes
    if maps.a.there:
        held = cut.deep if maps.a.turned else cut.block
        assert cut.pitch(maps.a) >= (cut.block if maps.a.turned else cut.deep)
        assert room.b_at - room.a_at >= held * cut.pitch(maps.a) * itemsize
    if maps.b.there:
        assert room.c_at - room.b_at >= ahead(maps.b, plain) * cut.columns * itemsize


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_long_product_whose_first_operand_lies_across_is_packed_in_stretches(dtype: str) -> None:
    """As that for the gradient of weights is, where a batch is large."""
    a, b = (whole(s, dtype, i) for i, s in enumerate([(2100, 515), (2100, 520)]))
    x, y = placeholder(a), placeholder(b)
    assert blocking(1, 515, 520, 2100, 4, Lies(515, 520, True, across=True))[:5] == (140, 288, 256, 70, 3)
    product = semi.dot(semi.transpose(x), y)
    assert np.array_equal(run(product, {x: a, y: b}, 2), a.T @ b)
    assert np.array_equal(run(semi.maximum(product, 0), {x: a, y: b}, 3), np.maximum(a.T @ b, 0))


@given(*[st.integers(0, n) for n in (2000, 2000, 1 << 20)], st.sampled_from([4, 8]), st.booleans(), st.booleans())
def test_parts_of_a_long_sum_are_worth_it(m: int, n: int, k: int, itemsize: int, plain: bool, across: bool) -> None:
    """Each has enough to do, and what they give takes little memory; others than long ones have few groups."""
    lies = Lies(k, n, plain, across)
    parts = parts_of_sum(m, n, k, itemsize, lies)
    assert 1 <= parts <= 8
    if parts > 1:
        assert k // parts >= 1024 and parts * m * n * itemsize <= 1 << 24
        assert product_time(1, m, n, k, itemsize) // parts >= 20_000
        cut = blocking(1, m, n, k, itemsize, lies)
        assert cut.packs & ~FETCHES == PACKS_A + PACKS_B and parts <= 4 or parts * cut.groups <= 8


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_a_long_sum_of_few_numbers_is_shared_out(dtype: str, turned: tuple[bool, bool]) -> None:
    """Also where parts are not as long as each other; to any number of threads, with the same bits."""
    shapes = [(9, 20_011), (20_011, 33)]
    a, b = (whole(s[::-1] if turn else s, dtype, 1) for s, turn in zip(shapes, turned, strict=True))
    x, y = placeholder(a), placeholder(b)
    left, right = (semi.transpose(z) if turn else z for z, turn in zip((x, y), turned, strict=True))
    expected = (a.T if turned[0] else a) @ (b.T if turned[1] else b)
    for returns, wanted in [
        (semi.dot(left, right), expected),
        (semi.maximum(semi.dot(left, right), 0), np.maximum(expected, 0)),
        (semi.negative(semi.transpose(semi.dot(left, right))), -expected.T),
    ]:
        with ng.make_transformer("cpu", threads=3) as transformer:
            computation = transformer.computation(returns, x, y)
            assert np.array_equal(computation(a, b), wanted)
            assert [re.sub(r"_\w{16}$", "", name) for name in computation.stats()["kernels"]][:2] == [
                "gemm",
                "product_sums",
            ]
    rough = [np.random.default_rng(0).normal(size=z.shape).astype(dtype) for z in (a, b)]
    one, *others = (run(semi.dot(left, right), dict(zip((x, y), rough, strict=True)), threads) for threads in (1, 2, 3))
    assert all(same_bits(one, other) for other in others)


@pytest.mark.parametrize(
    "count, k, cut", [
        (1, 2048, (140, 512, 256)), (2, 1024, (266, 512, 256)), (1, 1024, (266, 256, 342)), (8, 256, (512, 512, 256)),
    ],
)  # fmt: skip
def test_many_short_products_are_no_long_one(count: int, k: int, cut: tuple[int, ...]) -> None:
    """Parts of a long product are cut up as it would be, a batch of others is not."""
    found = blocking(count, 512, 512, k, 4, Lies(512, 512, True, across=True))
    assert (found[:3], found.packs) == (cut, PACKS_A + PACKS_B)


@pytest.mark.parametrize(
    "count, m, n, k, across, cut", [
        (1, 8192, 512, 783, False, (1024, 256, 392)), (1, 8192, 512, 784, False, (1024, 256, 392)),
        (1, 8192, 10, 512, False, (1024, 32, 512)), (4, 784, 512, 2048, True, (784, 512, 256)),
    ],
)  # fmt: skip
def test_matrices_that_lie_in_no_cache_are_asked_for_ahead(
    count: int, m: int, n: int, k: int, across: bool, cut: tuple[int, ...]
) -> None:
    """And groups have more rows, for which B is packed once."""
    found, half = (blocking(c, r, n, k, 4, Lies(k, n, True, across)) for c, r in ((count, m), (1, m // 8)))
    assert found[:3] == cut and found.packs & FETCHES and not half.packs & FETCHES


def test_an_epilogue_of_a_large_product_needs_no_second_result() -> None:
    """It is put where the epilogue stores; threads have what is packed, and no more than that."""
    arrays = [np.ones(shape, np.float32) for shape in ((8192, 784), (784, 512))]
    x, y = map(placeholder, arrays)
    for threads in (1, 3):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            computation = transformer.computation(semi.maximum(semi.dot(x, y), 0), x, y)
            assert (computation(*arrays) == 784).all()
            assert computation.stats()["arena_bytes"] <= threads * 512 * 1024


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_argument_that_an_epilogue_reads_in_step_keeps_its_place(dtype: str) -> None:
    """So the product needs no workspace; the result may be stored over the argument all the same."""
    a, b, c = (whole(shape, dtype, i) for i, shape in enumerate([(300, 70), (70, 200), (300, 200)]))
    x, y, z = map(placeholder, (a, b, c))
    with ng.make_transformer("cpu", threads=2) as transformer:
        computation = transformer.computation(semi.add(semi.dot(x, y), z), x, y, z)
        expected = a @ b + c
        assert np.array_equal(computation(a, b, c), expected)
        assert np.array_equal(computation(a, b, c, out=c), expected) and np.array_equal(c, expected)
        assert "epilogue" in computation.source()


def test_what_an_epilogue_reads_in_step_gives_its_place_to_what_it_stores() -> None:
    """Then the product is workspace: else it would be there before the other was read."""
    shapes = (2048, 24), (24, 512), (24, 512), (512, 512)
    a, b, c, d = (whole(shape, "float32", i) for i, shape in enumerate(shapes))
    x, y, z, w = map(placeholder, (a, b, c, d))
    with ng.make_transformer("cpu", threads=2) as transformer:
        first = semi.maximum(semi.dot(x, y), 0)
        computation = transformer.computation(semi.dot(semi.add(semi.dot(x, z), first), w), x, y, z, w)
        assert np.array_equal(computation(a, b, c, d), (a @ c + np.maximum(a @ b, 0)) @ d)
        assert computation.stats()["arena_bytes"] < 1.5 * first.size * 4


def test_what_is_asked_for_ahead_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an epilogue, in several stretches of k, and blocks, some of which end in few rows."""
    a, b = (np.random.default_rng(i).normal(size=s).astype("float32") for i, s in enumerate([(190, 70), (70, 150)]))
    x, y = placeholder(a), placeholder(b)
    product = semi.maximum(semi.dot(x, y), 0)
    found = []
    for packs in (PACKS_B, PACKS_B + FETCHES, PACKS_A + PACKS_B, PACKS_A + PACKS_B + FETCHES):
        with cut_so(monkeypatch, lambda *_, packs=packs: Blocking(100, 96, 30, 42, packs, 2, 2, 4)):
            found.append(run(product, {x: a, y: b}, 2))
    assert all(same_bits(found[0], other) for other in found[1:])
    np.testing.assert_allclose(found[0], np.maximum(a.astype("float64") @ b, 0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "m, k, cut", [(1, 1000, (1, 1056, 500)), (28, 1024, (28, 1056, 512)), (29, 1024, (29, 544, 128))]
)
def test_for_few_rows_a_large_matrix_is_read_once_as_it_lies(m: int, k: int, cut: tuple[int, ...]) -> None:
    """Whatever k is, and however many numbers a row has besides whole vectors; a computed A is read as well."""
    n = 2100
    a, b = whole((m, k), "float32", 0), whole((k, n), "float32", 1)
    found = blocking(1, m, n, k, 4, Lies(k, n, True))
    assert found[:3] == cut and (found.packs & SWEEPS > 0) == (m < 29)
    x, y, expected = placeholder(a), placeholder(b), a @ b
    for threads in (1, 2):
        assert np.array_equal(run(semi.dot(x, y), {x: a, y: b}, threads), expected)
    assert np.array_equal(run(semi.maximum(semi.dot(semi.negative(x), y), 0), {x: a, y: b}), np.maximum(-expected, 0))
    across = placeholder(a.T.copy())
    assert np.array_equal(run(semi.dot(semi.transpose(across), y), {across: a.T.copy(), y: b}), expected)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [*DTYPES, *INTEGERS])
@pytest.mark.parametrize("m, k", [(40, 30), (2100, 600), (16, 1), (70, 0), (0, 3), (1, 5)])
def test_one_column_is_computed_as_one_row(dtype: str, m: int, k: int) -> None:
    """Of a matrix whose columns lie along memory, and of short rows: the kernel is told the same for both orders."""
    b, v = whole((k, m), dtype, 0), whole((k,), dtype, 1)
    y, x = placeholder(b), placeholder(v)
    column = semi.dot(semi.transpose(y), semi.reshape(x, (k, 1)))
    given = [run(semi.reshape(t, (m,)), {y: b, x: v}) for t in (column, semi.dot(semi.reshape(x, (1, k)), y))]
    assert same_bits(*given) and np.array_equal(given[0], v @ b)
    short, w = whole((m, k), dtype, 0), whole((k, 1), dtype, 1)
    x, y = placeholder(short), placeholder(w)
    assert np.array_equal(run(semi.dot(x, y), {x: short, y: w}), short @ w)


def test_a_batch_of_single_columns_is_computed_as_rows_and_has_an_epilogue() -> None:
    rng = np.random.default_rng(0)
    a, v, c = (rng.normal(size=s).astype("float32") for s in ((3, 50, 40), (3, 50, 1), (40,)))
    x, y, z = map(placeholder, (a, v, c))
    product = semi.batch_dot(semi.transpose(x, (0, 2, 1)), y)
    result = semi.tanh(semi.add(semi.reshape(product, (3, 40)), semi.broadcast(z, (3, 40), (1,))))
    assert kernels_of(result, {x: a, y: v, z: c}) == ["gemm"]
    expected = np.tanh((a.astype("float64").transpose(0, 2, 1) @ v)[..., 0] + c)
    np.testing.assert_allclose(run(result, {x: a, y: v, z: c}), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [*DTYPES, *INTEGERS, "float16", "int8"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("m", [1, 15, 16, 33])
def test_a_matrix_of_few_columns_times_a_vector_is_numpys(dtype: str, m: int, k: int) -> None:
    a, v = whole((m, k), dtype, 0), whole((k, 1), dtype, 1)
    x, y = placeholder(a), placeholder(v)
    assert np.array_equal(run(semi.dot(x, y), {x: a, y: v}), a @ v)
    row = semi.dot(semi.transpose(y), semi.transpose(x))
    assert np.array_equal(run(row, {x: a, y: v}), (a @ v).T)


@pytest.mark.parametrize("k", [2, 8, 16])
def test_products_of_a_vector_and_a_matrix_of_some_columns_are_sums(k: int) -> None:
    """Along its rows, where that is not slower, or down its columns, from either side: as the matrix lies."""
    rng = np.random.default_rng(k)
    a, r, w = (rng.normal(size=n).astype(np.float32) for n in ((300, k), 300, k))
    x, y, z = (placeholder(b) for b in (a, r, w))
    along, down, turned = ng.numpy.matmul(x, z), ng.numpy.matmul(y, x), ng.numpy.matmul(ng.numpy.matrix_transpose(x), y)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([along, down, turned] if k <= 12 else [down, turned], x, y, z)
        found = computation(a, r, w)
        kinds = {name.partition("_")[0] for name in computation.stats()["kernels"]}
    assert kinds <= {"reduce", "map", "copy"}  # two of the results are one
    for one, wanted in zip(found[::-1], (a.T @ r, r @ a, a @ w), strict=False):
        np.testing.assert_allclose(one, wanted, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_vector_times_a_matrix_that_lies_column_by_column_is_a_product(dtype: str) -> None:
    """To sum down its columns would take a step through memory for each number."""
    a, r = whole((5, 300), dtype, 0), whole((1, 300), dtype, 1)
    x, y = placeholder(a), placeholder(r)
    result = semi.dot(y, semi.transpose(x))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(result, x, y)
        assert np.array_equal(computation(a, r), r @ a.T)
        assert "cpu.gemm(" in computation.explain(result)


def test_few_numbers_are_summed_with_what_is_computed_of_the_sums() -> None:
    """Also where the number of sums is not known: one kernel, which is a map."""
    image, weights = whole((7, 9, 3), "float32", 0), np.array([0.3, 0.6, 0.1], "float32")
    x, y = ng.placeholder((None, None, 3)), placeholder(weights)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.numpy.exp((x @ y) / 2), x, y)
        for part in (image, image[:1, :2], image[:0]):
            expected = np.exp(part.astype("float64") @ weights / 2)
            np.testing.assert_allclose(computation(part, weights), expected, rtol=1e-5)
        assert [name.partition("_")[0] for name in computation.stats()["kernels"]] == ["map"]


@pytest.mark.parametrize("m, k, along, turned", [
    (40, 30, False, True), (40, 30, True, True), (40, 300, True, False), (15, 30, False, False), (16, 300, False, True),
])  # fmt: skip
def test_a_column_becomes_a_row_where_that_is_read_faster(m: int, k: int, along: bool, turned: bool) -> None:
    load: Any = None
    strides = (0, k, 1) if along else (0, 1, m)
    given = products.Product((1, m, 1, k), products.Matrix(load, strides), products.Matrix(load, (0, 1, 1)), "float32")
    assert products.as_rows(given).sizes == ((1, 1, m, k) if turned else (1, m, 1, k))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n, k", [(1, 5, 1), (5, 33, 9), (20, 100, 17), (3, 31, 0), (2, 64, 8)])
def test_what_rows_of_b_give_is_put_there_or_added_and_nothing_else_is_written(
    dtype: str, m: int, n: int, k: int
) -> None:
    sweep = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 11)(product_number("sweep", dtype, Cache(None)))
    a, b, c = (whole(s, dtype, i) for i, s in enumerate([(m, k + 3), (k, n + 5), (m, n + 7)]))
    before, size = c.copy(), c.itemsize
    for adds, expected in ((0, a[:, :k] @ b[:, :n]), (1, 2 * (a[:, :k] @ b[:, :n]))):
        sweep(
            m, a.ctypes.data, a.strides[0], size, b.ctypes.data, b.strides[0], k, c.ctypes.data, c.strides[0], n, adds
        )
        assert np.array_equal(c[:, :n], expected) and np.array_equal(c[:, n:], before[:, n:])


def test_rows_of_b_are_multiplied_in_registers() -> None:
    """Eight at a time, or four, two vectors of each."""
    tile = tile_shape("float32")
    text = str(host_machine().emit_assembly(binding.parse_assembly(sweeps.sweep_module("float32"))))
    packed = {"x86_64": r"\b(?:vf\w*madd\w*|v?mul)ps\s.*%[xyz]mm", "aarch64": r"\bfml\w+\s+v\d+\.4s|\bfmul\s+v\d+\.4s"}
    counts = [len(re.findall(packed[PROCESSOR], body)) for body in innermost(text)]
    assert max(counts) >= 2 * (8 if tile.rows > 8 else 4)


@pytest.mark.parametrize("ways", [8, 12])
@pytest.mark.parametrize("dtype, k", [("float32", 1024), ("float64", 512)])
@pytest.mark.parametrize("m", [13, 14, 300])
def test_rows_of_a_that_fall_on_the_same_places_of_the_cache_are_packed(
    dtype: str, k: int, m: int, ways: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If they are as many as a tile has, and more than the cache has place for."""
    monkeypatch.setattr(tile_products, "first_cache_ways", lambda: ways)
    a, b = (whole(s, dtype, i) for i, s in enumerate([(m, k), (k, 100)]))
    x, y = placeholder(a), placeholder(b)
    packs = blocking(1, m, 100, k, a.itemsize, Lies(k, 100, True)).packs
    assert (packs & ~PACKS_B, packs & PACKS_B) == (PACKS_CROWDED if m >= 14 else 0, PACKS_B if m > 84 else 0)
    assert product_number("crowded", dtype, Cache(None)) == (ways < 12)
    assert np.array_equal(run(semi.dot(x, y), {x: a, y: b}, 2), a @ b)


@pytest.mark.parametrize("told, ways", [("12\n", 12), ("", 8), (None, 8)])
def test_the_ways_of_the_first_cache_are_told_by_the_system_or_few(
    told: str | None, ways: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any, **__: Any) -> str:
        if told is None:
            raise OSError
        return told

    monkeypatch.setattr(Path, "read_text", read)
    assert first_cache_ways.__wrapped__() == ways


@given(
    *[st.integers(0, 5000) for _ in range(3)], st.sampled_from([4, 8]), st.builds(
        Lies, st.sampled_from([0, 512, 1024, 3000]), st.sampled_from([1, 512, 3000]), st.booleans(), st.booleans()
    ), st.booleans(), st.sampled_from([(14, 64), (14, 16), (6, 32), (6, 16)]),
)  # fmt: skip
def test_what_is_packed_and_put_aside_has_room(
    m: int, n: int, k: int, itemsize: int, lies: Lies, aside: bool, tile: tuple[int, int]
) -> None:
    """Whatever the tile of the processor is: its rows, and the bytes of a vector."""
    cut, (high, vector) = blocking(1, m, n, k, itemsize, lies), tile
    room, wide, stride = cut.room(n, k, itemsize, aside), 2 * vector // itemsize, -(-high * itemsize // vector) * vector
    kept = min(cut.rows, m) if k > cut.deep else min(cut.block, m)
    assert aside * kept * cut.columns * itemsize <= room.bytes - room.c_at
    if cut.packs & DOTS:
        line = (cut.deep + 31) // 16 * 16 * itemsize
        assert (cut.packs & PACKS_A) * min(cut.block, m) * line <= room.c_at - room.a_at
        return
    panels = -(-min(cut.columns, n) // wide) if cut.packs & PACKS_B else int(n % wide > 0)
    assert panels * wide * cut.deep * itemsize <= room.a_at
    assert (cut.packs & (PACKS_A | PACKS_CROWDED) > 0) * -(
        -min(cut.block, m) // high
    ) * stride * cut.deep <= room.c_at - room.a_at


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(300, 260, 700), (70, 33, 300), (5, 300, 1100)])
def test_any_number_of_threads_gives_the_same_bits(dtype: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=s).astype(dtype) for s in ((m, k), (k, n), (n,)))
    x, y, z = (placeholder(array) for array in (a, b, c))
    term = semi.tanh(semi.add(semi.dot(x, y), semi.broadcast(z, (m, n), (1,))))
    one, *others = (run(term, {x: a, y: b, z: c}, threads) for threads in (1, 2, 3))
    assert all(same_bits(one, other) for other in others)


# -- epilogues -----------------------------------------------------------------------------------------

UNARY = [semi.tanh, semi.negative, semi.square, lambda x: semi.maximum(x, semi.multiply(x, 0.5)), semi.exp]


@st.composite
def epilogues(draw: st.DrawFn, product: ng.Op, others: list[ng.Op]) -> list[ng.Op]:
    """Terms over a product, of which some are results."""
    m, n = product.shape
    row, column, matrix, turned = others
    seen = [
        semi.broadcast(row, (m, n), (1,)), semi.broadcast(column, (m, n), (0,)), matrix, semi.transpose(turned),
    ]  # fmt: skip
    made = [product]
    for _ in range(draw(st.integers(1, 5))):
        x = draw(st.sampled_from(made))
        if draw(st.booleans()):
            made.append(draw(st.sampled_from(UNARY))(x))
        else:
            made.append(draw(st.sampled_from([semi.add, semi.multiply]))(x, draw(st.sampled_from(seen + made))))
    if draw(st.booleans()):
        made.append(semi.cast(made[-1], "float16" if draw(st.booleans()) else "float64"))
    results = [made[-1], *draw(st.lists(st.sampled_from(made), max_size=2))]
    return [semi.transpose(r) if draw(st.booleans()) else r for r in results]


@settings(drawn, max_examples=EXAMPLES // 3)
@given(st.data(), st.sampled_from(DTYPES), lengths, lengths, st.sampled_from([0, 1, 5, 50]))
def test_an_epilogue_changes_no_bit(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject, dtype: str, m: int, n: int, k: int
) -> None:
    """Whatever is done to a product, and whatever of it is a result: as if it were computed for itself."""
    rng = np.random.default_rng(m * 1000 + n)
    shapes = [(m, k), (k, n), (n,), (m,), (m, n), (n, m)]
    arrays = [whole(s, dtype, m) for s in shapes[:2]]  # in either orientation a product is exact
    arrays += [rng.normal(size=s).astype(dtype) for s in shapes[2:]]
    inputs = {placeholder(a): a for a in arrays}
    x, y, *others = inputs
    product = semi.dot(x, y)
    if data.draw(st.booleans()):
        product = semi.transpose(semi.dot(semi.transpose(y), semi.transpose(x)))
    results = data.draw(epilogues(product, others))
    with cut_so(monkeypatch, data.draw(cuts()), data.draw(st.sampled_from([1, 1, 2, 3, 5]))) as patch:
        together = run(results, inputs)
        patch.setattr(attempt, "with_epilogues", lambda jobs, *_: list(jobs))
        apart = run(results, inputs)
    assert all(same_bits(x, y) for x, y in zip(together, apart, strict=True))


A, B, BIAS = (whole(s, "float32", 1) for s in ((40, 50), (50, 60), (60,)))


def test_a_layer_is_one_kernel_also_if_the_sum_before_its_activation_is_kept() -> None:
    x, w, b = placeholder(A), placeholder(B), placeholder(BIAS)
    z = semi.add(semi.dot(x, w), semi.broadcast(b, (40, 60), (1,)))
    h = semi.maximum(z, 0.0)
    assert kernels_of([z, h], {x: A, w: B, b: BIAS}) == ["gemm"]
    found = run([z, h], {x: A, w: B, b: BIAS})
    assert np.array_equal(found[0], A @ B + BIAS) and np.array_equal(found[1], np.maximum(A @ B + BIAS, 0))


@pytest.mark.parametrize("rows, length, count", [(85, 32, 1), (90, 40, 1), (90, 16, 2), (50, 40, 2)])
@pytest.mark.parametrize("batch", [(3,), (2, 2)])
@pytest.mark.parametrize("side", ["columns", "rows"])
def test_a_map_that_runs_over_some_columns_after_others_is_an_epilogue(
    side: str, batch: tuple[int, ...], rows: int, length: int, count: int
) -> None:
    """Of several products of fewer columns, if each has many rows and as many columns as a tile."""
    parts = np.prod(batch) * length
    a, b = (whole(s, "float32", i) for i, s in enumerate([(rows, 20), (20, parts)]))
    if side == "rows":
        a, b = b.T.copy(), a.T.copy()
    x, y, bias = placeholder(a), placeholder(b), np.arange(rows, dtype="float32")
    product, expected = semi.dot(x, y), a @ b
    shape = (rows, *batch, length) if side == "columns" else (*batch, length, rows)
    rank, of_rows = len(shape), 0 if side == "columns" else len(batch) + 1
    first = 1 - min(of_rows, 1)
    perm = (*range(first, first + len(batch)), of_rows, first + len(batch))
    z = placeholder(bias)
    added = semi.add(semi.reshape(product, shape), semi.broadcast(z, shape, (of_rows,)))
    result, inputs = semi.negative(semi.transpose(added, perm)), {x: a, y: b, z: bias}
    wide = bias.reshape([rows if d == of_rows else 1 for d in range(rank)])
    assert np.array_equal(run(result, inputs, 2), -(expected.reshape(shape) + wide).transpose(perm))
    assert len(kernels_of(result, inputs)) == count


def test_of_two_products_that_are_added_one_is_stored() -> None:
    x, w = placeholder(A), placeholder(B)
    total = semi.add(semi.dot(x, w), semi.dot(semi.tanh(x), w))
    assert sorted(kernels_of(total, {x: A, w: B})) == ["gemm", "gemm"]


def test_what_depends_on_the_group_is_not_drawn_into_it() -> None:
    """The last map reads the product, and what was computed of it by another kernel."""
    x, w = placeholder(A), placeholder(B)
    product = semi.dot(x, w)
    sums = semi.sum(product, axes=(1,))
    found = semi.add(product, semi.broadcast(sums, (40, 60), (0,)))
    expected = A @ B + (A @ B).sum(1, keepdims=True)
    assert np.array_equal(run([product, found], {x: A, w: B})[1], expected)
    assert np.array_equal(run(found, {x: A, w: B}), expected)


def test_a_batch_of_products_has_an_epilogue_too() -> None:
    a, b, c = whole((3, 9, 20), "float32", 1), whole((3, 20, 35), "float32", 2), whole((3, 35), "float32", 3)
    x, y, z = (placeholder(array) for array in (a, b, c))
    term = semi.multiply(semi.batch_dot(x, y), semi.broadcast(z, (3, 9, 35), (0, 2)))
    assert kernels_of(term, {x: a, y: b, z: c}) == ["gemm"]
    assert np.array_equal(run(term, {x: a, y: b, z: c}), (a @ b) * c[:, None])


# -- variables -----------------------------------------------------------------------------------------


def trained(step: Any, start: Array, inputs: dict[ng.Op, Array], times: int = 3) -> tuple[Array, list[str]]:
    """The value of a variable after some steps, and the kernels of one."""
    w = ng.variable(ng.anonymous(start.shape), initial_value=start)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.doall([ng.assign(w, step(w))]), *inputs)
        for _ in range(times):
            computation(*inputs.values())
        value = transformer.computation(w)()
        return value, [name.partition("_")[0] for name in computation.stats()["kernels"]]


def test_a_step_of_gradient_descent_is_one_kernel_that_overwrites_the_weights() -> None:
    x, d = placeholder(A), placeholder(np.ones((40, 60), np.float32))
    start, given_d = np.ones((50, 60), np.float32), whole((40, 60), "float32", 4)
    found, names = trained(
        lambda w: semi.subtract(w, semi.multiply(semi.dot(semi.transpose(x), d), 0.5)), start, {x: A, d: given_d}
    )
    assert names == ["gemm"]
    assert np.array_equal(found, start - 3 * 0.5 * (A.T @ given_d))


TIMES = {
    "left": (lambda w, x: semi.dot(w, x), lambda w, x: w @ x),
    "right": (lambda w, x: semi.dot(x, w), lambda w, x: x @ w),
    "turned": (lambda w, x: semi.dot(semi.transpose(w), x), lambda w, x: w.T @ x),
    "twice": (lambda w, x: semi.multiply(w, semi.dot(w, w)), lambda w, x: w * (w @ w)),
}


@pytest.mark.parametrize("name", TIMES)
def test_weights_that_the_product_reads_are_not_overwritten_meanwhile(name: str) -> None:
    ours, numpys = TIMES[name]
    given_x, start = whole((100, 100), "float32", 5), whole((100, 100), "float32", 6)
    x = placeholder(given_x)
    found, _ = trained(lambda w: semi.subtract(w, ours(w, x)), start, {x: given_x}, times=1)
    assert np.array_equal(found, start - numpys(start, given_x))


def test_an_old_value_is_read_before_it_is_overwritten() -> None:
    """The gradient of the layer below needs the weights as they were."""
    given_x, given_d = whole((40, 50), "float32", 7), whole((40, 60), "float32", 8)
    x, d, start = placeholder(given_x), placeholder(given_d), whole((50, 60), "float32", 9)
    w = ng.variable(ng.anonymous(start.shape), initial_value=start)
    step = ng.doall([ng.assign(w, semi.subtract(w, semi.dot(semi.transpose(x), d)))])
    below = semi.multiply(semi.dot(d, semi.transpose(w)), semi.cast(semi.greater(x, 0.0), "float32"))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([below, step], x, d)
        found = computation(given_x, given_d)[0]
        assert np.array_equal(found, (given_d @ start.T) * (given_x > 0))
        assert np.array_equal(transformer.computation(w)(), start - given_x.T @ given_d)
        assert [name.partition("_")[0] for name in computation.stats()["kernels"]] == ["gemm", "gemm"]


# -- what is told --------------------------------------------------------------------------------------


def test_explain_and_source_tell_of_the_epilogue() -> None:
    x, w = placeholder(A), placeholder(B)
    term = semi.tanh(semi.dot(x, w))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, x, w)
        computation(A, B)
        assert re.search(r"computed by gemm_\w+ with epilogue_\w+$", computation.explain(term))
        assert "tanh(" in computation.source() and computation.stats()["distinct_kernels"] == 2


def test_every_result_of_an_epilogue_is_told_of() -> None:
    x, w = placeholder(A), placeholder(B)
    product = semi.dot(x, w)
    log: list[str] = []
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([product, semi.negative(product)], x, w)
        with ng.trace_calls(log.append):
            computation(A, B)
    assert [sum(op in line for line in log) for op in ("cpu.gemm", "semi.negative")] == [1, 1]


# -- the processor -------------------------------------------------------------------------------------

PROCESSOR = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
JUMP = {"x86_64": r"\s+j\w+\s+(\.?L\w+)", "aarch64": r"\s+(?:b\.\w+|cbn?z|tbn?z)\s.*?(\.?L\w+)"}[PROCESSOR]


def innermost(assembly: str) -> list[str]:
    """The text of each loop in which no other one is."""
    lines = assembly.split("\n")
    labels = {line.split(":")[0]: i for i, line in enumerate(lines) if re.match(r"\.?L\w+:", line)}
    jumps = ((labels.get(found[1]), i) for i, line in enumerate(lines) if (found := re.match(JUMP, line)))
    loops = [(a, b) for a, b in jumps if a is not None and a < b]
    inner = [(a, b) for a, b in loops if not any(a <= c and d <= b and (a, b) != (c, d) for c, d in loops)]
    return ["\n".join(lines[a : b + 1]) for a, b in inner]


@pytest.mark.parametrize("kind", ["tile", "fetch", "walk", "look"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_inner_loop_multiplies_and_adds_whole_vectors_in_registers(dtype: str, kind: str) -> None:
    """Of the largest tile: as many of these instructions as vectors in it, none of which is put aside."""
    tile, letter = tile_shape(dtype), "s" if dtype == "float32" else "d"
    register = {64: "zmm", 32: "ymm", 16: "xmm"}[vectors().bytes]
    fused = PROCESSOR == "aarch64" or vectors().bytes == 64 or "+fma" in processor()[1].split(",")
    packed = {
        "x86_64": rf"\bvf\w*madd\w*p{letter}\s.*%{register}" if fused else rf"\bv?addp{letter}\s.*%{register}",
        "aarch64": r"\bfmla\s+v\d+\.(?:4s|2d)",
    }[PROCESSOR]
    text = str(host_machine().emit_assembly(binding.parse_assembly(tiles.tile_module(dtype, kind))))
    own = text[text.index(f"tile_{tile.rows}_{tile.width}:") :]
    loop = next(body for body in innermost(own) if re.search(packed, body))
    assert len(re.findall(packed, loop)) == tile.rows * tile.width, loop
    assert not re.search(rf"mov[au]p{letter}\s+%\w+, .*\(%rsp\)", loop), loop


@pytest.mark.parametrize(
    "found, registers", [("+avx512f,+avx", (64, 32)), ("+avx,+avx2", (32, 16)), ("+sse2", (16, None)), ("", (16, None))]
)
def test_the_width_of_vectors_is_what_the_processor_says(
    monkeypatch: pytest.MonkeyPatch, found: str, registers: tuple[int, int | None]
) -> None:
    monkeypatch.setenv("NUMBA_CPU_FEATURES", found)
    expected = Vectors(registers[0], registers[1] or (32 if PROCESSOR == "aarch64" else 16))
    assert vectors() == expected
    assert tile_shape("float64") == Tile(14 if expected.registers == 32 else 6, 2, registers[0] // 8)


def test_there_are_tiles_of_numbers_of_32_and_64_bits_only(cache_folder: Path) -> None:
    with pytest.raises(KernelError, match="no tiles of int8"):
        product_number("tile", "int8", Cache(cache_folder))
