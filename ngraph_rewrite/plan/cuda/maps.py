# SPDX-License-Identifier: Apache-2.0
"""Which form the kernel of a map has on a GPU: tiles, all indices in a row, or a grid with the loops as dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.copy import WIDTH, turned
from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.map import is_wide, places_of
from ngraph_rewrite.codegen.loops import MapNest
from ngraph_rewrite.plan.cuda.grids import THREADS, blocks_for
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.hardware import WARP

TILED = 8  # elements along memory, on either side of a copy, that are worth a tile
MOST_BESIDE = (1 << 16) - 1  # blocks along the second and third dimension of a grid
_MANY = 2112  # blocks of which half are enough to fill a large GPU
LEAST_WIDTH = 4  # threads side by side: with four neighbours each, they read two sectors of memory


class MapForm(NamedTuple):
    """How the indices of a map are shared out.

    Attributes:
        kind: ``"tiles"``, ``"spread"`` over a grid of three dimensions, or ``"row"``: all indices in one.
        width: Threads of a block side by side, in such a grid.
    """

    kind: str = "row"
    width: int = 0


def map_form(nest: MapNest, sizes: Sequence[int]) -> MapForm:
    """The form of the kernel of a map.

    A copy in which reading and writing run along different loops goes by tiles, if there is enough of it either way.
    """
    along = turned(nest)
    if along is not None and min(sizes[dim] for dim in along) >= TILED:
        return MapForm("tiles")
    width = _width(nest, sizes)
    return MapForm("spread", width) if width else MapForm()


def map_grid(nest: MapNest, sizes: Sequence[int]) -> Grid:
    """The grid of a map in its form."""
    form = map_form(nest, sizes)
    if form.kind == "tiles":
        along = turned(nest) or ()
        outside = prod([n for dim, n in enumerate(sizes) if dim not in along])
        return Grid(blocks_for(outside * prod([-(-sizes[dim] // WIDTH) for dim in along]), 1), THREADS)
    if form.kind == "spread":
        *outer, below, _ = sizes
        beside = -(-below * form.width // THREADS), prod(outer)
        down, deep = (max(1, min(n, MOST_BESIDE)) for n in beside)
        return Grid(blocks_for(sizes[-1] // _near(nest, sizes), form.width), THREADS, beside=(down, deep))
    near = _near(nest, sizes)
    blocks = blocks_for(prod(sizes), THREADS * near)
    return Grid(-(-blocks // places_of(nest)) if near > 1 and blocks > _MANY else blocks, THREADS)


def _near(nest: MapNest, sizes: Sequence[int]) -> int:
    """How many neighbours a thread has at once, if addresses are aligned."""
    return FOUR if is_wide(nest) and (len(sizes) == 1 or sizes[-1] % FOUR == 0) else 1


def _width(nest: MapNest, sizes: Sequence[int]) -> int:
    """How many threads of a block are side by side so that fewest are idle; 0 if that are too many.

    Where something lies in memory along the loop before the last one, that are few: others read what is next to it.
    """
    if len(sizes) < 2 or 0 in sizes:
        return 0
    across, below = sizes[-1] // _near(nest, sizes), sizes[-2]
    crossed = any(load.strides[-2] == "1" and load.strides[-1] == "s" for load in nest.loads)
    widths = [WARP] if crossed else [THREADS >> k for k in range((THREADS // LEAST_WIDTH).bit_length())]

    def threads(width: int) -> int:
        height = THREADS // width
        return -(-across // width) * width * -(-below // height) * height

    width = min(widths, key=threads)
    return width if 3 * threads(width) <= 4 * across * below else 0
