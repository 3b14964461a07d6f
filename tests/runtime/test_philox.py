# SPDX-License-Identifier: Apache-2.0
"""Philox4x32-10 gives the published answers, and draws depend on nothing but their names and places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ngraph_rewrite.runtime.philox import normal, philox, uniform

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


def test_a_uniform_draw_stays_below_one() -> None:
    draws = uniform(0, 0, 0, 100000, "float32")
    assert 0 <= draws.min() and draws.max() < 1
