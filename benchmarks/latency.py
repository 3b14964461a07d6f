# SPDX-License-Identifier: Apache-2.0
"""Latency: what a call costs that computes next to nothing, and how long a process takes to its first result.

``call_N`` is x + x * y of N numbers, one kernel; engines are calls of this package, of `Computation.entry` with fresh
results (``entry``) and with ``out=`` (``entry_out``), and of peers. ``number_N`` is x * 0.1 whose number is an
argument, as Python has it, ``branch_N`` one of x * 2 and x * 3, by a bool, and ``dict_N`` has both in a dict.
``turns_N`` is a softmax along eight rows, of N numbers in one call, N + 1 in the next, and again after 40 lengths, all
of which have been met; ``new_N`` the same, of a length in each call that no call had before.
``start_warm`` is a process that finds all in the cache, ``start_cold`` one that finds an empty cache,
``start_kernels`` one that finds the rules there and no kernel, and ``start_prepared`` one after
``ngraph-rewrite cache warm``: the import, and the first result of a training step of an MLP. Peers keep nothing between
processes. ``--size`` is the N of calls.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.harness import OURS, Row, Run, Workload, measure, options, spread, write
from benchmarks.starting import asked

SIZES, PEERS = (100, 1000), ("torch", "jax")
STARTS, COLD = 9, 1  # processes of each kind
TURNS, NEW = 40, 1 << 14  # lengths after which the first one comes again
KINDS = ("start_warm", "start_cold", "start_kernels", "start_prepared")


def _calls(length: int) -> Workload:
    x, y = (np.random.default_rng(i).normal(size=length).astype(np.float32) for i in range(2))
    axis = ng.Axis("H", length)
    terms = [ng.placeholder([axis]) for _ in range(2)]
    computation = ng.make_transformer("cpu").computation(terms[0] + terms[0] * terms[1], *terms)
    entry, out = computation.entry(x, y), computation(x, y).copy()
    engines: dict[str, Callable[[], Run]] = {
        OURS: lambda: lambda: computation(x, y),
        "entry": lambda: lambda: entry(x, y),
        "entry_out": lambda: lambda: entry(x, y, out=out),
        "numpy": lambda: lambda: x + x * y,
    }
    if _is_there("torch"):
        a, b = map(importlib.import_module("torch").from_numpy, (x, y))
        engines["torch"] = lambda: lambda: a + a * b
    if _is_there("jax"):
        jax = importlib.import_module("jax")
        function, c, d = jax.jit(lambda x, y: x + x * y), jax.numpy.asarray(x), jax.numpy.asarray(y)
        engines["jax"] = lambda: lambda: function(c, d).block_until_ready()
    return Workload(f"call_{length}", engines)


def _number(length: int) -> Workload:
    x, y = ng.placeholder((length,)), ng.placeholder(())
    return _of_kind("number", length, (x * y, x, y), (0.1,), lambda library: lambda a, number: a * number)


def _branch(length: int) -> Workload:
    x, p = ng.placeholder((length,)), ng.placeholder((), dtype="bool")
    given = ng.cond(p, lambda x: x * 2, lambda x: x * 3, x)

    def alike(library: Any) -> Callable[..., Any]:
        if hasattr(library, "lax"):
            return lambda a, flag: library.lax.cond(flag, lambda a: a * 2, lambda a: a * 3, a)
        return lambda a, flag: a * 2 if flag else a * 3

    return _of_kind("branch", length, (given, x, p), (np.array(True),), alike)


def _dict(length: int) -> Workload:
    x = ng.placeholder((length,))
    both = {"twice": x * 2, "thrice": x * 3}
    return _of_kind("dict", length, (both, x), (), lambda library: lambda a: {"twice": a * 2, "thrice": a * 3})


def _of_kind(
    kind: str, length: int, terms: tuple[Any, ...], more: tuple[Any, ...], alike: Callable[[Any], Callable[..., Any]]
) -> Workload:
    """Calls with an array and more arguments; `alike` gives the same as a function of a library's arrays."""
    x = np.random.default_rng(0).normal(size=length).astype(np.float32)
    computation, by_numpy = ng.make_transformer("cpu").computation(*terms), alike(np)
    engines: dict[str, Callable[[], Run]] = {
        OURS: lambda: lambda: _one(computation(x, *more)),
        "numpy": lambda: lambda: _one(by_numpy(x, *more)),
    }
    if _is_there("torch"):
        torch = importlib.import_module("torch")
        a, by_torch = torch.from_numpy(x), alike(torch)
        engines["torch"] = lambda: lambda: _one(by_torch(a, *more))
    if _is_there("jax"):
        jax = importlib.import_module("jax")
        function, b = jax.jit(alike(jax)), jax.numpy.asarray(x)
        engines["jax"] = lambda: lambda: _one(function(b, *more)).block_until_ready()
    return Workload(f"{kind}_{length}", engines)


