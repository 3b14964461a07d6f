# SPDX-License-Identifier: Apache-2.0
"""Sums and extrema of float32 that lie side by side, in explicit vectors: whole cache lines, asked for ahead of time.

LLVM would read half a line at a time for a sum in float64, and asks for nothing ahead; where a row does not lie in the
first cache, that is a tenth to a quarter of the time. Sums add at most 16 float32 in each lane, and these sums in
float64, which is as accurate as pairwise summation. Several rows, equally far from each other, are taken in together:
their lanes are added up once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.extending import intrinsic

from ngraph_rewrite.runtime.features import features, vectors
from ngraph_rewrite.runtime.vector_code import I32, I64, everywhere, loop

__all__ = ["row_max_float32", "row_min_float32", "row_sum_float32"]

_FLOAT, _DOUBLE, _BIT = ir.FloatType(), ir.DoubleType(), ir.IntType(1)
_AT_A_TIME = 4  # vectors that a loop takes in: additions wait for one another otherwise
_ADDED = 16  # numbers that each lane of float32 adds
_AHEAD, _LINE = 2048, 64  # how many bytes ahead memory is asked for, and how many come together


def _function(builder: Any, name: str, operands: list[Any], result: Any) -> Any:
    module = builder.module
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, operands), name)


class _Row:
    """A row whose numbers are read in vectors.

    Attributes:
        lanes: The numbers in a vector.
        step: How many numbers one turn of a loop takes in.
        turns: How many numbers there are in whole turns.
    """

    def __init__(self, builder: Any, address: Any, first: Any, count: Any) -> None:
        self.builder, self.count = builder, count
        self.lanes = vectors().lanes("float32")
        self.step = self.lanes * _AT_A_TIME
        self.vector = ir.VectorType(_FLOAT, self.lanes)
        self.begin = builder.gep(builder.inttoptr(address, _FLOAT.as_pointer()), [first])
        self.turns = builder.sub(count, builder.srem(count, I64(self.step)))

    def _at(self, index: Any, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(self.begin, [index]), kind.as_pointer())

    def read(self, index: Any, kind: Any = None) -> Any:
        """The vector (or the number) that begins somewhere."""
        kind = kind or self.vector
        return self.builder.load(self._at(index, kind), align=4)

    def turn(self, index: Any) -> list[Any]:
        """The vectors of one turn; those of later ones are asked for."""
        ahead = self.builder.bitcast(self._at(index, _FLOAT), ir.IntType(8).as_pointer())
        prefetch = _function(self.builder, "llvm.prefetch.p0", [ahead.type, I32, I32, I32], ir.VoidType())
        for line in range(0, self.step * 4, _LINE):
            self.builder.call(prefetch, [self.builder.gep(ahead, [I64(_AHEAD + line)]), I32(0), I32(3), I32(1)])
        return [self.read(self.builder.add(index, I64(k * self.lanes))) for k in range(_AT_A_TIME)]

    def rest(self, filled: float, vector: Callable[[Any], None], number: Callable[[Any], None]) -> None:
        """What is left after whole turns: vectors, then a part of one, or numbers where there are no masks.

        Args:
            filled: What stands for numbers that are not there.
            vector: Takes in a vector.
            number: Takes in a number.
        """
        builder = self.builder
        whole = builder.sub(self.count, builder.srem(self.count, I64(self.lanes)))
        with loop(builder, self.turns, whole, self.lanes) as index:
            vector(self.read(index))
        if not {"+avx512f", "+avx2"} & set(features()):
            with loop(builder, whole, self.count) as index:
                number(self.read(index, _FLOAT))
            return
        with builder.if_then(builder.icmp_signed("<", whole, self.count)):
            vector(self._part(whole, everywhere(builder, ir.Constant(_FLOAT, filled), self.lanes)))

    def _part(self, index: Any, others: Any) -> Any:
        """The last numbers of the row, and others in the other lanes."""
        builder, kinds = self.builder, ir.VectorType(I64, self.lanes)
        places = ir.Constant(kinds, list(range(self.lanes)))
        left = everywhere(builder, builder.sub(self.count, index), self.lanes)
        place = self._at(index, self.vector)
        there = builder.icmp_signed("<", places, left)
        operands = [place.type, I32, there.type, self.vector]
        load = _function(builder, f"llvm.masked.load.v{self.lanes}f32.p0", operands, self.vector)
        return builder.call(load, [place, I32(4), there, others])


class _Rows(NamedTuple):
    """Rows of one length.

    Attributes:
        first: The number with which the first one begins; `between` are from there to the next one.
        count: How many numbers each of them has.
    """

    builder: Any
    address: Any
    first: Any
    count: Any
    rows: Any
    between: Any

    @property
    def lanes(self) -> int:
        """The numbers in a vector."""
        return vectors().lanes("float32")

    @contextmanager
    def each(self) -> Iterator[_Row]:
        """What is written inside runs for each row."""
        with loop(self.builder, I64(0), self.rows) as number:
            first = self.builder.add(self.first, self.builder.mul(number, self.between))
            yield _Row(self.builder, self.address, first, self.count)


@contextmanager
def _variable(builder: Any, first: Any) -> Iterator[Any]:
    """A place for a value that loops change."""
    place = cgutils.alloca_once(builder, first.type)
    builder.store(first, place)
    yield place


def _changed(builder: Any, place: Any, change: Callable[[Any], Any]) -> None:
    builder.store(change(builder.load(place)), place)


def _sum(builder: Any, rows: _Rows) -> Any:
    """The sum, in float64."""
    wide = ir.VectorType(_DOUBLE, rows.lanes)

    def add(place: Any, value: Any) -> None:
        _changed(builder, place, lambda before: builder.fadd(before, value))

    with (
        _variable(builder, ir.Constant(wide, None)) as total,
        _variable(builder, ir.Constant(_DOUBLE, 0.0)) as single,
    ):
        with rows.each() as row:
            block = _ADDED * row.step
            with loop(builder, I64(0), row.turns, block) as start:
                stop = builder.add(start, I64(block))
                stop = builder.select(builder.icmp_signed("<", stop, row.turns), stop, row.turns)
                parts = [cgutils.alloca_once(builder, row.vector) for _ in range(_AT_A_TIME)]
                for part in parts:
                    builder.store(ir.Constant(row.vector, None), part)
                with loop(builder, start, stop, row.step) as index:
                    for part, value in zip(parts, row.turn(index), strict=True):
                        add(part, value)
                for part in parts:
                    add(total, builder.fpext(builder.load(part), wide))
            row.rest(
                0.0,
                lambda vector: add(total, builder.fpext(vector, wide)),
                lambda number: add(single, builder.fpext(number, _DOUBLE)),
            )
        reduce = _function(builder, f"llvm.vector.reduce.fadd.v{rows.lanes}f64", [_DOUBLE, wide], _DOUBLE)
        return builder.call(reduce, [builder.load(single), builder.load(total)], fastmath=("reassoc",))


def _halved(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """The lanes of a vector combined, one half with the other: short rows would wait for one lane after the other."""
    lanes: int = vector.type.count
    while lanes > 1:
        lanes //= 2
        low, high = (ir.Constant(ir.VectorType(I32, lanes), [*range(k, k + lanes)]) for k in (0, lanes))
        vector = combine(*(builder.shuffle_vector(vector, vector, half) for half in (low, high)))
    return builder.extract_element(vector, I32(0))


def _extremum(builder: Any, rows: _Rows, sign: str) -> Any:
    """The largest or the smallest number, as a sign says; NaN if there is one."""
    lowest = float("-inf") if sign == ">" else float("inf")

    def better(value: Any) -> Callable[[Any], Any]:
        return lambda best: builder.select(builder.fcmp_ordered(sign, value, best), value, best)

    nothing = everywhere(builder, ir.Constant(_FLOAT, lowest), rows.lanes)
    flags = ir.VectorType(_BIT, rows.lanes)
    bests = [cgutils.alloca_once_value(builder, nothing) for _ in range(_AT_A_TIME)]
    with (
        _variable(builder, ir.Constant(flags, None)) as nans,
        _variable(builder, ir.Constant(_FLOAT, lowest)) as single,
        _variable(builder, ir.Constant(_BIT, 0)) as nan,
    ):
        for best in bests:
            builder.store(nothing, best)

        def note(place: Any, x: Any, y: Any) -> None:
            _changed(builder, place, lambda before: builder.or_(before, builder.fcmp_unordered("uno", x, y)))

        def vector(value: Any) -> None:
            _changed(builder, bests[0], better(value))
            note(nans, value, value)

        def number(value: Any) -> None:
            _changed(builder, single, better(value))
            note(nan, value, value)

        with rows.each() as row:
            with loop(builder, I64(0), row.turns, row.step) as index:
                values = row.turn(index)
                for best, value in zip(bests, values, strict=True):
                    _changed(builder, best, better(value))
                for x, y in zip(values[::2], values[1::2], strict=True):
                    note(nans, x, y)
            row.rest(lowest, vector, number)
        for best in bests[1:]:
            _changed(builder, bests[0], better(builder.load(best)))
        best = _halved(builder, builder.load(bests[0]), lambda x, y: better(x)(y))
        _changed(builder, single, better(best))
        any_nan = _function(builder, f"llvm.vector.reduce.or.v{rows.lanes}i1", [flags], _BIT)
        found = builder.or_(builder.load(nan), builder.call(any_nan, [builder.load(nans)]))
        return builder.select(found, ir.Constant(_FLOAT, float("nan")), builder.load(single))


def _intrinsic(name: str, result: Any, body: Callable[..., Any], *more: Any) -> Any:
    """A function of what `_Rows` has."""

    def typing(context: Any, address: Any, first: Any, count: Any, rows: Any, between: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            return body(builder, _Rows(builder, *arguments), *more)

        return signature(result, *[types.int64] * 5), generate

    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


row_sum_float32 = _intrinsic("row_sum_float32", types.float64, _sum)
row_max_float32 = _intrinsic("row_max_float32", types.float32, _extremum, ">")
row_min_float32 = _intrinsic("row_min_float32", types.float32, _extremum, "<")
