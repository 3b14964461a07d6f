# SPDX-License-Identifier: Apache-2.0
"""The product of few rows with columns that lie along what is summed: dot products of rows, of which nothing is packed.

A vector of each of some rows of A is multiplied with one of each of some columns of B, as they lie in memory, and lanes
are added up at the end: a column is read once, and is in the first cache for the rows that follow. The lanes of several
columns are added up together, two vectors becoming one at each step.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import (
    I32,
    I64,
    Words,
    loop,
    mask,
    masked_load,
    multiply_add,
    plus,
    pointer,
    words,
)

_ROWS = (4, 2, 1)
# Sums that depend on each other wait: of one row, each is made of so many.
_APART = 2


def dots_module(dtype: str) -> str:
    """LLVM IR of a function of eleven int64 that puts a product into C or adds it, ``ngraph_rewrite_dots_DTYPE``.

    Its arguments are those of a tile (`ngraph_rewrite.runtime.tiles`), for any number of rows and columns, but for the
    step from row to row of B, which is that from column to column; rows of A and columns of B have unit stride.
    """
    module, own = ir.Module(f"dots {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 11), f"ngraph_rewrite_dots_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    rows, a, down, _, b, b_across, k, c, c_down, columns, adds = function.args
    some = min(4 if own.tile.rows > 8 else 2, own.tile.lanes)  # registers allow
    blocks = {(r, count): _block(module, own, r, count) for r in _ROWS for count in (some, 1)}
    whole = builder.sub(columns, builder.srem(columns, I64(some)))
    for start, stop, count in ((I64(0), whole, some), (whole, columns, 1)):
        with loop(builder, start, stop, count) as j:
            column = builder.add(b, builder.mul(j, b_across))
            target = builder.add(c, builder.mul(j, I64(own.size)))
            begin: Any = I64(0)
            for r in _ROWS:
                end = builder.sub(rows, builder.srem(builder.sub(rows, begin), I64(r)))
                with loop(builder, begin, end, r) as i:
                    row = builder.add(a, builder.mul(i, down))
                    place = builder.add(target, builder.mul(i, c_down))
                    builder.call(blocks[r, count], [row, down, column, b_across, k, place, c_down, adds])
                begin = end
    builder.ret_void()
    return str(module)


def _block(module: Any, own: Words, rows: int, columns: int) -> Any:
    """A function: some rows of A times some columns of B."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 8), f"block_{rows}_{columns}")
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    a, down, b, across, k, c, c_down, adds = function.args
    places = [_places(builder, *told) for told in ((a, down, rows), (b, across, columns))]
    sums = [ir.Constant(own.vector, None)] * (rows * columns)
    start: Any = I64(0)
    for apart in (_APART, 1) if rows == 1 else (1,):
        stop = builder.sub(k, builder.srem(builder.sub(k, start), I64(apart * own.tile.lanes)))
        sums = _summed(builder, own, places, sums, (start, stop), apart)
        start = stop
    lanes = mask(builder, own, builder.sub(k, start), 0)
    left, right = ([masked_load(builder, own, _at(builder, own, x, start), lanes) for x in side] for side in places)
    sums = _multiplied(builder, own, left, right, sums)
    added = builder.trunc(adds, ir.IntType(1))
    for i in range(rows):
        found = _across(builder, own, sums[i * columns : (i + 1) * columns])
        target = builder.inttoptr(builder.add(c, builder.mul(c_down, I64(i))), found.type.as_pointer())
        # what is there before the first part of k may be anything, such as numbers that are slow to add
        before = builder.select(added, builder.load(target, align=own.size), ir.Constant(found.type, None))
        builder.store(plus(builder, own, before, found), target, align=own.size)
    builder.ret_void()
    return function


def _places(builder: Any, first: Any, step: Any, count: int) -> list[Any]:
    return [builder.add(first, builder.mul(step, I64(i))) for i in range(count)]


def _at(builder: Any, own: Words, place: Any, number: Any) -> Any:
    return pointer(builder, builder.add(place, builder.mul(number, I64(own.size))), own)


def _summed(
    builder: Any, own: Words, places: list[list[Any]], sums: list[Any], part: tuple[Any, Any], apart: int
) -> list[Any]:
    """Sums, and what whole vectors of a part of k add to them: to several of each, which are added up at its end."""
    (start, stop), before, lanes = part, builder.block, own.tile.lanes
    head, body, done = (builder.append_basic_block(name) for name in ("vectors", "vector", "summed"))
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(I64)
    known = [[builder.phi(own.vector) for _ in sums] for _ in range(apart)]
    builder.cbranch(builder.icmp_signed("<", number, stop), body, done)
    builder.position_at_end(body)
    later = []
    for i, those in enumerate(known):
        first = builder.add(number, I64(i * lanes))
        left, right = ([builder.load(_at(builder, own, x, first), align=own.size) for x in side] for side in places)
        later.append(_multiplied(builder, own, left, right, those))
    following = builder.add(number, I64(apart * lanes))
    builder.branch(head)
    number.add_incoming(start, before)
    number.add_incoming(following, body)
    zeros = [ir.Constant(own.vector, None)] * len(sums)
    for those, begin, end in zip(known, [sums] + [zeros] * (apart - 1), later, strict=True):
        for phi, first, last in zip(those, begin, end, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(last, body)
    builder.position_at_end(done)
    found = list(known[0])
    for those in known[1:]:
        found = [plus(builder, own, x, y) for x, y in zip(found, those, strict=True)]
    return found


def _multiplied(builder: Any, own: Words, left: list[Any], right: list[Any], sums: list[Any]) -> list[Any]:
    """Sums, and the products of each row with each column."""
    pairs = ((x, y) for x in left for y in right)
    return [multiply_add(builder, own, x, y, z) for (x, y), z in zip(pairs, sums, strict=True)]


def _across(builder: Any, own: Words, vectors: list[Any]) -> Any:
    """The sums of the lanes of each of some vectors, side by side."""
    count = len(vectors)
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_neighbours(builder, own, x, y, own.tile.lanes) for x, y in pairs]
    (found,), lanes = vectors, own.tile.lanes
    while lanes > count:
        lanes //= 2
        found = _neighbours(builder, own, found, found, lanes)
    return found


def _neighbours(builder: Any, own: Words, x: Any, y: Any, lanes: int) -> Any:
    """The sums of neighbours in two vectors, those of the second behind those of the first, `lanes` in all."""
    orders = ([2 * i + odd for i in range(lanes)] for odd in (0, 1))
    kind = ir.VectorType(I32, lanes)
    return plus(builder, own, *(builder.shuffle_vector(x, y, ir.Constant(kind, order)) for order in orders))
