# SPDX-License-Identifier: Apache-2.0
"""Products and convolutions of bytes are those of int32, bit for bit, by whatever instruction four are multiplied."""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.runtime.features import multiplies_quads

Array = np.ndarray[Any, Any]
EXAMPLES = 4 if "NUMBA_CPU_FEATURES" in os.environ else 8
drawn = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
BYTES = ["int8", "uint8"]
# Around the rows of tiles and the lanes of vectors, and what is no multiple of four.
lengths = st.sampled_from([1, 2, 3, 5, 7, 14, 15, 31, 33, 65])
depths = st.sampled_from([128, 129, 130, 131, 140, 193])


def some(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Bytes, the least and the greatest among them."""
    limits, random = np.iinfo(dtype), np.random.default_rng(seed)
    found = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = random.choice(np.array([limits.min, limits.max], dtype), shape)
    return np.where(random.random(shape) < 0.5, ends, found)


def wide(x: Any) -> Any:
    return ng.cast(x, dtype="int32") if isinstance(x, ng.Op) else x.astype(np.int32)


def run(build: Any, arrays: list[Array], threads: int = 1) -> tuple[Array, str]:
    """The value on the CPU, and what explains it."""
    inputs = [ng.placeholder(x.shape, x.dtype) for x in arrays]
    returns = build(*inputs)
    with ng.make_transformer("cpu", threads=threads) as transformer:
        computation = transformer.computation(returns, *inputs)
        return computation(*arrays), computation.explain(returns)


def zero(kind: str, rows: int, dtype: str) -> list[Array]:
    """What is taken from rows before they are multiplied: one number for all, or for each."""
    return {"one": [some((), dtype, 5)], "each": [some((rows, 1), dtype, 6)]}.get(kind, [])


def are_pairs(m: int, k: int) -> bool:
    """Whether two variables are: where no instruction multiplies four bytes."""
    return m > 2 and k % 2 == 0 and not multiplies_quads()


@pytest.mark.sampled
@pytest.mark.parametrize(("left", "right"), [*itertools.product(BYTES, BYTES)])
@given(lengths, st.sampled_from([128, 129, 143, 161]), depths, st.sampled_from(["", "known", "one", "each"]),
       st.booleans(), st.booleans(), st.integers(1, 3))  # fmt: skip
@drawn
def test_a_product_is_numpys(
    left: str, right: str, m: int, n: int, k: int, kind: str, turned: bool, weights: bool, threads: int
) -> None:
    x, y = some((m, k), left, 1), some((n, k) if turned else (k, n), right, 2)

    def product(x: Any, *others: Any) -> Any:
        *zeros, last = (*others, wide(y)) if weights else (*others[1:], wide(others[0]))
        rows = wide(x) - 7 if kind == "known" else wide(x) - wide(zeros[0]) if zeros else wide(x)
        return rows @ (np.transpose(last) if turned else last)

    arrays = [x, *([] if weights else [y]), *zero(kind, m, left)]
    found, how = run(product, arrays, threads)
    assert ("gemm_of_pairs" if are_pairs(m, k) and not weights else "gemm_of_quads") in how
    np.testing.assert_array_equal(found, product(*arrays))


@pytest.mark.parametrize(("left", "right"), [*itertools.product(BYTES, BYTES)])
def test_no_sum_on_the_way_saturates(left: str, right: str) -> None:
    """Two products of the greatest bytes are more than an int16."""
    x = np.full((16, 65), np.iinfo(left).max, left)
    for end in (np.iinfo(right).max, np.iinfo(right).min):
        y = np.full((65, 64), end, right)  # with an odd k they are no pairs
        found, how = run(lambda x, y: wide(x) @ wide(y), [x, y])
        assert "gemm_of_quads" in how
        np.testing.assert_array_equal(found, wide(x) @ wide(y))


@given(st.integers(-(2**30), 2**30), st.booleans())
@drawn
def test_weights_may_be_bytes_and_any_number_for_each_column(number: int, turned: bool) -> None:
    x, y = some((17, 66), "uint8", 1), wide(some((66, 67), "uint8", 2))
    y = y + np.int32(number) + np.arange(67, dtype=np.int32) * 1000
    weights = np.ascontiguousarray(y.T).T if turned else y
    found, how = run(lambda x: wide(x) @ weights, [x])
    assert "gemm_of_quads" in how
    np.testing.assert_array_equal(found, wide(x) @ y)


def test_weights_of_one_number_are_weights() -> None:
    x = some((17, 64), "int8", 1)
    for number in (-128, 3, 200, 70_000):
        found, _ = run(lambda x, number=number: wide(x) @ np.full((64, 65), number, np.int32), [x])
        np.testing.assert_array_equal(found, wide(x) @ np.full((64, 65), number, np.int32))


def test_few_columns_and_short_sums_are_multiplied_whole() -> None:
    """To make quads of bytes takes longer than what they save."""
    for m, n, k in ((100, 10, 256), (100, 256, 10), (4, 100, 100)):
        x, y = some((m, k), "uint8", 1), wide(some((k, n), "int8", 2))
        found, how = run(lambda x, y=y: (wide(x) - 7) @ y, [x])
        assert "gemm_of_quads" not in how
        np.testing.assert_array_equal(found, (wide(x) - 7) @ y)


@given(st.integers(0, 20), st.integers(0, 40), st.sampled_from([64, 67]))
@drawn
def test_sizes_that_a_call_says_may_be_small(m: int, n: int, k: int) -> None:
    rows, columns = ng.Length.symbol("m"), ng.Length.symbol("n")
    x, y = ng.placeholder((rows, k), "uint8"), ng.placeholder((k, columns), "uint8")
    product = (wide(x) - 3) @ wide(y)
    one, other = some((m, k), "uint8", 1), some((k, n), "uint8", 2)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(product, x, y)(one, other)
    np.testing.assert_array_equal(found, (wide(one) - 3) @ wide(other))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["", "known", "one"])
def test_several_matrices_times_weights_are_one_product(kind: str, turned: bool) -> None:
    x, y = some((3, 6, 66), "uint8", 1), wide(some((66, 67), "int8", 2))
    weights = np.transpose(ng.constant(np.ascontiguousarray(y.T))) if turned else y

    def product(x: Any, *zeros: Any, y: Any = y) -> Any:
        return (wide(x) - 9 if kind == "known" else wide(x) - wide(zeros[0]) if zeros else wide(x)) @ y

    arrays = [x, *zero(kind, 1, "uint8")]
    found, how = run(partial(product, y=weights), arrays)
    assert "gemm_of_quads" in how
    np.testing.assert_array_equal(found, product(*arrays))


def test_what_follows_a_product_is_computed_with_it() -> None:
    x, y, bias = some((64, 256), "uint8", 1), some((256, 128), "int8", 2), np.arange(128, dtype=np.float32)
    inputs = [ng.placeholder(x.shape, x.dtype)]
    scaled = ng.cast((wide(inputs[0]) - 100) @ wide(y), dtype="float32") * 0.25 + bias
    with ng.make_transformer("cpu", threads=1) as transformer:
        computation = transformer.computation(scaled, *inputs)
        np.testing.assert_array_equal(computation(x), ((wide(x) - 100) @ wide(y)).astype(np.float32) * 0.25 + bias)
        assert computation.stats()["launches"] == 1


@pytest.mark.parametrize("dtype", BYTES)
@given(
    st.sampled_from([1, 2]), st.sampled_from([3, 4, 8, 10]), st.sampled_from([1, 2, 6, 17]),
    st.sampled_from([(9,), (7, 10), (4, 5, 6), (1, 1)]), st.sampled_from([1, 2, 3]),
    st.sampled_from([(1, 0, 0, 0, 1), (1, 1, 1, 0, 1), (2, 1, 0, 0, 1), (1, 2, 2, 0, 2), (1, 0, 1, 1, 1)]),
    st.sampled_from(["", "known", "one"]), st.booleans(),
)  # fmt: skip
@drawn
def test_a_convolution_is_that_of_int32(
    dtype: str, images: int, channels: int, filters: int, spatial: tuple[int, ...], window: int,
    slides: tuple[int, ...], kind: str, split: bool,
) -> None:  # fmt: skip
    """Filters are known, and what lies around an image is zero once what is taken from the image has been."""
    groups = 2 if split and channels == 8 and filters % 2 == 0 else 1
    x = some((images, channels, *spatial), dtype, 1)
    w = wide(some((filters, channels // groups, *(min(window, n) for n in spatial)), "int8", 2))

    def convolved(x: Any, *zeros: Any) -> Any:
        centred = wide(x) - 7 if kind == "known" else wide(x) - wide(zeros[0]) if zeros else wide(x)
        return ng.semi.convolution(centred, w, *slides, groups)

    arrays = [x, *zero(kind, 1, dtype)]
    inputs = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    with ng.make_transformer("reference") as transformer:
        wanted = transformer.computation(convolved(*inputs), *inputs)(*arrays)
    found, how = run(convolved, arrays)
    assert wanted.size == 0 or "convolution_of_quads" in how
    np.testing.assert_array_equal(found, wanted)


def test_images_whose_size_a_call_says_are_convolved_so() -> None:
    images, w = ng.Length.symbol("n"), wide(some((5, 4, 3, 3), "int8", 2))
    x = ng.placeholder((images, 4, ng.Length.symbol("h"), 9), "int8")
    convolved = ng.semi.convolution(wide(x) - 3, w, 1, 1, 1, 0, 1, 1)
    with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
        fast, slow = (t.computation(convolved, x) for t in (transformer, reference))
        assert "convolution_of_quads" in fast.explain(convolved)
        for shape in ((1, 4, 7, 9), (2, 4, 1, 9), (0, 4, 3, 9)):
            value = some(shape, "int8", 3)
            np.testing.assert_array_equal(fast(value), slow(value))
