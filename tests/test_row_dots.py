# SPDX-License-Identifier: Apache-2.0
"""Products of few rows with columns that lie along what is summed: of nothing is there a packed copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from cut_products import DTYPES, INTEGERS, drawn, kernels_of, placeholder, run, whole
from hypothesis import given
from hypothesis import strategies as st

from ngraph_rewrite import semi
from ngraph_rewrite.plan.blocking import blocking, dotted_rows
from ngraph_rewrite.plan.blocks import DOTS, PACKS_A, Lies, Mapped, Maps
from ngraph_rewrite.runtime.features import Tile
from ngraph_rewrite.runtime.native import native_functions
from ngraph_rewrite.runtime.row_dots import dots_module
from ngraph_rewrite.types.dtypes import BFLOAT16

# Of what the rows of A and of B are, and of what sums are.
KINDS = {
    "quads": ("uint8", "int8", "int32"),
    "signed_quads": ("int8", "uint8", "int32"),
    "float_pairs": (BFLOAT16, BFLOAT16, "float32"),
}


def times_columns(x: Any, y: Any, count: int = 0) -> Any:
    """The product of rows of `x` with rows of `y`."""
    return semi.batch_dot(x, semi.transpose(y, (0, 2, 1))) if count else semi.dot(x, semi.transpose(y))


@given(st.sampled_from([*DTYPES, *INTEGERS]), st.integers(1, 17), st.integers(0, 70), st.integers(1, 200),
       st.sampled_from([0, 0, 3]), st.integers(1, 2))  # fmt: skip
@drawn
def test_dot_products_of_few_rows_are_numpys(dtype: str, m: int, n: int, k: int, count: int, threads: int) -> None:
    many = (count,) * bool(count)
    a, b = whole((*many, m, k), dtype, 0), whole((*many, n, k), dtype, 1)
    x, y = placeholder(a), placeholder(b)
    found = run(times_columns(x, y, count), {x: a, y: b}, threads)
    assert found.dtype == dtype and np.array_equal(found, a @ np.swapaxes(b, -1, -2))


@pytest.mark.parametrize("m, k", [(1, 5000), (4, 2049), (5, 6000), (16, 4097)])
def test_a_long_sum_is_added_up_in_stretches(m: int, k: int) -> None:
    a, b = whole((m, k), "float32", 0), whole((75, k), "float32", 1)
    x, y = placeholder(a), placeholder(b)
    for threads in (1, 2):
        assert np.array_equal(run(times_columns(x, y), {x: a, y: b}, threads), a @ b.T)
    bounded = semi.maximum(times_columns(semi.negative(x), y), 3)
    assert np.array_equal(run(bounded, {x: a, y: b}), np.maximum(-a @ b.T, 3))


def test_an_epilogue_and_a_computed_operand_are_parts_of_the_kernel() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=s).astype("float32") for s in ((6, 100), (90, 100), (90,)))
    x, y, z = map(placeholder, (a, b, c))
    result = semi.tanh(semi.add(times_columns(semi.exp(x), y), semi.broadcast(z, (6, 90), (1,))))
    assert kernels_of(result, {x: a, y: b, z: c}) == ["gemm"]
    expected = np.tanh(np.exp(a.astype("float64")) @ b.T + c)
    np.testing.assert_allclose(run(result, {x: a, y: b, z: c}), expected, rtol=1e-5, atol=1e-5)


@given(st.sampled_from(["int8", "float16"]), st.integers(1, 17), st.integers(1, 70), st.integers(1, 1300),
       st.integers(1, 3), st.sampled_from([0, 0, 2]), st.integers(1, 2))  # fmt: skip
@drawn
def test_columns_may_be_computed_and_rows_lie_apart(
    dtype: str, m: int, n: int, k: int, step: int, count: int, threads: int
) -> None:
    """Some columns at a time are, in stretches of k; of rows that lie apart there is a copy."""
    many = (count,) * bool(count)
    a, b = whole((*many, m, k * step), "float32", 0), whole((*many, n, k), "float32", 1).astype(dtype)
    x, y = placeholder(a), placeholder(b)
    stops = (*many, m, k * step)
    apart = semi.slice(x, (0,) * a.ndim, stops, (*((1,) * (a.ndim - 1)), step))
    found = run(times_columns(apart, semi.cast(y, "float32"), count), {x: a, y: b}, threads)
    assert np.array_equal(found, a[..., ::step] @ np.swapaxes(b, -1, -2).astype("float32"))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_stay_in_their_row_and_column(value: float) -> None:
    a, b = np.ones((5, 70), "float32"), np.ones((9, 70), "float32")
    a[3, 69], b[8, 0] = value, value
    x, y = placeholder(a), placeholder(b)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(run(times_columns(x, y), {x: a, y: b}), a @ b.T)


def test_rows_are_dotted_where_both_operands_lie_so_and_few_rows_read_them() -> None:
    along = Lies(512, 512, False, dotted=dotted_rows(512, 4, False))
    for m, there in ((1, True), (16, True), (17, False)):
        assert (blocking(1, m, 500, 512, 4, along).packs == DOTS) == there
    computed = along._replace(maps=Maps(b=Mapped(True, True)))
    assert blocking(1, 4, 5000, 4096, 4, computed)[:5] == (4, 64, 512, 4, DOTS)
    assert blocking(1, 4, 500, 512, 4, along._replace(rows_along=False)).packs == DOTS + PACKS_A
    assert [dotted_rows(k, 4, halves) for halves in (False, True) for k in (15, 31, 64, 1 << 20)] == [
        *(0, 1, 4, 16),
        *(0, 0, 4, 8),
    ]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "quads", "signed_quads", "float_pairs"])
@pytest.mark.parametrize("rows, lanes", [(6, 2), (6, 4), (6, 8), (14, 2), (14, 16)])
def test_vectors_of_any_length_add_up_the_same(
    dtype: str, rows: int, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with fewer lanes than columns of a block; C is added to, or put where there was anything."""
    monkeypatch.setattr("ngraph_rewrite.runtime.vector_code.tile_shape", lambda dtype: Tile(rows, 2, lanes))
    # without instructions of the processor, which has them for its own vectors
    monkeypatch.setattr("ngraph_rewrite.runtime.vector_code.multiplies_quads", lambda: False)
    monkeypatch.setattr("ngraph_rewrite.runtime.vector_code.features", lambda: [])
    (address,) = native_functions("dots", dots_module(dtype), [f"ngraph_rewrite_dots_{dtype}"])
    dots = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 11)(address)
    (m, n, k), (of_a, of_b, to) = (7, 11, 37), map(np.dtype, KINDS.get(dtype, (dtype,) * 3))
    size = np.dtype(to).itemsize
    a, b = (whole((x, k * size // of.itemsize), "int64", i) % 100 for i, (x, of) in enumerate(((m, of_a), (n, of_b))))
    a, b = (np.ascontiguousarray(x.astype(of)) for x, of in ((a, of_a), (b, of_b)))
    expected = a.astype(to) @ b.T.astype(to)
    for adds, before in ((0, 255), (1, 3)):
        c = np.full((m, n + 2), before, to)
        sizes = (m, a.ctypes.data, a.strides[0], size, b.ctypes.data, b.strides[0], k)
        dots(*sizes, c.ctypes.data, c.strides[0], n, adds)
        np.testing.assert_array_equal(c[:, :n], expected + adds * before)
        assert (c[:, n:] == before).all()
