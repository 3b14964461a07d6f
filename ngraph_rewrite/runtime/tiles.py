# SPDX-License-Identifier: Apache-2.0
"""The inner loop of a product of matrices, in vector instructions: a tile of the result stays in registers.

A tile is some rows of two vectors: for each k it takes a row of B in two registers, and for each of its rows a number
of A in all lanes. There is code for every number of rows and for one vector and two, so that no edge is computed in
vain; what is left of a row of B is padded by whoever packs it, and not stored. The rows are as many as registers allow
(Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication*, 2008).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import (
    I64,
    Words,
    ask,
    everywhere,
    mask,
    masked_load,
    masked_store,
    multiply_add,
    plus,
    pointer,
    words,
)

_LINE = 64  # bytes that come together
# Tiles of few rows have too few sums to keep the processor busy: they take so many k at once, if registers allow.
_FEW, _AT_ONCE = 3, 4


def tile_module(dtype: str, kind: str = "tile") -> str:
    """LLVM IR of a function of eleven int64 that computes one tile, ``ngraph_rewrite_tile_DTYPE``.

    Its arguments: the number of rows, at least 1 and at most `Tile.rows`; A, with the steps of its rows and columns; B
    and the step of its rows, which are whole vectors; the number of k; C and the step of its rows; the number of its
    columns; whether to add to C. What is stored is exactly the rows and columns; matrices are given by addresses,
    steps in bytes.

    Args:
        kind: "walk", if k walks over whole lines: more arguments are the length of a line, and what is added to the
            addresses of A and of B at the end of one. "look" is the same, if a table says where rows of B are: B is the
            address of int64, the distances from two arguments more, where the two vectors of a first row are. "fetch"
            is a tile for matrices that lie in no cache: it asks memory for C before it computes what is added to it,
            and meanwhile for what is read later. Of that two arguments more tell the address, which need not be there,
            and the step for each k. The function is called so too, ``ngraph_rewrite_walk_DTYPE``.
    """
    module, own = ir.Module(f"{kind} {dtype}"), words(dtype)
    count = {"tile": 11, "fetch": 13, "walk": 14, "look": 16}[kind]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * count), f"ngraph_rewrite_{kind}_{dtype}")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    rows, *matrices, c, c_step, columns, adds = function.args[:11]
    space = builder.alloca(ir.ArrayType(own.vector, own.tile.rows * own.tile.width))
    space.align = 64
    for width in range(1, own.tile.width + 1):
        call, rest = (function.append_basic_block(f"{kind}_{width}") for name in ("vectors", "more"))
        builder.cbranch(builder.icmp_signed("<=", columns, I64(width * own.tile.lanes)), call, rest)
        builder.position_at_end(call)
        aside = builder.icmp_signed("<", columns, I64(width * own.tile.lanes))
        place = builder.select(aside, builder.ptrtoint(space, I64), c)
        step = builder.select(aside, I64(width * own.tile.lanes * own.size), c_step)
        added = builder.select(aside, I64(0), adds)
        _call_tile(builder, own, width, [rows, *matrices, place, step, added, *function.args[11:]], kind)
        _copy_rows(builder, own, width, (aside, space, c, c_step, rows, columns, adds))
        builder.position_at_end(rest)
    builder.ret_void()
    return str(module)


def _call_tile(builder: Any, own: Words, width: int, arguments: list[Any], kind: str) -> None:
    """Call the function for a number of rows."""
    function = builder.function
    done = function.append_basic_block("called")
    choice = builder.switch(arguments[0], done)
    for rows in range(1, own.tile.rows + 1):
        block = function.append_basic_block("rows")
        choice.add_case(I64(rows), block)
        tile = _TILES[kind](function.module, own, rows, width, len(arguments) - 1).write()
        builder.position_at_end(block)
        builder.call(tile, arguments[1:])
        builder.branch(done)
    builder.position_at_end(done)


def _copy_rows(builder: Any, own: Words, width: int, given: tuple[Any, ...]) -> None:
    """Take what was put aside to C: its first columns, a row at a time; return."""
    aside, space, c, c_step, rows, columns, adds = given
    function, before = builder.function, builder.block
    masks = [mask(builder, own, columns, j * own.tile.lanes) for j in range(width)]
    first = builder.ptrtoint(space, I64)
    body, end = function.append_basic_block("row"), function.append_basic_block("end")
    builder.cbranch(aside, body, end)
    builder.position_at_end(body)
    count, source, target = (builder.phi(I64) for _ in range(3))
    adding = builder.trunc(adds, ir.IntType(1))
    for j, lanes in enumerate(masks):
        offset = I64(j * own.tile.lanes * own.size)
        value = builder.load(pointer(builder, builder.add(source, offset), own), align=own.size)
        place = pointer(builder, builder.add(target, offset), own)
        old = masked_load(builder, own, place, builder.and_(lanes, everywhere(builder, adding, own.tile.lanes)))
        value = builder.select(adding, plus(builder, own, old, value), value)
        masked_store(builder, own, value, place, lanes)
    after = [builder.add(count, I64(1)), builder.add(source, I64(width * own.tile.lanes * own.size))]
    after.append(builder.add(target, c_step))
    for phi, start, later in zip((count, source, target), (I64(0), first, c), after, strict=True):
        phi.add_incoming(start, before)
        phi.add_incoming(later, body)
    builder.cbranch(builder.icmp_signed("<", after[0], rows), body, end)
    builder.position_at_end(end)
    builder.ret_void()


def _hidden(builder: Any, value: Any) -> Any:
    """A value of which LLVM cannot tell how it was computed.

    It would make each row's address of that of the row before, and the first one of the last one: all rows in turn.
    """
    kind = ir.FunctionType(I64, [I64])
    return builder.asm(kind, "", "=r,0", [value], False)


class _Tile:
    """The code of the function for one size of tile, `rows` times `width` vectors.

    Its arguments, which are so many, are those of the whole but for the number of rows and columns.
    """

    def __init__(self, module: Any, own: Words, rows: int, width: int, count: int) -> None:
        self.own, self.rows, self.width = own, rows, width
        kind = ir.FunctionType(ir.VoidType(), [I64] * count)
        self.function = ir.Function(module, kind, f"tile_{rows}_{width}")
        self.function.linkage = "internal"
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        down = self.function.args[1]
        self.offsets = {i: _hidden(self.builder, self.builder.mul(down, I64(i))) for i in (3, *range(4, rows, 4))}
        self.offsets |= {0: I64(0), 1: down, 2: self.builder.mul(down, I64(2))}

    def write(self) -> Any:
        """Emit it: the sums over k, and what becomes of them."""
        a, _, _, b, _, k, c, c_step, adds, *_ = self.function.args
        self._prepare(c, c_step)
        zeros = [ir.Constant(self.own.vector, None)] * (self.rows * self.width)
        sums = self._whole(k, a, b, zeros)
        adding, setting = (self.function.append_basic_block(name) for name in ("add", "set"))
        self.builder.cbranch(self.builder.trunc(adds, ir.IntType(1)), adding, setting)
        for block in (adding, setting):
            self.builder.position_at_end(block)
            self._store(sums, c, c_step, block is adding)
            self.builder.ret_void()
        return self.function

    def _prepare(self, c: Any, c_step: Any) -> None:
        """What is done about C before there are sums."""

    def _asked(self) -> list[tuple[Any, Any]]:
        """What is asked for at each k: addresses and steps."""
        return []

    def _whole(self, k: Any, a: Any, b: Any, start: list[Any]) -> list[Any]:
        """The sums over all k."""
        return self._sums(k, a, b, start)[0]

    def _sums(self, k: Any, a: Any, b: Any, start: list[Any]) -> tuple[list[Any], Any, Any]:
        """What there was and the sums over all k; where A and B then stand.

        Tiles of few rows have several sums of each number, which are added in the end.
        """
        builder = self.builder
        if self.rows > _FEW:
            return self._loop(k, 1, a, b, start)
        count = len(start)
        groups = min(_AT_ONCE, self.own.tile.rows * self.own.tile.width // count)
        zeros = [ir.Constant(self.own.vector, None)] * (count * (groups - 1))
        whole = builder.sdiv(k, I64(groups))
        sums, a, b = self._loop(whole, groups, a, b, [*start, *zeros])
        first = sums[:count]
        for group in range(1, groups):
            first = [plus(builder, self.own, x, y) for x, y in zip(first, sums[group * count :], strict=False)]
        return self._loop(builder.sub(k, builder.mul(whole, I64(groups))), 1, a, b, first)

    def _loop(self, times: Any, groups: int, a: Any, b: Any, start: list[Any]) -> tuple[list[Any], Any, Any]:
        """Loop so many times over groups of k; the sums in the end, and where A and B then stand."""
        builder, before = self.builder, self.builder.block
        head, body, done = (self.function.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        count, a_at, b_at = (builder.phi(I64) for _ in range(3))
        asked = [(builder.phi(I64), *there) for there in self._asked()]
        sums = [builder.phi(self.own.vector) for _ in start]
        builder.cbranch(builder.icmp_signed("<", count, times), body, done)
        builder.position_at_end(body)
        a_next, b_next, each = a_at, b_at, self.rows * self.width
        following: list[Any] = []
        for group in range(groups):
            following += self._step(a_next, b_next, sums[group * each : (group + 1) * each])
            a_next = builder.add(a_next, self.function.args[2])
            b_next = builder.add(b_next, self.function.args[4])
        for place, *_ in asked:
            ask(builder, place, 2)
        pairs = [(count, I64(0), builder.add(count, I64(1))), (a_at, a, a_next), (b_at, b, b_next)]
        pairs += [(place, first, builder.add(place, step)) for place, first, step in asked]
        builder.branch(head)
        for phi, first, later in [*pairs, *zip(sums, start, following, strict=True)]:
            phi.add_incoming(first, before)
            phi.add_incoming(later, body)
        builder.position_at_end(done)
        return sums, a_at, b_at

    def _step(self, a: Any, b: Any, sums: list[Any]) -> list[Any]:
        """One k: a row of B, and a number of A for each row."""
        builder, own = self.builder, self.own
        a, places = self._places(a, b)
        row = [builder.load(pointer(builder, place, own), align=own.size) for place in places]
        found = []
        for i in range(self.rows):
            at = builder.add(a, self.offsets[i - i % 4])
            at = builder.add(at, self.offsets[i % 4])
            number = builder.load(builder.inttoptr(at, own.element.as_pointer()))
            number = everywhere(builder, number, own.tile.lanes)
            found += [multiply_add(builder, own, number, x, sums[i * self.width + j]) for j, x in enumerate(row)]
        return found

    def _places(self, a: Any, b: Any) -> tuple[Any, list[Any]]:
        """Where a column of A and the vectors of a row of B begin."""
        bytes_ = self.own.tile.lanes * self.own.size
        return a, [self.builder.add(b, I64(i * bytes_)) for i in range(self.width)]

    def _store(self, sums: list[Any], c: Any, c_step: Any, adds: bool) -> None:
        builder, own = self.builder, self.own
        for i in range(self.rows):
            row = builder.add(c, builder.mul(c_step, I64(i)))
            for j in range(self.width):
                place = pointer(builder, builder.add(row, I64(j * own.tile.lanes * own.size)), own)
                value = sums[i * self.width + j]
                value = plus(builder, own, builder.load(place, align=own.size), value) if adds else value
                builder.store(value, place, align=own.size)


class _Fetching(_Tile):
    """A tile that asks for lines of memory ahead of time."""

    def _prepare(self, c: Any, c_step: Any) -> None:
        """Ask for the lines of C."""
        size = self.width * self.own.tile.lanes * self.own.size
        for i in range(self.rows):
            row = self.builder.add(c, self.builder.mul(c_step, I64(i)))
            for offset in (*range(0, size, _LINE), size - 1):
                ask(self.builder, self.builder.add(row, I64(offset)), 2, writes=True)

    def _asked(self) -> list[tuple[Any, Any]]:
        """What it is told; few rows are busy with B."""
        place, step = self.function.args[9:11]
        return [(place, step)] if self.rows > _FEW else []


class _Walking(_Tile):
    """A tile whose k walks over lines."""

    def _whole(self, k: Any, a: Any, b: Any, start: list[Any]) -> list[Any]:
        """The sums over all k, a line after the other."""
        builder, before, (run, jump, b_jump) = self.builder, self.builder.block, self.function.args[9:12]
        head, body, done = (self.function.append_basic_block(name) for name in ("lines", "line", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        count, a_at, b_at = (builder.phi(I64) for _ in range(3))
        sums = [builder.phi(self.own.vector) for _ in start]
        builder.cbranch(builder.icmp_signed("<", count, k), body, done)
        builder.position_at_end(body)
        following, a_next, b_next = self._sums(run, a_at, b_at, sums)
        later = [builder.add(count, run), builder.add(a_next, jump), builder.add(b_next, b_jump), *following]
        for phi, first, value in zip([count, a_at, b_at, *sums], [I64(0), a, b, *start], later, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(value, builder.block)
        builder.branch(head)
        builder.position_at_end(done)
        return sums


class _Looking(_Walking):
    """A tile of which a table says where the rows of B are."""

    def _places(self, a: Any, b: Any) -> tuple[Any, list[Any]]:
        builder = self.builder
        distance = builder.load(builder.inttoptr(b, I64.as_pointer()))
        return a, [builder.add(first, distance) for first in self.function.args[12 : 12 + self.width]]


_TILES = MappingProxyType({"tile": _Tile, "fetch": _Fetching, "walk": _Walking, "look": _Looking})
