# SPDX-License-Identifier: Apache-2.0
"""Threads run: they go on together where they are farthest behind, and wait for each other at barriers.

Of all places in the program where threads are, those at the first one go on, by one basic block: so threads that went
different ways meet again where the ways do. That is one of the orders a GPU may take; what another order could change
is found by `watching`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.operands import Numbers, Step
from ngraph_rewrite.runtime.ptx.team import Team
from ngraph_rewrite.runtime.ptx.text import Instruction
from ngraph_rewrite.runtime.ptx.values import ALL, Frame, Some

_WAITING, _DONE = 1 << 20, 1 << 30  # added to the next block of threads at a barrier; of those that have ended


class Code(NamedTuple):
    """A basic block.

    Attributes:
        steps: What it does, each with its instruction.
        end: The instruction that says where it goes on, if not with the next.
        target: Where that may go.
        allowed: Which threads do so, if not all.
        agreed: What they find out at the barrier that it is.
    """

    steps: tuple[tuple[Step, Instruction], ...]
    end: Instruction | None
    target: int
    allowed: Callable[[Frame, Some], NDArray[Any]] | None
    agreed: Step | None


def placed(error: KernelError, instruction: Instruction) -> KernelError:
    """An error of an instruction, with its line."""
    return KernelError(f"{error.what} ({instruction})", where=f"line {instruction.line} of its PTX", do=error.do)


def run(codes: Sequence[Code], team: Team, frame: Frame, some: Some) -> None:
    """Run a function to its end for some threads.

    Raises:
        KernelError: if an instruction, or a barrier, cannot be done.
    """
    at = np.full(len(team), _DONE)
    at[some] = 0
    while (block := int(at.min())) < _DONE:
        if block >= _WAITING:
            _pass_barriers(at, team, frame, codes)
        elif block == len(codes):
            at[at == block] = _DONE
        else:
            here = np.flatnonzero(at == block)
            chosen: Some = ALL if len(here) == len(at) else here
            _do(codes[block], team, frame, chosen)
            at[chosen] = _next(codes[block], block, frame, chosen)


def _do(code: Code, team: Team, frame: Frame, some: Some) -> None:
    """What a basic block does."""
    if team.counts is not None:
        team.counts.issue(len(code.steps) + (code.end is not None), team.numbers[some] - 1, team.each)
    for do, instruction in code.steps:
        try:
            do(team, frame, some)
        except KernelError as error:
            raise placed(error, instruction) from None


def _next(code: Code, block: int, frame: Frame, some: Some) -> Any:
    """Where threads go on."""
    if code.end is None:
        return block + 1
    kind = code.end.opcode[0]
    to = code.target if kind == "bra" else _DONE if kind in ("ret", "exit") else _WAITING + block + 1
    return to if code.allowed is None else np.where(code.allowed(frame, some), to, block + 1)


def _pass_barriers(at: Numbers, team: Team, frame: Frame, codes: Sequence[Code]) -> None:
    """Nobody can go on but past a barrier: where all of a block are at one, they do.

    Raises:
        KernelError: if some of a block are at another one, or have ended.
    """
    rows = at.reshape(-1, team.each)
    waiting = ((rows >= _WAITING) & (rows < _DONE)).any(axis=1)
    apart = waiting & (rows != rows[:, :1]).any(axis=1)
    if apart.any():
        raise _left_alone(rows[int(np.flatnonzero(apart)[0])], codes)
    for place in np.unique(rows[waiting, 0]):
        agree = codes[int(place) - _WAITING - 1].agreed
        if agree is not None:
            agree(team, frame, np.flatnonzero(at == place))
    rows[waiting] -= _WAITING
    team.times[waiting] += 1


def _left_alone(row: Numbers, codes: Sequence[Code]) -> KernelError:
    """The error of a block of which some threads wait where others do not come."""
    lane = int(np.flatnonzero((row >= _WAITING) & (row < _DONE))[0])
    barrier = codes[int(row[lane]) - _WAITING - 1].end
    assert barrier is not None
    error = KernelError(
        f"thread {lane} of a block waits at a barrier, and others of it have ended or wait at another one",
        do="let all threads of a block come to each barrier",
    )
    return placed(error, barrier)
