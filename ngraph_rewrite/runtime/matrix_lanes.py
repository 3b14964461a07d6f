# SPDX-License-Identifier: Apache-2.0
"""Triangular factors of small matrices side by side: each matrix has a lane of vectors, and all are done with at once.

Element (i, j) of all of them lies in `LANE_BYTES` bytes, row by row. Rows change places in the lanes that want it. Each
product and each difference is rounded, columns from the first to the last, as in `ngraph_rewrite.ops.factors`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.panel_sizes import LANE_BYTES
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I32, I64, declared, everywhere, loop, pointer, words


class _Matrices:
    """Matrices with so many columns; an element of them is some vectors."""

    def __init__(self, builder: Any, dtype: str, address: Any, columns: Any) -> None:
        self.builder, self.own, self.address, self.columns = builder, words(dtype), address, columns
        self.starts = range(0, LANE_BYTES, self.own.size * self.own.tile.lanes)

    def _places(self, i: Any, j: Any) -> list[Any]:
        builder = self.builder
        number = builder.add(builder.mul(i, self.columns), j)
        at = builder.add(self.address, builder.mul(number, I64(LANE_BYTES)))
        return [pointer(builder, builder.add(at, I64(start)), self.own) for start in self.starts]

    def load(self, i: Any, j: Any) -> list[Any]:
        return [self.builder.load(place, align=self.own.size) for place in self._places(i, j)]

    def store(self, i: Any, j: Any, values: Sequence[Any]) -> None:
        for value, place in zip(values, self._places(i, j), strict=True):
            self.builder.store(value, place, align=self.own.size)

    def take(self, i: Any, j: Any, factors: Sequence[Any], others: Sequence[Any]) -> None:
        """Take products from an element."""
        builder = self.builder
        every = zip(self.load(i, j), factors, others, strict=True)
        self.store(i, j, [builder.fsub(x, builder.fmul(factor, other)) for x, factor, other in every])

    def number(self, i: Any) -> Any:
        """The number of a row, in all lanes."""
        return everywhere(self.builder, self.builder.sitofp(i, self.own.element), self.own.tile.lanes)

    def constant(self, value: float) -> Any:
        return ir.Constant(self.own.vector, [value] * self.own.tile.lanes)

    def call(self, name: str, x: Any) -> Any:
        """A function of LLVM's of a vector."""
        kind = self.own.vector
        return self.builder.call(declared(self.builder, f"llvm.{name}.{self.own.kind}", [kind], kind), [x])

    @contextmanager
    def kept(self, values: Sequence[Any]) -> Iterator[list[Any]]:
        """Where vectors are while a loop changes them."""
        with self.builder.goto_entry_block():
            places = [self.builder.alloca(value.type) for value in values]
        for value, place in zip(values, places, strict=True):
            self.builder.store(value, place)
        yield places


def _eliminate(builder: Any, dtype: str, z: Any, n: Any) -> None:
    """Factors with exchanged rows of the first n of n + 1 columns; the last one then tells which row each was."""
    z = _Matrices(builder, dtype, z, builder.add(n, I64(1)))
    with loop(builder, I64(0), n) as i:
        z.store(i, n, [z.number(i)] * len(z.starts))
    with loop(builder, I64(0), n) as k:
        below, found = builder.add(k, I64(1)), _pivots(z, k, n)
        with loop(builder, I64(0), z.columns) as j:
            _exchange(z, k, n, j, found)
        pivots = z.load(k, k)
        some = [builder.fcmp_unordered("!=", pivot, z.constant(0)) for pivot in pivots]
        with loop(builder, below, n) as i:
            quotients = [builder.fdiv(x, pivot) for x, pivot in zip(z.load(i, k), pivots, strict=True)]
            every = zip(some, quotients, strict=True)
            factors = [builder.select(is_some, quotient, z.constant(0)) for is_some, quotient in every]
            z.store(i, k, factors)
            with loop(builder, below, n) as j:
                z.take(i, j, factors, z.load(k, j))


def _pivots(z: _Matrices, k: Any, n: Any) -> list[Any]:
    """The rows of the largest numbers of column k that are left, the first of several; row k if it has a NaN."""
    builder, count = z.builder, len(z.starts)
    sizes = [z.call("fabs", x) for x in z.load(k, k)]
    with z.kept([*sizes, *[z.number(k)] * count]) as places:
        with loop(builder, builder.add(k, I64(1)), n) as i:
            for x, most, found in zip(z.load(i, k), places[:count], places[count:], strict=True):
                size = z.call("fabs", x)
                is_more = builder.fcmp_ordered(">", size, builder.load(most))
                builder.store(builder.select(is_more, size, builder.load(most)), most)
                builder.store(builder.select(is_more, z.number(i), builder.load(found)), found)
        return [builder.load(place) for place in places[count:]]


def _exchange(z: _Matrices, k: Any, n: Any, j: Any, found: Sequence[Any]) -> None:
    """Exchange in column j the elements of row k with those of rows that were found."""
    builder = z.builder
    with z.kept(z.load(k, j)) as places:
        with loop(builder, builder.add(k, I64(1)), n) as i:
            moved = []
            for x, row, place in zip(z.load(i, j), found, places, strict=True):
                is_other, one = builder.fcmp_ordered("==", row, z.number(i)), builder.load(place)
                moved.append(builder.select(is_other, one, x))
                builder.store(builder.select(is_other, x, one), place)
            z.store(i, j, moved)
        z.store(k, j, [builder.load(place) for place in places])


