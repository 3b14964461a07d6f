# SPDX-License-Identifier: Apache-2.0
"""Renders copies between strided layouts, in square tiles where reading and writing run along different loops."""

from ngraph_rewrite.codegen.nest import MapNest, Operand, argument_lines, signature, store_line, value_line
from ngraph_rewrite.codegen.source import Source, imports, indented, named
from ngraph_rewrite.codegen.template import kernel_template

_TILE = 32  # elements: two tiles of float64 fill half of a 32 KiB first-level cache


def render_copy(source: Operand, target: Operand) -> Source:
    """Return the kernel that copies an array of any rank, loops in the order given; chunks split loop 0.

    >>> render_copy(Operand("int8", ("1", "s")), Operand("int8", ("s", "1"))).signature
    ('n0', 'n1', 'x0', 'x0_s1', 'y0', 'y0_s0')
    """
    nest = MapNest(len(source.strides), (source,), (), ((0, target),), (0, 1))
    names = signature(nest)
    body = "\n".join([*_start(nest), *_loops(nest)])
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


def _start(nest: MapNest) -> list[str]:
    if nest.rank == 0:
        return ["if chunk > 0:", "    return"]
    return ["start = chunk_start(n0, chunk, nchunks)", "stop = chunk_start(n0, chunk + 1, nchunks)"]


def _tiled(nest: MapNest) -> set[int]:
    """The loops with unit stride in the source and in the target, if they differ."""
    fast = {dim for _, strides in (("x", nest.loads[0].strides), ("y", nest.stores[0][1].strides))
            for dim, stride in enumerate(strides) if stride == "1"}  # fmt: skip
    return fast if len(fast) == 2 else set()


def _loops(nest: MapNest) -> list[str]:
    """Plain loops outside, then the loops over tiles, then the loops in a tile."""
    tiled = _tiled(nest)
    lines = [value_line(nest, 0), store_line(nest, 0, nest.dtypes)]
    for dim in sorted(tiled, reverse=True):
        last = "stop" if dim == 0 else f"n{dim}"
        lines = _loop(f"for i{dim} in range(t{dim}, min(t{dim} + {_TILE}, {last})):", lines)
    for dim in sorted(tiled, reverse=True):
        lines = _loop(f"for t{dim} in range({_extent(dim)}, {_TILE}):", lines)
    for dim in reversed([dim for dim in range(nest.rank) if dim not in tiled]):
        lines = _loop(f"for i{dim} in range({_extent(dim)}):", lines)
    return lines


def _extent(dim: int) -> str:
    return "start, stop" if dim == 0 else f"0, n{dim}"


def _loop(head: str, body: list[str]) -> list[str]:
    return [head, indented("\n".join(body), 4)]
