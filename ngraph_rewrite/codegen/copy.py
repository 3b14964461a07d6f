# SPDX-License-Identifier: Apache-2.0
"""Renders copies between strided layouts, in square tiles where reading and writing run along different loops.

Tiles are transposed in registers, whatever their elements are: so many bytes.

A few elements that lie side by side, such as the colours of a picture, fill no tile: they are moved together, in each
step of the loop along which the other side runs, and LLVM shuffles vectors of them where nothing lies between.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import permutations

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import (
    MapNest,
    Operand,
    distance,
    place,
    signature,
    store_line,
    value_line,
)
from ngraph_rewrite.codegen.source import Source, indented
from ngraph_rewrite.types.dtypes import as_dtype

_BLOCK = 64  # elements of a side of a block: it reads and writes few enough pages at a time
_FEW = 4  # elements side by side, at most, that LLVM has shuffles for


def few(source: Operand, target: Operand, sizes: Sequence[int]) -> int | None:
    """The loop with unit stride on one side that is so short that its elements are moved together, if there is one.

    >>> few(Operand("int8", ("s", "s", "1")), Operand("int8", ("s", "1", "s")), (8, 3, 99))
    1
    """
    fast = [[dim for dim, stride in enumerate(x.strides) if stride == "1"] for x in (source, target)]
    if [len(dims) for dims in fast] != [1, 1] or fast[0] == fast[1]:
        return None
    (a,), (b,) = fast
    found = [(a, source.strides[b]), (b, target.strides[a])]
    short = [dim for dim, across in found if 1 < sizes[dim] <= _FEW and across not in ("0", "1")]
    return short[0] if len(short) == 1 else None


def render_copy(source: Operand, target: Operand, together: tuple[int, int] | None = None) -> Source:
    """Return the kernel that copies an array of any rank, loops in the order given; chunks split loop 0, or a long one.

    Args:
        together: A loop that is `few`, and its length.

    >>> render_copy(Operand("int8", ("1", "s")), Operand("int8", ("s", "1"))).signature
    ('n0', 'n1', 'x0', 'x0_s1', 'y0', 'y0_s0')
    """
    nest = MapNest(len(source.strides), (source,), (), ((0, target),), (0, 1))
    return rendered("copy", signature(nest), nest="\n".join(_body(nest, together)))


def _body(nest: MapNest, together: tuple[int, int] | None) -> list[str]:
    """A chunk has a part of a loop, and all of the others."""
    if nest.rank == 0:
        return ["if chunk > 0:", "    return", *_move(nest)]
    fast = _fast(*nest.operands)
    if together is not None:
        split = 0 if together[0] > 0 else max(fast)
        return [*_part_of(split), *_together(nest, split, *together)]
    if not fast:
        return [*_part_of(0), *_plain(set(range(nest.rank)), 0, _move(nest))]
    outside = _plain(set(range(nest.rank)).difference(fast), 0, _tiles(nest, *fast))
    return [*(whole_tiles(fast) if 0 in fast else [*_part_of(0), *_all_of(fast)]), *outside]


def _part_of(dim: int) -> list[str]:
    return [f"start = chunk_start(n{dim}, chunk, nchunks)", f"stop = chunk_start(n{dim}, chunk + 1, nchunks)"]


def _all_of(dims: Iterable[int]) -> list[str]:
    return [line for dim in sorted(dims) for line in (f"start{dim} = 0", f"stop{dim} = n{dim}")]


def whole_tiles(two: Iterable[int]) -> list[str]:
    """Where a chunk begins and ends along either one of two loops: it is whole tiles of the longer one."""
    a, b = sorted(two)
    longer = [f"if n{a} < n{b}:", *_tiles_of(b), "else:", *_tiles_of(a)]
    return [*_all_of((a, b)), *longer]


def _tiles_of(dim: int) -> list[str]:
    return [
        f"    start{dim} = tile_start(n{dim}, chunk, nchunks)",
        f"    stop{dim} = tile_start(n{dim}, chunk + 1, nchunks)",
    ]


def _fast(source: Operand, target: Operand) -> tuple[int, ...]:
    """A loop with unit stride in the source and one in the target, if these differ.

    Of windows several loops have unit stride: the last one is over places, those before it are over a window.
    """
    pairs = permutations(reversed(range(len(source.strides))), 2)
    both = (p for p in pairs if source.strides[p[0]] == target.strides[p[1]] == "1")
    same = any(a == b == "1" for a, b in zip(source.strides, target.strides, strict=True))
    return () if same else next(both, ())


def _tiles(nest: MapNest, down: int, across: int) -> list[str]:
    """Blocks of tiles, each with rows of the target that lie beside each other."""
    source, target = nest.operands
    read = f"x0, {place('x0', source)}, {distance('x0', source, across)}"
    written = f"y0, {place('y0', target)}, {distance('y0', target, down)}"
    left = ", ".join(f"min({_BLOCK}, stop{dim} - i{dim})" for dim in (down, across))
    lines = [f"transpose_block_{as_dtype(source.dtype).itemsize}({read}, {written}, {left})"]
    for dim in (across, down):
        lines = loop(f"for i{dim} in range(start{dim}, stop{dim}, {_BLOCK}):", lines)
    return lines


def _together(nest: MapNest, split: int, dim: int, length: int) -> list[str]:
    """The loops where one with unit stride is short; its length is a stride of the other one if all is dense."""
    fast = _fast(*nest.operands)
    (other,) = set(fast) - {dim}
    name, at = ("x0", nest.operands[0]) if nest.loads[0].strides[dim] == "1" else ("y0", nest.operands[1])
    loops, stride = _plain({other}, split, loop(f"for i{dim} in range({length}):", _move(nest))), at.strides[other]
    if stride == "s":
        stride = distance(name, at, other)
        dense = [re.sub(rf"\b{stride}\b", str(length), line) for line in loops]
        loops = [*loop(f"if {stride} == {length}:", dense), *loop("else:", loops)]
    return _plain(set(range(nest.rank)).difference(fast), split, loops)


def _move(nest: MapNest) -> list[str]:
    return [value_line(nest, 0), store_line(nest, 0, nest.dtypes)]


def _plain(dims: set[int], split: int, lines: list[str]) -> list[str]:
    """Loops over all of some axes, but for the one of which a chunk has a part."""
    for dim in sorted(dims, reverse=True):
        lines = loop(f"for i{dim} in range({extent(dim, split)}):", lines)
    return lines


def extent(dim: int, split: int = 0) -> str:
    """The indices of a loop, of one of which a chunk has a part."""
    return "start, stop" if dim == split else f"0, n{dim}"


def loop(head: str, body: Sequence[str]) -> list[str]:
    """A loop and what is done in it."""
    return [head, indented("\n".join(body), 4)]
