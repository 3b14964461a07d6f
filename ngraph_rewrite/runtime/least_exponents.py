# SPDX-License-Identifier: Apache-2.0
"""Whether a product of bfloat16 may be left to instructions for which numbers below 2**-126 are zeros.

They may be where no operand is one, and all products are so large that their sums are multiples of a number that is
none: then nothing is lost. It is decided by the least exponents of both operands, which are looked for as they are
packed (IEEE 754-2019, 3.4: what exponents say).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I32, I64, Words, loop, mask, masked_load, pointer, words

_I16 = ir.IntType(16)
# The exponent of subnormal numbers, which no other makes good; that of zeros, which lose nothing.
SUBNORMAL, ZERO = -1000, 1000
# Exponents have 127 added, and behind it are seven bits: the least number that is not subnormal has 128 as its bits.
_FRACTION, _NORMAL = 7, 1 << 7
_AT_ONCE = 4


def least_module(dtype: str) -> str:
    """LLVM IR of a function of seven int64, ``ngraph_rewrite_least_DTYPE``: the least exponent in a part of a matrix.

    Its arguments: the matrix of pairs, the steps of its rows and columns in bytes, of which one is that of pairs side
    by side, or nothing is known of it; the number of rows and of columns; the address of an int64, where the exponent
    is put if the last argument is 1, and else, if it is less than what is there.
    """
    module, own = ir.Module(f"least {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 7), f"ngraph_rewrite_least_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    source, down, along, rows, columns, place, begins = function.args
    turned = builder.icmp_signed("!=", along, I64(own.size))
    step = builder.select(turned, along, down)
    lines, length = (builder.select(turned, *both) for both in ((columns, rows), (rows, columns)))
    halves = ir.VectorType(_I16, 2 * own.tile.lanes)
    spaces = [builder.alloca(halves) for _ in range(_AT_ONCE)]
    for space in spaces:
        space.align = 64
        builder.store(ir.Constant(halves, [0xFFFF] * halves.count), space)
    group = _AT_ONCE * own.tile.lanes
    most = builder.sub(length, builder.srem(length, I64(group)))
    whole = builder.sub(length, builder.srem(length, I64(own.tile.lanes)))
    with loop(builder, I64(0), lines) as line:
        begin = builder.add(source, builder.mul(line, step))
        _note_whole(builder, own, begin, most, spaces)
        with loop(builder, most, whole, own.tile.lanes) as first:
            _note(builder, builder.load(_at(builder, own, begin, first), align=own.size), spaces[0])
        with builder.if_then(builder.icmp_signed("<", whole, length)):
            lanes = mask(builder, own, builder.sub(length, whole), 0)
            _note(builder, masked_load(builder, own, _at(builder, own, begin, whole), lanes), spaces[0])
    least = builder.load(spaces[0])
    for space in spaces[1:]:
        least = _lesser(builder, least, builder.load(space))
    found = _exponent(builder, least)
    apart = builder.and_(turned, builder.icmp_signed("!=", down, I64(own.size)))
    found = builder.select(apart, I64(SUBNORMAL), found)
    target = builder.inttoptr(place, I64.as_pointer())
    less = builder.icmp_signed("<", found, builder.load(target))
    with builder.if_then(builder.or_(less, builder.trunc(begins, ir.IntType(1)))):
        builder.store(found, target)
    builder.ret_void()
    return str(module)


def _at(builder: Any, own: Words, begin: Any, number: Any) -> Any:
    return pointer(builder, builder.add(begin, builder.mul(number, I64(own.size))), own)


def _note_whole(builder: Any, own: Words, begin: Any, most: Any, spaces: list[Any]) -> None:
    """Note some vectors at once, as long as there are as many, each in a space of its own."""
    before = builder.block
    head, body, done = (builder.append_basic_block(name) for name in ("groups", "group", "noted"))
    starts = [builder.load(space) for space in spaces]
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(I64)
    least = [builder.phi(start.type) for start in starts]
    builder.cbranch(builder.icmp_signed("<", number, most), body, done)
    builder.position_at_end(body)
    later = []
    for i, known in enumerate(least):
        place = _at(builder, own, begin, builder.add(number, I64(i * own.tile.lanes)))
        later.append(_lesser(builder, known, _sizes(builder, builder.load(place, align=own.size), known.type)))
    following = builder.add(number, I64(_AT_ONCE * own.tile.lanes))
    builder.branch(head)
    for phi, start, after in zip([number, *least], [I64(0), *starts], [following, *later], strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(after, body)
    builder.position_at_end(done)
    for known, space in zip(least, spaces, strict=True):
        builder.store(known, space)


def _note(builder: Any, pairs: Any, space: Any) -> None:
    known = builder.load(space)
    builder.store(_lesser(builder, known, _sizes(builder, pairs, known.type)), space)


def _sizes(builder: Any, pairs: Any, halves: Any) -> Any:
    """The numbers without signs, and less one: so zeros are the greatest."""
    bits, one = (ir.Constant(halves, [number] * halves.count) for number in (0x7FFF, 1))
    return builder.sub(builder.and_(builder.bitcast(pairs, halves), bits), one)


def _lesser(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.icmp_unsigned("<", x, y), x, y)


def _exponent(builder: Any, least: Any) -> Any:
    """The exponent of the least number of all lanes."""
    count = lanes = least.type.count
    while lanes > 1:
        lanes //= 2
        order = ir.Constant(ir.VectorType(I32, count), [(i + lanes) % count for i in range(count)])
        least = _lesser(builder, least, builder.shuffle_vector(least, least, order))
    number = builder.zext(builder.extract_element(least, I32(0)), I64)
    exponent = builder.lshr(builder.add(number, I64(1)), I64(_FRACTION))
    small = builder.icmp_signed("<", number, I64(_NORMAL - 1))
    none = builder.icmp_signed("==", number, I64(0xFFFF))
    return builder.select(none, I64(ZERO), builder.select(small, I64(SUBNORMAL), exponent))
