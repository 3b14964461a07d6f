# SPDX-License-Identifier: Apache-2.0
"""Convolutions by minimal filtering: which are worth it, and how their tiles are cut into what fits a cache.

Numbers are multiplied at points of transformed tiles and filters, as `ngraph_rewrite.runtime.minimal_filtering` says.
What is chosen depends on shapes alone.
"""

from __future__ import annotations

from math import prod
from types import MappingProxyType
from typing import NamedTuple

from ngraph_rewrite.codegen.library_convolutions import render_halo
from ngraph_rewrite.codegen.library_minimal_filtering import render_minimal_filtering, render_minimal_filters
from ngraph_rewrite.plan.convolution_bands import (
    chunks_of,
    halo_arguments,
    kernel_call,
    laid_out,
    of_processor,
)
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.memory import aligned
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.shares import Share

# Elements of an image along an axis that are transformed together, and the points at which they are multiplied.
_SPAN, _POINTS = 6, 36
_WINDOWS = (3, 5)
# Tiles are multiplied at most so many at a time: transformed, they stay in the second cache.
_TILES = 32
# A tile of a product has at most so many rows, and columns that divide this; vectors have no more lanes than that.
_ROWS, _COLUMNS, _LANES = 14, 32, 16
# What transforms take, in multiplications: of a tile for a channel, for a filter, and of a filter for a channel, which
# memory decides. Those at points are in smaller products.
_INWARD, _OUTWARD, _SPREAD, _SLOWER = 500, 250, 1500, 1.1
# Rows that lie by so much more than a power of two apart are not in the same place of the cache, in bytes.
_APART = 64
# Sums over channels are some sums of sums, by window: at least so many, of about so many channels each. Their errors
# are smaller than those of one sum.
_SUMS = MappingProxyType({3: (2, 32), 5: (1, 64)})
# Sums over fewer channels have so small errors that those of transforms would show more than is promised.
_CHANNELS = 32
# Pieces that threads share are so many, if filters can be parted: each part of at least so many transforms tiles anew.
_PIECES, _SIDE = 8, 128
# Channels whose filters are transformed at once.
_SOME = 8


