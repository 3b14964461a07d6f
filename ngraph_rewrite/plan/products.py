# SPDX-License-Identifier: Apache-2.0
"""Products of matrices by tiles: how large they are, where their operands lie, and how they are cut."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from ngraph_rewrite.codegen.library_products import GEMM, render_gemm, render_sums
from ngraph_rewrite.plan.blocking import blocking, dotted_rows, parts_of_sum, product_time, stretch
from ngraph_rewrite.plan.blocks import DOTS, FETCHES, NO_MAPS, SWEEPS, Lies, Maps, Room
from ngraph_rewrite.plan.factors import factors
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.matrices import Matrix, in_words, matrix, numbers_in_a_word, packed_kind
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operand_maps import OperandMap
from ngraph_rewrite.plan.operands import OUTPUT, Call, Ref, Scratch
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, DTYPE_SIZES, known
from ngraph_rewrite.plan.shares import Share, loop_share
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import PACKED, TILED

# A sum of fewer numbers than this is not worth vectors of its own.
_LONG = 32
# Chunks that would need more workspace together, each on a thread of its own, do several groups each, if so many chunks
# are left; fewer, but some, where so many would need too much.
_ROOM, _CHUNKS, _LARGE_ROOM, _FEWEST = 1 << 22, 16, 1 << 24, 8
# Nanoseconds to add a number of a part; bytes of sums that are given to an epilogue at once.
_ADDED, _ADDED_AT_ONCE = 0.2, 1 << 14
# Bytes of a row that fill a vector.
_FILLED = 64
_SIXTEEN = 16
# For so many columns, rows of A that lie apart are copied, to be multiplied as they lie.
_WORTH_COPIES = 64
_TILES: Mapping[int, str] = MappingProxyType({SWEEPS: "sweep", DOTS: "dots", FETCHES: "multiply_fetching"})
_OTHERS = ("pack", "wary", "most", "least")
EPILOGUE = "epilogue"
PRODUCTS = (
    "cpu.gemm",
    "cpu.gemm_of_pairs",
    "cpu.gemm_of_float_pairs",
    "cpu.gemm_of_quads",
    "cpu.batch_gemm",
    "semi.batch_dot",
)
# Which arguments of the kernel stand for memory, for what the processor decides, and for the epilogue.
_NAMES = GEMM.split()
_PLACES = tuple(map(_NAMES.index, ("a", "b", "c", "space", "epilogue")))
# Where it is told of operands that are maps: their addresses, and then where their arguments are.
MAP_PLACES = tuple(map(_NAMES.index, ("a_map", "b_map")))
_DECIDED = tuple(map(_NAMES.index, ("high", "wide", "apart", "crowded", "tile", "pack", "wary", "most", "least")))


def is_product(term: Op) -> bool:
    """Whether the kernel for products computes it."""
    return term.definition.name in PRODUCTS and DTYPE_NAMES[term.type.dtype] in TILED


class Product(NamedTuple):
    """As many products of matrices: their number, m, n and k, the operands, the dtype.

    Attributes:
        terms: Each is the sum of so many products, of matrices that follow one another.
        packed: Of which integers numbers are made, one of `PACKED`, or nothing.
    """

    sizes: tuple[int, int, int, int]
    a: Matrix
    b: Matrix
    dtype: str
    terms: int = 1
    packed: str = ""

    @property
    def is_thin(self) -> bool:
        """Whether it is of one row or one column, and both operands lie along what is summed."""
        (_, m, n, k), (a, b) = self.sizes, self.operand_maps
        along_a = self.a.strides[2] == 1 if a is None else not a.turned
        along_b = self.b.strides[1] == 1 if b is None else b.turned
        return self.terms == 1 and not self.packed and (m == 1 or n == 1) and k >= _LONG and along_a and along_b

    @property
    def is_summed_at_once(self) -> bool:
        """Whether its kernel stores it, not parts of the sums over k that another one adds up."""
        return self.parts == 1

    @property
    def parts(self) -> int:
        """In how many parts k, or its terms, are summed apart."""
        return _parts(self.form, self.tiles, self.maps)

    @property
    def tiles(self) -> str:
        """What its tiles multiply."""
        return self.packed or self.dtype

    @property
    def multiplied(self) -> str:
        """The dtype of operands that its kernel computes."""
        return "int32" if self.packed else self.dtype

    @property
    def form(self) -> _Form:
        """Its sizes and strides."""
        return _Form(self.sizes, self.terms, self.a.strides[1:], self.b.strides[1:])

    @property
    def factors(self) -> tuple[Load, Load]:
        """What is multiplied."""
        return self.a.load, self.b.load

    @property
    def operand_maps(self) -> tuple[OperandMap | None, OperandMap | None]:
        """What computes them, if they are not in memory."""
        return self.a.map, self.b.map

    @property
    def maps(self) -> Maps:
        """How operands are computed."""
        return NO_MAPS if self.a.map is self.b.map is None else Maps(self.a.mapped, self.b.mapped)

    def computing(self, side: str, by: OperandMap) -> Product:
        """The same with the operand "a" or "b" computed by its kernel."""
        return self._replace(a=self.a._replace(map=by)) if side == "a" else self._replace(b=self.b._replace(map=by))

    @property
    def groups(self) -> tuple[int, int]:
        """How many groups of rows and of columns one of the products makes, with an epilogue."""
        cut = _cut(self.form, self.tiles, True, self.maps)
        return cut.down, cut.across

    @property
    def transposed(self) -> Product:
        """What gives the rows of the result as columns."""
        count, m, n, k = self.sizes
        return self._replace(sizes=(count, n, m, k), a=self.b.transposed, b=self.a.transposed)

    def by_columns(self, length: int) -> Product:
        """Several products instead of one, of one term: with so many columns of B each."""
        _, m, n, k = self.sizes
        return self._replace(sizes=(n // length, m, length, k), b=self.b.by_parts(1, length), terms=1)


def product(term: Op, groups: Groups) -> Product:
    """The product that a term is.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    (x, y, terms), (*batch, m, n) = factors(term, groups), known(term)
    own, count, packed = DTYPE_NAMES[term.type.dtype], batch or (1,), packed_kind(term)
    if packed:
        rows, columns = (in_words(*both) for both in zip(term.args, (x, y), strict=True))
        k = x.layout.shape[-1] // numbers_in_a_word(term.args[0])
        b = columns if numbers_in_a_word(term.args[1]) == 1 else columns.transposed
        return Product((*count, m, n, k), rows, b, own, packed=packed)
    ta, tb = term.attrs if term.definition.name == "cpu.gemm" else (False, False)
    k = x.layout.shape[-2 if ta else -1]
    return Product((*count, m, n, k), matrix(x, ta), matrix(y, tb), own, terms)


