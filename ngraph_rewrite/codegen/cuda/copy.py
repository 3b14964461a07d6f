# SPDX-License-Identifier: Apache-2.0
"""Renders a copy for a GPU in which reading and writing run along different loops: by tiles through shared memory."""

from __future__ import annotations

from ngraph_rewrite.codegen.cuda.lanes import decomposed, product
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import MapNest, RowNest, place, signature
from ngraph_rewrite.codegen.scalar import held
from ngraph_rewrite.codegen.source import Source

WIDTH = 32  # elements of a tile, either way


def turned(nest: MapNest | RowNest) -> tuple[int, int] | None:
    """The loops along which the source and the target of a copy lie in memory; None if it is no copy, or one loop.

    >>> from ngraph_rewrite.codegen.nest import Operand
    >>> turned(MapNest(2, (Operand("int8", ("1", "s")),), (), ((0, Operand("int8", ("s", "1"))),), (0, 1)))
    (0, 1)
    """
    moves = isinstance(nest, MapNest) and len(nest.loads) == len(nest.stores) == 1 and not nest.steps
    if not moves or nest.buffers[0] == nest.buffers[1] or nest.loads[0].dtype != nest.stores[0][1].dtype:
        return None
    source, target = nest.operands
    if "1" not in source.strides or "1" not in target.strides:
        return None
    along = source.strides.index("1"), target.strides.index("1")
    return along if along[0] != along[1] else None


def render_turned(nest: MapNest) -> Source:
    """Return the kernel of a copy that is `turned`, for any number of blocks and threads.

    >>> from ngraph_rewrite.codegen.nest import Operand
    >>> copy = MapNest(2, (Operand("int8", ("1", "s")),), (), ((0, Operand("int8", ("s", "1"))),), (0, 1))
    >>> render_turned(copy).signature
    ('n0', 'n1', 'x0', 'x0_s1', 'y0', 'y0_s0')
    """
    along = turned(nest)
    assert along is not None, "only a copy that is turned"
    fast, slow = along
    outside = [dim for dim in range(nest.rank) if dim not in along]
    source, target = nest.operands
    return rendered(
        "copy",
        signature(nest),
        "cuda",
        dtype=source.dtype,
        held=held(source.dtype),
        fast=str(fast),
        slow=str(slow),
        tiles=" * ".join(["down", "across", *([product(outside)] if outside else [])]),
        decomposed="\n".join(decomposed("outside", outside)),
        read_at=place("x0", source),
        written_at=place("y0", target),
        width=str(WIDTH),
        pitch=str(WIDTH + 1),
        area=str(WIDTH * WIDTH),
        room=str(WIDTH * (WIDTH + 1)),
    )
