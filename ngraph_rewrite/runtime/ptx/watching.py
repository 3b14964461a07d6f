# SPDX-License-Identifier: Apache-2.0
"""Who read and wrote what: two threads that meet in memory with no barrier between, one of them writing, are found.

Memory is watched in cells, the smallest pieces that a kernel moves. For each cell the last thread that wrote it is
kept, and who read it since: one thread, several of a block, or several blocks. Within a block a barrier orders what was
before it and what comes after; nothing orders blocks of one launch. Several may write the same number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]
_SEVERAL, _BLOCKS = -1, -2  # readers: of one block since a barrier, or of several blocks


class Who(NamedTuple):
    """Threads that access memory.

    Attributes:
        numbers: Of the threads in the launch, from one on.
        blocks: Their blocks.
        slots: Which of the blocks that run side by side these are.
        times: How many barriers each block has passed.
    """

    numbers: Numbers
    blocks: Numbers
    slots: Numbers
    times: Numbers


class Meeting(NamedTuple):
    """Two threads that met: the one that came later, and who had done what before."""

    later: int
    earlier: str


class _Trace:
    """Who did something last to each cell: a thread, several of a block since its last barrier, or several blocks."""

    def __init__(self, cells: int) -> None:
        self._thread: Numbers = np.zeros(cells, np.int64)
        self._block, self._time = np.zeros(cells, np.int32), np.zeros(cells, np.int32)

    def __getitem__(self, cells: Numbers) -> Numbers:
        return self._thread[cells]

    def met(self, cells: Numbers, who: Who) -> Truths:
        """Which threads come to a cell of which nothing says that another one has done with it."""
        earlier = self._thread[cells]
        apart = (self._block[cells] != who.blocks) | (self._time[cells] == who.times)
        return np.asarray((earlier == _BLOCKS) | ((earlier != 0) & (earlier != who.numbers) & apart))

    def note(self, cells: Numbers, who: Who) -> None:
        """Threads do it to a cell each."""
        before, block = self._thread[cells], self._block[cells]
        now = np.where((before != who.numbers) & (self._time[cells] == who.times), _SEVERAL, who.numbers)
        now = np.where((before == _BLOCKS) | (block != who.blocks), _BLOCKS, now)
        now = np.where(before == 0, who.numbers, now)
        self._thread[cells], self._time[cells], self._block[cells] = now, who.times, who.blocks
        several = self._thread[cells] != now  # threads that did it to the same cell just now
        if several.any():
            some = cells[several]
            elsewhere = self._block[some] != who.blocks[several]
            self._thread[some] = np.where(self._thread[some] == _BLOCKS, _BLOCKS, _SEVERAL)
            self._thread[some[elsewhere]] = _BLOCKS


class Watch:
    """The cells of some memory in one launch."""

    def __init__(self, cells: int) -> None:
        self._writers, self._readers = _Trace(cells), _Trace(cells)

    def unwritten(self, cells: Numbers) -> Truths:
        """Which cells nobody wrote."""
        return np.asarray(self._writers[cells] == 0)

    def read(self, cells: Numbers, who: Who) -> Meeting | None:
        """Threads read a cell each; the first meeting with one that wrote it."""
        met = self._writers.met(cells, who)
        if met.any():
            return _meeting(met, who, self._writers[cells], "wrote")
        self._readers.note(cells, who)
        return None

    def write(self, cells: Numbers, who: Who, before: Truths, after: Truths) -> Meeting | None:
        """Threads have written a cell each; the first meeting with one that wrote or read it.

        Args:
            before: Which of them wrote what was there already: then it makes no difference which one is last.
            after: Of which of them what they wrote is there now.
        """
        met = self._writers.met(cells, who) & ~before
        if met.any():
            return _meeting(met, who, self._writers[cells], "wrote")
        met = self._readers.met(cells, who)
        if met.any():
            return _meeting(met, who, self._readers[cells], "read")
        self._writers.note(cells, who)
        return _meeting(~after, who, self._writers[cells], "wrote") if not after.all() else None


def _meeting(met: NDArray[Any], who: Who, others: NDArray[Any], did: str) -> Meeting:
    at = int(np.flatnonzero(met)[0])
    earlier = f"thread {others[at] - 1}" if others[at] > 0 else "several threads"
    return Meeting(int(who.numbers[at]) - 1, f"{earlier} {did}")