def as_rows(given: Product) -> Product:
    """The same, but of one column as one row, which lies in memory as that does, if A is read faster as B would be.

    So it is where columns of A lie along memory and fill a vector, and where there is little to sum.
    """
    (_, m, n, k), (_, down, along) = given.sizes, given.a.strides
    reads_rows = down == 1 < along or k < _LONG
    if n != 1 or given.packed or given.is_thin or not reads_rows or m * DTYPE_SIZES[given.dtype] < _FILLED:
        return given
    return given.transposed


def product_calls(given: Product, epilogue: object = 0, each: float = 0, there: bool = False) -> tuple[Call, ...]:
    """The calls that compute products; the last one stores C row by row, or hands it to an epilogue.

    Args:
        epilogue: What stands for its address; its arguments follow those of the call.
        each: The nanoseconds it takes for a number of C.
        there: Whether C is put where the epilogue stores, which changes it there, if it is summed at once.
    """
    (count, m, n, k), _, _, dtype, terms, _ = given
    size = DTYPE_SIZES[dtype]
    if given.is_summed_at_once:
        c = (OUTPUT, m * n * size, n * size) if epilogue == 0 or there else (0, 0, 0)
        return (_product_call(given, count * terms * k, c, epilogue, int(each * count * m * n)),)
    apart = _apart(given)
    parts = apart.sizes[0]
    sums = Scratch(parts * m * n * size)
    first = _product_call(apart, terms * k, (sums, m * n * size, n * size), 0, 0)
    share = loop_share(m, n * (parts * _ADDED + each))
    block = max(1, min(m, _ADDED_AT_ONCE // max(n * size, 1)))
    space = () if epilogue == 0 else (Scratch(block * n * size, share.chunks),)
    arguments = (parts, m, n, block, sums, *(space or (OUTPUT,)), epilogue)
    return first._replace(scratch=(*first.scratch, sums)), Call(
        render_sums(dtype), arguments, share, space, given=given
    )


def _apart(given: Product) -> Product:
    """The parts of one product that are summed apart, of which the last may be shorter: of its terms, or of k."""
    (_, m, n, k), a, b, _, terms, _ = given
    length = -(-(k if terms == 1 else terms) // given.parts)
    if terms > 1:
        return given._replace(sizes=(-(-terms // length), m, n, k), terms=length)
    return given._replace(sizes=(-(-k // length), m, n, length), a=a.by_parts(1, length), b=b.by_parts(0, length))


def _product_call(given: Product, total: int, c: tuple[object, ...], epilogue: object, time: int) -> Call:
    """The call of one kernel.

    Args:
        total: The length of k of all products together.
        c: Where C is, its strides from matrix to matrix and of rows; zeros if it is workspace.
        time: The nanoseconds the epilogue takes.
    """
    (count, m, n, k), a, b, _, terms, _ = given
    cut = _cut(given.form, given.tiles, c[-1] == 0, given.maps)
    share = Share(cut.groups, cut.time + time, cut.least)
    spaces = (Scratch(cut.room.bytes, share.chunks),) if cut.room.bytes else ()
    (a1, a2, a3), (b1, b2, b3), size = a.strides, b.strides, cut.itemsize
    left, right = (0 if x.map is not None else x.load for x in (a, b))
    matrices = (left, a1 * size, a2 * size, a3 * size, right, b1 * size, b2 * size, b3 * size)
    maps = (0, 0, int(a.mapped.turned), cut.pitch, 0, 0, int(b.mapped.turned))
    sizes = (count, terms, m, n, k, total, size)
    arguments = (*sizes, *matrices, *c, *(spaces or (0,)), *cut.room, *cut.parts, epilogue, *maps)
    return Call(render_gemm(), arguments, share, spaces, _PLACES, _DECIDED, given)


class _Cut(NamedTuple):
    """What follows from the shapes and strides of a product."""

    itemsize: int
    time: int
    groups: int
    down: int
    across: int
    least: int
    room: Room
    pitch: int
    parts: tuple[object, ...]


class _Form(NamedTuple):
    """The sizes of products, the number of their terms, and the strides of rows and columns of their operands."""

    sizes: tuple[int, int, int, int]
    terms: int
    a: tuple[int, ...]
    b: tuple[int, ...]


@lru_cache(maxsize=1 << 12)
def _cut(form: _Form, dtype: str, aside: bool, maps: Maps) -> _Cut:
    ((count, m, n, k), terms, _, _), size = form, _itemsize(dtype)
    lies, sizes = _lies(form, dtype, maps), (count, m, n, k * terms)
    found, time = blocking(*sizes, size, lies), product_time(*sizes, size)
    if dtype in PACKED:  # whole rows of the registers for matrices, if the processor has some
        found = found._replace(deep=-(-found.deep // _SIXTEEN) * _SIXTEEN)
    if terms > 1:  # a stretch of k ends where a matrix does
        found = found._replace(deep=stretch(k, found.deep))
    parts = (found.groups, found.down, found.across, found.rows, found.columns, found.deep, found.block, found.packs)
    tile = next((word for part, word in _TILES.items() if found.packs & part), "multiply")
    words = [Ref("product", f"{word} {dtype}") for word in ("high", "columns", "apart", "crowded", tile, *_OTHERS)]
    room = found.room(sizes[2], sizes[3], size, aside, maps, dtype in PACKED)
    each = max(room.bytes, 1)
    chunks = max(_FEWEST, min(_CHUNKS, _LARGE_ROOM // each), _ROOM // each)
    least = max(1, -(-found.groups // chunks))
    pitch, told = found.pitch(maps.a) * maps.a.there, (*parts, found.ahead(maps.b, lies.plain), *words)
    return _Cut(size, time, found.groups, found.down, found.across, least, room, pitch, told)


@lru_cache(maxsize=1 << 12)
def _parts(form: _Form, dtype: str, maps: Maps) -> int:
    """In how many parts k, or terms, are summed apart."""
    (count, m, n, k), terms, _, _ = form
    found = parts_of_sum(m, n, k * terms, _itemsize(dtype), _lies(form, dtype, maps)) if count == 1 else 1
    return min(found, terms) if terms > 1 else found


def _lies(form: _Form, dtype: str, maps: Maps) -> Lies:
    (*_, n, k), _, a, b = form
    columns_along, rows_along = maps.b.turned if maps.b.there else b[0] == 1, maps.a.there or a[1] == 1
    may = columns_along and not maps.a.turned and (rows_along or n >= _WORTH_COPIES)
    dotted = dotted_rows(k, _itemsize(dtype), dtype == "float_pairs") if may else 0
    return Lies(max(a), max(b), b[1] == 1, a[0] == 1 < a[1], maps, dotted, rows_along)


def _itemsize(tiles: str) -> int:
    return DTYPE_SIZES["int32" if tiles in PACKED else tiles]
