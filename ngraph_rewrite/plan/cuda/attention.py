# SPDX-License-Identifier: Apache-2.0
"""Attention as calls for a GPU: which part of it a block has, by its lengths, how its operands lie, and its mask."""

from __future__ import annotations

from math import e, log2, prod
from typing import Any

from ngraph_rewrite.codegen.cuda.attention import render_attention, render_sums
from ngraph_rewrite.codegen.cuda.cells import Blocks, Form
from ngraph_rewrite.codegen.cuda.half_attention import render_half_attention
from ngraph_rewrite.codegen.cuda.half_forms import HalfBlocks, HalfForm
from ngraph_rewrite.codegen.cuda.half_tiles import LINES
from ngraph_rewrite.codegen.cuda.hiding import render_tiles, threads_of_tile
from ngraph_rewrite.codegen.scalar import HALVES, held
from ngraph_rewrite.plan.attention import bits
from ngraph_rewrite.plan.cuda.grids import MOST_BLOCKS, grid_for
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory
from ngraph_rewrite.plan.shapes import DTYPE_SIZES, known
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.hardware import MULTIPROCESSORS
from ngraph_rewrite.terms.op import Op

_FILLED = MULTIPROCESSORS  # blocks that give every one of them something to do
_LEAST_SCALE = 2.0**-100  # by which what stands for hidden scores can be divided
_STRETCH = 256  # keys that are worth a part of their own, at least


