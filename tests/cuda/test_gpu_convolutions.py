# SPDX-License-Identifier: Apache-2.0
"""Convolutions on a GPU: windows are found in the images, with any padding, strides, dilations and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import assume, given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def computed(target: str, terms: Any, *given: tuple[Any, Array]) -> tuple[Any, list[str]]:
    """What a target makes of terms, and the kernels it takes."""
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(terms, *(x for x, _ in given))
        found = computation(*(array for _, array in given))
        return found, [name.rpartition("_")[0] for name in computation.stats().get("kernels", [])]


@examples(15)
@given(st.integers(1, 3), st.integers(1, 2), st.data())
def test_they_are_what_the_op_means(axes: int, groups: int, data: st.DataObject) -> None:
    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(data.draw(st.lists(st.integers(low, high), min_size=axes, max_size=axes)))

    dtype = data.draw(st.sampled_from(["float32", "float64"]))
    channels, filters = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    images = numbers((data.draw(st.integers(1, 2)), groups * channels, *each(1, 5)), dtype, 1)
    windows = numbers((groups * filters, channels, *each(1, 3)), dtype, 2)
    x, w = ng.placeholder(images.shape, dtype=dtype), ng.placeholder(windows.shape, dtype=dtype)
    how = {"strides": each(1, 2), "before": each(-1, 2), "after": each(-1, 2), "interior": each(0, 2)}
    try:
        term = semi.convolution(x, w, **how, dilations=each(1, 2), groups=groups)
    except ng.NGraphRewriteError:  # windows that fit nowhere
        assume(False)
    expected, _ = computed("reference", term, (x, images), (w, windows))
    found, _ = computed("cuda", term, (x, images), (w, windows))
    tolerance = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_a_layer_with_its_bias_is_one_product() -> None:
    x, w, b = (ng.placeholder(s, dtype="float32") for s in ((2, 3, 6, 5), (4, 3, 3, 3), (4,)))
    arrays = [numbers(t.shape, "float32", i) for i, t in enumerate((x, w, b))]
    how = {"strides": (1, 1), "before": (1, 1), "after": (1, 1), "interior": (0, 0), "dilations": (1, 1), "groups": 1}
    term = semi.tanh(semi.convolution(x, w, **how) + semi.broadcast(b, shape=(2, 4, 6, 5), dims=(1,)))
    given = tuple(zip((x, w, b), arrays, strict=True))
    found, kernels = computed("cuda", term, *given)
    np.testing.assert_allclose(found, computed("cpu", term, *given)[0], rtol=1e-5, atol=1e-5)
    assert kernels == ["convolution", "gemm"]


@pytest.mark.parametrize("groups", [1, 2])
def test_derivatives_are_convolutions_too(groups: int) -> None:
    x, w = ng.placeholder((2, 4, 5, 6), dtype="float32"), ng.placeholder((4, 4 // groups, 3, 2), dtype="float32")
    how = {"strides": (2, 1), "before": (1, 0), "after": (1, 1), "interior": (0, 0), "dilations": (1, 2)}
    y = semi.convolution(x, w, **how, groups=groups)
    loss = semi.sum(y * y, axes=(0, 1, 2, 3))
    given = (x, numbers((2, 4, 5, 6), "float32", 1)), (w, numbers((4, 4 // groups, 3, 2), "float32", 2))
    terms = [ng.deriv(loss, x), ng.deriv(loss, w)]
    found, kernels = computed("cuda", terms, *given)
    assert kernels.count("gemm") == 3
    for ours, theirs in zip(found, computed("cpu", terms, *given)[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_long_windows_are_summed_in_parts() -> None:
    x, w = ng.placeholder((1, 12, 8, 8), dtype="float32"), ng.placeholder((3, 12, 7, 7), dtype="float32")
    how = {"strides": (1, 1), "before": (0, 0), "after": (0, 0), "interior": (0, 0), "dilations": (1, 1), "groups": 1}
    given = (x, numbers((1, 12, 8, 8), "float32", 1)), (w, numbers((3, 12, 7, 7), "float32", 2))
    term = semi.convolution(x, w, **how) * 2.0
    found, kernels = computed("cuda", term, *given)
    np.testing.assert_allclose(found, computed("cpu", term, *given)[0], rtol=1e-4, atol=1e-4)
    assert kernels == ["convolution", "gemm", "epilogue"]


@pytest.mark.parametrize(
    ("images", "filters", "pads", "strides", "dtype"),
    [
        ((3, 32, 3, 3), (5, 32, 3, 3), 1, 1, "float32"),
        ((2, 64, 4, 5), (3, 64, 2, 2), 0, 2, "float64"),
        ((7, 75, 3, 2), (9, 75, 2, 2), 0, 1, "float32"),
    ],
)
def test_windows_of_images_that_have_few_are_columns_of_one_matrix(
    images: tuple[int, ...], filters: tuple[int, ...], pads: int, strides: int, dtype: str
) -> None:
    x, w = ng.placeholder(images, dtype=dtype), ng.placeholder(filters, dtype=dtype)
    how = {"strides": (strides,) * 2, "before": (pads,) * 2, "after": (pads,) * 2, "interior": (0, 0)}
    y = semi.convolution(x, w, **how, dilations=(1, 1), groups=1)
    given = (x, numbers(images, dtype, 1)), (w, numbers(filters, dtype, 2))
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    for term in (y, semi.tanh(y)) if pads else (semi.tanh(y),):
        found, kernels = computed("cuda", term, *given)
        np.testing.assert_allclose(found, computed("reference", term, *given)[0], **tolerance)
        assert kernels == ["convolution", "gemm", "epilogue"]


def test_derivatives_by_few_weights_of_many_images_are_one_product() -> None:
    """Each channel is an image, of which filters have few places."""
    x, w = ng.placeholder((6, 3, 8, 8), dtype="float32"), ng.placeholder((4, 3, 3, 3), dtype="float32")
    how = {"strides": (1, 1), "before": (1, 1), "after": (1, 1), "interior": (0, 0), "dilations": (1, 1), "groups": 1}
    y = semi.convolution(x, w, **how)
    term = w - 0.01 * ng.deriv(semi.sum(y * y, axes=(0, 1, 2, 3)), w)
    given = (x, numbers((6, 3, 8, 8), "float32", 1)), (w, numbers((4, 3, 3, 3), "float32", 2))
    found, kernels = computed("cuda", term, *given)
    np.testing.assert_allclose(found, computed("cpu", term, *given)[0], rtol=1e-4, atol=1e-4)
    assert kernels.count("gemm") == 2 and "epilogue" in kernels
