# SPDX-License-Identifier: Apache-2.0
"""Rows of numbers in memory, read in explicit vectors: whole turns of several vectors, then what is left of a row.

A turn asks memory for what comes two pages later, or in the next row, if short ones are taken in together. A processor
follows what it reads by itself, but not past the end of a page: of 64 MB, sums take a quarter less time so, places of
extrema half; of what caches hold, as much as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from ngraph_rewrite.runtime.features import extrema_know_nan, features, vectors
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I32, I64, ask, declared, everywhere, loop
from ngraph_rewrite.types.dtypes import as_dtype

__all__ = [
    "AT_A_TIME",
    "BIT",
    "DOUBLE",
    "FLOAT",
    "SINGLE",
    "Numbers",
    "Row",
    "Rows",
    "changed",
    "declared",
    "halved",
    "of_rows",
    "variable",
]

FLOAT, DOUBLE, BIT = ir.FloatType(), ir.DoubleType(), ir.IntType(1)
_LINE, _AHEAD = 64, 8192  # bytes that come together, and how far ahead they are asked for
AT_A_TIME = 4  # vectors that a loop takes in: additions wait for one another otherwise


class Numbers(NamedTuple):
    """The numbers of a row: their dtype."""

    dtype: str

    @property
    def is_real(self) -> bool:
        """Whether there may be NaN among them."""
        return "float" in self.dtype

    @property
    def size(self) -> int:
        """The bytes of one."""
        return as_dtype(self.dtype).itemsize

    @property
    def lanes(self) -> int:
        """How many are in a vector."""
        return vectors().bytes // self.size

    @property
    def element(self) -> Any:
        """What LLVM calls one."""
        return _REALS[self.dtype] if self.is_real else ir.IntType(8 * self.size)

    @property
    def vector(self) -> Any:
        """What LLVM calls a vector of them."""
        return ir.VectorType(self.element, self.lanes)

    @property
    def kind(self) -> str:
        """How names of LLVM's functions call a vector."""
        return f"v{self.lanes}{'f' if self.is_real else 'i'}{8 * self.size}"

    def last(self, sign: str) -> Any:
        """The one that no other comes behind, if larger ones come first, or smaller ones, as a sign says."""
        if self.is_real:
            return ir.Constant(self.element, float("-inf") if sign == ">" else float("inf"))
        least, most = (0, 1) if self.dtype == "bool" else (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)
        return ir.Constant(self.element, int(least if sign == ">" else most))

    def compared(self, builder: Any, sign: str, x: Any, y: Any) -> Any:
        """Where a comparison holds; of NaN it does not."""
        if self.is_real:
            return builder.fcmp_ordered(sign, x, y)
        signed = self.dtype.startswith("int")
        return builder.icmp_signed(sign, x, y) if signed else builder.icmp_unsigned(sign, x, y)

    def better(self, builder: Any, sign: str, x: Any, y: Any) -> Any:
        """The better one of two vectors, whose NaN are looked for beside it."""
        if extrema_know_nan() and self.is_real:  # this is one instruction there, the other form takes two
            name = f"llvm.{'maxnum' if sign == '>' else 'minnum'}.v{x.type.count}f{8 * self.size}"
            return builder.call(declared(builder, name, [x.type] * 2, x.type), [x, y])
        return builder.select(self.compared(builder, sign, x, y), x, y)

    def has_masks(self) -> bool:
        """Whether a part of a vector is read in one instruction."""
        enough = {"+avx512bw"} if self.size < 4 else {"+avx512f", "+avx2"}
        return bool(enough & set(features()))


_REALS = MappingProxyType({"float32": FLOAT, "float64": DOUBLE})
SINGLE = Numbers("float32")


