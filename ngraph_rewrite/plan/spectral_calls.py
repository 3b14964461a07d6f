# SPDX-License-Identifier: Apache-2.0
"""Calls that find eigenvalues and singular values: matrices are shared out, or the rows of few."""

from __future__ import annotations

from ngraph_rewrite.codegen.library_bidiagonal import render_column_sums, render_reflect_rows
from ngraph_rewrite.codegen.library_blocked import blocked_names
from ngraph_rewrite.codegen.library_blocks import (
    COLUMNS,
    render_blocks,
    render_reflect_blocks,
    render_symmetric_blocks,
    render_symmetric_product,
    render_tridiagonal,
)
from ngraph_rewrite.codegen.library_divided import (
    render_blocked_eigvalsh,
    render_divided_eigh,
    space_of_blocked_eigvalsh,
    space_of_divided,
)
from ngraph_rewrite.codegen.library_divided_singular import (
    render_bidiagonal_pieces,
    render_divided_svd,
    render_singular_deflate,
    space_of_divided_svd,
)
from ngraph_rewrite.codegen.library_joining import (
    render_deflate,
    render_gathered,
    render_multiplied,
    render_pieces,
    render_secular,
    render_weights,
)
from ngraph_rewrite.codegen.library_panels import render_reflect, room_of_tile, tiles_of
from ngraph_rewrite.codegen.library_rotations import render_rotate
from ngraph_rewrite.codegen.library_singular_values import render_svd, space_of_svd
from ngraph_rewrite.codegen.library_spectra import render_eigh, space_of_eigh
from ngraph_rewrite.codegen.library_tall import GROUP, render_tall_svd, render_turned_rows, space_of_tall_svd
from ngraph_rewrite.codegen.library_tridiagonal import render_symmetric_update
from ngraph_rewrite.codegen.parting import MOST
from ngraph_rewrite.plan.factor_calls import BLOCKED, factoring
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, in_memory
from ngraph_rewrite.plan.shares import Share, loop_share
from ngraph_rewrite.runtime.panel_sizes import STRIP
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import as_dtype

# Nanoseconds of a product and a sum, of a rotation, and what a matrix takes beside them.
_EACH, _ROTATION, _MATRIX = 0.06, 15, 200
# Matrices of `BLOCKED` rows or more, and so many times as many as columns, have the singular values of a triangle; of
# so few columns, without vectors, and one with them, they are found sooner in the matrix itself.
_TALL, _NARROW = 1.5, 2
# Rows of a matrix, or more, that becomes tridiagonal some rows at a time for its eigenvalues alone.
BLOCKED_VALUES = 256
DIVIDED = 96  # rows of the shorter side of a matrix, or more, whose vectors are found by division


