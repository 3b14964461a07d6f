# SPDX-License-Identifier: Apache-2.0
"""Buffers: a block of the arena for each term that lives only inside a call, or that of an operand that dies."""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.memory import Block, place
from ngraph_rewrite.plan.operands import Scratch
from ngraph_rewrite.plan.shapes import bytes_of, known
from ngraph_rewrite.terms.op import Op


class Buffers(NamedTuple):
    """Offsets in the arena, its size in bytes, and the number of blocks."""

    offsets: dict[Op | Scratch, int]
    arena: int
    blocks: int


def buffers(ordered: Sequence[Job], home: Container[Op | Scratch], threads: int | None) -> Buffers:
    """Give every term that the jobs compute a place, unless it has a home already.

    Args:
        threads: How many run chunks at once; None if each chunk has workspace of its own.
    """
    last = _last_uses(ordered)
    block_of: dict[Op | Scratch, int] = {}
    blocks: list[Block] = []
    for i, job in enumerate(ordered):
        for scratch in job.scratch:
            block_of[scratch] = len(blocks)
            blocks.append(Block(scratch.size(threads), i, i))
        for term in job.outputs if job.destination is None else ():
            if term in home:
                continue
            dying = _dying(job, i, last, block_of) if term is job.term else None
            if dying is not None:
                number = block_of[dying]
                size, first, _ = blocks[number]
                blocks[number] = Block(size, first, last[term])
            else:
                number = len(blocks)
                blocks.append(Block(bytes_of(term), i, last[term]))
            block_of[term] = number
    offsets, arena = place(blocks)
    return Buffers({t: offsets[n] for t, n in block_of.items()}, arena, len(blocks))


def _last_uses(ordered: Sequence[Job]) -> dict[Op, int]:
    last = {term: i for i, job in enumerate(ordered) if job.destination is None for term in job.outputs}
    for i, job in enumerate(ordered):
        for base, _ in job.loads:
            if base in last and not (job.raw and base is job.term):
                last[base] = i
    return last


def _dying(job: Job, at: int, last: dict[Op, int], block_of: Container[Op | Scratch]) -> Op | None:
    """An operand whose memory the result of one map can take over: it dies here and is read in step."""
    for base, _ in () if job.raw else job.in_step:
        if last.get(base) != at or base not in block_of:
            continue
        shape, itemsize = known(job.term), job.term.type.dtype.itemsize
        if base.type.dtype.itemsize == itemsize:
            mine = [load.layout for load in job.loads if load.base is base]
            if all(x.shape == shape and x.is_plain for x in mine) and prod(known(base)) == prod(shape):
                return base
    return None
