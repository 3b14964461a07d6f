# SPDX-License-Identifier: Apache-2.0
"""Threads: what it costs to share out a launch, at once and after a pause, and what is gained by it.

Engines are the numbers of threads; ratios are to one. ``launches_N`` is a table of N launches of two chunks that do
next to nothing, ``idle`` a launch of about a millisecond after 10 ms in which the workers have gone to sleep.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.harness import OURS, Row, Run, Workload, measure, options, spread, write
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step, render_map
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable
from ngraph_rewrite.runtime.pool import usable_threads

LAUNCHES, PAUSE, PAUSES = 1000, 0.01, 60
Array = np.ndarray[Any, Any]


def _counts() -> dict[str, int]:
    """The numbers of threads, by the names of the engines."""
    return {OURS: 1, **{f"{n} threads": n for n in (2, 4, 8, 16, 32, 64) if n <= usable_threads()}}


@cache
def _add() -> Kernel:
    """y += x"""
    vector = Operand("int64", ("1",))
    nest = MapNest(1, (vector, vector), (Step("add", "int64", (0, 1)),), ((2, vector),), (0, 1, 1))
    source = render_map(nest)
    return compile_kernel(source.text, source.name, Cache())


def _table(x: Array, y: Array, launches: int, chunks: int) -> LaunchTable:
    arguments = [len(x), x.ctypes.data, y.ctypes.data, y.ctypes.data]
    return LaunchTable([Launch(_add(), arguments, chunks)] * launches)


def _launches(threads: int) -> Callable[[], Run]:
    def make() -> Run:
        x, y = np.ones(2, np.int64), np.zeros(2, np.int64)
        table = _table(x, y, LAUNCHES, 2)

        def run() -> Array:
            x[:], y[:] = 1, 0
            table.run(threads)
            return y

        return run

    return make


def _idle() -> Iterator[Row]:
    """A launch by itself, each time after a pause."""
    x, y = np.ones(500_000, np.int64), np.zeros(500_000, np.int64)
    tables = {name: (_table(x, y, 1, 16), threads) for name, threads in _counts().items()}
    times: dict[str, list[float]] = {name: [] for name in tables}
    for _ in range(PAUSES):
        for name, (table, threads) in tables.items():
            time.sleep(PAUSE)
            start = time.perf_counter()
            table.run(threads)
            times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, taken in times.items():
        yield Row("idle", name, medians[name], spread(taken), medians[name] / medians[OURS])


def _computation(returns: Any, inputs: list[ng.Op], values: list[Array], show: Callable[[Any], Any]) -> Any:
    """The engines of a computation: what it returns first is compared."""

    def made(threads: int) -> Callable[[], Run]:
        def make() -> Run:
            run = ng.make_transformer("cpu", threads=threads).computation(returns, *inputs)
            out = run(*values)
            return lambda: show(run(*values, out=out))

        return make

    return {name: made(threads) for name, threads in _counts().items()}


def _map(length: int) -> Workload:
    w, x, b = (ng.placeholder([ng.Axis("H", length)]) for _ in range(3))
    values = [np.random.default_rng(i).normal(size=length).astype(np.float32) for i in range(3)]
    return Workload(f"map_{length}", _computation(w * x + b, [w, x, b], values, lambda y: y))


def _mlp(batch: int) -> Workload:
    """A training step of 784-512-512-10; the loss is compared."""
    n, last = ng.Axis("N", batch), ng.Axis("K", 10)
    axes = [ng.Axis("C", 784), ng.Axis("H1", 512), ng.Axis("H2", 512), last]
    x, target = ng.placeholder([axes[0], n]), ng.placeholder([last, n])
    rng, y, weights = np.random.default_rng(0), x, []
    for before, after in zip(axes, axes[1:], strict=False):
        start = rng.normal(scale=before.length**-0.5, size=(after.length, before.length)).astype(np.float32)
        w, b = ng.variable([after, before], initial_value=start), ng.variable([after], initial_value=0.0)
        y, weights = ng.dot(w, y) + b, [*weights, w, b]
        y = y if after is last else ng.relu(y)
    loss = ng.mean(ng.cross_entropy_multi(ng.softmax(y, [last]), target, out_axes=[n]), out_axes=[])
    slopes = [ng.deriv(loss, w) for w in weights]
    step = ng.doall([ng.assign(w, w - 1e-6 * d) for w, d in zip(weights, slopes, strict=True)])
    values = [rng.normal(size=(784, batch)), np.eye(10)[rng.integers(0, 10, batch)].T]
    arrays = [v.astype(np.float32) for v in values]
    return Workload(f"mlp_{batch}", _computation([loss, step], [x, target], arrays, lambda found: found[0]))


def _workloads(size: int | None) -> Iterator[Workload]:
    yield Workload(f"launches_{LAUNCHES}", {name: _launches(threads) for name, threads in _counts().items()})
    for length in (size,) if size else (100_000, 1_000_000, 10_000_000):
        yield _map(length)
    yield _mlp(128)


def run(chosen: argparse.Namespace) -> list[Row]:
    """Measure what is chosen, print the rows, and write them if asked to."""
    rows = [] if chosen.only == "idle" else measure(_workloads(chosen.size), chosen)
    if chosen.only in (None, "idle"):
        idle = list(_idle())
        print(*idle, sep="\n")
        rows = [*rows, *idle]
    write(rows, chosen.json)
    return rows


if __name__ == "__main__":
    run(options(__doc__ or "").parse_args())
