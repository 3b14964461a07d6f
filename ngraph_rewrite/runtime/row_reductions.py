# SPDX-License-Identifier: Apache-2.0
"""Sums and extrema of float32, and numbers of truths, that lie side by side, in explicit vectors: whole cache lines.

LLVM would read half a line at a time for a sum in float64, which is slower where a row does not lie in the first cache.
Sums add at most 16 float32 in each lane, and these sums in float64, which is as accurate as pairwise summation. Several
rows, equally far from each other, are taken in together: their lanes are added up once. Memory need not be asked for an
*asked* row: another loop does that. Truths are bytes: a lane of eight bits adds as many as it has room for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ngraph_rewrite.runtime.features import extrema_know_nan
from ngraph_rewrite.runtime.row_vectors import (
    AT_A_TIME,
    BIT,
    DOUBLE,
    FLOAT,
    Numbers,
    Rows,
    changed,
    declared,
    halved,
    of_rows,
    variable,
)
from ngraph_rewrite.runtime.vector_code import I32, I64, everywhere, loop

__all__ = [
    "asked_row_max_float32",
    "asked_row_min_float32",
    "asked_row_sum_float32",
    "row_max_float32",
    "row_min_float32",
    "row_sum_bool",
    "row_sum_float32",
]

_ADDED = 16  # numbers that each lane of float32 adds
_COUNTED = 255  # truths that each lane of eight bits adds


def _sum(builder: Any, rows: Rows) -> Any:
    """The sum, in float64."""
    wide = ir.VectorType(DOUBLE, rows.lanes)

    def add(place: Any, value: Any) -> None:
        changed(builder, place, lambda before: builder.fadd(before, value))

    with (
        variable(builder, ir.Constant(wide, None)) as total,
        variable(builder, ir.Constant(DOUBLE, 0.0)) as single,
    ):
        with rows.each() as (_, row):
            block = _ADDED * row.step
            with loop(builder, I64(0), row.turns, block) as start:
                stop = builder.add(start, I64(block))
                stop = builder.select(builder.icmp_signed("<", stop, row.turns), stop, row.turns)
                parts = [cgutils.alloca_once(builder, row.vector) for _ in range(AT_A_TIME)]
                for part in parts:
                    builder.store(ir.Constant(row.vector, None), part)
                with loop(builder, start, stop, row.step) as index:
                    for part, value in zip(parts, row.turn(index), strict=True):
                        add(part, value)
                for part in parts:
                    add(total, builder.fpext(builder.load(part), wide))
            row.rest(
                ir.Constant(FLOAT, 0.0),
                lambda vector: add(total, builder.fpext(vector, wide)),
                lambda number: add(single, builder.fpext(number, DOUBLE)),
            )
        reduce = declared(builder, f"llvm.vector.reduce.fadd.v{rows.lanes}f64", [DOUBLE, wide], DOUBLE)
        return builder.call(reduce, [builder.load(single), builder.load(total)], fastmath=("reassoc",))


def _more(builder: Any, one: Any, before: Any) -> Any:
    return builder.add(before, builder.zext(one, I64))


def _truths(builder: Any, rows: Rows) -> Any:
    """How many are true."""
    with variable(builder, I64(0)) as total:

        def add(value: Any) -> None:
            wide = builder.zext(value, ir.VectorType(I32, rows.lanes))
            reduce = declared(builder, f"llvm.vector.reduce.add.v{rows.lanes}i32", [wide.type], I32)
            changed(builder, total, lambda before: builder.add(before, builder.zext(builder.call(reduce, [wide]), I64)))

        with rows.each() as (_, row):
            block = _COUNTED * row.step
            parts = [cgutils.alloca_once(builder, row.vector) for _ in range(AT_A_TIME)]
            with loop(builder, I64(0), row.turns, block) as start:
                stop = builder.add(start, I64(block))
                stop = builder.select(builder.icmp_signed("<", stop, row.turns), stop, row.turns)
                for part in parts:
                    builder.store(ir.Constant(row.vector, None), part)
                with loop(builder, start, stop, row.step) as index:
                    for part, value in zip(parts, row.turn(index), strict=True):
                        changed(builder, part, partial(builder.add, value))
                for part in parts:
                    add(builder.load(part))
            row.rest(row.numbers.last(">"), add, lambda one: changed(builder, total, partial(_more, builder, one)))
        return builder.load(total)


def _better(builder: Any, sign: str, value: Any) -> Callable[[Any], Any]:
    """What gives the better one of this and of the best before."""
    if extrema_know_nan():
        word = "maximum" if sign == ">" else "minimum"
        name = f"llvm.{word}.{'f32' if value.type == FLOAT else f'v{value.type.count}f32'}"
        extremum = declared(builder, name, [value.type] * 2, value.type)
        return lambda best: builder.call(extremum, [value, best])
    return lambda best: builder.select(builder.fcmp_ordered(sign, value, best), value, best)


def _extremum(builder: Any, rows: Rows, sign: str) -> Any:
    """The largest or the smallest number, as a sign says; NaN if there is one."""
    lowest, better = float("-inf") if sign == ">" else float("inf"), partial(_better, builder, sign)
    nothing = everywhere(builder, ir.Constant(FLOAT, lowest), rows.lanes)
    flags = ir.VectorType(BIT, rows.lanes)
    bests = [cgutils.alloca_once_value(builder, nothing) for _ in range(AT_A_TIME)]
    with (
        variable(builder, ir.Constant(flags, None)) as nans,
        variable(builder, ir.Constant(FLOAT, lowest)) as single,
        variable(builder, ir.Constant(BIT, 0)) as nan,
    ):
        for best in bests:
            builder.store(nothing, best)

        def note(place: Any, x: Any, y: Any) -> None:
            if not extrema_know_nan():
                changed(builder, place, lambda before: builder.or_(before, builder.fcmp_unordered("uno", x, y)))

        def vector(value: Any) -> None:
            changed(builder, bests[0], better(value))
            note(nans, value, value)

        def number(value: Any) -> None:
            changed(builder, single, better(value))
            note(nan, value, value)

        with rows.each() as (_, row):
            with loop(builder, I64(0), row.turns, row.step) as index:
                values = row.turn(index)
                for best, value in zip(bests, values, strict=True):
                    changed(builder, best, better(value))
                for x, y in zip(values[::2], values[1::2], strict=True):
                    note(nans, x, y)
            row.rest(ir.Constant(FLOAT, lowest), vector, number)
        for best in bests[1:]:
            changed(builder, bests[0], better(builder.load(best)))
        best = halved(builder, builder.load(bests[0]), lambda x, y: better(x)(y))
        changed(builder, single, better(best))
        found = builder.load(single)
        is_nan = _is_nan(builder, rows, found, builder.load(nan), builder.load(nans))
        return builder.select(is_nan, ir.Constant(FLOAT, float("nan")), found)


def _is_nan(builder: Any, rows: Rows, found: Any, single: Any, vector: Any) -> Any:
    """Whether there was a NaN: an extremum is one, or it was noted."""
    if extrema_know_nan():
        return builder.fcmp_unordered("uno", found, found)
    any_of = declared(builder, f"llvm.vector.reduce.or.v{rows.lanes}i1", [vector.type], BIT)
    return builder.or_(single, builder.call(any_of, [vector]))


row_sum_float32 = of_rows("row_sum_float32", types.float64, _sum)
row_sum_bool = of_rows("row_sum_bool", types.int64, _truths, numbers=Numbers("bool"))
row_max_float32 = of_rows("row_max_float32", types.float32, _extremum, ">")
row_min_float32 = of_rows("row_min_float32", types.float32, _extremum, "<")
asked_row_sum_float32 = of_rows("asked_row_sum_float32", types.float64, _sum, asks=False)
asked_row_max_float32 = of_rows("asked_row_max_float32", types.float32, _extremum, ">", asks=False)
asked_row_min_float32 = of_rows("asked_row_min_float32", types.float32, _extremum, "<", asks=False)
