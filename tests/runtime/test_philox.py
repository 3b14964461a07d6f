# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 gives the published answers, and draws depend on nothing but their names and places."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ngraph_rewrite.runtime.philox import last_below, normal, philox, uniform
from ngraph_rewrite.types.dtypes import as_dtype

ONES = 0xFFFFFFFF

# Random123 1.14, tests/kat_vectors
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize("counter, key, answer", KNOWN)
def test_published_answers(counter: tuple[int, ...], key: tuple[int, int], answer: tuple[int, ...]) -> None:
    assert tuple(int(word) for word in philox(counter, key)) == answer


def test_counters_may_be_arrays() -> None:
    counters = np.array([counter for counter, _, _ in KNOWN[:1]] * 3, dtype=np.uint32).T
    assert [int(word[2]) for word in philox(list(counters), (0, 0))] == list(KNOWN[0][2])


names = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**40))


@given(names, st.integers(0, 50), st.sampled_from(["float16", "float32", "float64"]))
def test_a_longer_draw_begins_with_the_shorter(name: tuple[int, int, int], count: int, dtype: str) -> None:
    for draw in (uniform, normal):
        assert np.array_equal(draw(*name, count, dtype), draw(*name, count + 13, dtype)[:count])


@given(names)
def test_the_words_are_the_documented_ones(name: tuple[int, int, int]) -> None:
    seed, stream, call = name
    words = philox((1, 0, call % 2**32, stream), (seed % 2**32, seed >> 32))
    assert np.array_equal(uniform(*name, 8, "float32")[4:], [(int(w) >> 8) * 2.0**-24 for w in words])
    double = [((int(a) >> 5) * 2**26 + (int(b) >> 6)) * 2.0**-53 for a, b in (words[:2], words[2:])]
    assert np.array_equal(uniform(*name, 4, "float64")[2:], double)


def test_seed_stream_and_call_each_change_the_draw() -> None:
    draws = [uniform(*name, 8, "float64") for name in ((1, 0, 0), (2, 0, 0), (2**32 + 1, 0, 0), (1, 1, 0), (1, 0, 1))]
    assert len({draw.tobytes() for draw in draws}) == len(draws)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_draws_have_their_distribution(dtype: str) -> None:
    """Kolmogorov and Smirnov's test on fixed seeds: deterministic, so the bound is on these very draws."""
    assert stats.kstest(uniform(1, 2, 3, 20000, dtype, -1.0, 4.0), stats.uniform(-1, 5).cdf).pvalue > 0.01
    assert stats.kstest(normal(1, 2, 3, 20000, dtype, 2.0, 3.0), stats.norm(2, 3).cdf).pvalue > 0.01


INTERVALS = [(0.0, 1.0), (0.5, 1.0), (-1.0, -0.5), (-3.0, 250.0), (0.0, 1e-7), (1.0, 1.001)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_a_uniform_draw_stays_below_the_end_of_its_interval(dtype: str, low: float, high: float) -> None:
    """Numbers of few bits would be rounded to it: of bfloat16 in [0, 1) each 500th."""
    kind = as_dtype(dtype)
    draws = uniform(0, 0, 0, 100000, kind, low, high).astype(float)
    assert draws.min() >= float(np.asarray(low, kind)) and (draws.max() < high or not has_numbers(low, high, kind))


def has_numbers(low: float, high: float, kind: np.dtype[Any]) -> bool:
    """Whether a dtype has any in [low, high)."""
    return float(np.asarray(low, kind)) < high


@given(st.floats(-1e4, 1e4), st.floats(-1e4, 1e4), st.sampled_from(["float16", "bfloat16", "float32", "float64"]))
def test_the_last_number_below_an_end_has_none_after_it(low: float, high: float, dtype: str) -> None:
    kind = as_dtype(dtype)
    last = last_below(low, high, kind)
    if not low <= high:
        assert last == np.inf
        return
    next_one = float(np.nextafter(np.asarray(last, kind), np.asarray(np.inf, kind)))
    assert float(np.asarray(last, kind)) == last
    assert (last < high <= next_one) or last == float(np.asarray(low, kind)) >= high


@pytest.mark.parametrize("ends", [(1.0, -1.0), (0.0, np.inf), (np.nan, 1.0), (-1e308, 1.7e308)])
def test_what_is_no_interval_has_no_last_number(ends: tuple[float, float]) -> None:
    assert last_below(*ends, np.dtype("float32")) == np.inf
