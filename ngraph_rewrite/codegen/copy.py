# SPDX-License-Identifier: Apache-2.0
"""Renders copies between strided layouts, in square tiles where reading and writing run along different loops.

A few elements that lie side by side, such as the colours of a picture, fill no tile: they are moved together, in each
step of the loop along which the other side runs, and LLVM shuffles vectors of them where nothing lies between.
"""

import re
from collections.abc import Sequence

from ngraph_rewrite.codegen.nest import MapNest, Operand, argument_lines, signature, store_line, value_line
from ngraph_rewrite.codegen.source import Source, imports, indented, named
from ngraph_rewrite.codegen.template import kernel_template

_TILE = 32  # elements: two tiles of float64 fill half of a 32 KiB first-level cache
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
    short = [dim for dim, across in found if 1 < sizes[dim] <= _FEW and across == "s"]
    return short[0] if len(short) == 1 else None


def render_copy(source: Operand, target: Operand, together: tuple[int, int] | None = None) -> Source:
    """Return the kernel that copies an array of any rank, loops in the order given; chunks split loop 0, or a long one.

    Args:
        together: A loop that is `few`, and its length.

    >>> render_copy(Operand("int8", ("1", "s")), Operand("int8", ("s", "1"))).signature
    ('n0', 'n1', 'x0', 'x0_s1', 'y0', 'y0_s0')
    """
    nest = MapNest(len(source.strides), (source,), (), ((0, target),), (0, 1))
    names = signature(nest)
    body = "\n".join(_body(nest, together))
    template = kernel_template("copy")
    text = template.fill(
        "cpu",
        name="$name",
        idea=template.idea,
        arguments=argument_lines(names),
        signature=", ".join(names),
        imports=imports(f"argument() {body}"),
        nest=body,
    )
    return named("copy", text, names)


def _body(nest: MapNest, together: tuple[int, int] | None) -> list[str]:
    """A chunk has a part of a loop, and all of the others."""
    if nest.rank == 0:
        return ["if chunk > 0:", "    return", *_loops(nest)]
    if together is None:
        return [*_part_of(0), *_loops(nest)]
    split = 0 if together[0] > 0 else next(iter(_fast(*nest.operands) - {0}))
    return [*_part_of(split), *_together(nest, split, *together)]


def _part_of(dim: int) -> list[str]:
    return [f"start = chunk_start(n{dim}, chunk, nchunks)", f"stop = chunk_start(n{dim}, chunk + 1, nchunks)"]


def _fast(source: Operand, target: Operand) -> set[int]:
    """The loops with unit stride in the source and in the target, if they differ."""
    fast = {dim for operand in (source, target) for dim, stride in enumerate(operand.strides) if stride == "1"}
    return fast if len(fast) == 2 else set()


def _loops(nest: MapNest) -> list[str]:
    """Plain loops outside, then the loops over tiles, then the loops in a tile."""
    fast = _fast(*nest.operands)
    lines = _move(nest)
    for dim in sorted(fast, reverse=True):
        last = "stop" if dim == 0 else f"n{dim}"
        lines = loop(f"for i{dim} in range(t{dim}, min(t{dim} + {_TILE}, {last})):", lines)
    for dim in sorted(fast, reverse=True):
        lines = loop(f"for t{dim} in range({extent(dim, 0)}, {_TILE}):", lines)
    return _plain(set(range(nest.rank)) - fast, 0, lines)


def _together(nest: MapNest, split: int, dim: int, length: int) -> list[str]:
    """The loops where one with unit stride is short; its length is a stride of the other one if all is dense."""
    fast = _fast(*nest.operands)
    (other,) = fast - {dim}
    stride = f"{'x0' if nest.loads[0].strides[dim] == '1' else 'y0'}_s{other}"
    loops = _plain({other}, split, loop(f"for i{dim} in range({length}):", _move(nest)))
    dense = [re.sub(rf"\b{stride}\b", str(length), line) for line in loops]
    both = [*loop(f"if {stride} == {length}:", dense), *loop("else:", loops)]
    return _plain(set(range(nest.rank)) - fast, split, both)


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