def attention_calls(term: Op, groups: Groups) -> list[Call]:
    """The calls that compute what is weighted with a softmax: of products, or of given numbers.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    loads, given = all_in_memory(term.args, groups), term.definition.name == "fused.mixture"
    values = loads[1 if given else 2]
    *batch, m, d = known(term)
    n, e = values.layout.shape[-2], 0 if given else loads[0].layout.shape[-1]
    count, dtype = prod(batch), term.dtype.name
    masks = "".join(x.base.dtype.name for x in loads[2 if given else 3 :])
    sizes = (count, m, n, e, d)
    blocks = half_blocks_of(sizes, bool(masks)) if dtype in HALVES else blocks_of((count, m, n, d), dtype)
    tiles = count * -(-m // blocks.rows) * -(-d // blocks.columns)
    parts, stretch = parts_of(tiles, n, blocks.keys)
    if isinstance(blocks, HalfBlocks):
        form = HalfForm(dtype, blocks, _along(loads, given), given, masks, parts > 1, _is_binary(term, masks))
        text = render_half_attention(form)
    else:
        text = render_attention(Form(dtype, blocks, _along(loads, given), given, masks, parts > 1))
    inner = batch[-1] if len(batch) == 2 else 1
    scale, fill = bits(term, "scale"), bits(term, "fill")
    arguments: tuple[object, ...] = (inner, *sizes, scale, fill, parts, stretch)
    arguments += tuple(x for load in loads for x in (load, *_steps(load)))
    calls = list[Call]()
    if masks:
        look, told = _looked(loads[-1], (count // max(inner, 1), inner, m, n), held(dtype), blocks, fill)
        calls, arguments = [look], arguments + told
    grid = Grid(max(1, min(tiles * parts, MOST_BLOCKS)), blocks.threads, fixed=True)
    if parts == 1:
        return [*calls, Call(text, (*arguments, OUTPUT), grid)]
    size = parts * count * m * DTYPE_SIZES[held(dtype)]
    sums, found = Scratch(size * d), Scratch(2 * size)
    first = Call(text, (*arguments, sums, found), grid, (sums, found))
    last = Call(render_sums(dtype), (count * m, d, parts, sums, found, OUTPUT), grid_for(count * m * d))
    return [*calls, first, last]


def _looked(
    mask: Load, sizes: tuple[int, int, int, int], own: str, blocks: Blocks | HalfBlocks, fill: int
) -> tuple[Call, tuple[object, ...]]:
    """The call that finds out what a mask does to tiles of scores, and the arguments that tell whoever weighs them.

    It looks at each tile once, for all matrices that have the same, and all rows if these do.

    Args:
        sizes: How many matrices there are along both axes of such, m and n.
        own: The dtype of scores.

    Returns:
        The call; and where what it finds lies, with strides along axes of matrices, and from rows to rows of tiles.
    """
    outer, inner, m = (
        length if stride else min(length, 1) for length, stride in zip(sizes[:3], _steps(mask)[:3], strict=True)
    )
    down, across = -(-m // blocks.rows), -(-sizes[3] // blocks.keys)
    apart = (inner * down * across, down * across, across)
    steps = [step if stride else 0 for step, stride in zip(apart, _steps(mask)[:3], strict=True)]
    tiles = Scratch(max(1, outer * inner * down * across))
    text = render_tiles(mask.base.dtype.name, own, blocks.rows, blocks.keys)
    arguments = (inner, outer * inner, m, sizes[3], fill, mask, *_steps(mask), tiles)
    grid = Grid(max(1, min(tiles.bytes, MOST_BLOCKS)), threads_of_tile(blocks.rows, blocks.keys), fixed=True)
    return Call(text, arguments, grid, (tiles,)), (tiles, *steps)


def parts_of(tiles: int, n: int, keys: int) -> tuple[int, int]:
    """In how many parts keys go by, and how many each has: more than one where there are few tiles of the result.

    >>> parts_of(2048, 1024, 64), parts_of(8, 8192, 64), parts_of(8, 100, 64)
    ((1, 1024), (32, 256), (1, 128))
    """
    parts = max(1, min(2 * _FILLED // max(tiles, 1), n // _STRETCH)) if tiles < _FILLED else 1
    stretch = max(1, -(-n // (parts * keys))) * keys
    return max(1, -(-n // stretch)), stretch


def blocks_of(sizes: tuple[int, int, int, int], dtype: str) -> Blocks:
    """The part of attention that a block has, of a number, m, n and d: fewer rows where there would be few blocks.

    The more columns there are, the fewer keys go by at once: rows, keys and values have 48 KiB of shared memory.

    >>> blocks_of((128, 1024, 1024, 64), "float32").threads
    128
    """
    count, m, n, d = sizes
    most = 32 if dtype == "float64" else 64
    pieces = count * max(1, n // _STRETCH)
    rows = next((r for r in (64, 32) if r <= most and m > r // 2 and pieces * -(-m // r) >= _FILLED), 16)
    if dtype == "float64":
        return Blocks(rows, 32, 32 if d <= 32 else 64, 8, rows // 8, 4)
    if d <= 32:
        return Blocks(rows, 32, 32, 16, rows // 8, 4)
    return Blocks(rows, 64, 64 if d <= 64 else 128, 16, rows // 8, 4)


def half_blocks_of(sizes: tuple[int, int, int, int, int], masked: bool = False) -> HalfBlocks:
    """The same of floats of 16 bits, of a number, m, n, e and d, in multiples of what tensor cores multiply.

    Warps have twice 16 rows where that leaves enough blocks: to read keys and values from shared memory takes longer
    than to multiply them with 16. With a mask and many columns a thread would want more registers than there are.

    >>> half_blocks_of((128, 1024, 1024, 64, 64)), half_blocks_of((8, 1, 8192, 128, 128)).warps
    (HalfBlocks(warps=4, keys=64, columns=64, deep=64, high=2), 1)
    """
    count, m, n, e, d = sizes
    pieces = count * max(1, n // _STRETCH)
    deep, columns = (next((size for size in (16, 32, 64) if length <= size), 128) for length in (e, d))
    wide = max(deep, columns) > 64
    shapes = [*([] if wide and masked else [(2, 2) if wide else (4, 2)]), (4, 1), (2, 1)]
    rows = {shape: prod(shape) * LINES for shape in shapes}
    fits = (s for s in shapes if m > rows[s] // 2 and pieces * -(-m // rows[s]) >= _FILLED)
    warps, high = next(fits, (1, 1))
    return HalfBlocks(warps, 32 if n <= 32 or wide else 64, columns, deep, high)


def _is_binary(term: Op, mask: str) -> bool:
    """Whether scores may be scaled last: the largest stays so, finite ones stay finite, nothing is added to them."""
    return mask in ("", "bool") and _LEAST_SCALE <= float(term.attribute("scale").scalar) * log2(e) <= 1


def _along(loads: list[Load], given: bool) -> tuple[bool, bool, bool]:
    """Whether rows, keys and values lie in memory along what is summed over; scores are read as they lie."""
    if given:
        return True, True, _is_first(loads[1].layout.strides[-2:])
    q, k, v = (load.layout.strides[-2:] for load in loads[:3])
    return _is_first(q[::-1]), _is_first(k), _is_first(v)


def _is_first(strides: tuple[int, ...]) -> bool:
    """Whether the first of two strides is that of neighbours."""
    first, second = strides
    return first == 1 or (second != 1 and 0 < abs(first) <= abs(second))


def _steps(load: Load) -> list[Any]:
    """The strides, of one axis of batches or two."""
    *batch, down, along = load.layout.strides
    return [*(batch if len(batch) == 2 else (*batch, 0)), down, along]
