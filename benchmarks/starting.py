# SPDX-License-Identifier: Apache-2.0
"""How long an engine takes from nothing to a first result, cold and warm, and how much memory it takes.

Each time a process of its own is asked, which runs this module: ``python -m benchmarks.starting '{"task": "mlp",
"engine": "torch"}'``. The first finds empty caches, the second what the first kept. That rules are read once is not
counted: the caches of ours begin with them.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.comparison import Row
from benchmarks.harness import OURS
from benchmarks.memory import peak

ROOT = Path(__file__).parent.parent
CALLS = 3


def cache_folders(folder: Path) -> dict[str, str]:
    """The environment in which all engines keep what they compile in one folder."""
    kept = {
        "NGRAPH_REWRITE_CACHE": "ours",
        "TORCHINDUCTOR_CACHE_DIR": "torch",
        "TRITON_CACHE_DIR": "triton",
        "JAX_COMPILATION_CACHE_DIR": "jax",
    }
    always = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0"}
    pytensor = {"PYTENSOR_FLAGS": f"base_compiledir={folder / 'pytensor'}"}
    return {**{name: str(folder / part) for name, part in kept.items()}, **always, **pytensor}


def started(row: Row, size: int | None, rules: Path) -> Row:
    """A row with what two processes tell; `rules` is a cache of ours that holds nothing but rules."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if rules.exists():
            shutil.copytree(rules, folder / "ours")
        asked = {"task": row.workload, "engine": row.engine, "size": size}
        cold, warm = (_asked(asked, folder) for _ in range(2))
    for answer in (cold, warm):
        if isinstance(answer, str):
            return replace(row, note="; ".join(filter(None, [row.note, f"alone: {answer}"])))
    assert not isinstance(cold, str) and not isinstance(warm, str)
    return replace(
        row,
        cold_s=cold["first"],
        warm_s=warm["import"] + warm["first"],
        peak_mb=warm["bytes"] / 1e6,
        note="; ".join(filter(None, [row.note, f"import {warm['import']:.2f} s"])),
    )


def read_rules(folder: Path) -> None:
    """Fill a cache of ours with the rules of the library, by a computation whose kernel nothing else needs."""
    code = "import ngraph_rewrite as ng; ng.make_transformer('cpu').computation(ng.constant(1.0) + 1)()"
    environment = {**os.environ, "NGRAPH_REWRITE_CACHE": str(folder)}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)


def _asked(asked: Mapping[str, Any], folder: Path) -> dict[str, float] | str:
    """The answer of a process, or why there is none."""
    command = [sys.executable, "-m", "benchmarks.starting", json.dumps(asked)]
    environment = {**os.environ, **cache_folders(folder)}
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment, text=True)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    answer: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def measured(asked: Mapping[str, Any]) -> dict[str, float]:
    """Seconds of the import and to the first result, and bytes; what other engines need is imported after the first."""
    start = time.perf_counter()
    importlib.import_module(OURS if asked["engine"] == OURS else asked["engine"].partition(".")[0])
    imported = time.perf_counter() - start
    make = importlib.import_module("benchmarks.workloads").every_task(asked["size"])[asked["task"]]().engines
    first: list[float] = []

    def work() -> Any:
        begin = time.perf_counter()
        made = make[asked["engine"]]()
        made.run()
        first.append(time.perf_counter() - begin)
        for _ in range(CALLS - 1):
            made.run()
        return made

    grown, _ = peak(work)
    return {"import": imported, "first": first[0], "bytes": grown}


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
