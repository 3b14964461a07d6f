# SPDX-License-Identifier: Apache-2.0
"""Convolutions with fewer multiplications: tiles of images and filters are transformed, and multiplied place by place.

Along an axis, windows of r elements over 6 elements of an image give m = 7 - r sums. They are coefficients of a product
of polynomials, which its values at 6 points decide (Winograd, *Arithmetic Complexity of Computations*, 1980; Lavin and
Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016): one multiplication for each point. The points and
the transforms are those of `ngraph_rewrite.runtime.point_values`.
"""

from __future__ import annotations

from llvmlite import ir

from ngraph_rewrite.runtime.point_values import SPAN, filter_values, image_values, sums_of
from ngraph_rewrite.runtime.vector_code import I64, loop, mask, masked_load, masked_store, multiply_add, pointer
from ngraph_rewrite.runtime.vector_function import VectorFunction


def gather_module(dtype: str, window: int) -> str:
    """LLVM IR of a function of six int64 that cuts lines of a padded image into tiles.

    It is called ``ngraph_rewrite_tiles_of_W_DTYPE``. Its arguments: the image and how far its lines lie apart; the
    number of rows of tiles, and of tiles in a row; the target, where the elements at one of the 36 places of all tiles
    are side by side, and how far these places lie apart; in bytes. Two vectors give elements of as many tiles:
    of one row, or, if a vector has all tiles of a row, of this one and the next. Some vectors, and lines of a row more
    than there are, are read behind the last element, and one vector written behind those of a place.
    """
    code = VectorFunction("tiles_of", dtype, 6, window)
    builder, own = code.builder, code.own
    image, down, rows, across, target, apart = code.function.args
    step = SPAN + 1 - window
    group, vector = 2 * own.tile.lanes // step, I64(own.tile.lanes * own.size)
    two = builder.icmp_signed("==", builder.mul(across, I64(2)), I64(group))
    distance = builder.select(two, builder.mul(down, I64(step)), vector)
    count = builder.select(two, builder.sdiv(builder.add(rows, I64(1)), I64(2)), rows)
    with loop(builder, I64(0), count) as number, loop(builder, I64(0), across, group) as first:
        row = builder.select(two, builder.mul(number, I64(2)), number)
        begin = builder.add(image, builder.mul(builder.mul(row, down), I64(step)))
        begin = builder.add(begin, builder.mul(first, I64(step * own.size)))
        to = builder.add(builder.mul(row, across), first)
        to = builder.add(target, builder.mul(to, I64(own.size)))
        for y in range(SPAN):
            line = builder.add(begin, builder.mul(down, I64(y)))
            for x in range(SPAN):
                at = builder.add(line, I64(x // step * step * own.size))
                one, other = code.load(at), code.load(builder.add(at, distance))
                found = code.shuffled(one, other, [x % step + i * step for i in range(group)])
                place = builder.add(to, builder.mul(apart, I64(SPAN * y + x)))
                builder.store(found, builder.inttoptr(place, found.type.as_pointer()), align=own.size)
    return code.text()


def inward_module(dtype: str) -> str:
    """LLVM IR of a function of six int64 that transforms tiles, ``ngraph_rewrite_inward_DTYPE``.

    Its arguments: the tiles as `gather_module` says, how far places lie apart, the number of tiles; the target, how far
    the values at each of the 36 points lie apart, and how far those of the next `Tile.columns` tiles; in bytes. Values
    at a point are side by side for as many tiles as a product has columns; whole vectors are written.
    """
    code = VectorFunction("inward", dtype, 6)
    builder, own = code.builder, code.own
    source, apart, count, target, pitch, panel = code.function.args
    with loop(builder, I64(0), count, own.tile.lanes) as first:
        begin = builder.add(source, builder.mul(first, I64(own.size)))
        tile = [code.load(builder.add(begin, builder.mul(apart, I64(i)))) for i in range(SPAN * SPAN)]
        number = builder.sdiv(first, I64(own.tile.columns))
        inside = builder.sub(first, builder.mul(number, I64(own.tile.columns)))
        to = builder.add(builder.mul(number, panel), builder.mul(inside, I64(own.size)))
        to = builder.add(target, to)
        for i, value in enumerate(code.both(tile, SPAN, image_values)):
            code.store(value, builder.add(to, builder.mul(pitch, I64(i))))
    return code.text()


def spread_module(dtype: str, window: int) -> str:
    """LLVM IR of a function of four int64 that transforms filters, ``ngraph_rewrite_spread_W_DTYPE``.

    Its arguments: the filters, of which elements with the same number are side by side, `Tile.stride` of them; the
    number of channels, one after the other; the target, where there are values in place of elements, and how far those
    at each of the 36 points lie apart in bytes.
    """
    code = VectorFunction("spread", dtype, 4, window)
    builder, own = code.builder, code.own
    source, count, target, pitch = code.function.args
    line = own.tile.stride * own.size
    with loop(builder, I64(0), count) as channel:
        for part in range(0, line, own.tile.lanes * own.size):
            begin = builder.add(source, builder.mul(channel, I64(window * window * line)))
            tile = [code.load(builder.add(begin, I64(i * line + part))) for i in range(window * window)]
            to = builder.add(target, builder.add(builder.mul(channel, I64(line)), I64(part)))
            for i, value in enumerate(code.both(tile, window, filter_values)):
                code.store(value, builder.add(to, builder.mul(pitch, I64(i))))
    return code.text()


def outward_module(dtype: str, window: int) -> str:
    """LLVM IR of a function of six int64 that makes lines of a result of products, ``ngraph_rewrite_outward_W_DTYPE``.

    Its arguments: the products at the first point, and how far those at the next one lie; the number of tiles; the
    target, where the first lines of all tiles are side by side, and how far the next lines lie; the address of a
    vector to which zero times each number of the result is added, which tells whether all are finite.
    """
    code = VectorFunction("outward", dtype, 6, window)
    builder, own = code.builder, code.own
    source, pitch, count, target, down, told = code.function.args
    high = SPAN + 1 - window
    zero = ir.Constant(own.vector, None)
    with loop(builder, I64(0), count, own.tile.lanes) as first:
        begin = builder.add(source, builder.mul(first, I64(own.size)))
        tile = [code.load(builder.add(begin, builder.mul(pitch, I64(i)))) for i in range(SPAN * SPAN)]
        found = code.both(tile, SPAN, sums_of(high))
        to = builder.add(target, builder.mul(first, I64(high * own.size)))
        seen = zero
        for value in found:
            seen = multiply_add(builder, own, value, zero, seen)
        seen = builder.select(mask(builder, own, builder.sub(count, first), 0), seen, zero)
        code.store(builder.fadd(code.load(told), seen), told)
        for y in range(high):
            line = builder.add(to, builder.mul(down, I64(y)))
            for i, value in enumerate(code.interleaved(found[y * high : (y + 1) * high])):
                code.store(value, builder.add(line, I64(i * own.tile.lanes * own.size)))
    return code.text()


def exact_module(dtype: str) -> str:
    """LLVM IR of a function of nine int64 that copies lines and writes no more, ``ngraph_rewrite_exact_DTYPE``.

    Its arguments: the source and how far its lines lie apart, the same of the target, the number of lines and their
    length; how many times this is done, and how far sources and targets of the next time are; distances in bytes.
    """
    code = VectorFunction("exact", dtype, 9)
    builder, own = code.builder, code.own
    source, down, target, step, lines, length, times, source_step, target_step = code.function.args
    rest = builder.srem(length, I64(own.tile.lanes))
    whole, some = builder.sub(length, rest), mask(builder, own, rest, 0)
    end = builder.mul(whole, I64(own.size))
    with loop(builder, I64(0), times) as time, loop(builder, I64(0), lines) as line:
        begin = builder.add(builder.mul(time, source_step), builder.mul(line, down))
        begin = builder.add(source, begin)
        to = builder.add(builder.mul(time, target_step), builder.mul(line, step))
        to = builder.add(target, to)
        with loop(builder, I64(0), whole, own.tile.lanes) as i:
            at = builder.mul(i, I64(own.size))
            code.store(code.load(builder.add(begin, at)), builder.add(to, at))
        with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
            value = masked_load(builder, own, pointer(builder, builder.add(begin, end), own), some)
            masked_store(builder, own, value, pointer(builder, builder.add(to, end), own), some)
    return code.text()
