# SPDX-License-Identifier: Apache-2.0
"""Bins of one width are computed, and integers of 8 bits looked up, with just the counts of NumPy's search."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite.frontend.numpy import binning

nx = ng.numpy
SOME = drawn(10)
NUMBERS = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]
RANGES = [(0, 1), (-2.5, 4), (0.1, 0.3), (1e6, 1e6 + 3), (-1e-30, 1e-30), (1, 1), (0, 256)]


def counted(x: Any, edges: Any) -> Any:
    """What a search among edges gives, both in their common dtype."""
    common = np.result_type(x, edges)
    x, edges = x.astype(common), edges.astype(common)
    places = np.searchsorted(edges, x, side="right") - 1
    places = np.where(x == edges[-1], len(edges) - 2, places)
    return np.bincount(places[(places >= 0) & (places < len(edges) - 1)], minlength=len(edges) - 1)


def about(edges: Any, dtype: str, seed: int) -> Any:
    """Edges, the numbers beside them, numbers between and outside."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        low, high = edges[0].astype("float64"), edges[-1].astype("float64")
        drawn = (low + (high - low) * rng.uniform(-0.1, 1.1, 50)).astype(dtype)
        at = edges.astype(dtype)
    if np.dtype(dtype).kind != "f":
        return np.concatenate([at, at + 1, at - 1, drawn]).astype(dtype)
    beside = [np.nextafter(at, at.dtype.type(end)) for end in (np.inf, -np.inf)]
    return np.concatenate([at, *beside, drawn, np.array([np.nan, np.inf, -np.inf, 0, -0.0], dtype)])


def run(target: str, make: Any, *arrays: Any) -> Any:
    inputs = [ng.placeholder(a.shape, str(a.dtype)) for a in arrays]
    with ng.make_transformer(target) as transformer:
        return transformer.computation(make(*inputs), *inputs)(*arrays)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", ["reference", "cpu"])
@SOME
@given(
    dtype=st.sampled_from(NUMBERS),
    bins=st.sampled_from([1, 2, 3, 7, 10, 100, 256, 3000]),
    ends=st.sampled_from(RANGES),
    seed=st.integers(0, 99),
)
def test_counts_in_bins_of_one_width_are_exact(target: str, dtype: str, bins: int, ends: Any, seed: int) -> None:
    """Also where rounding makes edges that are equal, or not of one width."""
    with np.errstate(all="ignore"):
        edges = np.asarray(run(target, lambda: nx.histogram_bin_edges(np.zeros(1, dtype), bins, ends)))
        x = about(edges, dtype, seed)
    found, given = run(target, lambda x: nx.histogram(x, bins, ends), x)
    np.testing.assert_array_equal(given, edges, strict=True)
    np.testing.assert_array_equal(found, counted(x, edges))
    wanted, weights = counted(x, edges), np.ones(len(x), "float32")
    np.testing.assert_array_equal(
        run(target, lambda x, w: nx.histogram(x, bins, ends, weights=w)[0], x, weights), wanted
    )


@SOME
@given(
    dtype=st.sampled_from(NUMBERS),
    edges=st.sampled_from([
        [0, 1, 2, 3], [0.0, 0.25, 0.5], [-3, 0, 3, 6], [0, 1, 1, 2], [0, 1, 4], [2.0], [0.1, 0.1], [1, 2**40],
    ]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_counts_between_edges_that_are_known_are_those_of_a_search(dtype: str, edges: Any, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-3, 8, 30).astype(dtype) / np.array(2).astype(dtype)
    found = run("cpu", lambda x: nx.histogram(x, edges)[0], x.astype(dtype))
    np.testing.assert_array_equal(found, counted(x.astype(dtype), np.array(edges)))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_integers_of_8_bits_are_counted_by_value_and_then_by_bin(dtype: str) -> None:
    x = np.random.default_rng(0).integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, (70, 30)).astype(dtype)
    for bins, ends in ((256, (0, 256)), (5, (-100, 90)), (3, (300, 400))):
        found = run("cpu", lambda x, bins=bins, ends=ends: nx.histogram(x, bins, ends)[0], x)
        np.testing.assert_array_equal(found, np.histogram(x, bins, ends)[0], strict=True)


def test_grids_of_bins_of_one_width_are_numpys() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 500))
    ends, weights = [(-1, 2), (-1.5, 1.5)], np.arange(500.0)
    found = run("cpu", lambda x, y, w: nx.histogram2d(x, y, [7, 4], ends, weights=w)[0], x, y, weights)
    np.testing.assert_allclose(found, np.histogram2d(x, y, [7, 4], ends, weights=weights)[0], rtol=1e-14, strict=True)


def test_elements_whose_number_is_not_known_are_counted() -> None:
    for dtype in ("float32", "uint8"):
        x = ng.placeholder((None,), dtype)
        with ng.make_transformer("cpu") as transformer:
            count = transformer.computation(nx.histogram(x, 4, (0, 8))[0], x)
            for length in (0, 1, 9):
                found = count(np.arange(length).astype(dtype))
                np.testing.assert_array_equal(found, np.histogram(np.arange(length), 4, (0, 8))[0])


@pytest.mark.parametrize(
    ("edges", "even"),
    [
        (np.linspace(0, 1, 101), True),
        (np.linspace(0, 1, 101, dtype="float32"), True),
        (np.linspace(1e6, 1e6 + 3, 101, dtype="float32"), False),
        (np.array([0.0, 1.0, 3.0]), False),
        (np.array([1.0]), False),
        (np.array([1.0, 1.0]), False),
        (np.array([0.0, np.inf]), False),
        (np.array([-1.5e308, 0.0, 1.5e308]), False),
    ],
)
def test_bins_are_computed_where_that_is_near_enough(edges: Any, even: bool) -> None:
    assert binning._is_even(edges, edges.dtype) is even


def test_edges_of_python_are_as_wide_as_the_elements() -> None:
    edges, x = [0.1, 0.2, 0.3], np.array([0.3, 0.1])
    term = ng.placeholder((2,), "float64")
    with ng.make_transformer("cpu") as transformer:
        terms = [*ng.numpy.histogram(term, edges), ng.numpy.digitize(term, edges)]
        found = transformer.computation(terms, term)(x)
    for one, other in zip(found, [*np.histogram(x, edges), np.digitize(x, edges)], strict=True):
        np.testing.assert_array_equal(one, other)
