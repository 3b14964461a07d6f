# SPDX-License-Identifier: Apache-2.0
"""Renders a map nest: each value is computed in the outermost loop that determines it, results innermost.

Chunks of a single loop begin where lines of memory do, seen from the first result; what comes before the first line is
a loop of its own, the same one run twice: so no vector that is stored lies in two lines, wherever an array begins.

Where operands lie along another loop than results do, both loops are walked in tiles. A tile of such an operand is
transposed into a block on the stack first (`runtime.transposed_tiles`): each line of memory is read once, and vectors
from the block. Results do not go past the caches then.
"""

import re
from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.copy import extent, loop, whole_tiles
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import (
    MapNest,
    argument_lines,
    distance,
    needed,
    place,
    signature,
    store_line,
    stored_name,
    value_in_place,
)
from ngraph_rewrite.codegen.short_loops import told
from ngraph_rewrite.codegen.source import Source, indented
from ngraph_rewrite.codegen.streaming import Streams
from ngraph_rewrite.types.dtypes import as_dtype

_LONG = 16  # loops of fewer elements meet a line again soon enough
_LARGE = 1 << 14  # elements: of fewer all lines are in cache
# Of a tile, in elements, and the bytes of its block, which is at most the half of a first cache. Where one operand lies
# across, and its elements are small, more lines of each of its rows are read together.
_HEIGHT, _TALL, _WIDTH, _SPACE = 32, 64, 64, 1 << 14
_BLOCKS = 4  # operands of which there are blocks, at most


class Tiles(NamedTuple):
    """How a map walks its last loop and another one: the other one, and how many indices of either make a tile."""

    dim: int
    height: int
    width: int


def tiles(nest: MapNest, sizes: Sequence[int]) -> Tiles | None:
    """How to walk operands whose elements are far apart along the last loop, where results lie; None if there are none.

    >>> from ngraph_rewrite.codegen.loops import Operand, Step
    >>> across, along = Operand("float32", ("1", "s")), Operand("float32", ("s", "1"))
    >>> square = MapNest(2, (across,), (Step("square", "float32", (0,)),), ((1, along),), (0, 1))
    >>> tiles(square, (1000, 1000)), tiles(square, (1000, 3))
    (Tiles(dim=0, height=64, width=64), None)
    """
    last = nest.rank - 1
    if nest.rank < 2 or prod(sizes) < _LARGE or any(at.strides[last] != "1" for _, at in nest.stores):
        return None
    across = [x for x in nest.loads if x.strides[last] == "s" and "1" in x.strides]
    dims = [d for d in {x.strides.index("1") for x in across} if sizes[d] >= _LONG and sizes[last] >= _LONG]
    tall = len(across) == 1 and _TALL * _WIDTH * as_dtype(across[0].dtype).itemsize <= _SPACE
    return Tiles(dims[0], _TALL if tall else _HEIGHT, _WIDTH) if len(dims) == 1 else None


def render_map(nest: MapNest, tiled: Tiles | None = None) -> Source:
    """Return the kernel of a map nest; chunks split loop 0, and a nest of rank 0 is done by chunk 0.

    Args:
        tiled: How its last loop and another one are walked in tiles, if they are.

    >>> from ngraph_rewrite.codegen.loops import MapNest, Operand, Step
    >>> vector = Operand("float32", ("1",))
    >>> add = MapNest(1, (vector, vector), (Step("add", "float32", (0, 1)),), ((2, vector),), (0, 1, 2))
    >>> render_map(add).signature
    ('n0', 'x0', 'x1', 'y0')
    """
    names = signature(nest)
    streams = Streams(nest, nest.rank - 1, range(len(nest.stores)) if tiled is None else ())
    asked = ["fill_loops()"] if nest.filled and tiled is None else []
    ends = ["stream_end()"] if streams.positions else []
    loops = told(nest, _level(nest, 0, streams)) if tiled is None else _in_tiles(nest, tiled)
    start = _start(nest) if tiled is None or tiled.dim > 0 else "\n".join(whole_tiles((0, nest.rank - 1)))
    body = "\n".join([start, *asked, *streams.arrays(), loops, *ends])
    return rendered("map", names, arguments=argument_lines(names, nest.steps), nest=body)


def _start(nest: MapNest) -> str:
    """Find this chunk's part of loop 0, and leave if there is nothing to do."""
    if nest.rank == 0:
        return "if chunk > 0:\n    return"
    lines = ["start = chunk_start(n0, chunk, nchunks)", "stop = chunk_start(n0, chunk + 1, nchunks)"]
    if _is_lined(nest):
        name, size = stored_name(nest, 0), as_dtype(nest.stores[0][1].dtype).itemsize
        lines += ["if chunk > 0:", f"    start = line_start({name}, start, n0, {size})"]
        lines += [f"stop = line_start({name}, stop, n0, {size})"]
        lines += [f"begin, end = start, line_start({name}, start, stop, {size})"]
    empty = ["start >= stop"] + [f"n{dim} <= 0" for dim in range(1, nest.rank)]
    return "\n".join([*lines, f"if {' or '.join(empty)}:", "    return"])


