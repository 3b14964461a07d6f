# SPDX-License-Identifier: Apache-2.0
"""How long an engine takes from nothing to a first result, cold and warm, and how much memory it takes.

Each time a process of its own is asked, which runs this module: ``python -m benchmarks.starting torch mlp``. It prints
the seconds of the import and those to the first result, the bytes, the first number of the result, and which packages
were imported. Without a workload that is a training step of an MLP.
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
WATCHED = ("numba", "llvmlite", "scipy", "sympy", "matchpy", "torch", "jax")


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
    """A row with what two processes tell: one finds empty caches, the other what the first kept.

    Args:
        rules: A cache of ours that holds nothing but rules: that they are read once is not counted.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if rules.exists():
            shutil.copytree(rules, folder / "ours")
        cold, warm = (_asked(row, size, folder) for _ in range(2))
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


def _asked(row: Row, size: int | None, folder: Path) -> dict[str, Any] | str:
    """The answer of a process, or why there is none."""
    try:
        return asked(row.engine, row.workload, size, cache_folders(folder))
    except subprocess.CalledProcessError as error:
        return (str(error.stderr).strip().splitlines() or [f"exit status {error.returncode}"])[-1]


def asked(engine: str, task: str, size: int | None, variables: Mapping[str, str]) -> dict[str, Any]:
    """What a process tells that has these environment variables.

    Raises:
        CalledProcessError: if it fails.
    """
    command = [sys.executable, "-m", "benchmarks.starting", engine, task, *([str(size)] if size else [])]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        command, capture_output=True, check=True, cwd=ROOT, env={**environment, **variables}, text=True
    )
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def measured(engine: str, task: str, size: int | None = None) -> dict[str, Any]:
    """What this process takes; what other engines need is imported after the first import, and not counted."""
    start = time.perf_counter()
    importlib.import_module(OURS if engine == OURS else engine.partition(".")[0])
    imported = time.perf_counter() - start
    workloads = importlib.import_module("benchmarks.workloads")
    made = {**workloads.every_task(size), **workloads.depths.tasks(size)}[task]().engines

    def work() -> tuple[Any, Any, float]:
        begin = time.perf_counter()
        found = made[engine]()
        result = found.run()
        first = time.perf_counter() - begin
        for _ in range(CALLS - 1):
            result = found.run()
        return found, result, first

    grown, (found, result, first) = peak(work)  # without what it takes to show a result
    shown = float(found.show(result)[0].flat[0])
    names = [name for name in WATCHED if name in sys.modules]
    return {"import": imported, "first": first, "bytes": grown, "result": shown, "imported": names}


if __name__ == "__main__":
    words = sys.argv[1:]
    print(json.dumps(measured(words[0], *(words[1:2] or ["mlp"]), *map(int, words[2:]))))
