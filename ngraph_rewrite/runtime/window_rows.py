# SPDX-License-Identifier: Apache-2.0
"""Windows over a padded image become a panel of a matrix without a matrix of all windows: rows are copied as they lie.

A column of the matrix is a place of a window's first element, a row an element of the window: how far that is from
the first one. Places in one line of the result lie side by side, so part of a line is copied by whole vectors, in
increasing order, which overwrite what the one before wrote too much.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I64, Words, everywhere, loop, mask, masked_load, pointer, words


def rows_module(dtype: str) -> str:
    """LLVM IR of a function of nine int64 that packs some columns of windows, ``ngraph_rewrite_rows_of_DTYPE``.

    Its arguments: the padded image; the address of int64 that say for each row how far its element is from a window's
    first one; that of int64 that say where the lines begin, from the line of the first column on; the place of the
    first column in its line; the places in a line; the target, the step of its rows; the number of rows; the number of
    columns, at least 1; distances and steps in bytes. Up to a vector is read before the
    first and behind the last element.
    """
    module, own = ir.Module(f"rows {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 9), f"ngraph_rewrite_rows_of_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    image, distances, lines, first, line, target, step, rows, columns = function.args
    begin = builder.add(_word(builder, lines, I64(0)), builder.mul(first, I64(own.size)))
    begin = builder.add(image, begin)
    inside = builder.icmp_signed("<=", builder.add(first, columns), line)
    whole = builder.icmp_signed("==", columns, I64(own.tile.columns))
    with builder.if_else(builder.and_(inside, whole)) as (one, several):
        with one, loop(builder, I64(0), rows) as k:
            source = builder.add(begin, _word(builder, distances, k))
            to = builder.add(target, builder.mul(k, step))
            for i in range(own.tile.width):
                _move(builder, own, source, to, I64(i * own.tile.lanes * own.size))
        with several:
            _pieces(builder, own, function.args)
    builder.ret_void()
    return str(module)


def lines_module(dtype: str) -> str:
    """LLVM IR of a function of eight int64 that copies lines with zeros around, ``ngraph_rewrite_lines_DTYPE``.

    Its arguments: where the first element of the first line would be in the source, zeros before it included; how far
    lines of the source lie apart; the target, and how far its lines lie apart; the number of lines; the numbers of the
    first element of a line that is no zero, and of the first one behind; the length of lines; distances in bytes. Lines
    are written in their order, up to a vector too much of each.
    """
    module, own = ir.Module(f"lines {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 8), f"ngraph_rewrite_lines_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    source, down, target, step, lines, left, right, length = function.args
    zero, lanes = ir.Constant(own.vector, None), own.tile.lanes
    count = builder.sub(right, left)
    rest = builder.srem(count, I64(lanes))
    whole, some = builder.sub(count, rest), mask(builder, own, rest, 0)
    with loop(builder, I64(0), lines) as line:
        begin = builder.add(source, builder.add(builder.mul(line, down), builder.mul(left, I64(own.size))))
        first = builder.add(target, builder.mul(line, step))
        inside, behind = (builder.add(first, builder.mul(x, I64(own.size))) for x in (left, right))
        with loop(builder, I64(0), left, lanes) as i:
            builder.store(zero, _vector(builder, own, first, i), align=own.size)
        with loop(builder, I64(0), whole, lanes) as i:
            value = builder.load(_vector(builder, own, begin, i), align=own.size)
            builder.store(value, _vector(builder, own, inside, i), align=own.size)
        with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
            value = masked_load(builder, own, _vector(builder, own, begin, whole), some)
            builder.store(value, _vector(builder, own, inside, whole), align=own.size)
        with loop(builder, I64(0), builder.sub(length, right), lanes) as i:
            builder.store(zero, _vector(builder, own, behind, i), align=own.size)
    builder.ret_void()
    return str(module)


def _vector(builder: Any, own: Words, first: Any, number: Any) -> Any:
    """The place of a vector that begins with some element."""
    return pointer(builder, builder.add(first, builder.mul(number, I64(own.size))), own)


def _pieces(builder: Any, own: Words, given: tuple[Any, ...]) -> None:
    """Copy columns of which each line has a part, a vector at a time through all rows."""
    image, distances, lines, first, line, target, step, rows, columns = given
    before = builder.block
    head, body, end = (builder.append_basic_block(name) for name in ("line", "part", "rest"))
    builder.branch(head)
    builder.position_at_end(head)
    number, done, place = (builder.phi(I64) for _ in range(3))
    for phi, start in ((number, I64(0)), (done, I64(0)), (place, first)):
        phi.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", done, columns), body, end)
    builder.position_at_end(body)
    left, room = builder.sub(columns, done), builder.sub(line, place)
    count = builder.select(builder.icmp_signed("<", left, room), left, room)
    begin = builder.add(image, _word(builder, lines, number))
    begin = builder.add(begin, builder.mul(place, I64(own.size)))
    with loop(builder, I64(0), count, own.tile.lanes) as i:
        over = builder.sub(builder.add(builder.add(done, i), I64(own.tile.lanes)), I64(own.tile.columns))
        over = builder.select(builder.icmp_signed(">", over, I64(0)), over, I64(0))
        source = builder.add(begin, builder.mul(builder.sub(i, over), I64(own.size)))
        to = builder.add(target, builder.mul(builder.sub(builder.add(done, i), over), I64(own.size)))
        _column(builder, own, (source, to, over), (distances, step, rows))
    values = builder.add(number, I64(1)), builder.add(done, count), I64(0)
    for phi, value in zip((number, done, place), values, strict=True):
        phi.add_incoming(value, builder.block)
    builder.branch(head)
    builder.position_at_end(end)


def _column(builder: Any, own: Words, places: tuple[Any, ...], given: tuple[Any, ...]) -> None:
    """Copy a vector of each row; one that would reach over the end of a row begins earlier, and keeps what is there."""
    (source, target, over), (distances, step, rows) = places, given
    numbers = ir.Constant(ir.VectorType(I64, own.tile.lanes), list(range(own.tile.lanes)))
    kept = builder.icmp_signed("<", numbers, everywhere(builder, over, own.tile.lanes))
    with builder.if_else(builder.icmp_signed("==", over, I64(0))) as (whole, part):
        for branch, merges in ((whole, False), (part, True)):
            with branch, loop(builder, I64(0), rows) as k:
                place = pointer(builder, builder.add(source, _word(builder, distances, k)), own)
                to = pointer(builder, builder.add(target, builder.mul(k, step)), own)
                value = builder.load(place, align=own.size)
                if merges:
                    value = builder.select(kept, builder.load(to, align=own.size), value)
                builder.store(value, to, align=own.size)


def _word(builder: Any, address: Any, number: Any) -> Any:
    return builder.load(builder.gep(builder.inttoptr(address, I64.as_pointer()), [number]))


def _move(builder: Any, own: Words, source: Any, target: Any, offset: Any) -> None:
    value = builder.load(pointer(builder, builder.add(source, offset), own), align=own.size)
    builder.store(value, pointer(builder, builder.add(target, offset), own), align=own.size)
