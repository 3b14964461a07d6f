# SPDX-License-Identifier: Apache-2.0
"""Sums over windows as large as images by minimal filtering: which are worth it, and how tiles fit a cache.

What is multiplied at which points, `ngraph_rewrite.runtime.minimal_across` says. Shapes alone decide what is chosen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.codegen.library_convolutions import render_halo
from ngraph_rewrite.codegen.library_minimal_filtering import render_minimal_across, render_minimal_across_sums
from ngraph_rewrite.plan.convolution_bands import (
    PIECE,
    PIECES,
    WIDE,
    chunks_of,
    halo_arguments,
    kernel_call,
    laid_out,
    of_processor,
)
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.memory import aligned
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.shares import loop_share

# Points of a segment of two or three places; those of windows and of images are at most so many.
_MOST_POINTS = 16
# Tiles are multiplied about so many at a time, of so many images and filters at most, and sums of a piece have so many
# bytes at most: with what is transformed they stay in the second cache.
_TILES, _ROWS, _COLUMNS, _KEPT = 64, 64, 64, 400 << 10
# What transforms take, in multiplications: of a tile of an image for each point, and of a window; and by how much those
# at points are slower. Vectors have so many lanes.
_INWARD, _WINDOW, _SLOWER, _LANES = 10, 60, 1.15, 16
# Lines of more tiles would need too much workspace.
_WIDEST = 256
# Sums of parts, of all points, have so many bytes at most; so many parts need no reason (see `convolutions_across`).
_SUMS, _PARTS, _ADDED, _ALL = 16 << 20, 8, 10, 64
_WORDS = ("tile", "pack", "window_tiles", "inward_22", "inward_23", "inward_32", "inward_33")
# Behind what is read and written in vectors.
_BEHIND = 512


class _Cut(NamedTuple):
    """How it is cut up.

    Attributes:
        down, across: The tiles of a window.
        points: At how many all segments of the result are multiplied.
        blocks, sides: Of images and of filters, `columns` each.
        band, some: Rows of tiles and channels that are multiplied at once.
    """

    down: int
    across: int
    points: int
    blocks: int
    sides: int
    columns: int
    band: int
    some: int


def segments(places: int) -> list[int]:
    """Places along an axis as threes, and then at most two twos.

    >>> segments(5), segments(3), segments(4), segments(7)
    ([3, 2], [3], [2, 2], [3, 2, 2])
    """
    found = []
    while places > 0:
        found.append(2 if places in (2, 4) else 3)
        places -= found[-1]
    return found


def _points(places: int) -> int:
    return sum(n + 1 for n in segments(places))


def _cut(given: Convolution) -> _Cut:
    (images, filters), (_, oy, ox) = given.sizes[:2], given.places
    down, across = (-(-n // 2) for n in given.window[1:])
    points = _points(oy) * _points(ox)
    columns = min(_COLUMNS, -(-filters // WIDE) * WIDE)
    rows = max(14, min(_ROWS, _KEPT // (points * columns * given.itemsize)))
    band = max(1, min(down, _TILES // across))
    some = max(1, _TILES // (down * across))
    return _Cut(down, across, points, -(-images // rows), -(-filters // columns), columns, band, some)


def is_possible_across(given: Convolution) -> bool:
    """Whether windows are such that there are tiles for them: two places or more along each of two axes, no strides."""
    plain = given.strides == given.dilations == (1, 1, 1) and given.interior == (0, 0, 0) and given.groups == 1
    flat = len(given.x.layout.shape) == 4 and min(given.places[1:]) > 1
    return plain and flat and min(given.sizes) > 0 and given.dtype == "float32"


def is_worth_it_across(given: Convolution) -> bool:
    """Whether a convolution with large windows is faster so, by what is multiplied."""
    if not is_possible_across(given):
        return False
    (images, filters), cut = given.sizes[:2], _cut(given)
    rows = 2 if 2 * cut.across <= _LANES else 1  # of tiles in a vector
    used = cut.across * rows / (-(-cut.across * rows // _LANES) * _LANES)
    multiplied = _SLOWER * cut.points * images * filters
    transforms = _INWARD / used * cut.points * images * cut.sides + _WINDOW * filters * cut.blocks
    windows = _seen(given, 1) * _seen(given, 2) * images * filters
    return cut.across <= _WIDEST and cut.down * cut.across * (multiplied + transforms) < windows


def _seen(given: Convolution, axis: int) -> int:
    """How many elements of an image windows of all places see along an axis: the other kernel leaves out padding."""
    n, window, before = given.lengths[axis], given.window[axis], given.before[axis]
    return sum(max(0, min(n, i - before + window) - max(0, i - before)) for i in range(given.places[axis]))


def minimal_across_calls(given: Convolution) -> tuple[Call, Call]:
    """The sums at points over some channels each, and the places of their sum."""
    size, cut, x, w = given.itemsize, _cut(given), given.x.layout, given.w.layout
    (images, filters), pitch = given.sizes[:2], -(-given.sizes[1] // 16) * 16
    each, blocks, time = cut.points * images * pitch * size, cut.blocks * cut.sides, _time(given, cut)
    parts = _parts(x.shape[1], each, blocks, time)
    share, sums = chunks_of(parts * blocks, time), Scratch(parts * each)
    own, line, lines = _workspace(given, cut)
    space = Scratch(own["room"], share.chunks)
    named: dict[str, Any] = {
        "source": given.x, "w": given.w, "sums": sums, "space": space, "pieces": parts * blocks, "parts": parts,
        "pitch": pitch, "images": images, "filters": filters, "channels": x.shape[1],
        "x_sb": x.strides[1] * size, "w_so": w.strides[0] * size, "w_sc": w.strides[1] * size,
        "halo": render_halo(given.dtype), **cut._asdict(), **own, **_lengths(given),
        **of_processor(given.dtype, _WORDS, high="rows", wide="columns"),
    }  # fmt: skip
    halo = halo_arguments(given, x.strides[0], 1, line // size, (lines * line, line, lines * line))
    first = kernel_call(render_minimal_across(given.dtype), named, halo, share, (space, sums))
    named |= {"out": OUTPUT, "x_sc": x.strides[0] * size, "x_sy": x.strides[2] * size, "x_sx": x.strides[3]}
    last = render_minimal_across_sums(given.dtype)
    adding = loop_share(images, parts * cut.points * filters * 0.5)
    return first, Call(last, tuple([named[name] for name in last.signature]), adding)


def _time(given: Convolution, cut: _Cut) -> int:
    """About how many nanoseconds the products at points take on one core."""
    windows = given.sizes[2] * given.window[1] * given.window[2]
    return int(given.time * cut.points * cut.down * cut.across / windows)


def _parts(channels: int, each: int, blocks: int, time: int) -> int:
    """In how many parts channels are summed up, of so many bytes each."""
    wanted = max(1, min(time // PIECE, PIECES) // blocks)
    added = max(_PARTS, time * _ADDED // (_ALL * each))
    return max(1, min(channels, wanted, added, _SUMS // each))


def _lengths(given: Convolution) -> dict[str, int]:
    """The lengths of windows, places and images, what pads before them, and how many places are taken in threes."""
    threes = tuple([3 * segments(n).count(3) for n in given.places])
    triples = {"w": given.window, "o": given.places, "n": given.lengths, "b": given.before, "threes_": threes}
    return {name + axis: triple[i] for name, triple in triples.items() for i, axis in ((1, "y"), (2, "x"))}


def _workspace(given: Convolution, cut: _Cut) -> tuple[dict[str, int], int, int]:
    """Where parts of workspace begin, and how far apart lies what they hold; the bytes and number of lines of a copy.

    Up to a line of tiles and some vectors are read behind a copy, and a line and an element behind windows. Values of
    images are a vector more apart than they are long, so that they do not fall on the same places of the first cache.
    """
    size, (_, wx), (oy, ox) = given.itemsize, given.window[1:], given.places[1:]
    rows, tiles = -(-given.sizes[0] // cut.blocks), cut.some * cut.band * cut.across
    line, lines = (2 * cut.across + ox - 1) * size, 2 * cut.band + oy - 1
    copy, pitch, down = rows * lines * line, tiles * size, (tiles + _LANES) * size
    w_apart, x_apart = aligned(cut.columns * pitch + 64), aligned(rows * down + 64)
    _, *at = laid_out(
        cut.some * copy + 2 * line + _BEHIND,
        ((2 * cut.band + 1) * wx + 1) * WIDE * size,
        _MOST_POINTS * w_apart,
        _MOST_POINTS * x_apart,
    )
    apart = {"copy": copy, "w_pitch": pitch, "w_apart": w_apart, "x_down": down, "x_apart": x_apart}
    return {"copies_at": 0, **dict(zip(("raw_at", "w_at", "x_at", "room"), at, strict=True)), **apart}, line, lines
