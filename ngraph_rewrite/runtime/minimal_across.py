# SPDX-License-Identifier: Apache-2.0
"""Sums over windows as large as images with fewer multiplications: the derivative of a convolution by its filters.

Of such a window two neighbours, w0 and w1, and four elements of an image, x0 to x3, give three places of the result
x0 w0 + x1 w1, x1 w0 + x2 w1 and x2 w0 + x3 w1: six multiplications, or four, of (x0 - x2), (x1 + x2), (x2 - x1) and
(x3 - x1) by w0, (w0 + w1) / 2, (w0 - w1) / 2 and w1 (Winograd, *Arithmetic Complexity of Computations*, 1980). Two
places take three instead of four: of (x0 - x1), 2 x1 and (x2 - x1) by w0, (w0 + w1) / 2 and w1, which are three of the
same numbers. So a result is cut into segments of two and three places along each axis, windows into tiles of 2 by 2.
Numbers grow to four times what they were, and errors to three times those of windows, at most; tiles of 4 by 4 would
take 36 multiplications instead of 144 for 3 by 3 places, and have five to ten times the errors of windows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I64, loop
from ngraph_rewrite.runtime.vector_function import VectorFunction

_HALF = Fraction(1, 2)


def image_values_of_three(ways: VectorFunction, x: Sequence[Any]) -> list[Any]:
    """Of four elements what is multiplied for three places."""
    less = ways.difference
    return [less(x[0], x[2]), ways.sum_of(x[1], x[2]), less(x[2], x[1]), less(x[3], x[1])]


def image_values_of_two(ways: VectorFunction, x: Sequence[Any]) -> list[Any]:
    """Of three elements what is multiplied for two places."""
    return [ways.difference(x[0], x[1]), ways.sum_of(x[1], x[1]), ways.difference(x[2], x[1])]


def window_values(ways: VectorFunction, w: Sequence[Any]) -> list[Any]:
    """Of two elements what is multiplied with those of images; two places do without the third."""
    one, other = (ways.times(_HALF, x) for x in w)
    return [w[0], ways.sum_of(one, other), ways.difference(one, other), w[1]]


IMAGE_VALUES: MappingProxyType[int, Callable[[Any, Sequence[Any]], list[Any]]] = MappingProxyType(
    {2: image_values_of_two, 3: image_values_of_three}
)


def images_module(dtype: str, down: int, across: int) -> str:
    """LLVM IR of a function of six int64 that transforms tiles of a padded image, for so many places down and across.

    It is called ``ngraph_rewrite_inward_DA_DTYPE``. Its arguments: the image, at the first element that the first place
    sees, and how far its lines lie apart; the number of rows of tiles, two lines apart, and of tiles in a row, two
    elements apart; the target, where values at the first point of all tiles are side by side, and how far those at the
    next point lie; in bytes. A vector has tiles of one row or, if half of it has all tiles of a row, of this one and
    the next. Some vectors, and lines of a row more than there are, are read behind the last element, and up to a vector
    written behind what is at a point, in increasing order.
    """
    code = VectorFunction("inward", dtype, 6, f"{down}{across}")
    builder, size, lanes = code.builder, code.own.size, code.own.tile.lanes
    image, line, rows, count, target, apart = code.function.args

    def transform(row: Any, first: Any, distance: Any, paired: bool) -> None:
        """The tiles of a vector from one in a row on; the second half of it is so far away, or what follows."""
        begin = builder.add(image, builder.mul(builder.mul(row, line), I64(2)))
        begin = builder.add(begin, builder.mul(first, I64(2 * size)))
        tile = []
        for y in range(down + 1):
            for x in range(across + 1):
                at = builder.add(builder.add(begin, builder.mul(line, I64(y))), I64(x // 2 * 2 * size))
                one, other = code.load(at), code.load(builder.add(at, distance))
                tile.append(code.shuffled(one, other, [x % 2 + 2 * i for i in range(lanes)]))
        to = builder.add(builder.mul(row, count), first)
        to = builder.add(target, builder.mul(to, I64(size)))
        for i, value in enumerate(code.both(tile, across + 1, IMAGE_VALUES[across], IMAGE_VALUES[down])):
            place = builder.add(to, builder.mul(apart, I64(i)))
            parts = [range(lanes)] if not paired else [range(lanes // 2), range(lanes // 2, lanes)]
            for part in parts:
                code.store(code.shuffled(value, value, part), place)
                place = builder.add(place, builder.mul(count, I64(size)))

    with builder.if_else(builder.icmp_signed("<=", count, I64(lanes // 2))) as (few, many):
        with few, loop(builder, I64(0), rows, 2) as row:
            transform(row, I64(0), builder.mul(line, I64(2)), paired=True)
        with many, loop(builder, I64(0), rows) as row, loop(builder, I64(0), count, lanes) as first:
            transform(row, first, I64(lanes * size), paired=False)
    return code.text()


def windows_module(dtype: str) -> str:
    """LLVM IR of a function of five int64 that transforms tiles of windows, ``ngraph_rewrite_window_tiles_DTYPE``.

    Its arguments: the windows, of which elements with the same number are side by side, those of `Tile.columns` of
    them; the number of their lines and of the elements of a line; the target, where there are as many values for each
    tile, one after the other, and how far those at each of the 16 points lie apart in bytes. What is behind the last
    line and element counts as zero, whatever is in memory there; up to a line and an element is read.
    """
    code = VectorFunction("window_tiles", dtype, 5)
    builder, own = code.builder, code.own
    source, lines, length, target, apart = code.function.args
    each = own.tile.columns * own.size
    across = builder.sdiv(builder.add(length, I64(1)), I64(2))
    zero = ir.Constant(own.vector, None)
    with loop(builder, I64(0), lines, 2) as y, loop(builder, I64(0), length, 2) as x:
        below = builder.icmp_signed("<", builder.add(y, I64(1)), lines)
        right = builder.icmp_signed("<", builder.add(x, I64(1)), length)
        begin = builder.mul(builder.add(builder.mul(y, length), x), I64(each))
        begin = builder.add(source, begin)
        number = builder.add(builder.mul(builder.sdiv(y, I64(2)), across), builder.sdiv(x, I64(2)))
        to = builder.add(target, builder.mul(number, I64(each)))
        for part in range(0, each, own.tile.lanes * own.size):
            corner = builder.add(begin, I64(part))
            under = builder.add(corner, builder.mul(length, I64(each)))
            there = [None, right, below, builder.and_(below, right)]
            places = [corner, builder.add(corner, I64(each)), under, builder.add(under, I64(each))]
            tile = [
                code.load(place) if inside is None else builder.select(inside, code.load(place), zero)
                for place, inside in zip(places, there, strict=True)
            ]
            for i, value in enumerate(code.both(tile, 2, window_values)):
                code.store(value, builder.add(builder.add(to, I64(part)), builder.mul(apart, I64(i))))
    return code.text()
