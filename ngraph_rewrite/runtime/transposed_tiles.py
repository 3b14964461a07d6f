# SPDX-License-Identifier: Apache-2.0
"""Square tiles of an array whose rows become columns, transposed in registers: whole cache lines on either side.

Element by element, lines of a tile wait in the first cache until all of them has been used. Where rows lie a power of
two apart they do not fit there together, and each line comes again and again.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic

from ngraph_rewrite.runtime.features import features, vectors
from ngraph_rewrite.runtime.intrinsics import stack_array
from ngraph_rewrite.runtime.vector_code import I32, I64, declared, everywhere, interleaved_halves, loop

__all__ = [
    "tile_space",
    "tile_start",
    "transpose_block_1",
    "transpose_block_2",
    "transpose_block_4",
    "transpose_block_8",
]

_BLOCK = 2048  # words of 8 bytes of a block on the stack
_SIDE = 16  # elements of a tile: of four bytes, a line


class _Square:
    """The code that transposes squares of elements of a size, as large as the vectors of the processor hold."""

    def __init__(self, builder: Any, size: int) -> None:
        self.builder, self.size = builder, size
        self.lanes = min(_SIDE, vectors().bytes // size)
        self.element = ir.IntType(8 * size)
        self.vector = ir.VectorType(self.element, self.lanes)
        # Other vectors than these have no instruction for some of their lanes.
        self.masks = size >= 4 and bool({"+avx512f", "+avx2"} & set(features()))

    def place(self, base: Any, row: Any, step: Any, column: Any, kind: Any) -> Any:
        """The address of something that begins in a row and a column."""
        return self.builder.inttoptr(_place(self.builder, self.size, base, row, step, column), kind.as_pointer())

    def whole(self, given: tuple[Any, ...], i: Any, j: Any) -> None:
        """The square whose first column of the source is `i`, and whose first row `j`."""
        x, x_step, y, y_step = given
        builder, numbers = self.builder, [I64(n) for n in range(self.lanes)]
        places = [self.place(x, builder.add(j, n), x_step, i, self.vector) for n in numbers]
        rows = [builder.load(place, align=self.size) for place in places]
        for n, column in zip(numbers, interleaved_halves(builder, rows), strict=True):
            builder.store(column, self.place(y, builder.add(i, n), y_step, j, self.vector), align=self.size)

    def part(self, given: tuple[Any, ...], i: Any, j: Any, ends: tuple[Any, Any]) -> None:
        """What there is of a square before the last column of the source and its last row."""
        x, x_step, y, y_step = given
        builder, numbers = self.builder, [I64(n) for n in range(self.lanes)]
        columns, rows = (builder.sub(end, first) for end, first in zip(ends, (i, j), strict=True))
        places = [self.place(x, builder.add(j, n), x_step, i, self.vector) for n in numbers]
        found = [self._load(place, self._lanes(columns, n, rows)) for place, n in zip(places, numbers, strict=True)]
        for n, column in zip(numbers, interleaved_halves(builder, found), strict=True):
            place = self.place(y, builder.add(i, n), y_step, j, self.vector)
            self._store(column, place, self._lanes(rows, n, columns))

    def _lanes(self, count: Any, number: Any, numbers: Any) -> Any:
        """The first lanes, as many as `count`, if there is a line of this number."""
        kind = ir.VectorType(I64, self.lanes)
        there = self.builder.select(self.builder.icmp_signed("<", number, numbers), count, I64(0))
        lanes = ir.Constant(kind, list(range(self.lanes)))
        return self.builder.icmp_signed("<", lanes, everywhere(self.builder, there, self.lanes))

    def _load(self, place: Any, lanes: Any) -> Any:
        name = f"llvm.masked.load.v{self.lanes}i{8 * self.size}.p0"
        load = declared(self.builder, name, [place.type, I32, lanes.type, self.vector], self.vector)
        return self.builder.call(load, [place, I32(self.size), lanes, ir.Constant(self.vector, None)])

    def _store(self, value: Any, place: Any, lanes: Any) -> None:
        name = f"llvm.masked.store.v{self.lanes}i{8 * self.size}.p0"
        store = declared(self.builder, name, [self.vector, place.type, I32, lanes.type], ir.VoidType())
        self.builder.call(store, [value, place, I32(self.size), lanes])

    def single(self, given: tuple[Any, ...], i: Any, j: Any, ends: tuple[Any, Any]) -> None:
        """One element."""
        x, x_step, y, y_step = given
        value = self.builder.load(self.place(x, j, x_step, i, self.element), align=self.size)
        self.builder.store(value, self.place(y, i, y_step, j, self.element), align=self.size)


def _tile(builder: Any, size: int) -> Any:
    """A function that transposes a tile, square by square; less than a tile has parts of squares, or elements."""
    module, name = builder.module, f"ngraph_rewrite_transpose_tile_{size}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 6), name)
    function.linkage = "internal"
    function.attributes.add("noinline")  # else the loops of its parts are unrolled, for each caller
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    *given, columns, rows = function.args
    ends, square = (columns, rows), _Square(builder, size)
    full = builder.and_(*(builder.icmp_signed("==", end, I64(_SIDE)) for end in ends))
    with builder.if_else(full) as (whole, less):
        with whole:
            for i in range(0, _SIDE, square.lanes):
                for j in range(0, _SIDE, square.lanes):
                    square.whole(tuple(given), I64(i), I64(j))
        with less:
            step = square.lanes if square.masks else 1
            with loop(builder, I64(0), ends[0], step) as i, loop(builder, I64(0), ends[1], step) as j:
                (square.part if square.masks else square.single)(tuple(given), i, j, ends)
    builder.ret_void()
    return function


def _block(builder: Any, size: int, given: tuple[Any, ...], ends: tuple[Any, Any]) -> None:
    """Tiles, so that several lines beside each other are taken at once on the side where rows lie farther apart."""
    x, x_step, y, y_step = given
    tile = _tile(builder, size)

    def one(i: Any, j: Any) -> None:
        begins = [_place(builder, size, *at) for at in ((x, j, x_step, i), (y, i, y_step, j))]
        left = [_lesser(builder, builder.sub(end, first), I64(_SIDE)) for end, first in zip(ends, (i, j), strict=True)]
        builder.call(tile, [begins[0], x_step, begins[1], y_step, *left])

    with builder.if_else(builder.icmp_signed(">", x_step, y_step)) as (reading, writing):
        with reading, loop(builder, I64(0), ends[1], _SIDE) as j, loop(builder, I64(0), ends[0], _SIDE) as i:
            one(i, j)
        with writing, loop(builder, I64(0), ends[0], _SIDE) as i, loop(builder, I64(0), ends[1], _SIDE) as j:
            one(i, j)


def _place(builder: Any, size: int, base: Any, row: Any, step: Any, column: Any) -> Any:
    """The address of what begins in a row and a column."""
    return builder.add(base, builder.mul(builder.add(builder.mul(row, step), column), I64(size)))


def _lesser(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.icmp_signed("<", one, other), one, other)


@intrinsic
def tile_space(context: Any) -> Any:
    """The address of a block on the stack, of 16 KiB; each call has another one."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return builder.ptrtoint(stack_array(builder, I64, _BLOCK), I64)

    return signature(types.int64), generate


