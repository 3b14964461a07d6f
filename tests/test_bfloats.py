# SPDX-License-Identifier: Apache-2.0
"""Products of bfloat16 are those of their numbers, added up in float32, by whatever instruction two are multiplied."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.frontend import semi
from ngraph_rewrite.runtime.least_exponents import SUBNORMAL, ZERO, least_module
from ngraph_rewrite.runtime.native import native_functions
from ngraph_rewrite.targets.cpu import CPU

Array = np.ndarray[Any, Any]
BFLOAT = ml_dtypes.bfloat16
EXAMPLES = 6 if "NUMBA_CPU_FEATURES" in os.environ else 15
drawn = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Around the rows and columns of tiles and of registers for matrices, and several groups of them.
lengths = st.sampled_from([1, 2, 3, 5, 14, 15, 16, 17, 31, 32, 33, 48, 65, 90, 129])
depths = st.sampled_from([1, 2, 3, 15, 16, 31, 32, 33, 64, 77, 130, 900])
# Of all numbers, of those whose products are too small for a bfloat16, and of subnormal ones beside large ones.
SCALES = {"usual": (1.0, 1.0), "small": (1e-19, 1e-19), "least": (2e-39, 3e37), "subnormal": (2e-39, 0.5)}


def some(shape: tuple[int, ...], scale: float, seed: int) -> Array:
    """Numbers of about a size, with zeros among them."""
    random = np.random.default_rng(seed)
    found = random.standard_normal(shape) * scale
    return np.where(random.random(shape) < 0.2, 0, found).astype(BFLOAT)


def run(build: Any, arrays: list[Array], threads: int = 1) -> tuple[Array, str]:
    """The value on the CPU, and what explains it."""
    inputs = [ng.placeholder(x.shape, x.dtype) for x in arrays]
    returns = build(*inputs)
    with ng.make_transformer("cpu", threads=threads) as transformer:
        computation = transformer.computation(returns, *inputs)
        return computation(*arrays), computation.explain(returns)


def wide(x: Any) -> Any:
    return ng.cast(x, dtype="float32") if isinstance(x, ng.Op) else x.astype(np.float64)


def assert_close(found: Array, x: Array, y: Array, dtype: Any) -> None:
    """Sums are rounded as those of float32 are, and the result once more; no more is lost of small numbers."""
    x, y = (a.astype(np.float64) for a in (x, y))
    exact, size, info = np.matmul(x, y), np.matmul(abs(x), abs(y)), ml_dtypes.finfo(dtype)
    rounded = float(info.eps) / 2 * abs(exact) + float(info.smallest_subnormal)
    least = x.shape[-1] * float(np.finfo(np.float32).smallest_subnormal)
    assert found.dtype == dtype
    assert np.all(abs(found.astype(np.float64) - exact) <= rounded + (x.shape[-1] + 2) * 2.0**-24 * size + least)


@given(lengths, lengths, depths, st.sampled_from([0, 0, 3]), st.sampled_from(["", "left", "right"]),
       st.sampled_from(list(SCALES)), st.booleans(), st.integers(1, 3))  # fmt: skip
@drawn
def test_a_product_is_that_of_the_numbers(
    m: int, n: int, k: int, count: int, turned: str, kind: str, is_wide: bool, threads: int
) -> None:
    many, (left, right) = (count,) * bool(count), SCALES[kind]
    x, y = some((*many, m, k), left, m + k), some((*many, k, n), right, n + k)
    turn = (*range(len(many)), len(many) + 1, len(many))
    to = np.float32 if is_wide and not count else BFLOAT

    def product(x: Any, y: Any) -> Any:
        if to == np.float32:
            x, y = wide(x), wide(y)
        x, y = (semi.transpose(a, turn) if turned == side else a for a, side in ((x, "left"), (y, "right")))
        return semi.batch_dot(x, y) if count else semi.dot(x, y)

    given_ = [a.transpose(turn) if turned == side else a for a, side in ((x, "left"), (y, "right"))]
    found, how = run(product, [np.ascontiguousarray(a) for a in given_], threads)
    if not (to == np.float32 and turned == "left"):
        least, all_of_them = CPU.float_pairs
        assert ("gemm_of_float_pairs" in how) == (
            (m > 2 or (turned == "right" and k >= 64)) and n > 1 and k >= least and m * n * k >= all_of_them
        )
    assert_close(found, x, y, to)


@given(lengths, lengths, depths, st.integers(2, 3))
@drawn
def test_as_many_threads_as_one_likes_add_up_to_the_same_bits(m: int, n: int, k: int, threads: int) -> None:
    x, y = some((m, k), 1.0, 1), some((k, n), 1.0, 2)
    alone, together = (run(semi.dot, [x, y], each)[0] for each in (1, threads))
    assert np.array_equal(alone.view(np.int16), together.view(np.int16))


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_stays_so(odd: float) -> None:
    x, y = np.ones((33, 65), BFLOAT), np.ones((65, 40), BFLOAT)
    x[5, 7], y[3, 2], y[7, 4] = odd, odd, 0
    found = run(semi.dot, [x, y])[0].astype(np.float64)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, x.astype(np.float64) @ y.astype(np.float64))


def test_a_few_small_numbers_are_not_lost_beside_many_others() -> None:
    """In the last of several stretches and blocks is one subnormal number, which a large one makes a usual one."""
    x, y = np.ones((200, 1700), BFLOAT), np.zeros((1700, 70), BFLOAT)
    x[150, 1690], y[1690, 60] = 2.0**-130, 2.0**126
    found = run(semi.dot, [x, y])[0].astype(np.float64)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    assert expected[150, 60] == 2.0**-4
    np.testing.assert_array_equal(found, expected)


def test_a_layer_of_bfloat16_is_one_product_with_what_is_computed_of_it() -> None:
    x, w, b = some((128, 96), 1.0, 1), some((64, 96), 1.0, 2), some((64,), 1.0, 3)
    found, _ = run(lambda x, w, b: ng.maximum(x @ ng.numpy.transpose(w) + b, 0), [x, w, b])
    product = (x.astype(np.float32) @ w.T.astype(np.float32)).astype(BFLOAT)
    np.testing.assert_allclose(
        found.astype(float), np.maximum(product + b, 0).astype(float), rtol=2**-6, atol=2**-6 * abs(product).max()
    )


@given(st.integers(0, 5), st.integers(1, 70), st.booleans(), st.integers(-140, 120), st.integers(0, 3))
@drawn
def test_the_least_exponent_is_that_of_the_least_number(
    rows: int, pairs: int, turned: bool, exponent: int, known: int
) -> None:
    """Zeros are left out, and one that is subnormal says so, whatever its exponent is."""
    random = np.random.default_rng(pairs)
    numbers = np.ldexp(random.choice([0.0, 1.0, -1.5], (rows, 2 * pairs)), exponent + random.integers(0, 5, (rows, 1)))
    numbers = numbers.astype(np.float32).astype(BFLOAT)
    words = np.ascontiguousarray(numbers).view(np.int32)
    words = np.ascontiguousarray(words.T) if turned else words
    (address,) = native_functions("least", least_module("float_pairs"), ["ngraph_rewrite_least_float_pairs"])
    least = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 7)(address)
    place = np.array([known * 50])
    steps = (4, 4 * rows) if turned else (4 * pairs, 4)
    least(words.ctypes.data, *steps, rows, pairs, place.ctypes.data, int(known == 0))
    sizes = abs(numbers[numbers != 0].astype(np.float64))
    own = ZERO if not sizes.size else SUBNORMAL if sizes.min() < 2.0**-126 else 127 + int(np.frexp(sizes.min())[1]) - 1
    assert place[0] == (own if known == 0 else min(own, known * 50))


def test_rows_have_a_multiple_of_two_numbers() -> None:
    x, odd = ng.placeholder((3, 4), BFLOAT), ng.placeholder((3, 5), BFLOAT)
    words = ng.placeholder((2, 7), "int32")
    assert ng.make_op("cpu.gemm_of_float_pairs", x, words).shape == (3, 7)
    assert ng.make_op("cpu.gemm_of_float_pairs", x, ng.placeholder((9, 4), BFLOAT)).shape == (3, 9)
    with pytest.raises(AxesError, match="gemm_of_float_pairs cannot contract"):
        ng.make_op("cpu.gemm_of_float_pairs", odd, ng.placeholder((9, 5), BFLOAT))
    with pytest.raises(AxesError, match="takes two matrices, or two batches of as many"):
        ng.make_op("cpu.gemm_of_float_pairs", x, ng.placeholder((1, 2, 7), "int32"))
    with pytest.raises(DTypeError, match="gemm_of_quads takes uint8 by int32 or int8, or int8 by int32 or uint8, not"):
        ng.make_op("cpu.gemm_of_quads", ng.placeholder((3, 4), "int8"), ng.placeholder((2, 4), "int8"))
