# SPDX-License-Identifier: Apache-2.0
"""How products are cut up for a GPU: which tile blocks have, and in how many parts a long sum is done."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from ngraph_rewrite.codegen.cuda.halves import WarpTile
from ngraph_rewrite.codegen.cuda.tiles import Tile
from ngraph_rewrite.codegen.scalar import HALVES
from ngraph_rewrite.plan.cuda.grids import MOST_BLOCKS
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.hardware import MULTIPROCESSORS

# Tiles of matrices that are large both ways, or one way only, and about how fast they are where there are enough: the
# more of a tile a thread has, the less it reads for each multiplication. A double takes two registers.
_SMALL = {Tile(64, 64, 16, 4, 4, 2): 0.8, Tile(32, 32, 16, 4, 4): 0.6, Tile(16, 16, 16, 2, 4): 0.35}
_NARROW = {Tile(16, 128, 16, 4, 4): 0.6, Tile(128, 16, 16, 4, 4): 0.6}
_TILES = MappingProxyType({Tile(128, 128, 8, 8, 8, 8): 1.0} | _SMALL | _NARROW)
_TILES_OF_DOUBLES = MappingProxyType({Tile(128, 64, 8, 8, 4, 2): 1.0} | _SMALL | _NARROW)
# How fast tiles of tensor cores are has not been measured: larger ones read less for each product.
_TILES_OF_HALVES = MappingProxyType(
    {
        WarpTile(128, 128, 32, 2, 4): 1.0,
        WarpTile(64, 64, 32, 2, 2): 0.7,
        WarpTile(32, 128, 32, 1, 4): 0.6,
        WarpTile(128, 32, 32, 4, 1): 0.6,
        WarpTile(32, 32, 32, 2, 2): 0.4,
        WarpTile(16, 64, 64, 1, 4): 0.4,
        WarpTile(64, 16, 64, 4, 1): 0.4,
        WarpTile(16, 16, 32, 1, 1): 0.2,
    }
)
_FILLED = MULTIPROCESSORS  # blocks that give every one of them something to do
_STRETCH = 256  # of k that is worth a part of its own, at least
_MOST_PARTS = 128
# Threads of a block that can do with one more beside it; smaller blocks should be so many threads of a multiprocessor.
_LARGE, _RESIDENT = 256, 1024

_Tile = TypeVar("_Tile", Tile, WarpTile)


class Cut(NamedTuple):
    """How a product is done.

    Attributes:
        along: Whether A, and B, lie in memory along k.
        parts: In how many parts k is summed apart.
        stretch: How much of k each has.
        blocks: The tiles of all parts.
    """

    dtype: str
    tile: Tile | WarpTile
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
    tile = _tile(sizes, dtype)
    blocks = _tiles(tile, count, m, n)
    parts, wanted = 1, _FILLED * (_RESIDENT // tile.threads if tile.threads < _LARGE else 2)
    if 2 * blocks < wanted:
        parts = max(1, min(wanted // max(blocks, 1), k // _STRETCH, _MOST_PARTS))
    stretch = -(-k // (parts * tile.deep)) * tile.deep
    parts = max(1, -(-k // max(stretch, 1)))
    return Cut(dtype, tile, along, parts, stretch, blocks * parts)


def _tile(sizes: tuple[int, int, int, int], dtype: str) -> Tile | WarpTile:
    """The tile that takes the least time."""
    if dtype in HALVES:
        return _fastest(sizes, _TILES_OF_HALVES)
    return _fastest(sizes, _TILES_OF_DOUBLES if dtype == "float64" else _TILES)


def _fastest(sizes: tuple[int, int, int, int], speeds: Mapping[_Tile, float]) -> _Tile:
    """The tile that takes the least time: with what it multiplies beyond edges, and multiprocessors without work."""
    count, m, n, k = sizes

    def time(tile: _Tile) -> tuple[float, int]:
        blocks = _tiles(tile, count, m, n)
        busy = min(1.0, blocks * min(max(1, k // _STRETCH), _MOST_PARTS) / _FILLED) or 1.0
        return blocks * tile.rows * tile.columns / (speeds[tile] * busy), tile.threads

    return min(speeds, key=time)


def _tiles(tile: Tile | WarpTile, count: int, m: int, n: int) -> int:
    return count * -(-m // tile.rows) * -(-n // tile.columns)
