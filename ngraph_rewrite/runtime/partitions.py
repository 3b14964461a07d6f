# SPDX-License-Identifier: Apache-2.0
"""A line of keys is parted at a pivot where it lies: vectors are compressed to the keys on either side of it.

Vectors of both ends are set aside first, so that there is room at either one; the next ones come from the end with less
(Bramas, *A novel hybrid Quicksort algorithm vectorized using AVX-512 on Intel Skylake*, 2017). Of a short line the keys
above the pivot are set aside, and no branch depends on keys.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from ngraph_rewrite.runtime.compressing import compressed, first_lanes, number_of
from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I32, I64, declared, everywhere, loop

_BLOCK = 8  # vectors that come from an end together: a line has at least twice as many
_ROOM = 1 << 15  # bytes of a line whose keys above a pivot are set aside: no branch says where the next ones come from


class Sides:
    """The code that writes keys to either end of a line.

    Attributes:
        low, high: Where they are: what is between is free.
    """

    def __init__(self, builder: Any, kind: Any, line: Any, length: Any, pivot: Any) -> None:
        self.builder, self.kind, self.line = builder, kind, line
        pivot = builder.trunc(pivot, kind.element) if kind.element.width < 64 else pivot
        self.pivot = everywhere(builder, pivot, kind.count)
        self.low, self.high = (cgutils.alloca_once_value(builder, end) for end in (I64(0), length))

    def place(self, index: Any, line: Any = None) -> Any:
        """Where the vector from a key on is."""
        address = self.builder.add(line or self.line, self.builder.mul(index, I64(self.kind.element.width // 8)))
        return self.builder.inttoptr(address, self.kind.as_pointer())

    def load(self, index: Any) -> Any:
        """The vector from a key on."""
        return self.builder.load(self.place(index), align=self.kind.element.width // 8)

    def load_first(self, index: Any, count: Any) -> Any:
        """So many keys, from one on."""
        builder, kind, place = self.builder, self.kind, self.place(index)
        lanes = first_lanes(builder, count, kind.count)
        name = f"llvm.masked.load.v{kind.count}i{kind.element.width}.p0"
        load = declared(builder, name, [place.type, I32, lanes.type, kind], kind)
        return builder.call(load, [place, I32(kind.element.width // 8), lanes, ir.Constant(kind, None)])

    def part(self, value: Any, room: Any, moved: Any, there: Any = None) -> None:
        """Write a vector's keys of the low side to the line, the others to a room, after what was moved there."""
        builder = self.builder
        above, below, count = self._chosen(value, there)
        first, number, after = builder.load(self.low), number_of(builder, above), builder.load(moved)
        rest = builder.sub(count, number)
        self.store(compressed(builder, value, below), first, there and first_lanes(builder, rest, self.kind.count))
        builder.store(compressed(builder, value, above), self.place(after, room), align=self.kind.element.width // 8)
        builder.store(builder.add(first, rest), self.low)
        builder.store(builder.add(after, number), moved)

    def put(self, value: Any, there: Any = None) -> None:
        """Write a vector, or some lanes of it: first those of the low side, and anything that is free after them.

        Where masks take long and all is there, what is free before the high side may be written as well: there has to
        be room for a vector at each end, or for just one.
        """
        builder, lanes = self.builder, self.kind.count
        above, below, count = self._chosen(value, there)
        first, number, last = builder.load(self.low), number_of(builder, above), builder.load(self.high)
        self.store(compressed(builder, value, below), first, there and first_lanes(builder, count, lanes))
        end = builder.sub(last, number)
        if there is None and vectors().bytes < 64:
            self.store(compressed(builder, value, below), builder.sub(last, I64(lanes)), None)
        else:
            self.store(compressed(builder, value, above), end, first_lanes(builder, number, lanes))
        builder.store(builder.add(first, builder.sub(count, number)), self.low)
        builder.store(end, self.high)

    def _chosen(self, value: Any, there: Any) -> tuple[Any, Any, Any]:
        """Which lanes are above the pivot, which are not, and how many there are."""
        builder = self.builder
        above = builder.icmp_signed(">", value, self.pivot)
        if there is None:
            return above, builder.not_(above), I64(self.kind.count)
        return builder.and_(above, there), builder.and_(builder.not_(above), there), number_of(builder, there)

    def store(self, value: Any, index: Any, lanes: Any) -> None:
        """Write a vector, or the lanes of a mask."""
        builder, kind, place = self.builder, self.kind, self.place(index)
        if lanes is None:
            builder.store(value, place, align=kind.element.width // 8)
            return
        name = f"llvm.masked.store.v{kind.count}i{kind.element.width}.p0"
        store = declared(builder, name, [kind, place.type, I32, lanes.type], ir.VoidType())
        builder.call(store, [value, place, I32(kind.element.width // 8), lanes])


class _Partition:
    """The code that parts a line: its sides, and what was not read yet between two places."""

    def __init__(self, builder: Any, kind: Any, line: Any, length: Any, pivot: Any) -> None:
        self.builder, self.lanes, self.sides = builder, kind.count, Sides(builder, kind, line, length, pivot)
        edge = I64(_BLOCK * self.lanes)
        self.begin, self.end = (cgutils.alloca_once_value(builder, end) for end in (edge, builder.sub(length, edge)))
        with builder.goto_entry_block():
            self.kept = builder.alloca(kind, I64(2 * _BLOCK))
        ends = [I64(k * self.lanes) for k in range(_BLOCK)]
        ends += [builder.sub(length, I64((k + 1) * self.lanes)) for k in range(_BLOCK)]
        for k, index in enumerate(ends):
            builder.store(self.sides.load(index), builder.gep(self.kept, [I64(k)]))

    def blocks(self, count: int) -> None:
        """Part so many vectors together, as long as there are."""
        builder, size = self.builder, I64(count * self.lanes)
        head, body, after = (builder.append_basic_block(name) for name in ("more", "block", "less"))
        builder.branch(head)
        builder.position_at_end(head)
        left = builder.sub(builder.load(self.end), builder.load(self.begin))
        builder.cbranch(builder.icmp_signed(">=", left, size), body, after)
        builder.position_at_end(body)
        begin, end = builder.load(self.begin), builder.load(self.end)
        room, other = builder.sub(begin, builder.load(self.sides.low)), builder.sub(builder.load(self.sides.high), end)
        with builder.if_else(builder.icmp_signed("<=", room, other)) as (low, high):
            with low:
                builder.store(builder.add(begin, size), self.begin)
                self._block(begin, count)
            with high:
                end = builder.sub(end, size)
                builder.store(end, self.end)
                self._block(end, count)
        builder.branch(head)
        builder.position_at_end(after)

    def _block(self, first: Any, count: int) -> None:
        """Part so many vectors: for either end by itself, as a place that is selected would come late."""
        indices = [self.builder.add(first, I64(k * self.lanes)) for k in range(count)]
        for value in [self.sides.load(index) for index in indices]:
            self.sides.put(value)

    def rest(self) -> None:
        """Part what is less than a vector, and what was set aside."""
        builder = self.builder
        begin = builder.load(self.begin)
        there = first_lanes(builder, builder.sub(builder.load(self.end), begin), self.lanes)
        self.sides.put(self.sides.load(begin), there)  # whole: there is room after it
        with loop(builder, I64(0), I64(2 * _BLOCK)) as k:
            self.sides.put(builder.load(builder.gep(self.kept, [k])))


def _aside(builder: Any, kind: Any, line: Any, length: Any, pivot: Any) -> Any:
    """Part a line that is short: keys above the pivot are set aside, and then moved after the others."""
    lanes, size = kind.count, kind.element.width // 8
    with builder.goto_entry_block():
        room = builder.alloca(kind, I64(_ROOM // (lanes * size) + 1))
        room.align = lanes * size
    sides = Sides(builder, kind, line, length, pivot)
    room, above = builder.ptrtoint(room, I64), cgutils.alloca_once_value(builder, I64(0))
    left = builder.and_(length, I64(lanes - 1))
    whole = builder.sub(length, left)
    with loop(builder, I64(0), whole, lanes) as index:
        sides.part(sides.load(index), room, above)
    sides.part(sides.load_first(whole, left), room, above, first_lanes(builder, left, lanes))
    first, number = builder.load(sides.low), builder.load(above)
    left = builder.and_(number, I64(lanes - 1))
    whole = builder.sub(number, left)
    with loop(builder, I64(0), whole, lanes) as index:
        sides.store(builder.load(sides.place(index, room), align=lanes * size), builder.add(first, index), None)
    value = builder.load(sides.place(whole, room), align=lanes * size)
    sides.store(value, builder.add(first, whole), first_lanes(builder, left, lanes))
    return first


def _partition(name: str, width: int) -> Any:
    """A function of where a line begins, its length, and a pivot, that gives how many keys are not above it."""

    def typing(context: Any, line: Any, length: Any, pivot: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.IntType(width), 8 * vectors().bytes // width)
            number = cgutils.alloca_once(builder, I64)
            short = builder.icmp_signed("<=", arguments[1], I64(8 * _ROOM // width))
            with builder.if_else(short) as (aside, otherwise):
                with aside:
                    builder.store(_aside(builder, kind, *arguments), number)
                with otherwise:
                    code = _Partition(builder, kind, *arguments)
                    for count in (_BLOCK, 1):
                        code.blocks(count)
                    code.rest()
                    builder.store(builder.load(code.sides.low), number)
            return builder.load(number)

        return signature(types.int64, *[types.int64] * 3), generate

    return named(name, typing)


partition_int32, partition_int64 = (_partition(f"partition_int{width}", width) for width in (32, 64))
