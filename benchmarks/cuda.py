# SPDX-License-Identifier: Apache-2.0
"""Execution on a GPU: this package, torch, torch.compile and CuPy, on the same arrays in its memory, in turns.

Each answer is compared with torch's in float64 first. Times are between events on the default stream; `fraction` is
the part of the bandwidth of a copy of 8 GB, or of the rate of a large product of that dtype, that was reached. Products
of float32 are in full precision everywhere. Where there is no GPU there are no figures.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.cuda_attention import attention_problems
from benchmarks.cuda_engines import Problems
from benchmarks.cuda_networks import network_problems
from benchmarks.cuda_timing import HEADER, Limits, Row, compare, released
from benchmarks.cuda_workloads import simple_problems
from benchmarks.engines import module
from benchmarks.harness import OURS, end, options
from ngraph_rewrite.errors import DeviceError
from ngraph_rewrite.runtime.cuda.device import SIMULATOR, find_device

PEERS = ("torch", "compile", "cupy")
PACKAGES = ("torch", "cupy", "numba-cuda", "numpy")
MINUTES = 6.0


def every_problem(size: int | None = None, device: str = "cuda") -> Problems:
    """All workloads by name."""
    return {**network_problems(size, device), **attention_problems(size, device), **simple_problems(size, device)}


def why_not() -> str | None:
    """What is missing for figures."""
    if os.environ.get(SIMULATOR, "0") not in ("", "0"):
        return "the GPU is simulated"
    try:
        find_device()
    except DeviceError as error:
        return error.what
    if importlib.util.find_spec("torch") is None or not module("torch").cuda.is_available():
        return "torch, which computes the answers, cannot use the GPU"
    return None


def machine() -> Iterator[str]:
    """The GPU, and the versions of what is measured."""
    torch, device = module("torch"), find_device()
    free, total = device.memory()
    yield f"{device.name}, {total / 2**30:.0f} GiB, {free / 2**30:.0f} of them free, CUDA {torch.version.cuda}"
    found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    names = [name for name in found if name.partition("-cuda")[0] in PACKAGES or name in PACKAGES]
    yield ", ".join([f"Python {sys.version.split()[0]}", *sorted(f"{name} {found[name]}" for name in names)])


def chosen_problems(chosen: argparse.Namespace) -> Problems:
    """The workloads whose names fit the regular expression.

    Raises:
        SystemExit: if there is none, or a peer is unknown.
    """
    unknown = set(chosen.peers.split(",")) - {*PEERS, "", OURS} if chosen.peers is not None else set()
    if unknown:
        raise SystemExit(f"no engine is called {', '.join(sorted(unknown))}: there are {', '.join(PEERS)}")
    every = every_problem(chosen.size)
    wanted = {name: make for name, make in every.items() if re.fullmatch(chosen.only or ".*", name)}
    if not wanted:
        raise SystemExit(f"no workload is called {chosen.only}: there are {', '.join(every)}")
    return wanted


def rows_of(chosen: argparse.Namespace) -> Iterator[Row]:
    """A row for each workload and engine, ours first; workloads that no time is left for are told."""
    wanted, limits, end = chosen_problems(chosen), Limits(), time.monotonic() + 60 * chosen.minutes
    peers = None if chosen.peers is None else chosen.peers.split(",")
    print(f"# {limits}")
    print(HEADER, flush=True)
    late = list(wanted)
    for name, make in wanted.items():
        if time.monotonic() > end:
            print(f"# no time was left for {', '.join(late)}")
            return
        late.remove(name)
        try:
            yield from compare(make(), peers, limits, chosen.seconds)
        except RuntimeError as error:  # for want of memory, most likely
            yield Row(name, OURS, note=f"failed: {error}".splitlines()[0], wrong=True)
        released()


def standing(rows: Sequence[Row]) -> Iterator[str]:
    """Ours over the best peer of each workload; the worst for us come first."""
    found = []
    for name in dict.fromkeys(row.workload for row in rows):
        times = {row.engine: row.median_s for row in rows if row.workload == name and row.median_s is not None}
        times = {engine: taken for engine, taken in times.items() if engine == OURS or not engine.startswith(OURS)}
        ours = times.pop(OURS, None)
        if ours is not None and times:
            peer = min(times, key=lambda engine: times[engine])
            found.append((ours / times[peer], name, peer))
    for ratio, name, peer in sorted(found, reverse=True):
        yield f"{name}: {ratio:.2f} of the time of {peer}"


def main() -> None:
    """Measure what the command line asks for; it fails if an answer is wrong."""
    parser = options(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=0.1, metavar="S", help="how long each engine is timed")
    parser.add_argument(
        "--minutes", type=float, default=MINUTES, metavar="M", help="begin no workload after so long (%(default)s)"
    )
    chosen = parser.parse_args()
    chosen_problems(chosen)
    missing = why_not()
    if missing is not None:
        print(f"no figures: {missing}")
        return
    module("torch").backends.cuda.matmul.allow_tf32 = False
    module("torch").backends.cudnn.allow_tf32 = False
    for line in machine():
        print(f"# {line}")
    rows = list[Row]()
    for row in rows_of(chosen):
        print(row, flush=True)
        rows.append(row)
    end(rows, standing(rows), chosen.json)


if __name__ == "__main__":
    main()
