# SPDX-License-Identifier: Apache-2.0
"""Where the extremum of numbers that lie side by side is, in explicit vectors and in one pass over memory.

Blocks are taken in one after the other. Only where one has a number better than all before it, which becomes rare, is
that noted; in the end the last block that was noted is searched. NaN counts as better than any number. It, or the
best of all integers or truths, ends it. It gives the first of several places, as NumPy does. Short rows are in
registers as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from ngraph_rewrite.runtime.row_vectors import (
    AT_A_TIME,
    BIT,
    Numbers,
    Row,
    Rows,
    declared,
    halved,
    of_rows,
    variable,
)
from ngraph_rewrite.runtime.vector_code import I64, everywhere, loop

# Numbers of which it is found so, and what is said of each.
PLACED = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
__all__ = ["PLACED", *(f"row_arg{which}_{dtype}" for dtype in PLACED for which in ("max", "min"))]

_SHORT = (1, 2, 4)  # vectors of rows that are taken in without branches
_TURNS = 8  # of a block: what is noted costs less than reading it


class _Best(NamedTuple):
    """Variables: the best number so far, whether it is NaN, and the row and the number where its block begins."""

    number: Any
    nan: Any
    row: Any
    at: Any


class _Block(NamedTuple):
    """Variables: the best number in each lane, for each vector of a turn, and in which lanes a NaN was seen."""

    bests: list[Any]
    nans: Any

    def begin(self, builder: Any, nothing: Any) -> None:
        """Nothing was seen."""
        for best in self.bests:
            builder.store(nothing, best)
        builder.store(ir.Constant(self.nans.type.pointee, None), self.nans)


def _any(builder: Any, flags: Any) -> Any:
    name = f"llvm.vector.reduce.or.v{flags.type.count}i1"
    return builder.call(declared(builder, name, [flags.type], BIT), [flags])


def _first_lane(builder: Any, flags: Any) -> Any:
    """The first lane that has a flag, if any has."""
    bits = builder.zext(builder.bitcast(flags, ir.IntType(flags.type.count)), I64)
    return builder.call(declared(builder, "llvm.cttz.i64", [I64, BIT], I64), [bits, BIT(1)])


def _take_in(builder: Any, sign: str, numbers: Numbers, block: _Block, values: list[Any]) -> None:
    """Take in the vectors of a turn, or one."""
    for best, value in zip(block.bests, values, strict=False):
        builder.store(numbers.better(builder, sign, value, builder.load(best)), best)
        if numbers.is_real:
            unknown = builder.fcmp_unordered("uno", value, value)
            builder.store(builder.or_(builder.load(block.nans), unknown), block.nans)


def _note(builder: Any, sign: str, numbers: Numbers, best: _Best, block: _Block, begin: Any, row: Any) -> None:
    """Note the block that begins there if it has something better than all before it."""
    lanes = [builder.load(one) for one in block.bests]
    while len(lanes) > 1:
        lanes = [*(numbers.better(builder, sign, x, y) for x, y in zip(lanes[::2], lanes[1::2], strict=True))]
    former = everywhere(builder, builder.load(best.number), numbers.lanes)
    better = _any(builder, numbers.compared(builder, sign, lanes[0], former))
    nan = _any(builder, builder.load(block.nans)) if numbers.is_real else BIT(0)
    wanted = builder.and_(builder.or_(better, nan), builder.not_(builder.load(best.nan)))
    with builder.if_then(wanted, likely=False):
        builder.store(halved(builder, lanes[0], lambda x, y: numbers.better(builder, sign, x, y)), best.number)
        builder.store(nan, best.nan)
        builder.store(row, best.row)
        builder.store(begin, best.at)


def _take_row(builder: Any, sign: str, row: Row, number: Any, best: _Best, block: _Block) -> None:
    numbers, last = row.numbers, row.numbers.last(sign)
    nothing, length = everywhere(builder, last, row.lanes), _TURNS * row.step

    def is_last(start: Any) -> Any:
        """Whether nothing after the block that begins there can be better than what is noted once it is taken in."""
        stop = builder.add(start, I64(length))
        stop = builder.select(builder.icmp_signed("<", stop, row.turns), stop, row.turns)
        block.begin(builder, nothing)
        with loop(builder, start, stop, row.step) as index:
            _take_in(builder, sign, numbers, block, row.turn(index))
        _note(builder, sign, numbers, best, block, start, number)
        if numbers.is_real:
            return builder.load(best.nan)
        return builder.icmp_signed("==", builder.load(best.number), numbers.last("<" if sign == ">" else ">"))

    with _first(builder, I64(0), row.turns, length, is_last):
        pass
    with builder.if_then(builder.icmp_signed("<", row.turns, row.count)):
        block.begin(builder, nothing)
        row.rest(
            last,
            lambda vector: _take_in(builder, sign, numbers, block, [vector]),
            lambda one: _take_in(builder, sign, numbers, block, [builder.insert_element(nothing, one, I64(0))]),
        )
        _note(builder, sign, numbers, best, block, row.turns, number)


@contextmanager
def _first(builder: Any, start: Any, stop: Any, step: int, wanted: Callable[[Any], Any]) -> Iterator[Any]:
    """What is written inside runs for the first number, in steps, that is wanted; nothing if none is."""
    before = builder.block
    head, body, next_one, found, end = map(builder.append_basic_block, ("head", "body", "next", "found", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    index = builder.phi(I64)
    index.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", index, stop), body, end)
    builder.position_at_end(body)
    builder.cbranch(wanted(index), found, next_one)
    builder.position_at_end(next_one)
    index.add_incoming(builder.add(index, I64(step)), next_one)
    builder.branch(head)
    builder.position_at_end(found)
    yield index
    builder.branch(end)
    builder.position_at_end(end)


def _searched(builder: Any, row: Row, best: _Best) -> Any:
    """The first place in its row, from where the block begins that has it, of the best number; 0 in an empty row."""
    at, key, nan = (builder.load(one) for one in (best.at, best.number, best.nan))

    def wanted(value: Any, key: Any, nan: Any) -> Any:
        same = row.numbers.compared(builder, "==", value, key)
        return builder.select(nan, builder.fcmp_unordered("uno", value, value), same) if row.numbers.is_real else same

    def lanes(value: Any) -> Any:
        return wanted(value, everywhere(builder, key, row.lanes), everywhere(builder, nan, row.lanes))

    with variable(builder, I64(-1)) as place:
        with _first(builder, at, row.whole, row.lanes, lambda i: _any(builder, lanes(row.read(i)))) as index:
            builder.store(builder.add(index, _first_lane(builder, lanes(row.read(index)))), place)
        open_yet = builder.icmp_signed("<", builder.load(place), I64(0))
        if row.numbers.has_masks():
            with builder.if_then(builder.and_(open_yet, builder.icmp_signed("<", row.whole, row.count))):
                value, there = row.part(row.whole, ir.Constant(row.vector, None))
                found = builder.and_(lanes(value), there)
                with builder.if_then(_any(builder, found)):
                    builder.store(builder.add(row.whole, _first_lane(builder, found)), place)
        else:
            begin = builder.select(builder.icmp_signed("<", at, row.whole), row.whole, at)
            begin, one = builder.select(open_yet, begin, row.count), row.numbers.element
            with _first(builder, begin, row.count, 1, lambda i: wanted(row.read(i, one), key, nan)) as index:
                builder.store(index, place)
        found = builder.load(place)
        return builder.select(builder.icmp_signed("<", found, I64(0)), I64(0), found)


def _short(builder: Any, row: Row, sign: str, count: int) -> Any:
    """The place in a row of no more than so many vectors, without any branch; 0 in an empty row."""
    numbers, last = row.numbers, everywhere(builder, row.numbers.last(sign), row.lanes)

    def better(x: Any, y: Any) -> Any:
        return numbers.better(builder, sign, x, y)

    values, there = zip(*(row.part(I64(k * row.lanes), last) for k in range(count)), strict=True)
    best = everywhere(builder, halved(builder, reduce(better, values), better), row.lanes)
    found = [numbers.compared(builder, "==", value, best) for value in values]
    if numbers.is_real:
        nans = [builder.fcmp_unordered("uno", value, value) for value in values]
        unknown = everywhere(builder, _any(builder, reduce(builder.or_, nans)), row.lanes)
        found = [builder.select(unknown, nan, same) for nan, same in zip(nans, found, strict=True)]
    kind, bits = ir.IntType(row.lanes * count), list[Any]()
    for k, flags in enumerate(map(builder.and_, found, there)):
        own = builder.zext(builder.bitcast(flags, ir.IntType(row.lanes)), kind)
        bits.append(builder.shl(own, kind(k * row.lanes)))
    whole = reduce(builder.or_, bits)
    zeros = builder.call(declared(builder, f"llvm.cttz.i{kind.width}", [kind, BIT], kind), [whole, BIT(0)])
    zeros = builder.zext(zeros, I64) if kind.width < 64 else builder.trunc(zeros, I64)
    return builder.select(builder.icmp_signed("==", whole, kind(0)), I64(0), zeros)


def _place(builder: Any, rows: Rows, sign: str) -> Any:
    """The first place of the best number, the largest or the smallest as a sign says, counted through all rows."""
    with variable(builder, I64(0)) as place:
        many = [k for k in _SHORT if rows.numbers.has_masks()]
        blocks = [builder.append_basic_block(f"short_{k}") for k in many]
        end = builder.append_basic_block("placed")
        one = builder.icmp_signed("==", rows.rows, I64(1))
        for k, block in zip(many, blocks, strict=True):
            otherwise = builder.append_basic_block("longer")
            short = builder.icmp_signed("<=", rows.count, I64(k * rows.lanes))
            builder.cbranch(builder.and_(one, short), block, otherwise)
            builder.position_at_end(block)
            builder.store(_short(builder, rows.row(I64(0)), sign, k), place)
            builder.branch(end)
            builder.position_at_end(otherwise)
        builder.store(_place_in_long(builder, rows, sign), place)
        builder.branch(end)
        builder.position_at_end(end)
        return builder.load(place)


def _place_in_long(builder: Any, rows: Rows, sign: str) -> Any:
    numbers, flags = rows.numbers, ir.VectorType(BIT, rows.lanes)
    block = _Block(
        [cgutils.alloca_once(builder, numbers.vector) for _ in range(AT_A_TIME)], cgutils.alloca_once(builder, flags)
    )
    with ExitStack() as variables:
        first = (numbers.last(sign), BIT(0), I64(0), I64(0))
        best = _Best(*(variables.enter_context(variable(builder, value)) for value in first))
        with rows.each() as (number, row):
            _take_row(builder, sign, row, number, best, block)
        number = builder.load(best.row)
        return builder.add(builder.mul(number, rows.count), _searched(builder, rows.row(number), best))


for _dtype in PLACED:
    for _which, _sign in (("max", ">"), ("min", "<")):
        _name = f"row_arg{_which}_{_dtype}"
        globals()[_name] = of_rows(_name, types.int64, _place, _sign, numbers=Numbers(_dtype))
