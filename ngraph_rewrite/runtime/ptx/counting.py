# SPDX-License-Identifier: Apache-2.0
"""What a launch costs, as far as it can be counted: instructions of warps, and how memory is asked for.

A warp's access to the GPU's memory moves sectors of 32 bytes; one to shared memory takes a turn for each word that a
bank of its 32 has to give. Both are counted beside how many the bytes would need that are asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.cuda.hardware import WARP

Numbers = NDArray[np.int64]
SECTOR, WORD, BANKS = 32, 4, 32
_ADDRESS, _SHARED = 47, 20  # bits of addresses of a process, and more than those of words that a block shares


class Counts:
    """Sums over the warps of a launch.

    Attributes:
        warps: How many there were.
        instructions: That they issued.
        lanes: That took part in them, of 32 each.
        sectors, sectors_needed: Moved from and to the GPU's memory, and what the bytes would fill.
        turns, turns_needed: Of shared memory.
    """

    def __init__(self) -> None:
        self.warps = self.instructions = self.lanes = 0
        self.sectors = self.sectors_needed = 0
        self.turns = self.turns_needed = 0

    def issue(self, count: int, numbers: Numbers, each: int) -> None:
        """So many instructions are done by threads, of blocks of so many."""
        warps = len(np.unique(_warps(numbers, each)))
        self.instructions += count * warps
        self.lanes += count * len(numbers)

    def access(self, space: str, addresses: Numbers, size: int, numbers: Numbers, each: int) -> None:
        """Threads access so many bytes each."""
        if not len(numbers):
            return
        warps = _warps(numbers, each)
        if space == "global":
            needed, found = self._sectors(addresses, size, warps)
            self.sectors, self.sectors_needed = self.sectors + found, self.sectors_needed + needed
        else:
            needed, found = self._turns(addresses, size, warps, numbers)
            self.turns, self.turns_needed = self.turns + found, self.turns_needed + needed

    @staticmethod
    def _sectors(addresses: Numbers, size: int, warps: Numbers) -> tuple[int, int]:
        own = (warps - warps.min()) << _ADDRESS
        places = np.unique(own | addresses)
        bytes_of_warp = np.unique(places >> _ADDRESS, return_counts=True)[1] * size
        return int((-(-bytes_of_warp // SECTOR)).sum()), len(np.unique(own | addresses // SECTOR))

    @staticmethod
    def _turns(addresses: Numbers, size: int, warps: Numbers, numbers: Numbers) -> tuple[int, int]:
        words = max(1, size // WORD)
        together = WARP // words  # as many lanes as can be given 128 bytes
        groups = (warps - warps.min()) * WARP + (numbers % WARP) // together
        word = (addresses // WORD)[:, None] + np.arange(words)
        pairs = np.unique((groups[:, None] << _SHARED) | word)
        banks, counts = np.unique((pairs >> _SHARED) * BANKS + pairs % BANKS, return_counts=True)
        _, begins = np.unique(banks // BANKS, return_index=True)
        return len(begins), int(np.maximum.reduceat(counts, begins).sum()) if len(begins) else 0

    def shown(self) -> dict[str, float]:
        """Instructions of a warp, and of lanes, sectors and turns the part that was of use.

        >>> Counts().shown()
        {'instructions': 0.0, 'lanes': 1.0, 'sectors': 1.0, 'banks': 1.0}
        """
        return {
            "instructions": self.instructions / max(self.warps, 1),
            "lanes": _part(self.lanes, self.instructions * WARP),
            "sectors": _part(self.sectors_needed, self.sectors),
            "banks": _part(self.turns_needed, self.turns),
        }


def _warps(numbers: Numbers, each: int) -> Numbers:
    """The warps of threads, whose numbers begin at zero: blocks begin with one of their own."""
    of_block = -(-each // WARP)
    found: Numbers = numbers // each * of_block + numbers % each // WARP
    return found


def _part(some: int, whole: int) -> float:
    return some / whole if whole else 1.0
