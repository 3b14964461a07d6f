# SPDX-License-Identifier: Apache-2.0
"""Memory by liveness: one arena for all that lives only inside a call, its blocks placed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


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
