# SPDX-License-Identifier: Apache-2.0
"""The product of few rows with a matrix that is read once: some rows of B at a time, along all columns.

Where A has few rows, what takes time is to read B. Its rows are read as they lie in memory, where the processor reads
ahead by itself: a few numbers of some rows are in registers while they are multiplied with numbers of each row of A,
and what that gives is added to C, which is in a cache. So k is summed by a few at a time, and then these sums are.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import (
    I64,
    Words,
    ask,
    everywhere,
    loop,
    mask,
    masked_load,
    masked_store,
    multiply_add,
    plus,
    pointer,
    times,
    words,
)

_VECTORS = 2  # of each row of B
# Bytes that come together, and how far ahead they are asked for: by then the processor has them in its second cache.
_LINE, _AHEAD = 64, 512


def sweep_module(dtype: str) -> str:
    """LLVM IR of a function of eleven int64 that puts a product into C or adds it, ``ngraph_rewrite_sweep_DTYPE``.

    Its arguments are those of a tile (`ngraph_rewrite.runtime.tiles`), for any number of rows and columns; rows of B
    have unit stride.
    """
    module, own = ir.Module(f"sweep {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 11), f"ngraph_rewrite_sweep_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    rows, a, down, along, b, b_down, k, c, c_down, columns, adds = function.args
    some = 8 if own.tile.rows > 8 else 4  # registers allow
    whole = builder.sub(k, builder.srem(k, I64(some)))
    strips = {(count, part): _strip(module, own, count, part) for count in (some, 1) for part in (False, True)}
    wide = _VECTORS * own.tile.lanes
    full = builder.sub(columns, builder.srem(columns, I64(wide)))

    def sweep(first: Any, count: int) -> None:
        """Go along all columns with so many rows of B."""
        begun = builder.zext(builder.icmp_signed(">", first, I64(0)), I64)
        more = builder.or_(adds, begun)
        place_a, row = builder.add(a, builder.mul(first, along)), builder.add(b, builder.mul(first, b_down))
        for part, (start, stop) in enumerate(((I64(0), full), (full, columns))):
            with loop(builder, start, stop, wide) as j:
                offset = builder.mul(j, I64(own.size))
                given = [rows, place_a, down, along, builder.add(row, offset), b_down, builder.add(c, offset), c_down]
                builder.call(strips[count, bool(part)], [*given, more, builder.sub(columns, j)])

    with loop(builder, I64(0), whole, some) as first:
        sweep(first, some)
    with loop(builder, whole, k) as first:
        sweep(first, 1)
    with builder.if_then(builder.icmp_signed("==", builder.or_(k, adds), I64(0))):
        _clear(builder, own, rows, columns, c, c_down)
    builder.ret_void()
    return str(module)


def _strip(module: Any, own: Words, count: int, part: bool) -> Any:
    """A function: some rows of B, two vectors of each, times all rows of A.

    Args:
        part: Whether there are fewer columns than in two vectors.
    """
    name = f"strip_{count}_{'part' if part else 'whole'}"
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 10), name)
    function.linkage = "internal"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    rows, a, down, along, b, b_down, c, c_down, adds, columns = function.args
    masks = [mask(builder, own, columns, v * own.tile.lanes) if part else None for v in range(_VECTORS)]
    held = []
    for number in range(count):
        row = builder.add(b, builder.mul(b_down, I64(number)))
        for ahead in range(_AHEAD, _AHEAD + _VECTORS * own.tile.lanes * own.size, _LINE):
            ask(builder, builder.add(row, I64(ahead)), 3)
        held.append([_load(builder, own, row, v, masks[v]) for v in range(_VECTORS)])
    with builder.if_else(builder.trunc(adds, ir.IntType(1))) as branches:
        for branch, adding in zip(branches, (True, False), strict=True):
            with branch, loop(builder, I64(0), rows) as i:
                target = builder.add(c, builder.mul(c_down, i))
                for v, sums in enumerate(_sums(builder, own, builder.add(a, builder.mul(down, i)), along, held)):
                    if adding:
                        sums = plus(builder, own, _load(builder, own, target, v, masks[v]), sums)
                    _store(builder, own, sums, target, v, masks[v])
    builder.ret_void()
    return function


def _sums(builder: Any, own: Words, a: Any, along: Any, held: list[list[Any]]) -> list[Any]:
    """The sums of numbers of a row of A times what is held of rows of B."""
    found: list[Any] = []
    for number, row in enumerate(held):
        place = builder.add(a, builder.mul(along, I64(number)))
        value = everywhere(builder, builder.load(builder.inttoptr(place, own.element.as_pointer())), own.tile.lanes)
        if number == 0:
            found = [times(builder, own, value, x) for x in row]
        else:
            found = [multiply_add(builder, own, value, x, sums) for x, sums in zip(row, found, strict=True)]
    return found


def _clear(builder: Any, own: Words, rows: Any, columns: Any, c: Any, c_down: Any) -> None:
    """Put zeros where C is: there is nothing to sum."""
    with loop(builder, I64(0), rows) as i, loop(builder, I64(0), columns, own.tile.lanes) as j:
        row = builder.add(builder.add(c, builder.mul(c_down, i)), builder.mul(j, I64(own.size)))
        _store(builder, own, ir.Constant(own.vector, None), row, 0, mask(builder, own, builder.sub(columns, j), 0))


def _load(builder: Any, own: Words, row: Any, number: int, lanes: Any) -> Any:
    place = pointer(builder, builder.add(row, I64(number * own.tile.lanes * own.size)), own)
    return builder.load(place, align=own.size) if lanes is None else masked_load(builder, own, place, lanes)


def _store(builder: Any, own: Words, value: Any, row: Any, number: int, lanes: Any) -> None:
    place = pointer(builder, builder.add(row, I64(number * own.tile.lanes * own.size)), own)
    if lanes is None:
        builder.store(value, place, align=own.size)
    else:
        masked_store(builder, own, value, place, lanes)
