# SPDX-License-Identifier: Apache-2.0
"""Pooling and its derivative on a GPU: one launch each, whichever axes windows slide along, padded or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.types.dtypes import as_dtype

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
NAMES = ("sizes", "strides", "before", "after", "dilations")
# Of an axis: what windows have of each.
SLIDES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))
DTYPES = ("float32", "float64", "float16")
EDGES = np.array([np.nan, np.inf, -np.inf, 0.0])


def computed(target: str, terms: Any, inputs: list[ng.Op], arrays: list[Array]) -> tuple[list[Array], list[str]]:
    """What a target makes of terms, and the kernels it takes."""
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(terms, *inputs)
        found = [np.asarray(value) for value in computation(*arrays)]
        return found, [name.rpartition("_")[0] for name in computation.stats().get("kernels", [])]


def whole_numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    """Few different numbers, so that windows have ties."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@st.composite
def pools(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any]]:
    """A shape, and how windows slide along some of its axes, which are in any order."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    axes = tuple(draw(st.permutations(range(len(shape)))))[: draw(st.integers(1, 3))]
    rows = [draw(SLIDES) for _ in axes]
    return shape, {"axes": axes, **dict(zip(NAMES, zip(*rows, strict=True), strict=True))}


@examples(12)
@given(pools(), st.sampled_from(["max", "min", "sum", "avg"]), st.sampled_from(DTYPES), st.booleans(), st.booleans())
def test_windows_and_their_derivative_are_what_the_ops_mean(
    pool: tuple[tuple[int, ...], dict[str, Any]], kind: str, dtype: str, wild: bool, counted: bool
) -> None:
    shape, how = pool
    x, array = ng.placeholder(shape, dtype), whole_numbers(shape, dtype, 1)
    if wild:
        where = np.random.default_rng(2).random(shape) < 0.2
        array[where] = np.random.default_rng(3).choice(EDGES, shape)[where]
    y = semi.pooling(x, kind, **how, counted=counted)
    terms = [y, ng.deriv(semi.sum(y * y, axes=range(y.rank)), x)]
    found, _ = computed("cuda", terms, [x], [array])
    for ours, meant in zip(found, computed("reference", terms, [x], [array])[0], strict=True):
        np.testing.assert_allclose(ours, meant, rtol=16 * np.finfo(dtype).eps)


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_each_is_one_launch(kind: str, padding: int) -> None:
    """Padding is not written anywhere; N stands last, and what is not pooled is one axis of the kernel."""
    slid = {"axes": (1, 2), "sizes": (3, 3), "strides": (2, 2), "before": (padding,) * 2, "after": (padding,) * 2}
    x = ng.placeholder((2, 5, 6, 2), "float32")
    y = semi.pooling(x, kind, **slid)
    d = ng.placeholder(y.shape, "float32")
    given = [whole_numbers(tuple(map(int, t.shape)), "float32", i) for i, t in enumerate((x, d))]
    terms = [y, ng.deriv(semi.sum(y * d, axes=range(4)), x)]
    found, kernels = computed("cuda", terms, [x, d], given)
    assert kernels == ["pooling", "unpooling"]
    for ours, meant in zip(found, computed("reference", terms, [x, d], given)[0], strict=True):
        np.testing.assert_allclose(ours, meant, rtol=1e-6)


@pytest.mark.parametrize("counted", [True, False])
def test_an_average_is_one_launch(counted: bool) -> None:
    """How many elements of the image a window has is counted on the way."""
    x, array = ng.placeholder((2, 5, 6), "bfloat16"), whole_numbers((2, 5, 6), as_dtype("bfloat16"), 1)
    y = semi.pooling(x, "avg", axes=(1, 2), sizes=(3, 2), strides=(2, 2), before=(1, 1), after=(1, 1), counted=counted)
    found, kernels = computed("cuda", [y], [x], [array])
    assert kernels == ["pooling"]
    np.testing.assert_array_equal(found[0], computed("reference", [y], [x], [array])[0][0])


@pytest.mark.parametrize(("kind", "counted"), [("sum", False), ("avg", True), ("avg", False)])
def test_the_derivative_of_padded_sums_and_averages_is_added_up_without_the_padding(kind: str, counted: bool) -> None:
    x, array = ng.placeholder((2, 5, 6), "float32"), whole_numbers((2, 5, 6), "float32", 1)
    slid = {"axes": (1, 2), "sizes": (3, 2), "strides": (2, 1), "before": (1, 1), "after": (1, 1)}
    y = semi.pooling(x, kind, **slid, counted=counted)
    d = ng.placeholder(y.shape, "float32")
    given = [array, whole_numbers(tuple(map(int, y.shape)), "float32", 2)]
    slope = ng.deriv(semi.sum(y * d, axes=range(3)), x)
    found, kernels = computed("cuda", [slope], [x, d], given)
    assert kernels == ["spread"]
    meant = computed("reference", [slope], [x, d], given)[0][0]
    np.testing.assert_allclose(found[0], meant, rtol=1e-6, atol=1e-6)


def test_a_transposed_image_is_read_where_it_lies() -> None:
    x, array = ng.placeholder((4, 5, 2), "float32"), whole_numbers((4, 5, 2), "float32", 1)
    y = semi.pooling(semi.transpose(x, perm=(2, 1, 0)), "sum", axes=(1, 2), sizes=(2, 2))
    found, kernels = computed("cuda", [y], [x], [array])
    assert kernels == ["pooling"]
    np.testing.assert_array_equal(found[0], computed("reference", [y], [x], [array])[0][0])
