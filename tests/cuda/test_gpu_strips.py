# SPDX-License-Identifier: Apache-2.0
"""Products that take much of a GPU's memory are computed a strip of rows at a time: the same values in less of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.plan import strips
from ngraph_rewrite.plan.launches import Loop

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

HEADS, DEPTH = 2, 2
LIBRARY = ng.find_target("cuda").extended("with_library", add=["cuda.gemm"])
ALONE = LIBRARY.extended("alone", remove=["cuda.gemm"])


def attention(length: int, dtype: str, mask: bool) -> tuple[list[ng.Op], list[ng.Op]]:
    """Attention of as many rows as keys with its derivatives, and what it takes."""
    a, d, p, q = ng.Axis("A", HEADS), ng.Axis("D", DEPTH), ng.Axis("P", length), ng.Axis("Q", length)
    given = [ng.placeholder(axes, dtype=dtype) for axes in ([a, p, d], [a, q, d], [a, q, d])]
    scores = ng.dot(given[0], given[1], reduction_axes=["D"]) * DEPTH**-0.5
    if mask:
        given.append(ng.placeholder([p, q], dtype="bool"))
        scores = ng.where(given[3], scores, -1e4)
    result = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), given[2], reduction_axes=["Q"])
    loss = ng.mean(ng.square(ng.tanh(result)), out_axes=[])
    return [result, loss, *ng.deriv(loss, [given[0], given[2]])], given


def run(target: Any, length: int, dtype: str, mask: bool, values: Sequence[Any]) -> tuple[list[Any], list[int], int]:
    """The results, how often each loop goes round, and the bytes of the arena."""
    returns, given = attention(length, dtype, mask)
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(returns, *given)
        found = [np.asarray(x).astype(np.float64) for x in computation(*values)]
        if target == "reference":
            return found, [], 0
        work = computation._ready().executable.plan.work  # type: ignore[attr-defined]
        return found, [one.times for one in work if isinstance(one, Loop)], computation.stats()["arena_bytes"]


@pytest.mark.parametrize(
    ("target", "dtype", "mask"), [(ALONE, "float32", True), (LIBRARY, "bfloat16", False)], ids=["alone", "library"]
)
def test_values_are_those_of_whole_products(
    target: Any, dtype: str, mask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In less memory: a loop for the result, and one for what comes back through it."""
    length, kind, rng = 16, ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, np.random.default_rng(0)
    values = [rng.standard_normal((HEADS, length, DEPTH)).astype(kind) for _ in range(3)]
    values += [rng.random((length, length)) < 0.8] if mask else []
    expected, _, _ = run("reference", length, dtype, mask, values)
    found, _, whole = run(target, length, dtype, mask, values)
    size = HEADS * length * length * np.dtype(kind).itemsize
    monkeypatch.setattr(strips, "_HUGE", size)
    monkeypatch.setattr(strips, "_SHARED", size // 4)
    monkeypatch.setattr(strips, "_FEW", 4)
    cut, times, room = run(target, length, dtype, mask, values)
    assert times == [4, 4] and room < whole
    bound = 5e-2 if dtype == "bfloat16" else 1e-5
    for x, y, z in zip(found, cut, expected, strict=True):
        assert np.abs(x - z).max() <= bound * np.abs(z).max() and np.abs(y - z).max() <= bound * np.abs(z).max()


def test_what_fits_into_memory_is_not_cut() -> None:
    assert strips.sizes_for_memory().large == 1 << 30
