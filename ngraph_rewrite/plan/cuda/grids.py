# SPDX-License-Identifier: Apache-2.0
"""How many blocks and threads a kernel gets, and what has a row: decided by lengths alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.codegen.cuda.accumulators import REGISTERS, registers_for
from ngraph_rewrite.codegen.cuda.columns import column_threads, columns_side_by_side
from ngraph_rewrite.codegen.cuda.forms import MOST_THREADS, RowForm
from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.passes import Passes
from ngraph_rewrite.codegen.cuda.rows import PLACES, lies_side_by_side
from ngraph_rewrite.codegen.loops import RowNest
from ngraph_rewrite.plan.renderer import Parts
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.types.dtypes import as_dtype

THREADS = 256
MOST_BLOCKS = 1 << 20  # after which threads go round
# Threads of a block that has a row, at least; elements that each of them has in a long row.
_FEWEST, _EACH = 64, 64
_LONG = 1024  # elements of a row that are too many for a warp
_LONGER = 16384  # of one that should have a multiprocessor for itself: it fits into its registers, or more into a cache
_FAR_LONGER = 4 * _LONGER  # of one of which a thread would keep too little
_FILLED, _LARGE = 264, 256  # blocks that fill a large GPU, and such of many threads
_WIDE = 64  # rows side by side of a block with columns, at most
_NARROW = 8  # of them that are too few for such a block; that one has, at least
_STRETCH = 4096  # elements of a part of a row, at least
_EVEN = 8  # elements of which it is a multiple, so that all parts are as aligned as the row
_WARPS = 4  # in a block whose warps have rows
_REGISTERS = 16  # of a thread for what it keeps of a row; some more are needed beside
_SEVERAL = 256  # threads of a block that has a row, after which each keeps twice as much of it
_HALF = 2  # bytes
_BLOCKS = 32  # whose multiprocessors read about as fast as all do what several kernels would write and read
_SHORT = 1 << 16  # elements that a block has done before others would have begun to share them
_WORK = 1024  # scalar steps that are written out for each pass over what is kept


def blocks_for(count: int, each: int = THREADS) -> int:
    """How many blocks so many indices make, of which each block has some.

    >>> blocks_for(1000), blocks_for(0)
    (4, 1)
    """
    return max(1, min(-(-count // each), MOST_BLOCKS))


def grid_for(count: int) -> Grid:
    """A grid in which every index has a thread, as far as it goes."""
    return Grid(blocks_for(count), THREADS)


def shared_grid(blocks: int, elements: int, each: int) -> Grid:
    """A grid of blocks that have so many elements each: a warp or more, whose threads have some of them.

    >>> shared_grid(3, 1024, 8).threads, shared_grid(3, 10, 8).threads
    (128, 32)
    """
    threads = WARP
    while threads < THREADS and threads * each < elements:
        threads *= 2
    return Grid(min(max(blocks, 1), MOST_BLOCKS), threads)


def row_form(nest: RowNest, sizes: Sequence[int]) -> RowForm:
    """What has a row: a warp, a block, or a block with columns."""
    kept = [n for n, reduced in zip(sizes, nest.reduced, strict=True) if not reduced]
    if nest.reduced and not nest.reduced[-1] and sizes[-1] >= _NARROW:
        return _columns(nest, sizes)
    rows = prod(kept)
    length = prod(sizes) // max(rows, 1)
    few = rows < _FILLED and length >= 4 * WARP
    near = FOUR if lies_side_by_side(nest) and sizes[-1] % FOUR == 0 else 1
    most = _most_places(nest, near, _REGISTERS)
    if length > (min(_LONG, most * near * WARP) or _LONG) or few:
        if length > _FAR_LONGER or not most:
            large = few and length > _LONGER and registers_for(nest, FOUR, PLACES) <= REGISTERS
            return RowForm("block", threads=2 * MOST_THREADS if large else _threads(length, _EACH))
        if length > most * near * _SEVERAL:
            most = _most_places(nest, near, 2 * _REGISTERS)
        threads = _threads(length, most * near)
        threads = 2 * threads if threads * most * near < length else threads
        return _fitted(RowForm("block", places=most, near=near, threads=threads), length, threads)
    places = min(most, _power(-(-length // (near * WARP))))
    return _fitted(RowForm("warp", places=places, near=near, threads=_WARPS * WARP), length, WARP)


def _columns(nest: RowNest, sizes: Sequence[int]) -> RowForm:
    """Rows that lie side by side: how many of them a block has, and how many threads."""
    kept = [n for n, reduced in zip(sizes, nest.reduced, strict=True) if not reduced]
    near = FOUR if columns_side_by_side(nest) and sizes[-1] % FOUR == 0 else 1
    outer, length = prod(kept) // sizes[-1], prod(sizes) // max(prod(kept), 1)
    width = _width(outer, sizes[-1])
    blocks = outer * -(-sizes[-1] // width)
    threads, worth = THREADS, min(_FILLED * THREADS // max(blocks, 1), length * width // (FOUR * near))
    while threads < worth:
        threads *= 2
    return RowForm("columns", width, near=near, threads=min(threads, column_threads(nest, near)))


def _fitted(form: RowForm, length: int, threads: int) -> RowForm:
    """The form for rows of a length: whether what threads keep is a row."""
    if not form.places or form.near == 1:
        return form
    all_of_it = form.places * form.near * threads
    return form._replace(extent="whole" if length == all_of_it else "part" if length < all_of_it else "long")


def _most_places(nest: RowNest, near: int, room: int) -> int:
    """How many places of a row a thread can keep: as many as there is room for, if several passes need the same."""
    each = Passes(nest).registers
    if not each:
        return 0
    own = [load for load in nest.loads if load.dims & nest.within and load.dims - nest.within]
    narrow = all(as_dtype(load.dtype).itemsize <= _HALF for load in own)
    room *= 1 + narrow  # where there is less to read, more places have to be under way
    return _power(max(1, min(room // (each * near), _WORK // (len(nest.steps) * near))) + 1) // 2


def _power(count: int) -> int:
    """The least power of two that is at least so much."""
    return 1 << max(count - 1, 0).bit_length()


def _width(outer: int, columns: int) -> int:
    """How many rows of a block are side by side: fewer, where there would be too few blocks."""
    width = _WIDE
    while width > _NARROW and outer * -(-columns // width) < _LARGE:
        width //= 2
    return width


def row_grid(sizes: Sequence[int], reduced: Sequence[bool], nest: RowNest) -> Grid:
    """The grid of a nest over rows."""
    form = row_form(nest, sizes)
    rows = prod([n for n, r in zip(sizes, reduced, strict=True) if not r])
    if form.kind == "columns":
        return Grid(blocks_for(rows // max(sizes[-1], 1) * -(-sizes[-1] // form.width), 1), form.threads)
    if form.kind == "warp":
        return Grid(blocks_for(rows, _WARPS), _WARPS * WARP)
    return Grid(blocks_for(rows, 1), form.threads)


def _threads(length: int, each: int) -> int:
    """How many threads have a row of which each has so many elements."""
    return max(_FEWEST, min(MOST_THREADS, _power(-(-length // each))))


def worth_rows(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether rows of a shape, which go along some axes, give most multiprocessors a block, or are short anyhow.

    >>> worth_rows((64, 16, 56, 56), (0, 2, 3)), worth_rows((64, 56, 56, 64), (0, 1, 2)), worth_rows((16, 1000), (1,))
    (False, False, True)
    """
    kept = [n for k, n in enumerate(shape) if k not in axes]
    last = max((k for k, n in enumerate(shape) if n > 1), default=0)
    blocks = prod(kept) // (1 if last in axes or not shape else max(1, min(shape[last], _NARROW)))
    return blocks >= _BLOCKS or prod(shape) <= _SHORT * max(blocks, 1)


