# SPDX-License-Identifier: Apache-2.0
"""Renders a map for a GPU: threads share the indices of all loops, four neighbours at a time where memory allows it.

Either they go through all indices in one row, each of which is divided into those of the loops, or a grid of three
dimensions has the last three loops: then there is nothing to divide.
"""

from __future__ import annotations

from ngraph_rewrite.codegen.cuda.lanes import (
    FOUR,
    Lanes,
    can_be_wide,
    decomposed,
    going_on,
    loop,
    product,
    width_test,
)
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import MapNest, needed, signature
from ngraph_rewrite.codegen.scalar import IN_DOUBLE
from ngraph_rewrite.codegen.source import Source, indented

# Scalar steps beyond which four indices at once take too many registers.
MOST_STEPS = 48
# Places in the row of indices that a thread has at once, so that more reads are under way; steps that are too many.
PLACES, _FEW_STEPS = 2, 16


def is_wide(nest: MapNest) -> bool:
    """Whether the kernel of a nest takes four neighbours at a time if addresses and lengths allow it."""
    short = len(nest.steps) <= MOST_STEPS and not any(step.op in IN_DOUBLE for step in nest.steps)
    return short and can_be_wide(nest, range(len(nest.stores)))


def places_of(nest: MapNest) -> int:
    """How many times four neighbours a thread takes at once, in a grid that has fewer threads than there are fours."""
    return PLACES if is_wide(nest) and len(nest.steps) <= _FEW_STEPS else 1


def render_map(nest: MapNest) -> Source:
    """Return the kernel of a map nest, for any number of blocks and threads.

    >>> from ngraph_rewrite.codegen.nest import Operand, Step
    >>> vector = Operand("float32", ("1",))
    >>> add = MapNest(1, (vector, vector), (Step("add", "float32", (0, 1)),), ((2, vector),), (0, 1, 2))
    >>> render_map(add).signature
    ('n0', 'x0', 'x1', 'y0')
    """
    names, body = signature(nest), "\n".join(_loops(nest))
    return rendered("map", names, "cuda", nest=body)


def render_spread(nest: MapNest, width: int) -> Source:
    """Return the kernel of a map nest of two loops or more, for any grid and any number of threads.

    A block has `width` indices of the last loop side by side (a power of two), or four times as many, and indices of
    the one before below each other. Loops outside of these are along the third dimension of the grid, together.

    >>> from ngraph_rewrite.codegen.nest import Operand
    >>> copy = MapNest(2, (Operand("int8", ("s", "1")),), (), ((0, Operand("int8", ("s", "1"))),), (0, 1))
    >>> render_spread(copy, 64).signature
    ('n0', 'n1', 'x0', 'x0_s0', 'y0', 'y0_s0')
    """
    lines = [
        f"width, height = min(lanes(), {width}), max(quotient(lanes(), {width}), 1)",
        f"across, down = remainder(lane(), {width}), quotient(lane(), {width})",
        f"top = select(down < height, block_down() * height + down, n{nest.rank - 2})",
    ]
    one = _spread(nest, 1)
    if is_wide(nest):
        wide = indented("\n".join(_spread(nest, FOUR)), 4)
        lines += [f"if {width_test(nest, range(len(nest.stores)))}:", wide, "else:", indented("\n".join(one), 4)]
    else:
        lines += one
    return rendered("map", signature(nest), "cuda", nest="\n".join(lines))


def _spread(nest: MapNest, near: int) -> list[str]:
    """The loops of a thread, of which the last one goes over so many neighbours at a time."""
    *outer, below, last = range(nest.rank)
    times = f"{near} * " if near > 1 else ""
    start, step = f"{times}(block() * width + across)", f"{times}blocks() * width"
    lines = loop(f"i{last}", start, f"n{last}", step, _body(Lanes(nest, near)))
    lines = loop(f"i{below}", "top", f"n{below}", "blocks_down() * height", lines)
    return loop("outer", "block_deep()", product(outer), "blocks_deep()", [*decomposed("outer", outer), *lines])


def _loops(nest: MapNest) -> list[str]:
    dims = range(nest.rank)
    lines, start = [f"count = {product(dims)}"], "thread()"
    if is_wide(nest):
        lines += ["wide = 0", f"if {width_test(nest, range(len(nest.stores)))}:", f"    wide = count // {FOUR}"]
        first = [f"first = {FOUR} * at", *decomposed("first", dims)]
        lines += ["at = thread()", *_several(nest, places_of(nest))]
        lines += going_on("at", "wide", "threads()", [*first, *_body(Lanes(nest, FOUR))])
        start = f"{FOUR} * wide + thread()"
    return lines + loop("at", start, "count", "threads()", [*decomposed("at", dims), *_body(Lanes(nest))])


def _several(nest: MapNest, count: int) -> list[str]:
    """The loop over places of which a thread has so many at once."""
    if count == 1:
        return []
    dims, body = range(nest.rank), list[str]()
    for p in range(count):
        body += [f"first_{p} = {FOUR} * (at + {p} * threads())", *decomposed(f"first_{p}", dims, f"_{p}")]
    body += _body(Lanes(nest, FOUR, frozenset(dims), count))
    return going_on("at", "wide", f"{count} * threads()", body, f" + {count - 1} * threads()")


def _body(lanes: Lanes) -> list[str]:
    nest = lanes.nest
    assert isinstance(nest, MapNest)
    values = needed(nest, (value for value, _ in nest.stores))
    return [*lanes.computed(values), *(line for i in range(len(nest.stores)) for line in lanes.stored(i))]
