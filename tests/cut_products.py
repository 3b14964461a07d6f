# SPDX-License-Identifier: Apache-2.0
"""Products of small whole numbers, which are exact, cut up in any way that the kernel has to take."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan import blocks, products
from ngraph_rewrite.plan.blocks import DOTS, FETCHES, PACKS_A, PACKS_B, SWEEPS, Blocking, Lies

Array = np.ndarray[Any, Any]
EXAMPLES = 3 if "NUMBA_CPU_FEATURES" in os.environ else 15
drawn = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
DTYPES = ["float32", "float64"]
INTEGERS = ["int32", "uint32", "int64", "uint64"]
SMALL = ["int8", "uint8", "int16", "uint16"]


def placeholder(array: Array) -> ng.Op:
    return ng.placeholder(ng.anonymous(array.shape), str(array.dtype))


def run(returns: Any, inputs: dict[ng.Op, Array], threads: int = 1) -> Any:
    with ng.make_transformer("cpu", threads=threads) as transformer:
        return transformer.computation(returns, *inputs)(*inputs.values())


def whole(shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Small whole numbers, whose products and sums are exact in every order."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def same_bits(x: Array, y: Array) -> bool:
    """Equal bit for bit, any NaN being one NaN."""
    kind = f"u{x.itemsize}"
    return x.dtype == y.dtype and bool(np.all((x.view(kind) == y.view(kind)) | (np.isnan(x) & np.isnan(y))))


# around the sizes of tiles: 6 and 14 rows, 4 to 32 columns
lengths = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 16, 17, 28, 31, 32, 33, 40, 65])


@st.composite
def operands(draw: st.DrawFn, shape: tuple[int, ...], dtype: str, seed: int) -> tuple[Array, Any]:
    """An array whose part, seen through views, is a stack of matrices; and what takes that part of an array or a term.

    All around the part is NaN, or 99.
    """
    order = draw(st.permutations(range(3)))
    steps = [draw(st.sampled_from([1, 1, 2])) for _ in shape]
    spare = [draw(st.integers(0, 2)) for _ in shape]
    back = [0] * 3
    for place, axis in enumerate(order):
        back[axis] = place
    outer = [shape[a] * steps[a] + spare[a] for a in order]
    cut = tuple(slice(0, shape[a] * steps[a], steps[a]) for a in order)
    array = np.full(outer, 99 if np.dtype(dtype).kind in "iu" else np.nan, dtype)
    array[cut] = whole(tuple(shape[a] for a in order), dtype, seed)

    def part(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return x[cut].transpose(back)
        ends = tuple(shape[a] * steps[a] for a in order)
        return semi.transpose(semi.slice(x, (0, 0, 0), ends, tuple(steps[a] for a in order)), tuple(back))

    return array, part


Cut = Callable[..., Blocking]


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    """Any way to cut up products that the kernel has to take."""
    most, columns = draw(st.integers(1, 70)), 32 * draw(st.integers(1, 3))
    deep, block, packs = draw(st.integers(1, 40)), draw(st.integers(1, 40)), draw(st.integers(0, 31))
    dots = draw(st.booleans())

    def cut(count: int, m: int, n: int, k: int, itemsize: int, lies: Lies) -> Blocking:
        rows = min(most, max(m, 1))
        down, across = -(-m // rows), -(-n // columns)
        plain = lies.plain and not lies.maps.b.there
        packed = packs if plain else packs & ~SWEEPS | PACKS_B  # rows of B are read as they lie if of unit stride
        packed |= PACKS_A if packed & SWEEPS else 0
        packed &= PACKS_B + FETCHES + SWEEPS if lies.maps.a.there else 31  # A that is computed is there as if packed
        if dots and lies.dotted:
            packed = DOTS + PACKS_A * int(not lies.rows_along)
        return Blocking(rows, columns, deep, min(block, rows), packed, down, across, count * down * across)

    return cut


@contextlib.contextmanager
def cut_so(
    monkeypatch: pytest.MonkeyPatch, cut: Cut, parts: int = 1, ahead: int | None = None
) -> Iterator[pytest.MonkeyPatch]:
    """Meanwhile products are cut up so, and summed apart in so many parts of k, if it is as long.

    Args:
        ahead: How many rows of B are packed at a time, if not as many as ever.
    """
    forget = products._cut.cache_clear, products._parts.cache_clear
    with monkeypatch.context() as patch:
        patch.setattr(products, "blocking", cut)
        patch.setattr(products, "parts_of_sum", lambda m, n, k, *_: max(1, min(parts, k)))
        for name in () if ahead is None else ("_AHEAD", "_AHEAD_ACROSS", "_AHEAD_TURNED"):
            patch.setattr(blocks, name, ahead)
        for clear in forget:
            clear()
        yield patch
    for clear in forget:
        clear()


def kernels_of(returns: Any, inputs: dict[ng.Op, Array]) -> list[str]:
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *inputs)
        computation(*inputs.values())
        return [name.partition("_")[0] for name in computation.stats()["kernels"]]
