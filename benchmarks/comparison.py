# SPDX-License-Identifier: Apache-2.0
"""One task on several engines: the answer of each against one in float64, then times in turns, then rows.

An engine that fails or gives a wrong answer has a row that says so, and no times.
"""

from __future__ import annotations

import gc
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.harness import OURS, Run, spread

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
HEADER = "workload, engine, median_s, spread, ratio, least_s, of_limit, cold_s, warm_s, peak_mb, note"
Clock = Callable[[], float]
SLOW = 1.0  # seconds: what takes longer for a single call is called once
TURN = 5e-3  # seconds that the calls of a turn take together
# Threads that wait have gone to sleep where a look of so many seconds finds them at work for less than a tenth of it
# (those of OpenBLAS look for work for 27 ms, or 105, as the machine counts its cycles); so many looks are enough.
LOOK, LOOKS = 0.02, 50


def as_arrays(result: Any) -> Arrays:
    """What an engine returned, one tensor or a sequence of them, as arrays of NumPy."""
    parts = result if isinstance(result, list | tuple) else [result]
    return [np.asarray(_wide(p.detach()) if hasattr(p, "detach") else p) for p in parts]


def _wide(tensor: Any) -> Any:
    """A tensor of PyTorch as NumPy can have it."""
    return tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor


@dataclass(frozen=True)
class Made:
    """What an engine made of a task.

    Attributes:
        run: One call, to its very end.
        show: From what the first call returned to arrays as those of the answer.
        note: What is to be known about it, once it has run.
    """

    run: Run
    show: Callable[[Any], Arrays] = as_arrays
    note: Callable[[], str] = str


@dataclass(frozen=True)
class Task:
    """A name, the answer in float64, and for each engine a function that makes what is timed.

    Attributes:
        bytes: What has to be read and written at least, where memory is the limit.
        flops: Multiplications and additions, where arithmetic is the limit.
        tolerance: The largest error allowed, relative to the largest number of each array of the answer.
    """

    name: str
    answer: Callable[[], Arrays]
    engines: Mapping[str, Callable[[], Made]]
    bytes: int = 0
    flops: int = 0
    tolerance: float = 1e-4


Tasks = Mapping[str, Callable[[], Task]]  # by name; arrays are drawn when a task is made


@dataclass(frozen=True)
class Limits:
    """Bytes a second, by how many bytes there are, and floating-point operations of float32 a second."""

    bandwidth: Mapping[int, float]
    flops: float

    def part(self, seconds: float, bytes: int = 0, flops: int = 0) -> float | None:
        """Which part of what is possible was reached; None where neither memory nor arithmetic is the limit.

        >>> Limits({65536: 4e9, 262144: 2e9}, 1e9).part(1.0, bytes=10**9)
        0.5
        """
        if flops:
            return flops / seconds / self.flops
        if bytes:
            nearest = min(self.bandwidth, key=lambda footprint: abs(np.log(footprint / bytes)))
            return bytes / seconds / self.bandwidth[nearest]
        return None

    def __str__(self) -> str:
        sizes = ", ".join(f"{size >> 10} KiB {rate / 1e9:.0f} GB/s" for size, rate in self.bandwidth.items())
        return f"triad {sizes}; multiply-adds {self.flops / 1e9:.0f} GFLOP/s"


@dataclass(frozen=True)
class Row:
    """One engine on one task.

    Attributes:
        ratio: Its median over ours.
        least_s: The shortest time there was, which other processes disturbed the least.
        of_limit: Which part of the machine's bandwidth, or of its flop rate, it reached in the shortest time.
        cold_s: From the expression to the first result, with empty caches.
        warm_s: The same in a new process that finds what the first one kept.
        peak_mb: By how many megabytes the new process grew.
        wrong: Whether it gave a wrong answer, or gave none though it is ours.
    """

    workload: str
    engine: str
    median_s: float | None = None
    spread: float | None = None
    ratio: float | None = None
    least_s: float | None = None
    of_limit: float | None = None
    cold_s: float | None = None
    warm_s: float | None = None
    peak_mb: float | None = None
    note: str = ""
    wrong: bool = False

    def __str__(self) -> str:
        forms = {"median_s": ".3e", "least_s": ".3e", "peak_mb": ".1f"}
        names = "median_s spread ratio least_s of_limit cold_s warm_s peak_mb".split()
        values = [(getattr(self, name), forms.get(name, ".2f")) for name in names]
        shown = ["-" if value is None else format(value, form) for value, form in values]
        return ", ".join([self.workload, self.engine, *shown, *([self.note] if self.note else [])])