def _substitute(builder: Any, dtype: str, z: Any, n: Any, columns: Any, lower: Any, unit: Any) -> None:
    """Solutions for triangles, which are the first n columns; the others are right sides.

    Args:
        lower, unit: Whether they are lower ones, and whether their diagonals are taken for ones, if not 0.
    """
    z = _Matrices(builder, dtype, z, columns)
    is_lower, is_unit = (builder.icmp_signed("!=", x, I64(0)) for x in (lower, unit))
    with loop(builder, I64(0), n) as done:
        k = builder.select(is_lower, done, builder.sub(builder.sub(n, I64(1)), done))
        begin = builder.select(is_lower, builder.add(k, I64(1)), I64(0))
        end = builder.select(is_lower, n, k)
        pivots = [builder.select(is_unit, z.constant(1), pivot) for pivot in z.load(k, k)]
        with loop(builder, n, columns) as j:
            found = [builder.fdiv(x, pivot) for x, pivot in zip(z.load(k, j), pivots, strict=True)]
            z.store(k, j, found)
            with loop(builder, begin, end) as i:
                z.take(i, j, z.load(i, k), found)


def _cholesky(builder: Any, dtype: str, z: Any, n: Any) -> None:
    """Lower factors, in the place of lower triangles, and zeros above them."""
    z = _Matrices(builder, dtype, z, n)
    with loop(builder, I64(0), n) as k:
        positive = [(builder.fcmp_ordered(">", x, z.constant(0)), z.call("sqrt", x)) for x in z.load(k, k)]
        roots = [builder.select(is_positive, root, z.constant(float("nan"))) for is_positive, root in positive]
        z.store(k, k, roots)
        with loop(builder, builder.add(k, I64(1)), n) as i:
            factors = [builder.fdiv(x, root) for x, root in zip(z.load(i, k), roots, strict=True)]
            z.store(i, k, factors)
            with loop(builder, builder.add(k, I64(1)), builder.add(i, I64(1))) as j:
                z.take(i, j, factors, z.load(j, k))
            z.store(k, i, [z.constant(0)] * len(z.starts))


class _Elsewhere:
    """An element of each matrix where they are not side by side; of the last one again in lanes without a matrix.

    Args:
        between: Bytes from one matrix to the next.
        some: How many there are.
    """

    def __init__(self, builder: Any, dtype: str, between: Any, some: Any) -> None:
        self.builder, self.own = builder, words(dtype)
        lanes, last = LANE_BYTES // self.own.size, builder.sub(some, I64(1))
        there = [builder.icmp_signed("<", I64(lane), last) for lane in range(lanes)]
        self._steps = [builder.select(is_there, between, I64(0)) for is_there in there]

    def _places(self, address: Any) -> Iterator[tuple[int, Any]]:
        for lane, step in enumerate(self._steps):
            yield lane % self.own.tile.lanes, self.builder.inttoptr(address, self.own.element.as_pointer())
            address = self.builder.add(address, step)

    def load(self, address: Any) -> list[Any]:
        found = list[Any]()
        for lane, place in self._places(address):
            if lane == 0:
                found.append(ir.Constant(self.own.vector, ir.Undefined))
            value = self.builder.load(place, align=self.own.size)
            found[-1] = self.builder.insert_element(found[-1], value, I32(lane))
        return found

    def store(self, address: Any, vectors: Sequence[Any]) -> None:
        lanes = self.own.tile.lanes
        for number, (lane, place) in enumerate(self._places(address)):
            value = self.builder.extract_element(vectors[number // lanes], I32(lane))
            self.builder.store(value, place, align=self.own.size)


def _read(builder: Any, dtype: str, z: Any, columns: Any, x: Any, *given: Any) -> None:
    """Bring matrices with strides side by side."""
    between, down, along, n, m, some = given
    between, down, along = (builder.mul(stride, I64(words(dtype).size)) for stride in (between, down, along))
    z, elsewhere = _Matrices(builder, dtype, z, columns), _Elsewhere(builder, dtype, between, some)
    with loop(builder, I64(0), n) as i, loop(builder, I64(0), m) as j:
        at = builder.add(builder.mul(i, down), builder.mul(j, along))
        z.store(i, j, elsewhere.load(builder.add(x, at)))


def _write(builder: Any, dtype: str, z: Any, down: Any, along: Any, y: Any, *given: Any) -> None:
    """Put matrices (n, m) to where they are row by row, of which element (i, j) is one of z with strides."""
    between, n, m, some = given
    size = I64(words(dtype).size)
    z, elsewhere = _Matrices(builder, dtype, z, I64(1)), _Elsewhere(builder, dtype, builder.mul(between, size), some)
    with loop(builder, I64(0), n) as i, loop(builder, I64(0), m) as j:
        at = builder.mul(builder.add(builder.mul(i, m), j), size)
        place = builder.add(builder.mul(i, down), builder.mul(j, along))
        elsewhere.store(builder.add(y, at), z.load(place, I64(0)))


def _word(name: str, dtype: str, body: Callable[..., None], count: int) -> Any:
    """A function of a tuple of so many int64."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        body(builder, dtype, *[builder.extract_value(arguments[0], i) for i in range(count)])
        return context.get_dummy_value()

    def typing(context: Any, given: Any) -> Any:
        return signature(types.none, types.UniTuple(types.int64, count)), generate

    return named(name, typing)


_WORDS: Mapping[str, tuple[Callable[..., None], int]] = MappingProxyType(
    {
        "read": (_read, 9),
        "write": (_write, 8),
        "eliminate": (_eliminate, 2),
        "substitute": (_substitute, 5),
        "cholesky": (_cholesky, 2),
    }
)
for _dtype in ("float32", "float64"):
    for _name, (_body, _count) in _WORDS.items():
        globals()[f"lanes_{_name}_{_dtype}"] = _word(f"lanes_{_name}_{_dtype}", _dtype, _body, _count)
