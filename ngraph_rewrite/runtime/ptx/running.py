# SPDX-License-Identifier: Apache-2.0
"""Threads run: they go on together where they are farthest behind, and wait for each other at barriers.

Of all places where threads are, those at the first one go on, by one basic block: so threads that went different ways
meet again where the ways do (`meeting`). That is one of the orders a GPU may take; what another order could change is
found by `watching`.
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

_WAITING, DONE = 1 << 20, 1 << 30  # added to the place of threads that wait at a barrier; that of those that have ended


class Code(NamedTuple):
    """A basic block.

    Attributes:
        steps: What it does, each with its instruction.
        end: The instruction that says where it goes on, if not with the next.
        target: The place where that may go.
        onward: The place that else comes next.
        own: The first place that is this block's.
        allowed: Which threads do so, if not all.
        agreed: What they find out at the barrier that it is.
    """

    steps: tuple[tuple[Step, Instruction], ...]
    end: Instruction | None
    target: int
    onward: int
    own: int
    allowed: Callable[[Frame, Some], NDArray[Any]] | None
    agreed: Step | None


END = Code((), None, DONE, DONE, DONE, None, None)  # of a function, past its last block


def placed(error: KernelError, instruction: Instruction) -> KernelError:
    """An error of an instruction, with its line."""
    return KernelError(f"{error.what} ({instruction})", where=f"line {instruction.line} of its PTX", do=error.do)


def run(codes: Sequence[Code], team: Team, frame: Frame, some: Some) -> None:
    """Run a function to its end for some threads.

    Args:
        codes: One for each place, the first of which is where it begins.

    Raises:
        KernelError: if an instruction, or a barrier, cannot be done.
    """
    at = np.full(len(team), DONE)
    at[some] = 0
    while (place := int(at.min())) < DONE:
        if place >= _WAITING:
            _pass_barriers(at, team, frame, codes)
        else:
            here = np.flatnonzero(at == place)
            chosen: Some = ALL if len(here) == len(at) else here
            _do(codes[place], team, frame, chosen)
            at[chosen] = _next(codes[place], frame, chosen)


def _do(code: Code, team: Team, frame: Frame, some: Some) -> None:
    """What a basic block does."""
    if team.counts is not None:
        team.counts.issue(len(code.steps) + (code.end is not None), team.numbers[some] - 1, team.each)
    for do, instruction in code.steps:
        try:
            do(team, frame, some)
        except KernelError as error:
            raise placed(error, instruction) from None


def _next(code: Code, frame: Frame, some: Some) -> Any:
    """Where threads go on."""
    if code.end is None:
        return code.onward
    kind = code.end.opcode[0]
    to = code.target if kind == "bra" else DONE if kind in ("ret", "exit") else _WAITING + code.own
    return to if code.allowed is None else np.where(code.allowed(frame, some), to, code.onward)


def _pass_barriers(at: Numbers, team: Team, frame: Frame, codes: Sequence[Code]) -> None:
    """Nobody can go on but past a barrier: where all of a block are at one, they do.

    Raises:
        KernelError: if some of a block are at another one, or have ended.
    """
    rows = at.reshape(-1, team.each)
    waiting = ((rows >= _WAITING) & (rows < DONE)).any(axis=1)
    apart = waiting & (rows != rows[:, :1]).any(axis=1)
    if apart.any():
        raise _left_alone(rows[int(np.flatnonzero(apart)[0])], codes)
    for place in np.unique(rows[waiting, 0]):
        code, here = codes[int(place) - _WAITING], np.flatnonzero(at == place)
        if code.agreed is not None:
            code.agreed(team, frame, here)
        at[here] = code.onward
    team.times[waiting] += 1


def _left_alone(row: Numbers, codes: Sequence[Code]) -> KernelError:
    """The error of a block of which some threads wait where others do not come."""
    lane = int(np.flatnonzero((row >= _WAITING) & (row < DONE))[0])
    barrier = codes[int(row[lane]) - _WAITING].end
    assert barrier is not None
    error = KernelError(
        f"thread {lane} of a block waits at a barrier, and others of it have ended or wait at another one",
        do="let all threads of a block come to each barrier",
    )
    return placed(error, barrier)