class Row:
    """A row whose numbers are read in vectors.

    Attributes:
        ahead: How many bytes on memory is asked for; None if it is not.
        lanes: How many numbers are in a vector.
        step: How many numbers one turn of a loop takes in.
        turns, whole: How many numbers there are in whole turns, and in whole vectors.
    """

    def __init__(self, builder: Any, numbers: Numbers, address: Any, first: Any, count: Any, ahead: Any) -> None:
        self.builder, self.numbers, self.count, self.ahead = builder, numbers, count, ahead
        self.lanes, self.vector = numbers.lanes, numbers.vector
        self.step = self.lanes * AT_A_TIME
        self.begin = builder.gep(builder.inttoptr(address, numbers.element.as_pointer()), [first])
        self.turns, self.whole = (builder.sub(count, builder.srem(count, I64(n))) for n in (self.step, self.lanes))

    def _at(self, index: Any, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(self.begin, [index]), kind.as_pointer())

    def read(self, index: Any, kind: Any = None) -> Any:
        """The vector (or the number) that begins somewhere."""
        kind = kind or self.vector
        return self.builder.load(self._at(index, kind), align=self.numbers.size)

    def turn(self, index: Any) -> list[Any]:
        """The vectors of one turn, which asks for those of a later one."""
        if self.ahead is not None:
            begin = self.builder.add(self.builder.ptrtoint(self._at(index, self.numbers.element), I64), self.ahead)
            for line in range(0, self.numbers.size * self.step, _LINE):
                ask(self.builder, self.builder.add(begin, I64(line)), 3)
        return [self.read(self.builder.add(index, I64(k * self.lanes))) for k in range(AT_A_TIME)]

    def rest(self, filled: Any, vector: Callable[[Any], None], number: Callable[[Any], None]) -> None:
        """What is left after whole turns: vectors, then a part of one, or numbers where there are no masks.

        Args:
            filled: What stands for numbers that are not there.
            vector: Takes in a vector.
            number: Takes in a number.
        """
        builder = self.builder
        with loop(builder, self.turns, self.whole, self.lanes) as index:
            vector(self.read(index))
        if not self.numbers.has_masks():
            with loop(builder, self.whole, self.count) as index:
                number(self.read(index, self.numbers.element))
            return
        with builder.if_then(builder.icmp_signed("<", self.whole, self.count)):
            vector(self.part(self.whole, everywhere(builder, filled, self.lanes))[0])

    def part(self, index: Any, others: Any) -> tuple[Any, Any]:
        """The vector that begins somewhere, with others in lanes that the row does not have; and which lanes it has."""
        builder, kinds = self.builder, ir.VectorType(I32, self.lanes)
        places = ir.Constant(kinds, list(range(self.lanes)))
        left = builder.trunc(builder.sub(self.count, index), I32)
        there = builder.icmp_signed("<", places, everywhere(builder, left, self.lanes))
        place = self._at(index, self.vector)
        operands = [place.type, I32, there.type, self.vector]
        load = declared(builder, f"llvm.masked.load.{self.numbers.kind}.p0", operands, self.vector)
        return builder.call(load, [place, I32(self.numbers.size), there, others]), there


class Rows(NamedTuple):
    """Rows of one length.

    Attributes:
        ahead: How many bytes on memory is asked for; None if it is not.
        first: The number with which the first one begins; `between` are from there to the next one.
        count: How many numbers each of them has.
    """

    builder: Any
    numbers: Numbers
    ahead: Any
    address: Any
    first: Any
    count: Any
    rows: Any
    between: Any

    @property
    def lanes(self) -> int:
        """How many numbers are in a vector."""
        return self.numbers.lanes

    def row(self, number: Any) -> Row:
        """The row of a number."""
        first = self.builder.add(self.first, self.builder.mul(number, self.between))
        return Row(self.builder, self.numbers, self.address, first, self.count, self.ahead)

    @contextmanager
    def each(self) -> Iterator[tuple[Any, Row]]:
        """What is written inside runs for each row and its number."""
        with loop(self.builder, I64(0), self.rows) as number:
            yield number, self.row(number)


@contextmanager
def variable(builder: Any, first: Any) -> Iterator[Any]:
    """A place for a value that loops change."""
    place = cgutils.alloca_once(builder, first.type)
    builder.store(first, place)
    yield place


def changed(builder: Any, place: Any, change: Callable[[Any], Any]) -> None:
    """Change what is in a variable."""
    builder.store(change(builder.load(place)), place)


def halved(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """The lanes of a vector combined, one half with the other: short rows would wait for one lane after the other."""
    lanes: int = vector.type.count
    while lanes > 1:
        lanes //= 2
        low, high = (ir.Constant(ir.VectorType(I32, lanes), [*range(k, k + lanes)]) for k in (0, lanes))
        vector = combine(*(builder.shuffle_vector(vector, vector, half) for half in (low, high)))
    return builder.extract_element(vector, I32(0))


def _distance(builder: Any, size: int, count: Any, rows: Any, between: Any) -> Any:
    """How many bytes on memory is asked for: in the row, or what is next to it, or in the next one."""
    long = builder.icmp_signed(">=", count, I64(_AHEAD // size))
    here = builder.or_(long, builder.icmp_signed("<=", rows, I64(1)))
    return builder.select(here, I64(_AHEAD), builder.mul(between, I64(size)))


def of_rows(
    name: str, result: Any, body: Callable[..., Any], *more: Any, asks: bool = True, numbers: Numbers = SINGLE
) -> Any:
    """A function of what `Rows` has.

    Args:
        asks: Whether memory is asked for what comes later.
    """

    def typing(context: Any, address: Any, first: Any, count: Any, rows: Any, between: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            ahead = _distance(builder, numbers.size, *arguments[2:]) if asks else None
            return body(builder, Rows(builder, numbers, ahead, *arguments), *more)

        return signature(result, *[types.int64] * 5), generate

    return named(name, typing)
