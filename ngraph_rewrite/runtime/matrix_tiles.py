# SPDX-License-Identifier: Apache-2.0
"""The inner loop of a product of packed numbers on processors that multiply whole matrices: sixteen rows at a time.

A register for a matrix has sixteen rows of 64 bytes (Intel, *Advanced Matrix Extensions*). One instruction adds to
such a matrix of sums the product of two others: of sixteen packed numbers in a row of A with as many rows of B. Two of
A and two of B make four of sums, so that each is read once for two products. Rows of A are read as they lie: k goes
along memory there.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I64, declared, loop

_I8, _VOID, _POINTER = ir.IntType(8), ir.VoidType(), ir.IntType(8).as_pointer()
_ROWS, _LINE, _SIZE = 16, 64, 4
# The registers: sums of the first and the second rows, A of both, B of the first and the second columns.
_SUMS, _A, _B = ((0, 1), (2, 3)), (4, 5), (6, 7)
_PRODUCTS = MappingProxyType(
    {
        "float_pairs": "llvm.x86.tdpbf16ps",
        "quads": "llvm.x86.tdpbusd",
        "signed_quads": "llvm.x86.tdpbsud",
    }
)


class _Given(NamedTuple):
    """The arguments of a tile, but for those that follow C."""

    rows: Any
    a: Any
    down: Any
    along: Any
    b: Any
    b_step: Any
    k: Any
    c: Any
    c_step: Any
    columns: Any
    adds: Any


def matrix_module(dtype: str, kind: str = "tile") -> str:
    """LLVM IR of a function that computes what a tile of `ngraph_rewrite.runtime.tiles` does, of any number of rows.

    Its arguments are those of such a tile, of which the step of columns of A is that of numbers side by side, and those
    of "fetch" say nothing here. It is called ``ngraph_rewrite_matrix_KIND_DTYPE``. Rows are cut into equal parts that
    registers have; what is left of them is a part of its own. Nothing is left in the registers for matrices.
    """
    module = ir.Module(f"matrices {kind} {dtype}")
    type_ = ir.FunctionType(_VOID, [I64] * {"tile": 11, "fetch": 13}[kind])
    function = ir.Function(module, type_, f"ngraph_rewrite_matrix_{kind}_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    given = _Given(*function.args[:11])
    most = I64(2 * _ROWS)
    times = builder.sdiv(builder.add(given.rows, builder.sub(most, I64(1))), most)
    each = builder.sdiv(builder.add(given.rows, builder.sub(times, I64(1))), times)
    times = builder.sdiv(given.rows, each)
    done = builder.mul(times, each)
    left = builder.sub(given.rows, done)
    parts = {(high, wide): _Part(module, _PRODUCTS[dtype], high, wide).write() for high in (1, 2) for wide in (1, 2)}
    _call_part(builder, parts, times, given._replace(rows=each))
    with builder.if_then(builder.icmp_signed(">", left, I64(0))):
        a, c = (builder.add(x, builder.mul(done, step)) for x, step in ((given.a, given.down), (given.c, given.c_step)))
        _call_part(builder, parts, I64(1), given._replace(rows=left, a=a, c=c))
    builder.ret_void()
    return str(module)


def _call_part(builder: Any, parts: Mapping[tuple[int, int], Any], times: Any, given: _Given) -> None:
    """Call the function for so many rows and columns."""
    tall, broad = (builder.icmp_signed(">", x, I64(_ROWS)) for x in (given.rows, given.columns))
    for (high, wide), function in parts.items():
        fits = builder.and_(*(x if n == 2 else builder.not_(x) for x, n in ((tall, high), (broad, wide))))
        with builder.if_then(fits):
            builder.call(function, [times, *given])


class _Part:
    """The function for one or two registers of rows, and of columns.

    Its arguments are how often there are so many rows, and those of the whole.
    """

    def __init__(self, module: Any, product: str, high: int, wide: int) -> None:
        self.product, self.high, self.wide = product, range(high), range(wide)
        function = ir.Function(module, ir.FunctionType(_VOID, [I64] * 12), f"part_{high}_{wide}")
        function.linkage = "internal"
        self.builder = builder = ir.IRBuilder(function.append_basic_block("entry"))
        space = builder.alloca(ir.ArrayType(I64, 8))
        space.align = _LINE
        self.shapes = builder.bitcast(space, I64.as_pointer())
        self.times, self.given = function.args[0], _Given(*function.args[1:])
        # rows and bytes of a row in each; what is not used has to have some as well
        first, line = I64(_ROWS), I64(_LINE)
        self.rows = [first, builder.sub(self.given.rows, first)] if high == 2 else [self.given.rows, I64(1)]
        bytes_ = builder.mul(self.given.columns, I64(_SIZE))
        self.bytes = [line, builder.sub(bytes_, line)] if wide == 2 else [bytes_, I64(_SIZE)]

    def write(self) -> Any:
        """Emit it: whole registers of k, then what is left of it, for which the sums are taken from C once more."""
        builder, given = self.builder, self.given
        rest = builder.srem(given.k, I64(_ROWS))
        whole = builder.sub(given.k, rest)
        self._shape(I64(_ROWS))
        with loop(builder, I64(0), self.times) as number:
            a, c = self._places(number)
            self._begin(c)
            with loop(builder, I64(0), whole, _ROWS) as first:
                self._step(builder.add(a, builder.mul(first, I64(_SIZE))), self._row(first))
            self._each_sum("llvm.x86.tilestored64", c)
        with builder.if_then(builder.icmp_signed(">", rest, I64(0))):
            self._shape(rest)
            with loop(builder, I64(0), self.times) as number:
                a, c = self._places(number)
                self._each_sum("llvm.x86.tileloadd64", c)
                self._step(builder.add(a, builder.mul(whole, I64(_SIZE))), self._row(whole))
                self._each_sum("llvm.x86.tilestored64", c)
        self._call("llvm.x86.tilerelease")
        builder.ret_void()
        return builder.function

    def _places(self, number: Any) -> tuple[Any, Any]:
        """Where the rows of A and of C begin."""
        builder, given = self.builder, self.given
        row = builder.mul(number, given.rows)
        return builder.add(given.a, builder.mul(row, given.down)), builder.add(given.c, builder.mul(row, given.c_step))

    def _row(self, number: Any) -> Any:
        """Where a row of B is."""
        return self.builder.add(self.given.b, self.builder.mul(number, self.given.b_step))

    def _begin(self, c: Any) -> None:
        """Sums are what is in C, or zeros."""
        with self.builder.if_else(self.builder.trunc(self.given.adds, ir.IntType(1))) as (then, otherwise):
            with then:
                self._each_sum("llvm.x86.tileloadd64", c)
            with otherwise:
                for number in (_SUMS[i][j] for i in self.high for j in self.wide):
                    self._call("llvm.x86.tilezero", _I8(number))

    def _shape(self, k: Any) -> None:
        """Tell the processor the shapes of registers, for so much of k."""
        builder, line = self.builder, self.builder.mul(k, I64(_SIZE))
        (first, second), (left, right) = self.rows, self.bytes
        sums = self._joined([left, right, left, right], 16)
        factors = self._joined([line, line, left, right], 16)
        rows = self._joined([first, first, second, second, first, second, k, k], 8)
        for at, value in enumerate((I64(1), I64(0), sums, factors, I64(0), I64(0), rows, I64(0))):
            builder.store(value, builder.gep(self.shapes, [I64(at)]))
        self._call("llvm.x86.ldtilecfg", builder.bitcast(self.shapes, _POINTER))

    def _joined(self, numbers: list[Any], bits: int) -> Any:
        """Small numbers as one of 64 bits, the first one the lowest."""
        builder, found = self.builder, I64(0)
        for at, each in enumerate(numbers):
            found = builder.or_(found, builder.shl(each, I64(bits * at)))
        return found

    def _step(self, a: Any, b: Any) -> None:
        """Add the products of what is at two addresses."""
        for j in self.wide:
            self._move("llvm.x86.tileloadd64", _B[j], self._beside(b, j), self.given.b_step)
        for i in self.high:
            place = self._below(a, self.given.down) if i else a
            self._move("llvm.x86.tileloadd64", _A[i], place, self.given.down)
            for j in self.wide:
                self._call(self.product, *(_I8(number) for number in (_SUMS[i][j], _A[i], _B[j])))

    def _each_sum(self, name: str, c: Any) -> None:
        """Take sums from C, or put them there."""
        step = self.given.c_step
        for i in self.high:
            row = self._below(c, step) if i else c
            for j in self.wide:
                self._move(name, _SUMS[i][j], self._beside(row, j), step)

    def _below(self, place: Any, step: Any) -> Any:
        return self.builder.add(place, self.builder.mul(step, I64(_ROWS)))

    def _beside(self, place: Any, j: int) -> Any:
        return self.builder.add(place, I64(_LINE)) if j else place

    def _move(self, name: str, number: int, place: Any, step: Any) -> None:
        self._call(name, _I8(number), self.builder.inttoptr(place, _POINTER), step)

    def _call(self, name: str, *values: Any) -> None:
        function = declared(self.builder, name, [value.type for value in values], _VOID)
        self.builder.call(function, values)