def row_parts(program: RowProgram, axis: int) -> Parts:
    """In how many parts a reduction is done, so that all multiprocessors have some."""
    moved = [k for k, n in enumerate(program.shape) if n > 1]
    kept = [n for k, n in enumerate(program.shape) if k not in program.axes]
    length, blocks = program.shape[axis], prod(kept)
    stretch = _STRETCH
    if moved and moved[-1] not in program.axes and program.shape[moved[-1]] >= _NARROW:
        blocks = blocks // program.shape[moved[-1]] * -(-program.shape[moved[-1]] // _WIDE)
        stretch = 8 * THREADS // WARP
        if length < stretch and blocks * _WIDE // _NARROW >= _LARGE:
            return Parts(1)  # narrower ones are blocks enough
    stretch = max(1, stretch * length // max(prod(program.shape) // max(prod(kept), 1), 1))
    finds = any(step[0].startswith("arg") for step in program.steps)  # of which parts give twice as much
    if blocks >= (_FILLED // 4 if finds else _FILLED):
        return Parts(1)
    most = max(1, min(2 * _FILLED // max(blocks, 1), length // stretch))
    even = _EVEN if moved[-1:] == [axis] and length >= _EVEN * most else 1
    return Parts(_even_count(length, most, even), even=even)


def _even_count(length: int, most: int, even: int) -> int:
    """Parts that leave nothing over, if there are not many fewer of them; else the most that there may be.

    >>> _even_count(250_000_000, 1056, 8), _even_count(1_000_003, 1056, 8)
    (1000, 1056)
    """
    return next((n for n in range(most, most * 3 // 4, -1) if length % (n * even) == 0), most)
