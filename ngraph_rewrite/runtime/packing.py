# SPDX-License-Identifier: Apache-2.0
"""Parts of matrices put in the order in which tiles of a product read them, in vector instructions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import (
    I32,
    I64,
    Words,
    interleaved_halves,
    loop,
    mask,
    masked_load,
    pointer,
    words,
)


def pack_module(dtype: str) -> str:
    """LLVM IR of a function of seven int64 that packs a part of a matrix, ``ngraph_rewrite_pack_DTYPE``.

    Its arguments: the source, the steps of its rows and columns; the target, the step of its rows; the number of rows;
    the number of columns, at least 1; steps in bytes. A row of the target is whole vectors; what is more than the
    columns is any number.
    """
    module, own = ir.Module(f"pack {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 7), f"ngraph_rewrite_pack_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    source, down, along, target, step, rows, columns = function.args
    with loop(builder, I64(0), columns, own.tile.lanes) as first:
        some = builder.sub(columns, first)
        begin = builder.add(source, builder.mul(first, along))
        place = builder.add(target, builder.mul(first, I64(own.size)))
        unit, across = (builder.icmp_signed("==", x, I64(own.size)) for x in (along, down))
        with builder.if_else(unit) as (in_rows, otherwise):
            with in_rows:
                _copy(builder, own, (begin, down, place, step, rows, some))
            with otherwise:
                whole = builder.sub(rows, builder.srem(rows, I64(own.tile.lanes)))
                whole = builder.select(across, whole, I64(0))
                _transpose(builder, own, (begin, along, place, step, whole, some))
                _gather(builder, own, (begin, down, along, place, step, whole, rows, some))
    builder.ret_void()
    return str(module)


def _copy(builder: Any, own: Words, given: tuple[Any, ...]) -> None:
    """Rows of at most a vector, as they are."""
    source, down, target, step, rows, some = given
    full = builder.icmp_signed(">=", some, I64(own.tile.lanes))
    lanes = mask(builder, own, some, 0)
    with builder.if_else(full) as (all_, part):
        for branch, masked in ((all_, False), (part, True)):
            with branch, loop(builder, I64(0), rows) as i:
                place = pointer(builder, builder.add(source, builder.mul(i, down)), own)
                value = masked_load(builder, own, place, lanes) if masked else builder.load(place, align=own.size)
                to = pointer(builder, builder.add(target, builder.mul(i, step)), own)
                builder.store(value, to, align=own.size)


def _transpose(builder: Any, own: Words, given: tuple[Any, ...]) -> None:
    """Columns of unit stride, squares of them at a time; the last column is repeated."""
    source, along, target, step, rows, some = given
    lanes = own.tile.lanes
    places = [builder.add(source, builder.mul(_at_most(builder, i, some), along)) for i in range(lanes)]
    with loop(builder, I64(0), rows, lanes) as first:
        offset = builder.mul(first, I64(own.size))
        columns = [builder.load(pointer(builder, builder.add(p, offset), own), align=own.size) for p in places]
        for i, row in enumerate(interleaved_halves(builder, columns)):
            to = builder.add(target, builder.mul(builder.add(first, I64(i)), step))
            builder.store(row, pointer(builder, to, own), align=own.size)


def _gather(builder: Any, own: Words, given: tuple[Any, ...]) -> None:
    """Rows of any strides, number by number; the last one is repeated."""
    source, down, along, target, step, start, rows, some = given
    offsets = [builder.mul(_at_most(builder, i, some), along) for i in range(own.tile.lanes)]
    with loop(builder, start, rows) as i:
        begin = builder.add(source, builder.mul(i, down))
        row = ir.Constant(own.vector, ir.Undefined)
        for lane, offset in enumerate(offsets):
            place = builder.inttoptr(builder.add(begin, offset), own.element.as_pointer())
            row = builder.insert_element(row, builder.load(place), I32(lane))
        to = pointer(builder, builder.add(target, builder.mul(i, step)), own)
        builder.store(row, to, align=own.size)


def _at_most(builder: Any, number: int, some: Any) -> Any:
    """A number, or the last one before `some`."""
    last = builder.sub(some, I64(1))
    return builder.select(builder.icmp_signed("<", last, I64(number)), last, I64(number))
