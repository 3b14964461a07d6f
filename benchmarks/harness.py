# SPDX-License-Identifier: Apache-2.0
"""One way to compare: check that all engines give the same, then time them in turns and print the rows.

A row is ``workload, engine, median_s, spread, ratio``: `spread` is the distance of the quartiles over the
median, `ratio` the engine's median over ours. Where graphs are measured there follow ``us_per_node`` and ``peak_mb``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

Run = Callable[[], Any]
OURS = "ngraph_rewrite"
SECONDS = 1.0  # how long each engine is timed


@dataclass(frozen=True)
class Row:
    """One engine on one workload; `note` says why there is no time, or what is to be known about it.

    Attributes:
        us_per_node: Microseconds for each node of the graph it was given.
        peak_mb: By how many megabytes its process grew.
    """

    workload: str
    engine: str
    median_s: float | None
    spread: float | None
    ratio: float | None
    us_per_node: float | None = None
    peak_mb: float | None = None
    note: str = ""

    def __str__(self) -> str:
        shown = [_shown(self.median_s, ".3e"), _shown(self.spread, ".2f"), _shown(self.ratio, ".2f")]
        if self.us_per_node is not None or self.peak_mb is not None or self.note:
            shown += [_shown(self.us_per_node, ".2f"), _shown(self.peak_mb, ".1f"), *([self.note] if self.note else [])]
        return ", ".join([self.workload, self.engine, *shown])


@dataclass(frozen=True)
class Workload:
    """A name and, for each engine that can run it, a function that makes the thing to time.

    `tolerance` is the relative error allowed between answers; the answers of the first call are compared.
    """

    name: str
    engines: Mapping[str, Callable[[], Run]]
    tolerance: float = 1e-4


def options(description: str) -> argparse.ArgumentParser:
    """The options every benchmark takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", metavar="WORKLOAD", help="run this workload only")
    parser.add_argument("--size", type=int, metavar="N", help="size of the workloads")
    parser.add_argument("--rules", type=int, metavar="N", help="number of rules, where that can be chosen")
    parser.add_argument("--peers", metavar="a,b", help="engines to compare with (default: those installed)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the rows to FILE as well")
    return parser


def measure(workloads: Iterable[Workload], chosen: argparse.Namespace) -> list[Row]:
    """Time the chosen workloads, print their rows, and write them if asked to.

    Raises:
        SystemExit: if no workload has the name asked for, or two engines give different answers.
    """
    peers = chosen.peers.split(",") if chosen.peers is not None else None
    wanted = [w for w in workloads if chosen.only in (None, w.name)]
    if not wanted:
        raise SystemExit(f"no workload is called {chosen.only}")
    print("workload, engine, median_s, spread, ratio")
    rows = []
    for workload in wanted:
        for row in _compare(workload, peers):
            print(row, flush=True)
            rows.append(row)
    write(rows, chosen.json)
    return rows


def write(rows: Iterable[Any], file: Path | None) -> None:
    """Write rows to a file, if there is one to write to."""
    if file is not None:
        file.write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n", encoding="utf-8")


def end(rows: Sequence[Any], says: Iterable[str], file: Path | None) -> None:
    """Tell what rows come to, write them, and fail if an answer was wrong."""
    for line in says:
        print(f"# {line}")
    write(rows, file)
    wrong = [f"{row.workload} by {row.engine}: {row.note}" for row in rows if row.wrong]
    if wrong:
        raise SystemExit("\n".join(wrong))


def _compare(workload: Workload, peers: list[str] | None) -> list[Row]:
    runs = {
        engine: make()
        for engine, make in workload.engines.items()
        if engine == OURS or peers is None or engine in peers
    }
    answers = {engine: np.asarray(run(), dtype=np.float64) for engine, run in runs.items()}
    for engine, answer in answers.items():
        ours = answers[OURS]
        scale = np.abs(ours).max(initial=1e-30)
        if answer.shape != ours.shape or np.abs(answer - ours).max(initial=0) > workload.tolerance * scale:
            raise SystemExit(f"{workload.name}: {engine} does not give the same answer as {OURS}")
    times = _interleaved(runs)
    medians = {engine: statistics.median(t) for engine, t in times.items()}
    return [
        Row(workload.name, engine, medians[engine], spread(t), medians[engine] / medians[OURS])
        for engine, t in times.items()
    ]


def _interleaved(runs: Mapping[str, Run], least: int = 7) -> dict[str, list[float]]:
    """Times per call, engines in turns, so that a disturbance hits all alike."""
    repeats = {engine: _repeats(run) for engine, run in runs.items()}
    times: dict[str, list[float]] = {engine: [] for engine in runs}
    end = time.perf_counter() + SECONDS * len(runs)
    while time.perf_counter() < end or len(next(iter(times.values()))) < least:
        for engine, run in runs.items():
            start = time.perf_counter()
            for _ in range(repeats[engine]):
                run()
            times[engine].append((time.perf_counter() - start) / repeats[engine])
    return times


def _repeats(run: Run) -> int:
    """So many calls that one measurement takes about 5 ms."""
    start = time.perf_counter()
    run()
    return max(1, int(5e-3 / max(time.perf_counter() - start, 1e-9)))


def spread(times: list[float]) -> float:
    """The distance of the quartiles over the median; 0 for a single time."""
    if len(times) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4)
    return (high - low) / middle


def _shown(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