def _level(nest: MapNest, level: int, streams: Streams) -> str:
    """The lines inside the first ``level`` loops."""
    values = needed(nest, (value for value, _ in nest.stores))
    lines = [value_in_place(nest, value) for value in values if max(nest.dims[value], default=-1) + 1 == level]
    if level == nest.rank:
        first = max(nest.buffers, default=-1) + 1
        lines += [
            streams.store(i, nest.dtypes, first) if i in streams.positions else store_line(nest, i, nest.dtypes)
            for i in range(len(nest.stores))
        ]
        return "\n".join(lines)
    extent, inner = ("start", "stop") if level == 0 else ("0", f"n{level}"), _level(nest, level + 1, streams)
    if level == nest.rank - 1 and streams.positions:
        return "\n".join([*lines, *streams.loop(extent, inner.split("\n"))])
    if _is_lined(nest):
        loop = [
            "for part in range(2):",
            "    for i0 in range(begin, end):",
            indented(inner, 8),
            "    begin, end = end, stop",
        ]
        return "\n".join([*lines, *loop])
    limits = ", ".join(extent) if level == 0 else extent[1]
    return "\n".join([*lines, f"for i{level} in range({limits}):", indented(inner, 4)])


def _in_tiles(nest: MapNest, tiled: Tiles) -> str:
    """Plain loops outside, then those over tiles, then those in a tile, the last loop innermost."""
    last, (dim, height, width) = nest.rank - 1, tiled
    order = [*(d for d in range(last) if d != dim), dim, last]
    values = needed(nest, (value for value, _ in nest.stores))
    blocks = [v for v in values if _lies_across(nest, v, tiled)][:_BLOCKS]
    known = [max((order.index(d) + 1 for d in nest.dims[v]), default=0) for v in values]
    at = [
        [
            _from_block(nest, v, tiled) if v in blocks else value_in_place(nest, v)
            for v, k in zip(values, known, strict=True)
            if k == n
        ]
        for n in range(last + 2)
    ]
    lines = [*at[last + 1], *[store_line(nest, i, nest.dtypes) for i in range(len(nest.stores))]]
    for level, d, length in ((last, last, width), (last - 1, dim, height)):
        lines = [
            *at[level],
            *loop(f"for i{d} in range(t{d}, min(t{d} + {length}, {_limits(nest, tiled, d)[1]})):", lines),
        ]
    lines = [*(_to_block(nest, v, tiled) for v in blocks), *lines]
    for d, length in ((last, width), (dim, height)):
        lines = loop(f"for t{d} in range({', '.join(_limits(nest, tiled, d))}, {length}):", lines)
    for level in reversed(range(last - 1)):
        lines = [*at[level], *loop(f"for i{order[level]} in range({extent(order[level])}):", lines)]
    return "\n".join([*(f"b{v} = tile_space()" for v in blocks), *lines])


def _limits(nest: MapNest, tiled: Tiles, dim: int) -> list[str]:
    """Where a chunk begins and ends along a loop: if tiles take up the first one, it is a part of the longer loop."""
    own = tiled.dim == 0 and dim in (0, nest.rank - 1)
    return [f"start{dim}", f"stop{dim}"] if own else extent(dim).split(", ")


def _lies_across(nest: MapNest, value: int, tiled: Tiles) -> bool:
    """Whether a value is a load that lies along the other loop of tiles, of which a block holds one."""
    if value >= len(nest.loads) or tiled.height * tiled.width * as_dtype(nest.loads[value].dtype).itemsize > _SPACE:
        return False
    strides = nest.loads[value].strides
    return strides[tiled.dim] == "1" and strides[-1] == "s"


def _to_block(nest: MapNest, value: int, tiled: Tiles) -> str:
    """The line that transposes a tile of a load."""
    load, last = nest.loads[value], nest.rank - 1
    begin = re.sub(rf"\bi({tiled.dim}|{last})\b", r"t\1", place(f"x{value}", load))
    read = f"x{value}, {begin}, {distance(f'x{value}', load, last)}"
    left = ", ".join(
        f"min({n}, {_limits(nest, tiled, d)[1]} - t{d})" for n, d in ((tiled.height, tiled.dim), (tiled.width, last))
    )
    return f"transpose_block_{as_dtype(load.dtype).itemsize}({read}, b{value}, 0, {tiled.width}, {left})"


def _from_block(nest: MapNest, value: int, tiled: Tiles) -> str:
    """The assignment of what a block holds."""
    dim, last, load = tiled.dim, nest.rank - 1, nest.loads[value]
    index = f"(i{dim} - t{dim}) * {tiled.width} + i{last} - t{last}"
    return f"v{value} = load_{load.dtype}(b{value}, {index}, {nest.buffers[value]})"


def _is_lined(nest: MapNest) -> bool:
    """Whether it is a single loop along which its first result lies in memory."""
    return nest.rank == 1 and not nest.streamed and bool(nest.stores) and nest.stores[0][1].strides == ("1",)
