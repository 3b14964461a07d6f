# SPDX-License-Identifier: Apache-2.0
"""Products of matrices on a GPU: which tile blocks have, and in how many parts a long sum is done."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.products import render_product, render_sums, stored
from ngraph_rewrite.codegen.cuda.tiles import Tile
from ngraph_rewrite.codegen.loops import MapNest
from ngraph_rewrite.codegen.scalar import held
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.cuda.grids import MOST_BLOCKS, grid_for
from ngraph_rewrite.plan.cuda.library import library_call
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.products import Matrix, Product, product
from ngraph_rewrite.plan.renderer import Epilogues
from ngraph_rewrite.plan.rows import thin_job
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.terms.op import Op

_LIBRARY = "cuda.gemm"
PRODUCTS = ("semi.dot", "semi.batch_dot", _LIBRARY)
# Tiles from the largest to the smallest, of matrices that are large both ways, and of such that are so one way only. A
# double takes two registers.
_SQUARE = (Tile(128, 128, 8, 8, 8, 2), Tile(64, 64, 16, 4, 4, 2), Tile(32, 32, 16, 4, 4), Tile(16, 16, 16, 2, 4))
_SQUARE_OF_DOUBLES = (Tile(128, 64, 8, 8, 4, 2), *_SQUARE[1:])
_FLAT, _TALL = Tile(16, 128, 16, 4, 4), Tile(128, 16, 16, 4, 4)
_LARGE, _FEW = 64, 16
_FILLED = 132  # blocks that give every multiprocessor of a large GPU something to do
_STRETCH = 256  # of k that is worth a part of its own, at least
_MOST_PARTS = 64


class Cut(NamedTuple):
    """How a product is done.

    Attributes:
        along: Whether A, and B, lie in memory along k.
        parts: In how many parts k is summed apart.
        stretch: How much of k each has.
        blocks: The tiles of all parts.
    """

    dtype: str
    tile: Tile
    along: tuple[bool, bool]
    parts: int
    stretch: int
    blocks: int

    @property
    def grid(self) -> Grid:
        """The grid of the product."""
        return Grid(max(1, min(self.blocks, MOST_BLOCKS)), self.tile.threads, fixed=True)


def product_job(term: Op, groups: Groups) -> Job:
    """The work of a product of matrices, or of many.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    given = product(term, groups)
    if given.is_thin and given.dtype in ("float32", "float64"):
        return thin_job(term, given, groups)
    call = library_call(given) if term.definition.name == _LIBRARY else None
    return Job(term, calls=_calls(given) if call is None else (call,))


def cut(given: Product) -> Cut:
    """How a product is done."""
    return _cut(given.sizes, given.dtype, (_is_along(given.a), _is_along(given.b.transposed)))


def _is_along(lines: Matrix) -> bool:
    """Whether memory lies along k, given a matrix whose columns are k."""
    _, down, k = lines.strides
    return k == 1 or (down != 1 and 0 < abs(k) <= abs(down))


@lru_cache(maxsize=1 << 12)
def _cut(sizes: tuple[int, int, int, int], dtype: str, along: tuple[bool, bool]) -> Cut:
    count, m, n, k = sizes
    tile = _tile(count, m, n, dtype)
    blocks = _tiles(tile, count, m, n)
    parts = 1
    if blocks < _FILLED:
        parts = max(1, min(2 * _FILLED // max(blocks, 1), k // _STRETCH, _MOST_PARTS))
    stretch = -(-k // (parts * tile.deep)) * tile.deep
    parts = max(1, -(-k // max(stretch, 1)))
    return Cut(dtype, tile, along, parts, stretch, blocks * parts)


def _tile(count: int, m: int, n: int, dtype: str) -> Tile:
    """The largest tile of which there are enough, or the smallest that is worth it."""
    if min(m, n) <= _FEW and max(m, n) >= _LARGE:
        return _FLAT if m <= n else _TALL
    every = _SQUARE_OF_DOUBLES if dtype == "float64" else _SQUARE
    fitting = [tile for tile in every if 2 * tile.rows <= 3 * max(m, n, _FEW)]
    return next((t for t in fitting if _tiles(t, count, m, n) >= _FILLED), fitting[min(1, len(fitting) - 1)])


def _tiles(tile: Tile, count: int, m: int, n: int) -> int:
    return count * -(-m // tile.rows) * -(-n // tile.columns)


def _calls(given: Product, mapped: bool = False) -> tuple[Call, ...]:
    """The calls that compute a product; one whose result a map takes has the arguments of this map at its end."""
    how = cut(given)
    (count, m, n, k), a, b, dtype = given
    arguments = (count, m, n, k, a.load, *a.strides, b.load, *b.strides, how.parts, how.stretch)
    plain = () if mapped else (OUTPUT, m * n, n)
    if how.parts == 1:
        return (Call(_render(how, stored(dtype)), (*arguments, *plain), how.grid, given=given),)
    own = held(dtype)
    sums = Scratch(how.parts * count * m * n * DTYPE_SIZES[own])
    whole = render_product(dtype, how.tile, how.along, stored(own))
    first = Call(whole, (*arguments, sums, m * n, n), how.grid, (sums,))
    ends = (count, m, n, how.parts, sums, *plain)
    return first, Call(_render(how, stored(dtype)), ends, grid_for(count * m * n), given=given)


def _calls_mapped(given: Product | Convolution, each: float) -> tuple[Call, ...]:
    assert isinstance(given, Product)
    return _calls(given, mapped=True)


def _form(given: Product | Convolution) -> Hashable:
    assert isinstance(given, Product)
    return cut(given)


def _render(form: Hashable, nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """The kernel that ends a product with a map, after one that sums parts if there are some."""
    assert isinstance(form, Cut)
    if form.parts > 1:
        return render_sums(form.dtype, nest, literals)
    return render_product(form.dtype, form.tile, form.along, nest, literals)


EPILOGUES = Epilogues(_calls_mapped, _form, _render, is_called=False)
