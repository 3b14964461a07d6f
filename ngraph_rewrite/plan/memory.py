# SPDX-License-Identifier: Apache-2.0
"""Memory by liveness: one arena for all that lives only inside a call, its blocks placed once."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64
# Above this number of blocks the quadratic search by size would take longer than it saves.
MANY_BLOCKS = 2000


@dataclass(frozen=True)
class Block:
    """Bytes that are needed from work item `first` to `last`, both included."""

    size: int
    first: int
    last: int


def place(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """Offsets for blocks such that blocks alive together do not overlap, and the size of the arena.

    Greedy by size, each at the lowest offset that fits (Pisarchyk and Lee, *Efficient Memory Management for
    Deep Neural Net Inference*, 2020).

    >>> place([Block(100, 0, 1), Block(64, 1, 2), Block(100, 2, 3)])
    ([0, 128, 0], 192)
    """
    if len(blocks) > MANY_BLOCKS:
        return _place_by_time(blocks)
    offsets = [0] * len(blocks)
    placed: list[int] = []
    total = 0
    for i in sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first, i)):
        block, offset = blocks[i], 0
        alive = [j for j in placed if blocks[j].first <= block.last and block.first <= blocks[j].last]
        for j in sorted(alive, key=lambda j: offsets[j]):
            if offset + _aligned(block.size) <= offsets[j]:
                break
            offset = max(offset, offsets[j] + _aligned(blocks[j].size))
        offsets[i] = offset
        placed.append(i)
        total = max(total, offset + _aligned(block.size))
    return offsets, total


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _place_by_time(blocks: Sequence[Block]) -> tuple[list[int], int]:
    """As `place`, in the order in which blocks are needed: each into the first gap that fits."""
    offsets = [0] * len(blocks)
    gaps: list[tuple[int, int]] = []  # (begin, end), sorted, never touching
    alive: list[tuple[int, int]] = []  # (last, number)
    total = 0
    for i in sorted(range(len(blocks)), key=lambda i: (blocks[i].first, i)):
        while alive and alive[0][0] < blocks[i].first:
            _, ended = heapq.heappop(alive)
            _free(gaps, offsets[ended], offsets[ended] + _aligned(blocks[ended].size))
        size = _aligned(blocks[i].size)
        at = next((n for n, (begin, end) in enumerate(gaps) if end - begin >= size), None)
        if at is not None:
            begin, end = gaps[at]
            gaps[at : at + 1] = [(begin + size, end)] if end - begin > size else []
        else:  # at the end, from where the last gap begins if that is at the end
            begin = gaps.pop()[0] if gaps and gaps[-1][1] == total else total
            total = begin + size
        offsets[i] = begin
        heapq.heappush(alive, (blocks[i].last, i))
    return offsets, total


def _free(gaps: list[tuple[int, int]], begin: int, end: int) -> None:
    """Add a gap, joined with its neighbours."""
    at = bisect.bisect(gaps, (begin, end))
    if at < len(gaps) and gaps[at][0] == end:
        end = gaps.pop(at)[1]
    if at and gaps[at - 1][1] == begin:
        begin = gaps.pop(at - 1)[0]
        at -= 1
    if end > begin:
        gaps.insert(at, (begin, end))