@intrinsic
def tile_start(context: Any, length: Any, chunk: Any, nchunks: Any) -> Any:
    """Where a chunk of whole tiles begins, the last of which may be a part of one."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        length, chunk, nchunks = arguments
        tiles = builder.sdiv(builder.add(length, I64(_SIDE - 1)), I64(_SIDE))
        first = builder.mul(builder.sdiv(builder.mul(tiles, chunk), nchunks), I64(_SIDE))
        return _lesser(builder, first, length)

    return signature(types.int64, types.int64, types.int64, types.int64), generate


def _of_size(size: int) -> Any:
    def typing(context: Any, x: Any, x_first: Any, x_step: Any, y: Any, y_first: Any, y_step: Any, columns: Any,
               rows: Any) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            x, x_first, x_step, y, y_first, y_step, *ends = arguments
            begins = [builder.add(a, builder.mul(first, I64(size))) for a, first in ((x, x_first), (y, y_first))]
            _block(builder, size, (begins[0], x_step, begins[1], y_step), tuple(ends))
            return context.get_dummy_value()

        return signature(types.void, *[types.int64] * 8), generate

    typing.__name__ = typing.__qualname__ = f"transpose_block_{size}"
    return intrinsic(typing)


transpose_block_1, transpose_block_2, transpose_block_4, transpose_block_8 = map(_of_size, (1, 2, 4, 8))
