# SPDX-License-Identifier: Apache-2.0
"""Windows over a padded image become a panel of a matrix without a matrix of all windows: rows are copied as they lie.

A column of the matrix is a place of a window's first element, a row an element of the window: how far that is from
the first one. Places in one line of the result lie side by side, so a vector of a row is loaded for each line of which
it has a part, and lanes are taken from one or another: rows are written one after the other, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I64, Words, everywhere, loop, pointer, words

# So many parts of lines, of a vector, are known while rows are written.
_IN_REGISTERS = 4
# What writes a vector of a row: of its number, and of how far the row's element is from a window's first one.
Vector = Callable[[int, Any], Any]


def rows_module(dtype: str) -> str:
    """LLVM IR of a function of nine int64 that packs some columns of windows, ``ngraph_rewrite_rows_of_DTYPE``.

    Its arguments: the padded image; the address of int64 that say for each row how far its element is from a window's
    first one; that of int64 that say where the lines begin, from the line of the first column on; the place of the
    first column in its line; the places in a line; the target, the step of its rows; the number of rows; the number of
    columns, at least 1; distances and steps in bytes. Whole rows of the target are written. Less than a row is read
    behind the last element of a line, and less than that before the first one of a line but the first.
    """
    module, own = ir.Module(f"rows {dtype}"), words(dtype)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 9), f"ngraph_rewrite_rows_of_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    image, distances, lines, first, line, *target, columns = function.args
    parts = _Parts(builder, own)
    parts.find(image, lines, first, line, columns)
    several, end = (function.append_basic_block(name) for name in ("several", "end"))
    choice = builder.switch(parts.most(), several)
    for count in range(1, _IN_REGISTERS + 1):
        block = function.append_basic_block("few")
        choice.add_case(I64(count), block)
        builder.position_at_end(block)
        _copy_rows(builder, own, distances, target, parts.in_registers(count))
        builder.branch(end)
    builder.position_at_end(several)
    _copy_rows(builder, own, distances, target, parts.in_memory)
    builder.branch(end)
    builder.position_at_end(end)
    builder.ret_void()
    return str(module)


def _copy_rows(builder: Any, own: Words, distances: Any, given: Sequence[Any], vector: Vector) -> None:
    """Write the rows of a target, the step of these and their number given, each of them by its vectors."""
    target, step, rows = given
    with loop(builder, I64(0), rows) as k:
        distance, to = _word(builder, distances, k), builder.add(target, builder.mul(k, step))
        for j in range(own.tile.width):
            place = pointer(builder, builder.add(to, I64(j * own.tile.lanes * own.size)), own)
            builder.store(vector(j, distance), place, align=own.size)


class _Parts:
    """The parts of lines that some columns are, and those of them that each vector of a row is made of.

    Of a part is kept its first column, and where column 0 would be if the part began there: a vector is loaded as if
    all of it belonged to its first part, and of the next parts the lanes from their first columns on.
    """

    def __init__(self, builder: Any, own: Words) -> None:
        self.builder, self.own = builder, own
        self.begins, self.firsts = (builder.alloca(I64, own.tile.columns) for _ in range(2))
        # of each vector the number of its first part, and how many parts it has
        self.numbers, self.counts = (builder.alloca(I64, own.tile.width) for _ in range(2))
        self.vector = builder.alloca(own.vector)

    def find(self, image: Any, lines: Any, first: Any, line: Any, columns: Any) -> None:
        """Emit what finds them, from the place of the first column in its line on; there are so many columns."""
        builder, lanes = self.builder, self.own.tile.lanes
        before, body, end = builder.block, *(builder.append_basic_block(name) for name in ("part", "found"))
        for j in range(self.own.tile.width):
            self._put(self.numbers, I64(j), I64(-1))
            self._put(self.counts, I64(j), I64(1))
        builder.branch(body)
        builder.position_at_end(body)
        number, done, place = (builder.phi(I64) for _ in range(3))
        back = builder.mul(builder.sub(place, done), I64(self.own.size))
        self._put(self.begins, number, builder.add(builder.add(image, _word(builder, lines, number)), back))
        self._put(self.firsts, number, done)
        for j in range(self.own.tile.width):
            begun = builder.icmp_signed("<=", done, I64(j * lanes))
            inside = builder.and_(builder.not_(begun), builder.icmp_signed("<", done, I64((j + 1) * lanes)))
            for table, more in (self.numbers, begun), (self.counts, inside):
                self._put(table, I64(j), builder.add(self._get(table, I64(j)), builder.zext(more, I64)))
        later = builder.add(number, I64(1)), builder.add(done, builder.sub(line, place)), I64(0)
        for phi, start, value in zip((number, done, place), (I64(0), I64(0), first), later, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(value, body)
        builder.cbranch(builder.icmp_signed("<", later[1], columns), body, end)
        builder.position_at_end(end)

    def most(self) -> Any:
        """The parts of the vector that has most."""
        builder = self.builder
        found, *others = [self._get(self.counts, I64(j)) for j in range(self.own.tile.width)]
        for other in others:
            found = builder.select(builder.icmp_signed(">", other, found), other, found)
        return found

    def in_registers(self, count: int) -> Vector:
        """What loads vectors of at most so many parts, which it knows already."""
        known = [[self._part(j, I64(i)) for i in range(count)] for j in range(self.own.tile.width)]

        def vector(j: int, distance: Any) -> Any:
            (begin, _), *others = known[j]
            value = self._load(begin, distance)
            for begin, later in others:
                value = self.builder.select(later, self._load(begin, distance), value)
            return value

        return vector

    def in_memory(self, j: int, distance: Any) -> Any:
        """A vector of as many parts as there may be."""
        builder = self.builder
        begin, _ = self._part(j, I64(0))
        builder.store(self._load(begin, distance), self.vector)
        with loop(builder, I64(1), self._get(self.counts, I64(j))) as i:
            begin, later = self._part(j, i)
            value = builder.select(later, self._load(begin, distance), builder.load(self.vector))
            builder.store(value, self.vector)
        return builder.load(self.vector)

    def _part(self, j: int, i: Any) -> tuple[Any, Any]:
        """Where a part of a vector would begin, and its lanes and those behind; the last part, if there are fewer."""
        builder, own = self.builder, self.own
        behind = builder.sub(self._get(self.counts, I64(j)), I64(1))
        number = builder.select(builder.icmp_signed("<", i, behind), i, behind)
        number = builder.add(self._get(self.numbers, I64(j)), number)
        begin = builder.add(self._get(self.begins, number), I64(j * own.tile.lanes * own.size))
        lanes = ir.Constant(ir.VectorType(I64, own.tile.lanes), [j * own.tile.lanes + n for n in range(own.tile.lanes)])
        first = everywhere(builder, self._get(self.firsts, number), own.tile.lanes)
        return begin, builder.icmp_signed(">=", lanes, first)

    def _load(self, begin: Any, distance: Any) -> Any:
        builder, own = self.builder, self.own
        return builder.load(pointer(builder, builder.add(begin, distance), own), align=own.size)

    def _get(self, table: Any, number: Any) -> Any:
        return self.builder.load(self.builder.gep(table, [number]))

    def _put(self, table: Any, number: Any, value: Any) -> None:
        self.builder.store(value, self.builder.gep(table, [number]))


def _word(builder: Any, address: Any, number: Any) -> Any:
    return builder.load(builder.gep(builder.inttoptr(address, I64.as_pointer()), [number]))
