# SPDX-License-Identifier: Apache-2.0
"""What the machine can do: the bandwidth of a triad for each number of bytes, and the rate of multiply-adds.

The triad ``a = b + s c`` (McCalpin, *STREAM*) and the chains of multiply-adds run on all threads at once, each over a
part of its own and many times in a row, so that no launch is measured. Ordinary stores are used: what goes past the
caches to memory can be faster than that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from benchmarks.comparison import Limits
from ngraph_rewrite.runtime.intrinsics import wide_vectors
from ngraph_rewrite.runtime.pool import usable_threads

FOOTPRINTS = [2**k for k in range(16, 29, 2)]  # bytes: 64 KiB to 256 MiB
DEPTH, CHAINS, SWEEPS = 16, 4, 3
Array = np.ndarray[Any, Any]


def measured_limits() -> Limits:
    """The limits of this machine: the best of some sweeps, which take some seconds each."""
    sweeps = [({size: bandwidth(size) for size in FOOTPRINTS}, flop_rate()) for _ in range(SWEEPS)]
    best = {size: max(found[size] for found, _ in sweeps) for size in FOOTPRINTS}
    return Limits(best, max(rate for _, rate in sweeps))


def bandwidth(footprint: int) -> float:
    """Bytes a second of a triad over three arrays that have so many bytes together."""
    length = footprint // 12 // usable_threads()
    parts = [[np.ones(length, np.float32) for _ in range(3)] for _ in range(usable_threads())]

    def work(thread: int, repeats: int) -> None:
        a, b, c = parts[thread]
        _triad(a, b, c, repeats)

    return 12 * length * usable_threads() / _seconds(work)


def flop_rate() -> float:
    """Multiplications and additions a second, in chains over numbers that stay in the first cache."""
    length = 2048
    parts = [np.full(length, 0.5, np.float32) for _ in range(usable_threads())]

    def work(thread: int, repeats: int) -> None:
        _chains(parts[thread], np.float32(0.5), repeats)

    return 2 * DEPTH * CHAINS * length * usable_threads() / _seconds(work)


def _seconds(work: Callable[[int, int], None], least: float = 0.02, rounds: int = 8) -> float:
    """Seconds for one repeat on all threads: the least of some rounds that take `least` seconds or more."""
    work(0, 1)
    repeats, best = 1, float("inf")
    while _together(work, repeats) < least:
        repeats *= 2
    for _ in range(rounds):
        best = min(best, _together(work, repeats) / repeats)
    return best


def _together(work: Callable[[int, int], None], repeats: int) -> float:
    threads = [threading.Thread(target=work, args=(i, repeats)) for i in range(1, usable_threads())]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    work(0, repeats)
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


@numba.njit(nogil=True, fastmath={"contract"}, cache=False)
def _triad(a: Array, b: Array, c: Array, repeats: int) -> None:  # pragma: no cover
    wide_vectors()
    for repeat in range(repeats):
        s = np.float32(repeat)
        for i in range(a.size):
            a[i] = b[i] + s * c[i]


@numba.njit(nogil=True, fastmath={"contract"}, cache=False)
def _chains(x: Array, s: np.float32, repeats: int) -> None:  # pragma: no cover
    wide_vectors()
    for _ in range(repeats):
        for i in range(x.size):
            start = x[i]
            a, b, c, d = start, start + s, start - s, start * s
            for _ in range(DEPTH):
                a, b, c, d = a * s + start, b * s + start, c * s + start, d * s + start
            x[i] = (a + b) + (c + d)
