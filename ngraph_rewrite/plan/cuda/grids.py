# SPDX-License-Identifier: Apache-2.0
"""How many blocks and threads a kernel gets, and what has a row: decided by lengths alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.map import is_wide
from ngraph_rewrite.codegen.cuda.rows import COLUMN_THREADS, WIDTH
from ngraph_rewrite.codegen.loops import MapNest, RowNest
from ngraph_rewrite.plan.collapsing import RowProgram
from ngraph_rewrite.plan.shares import Grid

THREADS = 256
MOST_BLOCKS = 1 << 20  # after which threads go round
WARP = 32
# Threads of a block that has a row, at least and at most; elements that each of them has in a long row.
_FEWEST, _MOST, _EACH = 64, 512, 8
_LONG = 1024  # elements of a row that are too many for a warp
_FILLED = 528  # blocks that fill a large GPU
_STRETCH = 4096  # elements of a part of a row, at least
_NARROW = 8  # rows side by side that are too few for a block with columns


def blocks_for(count: int, each: int = THREADS) -> int:
    """How many blocks so many indices make, of which each block has some.

    >>> blocks_for(1000), blocks_for(0)
    (4, 1)
    """
    return max(1, min(-(-count // each), MOST_BLOCKS))


def grid_for(count: int) -> Grid:
    """A grid in which every index has a thread, as far as it goes."""
    return Grid(blocks_for(count), THREADS)


def row_form(nest: MapNest | RowNest, sizes: Sequence[int]) -> str:
    """What has a row: a warp, a block, or a block with columns; of a map, nothing."""
    if not isinstance(nest, RowNest):
        return ""
    kept = [n for n, reduced in zip(sizes, nest.reduced, strict=True) if not reduced]
    if nest.reduced and not nest.reduced[-1] and sizes[-1] >= _NARROW:
        return "columns"
    length = prod(sizes) // max(prod(kept), 1)
    few = prod(kept) < _FILLED and length >= 4 * WARP
    return "block" if length > _LONG or few else "warp"


def nest_grid(sizes: Sequence[int], reduced: Sequence[bool], nest: MapNest | RowNest) -> Grid:
    """The grid of a loop nest."""
    if not isinstance(nest, RowNest):
        return Grid(blocks_for(prod(sizes), THREADS * FOUR if is_wide(nest) else THREADS), THREADS)
    form = row_form(nest, sizes)
    rows = prod([n for n, r in zip(sizes, reduced, strict=True) if not r])
    length = prod(sizes) // max(rows, 1)
    if form == "columns":
        return Grid(blocks_for(rows // max(sizes[-1], 1) * -(-sizes[-1] // WIDTH), 1), COLUMN_THREADS)
    if form == "warp":
        return Grid(blocks_for(rows, 4), 4 * WARP)
    threads = _FEWEST
    while threads < min(_MOST, length // _EACH):
        threads *= 2
    return Grid(blocks_for(rows, 1), threads)


def row_parts(program: RowProgram, axis: int) -> tuple[int, int]:
    """In how many parts a reduction is done, so that all multiprocessors have some."""
    moved = [k for k, n in enumerate(program.shape) if n > 1]
    kept = [n for k, n in enumerate(program.shape) if k not in program.axes]
    blocks = prod(kept)
    if moved and moved[-1] not in program.axes and program.shape[moved[-1]] >= _NARROW:
        blocks = blocks // program.shape[moved[-1]] * -(-program.shape[moved[-1]] // WIDTH)
        stretch = 8 * COLUMN_THREADS // WIDTH
    else:
        stretch = max(1, _STRETCH * program.shape[axis] // max(prod(program.shape) // max(prod(kept), 1), 1))
    if blocks >= _FILLED:
        return 1, 1
    return max(1, min(2 * _FILLED // max(blocks, 1), program.shape[axis] // stretch)), 1
