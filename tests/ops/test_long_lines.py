# SPDX-License-Identifier: Apache-2.0
"""Long lines are sorted as NumPy sorts them, whatever their elements are and whoever shares the work."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite.codegen.library_long_lines import DTYPES
from ngraph_rewrite.runtime.features import compresses

# Around a vector, a piece, what is parted by setting keys aside, and what is parted as it is read; and a few.
LENGTHS = [65, 127, 128, 129, 255, 256, 257, 1023, 1025, 4095, 4096, 4097, 8191, 8192, 8193, 40001, 65535, 65536, 70001]


def random(rng: Any, n: int, dtype: Any) -> Any:
    """Any bits: of floats NaN and infinities among them."""
    return rng.integers(0, 256, (n, dtype.itemsize), np.uint8).view(dtype)[:, 0]


def close(rng: Any, n: int, dtype: Any) -> Any:
    """Numbers that differ in their last bits, but for a few that are far away."""
    bits = np.dtype(f"int{8 * dtype.itemsize}")
    near = np.array(1, dtype).view(bits) + rng.integers(0, 300, n).astype(bits)
    return np.where(rng.random(n) < 0.01, np.array(100, dtype).view(bits), near).view(dtype)


def special(rng: Any, n: int, dtype: Any) -> Any:
    """The ends of a dtype, zeros of either sign, and no numbers."""
    if dtype.kind != "f":
        ends = np.iinfo(dtype)
        return rng.choice(np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], dtype), n)
    ends = np.finfo(dtype)
    few = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, ends.max, -ends.max, ends.tiny, ends.smallest_subnormal]
    return rng.choice(np.array(few, dtype), n)


LINES: dict[str, Callable[[Any, int, Any], Any]] = {
    "random": random,
    "equal": lambda rng, n, dtype: np.full(n, 7, dtype),
    "sorted": lambda rng, n, dtype: np.arange(n).astype(dtype),
    "reversed": lambda rng, n, dtype: np.arange(n)[::-1].astype(dtype),
    "organ pipes": lambda rng, n, dtype: np.minimum(np.arange(n), np.arange(n)[::-1]).astype(dtype),
    "few": lambda rng, n, dtype: rng.integers(0, 5, n).astype(dtype),
    "pairs": lambda rng, n, dtype: np.repeat(random(rng, n // 2 + 1, dtype), 2)[:n],
    "close": close,
    "special": special,
}


def right_order(x: Any, descending: bool) -> Any:
    """A stable order by NumPy: it has no descending one, so what goes down is negated, or all its bits are."""
    if descending:
        x = -x if x.dtype.kind == "f" else ~x
    return np.argsort(x, kind="stable")


def same_bits(one: Any, other: Any) -> bool:
    """Whether bits are the same, but for those of NaN."""
    bits = np.dtype(f"uint{8 * one.dtype.itemsize}")
    return bool(np.all((one.view(bits) == other.view(bits)) | ((one != one) & (other != other))))


def sorts(shape: tuple[int, ...], dtype: Any, descending: bool, threads: int, call: Callable[[Any, Any], Any]) -> None:
    """Call something with a sort and an argsort along the last axis."""
    x = ng.placeholder(shape, dtype=dtype.name)
    axis = len(shape) - 1
    with ng.make_transformer("cpu", threads=threads) as transformer:
        both = (ng.semi.sort(x, axis, descending), ng.semi.argsort(x, axis, not descending))
        call(*(transformer.computation(term, x) for term in both))


@drawn(12)
@given(
    dtype=st.sampled_from(DTYPES).map(np.dtype),
    n=st.sampled_from(LENGTHS) | st.integers(65, 3000),
    kinds=st.lists(st.sampled_from(list(LINES)), min_size=1, max_size=3),
    threads=st.sampled_from([1, 2]),
    seed=st.integers(0, 999),
)
def test_long_lines_are_sorted(dtype: Any, n: int, kinds: list[str], threads: int, seed: int) -> None:
    """One line or a few; a sort in one direction, the positions in the other, which the size of the dtype decides."""
    rng = np.random.default_rng(seed)
    x = np.stack([LINES[kind](rng, n, dtype) for kind in kinds])
    descending = dtype.name in ("uint32", "float64", "int64")

    def check(sort: Any, argsort: Any) -> None:
        values, places = sort(x), argsort(x)
        for line, value, place in zip(x, values, places, strict=True):
            np.testing.assert_array_equal(place, right_order(line, not descending))
            assert same_bits(value, line[right_order(line, descending)])

    sorts(x.shape, dtype, descending, threads, check)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_a_line_that_parts_badly_at_every_median_is_sorted(dtype: str) -> None:
    """Of nine keys, evenly apart, five are always the least there are: so pivots are in the end no medians of keys."""
    n, tries = 4000, 40
    left, line = np.arange(n), np.zeros(n)
    for k in range(tries):
        step = len(left) // 9
        chosen = step // 2 + step * np.arange(5)
        line[left[chosen]] = 5 * k + np.arange(5)
        left = np.delete(left, chosen)
    line[left] = 5 * tries + np.random.default_rng(0).permutation(len(left))
    x = line.astype(dtype)

    def check(sort: Any, argsort: Any) -> None:
        np.testing.assert_array_equal(sort(x), np.sort(x))
        np.testing.assert_array_equal(argsort(x), np.argsort(x)[::-1])

    sorts((n,), x.dtype, False, 1, check)


@pytest.mark.parametrize("n", [66_000, 100_003])
def test_threads_that_share_a_line_give_the_same(n: int) -> None:
    x = LINES["special"](np.random.default_rng(1), n, np.dtype("float64"))
    found = list[Any]()
    for threads in (1, 2):
        sorts((n,), x.dtype, False, threads, lambda sort, argsort: found.extend([sort(x), argsort(x)]))
    assert same_bits(found[0], found[2]) and np.array_equal(found[1], found[3])


@pytest.mark.parametrize(
    ("shape", "is_long"), [((1, 2000), True), ((9, 2000), True), ((40, 100), False), ((1, 70), False)]
)
def test_long_lines_are_parted_where_vectors_are_compressed(shape: tuple[int, int], is_long: bool) -> None:
    """Short ones are sorted side by side, if there are many."""
    x = ng.placeholder(shape)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(ng.numpy.sort(x), x)
        computation(np.zeros(shape, np.float32))
        kernels = {name.rpartition("_")[0] for name in computation.stats()["kernels"]}
    assert ("sort_long_lines" in kernels) == (is_long and compresses())
