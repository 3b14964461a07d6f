# SPDX-License-Identifier: Apache-2.0
"""Renders a reduction, or what several of them and expressions of their results make of rows, in one of two forms.

*Rows*: all kept loops are outside, the accumulators are variables. *Columns*, when the innermost loop is kept: the
other kept loops are outside, and a block of the innermost one is reduced at once, its accumulators in arrays on the
stack.
"""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.columns import columns
from ngraph_rewrite.codegen.form import Form, block_width
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import RowNest, signature
from ngraph_rewrite.codegen.rows import rows
from ngraph_rewrite.codegen.source import Source

_WIDTH = {"bool": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8} | {
    f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_LINE = 64


def render_rows(nest: RowNest, ahead: int = 0) -> Source:
    """Return the kernel of a row nest; chunks split the first kept loop, and chunk 0 does all if there is none.

    For each workspace, and for each sum over all rows (see `workspaces`), it takes an address, and the bytes that are
    each thread's, or of such a sum each chunk's.

    Args:
        ahead: Of one pass, how many indices of a row by columns are taken in at once while memory is asked for others;
            0 for what is in a cache.

    >>> from ngraph_rewrite.codegen.loops import Operand, Step
    >>> x, y = Operand("float32", ("s", "1")), Operand("float32", ("1", "0"))
    >>> render_rows(RowNest(2, (x,), (Step("sum", "float32", (0,)),), ((1, y),), (0, 1), (False, True))).signature
    ('n0', 'n1', 'x0', 'x0_s0', 'y0')
    """
    form = Form(nest)
    form = Form(nest, ahead) if form.stages.passes == 1 and not nest.few else form
    stem = "rows" if form.stages.passes > 1 else "reduce"
    spare = [name for space in form.spare for name in (space, f"{space}_bytes")]
    names = (*signature(nest), *spare)
    body = "\n".join([*form.start(), *(columns(form) if form.by_columns else rows(form))])
    return rendered(stem, names, nest=body)


def workspaces(nest: RowNest, sizes: tuple[int, ...]) -> list[int]:
    """Return the bytes that a chunk of a row nest needs in each workspace and for each sum over all rows.

    Args:
        sizes: The lengths of its loops.

    >>> from ngraph_rewrite.codegen.loops import Operand, Step
    >>> steps = Step("exp", "float32", (0,)), Step("sum", "float32", (1,)), Step("divide", "float32", (1, 2))
    >>> wide, narrow = Operand("float32", ("s", "1")), Operand("float32", ("1", "0"))
    >>> last = Step("max", "float32", (3,))
    >>> workspaces(RowNest(2, (wide,), (*steps, last), ((4, narrow),), (0, 1), (False, True)), (8, 100))
    [448]
    """
    form = Form(nest)
    length = prod(sizes[dim] for dim in form.reduced)
    row = length * (block_width(length) if form.by_columns else 1)
    totals = ["float64"] * len(nest.totals)
    return [-(-row * _WIDTH[dtype] // _LINE) * _LINE for dtype in form.stages.workspaces + totals]
