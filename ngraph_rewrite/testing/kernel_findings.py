# SPDX-License-Identifier: Apache-2.0
"""What checks of whole kernel files find out: each body tried, for as long as is asked, and told as findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ngraph_rewrite.codegen.opkernel_files import kernel_text, read_kernel
from ngraph_rewrite.codegen.opkernels import OpKernel
from ngraph_rewrite.errors import DeviceError
from ngraph_rewrite.testing.findings import FAILED, OPEN, PASSED, Finding
from ngraph_rewrite.testing.kernels import Body, Draws, check_bodies

# What the one check of a kernel is called in its findings.
CHECK = "kernel"


@dataclass(frozen=True)
class Tried:
    """Kernel files, and what came of each of their bodies: on how many instances it is right, or what is wrong."""

    kernels: Mapping[Path, OpKernel]
    answers: Mapping[Body, int | Exception]

    def wrong(self) -> dict[Path, str]:
        """What is wrong with a body of each wrong file."""
        found = dict[Path, str]()
        for body, answer in self.answers.items():
            if isinstance(answer, Exception) and not isinstance(answer, DeviceError):
                found.setdefault(Path(str(body.source)), str(answer))
        return found

    def untried(self) -> Iterator[str]:
        """Each body that nothing can run here."""
        for body, answer in self.answers.items():
            if isinstance(answer, DeviceError):
                yield f"{body.source}: the body for {body.target} is not checked: {answer}"

    def findings(self) -> Iterator[Finding]:
        """One for each body."""
        for body, answer in self.answers.items():
            yield _finding(self.kernels[Path(str(body.source))], body.target, answer)


def try_kernels(
    paths: Sequence[Path],
    draws: Draws,
    seconds: float | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Tried:
    """Try every body of kernel files.

    Args:
        seconds: For how long other instances are drawn; by default each body is tried once.
        jobs: How many processes; by default one for each core.
        progress: Told how many bodies are tried, and how many there are.
    """
    kernels = {path: read_kernel(kernel_text(path), str(path)) for path in paths}
    answers = dict[Body, int | Exception]()
    bodies = [Body(path, target) for path, kernel in kernels.items() for target in kernel.template.bodies]
    begun, turn, right = time.monotonic(), 0, bodies
    while right and (turn == 0 or (seconds is not None and time.monotonic() - begun < seconds)):
        now = replace(draws, seed=draws.seed + turn)
        for done, (body, answer) in enumerate(check_bodies(right, jobs, draws=now), 1):
            before = answers.get(body, 0)
            answers[body] = before + answer if isinstance(before, int) and isinstance(answer, int) else answer
            progress(done, len(right))
        right, turn = [body for body in bodies if isinstance(answers[body], int)], turn + 1
    return Tried(kernels, {body: answers[body] for body in bodies})


def _finding(kernel: OpKernel, target: str, answer: int | Exception) -> Finding:
    name, place = kernel.template.name, kernel.template.place
    if isinstance(answer, int):
        return Finding(name, place, CHECK, PASSED, f"the body for {target} is right on {answer} instances")
    said, _, shown = str(answer).removeprefix(f"{place}: ").partition("\n")
    status = OPEN if isinstance(answer, DeviceError) else FAILED
    says = f"the body for {target} is not checked: {said}" if status == OPEN else said
    return Finding(name, place, CHECK, status, says, shown)
