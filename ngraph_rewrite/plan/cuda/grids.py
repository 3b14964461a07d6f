# SPDX-License-Identifier: Apache-2.0
"""How many blocks and threads a kernel gets, and what has a row: decided by lengths alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.map import is_wide
from ngraph_rewrite.codegen.cuda.rows import COLUMN_THREADS, WARPS_OF_ROWS, RowForm
from ngraph_rewrite.codegen.loops import MapNest, RowNest
from ngraph_rewrite.plan.collapsing import RowProgram
from ngraph_rewrite.plan.shares import Grid

THREADS = 256
MOST_BLOCKS = 1 << 20  # after which threads go round
WARP = 32
# Threads of a block that has a row, at least and at most; elements that each of them has in a long row.
_FEWEST, _MOST, _EACH = 64, 512, 32
_LONG = 1024  # elements of a row that are too many for a warp
_FILLED, _LARGE = 528, 256  # blocks that fill a large GPU, and such of many threads
_WIDE = 64  # threads side by side of a block with columns, at most
_STRETCH = 4096  # elements of a part of a row, at least
_NARROW = 8  # rows side by side that are too few for a block with columns; threads side by side, at least
_ROOM = 8192  # elements of a row of which values are kept in shared memory


def blocks_for(count: int, each: int = THREADS) -> int:
    """How many blocks so many indices make, of which each block has some.

    >>> blocks_for(1000), blocks_for(0)
    (4, 1)
    """
    return max(1, min(-(-count // each), MOST_BLOCKS))


def grid_for(count: int) -> Grid:
    """A grid in which every index has a thread, as far as it goes."""
    return Grid(blocks_for(count), THREADS)


def row_form(nest: MapNest | RowNest, sizes: Sequence[int]) -> RowForm:
    """What has a row: a warp, a block, or a block with columns; of a map, nothing."""
    if not isinstance(nest, RowNest):
        return RowForm("")
    kept = [n for n, reduced in zip(sizes, nest.reduced, strict=True) if not reduced]
    if nest.reduced and not nest.reduced[-1] and sizes[-1] >= _NARROW:
        return RowForm("columns", _width(prod(kept) // sizes[-1], sizes[-1]))
    length = prod(sizes) // max(prod(kept), 1)
    few = prod(kept) < _FILLED and length >= 4 * WARP
    room = 1 << max(length - 1, 63).bit_length()
    return RowForm("block" if length > _LONG or few else "warp", room=room if room <= _ROOM else 0)


def _width(outer: int, columns: int) -> int:
    """How many threads of a block are side by side: fewer, where there would be too few blocks."""
    width = _WIDE
    while width > _NARROW and outer * -(-columns // width) < _LARGE:
        width //= 2
    return width


def nest_grid(sizes: Sequence[int], reduced: Sequence[bool], nest: MapNest | RowNest) -> Grid:
    """The grid of a loop nest."""
    if not isinstance(nest, RowNest):
        return Grid(blocks_for(prod(sizes), THREADS * FOUR if is_wide(nest) else THREADS), THREADS)
    form = row_form(nest, sizes)
    rows = prod([n for n, r in zip(sizes, reduced, strict=True) if not r])
    length = prod(sizes) // max(rows, 1)
    if form.kind == "columns":
        blocks = rows // max(sizes[-1], 1) * -(-sizes[-1] // form.width)
        threads, worth = THREADS, min(_FILLED * THREADS // max(blocks, 1), length * form.width // FOUR)
        while threads < min(worth, COLUMN_THREADS):
            threads *= 2
        return Grid(blocks_for(blocks, 1), threads)
    if form.kind == "warp":
        return Grid(blocks_for(rows, WARPS_OF_ROWS), WARPS_OF_ROWS * WARP)
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
        blocks = blocks // program.shape[moved[-1]] * -(-program.shape[moved[-1]] // _WIDE)
        stretch = 8 * THREADS // WARP
    else:
        stretch = max(1, _STRETCH * program.shape[axis] // max(prod(program.shape) // max(prod(kept), 1), 1))
    if blocks >= _FILLED:
        return 1, 1
    return max(1, min(2 * _FILLED // max(blocks, 1), program.shape[axis] // stretch)), 1
