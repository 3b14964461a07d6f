# SPDX-License-Identifier: Apache-2.0
"""A kernel that shares out parts of itself computes the same with any number of threads, and without a pool."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.parting import BEGIN, launch_lines
from ngraph_rewrite.codegen.source import imports, named, nested
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernels
from ngraph_rewrite.runtime.machine import Beside, Launch, LaunchTable
from ngraph_rewrite.runtime.pool import Pool

# Every element becomes twice what it was, and one more: as often as it is asked for.
_PART = """
first, end = chunk_start(n, chunk, nchunks), chunk_start(n, chunk + 1, nchunks)
for i in range(first, end):
    store_int64(x, i, 2 * load_int64(x, i, 0) + 1, 0)
store_int64(ran, thread, load_int64(ran, thread, 1) + 1, 1)
"""
_THREADS = 4


def _kernel(name: str, arguments: str, body: list[str]) -> tuple[str, str]:
    read = [f"{word} = argument(args, {i})" for i, word in enumerate(arguments.split())]
    text = "\n".join(["def $name(args, chunk, nchunks, thread):", *nested([*read, *body]), ""])
    source = named(name, f"{imports(text)}\n\n\n{text}", ())
    return source.name, source.text


@cache
def kernels() -> tuple[Kernel, Kernel]:
    """One that launches the other, some times, in so many chunks; and that."""
    launch = launch_lines("part", ["x", "n", "ran"], "chunks", "time")
    whole = ["for _ in range(times):", *nested(launch)]
    names = dict(
        [
            _kernel("part", "x n ran", _PART.strip().split("\n")),
            _kernel("whole", "x n ran part times chunks time", [*BEGIN.split("\n"), *whole]),
        ]
    )
    part, whole_one = compile_kernels(names, Cache()).values()
    return whole_one, part


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.stop()


def launch(x: np.ndarray, ran: np.ndarray, times: int, chunks: int, time: int) -> Launch:
    whole, part = kernels()
    return Launch(whole, [x.ctypes.data, len(x), ran.ctypes.data, part.address, times, chunks, time], 0)


def after(x: np.ndarray, times: int) -> np.ndarray:
    for _ in range(times):
        x = 2 * x + 1
    return x


sizes = {"n": st.integers(0, 40), "times": st.integers(0, 5), "chunks": st.integers(1, 9)}


@given(**sizes, threads=st.integers(1, _THREADS), time=st.sampled_from([0, 10**6]))
@settings(deadline=None, max_examples=150)
def test_each_chunk_runs_once_each_time(pool: Pool, n: int, times: int, chunks: int, threads: int, time: int) -> None:
    x, ran = np.arange(n), np.zeros(_THREADS, np.int64)
    LaunchTable([launch(x, ran, times, chunks, time)], pool).run(threads)
    assert np.array_equal(x, after(np.arange(n), times))
    assert ran.sum() == times * (chunks if time and threads > 1 else 1) and not ran[min(threads, chunks) :].any()


@given(**sizes)
@settings(deadline=None, max_examples=30)
def test_beside_others_it_has_no_workers(pool: Pool, n: int, times: int, chunks: int) -> None:
    """Tables that are walked beside each other are each whole in one thread."""
    several = [(np.arange(n), np.zeros(_THREADS, np.int64)) for _ in range(3)]
    LaunchTable([Beside([launch(x, ran, times, chunks, 10**6) for x, ran in several])], pool).run(2)
    for x, ran in several:
        assert np.array_equal(x, after(np.arange(n), times)) and ran.tolist() == [times, 0, 0, 0]


def test_who_comes_while_others_have_the_workers_does_it_alone(pool: Pool) -> None:
    several = [(np.arange(1000), np.zeros(_THREADS, np.int64)) for _ in range(3)]
    tables = [LaunchTable([launch(x, ran, 50, 8, 10**6)], pool) for x, ran in several]
    callers = [threading.Thread(target=table.run, args=(_THREADS,)) for table in tables]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for x, ran in several:
        assert np.array_equal(x, after(np.arange(1000), 50)) and ran.sum() == 50 * 8