class _Tiles(NamedTuple):
    """Of tiles the length, the rows, and those in a row; of a piece the rows and images; of an image the bands."""

    high: int
    down: int
    across: int
    move: int
    images: int
    bands: int

    @property
    def most(self) -> int:
        """The tiles of a piece, in whole vectors for all products."""
        return -(-self.move * self.across * self.images // _COLUMNS) * _COLUMNS


def is_possible(given: Convolution) -> bool:
    """Whether windows are such that there are tiles for them, one place after the other."""
    window = given.window[2]
    if given.window != (1, window, window) or window not in _WINDOWS or given.lengths[0] * given.places[0] != 1:
        return False
    plain = given.strides == given.dilations == (1, 1, 1) and given.groups == 1 and given.before[0] == 0
    return plain and given.dtype == "float32"


def is_worth_it(given: Convolution) -> bool:
    """Whether a convolution is faster so, by what is multiplied, and as accurate as is promised.

    The largest error, over the sum of all magnitudes, is at most four times that of products of windows.
    """
    (count, filters, places, k), window = given.sizes, given.window[2]
    if not is_possible(given) or k < _CHANNELS * window**2:
        return False
    channels, tiles = k // window**2, count * prod(_tiles_along(n, window) for n in given.places[1:])
    multiplied = _SLOWER * tiles * _POINTS * channels * filters
    transforms = tiles * (_INWARD * channels + _OUTWARD * filters) + _SPREAD * channels * filters
    return multiplied + transforms < count * places * k * filters


def _tiles_along(length: int, window: int) -> int:
    """The tiles along an axis."""
    return -(-length // (_SPAN + 1 - window))


def _cut(given: Convolution) -> _Tiles:
    """The tiles of a convolution."""
    window = given.window[2]
    down, across = (_tiles_along(n, window) for n in given.places[1:])
    images = max(1, min(given.sizes[0], _TILES // (down * across)))
    bands = -(-down // max(1, _TILES // across))
    return _Tiles(_SPAN + 1 - window, down, across, -(-down // bands), images, bands)


def minimal_calls(given: Convolution, epilogue: object = 0, each: float = 0) -> tuple[Call, Call]:
    """The calls that transform filters, and convolve images with these; the result is stored, or goes to an epilogue.

    Args:
        epilogue: What stands for its address; its arguments follow those of the last call.
        each: The nanoseconds it takes for a number of the result.
    """
    (count, filters, places, k), size, window = given.sizes, given.itemsize, given.window[2]
    channels, tiles, x = k // window**2, _cut(given), given.x.layout
    pitch = (filters * 4 // 3 + _COLUMNS) * channels * size + _APART  # tiles are padded by a third or less
    transformed = Scratch(pitch * _POINTS)
    time = given.time * _POINTS // (window * tiles.high) ** 2 + int(each * count * filters * places)
    turns = -(-count // tiles.images) * tiles.bands
    sides = max(1, min(filters // _SIDE, -(-_PIECES // turns)))
    share = chunks_of(turns * sides, time)
    own = _workspace(given, tiles, channels, epilogue != 0)
    space = Scratch(own["room"], share.chunks)
    named = tiles._asdict() | own | {
        "source": given.x, "x_sb": x.strides[0] * size, "w": given.w, "w_at": transformed, "w_pitch": pitch,
        "w_so": given.w.layout.strides[0] * size, "w_sk": given.w.layout.strides[1] * size,
        "out": OUTPUT if epilogue == 0 else 0, "every": places, "space": space, "pieces": share.length, "sides": sides,
        "count": count, "channels": channels, "deep": _deep(window, channels), "filters": filters,
        "window": window, "oy": given.places[1], "ox": given.places[2],
        "halo": render_halo(given.dtype), "epilogue": epilogue,
        **of_processor(
            given.dtype, ("lanes", "tile", "inward", "exact"), tall="rows", wide="columns", apart="stride",
            tiles_of=f"tiles_of_{window}", outward=f"outward_{window}",
        ),
    }  # fmt: skip
    lines, line = (n * tiles.high + window - 1 for n in (tiles.move, tiles.across))
    halo = halo_arguments(given, x.strides[1], 1, line, (lines * line * size, line * size, lines * line * size))
    last = kernel_call(render_minimal_filtering(given.dtype), named, halo, share, (space,), given)
    return _filters_call(given, channels, transformed, pitch), last


def _deep(window: int, channels: int) -> int:
    """The channels that are summed up at once."""
    least, each = _SUMS[window]
    return -(-channels // max(least, round(channels / each)))


def _workspace(given: Convolution, tiles: _Tiles, channels: int, aside: bool) -> dict[str, int]:
    """Where parts of workspace begin, and how far lie apart what they hold: none the same in the first cache."""
    size, most, window = given.itemsize, tiles.most, given.window[2]
    columns = tiles.move * tiles.high * given.places[2]
    lines, line = (n * tiles.high + window - 1 for n in (tiles.move, tiles.across))
    gathered, products = most * size + _APART, _ROWS * most * size + _APART
    _, *at = laid_out(
        (lines + tiles.high) * line * size + 4 * _COLUMNS * size,  # a row and some vectors are read too far
        gathered * _POINTS,
        (channels + 2) * most * size * _POINTS,  # 16 more for each 8 columns, or more columns
        products * _POINTS,
        most * tiles.high**2 * size,
        _ROWS * columns * tiles.images * size * aside,
    )
    names = ("gathered_at", "panels_at", "sums_at", "lines_at", "aside_at", "room")
    apart = {"step": most * size, "g_pitch": gathered, "s_pitch": products, "l_pitch": most * tiles.high * size}
    return {"columns": columns, **apart, **dict(zip(names, at, strict=True))}


def _filters_call(given: Convolution, channels: int, target: Scratch, pitch: int) -> Call:
    """The call that transforms filters."""
    filters, window, size = given.sizes[1], given.window[2], given.itemsize
    pieces = max(1, channels // _SOME)
    share = Share(pieces, channels * filters * _SPREAD // 50)
    room = aligned(-(-channels // pieces) * window**2 * _LANES * size + 128)
    space = Scratch(room, share.chunks)
    down, along = (s * size for s in given.w.layout.strides)
    decided = of_processor(given.dtype, ("pack",), tall="rows", apart="stride", spread=f"spread_{window}")
    numbers = (given.w, down, along, target, space, room, pieces, channels, filters, window**2, pitch)
    words = (decided["tall"], decided["apart"], decided["pack"], decided["spread"])
    return Call(render_minimal_filters(given.dtype), (*numbers, *words), share, (target, space))
