# SPDX-License-Identifier: Apache-2.0
"""Running sums, products and extrema on a GPU: a thread for each line where many lie side by side, else blocks."""

from __future__ import annotations

from ngraph_rewrite.codegen.cuda.scans import EACH, Running, render_lines, render_scan
from ngraph_rewrite.plan.cuda.grids import grid_for, shared_grid
from ngraph_rewrite.plan.cuda.order import split
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, known, plain
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.terms.op import Op

SHORT = 32  # elements of a line that a thread goes through sooner than a block scans them
STRETCH = 4096  # elements of a part of a line, at least
_BESIDE, _LINES = 32, 1 << 13  # lines side by side, and in all, that fill a GPU with a thread for each
_FILLED = 528  # blocks that fill a large GPU


def running_calls(term: Op, groups: Groups) -> Call | list[Call]:
    """The calls of a running sum, product or extremum."""
    x = plain(term.args[0], groups)
    outer, n, inner = split(known(term), term.attribute("axis"))
    kind, dtype, reverse = term.definition.short, term.dtype.name, term.attribute("reverse")
    if n <= SHORT or (inner >= _BESIDE and outer * inner >= _LINES):
        source = render_lines(kind, dtype, reverse)
        return Call(source, (outer, n, inner, x, OUTPUT), grid_for(outer * inner))
    parts = max(1, min(2 * _FILLED // max(outer * inner, 1), n // STRETCH))
    sizes, grid = (outer, n, inner, parts, x), shared_grid(outer * inner * parts, n // parts, EACH)
    if parts == 1:
        return Call(render_scan(kind, dtype, reverse, "whole"), (*sizes, OUTPUT), grid)
    running = Running(kind, dtype)
    size = outer * inner * parts * DTYPE_SIZES[running.kept]
    sums = tuple([Scratch(size) for _ in running.names("")])
    totals = Call(render_scan(kind, dtype, reverse, "totals"), (*sizes, *sums), grid, sums)
    return [totals, Call(render_scan(kind, dtype, reverse, "parts"), (*sizes, *sums, OUTPUT), grid)]
