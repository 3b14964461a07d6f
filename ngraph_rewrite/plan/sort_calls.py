# SPDX-License-Identifier: Apache-2.0
"""Calls that sort lines: side by side by a network, by pivots where vectors are compressed, else by digits of keys."""

from __future__ import annotations

from ngraph_rewrite.codegen.library_long_lines import DTYPES, render_buckets, render_long_lines, render_sort_pieces
from ngraph_rewrite.codegen.library_order import alike, is_side_by_side, render_argsort, render_sort
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, plain
from ngraph_rewrite.plan.shapes import around
from ngraph_rewrite.plan.shares import Share, loop_share, sorting_share
from ngraph_rewrite.runtime.features import compresses, vectors
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import as_dtype

_LEAST = 100  # elements of a line that is sorted by pivots
_FEW = 72  # elements of a line that even alone is sorted sooner by a network
_FULL = 1024  # elements of lines that are sorted sooner side by side, if there are as many as a vector has lanes
_MOST = 1 << 32  # elements whose positions fit below a key
_LONG_TIME, _SHORT_TIME = 3, 2  # nanoseconds of an element


def sort_call(term: Op, groups: Groups) -> Call:
    """The call of a sort of lines, or of their positions."""
    x = plain(term.args[0], groups)
    outer, n, inner = around(x.layout.shape, term.attribute("axis"))
    order, dtype, descending = term.definition.short == "argsort", term.args[0].dtype.name, term.attribute("descending")
    if inner == 1 and _is_long(dtype, order, outer, n):
        parts = render_buckets(dtype, descending, order), render_sort_pieces(dtype, descending, order)
        share = loop_share(outer, n * _LONG_TIME)._replace(parted=True)
        source = render_long_lines(dtype, descending, order)
        return Call(source, (outer, n, x, OUTPUT, *parts), share, parts=parts)
    source = (render_argsort if order else render_sort)(dtype, descending, alike(dtype, n))
    workspace = [Scratch(outer * n * inner * term.dtype.itemsize) for _ in range(2)]
    first = OUTPUT if inner == 1 else workspace[0]
    used = (workspace[1],) if inner == 1 else (workspace[0], workspace[1])
    arguments = (outer * inner, n, inner, x, first, workspace[1], OUTPUT)
    return Call(source, arguments, _share(dtype, order, outer * inner, n), used)


def _is_long(dtype: str, order: bool, rows: int, n: object) -> bool:
    """Whether lines are sorted one by one, by pivots."""
    if dtype not in DTYPES or not compresses() or not isinstance(n, int) or n >= _MOST:
        return False
    if not is_side_by_side(dtype, order, n):
        return n >= _LEAST
    return n > _FEW and rows * _FULL <= n * (vectors().bytes // (8 if order else as_dtype(dtype).itemsize))


def _share(dtype: str, order: bool, rows: int, n: int) -> Share:
    """Lines that are sorted side by side are no less than a vector has lanes, if there are as many."""
    if not is_side_by_side(dtype, order, n):
        return sorting_share(rows, n)
    width = 8 if order or as_dtype(dtype).itemsize == 8 else 4
    return loop_share(rows, n * _SHORT_TIME)._replace(least=vectors().bytes // width)
