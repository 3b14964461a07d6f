# SPDX-License-Identifier: Apache-2.0
"""Calls that compute factors of matrices and solve equations by them: matrices are shared out, and columns."""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.codegen.library_blocked import (
    blocked_names,
    render_blocked_qr,
    render_reflect_panel,
    room_of_blocked_qr,
)
from ngraph_rewrite.codegen.library_factors import (
    COLUMNS,
    WIDTH,
    render_cholesky,
    render_eliminate,
    render_lu,
    render_triangular_solve,
)
from ngraph_rewrite.codegen.library_panels import render_qr, render_reflect, room_of_panel, room_of_tile, tiles_of
from ngraph_rewrite.codegen.library_small import (
    lanes_of,
    render_small_cholesky,
    render_small_lu,
    render_small_triangular,
)
from ngraph_rewrite.codegen.library_tall_factors import (
    most_chunks,
    render_factor_rows,
    render_multiply_rows,
    render_tall_qr,
    room_of_rows,
    room_of_tall_qr,
    rows_of_blocks,
)
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory, in_memory, known
from ngraph_rewrite.plan.shares import Share, loop_share
from ngraph_rewrite.runtime.panel_sizes import LANE_BYTES
from ngraph_rewrite.terms.op import Op

# Nanoseconds of a product and a difference, of a step of a loop over rows, and what a matrix takes beside them.
_EACH, _ROW, _MATRIX = 0.06, 3, 50
# Nanoseconds of an element that is read and written, and of one that is updated in all matrices that lie side by side,
# where rows are exchanged before, and where not.
_READ, _EXCHANGING, _SIDE_BY_SIDE = 0.6, 4.0, 1.0
# Rows of matrices, or less, of which many are done with side by side; of those whose rows are exchanged, which is done
# with all that are left, in the lanes that want it.
SMALL, _EXCHANGED = 16, 12
BLOCKED = 96  # rows of a matrix, or more, whose columns are reflected by blocks of reflections


def factors_call(term: Op, groups: Groups) -> Call:
    """The call of the factors of matrices, which may lie in any order."""
    x = in_memory(term.args[0], groups)
    count, n, _ = x.layout.shape
    is_lu, dtype = term.definition.short == "lu", term.dtype.name
    if _are_small(count, n, dtype, _EXCHANGED if is_lu else SMALL):
        small = (render_small_lu if is_lu else render_small_cholesky)(dtype)
        update = _EXCHANGING if is_lu else _SIDE_BY_SIDE
        return _small_call(small, (count, n, x, *x.layout.strides), n, n + is_lu, dtype, update)
    source = (render_lu if is_lu else render_cholesky)(dtype)
    share = loop_share(count, _MATRIX + n * n * _ROW + n**3 * _EACH / (3 if is_lu else 6))._replace(parted=n > WIDTH)
    space, eliminate = Scratch(n * (WIDTH * term.dtype.itemsize + 8), share.chunks), render_eliminate(dtype, not is_lu)
    arguments = (count, n, x, *x.layout.strides, OUTPUT, space, space.bytes, eliminate)
    return Call(source, arguments, share, (space,), parts=(eliminate,))


