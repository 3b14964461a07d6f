# SPDX-License-Identifier: Apache-2.0
"""Factors and equations on a GPU: a block of threads has a matrix, or some columns of a right side."""

from __future__ import annotations

from ngraph_rewrite.codegen.library_factors import THREADS, render_cholesky, render_lu, render_triangular_solve
from ngraph_rewrite.codegen.library_panels import render_qr
from ngraph_rewrite.plan.cuda.grids import MOST_BLOCKS
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, all_in_memory, in_memory, known
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.terms.op import Op

_COLUMNS = 8  # of a block


def factors_call(term: Op, groups: Groups) -> Call:
    """The call of the factors of matrices."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    render = render_lu if term.definition.short == "lu" else render_cholesky
    arguments = (count, n, x, *x.layout.strides, OUTPUT)
    return Call(render(term.dtype.name, "cuda"), arguments, grid_of_matrices(count, n * n))


def triangular_call(term: Op, groups: Groups) -> Call:
    """The call of solutions for triangles."""
    a, b = all_in_memory(term.args, groups)
    count, n, m = known(term)
    source = render_triangular_solve(term.dtype.name, term.attribute("lower"), term.attribute("unit"), "cuda")
    arguments = (count, n, m, a, *a.layout.strides, b, *b.layout.strides, OUTPUT, _COLUMNS)
    return Call(source, arguments, grid_of_matrices(count * -(-m // _COLUMNS), n * min(m, _COLUMNS)))


def qr_call(term: Op, groups: Groups) -> Call:
    """The call of orthogonal and triangular factors of matrices."""
    x = in_memory(term.args[0], groups)
    count, m, n = x.layout.shape
    arguments = (count, m, n, x, *x.layout.strides, OUTPUT)
    return Call(render_qr(term.dtype.name, "cuda"), arguments, grid_of_matrices(count, max(m, n)))


def grid_of_matrices(blocks: int, elements: int) -> Grid:
    """Blocks of as many threads as have something to do at first."""
    threads = WARP
    while threads < THREADS and threads < elements:
        threads *= 2
    return Grid(max(1, min(blocks, MOST_BLOCKS)), threads)
