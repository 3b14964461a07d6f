# SPDX-License-Identifier: Apache-2.0
"""Where the extremum of float32 that lie side by side is, in explicit vectors and in one pass over memory.

Blocks are taken in one after the other. Only where one has a number better than all before it, which becomes rare, is
that noted; in the end the last block that was noted is searched. NaN counts as better than any number, and the first
one ends it. It gives the first of several places, as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from ngraph_rewrite.runtime.features import extrema_know_nan
from ngraph_rewrite.runtime.row_vectors import (
    AT_A_TIME,
    BIT,
    FLOAT,
    Row,
    Rows,
    declared,
    halved,
    of_rows,
    variable,
)
from ngraph_rewrite.runtime.vector_code import I64, everywhere, loop

__all__ = ["row_argmax_float32", "row_argmin_float32"]

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


def _better(builder: Any, sign: str, x: Any, y: Any) -> Any:
    """The better one of two vectors, whose NaN are looked for beside it."""
    if extrema_know_nan():  # this is one instruction there, the other form takes two
        name = f"llvm.{'maxnum' if sign == '>' else 'minnum'}.v{x.type.count}f32"
        return builder.call(declared(builder, name, [x.type] * 2, x.type), [x, y])
    return builder.select(builder.fcmp_ordered(sign, x, y), x, y)


def _any(builder: Any, flags: Any) -> Any:
    name = f"llvm.vector.reduce.or.v{flags.type.count}i1"
    return builder.call(declared(builder, name, [flags.type], BIT), [flags])


def _take_in(builder: Any, sign: str, block: _Block, values: list[Any]) -> None:
    """Take in the vectors of a turn, or one."""
    for best, value in zip(block.bests, values, strict=False):
        builder.store(_better(builder, sign, value, builder.load(best)), best)
        unknown = builder.fcmp_unordered("uno", value, value)
        builder.store(builder.or_(builder.load(block.nans), unknown), block.nans)


def _note(builder: Any, sign: str, best: _Best, block: _Block, begin: Any, row: Any) -> None:
    """Note the block that begins there if it has something better than all before it."""
    lanes = [builder.load(one) for one in block.bests]
    while len(lanes) > 1:
        lanes = [*(_better(builder, sign, x, y) for x, y in zip(lanes[::2], lanes[1::2], strict=True))]
    former = everywhere(builder, builder.load(best.number), lanes[0].type.count)
    better = _any(builder, builder.fcmp_ordered(sign, lanes[0], former))
    nan = _any(builder, builder.load(block.nans))
    wanted = builder.and_(builder.or_(better, nan), builder.not_(builder.load(best.nan)))
    with builder.if_then(wanted, likely=False):
        builder.store(halved(builder, lanes[0], lambda x, y: _better(builder, sign, x, y)), best.number)
        builder.store(nan, best.nan)
        builder.store(row, best.row)
        builder.store(begin, best.at)


def _take_row(builder: Any, sign: str, row: Row, number: Any, best: _Best, block: _Block) -> None:
    lowest = float("-inf") if sign == ">" else float("inf")
    nothing = everywhere(builder, ir.Constant(FLOAT, lowest), row.lanes)
    length = _TURNS * row.step
    with loop(builder, I64(0), row.turns, length) as start:
        stop = builder.add(start, I64(length))
        stop = builder.select(builder.icmp_signed("<", stop, row.turns), stop, row.turns)
        block.begin(builder, nothing)
        with loop(builder, start, stop, row.step) as index:
            _take_in(builder, sign, block, row.turn(index))
        _note(builder, sign, best, block, start, number)
    with builder.if_then(builder.icmp_signed("<", row.turns, row.count)):
        block.begin(builder, nothing)
        row.rest(
            lowest,
            lambda vector: _take_in(builder, sign, block, [vector]),
            lambda one: _take_in(builder, sign, block, [builder.insert_element(nothing, one, I64(0))]),
        )
        _note(builder, sign, best, block, row.turns, number)


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
        unknown, same = builder.fcmp_unordered("uno", value, value), builder.fcmp_ordered("==", value, key)
        return builder.select(nan, unknown, same)

    def lanes(index: Any) -> Any:
        return wanted(row.read(index), everywhere(builder, key, row.lanes), everywhere(builder, nan, row.lanes))

    with variable(builder, I64(-1)) as place:
        with _first(builder, at, row.whole, row.lanes, lambda index: _any(builder, lanes(index))) as index:
            bits = builder.zext(builder.bitcast(lanes(index), ir.IntType(row.lanes)), I64)
            zeros = builder.call(declared(builder, "llvm.cttz.i64", [I64, BIT], I64), [bits, BIT(1)])
            builder.store(builder.add(index, zeros), place)
        open_yet = builder.icmp_signed("<", builder.load(place), I64(0))
        begin = builder.select(builder.icmp_signed("<", at, row.whole), row.whole, at)
        begin = builder.select(open_yet, begin, row.count)
        with _first(builder, begin, row.count, 1, lambda index: wanted(row.read(index, FLOAT), key, nan)) as index:
            builder.store(index, place)
        found = builder.load(place)
        return builder.select(builder.icmp_signed("<", found, I64(0)), I64(0), found)


def _place(builder: Any, rows: Rows, sign: str) -> Any:
    """The first place of the largest or the smallest number, as a sign says, counted through all rows."""
    lowest = float("-inf") if sign == ">" else float("inf")
    vector, flags = ir.VectorType(FLOAT, rows.lanes), ir.VectorType(BIT, rows.lanes)
    block = _Block(
        [cgutils.alloca_once(builder, vector) for _ in range(AT_A_TIME)], cgutils.alloca_once(builder, flags)
    )
    with ExitStack() as variables:
        first = (ir.Constant(FLOAT, lowest), BIT(0), I64(0), I64(0))
        best = _Best(*(variables.enter_context(variable(builder, value)) for value in first))
        with rows.each() as (number, row):
            _take_row(builder, sign, row, number, best, block)
        number = builder.load(best.row)
        return builder.add(builder.mul(number, rows.count), _searched(builder, rows.row(number), best))


row_argmax_float32 = of_rows("row_argmax_float32", types.int64, _place, ">")
row_argmin_float32 = of_rows("row_argmin_float32", types.int64, _place, "<")
