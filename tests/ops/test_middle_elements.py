# SPDX-License-Identifier: Apache-2.0
"""Elements in the middle of sorted lines are those of a sort, with vectors that are compressed and without."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.codegen.library_long_lines import DTYPES
from ngraph_rewrite.plan import library_calls
from tests.ops.test_long_lines import LINES, right_order, same_bits
from tests.ops.test_sorting import kernels_of

nx = ng.numpy


@pytest.fixture(params=["as the processor can", "without compressed vectors"])
def processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without compressed vectors":
        monkeypatch.setattr(library_calls, "compresses", lambda: False)


def middle(x: Any, begin: int, end: int, descending: bool, threads: int = 1) -> Any:
    """What a transformer finds in the middle of rows."""
    term = ng.placeholder(x.shape, dtype=x.dtype.name)
    found = ng.make_op("cpu.middle_elements", term, begin=begin, end=end, descending=descending)
    with ng.make_transformer("cpu", threads=threads) as transformer:
        return transformer.computation(found, term)(x)


def check(x: Any, begin: int, end: int, descending: bool, threads: int = 1) -> None:
    found = middle(x, begin, end, descending, threads)
    for line, values in zip(x, found, strict=True):
        assert same_bits(values, line[right_order(line, descending)][begin:end])


@drawn(14)
@given(
    dtype=st.sampled_from(DTYPES).map(np.dtype),
    n=st.sampled_from([1, 2, 31, 32, 33, 34, 257, 1025, 4097, 8193, 70001]),
    kinds=st.lists(st.sampled_from(list(LINES)), min_size=1, max_size=3),
    ends=st.tuples(st.floats(0, 0.999), st.integers(1, 70)),
    descending=st.booleans(),
    seed=st.integers(0, 999),
)
def test_they_are_those_of_a_sort(
    processor: None, dtype: Any, n: int, kinds: list[str], ends: tuple[float, int], descending: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = np.stack([LINES[kind](rng, n, dtype) for kind in kinds])
    begin = int(ends[0] * n)
    check(x, begin, min(begin + ends[1], n), descending)


def test_a_line_that_parts_badly_at_every_median_is_parted_in_its_middle(processor: None) -> None:
    """Of nine keys, evenly apart, five are always the least there are."""
    n, tries = 4000, 40
    left, line = np.arange(n), np.zeros(n)
    for k in range(tries):
        chosen = len(left) // 9 // 2 + len(left) // 9 * np.arange(5)
        line[left[chosen]] = 5 * k + np.arange(5)
        left = np.delete(left, chosen)
    line[left] = 5 * tries + np.random.default_rng(0).permutation(len(left))
    check(line.astype(np.float32)[None], 3800, 3810, False)


def test_threads_share_lines(processor: None) -> None:
    x = np.random.default_rng(0).normal(size=(64, 3000)).astype(np.float32)
    check(x, 1500, 1502, False, threads=2)


def test_medians_and_quantiles_of_long_lines_are_found_so() -> None:
    x = ng.placeholder((4, 3000), name="x")
    for found in (nx.median(x, axis=1), nx.percentile(x, 90, axis=1), nx.median(x), nx.sort(x)[:, 70:80]):
        assert "middle_elements" in kernels_of(found, x) and "sort" not in " ".join(kernels_of(found, x))
    for found in (nx.median(x, axis=0), nx.sort(x), nx.sort(x)[:, 70:1000], nx.quantile(x, [0.1, 0.9], axis=1)):
        assert "middle_elements" not in kernels_of(found, x)


def test_only_what_a_line_has_is_found() -> None:
    x = ng.placeholder((4, 5))
    for begin, end in ((-1, 2), (2, 2), (3, 6)):
        says = f"expected some of the 5 elements along the last axis, got {begin} to {end}"
        with pytest.raises(errors.OutOfRangeError, match=says):
            ng.make_op("cpu.middle_elements", x, begin=begin, end=end, descending=False)
    with pytest.raises(errors.DTypeError, match="expected numbers of 32 or 64 bits"):
        ng.make_op("cpu.middle_elements", ng.placeholder((5,), "int8"), begin=0, end=1, descending=False)
    with pytest.raises(errors.AxesError, match="expected lines"):
        ng.make_op("cpu.middle_elements", ng.placeholder(()), begin=0, end=1, descending=False)
