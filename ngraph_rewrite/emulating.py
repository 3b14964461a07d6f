# SPDX-License-Identifier: Apache-2.0
"""The command ``emulate``: every kernel for GPUs run without one, what is wrong with it, and what it costs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.checking import progress
from ngraph_rewrite.cuda_planning import asked, call, check_names, planned, programs
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.ptx import Rows, check_compiler
from ngraph_rewrite.runtime.cuda.emulated import Blocks, EmulatedDevice, Watcher
from ngraph_rewrite.runtime.ptx.counting import Counts
from ngraph_rewrite.targets.cuda import CudaExecutable
from ngraph_rewrite.testing.workers import Lost, Workers
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.lengths import known

HEAD = ("kernel", "of", "blocks", "threads", "instructions", "lanes", "sectors", "banks")
_SMALL = 6  # integers are below it, as they may be places
PATIENCE = 900.0  # seconds for a program


class Launch(NamedTuple):
    """A launch that was emulated."""

    kernel: str
    blocks: Blocks
    threads: int
    counts: Counts


def main(options: Namespace) -> tuple[Rows, list[str], str]:
    """Run the kernels.

    Args:
        options: `budget`, `jobs` and `kernels` of the command line.

    Returns:
        The rows of a table, what is wrong, and the verdict.

    Raises:
        DeviceError: if a package or a library that compiling needs is not there.
        ArgumentError: for a kernel that there is not.
    """
    check_compiler()
    rows, wrong, launches = dict[str, tuple[str, ...]](), list[str](), 0
    questions = [(program, options.budget) for program in _chosen(Cache(), options.kernels)]
    answers = dict[str, tuple[list[Launch], str]]()
    with progress("programs") as advance, Workers(launched, options.jobs, PATIENCE) as workers:
        for question, answer in workers.ask(questions):
            answers[question[0]] = ([], answer.why) if isinstance(answer, Lost) else answer
            advance(len(answers), len(questions))
    for program, _ in questions:
        found, error = answers[program]
        launches += len(found)
        for one in found:
            rows.setdefault(one.kernel, _row(one, program))
        wrong += [f"{program}: {error}"] if error else []
    verdict = f"{len(rows)} kernels ran in {launches} launches of {len(questions)} programs"
    return [*rows.values()], wrong, f"{verdict}; failed: {len(wrong)}" if wrong else verdict


def _chosen(cache: Cache, names: Sequence[str]) -> list[str]:
    """The programs that have some kernels, or all."""
    programs = list(planned(cache))
    check_names([source for program in programs for source in program.sources], names)
    return [program.program for program in programs if not names or asked(program.sources, names)]


def launched(question: tuple[str, int]) -> tuple[list[Launch], str]:
    """Run a program on an emulated GPU, for about so many instructions of warps in a launch.

    Returns:
        Its launches, as far as they went, and what was wrong.
    """
    (program, budget), found = question, list[Launch]()
    built = programs()[program]()
    device = EmulatedDevice(Watcher(budget, lambda *told: found.append(Launch(*told))))
    values = [drawn(x, number) for number, x in enumerate(built[1])]
    try:
        call(lambda given: CudaExecutable(given, device), built, values, Cache())
    except NGraphRewriteError as error:
        return found, str(error)
    return found, ""


def drawn(x: ng.Op, seed: int) -> NDArray[np.generic]:
    """Numbers for an argument: small ones if they are whole.

    >>> drawn(ng.placeholder((3,), "int64"), 0).tolist()
    [5, 3, 3]
    """
    rng, shape = np.random.default_rng(seed), [known(n) for n in x.shape]
    if is_float(x.dtype):
        return rng.standard_normal(shape).astype(x.dtype)
    return rng.integers(0, 2 if x.dtype == bool else _SMALL, shape).astype(x.dtype)


def _row(launch: Launch, program: str) -> tuple[str, ...]:
    shown = launch.counts.shown()
    blocks = launch.blocks if isinstance(launch.blocks, int) else " x ".join(map(str, launch.blocks))
    parts = [f"{shown[name]:.2f}" for name in HEAD[5:]]
    return launch.kernel, program, str(blocks), str(launch.threads), f"{shown['instructions']:.0f}", *parts
