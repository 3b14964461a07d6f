# SPDX-License-Identifier: Apache-2.0
"""Rewriting: the same graphs and equations for this package and for the engines that are installed beside it.

Each engine and workload has a process of its own. ``dag_N`` and ``tree_N`` are graphs of N nodes and 70 rules, all of
which fire; ``rules_R`` is a graph of 10,000 nodes where the same 10 rules fire among R, ``more_rules_R`` one where the
same 70 do; ``build_N`` is the construction of ``dag_N``. ``lstm_40`` and ``resnet_50`` are real graphs with gradients,
lowered and planned; ``conversion_N`` is what arrays instead of terms would cost. An engine with ``-nogc`` behind its
name runs without Python's garbage collector. Engines are measured in turns: times of one row are of the same minutes.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.status import Status

from benchmarks.harness import OURS, Row, options, spread, write
from benchmarks.peers import ENGINES, installed

SIZES = (1_000, 10_000, 100_000, 1_000_000)
RULES, FEW, MANY = (10, 70, 300, 1_000), 10, 70
GRAPH = 10_000
# Engines are measured in turns, so often; but who takes longer than so many seconds is asked once.
TURNS, PROMPT = 3, 30.0
# Larger graphs have constants that differ by nothing but a shape, which terms of tinygrad do not have.
EXACT = 100_000
OURS_ALONE = ("lstm_40", "lstm_65", "resnet_50", "conversion_10000", "conversion_100000")


@dataclass(frozen=True)
class Task:
    """A workload: what a worker is asked, and the names of the rows that come of it."""

    name: str
    kind: str
    size: int
    rules: int = MANY
    firing: int = MANY

    @property
    def builds(self) -> str | None:
        """The row for the construction of the graph, if there is one."""
        return f"build_{self.size}" if self.name.startswith("dag") else None

    def question(self, engine: str) -> str:
        """What the worker reads."""
        asked = {"engine": engine, "kind": self.kind, "size": self.size, "rules": self.rules, "firing": self.firing}
        return json.dumps(asked)


def tasks(chosen: argparse.Namespace) -> list[Task]:
    """The workloads that the command line asks for.

    Raises:
        SystemExit: if there is none of that name.
    """
    sizes = (chosen.size,) if chosen.size else SIZES
    counts = (chosen.rules,) if chosen.rules else RULES
    every = [Task(f"{k}_{n}", k, n, chosen.rules or MANY) for k in ("dag", "tree") for n in sizes]
    graph = chosen.size or GRAPH
    every += [Task(f"rules_{r}", "dag", graph, r, FEW) for r in counts]
    every += [Task(f"more_rules_{r}", "dag", graph, r, MANY) for r in counts if r >= MANY]
    every += [Task(name, name.split("_")[0], int(name.split("_")[1]), 0, 0) for name in OURS_ALONE]
    wanted = [t for t in every if chosen.only in (None, t.name, t.builds)]
    if not wanted:
        raise SystemExit(f"no workload is called {chosen.only}: there are {', '.join(t.name for t in every)}")
    return wanted


def engines(chosen: argparse.Namespace) -> list[str]:
    """Ours, and the peers asked for or installed.

    Raises:
        SystemExit: for a peer that is unknown or not installed.
    """
    have = installed()
    if chosen.peers is None:
        return [*have, *(f"{name}-nogc" for name in have if name == "tinygrad")]
    asked = [name for name in chosen.peers.split(",") if name not in ("", OURS)]
    for name in asked:
        if name.partition("-")[0] not in have:
            known = (
                "not installed: pip install ngraph_rewrite[bench]" if name in ENGINES else f"none of {list(ENGINES)}"
            )
            raise SystemExit(f"the engine {name} is {known}")
    return [OURS, *asked]


def rows_of(task: Task, chosen: argparse.Namespace, slow: set[tuple[str, str]]) -> Iterator[Row]:
    """A row for each engine, ours first; `slow` gathers which engines ran out of time on a kind of graph.

    Raises:
        SystemExit: if an engine that finished has another normal form.
    """
    alone = task.name in OURS_ALONE
    answers, prompt = dict[str, dict[str, Any] | str](), list[str]()
    for engine in [OURS] if alone else engines(chosen):
        if engine != OURS and (engine, task.kind) in slow and task.size > GRAPH:
            answers[engine] = "not started: a smaller one ran out of time"
            continue
        start = time.perf_counter()
        answers[engine] = _asked(task, engine, chosen.timeout)
        if isinstance(answers[engine], str):
            slow.add((engine, task.kind))
        elif not alone and time.perf_counter() - start < PROMPT:
            prompt.append(engine)
    if len(answers) > 1:
        _take_turns(task, answers, prompt, chosen.timeout)
    ours = answers[OURS] if OURS in answers else ""
    for engine, answer in answers.items():
        if isinstance(answer, str):
            yield _without(task, engine, answer)
        elif alone:
            yield from _own(task, answer)
        else:
            if isinstance(ours, dict):
                _compare(task, engine, ours, answer)
            yield from _timed(task, engine, ours if isinstance(ours, dict) else {}, answer, chosen.only)


def _take_turns(task: Task, answers: dict[str, dict[str, Any] | str], prompt: list[str], timeout: float) -> None:
    """Ask who answered soon again, one after the other: a machine is not equally fast all the time."""
    for _ in range(TURNS - 1):
        for engine in prompt:
            first, again = answers[engine], _asked(task, engine, timeout)
            if isinstance(first, dict) and isinstance(again, dict):
                first["run"] += again["run"]
                first["build"] += again["build"]


def _asked(task: Task, engine: str, timeout: float) -> dict[str, Any] | str:
    """The answer of a worker, or why there is none."""
    command = [sys.executable, "-m", "benchmarks.worker", task.question(engine)]
    root = Path(__file__).parent.parent
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, cwd=root, text=True)
    except subprocess.TimeoutExpired:
        return f"timed out at {timeout:g} s"
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return f"failed: {last[0]}"
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def _deep() -> None:
    """A large stack for workers: an engine written in C++ that recurses should not fail for want of one."""
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_STACK, (most, most))


def _compare(task: Task, engine: str, ours: dict[str, Any], other: dict[str, Any]) -> None:
    if other["checksum"] is None:
        return
    same = other["checksum"] == ours["checksum"]
    part = 0.01 if not other["exact"] else 1e-4 if task.size > EXACT else 0
    if not same and (not part or abs(other["count"] - ours["count"]) > part * ours["count"]):
        raise SystemExit(
            f"{task.name}: {engine} has a normal form of {other['count']} terms, {OURS} one of {ours['count']}"
        )


def _timed(task: Task, engine: str, ours: dict[str, Any], answer: dict[str, Any], only: str | None) -> Iterator[Row]:
    note = f"set-up {answer['setup']:.2f} s"
    if ours and answer["checksum"] not in (None, ours["checksum"]):
        note += f"; {answer['count']} terms, ours {ours['count']}"
    for name, what in ((task.name, "run"), (task.builds, "build")):
        if name is not None and only in (None, name):
            seconds = statistics.median(answer[what])
            ratio = seconds / statistics.median(ours[what]) if ours else None
            each = seconds / answer["nodes"] * 1e6
            # of a small graph, or after many rules were read, what the process has left over says nothing
            counts = what == "run" and "rules" not in task.name and task.size >= GRAPH
            memory = answer["memory"] / 1e6 if counts else None
            yield Row(name, engine, seconds, spread(answer[what]), ratio, each, memory, note if what == "run" else "")


def _own(task: Task, answer: dict[str, Any]) -> Iterator[Row]:
    """Rows of what only we do: times by the ends of their names, relative to the first."""
    first = statistics.median(next(iter(answer["times"].values())))
    for end, times in answer["times"].items():
        seconds = statistics.median(times)
        yield Row(
            task.name + end,
            OURS,
            seconds,
            spread(times),
            seconds / first,
            seconds / answer["nodes"] * 1e6,
            None,
            answer["note"],
        )


def _without(task: Task, engine: str, why: str) -> Row:
    return Row(task.name, engine, None, None, None, note=why)


def growth(rows: list[Row]) -> Iterator[str]:
    """How time grows: for ten times the nodes, and from few rules to many."""
    times = {(r.workload, r.engine): r.median_s for r in rows if r.median_s is not None}
    pairs = [(f"{k}_{a}", f"{k}_{b}") for k in ("dag", "tree") for a, b in zip(SIZES, SIZES[1:], strict=False)]
    pairs += [("rules_10", "rules_1000"), ("more_rules_70", "more_rules_1000")]
    for engine in dict.fromkeys(r.engine for r in rows):
        for small, large in pairs:
            if (small, engine) in times and (large, engine) in times:
                yield f"{engine}: {large} takes {times[large, engine] / times[small, engine]:.2f} times {small}"


def versions() -> str:
    """Which version of each engine was measured, by which Python."""
    packages = [p for p in dict.fromkeys(p for _, p in ENGINES.values()) if p in {ENGINES[n][1] for n in installed()}]
    return ", ".join([f"Python {sys.version.split()[0]}", *(f"{p} {importlib.metadata.version(p)}" for p in packages)])


def main() -> None:
    """Measure what the command line asks for."""
    parser = options(__doc__ or "")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="seconds for an engine on a workload")
    chosen = parser.parse_args()
    wanted, rows, slow = tasks(chosen), list[Row](), set[tuple[str, str]]()
    engines(chosen)
    _deep()
    progress = Console(stderr=True)
    print(f"# {versions()}")
    print("workload, engine, median_s, spread, ratio, us_per_node, peak_mb, note", flush=True)
    with Status("", console=progress) if progress.is_terminal else nullcontext() as status:
        for task in wanted:
            if status is not None:
                status.update(task.name)
            for row in rows_of(task, chosen, slow):
                print(row, flush=True)
                rows.append(row)
    for line in growth(rows):
        print(f"# {line}")
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
