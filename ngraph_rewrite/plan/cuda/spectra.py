# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values on a GPU: a block of threads has a matrix, and workspace of its own."""

from __future__ import annotations

from ngraph_rewrite.codegen.library_singular_values import render_svd, space_of_svd
from ngraph_rewrite.codegen.library_spectra import render_eigh, space_of_eigh
from ngraph_rewrite.plan.cuda.factors import grid_of_matrices
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, in_memory
from ngraph_rewrite.terms.op import Op

_BLOCKS = 1024  # that have workspace; after which they go round


def eigh_call(term: Op, groups: Groups) -> Call:
    """The call of eigenvalues of symmetric matrices."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    vectors, dtype = term.definition.short == "eigh", term.dtype.name
    grid = grid_of_matrices(min(count, _BLOCKS), n * n)
    room = space_of_eigh(n, dtype, vectors, "cuda")
    space = Scratch(room * grid.blocks)
    arguments = (count, n, x, *x.layout.strides, OUTPUT, space, room)
    return Call(render_eigh(dtype, vectors, "cuda"), arguments, grid, (space,))


def svd_call(term: Op, groups: Groups) -> Call:
    """The call of singular values of matrices."""
    x = in_memory(term.args[0], groups)
    count, m, n = x.layout.shape
    vectors, dtype = term.definition.short == "svd", term.dtype.name
    grid = grid_of_matrices(min(count, _BLOCKS), m * n)
    room = space_of_svd(m, n, dtype, vectors, "cuda")
    space = Scratch(room * grid.blocks)
    arguments = (count, m, n, x, *x.layout.strides, OUTPUT, space, room)
    return Call(render_svd(dtype, vectors, "cuda"), arguments, grid, (space,))
