# SPDX-License-Identifier: Apache-2.0
"""Products of matrices by tiles: how large they are, where their operands lie, and how they are cut."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.codegen.library_products import GEMM, render_gemm, render_sums
from ngraph_rewrite.plan.blocking import Lies, Room, blocking, parts_of_sum, product_time
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Ref, Scratch, all_in_memory
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, DTYPE_SIZES, known
from ngraph_rewrite.plan.shares import Share, loop_share
from ngraph_rewrite.terms.op import Op

# A sum of fewer numbers than this is not worth vectors of its own.
_LONG = 32
# Chunks that would need more workspace together do several groups each, if so many chunks are left.
_ROOM, _CHUNKS = 1 << 22, 16
# Nanoseconds to add a number of a part; bytes of sums that are given to an epilogue at once.
_ADDED, _ADDED_AT_ONCE = 0.2, 1 << 14
EPILOGUE = "epilogue"
PRODUCTS = ("cpu.gemm", "semi.batch_dot")
_TILED = ("float32", "float64")
# Which arguments of the kernel stand for memory, for what the processor decides, and for the epilogue.
_NAMES = GEMM.split()
_PLACES = (*map(_NAMES.index, ("a", "b", "c", "space")), len(_NAMES) - 1)
_DECIDED = tuple(range(len(_NAMES) - 6, len(_NAMES) - 1))


def is_product(term: Op) -> bool:
    """Whether the kernel for products computes it."""
    return term.definition.name in PRODUCTS and DTYPE_NAMES[term.type.dtype] in _TILED


class Matrix(NamedTuple):
    """An operand of a product: where it lies, and its strides from matrix to matrix, of its rows, of its columns."""

    load: Load
    strides: tuple[int, int, int]

    @property
    def transposed(self) -> Matrix:
        """Its columns as rows."""
        batch, down, along = self.strides
        return Matrix(self.load, (batch, along, down))

    def by_parts(self, apart: int) -> Matrix:
        """Several matrices, so many elements from each other, instead of one."""
        return Matrix(self.load, (apart, *self.strides[1:]))


class Product(NamedTuple):
    """As many products of matrices: their number, m, n and k, the operands, the dtype."""

    sizes: tuple[int, int, int, int]
    a: Matrix
    b: Matrix
    dtype: str

    @property
    def is_thin(self) -> bool:
        """Whether it is of one row or one column, and both operands lie along what is summed."""
        _, m, n, k = self.sizes
        return (m == 1 or n == 1) and k >= _LONG and self.a.strides[2] == 1 and self.b.strides[1] == 1

    @property
    def factors(self) -> tuple[Load, Load]:
        """What is multiplied."""
        return self.a.load, self.b.load

    @property
    def transposed(self) -> Product:
        """What gives the rows of the result as columns."""
        count, m, n, k = self.sizes
        return Product((count, n, m, k), self.b.transposed, self.a.transposed, self.dtype)


def product(term: Op, groups: Groups) -> Product:
    """The product that a term is.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    (x, y), (ta, tb) = all_in_memory(term.args, groups), term.attrs or (False, False)
    (*batch, m, n), a, b = known(term), _matrix(x, ta), _matrix(y, tb)
    k = x.layout.shape[-2 if ta else -1]
    return Product((*(batch or (1,)), m, n, k), a, b, DTYPE_NAMES[term.type.dtype])


def _matrix(load: Load, transposed: bool) -> Matrix:
    *batch, down, along = load.layout.strides
    found = Matrix(load, (batch[0] if batch else 0, down, along))
    return found.transposed if transposed else found


def product_calls(given: Product, epilogue: object = 0, each: float = 0) -> tuple[Call, ...]:
    """The calls that compute products; the last one stores C row by row, or hands it to an epilogue.

    Args:
        epilogue: What stands for its address; its arguments follow those of the call.
        each: The nanoseconds it takes for a number of C.
    """
    (count, m, n, k), a, b, dtype = given
    parts, size = _parts(given.sizes, a.strides[1:], b.strides[1:], dtype), DTYPE_SIZES[dtype]
    if parts == 1:
        c = (OUTPUT, m * n * size, n * size) if epilogue == 0 else (0, 0, 0)
        return (_product_call(given, count * k, c, epilogue, int(each * count * m * n)),)
    length = -(-k // parts)
    parts = -(-k // length)
    sums = Scratch(parts * m * n * size)
    apart = Product((parts, m, n, length), a.by_parts(length * a.strides[2]), b.by_parts(length * b.strides[1]), dtype)
    first = _product_call(apart, k, (sums, m * n * size, n * size), 0, 0)
    share = loop_share(m, n * (parts * _ADDED + each))
    block = max(1, min(m, _ADDED_AT_ONCE // max(n * size, 1)))
    space = () if epilogue == 0 else (Scratch(block * n * size * share.chunks),)
    arguments = (parts, m, n, block, sums, *(space or (OUTPUT,)), epilogue)
    return first._replace(scratch=(*first.scratch, sums)), Call(
        render_sums(dtype), arguments, share, space, given=given
    )


def _product_call(given: Product, total: int, c: tuple[object, ...], epilogue: object, time: int) -> Call:
    """The call of one kernel.

    Args:
        total: The length of k of all products together.
        c: Where C is, its strides from matrix to matrix and of rows.
        time: The nanoseconds the epilogue takes.
    """
    (count, m, n, k), a, b, dtype = given
    cut = _cut(given.sizes, a.strides[1:], b.strides[1:], dtype, epilogue != 0)
    share = Share(cut.groups, cut.time + time, cut.least)
    spaces = (Scratch(cut.room.bytes * share.chunks),) if cut.room.bytes else ()
    (a1, a2, a3), (b1, b2, b3), size = a.strides, b.strides, cut.itemsize
    matrices = (a.load, a1 * size, a2 * size, a3 * size, b.load, b1 * size, b2 * size, b3 * size)
    arguments = (count, m, n, k, total, size, *matrices, *c, *(spaces or (0,)), *cut.room, *cut.parts, epilogue)
    return Call(render_gemm(), arguments, share, spaces, _PLACES, _DECIDED, given)


class _Cut(NamedTuple):
    """What follows from the shapes and strides of a product."""

    itemsize: int
    time: int
    groups: int
    least: int
    room: Room
    parts: tuple[object, ...]


@lru_cache(maxsize=1 << 12)
def _cut(sizes: tuple[int, int, int, int], a: tuple[int, ...], b: tuple[int, ...], dtype: str, aside: bool) -> _Cut:
    size, lies = DTYPE_SIZES[dtype], _lies(a, b)
    found, time = blocking(*sizes, size, lies), product_time(*sizes, size)
    parts = (found.groups, found.down, found.across, found.rows, found.columns, found.deep, found.block, found.packs)
    words = [Ref("product", f"{word} {dtype}") for word in ("rows", "columns", "stride", "tile", "pack")]
    room = found.room(sizes[2], sizes[3], size, aside)
    least = -(-found.groups // max(_CHUNKS, _ROOM // max(room.bytes, 1)))
    return _Cut(size, time, found.groups, least, room, (*parts, *words))


@lru_cache(maxsize=1 << 12)
def _parts(sizes: tuple[int, int, int, int], a: tuple[int, ...], b: tuple[int, ...], dtype: str) -> int:
    """In how many parts k is summed apart."""
    return parts_of_sum(*sizes[1:], DTYPE_SIZES[dtype], _lies(a, b)) if sizes[0] == 1 else 1


def _lies(a: tuple[int, ...], b: tuple[int, ...]) -> Lies:
    return Lies(max(a), max(b), b[1] == 1, a[0] == 1 < a[1])
