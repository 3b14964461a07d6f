# SPDX-License-Identifier: Apache-2.0
"""Convolutions with fewer multiplications: tiles of images and filters are transformed, and multiplied place by place.

Along an axis, windows of r elements over 6 elements of an image give m = 7 - r sums. They are coefficients of a product
of polynomials, which its values at 6 points decide (Winograd, *Arithmetic Complexity of Computations*, 1980; Lavin and
Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016): one multiplication for each point. The points and
the transforms are those of `ngraph_rewrite.runtime.point_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.point_values import SPAN, filter_values, image_values, sums_of
from ngraph_rewrite.runtime.vector_code import (
    I32,
    I64,
    everywhere,
    loop,
    mask,
    masked_load,
    masked_store,
    multiply_add,
    pointer,
    words,
)


def gather_module(dtype: str, window: int) -> str:
    """LLVM IR of a function of six int64 that cuts lines of a padded image into tiles.

    It is called ``ngraph_rewrite_tiles_of_W_DTYPE``. Its arguments: the image and how far its lines lie apart; the
    number of rows of tiles, and of tiles in a row; the target, where the elements at one of the 36 places of all tiles
    are side by side, and how far these places lie apart; in bytes. Two vectors give elements of as many tiles:
    of one row, or, if a vector has all tiles of a row, of this one and the next. Some vectors, and lines of a row more
    than there are, are read behind the last element, and one vector written behind those of a place.
    """
    code = _Code("tiles_of", dtype, 6, window)
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
    code = _Code("inward", dtype, 6)
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
    code = _Code("spread", dtype, 4, window)
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
    code = _Code("outward", dtype, 6, window)
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
    code = _Code("exact", dtype, 9)
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


# -- code --------------------------------------------------------------------------------------------------------------


class _Code:
    """A function that is written: its arguments are so many int64."""

    def __init__(self, word: str, dtype: str, count: int, window: int | None = None) -> None:
        name = f"{word}_{dtype}" if window is None else f"{word}_{window}_{dtype}"
        self.module, self.own = ir.Module(name), words(dtype)
        kind = ir.FunctionType(ir.VoidType(), [I64] * count)
        self.function = ir.Function(self.module, kind, f"ngraph_rewrite_{name}")
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    def text(self) -> str:
        """The module, with the function at its end."""
        self.builder.ret_void()
        return str(self.module)

    def load(self, address: Any) -> Any:
        """A vector."""
        return self.builder.load(pointer(self.builder, address, self.own), align=self.own.size)

    def store(self, value: Any, address: Any) -> None:
        """Store a vector."""
        self.builder.store(value, pointer(self.builder, address, self.own), align=self.own.size)

    def times(self, factor: Fraction, value: Any) -> Any:
        """A number times a vector."""
        return value if factor == 1 else self.builder.fmul(self._constant(factor), value)

    def plus(self, total: Any, factor: Fraction, value: Any) -> Any:
        """A vector and a number times another one."""
        return multiply_add(self.builder, self.own, self._constant(factor), value, total)

    def sum_of(self, one: Any, other: Any) -> Any:
        """Two vectors."""
        return self.builder.fadd(one, other)

    def difference(self, one: Any, other: Any) -> Any:
        """A vector less another one."""
        return self.builder.fsub(one, other)

    def _constant(self, number: Fraction) -> Any:
        return everywhere(self.builder, ir.Constant(self.own.element, float(number)), self.own.tile.lanes)

    def both(self, tile: Sequence[Any], width: int, along: Callable[[_Code, Sequence[Any]], list[Any]]) -> list[Any]:
        """A square, given row by row, transformed along both axes."""
        rows = [along(self, tile[i : i + width]) for i in range(0, len(tile), width)]
        columns = [along(self, column) for column in zip(*rows, strict=True)]
        return [value for row in zip(*columns, strict=True) for value in row]

    def shuffled(self, one: Any, other: Any, lanes: Sequence[int]) -> Any:
        """These lanes of two vectors."""
        return self.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(I32, len(lanes)), list(lanes)))

    def interleaved(self, vectors: Sequence[Any]) -> list[Any]:
        """The first lanes of all vectors, then the second ones; of 2 or 4."""
        if len(vectors) == 1:
            return list(vectors)
        n = self.own.tile.lanes
        one, other = (self.interleaved(vectors[i::2]) for i in (0, 1))
        halves = [[i // 2 + n * (i % 2) for i in range(begin, begin + n)] for begin in (0, n)]
        return [self.shuffled(a, b, half) for a, b in zip(one, other, strict=True) for half in halves]