def triangular_call(term: Op, groups: Groups) -> Call:
    """The call of solutions for triangles, which may lie in any order."""
    a, b = all_in_memory(term.args, groups)
    count, n, m = known(term)
    lower, unit, dtype = term.attribute("lower"), term.attribute("unit"), term.dtype.name
    if _are_small(count, max(n, m), dtype):
        given = (count, n, m, int(lower), int(unit), a, *a.layout.strides, b, *b.layout.strides)
        return _small_call(render_small_triangular(dtype), given, n, n + m, dtype)
    source = render_triangular_solve(dtype, lower, unit)
    groups_of_columns = -(-m // COLUMNS)
    share = loop_share(count * groups_of_columns, _MATRIX + n * n * (_ROW + min(m, COLUMNS) * _EACH / 2))
    space = Scratch(WIDTH * COLUMNS * term.dtype.itemsize, share.chunks)
    arguments = (count, n, m, a, *a.layout.strides, b, *b.layout.strides, OUTPUT, space, space.bytes)
    return Call(source, arguments, share, (space,))


def _are_small(count: int, n: int, dtype: str, most: int = SMALL) -> bool:
    """Whether matrices of n rows are small enough to lie side by side, and no more than a quarter of lanes empty."""
    lanes = lanes_of(dtype)
    return n <= most and 0 < 3 * -(-count // lanes) * lanes <= 4 * count


def _small_call(
    source: Source, given: tuple[Any, ...], n: int, columns: int, dtype: str, update: float = _SIDE_BY_SIDE
) -> Call:
    """The call of a kernel for matrices of n rows, side by side, with so many columns in workspace."""
    lanes = lanes_of(dtype)
    each = _MATRIX + lanes * n * columns * _READ + n * n * columns * update
    share = loop_share(-(-given[0] // lanes), each)
    space = Scratch(max(n * columns, 1) * LANE_BYTES, share.chunks)
    return Call(source, (*given, OUTPUT, space, space.bytes), share, (space,))


def qr_call(term: Op, groups: Groups) -> Call:
    """The call of orthogonal and triangular factors of matrices, which may lie in any order."""
    x = in_memory(term.args[0], groups)
    count, m, n = x.layout.shape
    dtype, size = term.dtype.name, term.dtype.itemsize
    if m >= BLOCKED:
        time = _MATRIX + m * n * _ROW + 2 * m * n * n * _EACH
        share = loop_share(count, time)._replace(parted=n > WIDTH or most_chunks(m, n, dtype) > 1)
        found = factoring(m, n, dtype, share)
        arguments = (count, m, n, x, *x.layout.strides, OUTPUT, 1, *found.arguments)
        return Call(found.source, arguments, share, found.scratch, parts=found.parts)
    share = loop_share(count, _MATRIX + m * n * _ROW + 4 * m * n * n * _EACH)._replace(parted=n > WIDTH)
    space, reflect = Scratch(room_of_panel(m, n, size), share.chunks), render_reflect(dtype)
    tiles = Scratch(room_of_tile(m, n, size), max(share.chunks, tiles_of(n)))
    parts = (space, space.bytes, reflect, tiles, tiles.bytes)
    arguments = (count, m, n, x, *x.layout.strides, OUTPUT, *parts)
    return Call(render_qr(dtype), arguments, share, (space, tiles), parts=(reflect,))


class Factoring(NamedTuple):
    """A kernel of factors of matrices with many rows, and what it is given beside them, whether vectors are wanted."""

    source: Source
    arguments: tuple[Any, ...]
    scratch: tuple[Scratch, ...]
    parts: tuple[Source, ...]


def factoring(m: int, n: int, dtype: str, share: Share) -> Factoring:
    """The kernel for matrices (m, n), of at least `BLOCKED` rows: few columns are done with by blocks of rows."""
    if n > WIDTH:
        reflect, space = render_reflect_panel(dtype), Scratch(room_of_blocked_qr(m, n, dtype), share.chunks)
        arguments = (space, space.bytes, reflect, *blocked_names(dtype))
        return Factoring(render_blocked_qr(dtype), arguments, (space,), (reflect,))
    parts = (render_factor_rows(dtype), render_multiply_rows(dtype))
    chunks = max(share.chunks, most_chunks(m, n, dtype))
    scratch = Scratch(room_of_tall_qr(m, n, dtype), share.chunks), Scratch(room_of_rows(n, dtype), chunks)
    given = [word for each in scratch for word in (each, each.bytes)]
    return Factoring(render_tall_qr(dtype), (*given, rows_of_blocks(n, dtype), *parts), scratch, parts)
