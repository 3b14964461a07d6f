# SPDX-License-Identifier: Apache-2.0
"""Running sums, products and extrema on a GPU: a thread for each line where many lie side by side, else blocks."""

from __future__ import annotations

from ngraph_rewrite.codegen.cuda.scans import EACH, Running, render_lines, render_scan
from ngraph_rewrite.plan.cuda.grids import grid_for, shared_grid
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, known, plain
from ngraph_rewrite.plan.shapes import DTYPE_SIZES, around
from ngraph_rewrite.terms.op import Op

SHORT = 32  # elements of a line that a thread goes through sooner than a block scans them
STRETCH = 4096  # elements of a part of a line that a block has, at least
LEAST = 64  # of one that a thread has
# Lines side by side that share what is fetched; threads that read enough to be worth it, and that fill a GPU.
_BESIDE, _LINES, _THREADS = 32, 1 << 13, 1 << 18
_FILLED = 528  # blocks that fill a large GPU


def running_calls(term: Op, groups: Groups) -> Call | list[Call]:
    """The calls of a running sum, product or extremum."""
    x = plain(term.args[0], groups)
    outer, n, inner = around(known(term), term.attribute("axis"))
    kind, dtype, reverse = term.definition.short, term.dtype.name, term.attribute("reverse")
    running, lines = Running(kind, dtype), outer * inner
    most = 1 if running.is_scaled else max(1, min(_THREADS // max(lines, 1), n // LEAST))
    if n <= SHORT or (inner >= _BESIDE and lines * most >= _LINES):
        return _lines((outer, n, inner), (kind, dtype, reverse), most if n > SHORT else 1, x)
    parts = max(1, min(2 * _FILLED // max(lines, 1), n // STRETCH))
    sizes, grid = (outer, n, inner, parts, x), shared_grid(lines * parts, n // parts, EACH)
    if parts == 1:
        return Call(render_scan(kind, dtype, reverse, "whole"), (*sizes, OUTPUT), grid)
    size = lines * parts * DTYPE_SIZES[running.kept]
    sums = tuple([Scratch(size) for _ in running.names("")])
    totals = Call(render_scan(kind, dtype, reverse, "totals"), (*sizes, *sums), grid, sums)
    return [totals, Call(render_scan(kind, dtype, reverse, "parts"), (*sizes, *sums, OUTPUT), grid)]


def _lines(sizes: tuple[int, int, int], what: tuple[str, str, bool], parts: int, x: Load) -> Call | list[Call]:
    """The calls in which a thread has a line, or a part of it."""
    (outer, n, inner), (kind, dtype, _) = sizes, what
    stretch = max(1, -(-n // parts))
    parts = max(1, -(-n // stretch))
    given, grid = (outer, n, inner, parts, stretch, x), grid_for(outer * inner * parts)
    if parts == 1:
        return Call(render_lines(*what, "whole"), (*given, OUTPUT), grid)
    sums = Scratch(outer * inner * parts * DTYPE_SIZES[Running(kind, dtype).kept])
    totals = Call(render_lines(*what, "totals"), (*given, sums), grid, (sums,))
    return [totals, Call(render_lines(*what, "parts"), (*given, sums, OUTPUT), grid)]
