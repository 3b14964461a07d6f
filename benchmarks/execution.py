# SPDX-License-Identifier: Apache-2.0
"""Execution on the CPU: this package and the engines that are installed beside it, on the same arrays, in turns.

Each answer is compared with NumPy's in float64 first. The networks are measured in processes of their own as well:
what compiling takes, cold and warm, and memory. What each family of workloads is, `benchmarks/workloads` says.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.status import Status

from benchmarks.comparison import HEADER, Row, Tasks, compare
from benchmarks.engines import PACKAGES, installed, missing
from benchmarks.harness import OURS, end, options
from benchmarks.limits import measured_limits
from benchmarks.starting import cache_folders, read_rules, started
from benchmarks.workloads import every_task
from ngraph_rewrite.runtime.pool import usable_threads

STARTED = ("mlp", "mlp_8192", "cnn")
STARTERS = (OURS, "jax", "torch", "torch.compile")


def chosen_tasks(chosen: argparse.Namespace) -> Tasks:
    """The workloads whose names fit the regular expression.

    Raises:
        SystemExit: if there is none.
    """
    every = every_task(chosen.size)
    wanted = {name: make for name, make in every.items() if re.fullmatch(chosen.only or ".*", name)}
    if not wanted:
        raise SystemExit(f"no workload is called {chosen.only}: there are {', '.join(every)}")
    return wanted


def chosen_peers(chosen: argparse.Namespace) -> list[str] | None:
    """The peers asked for; None for all.

    Raises:
        SystemExit: for one that is unknown or not installed.
    """
    if chosen.peers is None:
        return None
    peers = [name for name in chosen.peers.split(",") if name not in ("", OURS)]
    for name in peers:
        if name.partition("-")[0] not in PACKAGES:
            raise SystemExit(f"the engine {name} is none of {', '.join(PACKAGES)}")
        if name.partition("-")[0] in missing():
            raise SystemExit(f"the engine {name} is not installed: pip install ngraph_rewrite[bench]")
    return peers


def machine() -> Iterator[str]:
    """The processor, and the versions of what is measured."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    yield f"{(names or [platform.processor()])[0]}, {usable_threads()} cores, {platform.system()} {platform.machine()}"
    packages = dict.fromkeys([PACKAGES[name] for name in installed()] + ["numba"])
    yield ", ".join([f"Python {sys.version.split()[0]}", *(f"{p} {importlib.metadata.version(p)}" for p in packages)])
    if missing():
        yield f"left out, for want of a package or of a C++ compiler: {', '.join(missing())}"


def rows_of(chosen: argparse.Namespace, caches: Path) -> Iterator[Row]:
    """A row for each workload and engine, ours first."""
    clock = time.process_time if chosen.processor_time else time.perf_counter
    wanted, peers, limits = chosen_tasks(chosen), chosen_peers(chosen), measured_limits()
    print(f"# {limits}")
    print(HEADER, flush=True)
    alone = caches / "rules"
    if not chosen.no_starts and any(name in STARTED for name in wanted):
        read_rules(alone)
    progress = Console(stderr=True)
    with Status("", console=progress) if progress.is_terminal else nullcontext() as status:
        for name, make in wanted.items():
            if status is not None:
                status.update(name)
            for row in compare(make(), peers, limits, chosen.seconds, clock):
                start = name in STARTED and row.engine in STARTERS and not row.wrong and not chosen.no_starts
                yield started(row, chosen.size, alone) if start and row.median_s else row


def standing(rows: Sequence[Row]) -> Iterator[str]:
    """Ours over the best peer of each workload, by medians and by shortest times; the worst for us come first."""
    found = []
    for name in dict.fromkeys(row.workload for row in rows):
        times = {row.engine: row for row in rows if row.workload == name and row.median_s is not None}
        peers = [row for row in times.values() if not row.engine.startswith(OURS)]
        if OURS in times and peers:
            ours, best = times[OURS], min(peers, key=lambda row: row.median_s or 0.0)
            least = (ours.least_s or 0.0) / min(row.least_s or 0.0 for row in peers)
            found.append(((ours.median_s or 0.0) / (best.median_s or 1.0), least, name, best.engine))
    for ratio, least, name, peer in sorted(found, reverse=True):
        yield f"{name}: {ratio:.2f} of the time of {peer} ({least:.2f} by the shortest times)"


def main() -> None:
    """Measure what the command line asks for; it fails if an answer is wrong."""
    parser = options(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=0.4, metavar="S", help="how long each engine is timed")
    parser.add_argument("--processor-time", action="store_true", help="of one thread, where others work too")
    parser.add_argument("--no-starts", action="store_true", help="start no processes for cold, warm and memory")
    parser.add_argument(
        "--caches", type=Path, metavar="FOLDER", help="keep what engines compile (default: compile anew)"
    )
    chosen, rows = parser.parse_args(), list[Row]()
    chosen_tasks(chosen), chosen_peers(chosen)
    for line in machine():
        print(f"# {line}")
    with tempfile.TemporaryDirectory() as fresh:
        caches = chosen.caches or Path(fresh)
        os.environ.update(cache_folders(caches))
        for row in rows_of(chosen, caches):
            print(row, flush=True)
            rows.append(row)
    end(rows, standing(rows), chosen.json)


if __name__ == "__main__":
    main()
