# SPDX-License-Identifier: Apache-2.0
"""How the time to a first result grows with the depth of a network: training steps of MLPs with 2 to 32 hidden layers.

The layers of ``equal_N`` have one width, those of ``unequal_N`` have N. ``cold_s`` is the time to the first result in a
process that finds no kernel (the rules of this package were read), ``warm_s`` that of the next one, with the import.
The lines at the end give the growth per doubling of depth, over the 2 of linear growth. Times are of one process each.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.comparison import HEADER, Row
from benchmarks.engines import PACKAGES, installed
from benchmarks.harness import OURS, options, write
from benchmarks.starting import read_rules, started
from benchmarks.workloads.depths import tasks

PEERS = ("jax", "torch.compile")


def rows_of(chosen: argparse.Namespace, rules: Path) -> Iterator[Row]:
    """A row for each network and engine, ours first.

    Raises:
        SystemExit: if no workload has a name that fits, or a peer is unknown.
    """
    names = [name for name in tasks(chosen.size) if re.fullmatch(chosen.only or ".*", name)]
    if not names:
        raise SystemExit(f"no workload is called {chosen.only}: there are {', '.join(tasks(chosen.size))}")
    wanted = ["jax"] if chosen.peers is None else [p for p in chosen.peers.split(",") if p not in ("", OURS)]
    if unknown := [p for p in wanted if p not in PEERS]:
        raise SystemExit(f"the engine {unknown[0]} is none of {', '.join(PEERS)}")
    there = [engine for engine in wanted if engine in installed() and engine in PACKAGES]
    for name in names:
        for engine in (OURS, *there):
            yield started(Row(name, engine), chosen.size, rules)


def growth(rows: Sequence[Row]) -> Iterator[str]:
    """How much longer a network takes that is twice as deep, over twice; of each engine, cold and warm.

    >>> rows = [Row("equal_2", OURS, cold_s=1.0, warm_s=0.2), Row("equal_4", OURS, cold_s=2.0, warm_s=0.3)]
    >>> print(*growth(rows))
    equal, ngraph_rewrite: cold 1.00, warm 0.75
    """
    for kind, engine in dict.fromkeys((row.workload.rpartition("_")[0], row.engine) for row in rows):
        own = [row for row in rows if (row.workload.rpartition("_")[0], row.engine) == (kind, engine)]
        cold, warm = ([getattr(row, name) for row in own] for name in ("cold_s", "warm_s"))
        if len(own) > 1 and None not in (*cold, *warm):
            yield f"{kind}, {engine}: cold {_ratios(cold)}, warm {_ratios(warm)}"


def _ratios(times: Sequence[float]) -> str:
    return " ".join(f"{after / before / 2:.2f}" for before, after in zip(times, times[1:], strict=False))


def run(chosen: argparse.Namespace) -> list[Row]:
    """Measure what is chosen, print the rows, and write them if asked to."""
    rows: list[Row] = []
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as name:
        rules = Path(name) / "rules"
        read_rules(rules)
        for row in rows_of(chosen, rules):
            print(row, flush=True)
            rows.append(row)
    for line in growth(rows):
        print(f"# {line}")
    write(rows, chosen.json)
    return rows


if __name__ == "__main__":
    run(options(__doc__ or "").parse_args())
