# SPDX-License-Identifier: Apache-2.0
"""How kernels are written for a GPU: loop nests as in the plan of the CPU, and calls with kernels of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.codegen.cuda.copy import render_turned
from ngraph_rewrite.codegen.cuda.forms import RowForm
from ngraph_rewrite.codegen.cuda.map import render_map, render_spread
from ngraph_rewrite.codegen.cuda.rows import render_rows
from ngraph_rewrite.codegen.loops import MapNest, RowNest
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.cuda.calls import CALLS
from ngraph_rewrite.plan.cuda.convolutions import CONVOLUTION, convolution_job
from ngraph_rewrite.plan.cuda.grids import grid_for, row_form, row_grid, row_parts, worth_rows
from ngraph_rewrite.plan.cuda.maps import MapForm, map_form, map_grid
from ngraph_rewrite.plan.cuda.products import EPILOGUES, PRODUCTS, product_job
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job, job_of
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.rows import row_job
from ngraph_rewrite.plan.shares import GPU, Grid
from ngraph_rewrite.plan.strips import sizes_for_memory
from ngraph_rewrite.terms.op import Op


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


def _form(nest: MapNest | RowNest, sizes: Sequence[int]) -> RowForm | MapForm:
    """How rows are had, or the indices of a map."""
    return row_form(nest, sizes) if isinstance(nest, RowNest) else map_form(nest, sizes)


def _nest(nest: MapNest | RowNest, form: RowForm | MapForm) -> Source:
    if isinstance(nest, RowNest):
        assert isinstance(form, RowForm)
        return render_rows(nest, form)
    if form.kind == "spread":
        return render_spread(nest, form.width)
    return render_turned(nest) if form.kind == "tiles" else render_map(nest)


def _share(sizes: Sequence[int], reduced: Sequence[bool], nest: MapNest | RowNest) -> Grid:
    """The grid of a nest."""
    return row_grid(sizes, reduced, nest) if isinstance(nest, RowNest) else map_grid(nest, sizes)


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
    _share,
    _own_share,
    _workspaces,
    worth_rows,
    row_parts,
    EPILOGUES,
    totals=False,
    pooling=False,
    strips=sizes_for_memory,
    concurrent=True,
    speed=GPU,
)