def _turns(length: int) -> Workload:
    return _of_lengths(f"turns_{length}", length, TURNS)


def _new(length: int) -> Workload:
    return _of_lengths(f"new_{length}", length, NEW)


def _of_lengths(name: str, first: int, count: int) -> Workload:
    """Calls with lengths that change from one to the next."""
    numbers = np.random.default_rng(0).normal(size=8 * (first + count)).astype(np.float32)
    x = ng.placeholder((8, None))
    computation = ng.make_transformer("cpu").computation(ng.numpy.softmax(x, axis=1), x)
    engines = {OURS: lambda: _in_turns(computation, numbers, first, count)}
    engines["numpy"] = lambda: _in_turns(_softmax, numbers, first, count)
    if _is_there("torch"):
        torch = importlib.import_module("torch")
        engines["torch"] = lambda: _in_turns(lambda a: a.softmax(1), torch.from_numpy(numbers), first, count)
    if _is_there("jax"):
        jax = importlib.import_module("jax")
        engines["jax"] = lambda: _in_turns(jax.jit(jax.nn.softmax), numbers, first, count)
    return Workload(name, engines)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _in_turns(function: Callable[[Any], Any], numbers: Any, first: int, count: int) -> Run:
    """Calls, each with a length more than the last one, until there are no more: then from the first one on.

    Where that happens, each length has been met before.
    """
    lengths = itertools.cycle(range(first, first + count))

    def run() -> Any:
        n = next(lengths)
        return function(numbers[: 8 * n].reshape(8, n))

    for _ in range(count if count == TURNS else 0):
        run()
    return run


def _one(result: Any) -> Any:
    return result["thrice"] if isinstance(result, dict) else result


def _is_there(engine: str) -> bool:
    return importlib.util.find_spec(engine) is not None


def _started(engine: str, folder: Path) -> dict[str, Any]:
    """What one process tells."""
    return asked(engine, "mlp", None, {"NGRAPH_REWRITE_CACHE": str(folder)})


def _prepared(kind: str, folder: Path) -> None:
    """Bring a folder into the state that a kind of start finds."""
    for path in folder.iterdir() if kind in ("start_cold", "start_prepared") else folder.glob("*.o"):
        if path.is_file() and kind != "start_warm":
            path.unlink()
    if kind == "start_prepared":
        command = [sys.executable, "-m", "ngraph_rewrite", "cache", "warm"]
        variables = {**os.environ, "NGRAPH_REWRITE_CACHE": str(folder)}
        subprocess.run(command, env=variables, capture_output=True, check=True)


def _starts(kind: str, peers: list[str] | None) -> Iterator[Row]:
    """Processes of all engines in turns; what they have to do is done once before, but for what is to be cold."""
    others = [e for e in PEERS if _is_there(e) and (peers is None or e in peers)] if kind == "start_warm" else []
    with tempfile.TemporaryDirectory() as name:
        folder, engines = Path(name), [OURS, *others]
        if kind != "start_cold":
            _started(OURS, folder)
        found: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
        for _ in range(STARTS if kind == "start_warm" else COLD):
            for engine in engines:
                _prepared(kind, folder)
                found[engine].append(_started(engine, folder))
    losses = [told["result"] for every in found.values() for told in every]
    if max(losses) - min(losses) > 1e-4 * abs(losses[0]):
        raise SystemExit(f"{kind}: engines do not give the same answer")
    times = {engine: [told["import"] + told["first"] for told in every] for engine, every in found.items()}
    ours = statistics.median(times[OURS])
    for engine, taken in times.items():
        median, note = statistics.median(taken), " ".join(found[engine][-1]["imported"])
        yield Row(kind, engine, median, spread(taken), median / ours, note=f"imported: {note}")


MADE = (_calls, _number, _branch, _dict, _turns, _new)


def run(chosen: argparse.Namespace) -> list[Row]:
    """Measure what is chosen, print the rows, and write them if asked to."""
    sizes = (chosen.size,) if chosen.size else SIZES
    rows = [] if chosen.only in KINDS else measure([make(n) for make in MADE for n in sizes], chosen)
    for kind in KINDS:
        if chosen.only in (None, kind):
            started = list(_starts(kind, chosen.peers.split(",") if chosen.peers is not None else None))
            print(*started, sep="\n", flush=True)
            rows = [*rows, *started]
    write(rows, chosen.json)
    return rows


if __name__ == "__main__":
    run(options(__doc__ or "").parse_args())
