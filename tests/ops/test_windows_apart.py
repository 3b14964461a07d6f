# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose windows have nothing in common, and derivatives: products of what lies there or is moved once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng

Array = np.ndarray[Any, Any]
N, C, K = 3, 5, 6


def whole(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def computed(
    target: str, window: int, stride: int, size: int, threads: int, wider: bool = True
) -> tuple[list[Array], list[str]]:
    """A convolution of pictures of float32 and its derivatives by pictures and filters, and the kernels."""
    axes = [ng.Axis("N", N), ng.Axis("C", C), ng.Axis("H", size), ng.Axis("W", size + stride * wider)]
    image = ng.placeholder(axes)
    filters = ng.placeholder([axes[1], ng.Axis("R", window), ng.Axis("S", window), ng.Axis("K", K)])
    result = ng.convolution(image, filters, stride=stride)
    slope = ng.placeholder(result.axes)
    returns = [result, *ng.deriv(ng.sum(result * slope, out_axes=()), [image, filters])]
    inputs = [image, filters, slope]
    arrays = [whole(tuple(int(n) for n in x.shape), seed) for seed, x in enumerate(inputs)]  # type: ignore[arg-type]
    how = {"threads": threads} if target == "cpu" else {}
    with ng.make_transformer(target, **how) as transformer:
        computation = transformer.computation(returns, *inputs)
        found = [np.asarray(x) for x in computation(*arrays)]
        kernels = computation.stats()["kernels"] if target == "cpu" else []
    return found, kernels


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("window", "stride", "size"),
    [(2, 2, 8), (2, 2, 9), (3, 3, 12), (4, 4, 16), (2, 3, 11), (1, 2, 9), (1, 3, 12), (7, 7, 7), (1, 1, 6)],
)
def test_they_are_what_they_mean_whatever_is_left_over(window: int, stride: int, size: int, threads: int) -> None:
    """Also where windows leave out elements between them, and behind the last one."""
    found, _ = computed("cpu", window, stride, size, threads)
    right, _ = computed("reference", window, stride, size, threads)
    for one, two in zip(found, right, strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize(("window", "stride", "size"), [(2, 2, 8), (4, 4, 16), (1, 1, 6)])
def test_no_window_is_looked_for(window: int, stride: int, size: int) -> None:
    """There are products, and copies."""
    _, kernels = computed("cpu", window, stride, size, 1)
    assert {name.partition("_")[0] for name in kernels} <= {"gemm", "copy", "product"}


@pytest.mark.parametrize("stride", [1, 7])
def test_windows_as_large_as_images_are_one_product_each_way(stride: int) -> None:
    """There is one place, which all of an image is seen from."""
    found, kernels = computed("cpu", 7, stride, 7, 1, wider=False)
    right, _ = computed("reference", 7, stride, 7, 1, wider=False)
    for one, two in zip(found, right, strict=True):
        assert np.array_equal(one, two)
    assert [name.partition("_")[0] for name in kernels if not name.startswith("copy")] == ["gemm"] * 3


def test_windows_that_overlap_are_not_copied_apart() -> None:
    _, kernels = computed("cpu", 3, 2, 9, 1)
    assert any(name.startswith("convolution") for name in kernels)


def check_exact(returns: ng.Op, inputs: list[ng.Op], kernel: str) -> None:
    """Demand what the reference gives, bit for bit, of a kernel of this kind; all numbers are whole."""
    arrays = [whole(tuple(int(n) for n in x.shape), seed) for seed, x in enumerate(inputs)]  # type: ignore[arg-type]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *inputs)
        found = computation(*arrays)
        assert any(name.startswith(kernel) for name in computation.stats()["kernels"])
    with ng.make_transformer("reference") as transformer:
        assert np.array_equal(found, transformer.computation(returns, *inputs)(*arrays))


@pytest.mark.parametrize(("size", "kernel"), [(13, "gemm"), (17, "convolution")])
def test_large_filters_are_read_once_for_a_few_places(size: int, kernel: str) -> None:
    """Filters of megabytes, whose windows are some places apart: 7 times 7 of them, or 9 times 9."""
    image = ng.placeholder([ng.Axis("N", 2), ng.Axis("C", 128), ng.Axis("H", size), ng.Axis("W", size)])
    filters = ng.placeholder([image.axes[1], ng.Axis("R", 3), ng.Axis("S", 3), ng.Axis("K", 900)])
    returns, inputs = ng.convolution(image, filters, stride=2, padding=1), [image, filters]
    check_exact(returns, inputs, kernel)


@pytest.mark.parametrize(
    ("window", "dilation", "size", "kernel"),
    [(3, 4, 12, "convolution"), (5, 4, 20, "gemm"), (3, 6, 14, "gemm")],
    ids=["a small window over more places", "a large one over fewer", "very few places"],
)
def test_places_closer_than_the_elements_of_windows_are_a_product_where_that_pays(
    window: int, dilation: int, size: int, kernel: str
) -> None:
    image = ng.placeholder([ng.Axis("N", 2), ng.Axis("C", 8), ng.Axis("H", size), ng.Axis("W", size)])
    filters = ng.placeholder([image.axes[1], ng.Axis("R", window), ng.Axis("S", window), ng.Axis("K", 16)])
    returns, inputs = ng.convolution(image, filters, dilation=dilation), [image, filters]
    check_exact(returns, inputs, kernel)
