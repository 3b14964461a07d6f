# SPDX-License-Identifier: Apache-2.0
"""Calls that sort lines: side by side by a network, or by digits of keys."""

from __future__ import annotations

from ngraph_rewrite.codegen.library_order import alike, is_side_by_side, render_argsort, render_sort
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, plain
from ngraph_rewrite.plan.shapes import around
from ngraph_rewrite.plan.shares import Share, loop_share, sorting_share
from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import as_dtype

_SHORT_TIME = 2  # nanoseconds of an element


def sort_call(term: Op, groups: Groups) -> Call:
    """The call of a sort of lines, or of their positions."""
    x = plain(term.args[0], groups)
    outer, n, inner = around(x.layout.shape, term.attribute("axis"))
    order, dtype, descending = term.definition.short == "argsort", term.args[0].dtype.name, term.attribute("descending")
    source = (render_argsort if order else render_sort)(dtype, descending, alike(dtype, n))
    workspace = [Scratch(outer * n * inner * term.dtype.itemsize) for _ in range(2)]
    first = OUTPUT if inner == 1 else workspace[0]
    used = (workspace[1],) if inner == 1 else (workspace[0], workspace[1])
    arguments = (outer * inner, n, inner, x, first, workspace[1], OUTPUT)
    return Call(source, arguments, _share(dtype, order, outer * inner, n), used)


def _share(dtype: str, order: bool, rows: int, n: int) -> Share:
    """Lines that are sorted side by side are no less than a vector has lanes, if there are as many."""
    if not is_side_by_side(dtype, order, n):
        return sorting_share(rows, n)
    width = 8 if order or as_dtype(dtype).itemsize == 8 else 4
    return loop_share(rows, n * _SHORT_TIME)._replace(least=vectors().bytes // width)