def eigh_call(term: Op, groups: Groups) -> Call:
    """The call of eigenvalues of symmetric matrices, which may lie in any order."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    vectors, dtype = term.definition.short == "eigh", term.dtype.name
    divided = vectors and n >= DIVIDED
    time = _MATRIX + n * n * _ROTATION + n**3 * (6 if vectors and not divided else 2) * _EACH
    share, update = loop_share(count, time)._replace(parted=True), render_symmetric_update(dtype)
    if divided:
        return _divided_call((count, n, x, *x.layout.strides, OUTPUT), share, n, dtype)
    if n >= BLOCKED_VALUES:
        return _blocked_values_call((count, n, x, *x.layout.strides, OUTPUT), share, n, dtype)
    space = Scratch(space_of_eigh(n, dtype, vectors), share.chunks)
    arguments = (count, n, x, *x.layout.strides, OUTPUT, space, space.bytes, update)
    call = Call(render_eigh(dtype, vectors), arguments, share, (space,), parts=(update,))
    return _with_parts(call, share.chunks, n, n, dtype) if vectors else call


def _blocked_values_call(given: tuple[object, ...], share: Share, n: int, dtype: str) -> Call:
    """The call of eigenvalues of matrices of n rows that become tridiagonal some rows at a time."""
    parts = (render_tridiagonal(dtype), render_symmetric_product(dtype), render_symmetric_blocks(dtype))
    space = Scratch(space_of_blocked_eigvalsh(n, dtype), share.chunks)
    arguments = (*given, space, space.bytes, *parts, *blocked_names(dtype))
    return Call(render_blocked_eigvalsh(dtype), arguments, share, (space,), parts=parts)


def _divided_call(given: tuple[object, ...], share: Share, n: int, dtype: str) -> Call:
    """The call of a kernel that divides matrices of n rows, and launches what finds and joins their pieces."""
    parts = (
        render_tridiagonal(dtype),
        render_symmetric_product(dtype),
        render_symmetric_blocks(dtype),
        render_blocks(dtype),
        render_reflect_blocks(dtype),
        render_pieces(dtype),
        render_deflate(dtype),
        render_secular(dtype),
        render_weights(),
        render_gathered(dtype),
        render_multiplied(dtype),
    )
    space = Scratch(space_of_divided(n, dtype), share.chunks)
    panels = Scratch(n * COLUMNS * as_dtype(dtype).itemsize, max(share.chunks, min(-(-n // COLUMNS), MOST)))
    tile = [f"product {word} {dtype}" for word in ("tile", "rows", "columns")]
    arguments = (*given, space, space.bytes, *parts, panels, *tile)
    return Call(render_divided_eigh(dtype), arguments, share, (space, panels), parts=parts)


def svd_call(term: Op, groups: Groups) -> Call:
    """The call of singular values of matrices, which may lie in any order."""
    x = in_memory(term.args[0], groups)
    count, m, n = x.layout.shape
    vectors, dtype = term.definition.short == "svd", term.dtype.name
    given = (count, m, n, x, *x.layout.strides, OUTPUT)
    if m >= BLOCKED and m >= _TALL * n and n > _NARROW - vectors:
        return _tall_svd_call(given, count, m, n, dtype, vectors)
    return _svd_call(given, _share_of_svd(count, m, n, vectors), m, n, dtype, vectors)


def _share_of_svd(count: int, m: int, n: int, vectors: bool) -> Share:
    """How so many matrices (m, n) are shared out."""
    time = _MATRIX + 2 * n * n * _ROTATION + m * n * n * (12 if vectors and n < DIVIDED else 4) * _EACH
    return loop_share(count, time)._replace(parted=True)


def _svd_call(given: tuple[object, ...], share: Share, m: int, n: int, dtype: str, vectors: bool) -> Call:
    """The call of singular values of matrices (m, n), with their vectors or without."""
    if vectors and n >= DIVIDED:
        return _divided_svd_call(given, share, m, n, dtype)
    space = Scratch(space_of_svd(m, n, dtype, vectors), share.chunks)
    parts = (render_column_sums(dtype), render_reflect_rows(dtype))
    arguments = (*given, space, space.bytes, *parts)
    call = Call(render_svd(dtype, vectors), arguments, share, (space,), parts=parts)
    return _with_parts(call, share.chunks, m, n, dtype) if vectors else call


def _tall_svd_call(given: tuple[object, ...], count: int, m: int, n: int, dtype: str, vectors: bool) -> Call:
    """The call of singular values of matrices (m, n) of many more rows than columns, by those of triangles."""
    time = _MATRIX + 2 * n * n * _ROTATION + (m * n * n * (6 if vectors else 2) + 12 * n**3) * _EACH
    share = loop_share(count, time)._replace(parted=True)
    inner = _svd_call((), share, n, n, dtype, vectors)
    factors, multiply = factoring(m, n, dtype, share), render_turned_rows(dtype)
    space = Scratch(space_of_tall_svd(m, n, dtype), share.chunks)
    panels = Scratch(n * COLUMNS * as_dtype(dtype).itemsize, max(share.chunks, min(-(-m // GROUP), MOST)))
    turning = (multiply, panels, panels.bytes) if vectors else (0, 0, 0)
    arguments = (*given, space, space.bytes, *turning, *blocked_names(dtype))
    arguments = (*arguments, factors.source, *factors.arguments, inner.source, *inner.arguments)
    scratch = (space, *factors.scratch, *inner.scratch)
    parts = (factors.source, *factors.parts, inner.source, *inner.parts)
    if vectors:
        scratch, parts = (*scratch, panels), (*parts, multiply)
    source = render_tall_svd(dtype, vectors, len(factors.arguments), len(inner.arguments))
    return Call(source, arguments, share, scratch, parts=parts)


def _divided_svd_call(given: tuple[object, ...], share: Share, m: int, n: int, dtype: str) -> Call:
    """The call of a kernel that divides matrices (m, n), and launches what finds and joins their pieces."""
    parts = (
        render_column_sums(dtype),
        render_reflect_rows(dtype),
        render_blocks(dtype),
        render_reflect_blocks(dtype),
        render_bidiagonal_pieces(dtype),
        render_singular_deflate(dtype),
        render_secular(dtype, squares=True),
        render_weights(squares=True),
        render_gathered(dtype),
        render_multiplied(dtype, squares=True),
    )
    space = Scratch(space_of_divided_svd(m, n, dtype), share.chunks)
    panels = Scratch(m * COLUMNS * as_dtype(dtype).itemsize, max(share.chunks, min(-(-n // COLUMNS), MOST)))
    tile = [f"product {word} {dtype}" for word in ("tile", "rows", "columns")]
    arguments = (*given, space, space.bytes, *parts, panels, *tile)
    return Call(render_divided_svd(dtype), arguments, share, (space, panels), parts=parts)


def _with_parts(call: Call, chunks: int, m: int, n: int, dtype: str) -> Call:
    """A call whose kernel, of so many chunks, launches others that rotate and reflect columns, for matrices (m, n)."""
    rotate, reflect, size = render_rotate(dtype), render_reflect(dtype), as_dtype(dtype).itemsize
    strips = Scratch(n * STRIP * size, max(chunks, min(-(-m // STRIP), MOST)))
    tiles = Scratch(room_of_tile(m, n, size), max(chunks, tiles_of(n)))
    arguments = (*call.arguments, rotate, strips, reflect, tiles, tiles.bytes)
    return call._replace(
        arguments=arguments, scratch=(*call.scratch, strips, tiles), parts=(*call.parts, rotate, reflect)
    )
