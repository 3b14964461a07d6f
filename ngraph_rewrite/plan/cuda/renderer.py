# SPDX-License-Identifier: Apache-2.0
"""How kernels are written for a GPU: loop nests as in the plan of the CPU, and calls with kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.codegen.cuda.copy import render_turned, turned
from ngraph_rewrite.codegen.cuda.map import render_map
from ngraph_rewrite.codegen.cuda.rows import RowForm, render_rows
from ngraph_rewrite.codegen.loops import MapNest, RowNest
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.cuda.calls import CALLS
from ngraph_rewrite.plan.cuda.convolutions import CONVOLUTION, convolution_job
from ngraph_rewrite.plan.cuda.grids import grid_for, nest_grid, row_form, row_parts
from ngraph_rewrite.plan.cuda.products import EPILOGUES, PRODUCTS, product_job
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job, job_of
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.rows import row_job
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.terms.op import Op

_TILED = 8  # elements along memory, on either side of a copy, that are worth a tile


def _job(term: Op, groups: Groups) -> Job:
    """The work of a group.

    Raises:
        CopyFirst: if a view in it needs its argument in memory.
        KernelError: if no kernel computes its op.
    """
    if term in groups.rows:
        return row_job(term, groups)
    if term.definition.name in PRODUCTS:
        return product_job(term, groups)
    if term.definition.name == CONVOLUTION:
        return convolution_job(term, groups)
    return job_of(term, groups, CALLS)


def _form(nest: MapNest | RowNest, sizes: Sequence[int]) -> RowForm:
    """How rows are had; of a copy, whether there is enough of it either way to go by tiles."""
    along = turned(nest)
    if along is None:
        return row_form(nest, sizes)
    return RowForm("tiles" if min(sizes[dim] for dim in along) >= _TILED else "")


def _nest(nest: MapNest | RowNest, form: RowForm) -> Source:
    if isinstance(nest, RowNest):
        return render_rows(nest, form)
    return render_turned(nest) if form.kind == "tiles" else render_map(nest)


def _own_share(shape: Sequence[int], elements: int) -> Grid:
    """A thread for each element of the result."""
    return grid_for(prod(shape))


def _workspaces(nest: RowNest, sizes: tuple[int, ...]) -> Sequence[int]:
    """Nothing is left in memory from one pass to the next."""
    return ()


CUDA = Renderer(
    "cuda",
    _job,
    _form,
    _nest,
    nest_grid,
    _own_share,
    _workspaces,
    row_parts,
    EPILOGUES,
    totals=False,
    pooling=False,
    echoes=False,
    concurrent=True,
)
