# SPDX-License-Identifier: Apache-2.0
"""Renders a map for a GPU: threads share the indices of all loops, four neighbours at a time where memory allows it."""

from __future__ import annotations

from ngraph_rewrite.codegen.cuda.lanes import FOUR, Lanes, can_be_wide, decomposed, loop, product, width_test
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import MapNest, needed, signature
from ngraph_rewrite.codegen.source import Source

# Scalar steps beyond which four indices at once take too many registers.
MOST_STEPS = 48


def is_wide(nest: MapNest) -> bool:
    """Whether the kernel of a nest takes four neighbours at a time if addresses and lengths allow it."""
    return can_be_wide(nest, range(len(nest.stores))) and len(nest.steps) <= MOST_STEPS


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


def _loops(nest: MapNest) -> list[str]:
    dims = range(nest.rank)
    lines, start = [f"count = {product(dims)}"], "thread()"
    if is_wide(nest):
        lines += ["wide = 0", f"if {width_test(nest, range(len(nest.stores)))}:", f"    wide = count // {FOUR}"]
        first = [f"first = {FOUR} * at", *decomposed("first", dims)]
        lines += loop("at", "thread()", "wide", "threads()", [*first, *_body(Lanes(nest, FOUR))])
        start = f"{FOUR} * wide + thread()"
    return lines + loop("at", start, "count", "threads()", [*decomposed("at", dims), *_body(Lanes(nest))])


def _body(lanes: Lanes) -> list[str]:
    nest = lanes.nest
    assert isinstance(nest, MapNest)
    values = needed(nest, (value for value, _ in nest.stores))
    return [*lanes.computed(values), *(line for i in range(len(nest.stores)) for line in lanes.stored(i))]
