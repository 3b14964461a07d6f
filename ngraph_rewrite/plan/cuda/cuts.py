# SPDX-License-Identifier: Apache-2.0
"""How products are cut up for a GPU: which tile blocks have, and in how many parts a long sum is done."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.tiles import Tile
from ngraph_rewrite.plan.cuda.grids import MOST_BLOCKS
from ngraph_rewrite.plan.shares import Grid

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


@lru_cache(maxsize=1 << 12)
def cut_for(sizes: tuple[int, int, int, int], dtype: str, along: tuple[bool, bool]) -> Cut:
    """How products of a number, m, n and k of a dtype are cut up; whether A, and B, lie in memory along k."""
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
