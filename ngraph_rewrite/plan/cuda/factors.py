# SPDX-License-Identifier: Apache-2.0
"""Factors and equations on a GPU: a block of threads has a matrix, part of a large one, or columns of a right side."""

from __future__ import annotations

from ngraph_rewrite.codegen.cuda.factors import (
    COLUMNS,
    SIDE,
    WIDTH,
    render_cholesky,
    render_lu,
    render_triangular_solve,
)
from ngraph_rewrite.codegen.library_factors import THREADS
from ngraph_rewrite.codegen.library_panels import render_qr
from ngraph_rewrite.plan.cuda.grids import MOST_BLOCKS
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory, in_memory, known
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.terms.op import Op

# Rows up to which a block has a whole matrix; so many matrices are enough to give most multiprocessors one.
_WHOLE, _MANY = THREADS, 128
_ROWS = 64  # of a matrix that a block has, if it has not all
_PANEL, _BESIDE = 1, 2  # phases of LU
_INTEGER = 8  # bytes


def cholesky_calls(term: Op, groups: Groups) -> list[Call]:
    """The calls of the lower factors of matrices: one, or one for each panel of what few large ones are."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    source, given = render_cholesky(term.dtype.name, WIDTH), (count, n, x, *x.layout.strides, OUTPUT)
    if is_whole(count, n):
        return [Call(source, (*given, 0, n, 1), grid_of_matrices(count, n))]
    calls = []
    for left in range(0, n, WIDTH):
        parts = max(1, -(-(n - left - WIDTH) // _ROWS))
        calls.append(Call(source, (*given, left, min(left + WIDTH, n), parts), grid_of_matrices(count * parts, _ROWS)))
    return calls


def lu_calls(term: Op, groups: Groups) -> list[Call]:
    """The calls of factors with exchanged rows: one, or two for each panel of what few large matrices are."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    exchanged = Scratch(max(1, count * n) * _INTEGER)
    source = render_lu(term.dtype.name, WIDTH, COLUMNS)
    given = (count, n, x, *x.layout.strides, OUTPUT, exchanged)
    if is_whole(count, n):
        return [Call(source, (*given, 0, n, _PANEL | _BESIDE, 1), grid_of_matrices(count, n * n), (exchanged,))]
    calls, parts = list[Call](), -(-n // COLUMNS)
    for left in range(0, n, WIDTH):
        panel = left, min(left + WIDTH, n)
        calls.append(
            Call(source, (*given, *panel, _PANEL, 1), grid_of_matrices(count, n), () if left else (exchanged,))
        )
        calls.append(Call(source, (*given, *panel, _BESIDE, parts), grid_of_matrices(count * parts, n * COLUMNS)))
    return calls


def is_whole(count: int, n: int) -> bool:
    """Whether a block has a whole matrix: where others would not help it, or have their own.

    >>> is_whole(1, 100), is_whole(1, 1000), is_whole(1000, 1000)
    (True, False, True)
    """
    return n <= _WHOLE or count >= _MANY


def triangular_call(term: Op, groups: Groups) -> Call:
    """The call of solutions for triangles."""
    a, b = all_in_memory(term.args, groups)
    count, n, m = known(term)
    source = render_triangular_solve(term.dtype.name, term.attribute("lower"), term.attribute("unit"), WIDTH, SIDE)
    arguments = (count, n, m, a, *a.layout.strides, b, *b.layout.strides, OUTPUT)
    return Call(source, arguments, grid_of_matrices(count * -(-m // SIDE), n * min(m, SIDE)))


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
