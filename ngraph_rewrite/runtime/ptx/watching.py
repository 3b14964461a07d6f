# SPDX-License-Identifier: Apache-2.0
"""Who read and wrote what: two threads that meet in memory with no barrier between, one of them writing, are found.

Memory is watched in cells, the smallest pieces that a kernel moves. For each cell the last thread that wrote it is
kept, and who read it since: one thread, several of a block, or several blocks. Within a block a barrier orders what was
before it and what comes after; nothing orders blocks of one launch.
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


class Watch:
    """The cells of some memory in one launch.

    Args:
        cells: How many there are.
        each: Threads of a block.
    """

    def __init__(self, cells: int, each: int) -> None:
        self._each = each
        self._writer, self._written = np.zeros(cells, np.int32), np.zeros(cells, np.int32)
        self._reader, self._read = np.zeros(cells, np.int32), np.zeros(cells, np.int32)
        self._readers_block = np.zeros(cells, np.int32)

    def unwritten(self, cells: Numbers) -> NDArray[np.bool_]:
        """Which cells nobody wrote."""
        return np.asarray(self._writer[cells] == 0)

    def read(self, cells: Numbers, who: Who) -> Meeting | None:
        """Threads read a cell each; the first meeting with one that wrote it."""
        writer = self._writer[cells]
        met = (writer != 0) & (writer != who.numbers)
        met &= ((writer - 1) // self._each != who.blocks) | (self._written[cells] == who.times)
        if met.any():
            return _meeting(met, who, writer, "wrote")
        self._note_readers(cells, who)
        return None

    def _note_readers(self, cells: Numbers, who: Who) -> None:
        before, block = self._reader[cells], self._readers_block[cells]
        now = np.where((before != who.numbers) & (self._read[cells] == who.times), _SEVERAL, who.numbers)
        now = np.where((before == _BLOCKS) | (block != who.blocks), _BLOCKS, now)
        now = np.where(before == 0, who.numbers, now)
        self._reader[cells], self._read[cells], self._readers_block[cells] = now, who.times, who.blocks
        several = self._reader[cells] != now  # threads that read the same cell just now
        if several.any():
            some = cells[several]
            elsewhere = self._readers_block[some] != who.blocks[several]
            self._reader[some] = np.where(self._reader[some] == _BLOCKS, _BLOCKS, _SEVERAL)
            self._reader[some[elsewhere]] = _BLOCKS

    def write(self, cells: Numbers, who: Who, before: Truths, after: Truths) -> Meeting | None:
        """Threads have written a cell each; the first meeting with one that wrote or read it.

        Args:
            before: Which of them wrote what was there already: then it makes no difference which one is last.
            after: Of which of them what they wrote is there now.
        """
        writer, reader = self._writer[cells], self._reader[cells]
        met = (writer != 0) & (writer != who.numbers)
        met &= ((writer - 1) // self._each != who.blocks) | (self._written[cells] == who.times)
        met &= ~before
        if met.any():
            return _meeting(met, who, writer, "wrote")
        apart = (self._readers_block[cells] != who.blocks) | (self._read[cells] == who.times)
        met = ~before & ((reader == _BLOCKS) | ((reader != 0) & (reader != who.numbers) & apart))
        if met.any():
            return _meeting(met, who, reader, "read")
        self._writer[cells], self._written[cells] = who.numbers, who.times
        met = ~after
        return _meeting(met, who, self._writer[cells], "wrote") if met.any() else None


def _meeting(met: NDArray[Any], who: Who, others: NDArray[Any], did: str) -> Meeting:
    at = int(np.flatnonzero(met)[0])
    earlier = f"thread {others[at] - 1}" if others[at] > 0 else "several threads"
    return Meeting(int(who.numbers[at]) - 1, f"{earlier} {did}")
