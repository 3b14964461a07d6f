# SPDX-License-Identifier: Apache-2.0
"""Times on a GPU: what it can do, engines in turns between events on its default stream, and a row for each.

An engine that fails or gives a wrong answer has a row that says so, and no times.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.cuda_engines import Made, Problem, Tensors, double
from benchmarks.engines import module
from benchmarks.harness import OURS, Run, spread

HEADER = "workload, engine, median_s, spread, ratio, fraction, note"
COPIED = 8 * 10**9  # bytes that are read and written to measure the bandwidth
SQUARE = 8192  # rows and columns of the matrices by which the rate of products is measured
TURN = 5e-3  # seconds of one measurement, at least
Clock = Callable[[Run, int], float]  # seconds for one of some calls


@dataclass(frozen=True)
class Row:
    """One engine on one workload.

    Attributes:
        ratio: Its median over ours.
        fraction: Which part of the bandwidth of a copy, or of the rate of a product, it reached in the median.
        wrong: Whether it gave a wrong answer, or gave none though it is ours.
    """

    workload: str
    engine: str
    median_s: float | None = None
    spread: float | None = None
    ratio: float | None = None
    fraction: float | None = None
    note: str = ""
    wrong: bool = False

    def __str__(self) -> str:
        values = [(self.median_s, ".3e"), (self.spread, ".2f"), (self.ratio, ".2f"), (self.fraction, ".2f")]
        shown = ["-" if value is None else format(value, form) for value, form in values]
        return ", ".join([self.workload, self.engine, *shown, *([self.note] if self.note else [])])


# -- clocks ------------------------------------------------------------------------------------------------------------


def by_events(run: Run, repeats: int) -> float:
    """Seconds for a call between two events; where the host is slower than the GPU, those of the host."""
    events = module("torch").cuda.Event
    start, end = events(enable_timing=True), events(enable_timing=True)
    start.record()
    for _ in range(repeats):
        run()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3 / repeats


def by_host(run: Run, repeats: int) -> float:
    """Seconds for a call and for its results to be there."""
    wait = module("torch").cuda.synchronize
    wait()
    start = time.perf_counter()
    for _ in range(repeats):
        run()
        wait()
    return (time.perf_counter() - start) / repeats


# -- limits ------------------------------------------------------------------------------------------------------------


class Limits:
    """What the GPU does at most, as far as torch makes it do so."""

    @cache  # noqa: B019  (there is one)
    def bandwidth(self) -> float:
        """Bytes a second of a copy, read and written."""
        torch = module("torch")
        a, b = (torch.ones(COPIED // 2 // 4, device="cuda") for _ in range(2))
        return COPIED / best(lambda: b.copy_(a))

    @cache  # noqa: B019
    def products(self, dtype: str) -> float:
        """Multiplications and additions a second of a large product."""
        torch = module("torch")
        a, b = (torch.ones(SQUARE, SQUARE, device="cuda", dtype=getattr(torch, dtype)) for _ in range(2))
        return float(2 * SQUARE**3) / best(lambda: a @ b)

    def __str__(self) -> str:
        rates = ", ".join(f"{dtype} {self.products(dtype) / 1e12:.1f}" for dtype in ("float32", "bfloat16"))
        return f"copy {self.bandwidth() / 1e9:.0f} GB/s; TFLOP/s of products: {rates}"

    def fraction(self, problem: Problem, seconds: float) -> float | None:
        """Which part of what is possible was reached; None where neither memory nor arithmetic is the limit."""
        if problem.flops:
            return problem.flops / seconds / self.products(problem.dtype)
        return problem.bytes / seconds / self.bandwidth() if problem.bytes else None


def best(run: Run, rounds: int = 10) -> float:
    """Seconds of the fastest of some calls."""
    run()
    return min(by_events(run, 1) for _ in range(rounds))


# -- comparison --------------------------------------------------------------------------------------------------------


def off(found: Tensors, answer: Tensors, tolerance: float) -> str:
    """How an answer differs from the right one; nothing if it does not. Integers have to be equal."""
    if len(found) != len(answer):
        return f"{len(found)} results instead of {len(answer)}"
    for i, (one, right) in enumerate(zip(found, answer, strict=True)):
        if one.shape != right.shape:
            return f"result {i} has the shape {tuple(one.shape)} instead of {tuple(right.shape)}"
        scale = max(float(right.abs().max()), 1e-30) if right.is_floating_point() else 1.0
        error = float((double(one) - right).abs().max()) / scale
        if not error <= (tolerance if right.is_floating_point() else 0.0):
            return f"result {i} is off by {error:.3g}"
    return ""


def compare(problem: Problem, peers: Sequence[str] | None, limits: Limits, seconds: float) -> Iterator[Row]:
    """A row for each engine, ours first; `seconds` is about how long each is timed."""
    answer, made, first = problem.answer(), dict[str, Made](), dict[str, float]()
    for name, make in problem.engines.items():
        if not name.startswith(OURS) and peers is not None and name.removeprefix("torch.") not in peers:
            continue
        start = time.perf_counter()
        found: Made | None = None
        try:
            found = make()
            shown = found.show(found.run())
            first[name] = time.perf_counter() - start
            wrong = off(shown, answer, problem.tolerance)
        except Exception as error:
            yield Row(problem.name, name, note=f"failed: {_short(error)}", wrong=name == OURS)
            continue
        if wrong:
            yield Row(problem.name, name, note=f"WRONG: {wrong}", wrong=True)
            found.close()
        else:
            made[name] = found
    del answer
    yield from _rows(problem, made, first, limits, seconds)
    for one in made.values():
        one.close()


def _rows(
    problem: Problem, made: Mapping[str, Made], first: Mapping[str, float], limits: Limits, seconds: float
) -> Iterator[Row]:
    clock = by_host if problem.waits else by_events
    times = interleaved({name: one.run for name, one in made.items()}, clock, seconds)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    for name, taken in times.items():
        ratio = medians[name] / medians[OURS] if OURS in medians else None
        note = "; ".join(filter(None, [made[name].note(), f"first {first[name]:.2f} s"]))
        fraction = limits.fraction(problem, medians[name])
        yield Row(problem.name, name, medians[name], spread(taken), ratio, fraction, note)


def interleaved(runs: Mapping[str, Run], clock: Clock, seconds: float, least: int = 5) -> dict[str, list[float]]:
    """Times per call, engines in turns, so that a disturbance hits all alike; the first call of a turn is not timed."""
    repeats, times = dict[str, int](), {name: list[float]() for name in runs}
    for name, run in runs.items():
        clock(run, 3)  # graphs are recorded, and caches filled
        repeats[name] = max(1, int(TURN / max(clock(run, 3), 1e-7)))
    left = dict.fromkeys(runs, seconds)
    while left:
        for name in list(left):
            runs[name]()
            taken = clock(runs[name], repeats[name])
            times[name].append(taken)
            left[name] -= taken * repeats[name]
            if left[name] < 0 and len(times[name]) >= least:
                del left[name]
    return times


def released() -> None:
    """Give memory that nothing needs any more back to the GPU."""
    gc.collect()
    module("torch").cuda.empty_cache()


def _short(error: BaseException) -> str:
    """The first line of an error."""
    lines: list[Any] = str(error).strip().splitlines() or [type(error).__name__]
    return f"{type(error).__name__}: {lines[0]}"[:200]