def chosen_engines(task: Task, peers: Sequence[str] | None) -> dict[str, Callable[[], Made]]:
    """Ours, and of the others those asked for."""
    return {
        name: make
        for name, make in task.engines.items()
        if name.startswith(OURS) or peers is None or name in peers or name.partition("-")[0] in peers
    }


def compare(
    task: Task, peers: Sequence[str] | None, limits: Limits, seconds: float, clock: Clock = time.perf_counter
) -> Iterator[Row]:
    """A row for each engine; `seconds` is about how long each is timed, by the clock."""
    answer = task.answer()
    made: dict[str, Made] = {}
    first: dict[str, float] = {}
    for name, make in chosen_engines(task, peers).items():
        start = time.perf_counter()
        try:
            found = make()
            result = found.run()
        except Exception as error:
            yield Row(task.name, name, note=f"failed: {_short(error)}", wrong=name == OURS)
            continue
        first[name] = time.perf_counter() - start
        error_found = off(found.show(result), answer, task.tolerance)
        if error_found:
            yield Row(task.name, name, cold_s=first[name], note=f"WRONG: {error_found}", wrong=True)
        else:
            made[name] = found
    yield from _rows(task, made, first, limits, seconds, clock)
    made.clear()
    gc.collect()


def off(found: Arrays, answer: Arrays, tolerance: float) -> str:
    """How an answer differs from the right one; nothing if it does not.

    >>> off([np.ones(2, np.float32)], [np.ones(2)], 1e-6)
    ''
    >>> off([np.array([1.0, 1.1])], [np.ones(2)], 1e-6)
    'result 0 is off by 0.1'
    """
    if len(found) != len(answer):
        return f"{len(found)} results instead of {len(answer)}"
    for i, (one, right) in enumerate(zip(found, answer, strict=True)):
        if one.shape != right.shape:
            return f"result {i} has the shape {one.shape} instead of {right.shape}"
        scale = float(np.abs(right).max(initial=1e-30))
        error = float(np.abs(one.astype(np.float64) - right).max(initial=0.0)) / scale
        if not error <= tolerance:
            return f"result {i} is off by {error:.3g}"
    return ""


def _rows(
    task: Task, made: Mapping[str, Made], first: Mapping[str, float], limits: Limits, seconds: float, clock: Clock
) -> Iterator[Row]:
    times = interleaved({name: m.run for name, m in made.items()}, seconds, clock)
    medians = {name: statistics.median(t) for name, t in times.items()}
    for name, taken in times.items():
        part = limits.part(min(taken), task.bytes, task.flops)
        ratio = medians[name] / medians[OURS] if OURS in medians else None
        yield Row(
            task.name, name, medians[name], spread(taken), ratio, min(taken), part, first[name], note=made[name].note()
        )


def interleaved(
    runs: Mapping[str, Run], seconds: float, clock: Clock = time.perf_counter, least: int = 5
) -> dict[str, list[float]]:
    """Times per call, engines in turns, so that a disturbance hits all alike; slow ones take fewer turns.

    Before each turn the threads of the engine before it are left to fall asleep (those of OpenMP look for work for some
    milliseconds, on a core that the next engine is about to use). Then it has as many calls that are not counted as it
    has others: what the engines before, and other guests of a host, have taken of its caches comes back within some
    hundred calls. A turn has as many calls as the fastest one so far would take `TURN` for: a call that was disturbed
    does not make all turns short.
    """
    first = {name: _once(run, clock) for name, run in runs.items()}
    times = {name: [once] if once >= SLOW else list[float]() for name, once in first.items()}
    fastest = {name: min(first[name], _once(runs[name], clock)) for name in runs if not times[name]}
    left = dict.fromkeys(fastest, seconds)
    while left:
        for name in list(left):
            settle()
            repeats = max(1, int(TURN / max(fastest[name], 1e-9)))
            for _ in range(repeats):
                runs[name]()
            start = clock()
            for _ in range(repeats):
                runs[name]()
            taken = clock() - start
            times[name].append(taken / repeats)
            fastest[name] = min(fastest[name], times[name][-1])
            left[name] -= taken
            if left[name] < 0 and len(times[name]) >= least:
                del left[name]
    return times


def settle() -> None:
    """Wait until hardly any thread of this process computes, for a second at most."""
    for _ in range(LOOKS):
        before = time.process_time()
        time.sleep(LOOK)
        if time.process_time() - before < LOOK / 10:
            return


def _once(run: Run, clock: Clock) -> float:
    start = clock()
    run()
    return clock() - start


def _short(error: Exception) -> str:
    """The first line of an error, without what colours it."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:120]}".replace(",", ";")
