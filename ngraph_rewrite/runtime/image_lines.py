# SPDX-License-Identifier: Apache-2.0
"""Lines of an image are copied with the zeros around them, one after the other, in vectors.

Of a line for windows two places apart the elements at even places come first and those at odd ones after them, so that
neighbouring windows find theirs side by side.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I32, I64, Words, loop, mask, masked_load, pointer, words


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


def halves_module(dtype: str) -> str:
    """LLVM IR of a function of eight int64 that copies lines and takes them apart, ``ngraph_rewrite_halves_DTYPE``.

    Its arguments are those of `lines_module`; the length is an even number. A line of the target has the elements at
    even places first, those at odd places follow.
    """
    module, own = ir.Module(f"halves {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 8), f"ngraph_rewrite_halves_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    source, down, target, step, lines, left, right, length = function.args
    half, lanes = builder.sdiv(length, I64(2)), own.tile.lanes
    last = builder.mul(builder.sdiv(builder.sub(half, I64(1)), I64(lanes)), I64(lanes))
    # What is written too much of a last vector is written anew with the first ones.
    with loop(builder, I64(0), half, lanes) as before:
        i = builder.sub(last, before)
        first = builder.mul(i, I64(2))
        behind = builder.add(first, I64(2 * lanes))
        seen = builder.and_(builder.icmp_signed("<", first, right), builder.icmp_signed(">", behind, left))
        some = [_between(builder, own, builder.sub(left, first), builder.sub(right, first), j) for j in range(2)]
        with builder.if_else(seen) as (image, outside):
            for branch, reads in ((image, True), (outside, False)):
                with branch, loop(builder, I64(0), lines) as line:
                    begin, to = (builder.add(x, builder.mul(line, y)) for x, y in ((source, down), (target, step)))
                    parts = [_vector(builder, own, to, n) for n in (i, builder.add(half, i))]
                    pair = _pair(builder, own, begin, first, some) if reads else [ir.Constant(own.vector, None)] * 2
                    for odd, part in enumerate(parts):
                        builder.store(_taken(builder, own, pair, odd), part, align=own.size)
    builder.ret_void()
    return str(module)


def _pair(builder: Any, own: Words, line: Any, first: Any, some: list[Any]) -> list[Any]:
    """Two vectors of a line, of each some of its lanes."""
    places = [_vector(builder, own, line, builder.add(first, I64(j * own.tile.lanes))) for j in range(2)]
    return [masked_load(builder, own, place, lanes) for place, lanes in zip(places, some, strict=True)]


def _taken(builder: Any, own: Words, pair: list[Any], odd: int) -> Any:
    """The elements at even or at odd places of two vectors."""
    places = ir.Constant(ir.VectorType(I32, own.tile.lanes), [2 * i + odd for i in range(own.tile.lanes)])
    return builder.shuffle_vector(*pair, places)


def _between(builder: Any, own: Words, first: Any, behind: Any, number: int) -> Any:
    """Which lanes of a vector of some number are those of numbers from `first` on and before `behind`."""
    at = number * own.tile.lanes
    return builder.and_(mask(builder, own, behind, at), builder.not_(mask(builder, own, first, at)))


def _vector(builder: Any, own: Words, first: Any, number: Any) -> Any:
    """The place of a vector that begins with some element."""
    return pointer(builder, builder.add(first, builder.mul(number, I64(own.size))), own)
