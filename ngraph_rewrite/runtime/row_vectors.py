# SPDX-License-Identifier: Apache-2.0
"""Rows of float32 in memory, read in explicit vectors: whole turns of several vectors, then what is left of a row.

A turn asks memory for what comes two pages later, or in the next row, if short ones are taken in together. A processor
follows what it reads by itself, but not past the end of a page: of 64 MB, sums take a quarter less time so, places of
extrema half; of what caches hold, as much as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from ngraph_rewrite.runtime.features import features, vectors
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I32, I64, ask, declared, everywhere, loop

__all__ = ["AT_A_TIME", "BIT", "DOUBLE", "FLOAT", "Row", "Rows", "changed", "declared", "halved", "of_rows", "variable"]

FLOAT, DOUBLE, BIT = ir.FloatType(), ir.DoubleType(), ir.IntType(1)
_LINE, _AHEAD = 64, 8192  # bytes that come together, and how far ahead they are asked for
AT_A_TIME = 4  # vectors that a loop takes in: additions wait for one another otherwise


class Row:
    """A row whose numbers are read in vectors.

    Attributes:
        ahead: How many bytes on memory is asked for; None if it is not.
        lanes: The numbers in a vector.
        step: How many numbers one turn of a loop takes in.
        turns, whole: How many numbers there are in whole turns, and in whole vectors.
    """

    def __init__(self, builder: Any, address: Any, first: Any, count: Any, ahead: Any) -> None:
        self.builder, self.count, self.ahead = builder, count, ahead
        self.lanes = vectors().lanes("float32")
        self.step = self.lanes * AT_A_TIME
        self.vector = ir.VectorType(FLOAT, self.lanes)
        self.begin = builder.gep(builder.inttoptr(address, FLOAT.as_pointer()), [first])
        self.turns, self.whole = (builder.sub(count, builder.srem(count, I64(n))) for n in (self.step, self.lanes))

    def _at(self, index: Any, kind: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(self.begin, [index]), kind.as_pointer())

    def read(self, index: Any, kind: Any = None) -> Any:
        """The vector (or the number) that begins somewhere."""
        kind = kind or self.vector
        return self.builder.load(self._at(index, kind), align=4)

    def turn(self, index: Any) -> list[Any]:
        """The vectors of one turn, which asks for those of a later one."""
        if self.ahead is not None:
            begin = self.builder.add(self.builder.ptrtoint(self._at(index, FLOAT), I64), self.ahead)
            for line in range(0, 4 * self.step, _LINE):
                ask(self.builder, self.builder.add(begin, I64(line)), 3)
        return [self.read(self.builder.add(index, I64(k * self.lanes))) for k in range(AT_A_TIME)]

    def rest(self, filled: float, vector: Callable[[Any], None], number: Callable[[Any], None]) -> None:
        """What is left after whole turns: vectors, then a part of one, or numbers where there are no masks.

        Args:
            filled: What stands for numbers that are not there.
            vector: Takes in a vector.
            number: Takes in a number.
        """
        builder = self.builder
        with loop(builder, self.turns, self.whole, self.lanes) as index:
            vector(self.read(index))
        if not {"+avx512f", "+avx2"} & set(features()):
            with loop(builder, self.whole, self.count) as index:
                number(self.read(index, FLOAT))
            return
        with builder.if_then(builder.icmp_signed("<", self.whole, self.count)):
            vector(self._part(self.whole, everywhere(builder, ir.Constant(FLOAT, filled), self.lanes)))

    def _part(self, index: Any, others: Any) -> Any:
        """The last numbers of the row, and others in the other lanes."""
        builder, kinds = self.builder, ir.VectorType(I64, self.lanes)
        places = ir.Constant(kinds, list(range(self.lanes)))
        left = everywhere(builder, builder.sub(self.count, index), self.lanes)
        place = self._at(index, self.vector)
        there = builder.icmp_signed("<", places, left)
        operands = [place.type, I32, there.type, self.vector]
        load = declared(builder, f"llvm.masked.load.v{self.lanes}f32.p0", operands, self.vector)
        return builder.call(load, [place, I32(4), there, others])


class Rows(NamedTuple):
    """Rows of one length.

    Attributes:
        ahead: How many bytes on memory is asked for; None if it is not.
        first: The number with which the first one begins; `between` are from there to the next one.
        count: How many numbers each of them has.
    """

    builder: Any
    ahead: Any
    address: Any
    first: Any
    count: Any
    rows: Any
    between: Any

    @property
    def lanes(self) -> int:
        """The numbers in a vector."""
        return vectors().lanes("float32")

    def row(self, number: Any) -> Row:
        """The row of a number."""
        first = self.builder.add(self.first, self.builder.mul(number, self.between))
        return Row(self.builder, self.address, first, self.count, self.ahead)

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


def _distance(builder: Any, count: Any, rows: Any, between: Any) -> Any:
    """How many bytes on memory is asked for: in the row, or what is next to it, or in the next one."""
    long = builder.icmp_signed(">=", count, I64(_AHEAD // 4))
    here = builder.or_(long, builder.icmp_signed("<=", rows, I64(1)))
    return builder.select(here, I64(_AHEAD), builder.mul(between, I64(4)))


def of_rows(name: str, result: Any, body: Callable[..., Any], *more: Any, asks: bool = True) -> Any:
    """A function of what `Rows` has.

    Args:
        asks: Whether memory is asked for what comes later.
    """

    def typing(context: Any, address: Any, first: Any, count: Any, rows: Any, between: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            ahead = _distance(builder, *arguments[2:]) if asks else None
            return body(builder, Rows(builder, ahead, *arguments), *more)

        return signature(result, *[types.int64] * 5), generate

    return named(name, typing)
