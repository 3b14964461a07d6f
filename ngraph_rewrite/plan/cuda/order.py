# SPDX-License-Identifier: Apache-2.0
"""Sorts on a GPU: tiles in shared memory, then merges of runs twice as long each time, from one workspace to another.

What is put at indices is sorted too, where too few columns are there to give every thread one: what goes to one place
is then taken together by whoever finds the first of it, in the order of the indices.
"""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.cuda.sorting import Stored, render_merge, render_tiles
from ngraph_rewrite.codegen.library_indexed import (
    render_places,
    render_put_along,
    render_scatter,
    render_segments,
)
from ngraph_rewrite.plan.cuda.grids import grid_for, shared_grid
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.library_calls import how_of
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_plain, known, plain
from ngraph_rewrite.plan.shapes import DTYPE_SIZES, around
from ngraph_rewrite.terms.op import Op

TILE = 1024  # elements that a block sorts: keys and positions, twice each, fit into 48 KiB
_EACH = 2  # elements of a thread, which compares them
# Columns that fill a GPU, and indices that a thread goes through sooner than they are sorted.
_COLUMNS = 1 << 16
FEW = 64
_LARGE = 1 << 31


def sort_calls(term: Op, groups: Groups) -> list[Call]:
    """The calls of a sort, or of one of positions."""
    x, descending = plain(term.args[0], groups), term.attribute("descending")
    dtype = term.args[0].dtype.name
    sizes = around(x.layout.shape, term.attribute("axis"))
    if term.definition.short == "sort":
        return sorting(dtype, descending, sizes, x, Stored(keys=dtype), (OUTPUT,))
    return sorting(dtype, descending, sizes, x, Stored(order="int64"), (OUTPUT,))


def sorting(
    dtype: str,
    descending: bool,
    sizes: tuple[int, int, int],
    x: object,
    result: Stored,
    places: tuple[object, ...],
    *,
    first: tuple[Call, ...] = (),
    in_lines: bool = False,
) -> list[Call]:
    """The calls that sort lines of x, after others.

    Args:
        sizes: Of x before the axis, along it and after it.
        result, places: What is stored, and where.
        in_lines: Whether lines are stored side by side, also where they do not lie so in x.
    """
    outer, n, inner = sizes
    rows, apart = outer * inner, 1 if in_lines else inner
    passes = max(0, -(-n // TILE) - 1).bit_length()
    counted = "int32" if n <= _LARGE else "int64"
    between = Stored(dtype, counted if result.order else "")
    spare = [_workspaces(rows * n, between) for _ in range(min(passes, 2))]
    scratch = tuple(one for each in spare for one in each)
    lines = max(1, TILE // max(n, 1))
    stages = [between] * passes + [result]
    targets = [*(spare[k % 2] for k in range(passes)), places]
    every = (rows, n, inner, lines, apart if not passes else 1, x, *targets[0])
    tiles = -(-rows // lines) * -(-n // TILE)
    source = render_tiles(dtype, descending, stages[0], TILE, counted)
    calls = [*first, Call(source, every, shared_grid(tiles, lines * n, _EACH), scratch)]
    for k in range(1, passes + 1):
        arguments = (rows, n, TILE << (k - 1), apart if k == passes else 1, *targets[k - 1], *targets[k])
        source = render_merge(dtype, descending, stages[k], TILE, counted)
        calls.append(Call(source, arguments, shared_grid(tiles, TILE, _EACH)))
    return calls


def _workspaces(count: int, stored: Stored) -> tuple[Scratch, ...]:
    return tuple([Scratch(count * DTYPE_SIZES[dtype]) for dtype in stored if dtype])


# -- what is put at indices -------------------------------------------------------------------------------------------


def scatter_calls(term: Op, groups: Groups) -> Call | list[Call]:
    """The calls that put rows at indices."""
    indices, updates = all_plain(term.args[1:], groups)
    outer, length, inner = around(known(term), term.attribute("axis"))
    sizes = (outer, prod(indices.layout.shape), inner, length)
    arguments = (*sizes, indices, updates, OUTPUT)
    index_dtype = indices.base.dtype.name
    if _by_columns(*sizes):
        source = render_scatter(how_of(term), term.dtype.name, index_dtype, "cuda")
        return Call(source, arguments, grid_for(outer * inner))
    return _sorted_insertion(term, index_dtype, arguments, along=False)


def put_along_calls(term: Op, groups: Groups) -> Call | list[Call]:
    """The calls that put elements at indices of their own lines."""
    indices, updates = all_plain(term.args[1:], groups)
    axis = term.attribute("axis")
    outer, count, inner = around(updates.layout.shape, axis)
    arguments = (outer, count, inner, known(term)[axis], indices, updates, OUTPUT)
    index_dtype = indices.base.dtype.name
    if _by_columns(*arguments[:4]):
        source = render_put_along(how_of(term), term.dtype.name, index_dtype, "cuda")
        return Call(source, arguments, grid_for(outer * inner))
    return _sorted_insertion(term, index_dtype, arguments, along=True)


def _by_columns(outer: int, count: int, inner: int, length: int) -> bool:
    return outer * inner >= _COLUMNS or count <= FEW or count >= _LARGE or not outer * inner


def _sorted_insertion(term: Op, index_dtype: str, arguments: tuple[object, ...], along: bool) -> list[Call]:
    """Places of indices, these and whose they are in order, and what takes together what has one place."""
    outer, count, inner, length, indices, updates, _ = arguments
    assert isinstance(outer, int) and isinstance(count, int) and isinstance(inner, int) and isinstance(length, int)
    dtype = "int32" if length < _LARGE else "int64"
    sizes = (outer, count, inner) if along else (1, count, 1)
    elements = prod(sizes)
    found, ordered = _workspaces(elements, Stored(dtype)), _workspaces(elements, Stored(dtype, "int32"))
    given = (elements, length, indices, *found)
    first = Call(render_places(index_dtype, dtype), given, grid_for(elements), (*found, *ordered))
    result = Stored(dtype, "int32")
    calls = sorting(dtype, False, sizes, found[0], result, ordered, first=(first,), in_lines=True)
    source = render_segments(how_of(term), term.dtype.name, dtype, along)
    last = (outer, count, inner, length, *ordered, updates, OUTPUT)
    return [*calls, Call(source, last, grid_for(outer * count * inner))]
