# SPDX-License-Identifier: Apache-2.0
"""A product of named tensors that sums over some of the axes both have, and keeps the others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng

LENGTHS = {"A": 2, "B": 3, "C": 1, "D": 4, "E": 0}
NAMES = st.lists(st.sampled_from(list(LENGTHS)), unique=True, max_size=4)


@drawn(60)
@given(NAMES, NAMES, st.data())
def test_it_is_what_einsum_gives(left: list[str], right: list[str], data: st.DataObject) -> None:
    shared = [n for n in left if n in right]
    reduced = data.draw(st.lists(st.sampled_from(shared), unique=True) if shared else st.just([]))
    arrays = [np.arange(1.0, 1 + np.prod([LENGTHS[n] for n in names])) for names in (left, right)]
    arrays = [a.reshape([LENGTHS[n] for n in names]) for a, names in zip(arrays, (left, right), strict=True)]
    x, y = (ng.placeholder({n: LENGTHS[n] for n in names}, "float64") for names in (left, right))
    term = ng.dot(x, y, reduction_axes=reduced)
    expected = np.einsum("".join(left) + "," + "".join(right) + "->" + "".join(term.axes.names), *arrays)
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            np.testing.assert_array_equal(transformer.computation(term, x, y)(*arrays), expected)


def test_it_is_one_product_for_each_of_a_batch() -> None:
    query, key = ng.placeholder({"N": None, "T": 3, "D": 4}), ng.placeholder({"N": None, "S": 5, "D": 4})
    term = ng.dot(query, key, reduction_axes="D")
    assert term.axes.names == ("N", "T", "S")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, query, key)
        computation(np.zeros((2, 3, 4), np.float32), np.zeros((2, 5, 4), np.float32))
        assert [name.partition("_")[0] for name in computation.stats()["kernels"]] == ["gemm"]


@pytest.mark.parametrize(
    ("rows", "columns", "kernel"), [(3, 1, "reduce"), (1, 3, "reduce"), (3, 3, "reduce"), (4, 4, "gemm")]
)
def test_many_tiny_products_are_sums(rows: int, columns: int, kernel: str) -> None:
    """A kernel that is called for each matrix took longer for the calls than for the numbers."""
    x, y = ng.placeholder((40, rows, 3)), ng.placeholder((40, 3, columns))
    a, b = (np.random.default_rng(0).normal(size=t.shape).astype(np.float32) for t in (x, y))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x @ y, x, y)
        np.testing.assert_allclose(computation(a, b), a @ b, rtol=1e-5, atol=1e-6)
        assert [name.partition("_")[0] for name in computation.stats()["kernels"]] == [kernel]


@pytest.mark.parametrize("axes", ["T", ["D", "T"], "Q"])
def test_both_have_what_is_summed_over(axes: object) -> None:
    query, key = ng.placeholder({"T": 3, "D": 4}), ng.placeholder({"S": 5, "D": 4})
    with pytest.raises(ng.UnmatchedAxesError, match="dot: "):
        ng.dot(query, key, reduction_axes=axes)  # type: ignore[arg-type]
