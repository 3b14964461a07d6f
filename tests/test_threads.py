# SPDX-License-Identifier: Apache-2.0
"""Threads change how long a computation takes, and nothing else: not a bit of what it gives."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.plan.shares import CHUNK_TIME, EVEN, MOST, SHARED_TIME, Share
from tests.programs import drawn

H, W, N = ng.Axis("H", 700), ng.Axis("W", 500), ng.Axis("N", 400)
R = ng.Axis("REC", 50)
Expression = Callable[[ng.Op, ng.Op], Any]
# Each has a launch that is shared out.
EXPRESSIONS: dict[str, Expression] = {
    "map": lambda x, y: ng.tanh(x) * x,
    "row reduction": lambda x, y: ng.sum(x, reduction_axes=[W]),
    "column reduction": lambda x, y: ng.max(x, reduction_axes=[H]),
    "softmax": lambda x, y: ng.softmax(x, normalization_axes=[W]),
    "transposed": lambda x, y: ng.axes_with_order(x, [W, H]) + 1,
    "product": lambda x, y: ng.dot(x, y),
    "products with derivatives": lambda x, y: ng.deriv(ng.sum(ng.square(ng.dot(x, y)), out_axes=[]), x),
    "random": lambda x, y: ng.normal([H, W], dtype="float32") + x,
    "sorted": lambda x, y: ng.numpy.sort(x, axis=1),
    "cumulative": lambda x, y: ng.numpy.cumulative_sum(x, axis=1),
}


def inputs() -> tuple[list[ng.Op], list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return [ng.placeholder([H, W]), ng.placeholder([W, N])], [
        rng.normal(size=shape).astype(np.float32) for shape in ((700, 500), (500, 400))
    ]


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    terms, values = inputs()
    result = EXPRESSIONS[name](*terms)
    found = []
    for threads in (1, 2, 4):
        with ng.make_transformer("cpu", threads=threads, seed=3) as transformer:
            computation = transformer.computation(result, *terms)
            found.append([computation(*values) for _ in range(3)])
            stats = computation.stats()
            assert stats["threads"] == threads and max(stats["chunks"]) > 1
    assert all(np.array_equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["exp", "tanh", "erf", "sin", "log"])
def test_maps_in_as_many_chunks_as_threads_need_give_the_same_bits(name: str, dtype: str) -> None:
    """Whatever element is the first or the last of a chunk, in a vector or behind the last one."""
    x = ng.placeholder([ng.Axis("H", 200_003)], dtype=dtype)
    values = (3 * np.random.default_rng(0).normal(size=200_003)).astype(dtype)
    found, chunks = [], set()
    for threads in (1, 2, 3):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            computation = transformer.computation(getattr(ng, name)(x), x)
            found.append(computation(values).tobytes())
            chunks.add(computation.stats()["chunks"][0])
    assert len(set(found)) == 1 and len(chunks) > 1


def test_small_launches_are_not_shared() -> None:
    x = ng.placeholder([ng.Axis("H", 1000)])
    with ng.make_transformer("cpu", threads=4) as transformer:
        computation = transformer.computation(x * x + 1, x)
        computation(np.ones(1000))
        assert computation.stats()["chunks"] == [1]


@given(length=st.integers(0, 10**9), time=st.integers(0, 10**12), least=st.integers(1, 1000))
@drawn(200)
def test_a_chunk_is_worth_its_launch(length: int, time: int, least: int) -> None:
    chunks = Share(length, time, least).chunks
    assert 1 <= chunks <= MOST
    assert chunks == 1 or (time > (chunks - EVEN) * CHUNK_TIME and length >= chunks * least)
    assert chunks == 1 or time >= SHARED_TIME


def test_python_threads_compute_at_once() -> None:
    """Each with a transformer of its own, and two with one: whoever does not get the workers does without."""
    terms, values = inputs()
    result = ng.dot(ng.tanh(terms[0]), terms[1])
    transformers = [ng.make_transformer("cpu", threads=3) for _ in range(3)]
    computations = [t.computation(result, *terms) for t in (*transformers, transformers[0])]
    expected = computations[0](*values)
    wrong: list[Any] = []

    def compute(computation: ng.Computation) -> None:
        wrong.extend(found for _ in range(20) if not np.array_equal(found := computation(*values), expected))

    threads = [threading.Thread(target=compute, args=(computation,)) for computation in computations]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_steps_of_a_scan_are_shared_out() -> None:
    x = ng.placeholder([R, H, W])
    states, rows = ng.scan(lambda s, x: (s * 0.5 + x, s), ng.constant(0.0, [H, W]), x)
    value = np.random.default_rng(1).normal(size=(50, 700, 500)).astype(np.float32)
    found = []
    for threads in (1, 3):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            found.append(transformer.computation([states, rows], x)(value))
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2", 10**6])
def test_a_number_of_threads_is_checked(threads: Any) -> None:
    with pytest.raises(ArgumentError, match="number of threads is"):
        ng.make_transformer("cpu", threads=threads)


def test_traced_calls_compute_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    terms, values = inputs()
    result = ng.dot(ng.tanh(terms[0]), terms[1])
    with ng.make_transformer("cpu", threads=2) as transformer:
        computation = transformer.computation(result, *terms)
        expected = computation(*values)
        with ng.trace_calls():
            assert np.array_equal(computation(*values), expected)
    assert "cpu.gemm" in capsys.readouterr().out


def test_arguments_and_out_are_not_copied() -> None:
    terms, values = inputs()
    with ng.make_transformer("cpu", threads=2) as transformer:
        computation = transformer.computation(terms[0] * 2, terms[0])
        out = computation(values[0])
        tracemalloc.start()
        try:
            assert computation(values[0], out=out) is out
            assert tracemalloc.get_traced_memory()[1] < out.nbytes / 4
        finally:
            tracemalloc.stop()
