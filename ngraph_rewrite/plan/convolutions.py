# SPDX-License-Identifier: Apache-2.0
"""The calls that compute convolutions: how images are cut into bands that fit a cache, and what is shared out."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, NamedTuple

from ngraph_rewrite.codegen.library_convolutions import (
    render_convolution,
    render_convolution_across,
    render_convolution_sums,
    render_halo,
)
from ngraph_rewrite.plan.blocking import product_time
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, in_memory, together
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, known
from ngraph_rewrite.plan.shares import Share, loop_share
from ngraph_rewrite.plan.views import Layout, reshaped
from ngraph_rewrite.terms.op import Op

CONVOLUTION = "cpu.convolution"
Three = tuple[int, ...]
# Bytes of an image that are copied at once, and of what is packed of the other operand: both stay in the second cache.
_IMAGE, _PANEL = 320 << 10, 160 << 10
# Vectors have so many lanes, or fewer: lines that are a multiple of it are not packed.
_LANES = 16
# A chunk of fewer places would look at filters for longer than it multiplies lines of zeros with them.
_WORTH = 256
# The columns of a panel are at most so many; of the result so many are computed before an epilogue has them.
_WIDE, _COLUMNS = 32, 128
# So many filters are multiplied with a panel at once; so many elements of a window.
_ROWS, _DEEPEST = 252, 1024
# Of large windows so many elements are multiplied at once: they stay in the first cache.
_FEW = 192
# A piece takes about so many nanoseconds or more, and there need not be more than so many; bytes of sums, at most.
_PIECE, _PIECES, _SUMS = 60_000, 32, 16 << 20
# Each chunk has workspace of its own, so there are not more than so many.
_CHUNKS = 32
# Rows so many bytes apart fall on the same places of the cache.
_FAR = 4096


class Convolution(NamedTuple):
    """A convolution along three axes, some of length 1: the images, the filters and how windows slide.

    Attributes:
        sizes: The number of images, of filters, of places, and of elements of a window.
        x: Images, channels, three axes; `w` has results, channels and the axes.
        lengths, window, places: Of the images, a window and the result along the axes.
    """

    sizes: tuple[int, int, int, int]
    x: Load
    w: Load
    dtype: str
    groups: int
    lengths: Three
    window: Three
    places: Three
    strides: Three
    before: Three
    interior: Three
    dilations: Three

    @property
    def factors(self) -> tuple[Load, Load]:
        """What is multiplied."""
        return self.x, self.w

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return 4 if self.dtype == "float32" else 8

    @property
    def is_across(self) -> bool:
        """Whether the result has few places, and windows are large."""
        return is_across(prod(self.places), prod(self.window))


def is_across(places: int, window: int) -> bool:
    """Whether a result of so many places, of windows of so many elements, is computed as a sum over windows."""
    return window > 2 * places


def convolved(term: Op, groups: Groups) -> Convolution:
    """The convolution that a term is.

    Raises:
        CopyFirst: if its images are not in memory, or its filters not the one after the other.
    """
    strides, before, _, interior, dilations, count = term.attrs
    shape, window = known(term), known(term.args[1])
    across = is_across(prod(shape[2:]), prod(window[2:]))
    read = partial(_in_lines if across else _as_matrix, term.args[1], groups)
    x, w = together(partial(in_memory, term.args[0], groups), read)
    axes = [known(term.args[0])[2:], window[2:], shape[2:], strides, before, interior, dilations]
    fill = (1, 1, 1, 1, 0, 0, 1)
    sizes = (shape[0], shape[1], prod(shape[2:]), prod(window[1:]))
    name = DTYPE_NAMES[term.type.dtype]
    return Convolution(sizes, x, w, name, count, *[_three(v, f) for v, f in zip(axes, fill, strict=True)])


def _three(values: tuple[int, ...], filler: int) -> Three:
    return (filler,) * (3 - len(values)) + tuple(values)


def _as_matrix(term: Op, groups: Groups) -> Load:
    """Filters as rows of a matrix."""
    load = in_memory(term, groups)
    shape = load.layout.shape
    seen = reshaped(load.layout, (shape[0], prod(shape[1:])))
    if seen is None:
        raise CopyFirst(term)
    return Load(load.base, seen)


def _in_lines(term: Op, groups: Groups) -> Load:
    """Filters of which each channel is one stretch."""
    load = in_memory(term, groups)
    shape = load.layout.shape
    seen = reshaped(load.layout, (*shape[:2], prod(shape[2:])))
    if seen is None or (seen.shape[2] > 1 and seen.strides[2] != 1):
        raise CopyFirst(term)
    return Load(load.base, seen)


# -- bands ----------------------------------------------------------------------------------------------


class _Walk(NamedTuple):
    """How a padded image is walked: along bands of some axis, from each place over the offsets of a window.

    Attributes:
        long: The lengths of a band; the first axis longer than 1 is cut.
        move: How far bands lie apart.
        phases, slots: Elements that lie a step apart are side by side, so many of them.
        pitches: Of z, y and channels, in bytes.
    """

    long: Three
    move: Three
    bands: int
    phases: int
    slots: int
    pitches: Three


def _walk(lengths: Three, steps: Three, offsets: Three, spread: Three, band: int, itemsize: int) -> _Walk:
    """Bands of a length, of places some steps apart, each with offsets spread by some distance."""
    cut = next((i for i, n in enumerate(lengths) if n > 1), 2)
    long = tuple([band if i == cut else n for i, n in enumerate(lengths)])
    move = tuple([band if i == cut else 0 for i in range(3)])
    z, y, x = [(n - 1) * s + (k - 1) * e + 1 for n, s, k, e in zip(long, steps, offsets, spread, strict=True)]
    slots = -(-x // steps[2])
    line = slots * steps[2] * itemsize
    return _Walk(long, move, -(-lengths[cut] // band), steps[2], slots, (y * line, line, z * y * line))


def _fitting(
    lengths: Three, steps: Three, offsets: Three, spread: Three, itemsize: int, count: int, panel: int, wanted: int
) -> _Walk:
    """Bands of which `count` channels fit the cache, and a panel of so many bytes for each place; more if wanted."""
    cut = next((i for i, n in enumerate(lengths) if n > 1), 2)
    reach = -(-((offsets[cut] - 1) * spread[cut]) // steps[cut])
    least = max(1, 2 * reach, -(-_WIDE // prod(lengths[cut + 1 :])))
    band = min(lengths[cut], max(1, -(-lengths[cut] // max(wanted, 1))))
    while True:
        found = _walk(lengths, steps, offsets, spread, band, itemsize)
        large = found.pitches[2] * count > _IMAGE or prod(found.long) * panel > _PANEL
        if not large or band <= least:
            return found
        band = max(least, -(-band // 2))


def _halo(given: Convolution, walk: _Walk, strides: tuple[int, ...]) -> tuple[object, ...]:
    """The arguments of the kernel that copies images; `strides` is that of channels and of the axes, in elements."""
    channels, z, y, x = strides
    size = given.itemsize
    apart = tuple([i + 1 for i in given.interior])
    own = (channels * size, z * size, y * size, x, *given.lengths, *given.before, *apart)
    return (*own, walk.phases, walk.slots, *walk.pitches, f"product lines {given.dtype}")


def _axes(layout: Layout) -> tuple[int, ...]:
    """The strides along the three axes."""
    return _three(layout.strides[2:], 0)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64


def _places(*sizes: int) -> list[int]:
    """Where parts of workspace begin, and its length; behind each is space for a vector more than it needs."""
    found = [0]
    for size in sizes:
        found.append(found[-1] + _aligned(size + 128))
    return found


def _of_processor(dtype: str, *words: str) -> dict[str, str]:
    names = {"high": "rows", "wide": "columns", "apart": "stride", "rows_of": "rows_of"}
    return {word: f"product {names.get(word, word)} {dtype}" for word in words}


# -- calls ----------------------------------------------------------------------------------------------


def convolution_calls(term: Op, groups: Groups) -> tuple[Call, ...]:
    """The calls that compute a convolution."""
    given = convolved(term, groups)
    return _across(given) if given.is_across else (convolution_call(given),)


def convolution_call(given: Convolution, epilogue: object = 0, each: float = 0) -> Call:
    """The call that computes a convolution with many places; the result is stored, or goes to an epilogue.

    Args:
        epilogue: What stands for its address; its arguments follow those of the call.
        each: The nanoseconds it takes for a number of the result.
    """
    (count, m, n, k), size, layout = given.sizes, given.itemsize, given.x.layout
    channels, filters = layout.shape[1] // given.groups, m // given.groups
    time = _time(given) + int(each * count * m * n)
    wanted = -(-min(time // _PIECE, _PIECES) // max(count * given.groups, 1))
    walk = _fitting(given.places, given.strides, given.window, given.dilations, size, channels, 0, wanted)
    pieces = count * given.groups * walk.bands
    share = Share(pieces, time, max(1, -(-pieces // _CHUNKS)))
    taps = prod(given.window)
    deepest = _DEEPEST if walk.long[2] % _LANES else 2 * _DEEPEST  # nothing is packed
    deep = max(k, 1) if k <= deepest else -(-k // -(-k // deepest))  # of none, zeros are stored in one step
    if 0 < taps <= _DEEPEST:
        deep = -(-deep // taps) * taps  # whole channels
    columns, rows = min(_COLUMNS, -(-n // _WIDE) * _WIDE), min(filters, _ROWS)
    steps = [s * size for s in given.w.layout.strides]
    packs = int(any(s != 0 and s % _FAR == 0 for s in steps))
    lines = prod(walk.long[:2])
    packed = (rows * 4 // 3 + 32) * deep * size * packs
    aside = rows * columns * size * (epilogue != 0)
    _, *places = _places(8 * k, 8 * lines, _WIDE * deep * size, packed, aside, walk.pitches[2] * channels)
    space = Scratch(places[-1] * share.chunks)
    named = _shared(given, walk, channels, filters, pieces) | {
        "x_sb": layout.strides[0] * size, "space": space, "room": places[-1],
        "w_so": steps[0], "w_sk": steps[1],
        "dense": int(_leaves_out(given, walk, pieces // share.chunks)), "every_w": prod(given.w.layout.shape),
        "lines_at": places[0], "panel_at": places[1], "a_at": places[2], "c_at": places[3], "image_at": places[4],
        "out": OUTPUT if epilogue == 0 else 0, "every": n, "columns": columns, "rows": rows, "deep": deep,
        "packs": packs, "epilogue": epilogue,
        **_of_processor(given.dtype, "high", "wide", "apart", "lanes", "tile", "look", "pack", "rows_of"),
    }  # fmt: skip
    halo = _halo(given, walk, (layout.strides[1], *_axes(layout)))
    return _call(render_convolution(), named, halo, share, (space,), given)


def _leaves_out(given: Convolution, walk: _Walk, pieces: int) -> bool:
    """Whether lines of windows that see padding only are left out, where a chunk has so many pieces.

    It has to look at all filters for that, as padding is multiplied with those that are not finite.
    """
    if walk.long[2] % _LANES or prod(given.window) > _DEEPEST or prod(walk.long) * pieces < _WORTH:
        return False
    first, last = given.before[1], (given.places[1] - 1) * given.strides[1] - given.before[1]
    reached = last + (given.window[1] - 1) * given.dilations[1]
    sees = first > 0 or reached > (given.lengths[1] - 1) * (given.interior[1] + 1)
    return sees and given.window[1] > 1 and _is_dense(given.w.layout)


def _is_dense(layout: Layout) -> bool:
    """Whether elements fill a stretch of memory from the first one on."""
    length = 1
    for stride, n in sorted(zip(layout.strides, layout.shape, strict=True)):
        if n != 1 and stride != length:
            return False
        length *= n
    return True


def _across(given: Convolution) -> tuple[Call, Call]:
    """The sums over some channels each, and the sum of these."""
    (images, m, places, _), size, layout = given.sizes, given.itemsize, given.x.layout
    channels, filters = layout.shape[1] // given.groups, m // given.groups
    pitch = -(-filters // 16) * 16
    time = _time(given)
    each = given.groups * places * images * pitch * size
    wanted = max(1, min(time // _PIECE, _PIECES) // given.groups)
    parts = min(channels, wanted, max(1, _SUMS // max(each, 1)))  # none, if there is nothing to sum
    blocks = max(1, min(-(-images // 14), -(-wanted // max(parts, 1))))
    rows = max(1, -(-images // blocks))
    walk = _fitting(given.window, given.dilations, given.places, given.strides, size, rows, _WIDE * size, 1)
    blocks = -(-images // rows)
    pieces = parts * given.groups * blocks
    share = Share(pieces, time, max(1, -(-pieces // _CHUNKS)))
    sums = Scratch(parts * each)
    _, *at = _places(8 * places, prod(walk.long) * _WIDE * size, walk.pitches[2] * rows)
    space = Scratch(at[-1] * share.chunks)
    abreast = given.places[2] if walk.phases == 1 and rows < 4 and given.places[2] > rows else 1
    named = _shared(given, walk, channels, filters, pieces) | {
        "x_sb": layout.strides[1] * size, "space": space, "room": at[-1], "panel_at": at[0], "image_at": at[1],
        "sums": sums, "w_so": given.w.layout.strides[0] * size, "w_sc": given.w.layout.strides[1] * size,
        "images": images, "parts": parts, "blocks": blocks, "rows": rows, "pitch": pitch, "abreast": abreast,
        "few": max(1, _FEW // walk.long[2]),
        **_of_processor(given.dtype, "high", "wide", "walk", "pack"),
    }  # fmt: skip
    halo = _halo(given, walk, (layout.strides[0], *_axes(layout)))
    first = _call(render_convolution_across(), named, halo, share, (space, sums), given)._replace(given=None)
    numbers = (sums, OUTPUT, parts, given.groups, places, images, pitch, filters)
    added = loop_share(images, parts * given.groups * places * filters * 0.5)
    return first, Call(render_convolution_sums(given.dtype), numbers, added)


def _time(given: Convolution) -> int:
    """About how many nanoseconds a convolution takes."""
    return product_time(*given.sizes, given.itemsize)


def _shared(given: Convolution, walk: _Walk, channels: int, filters: int, pieces: int) -> dict[str, object]:
    """What both kernels take."""
    found: dict[str, object] = {
        "source": given.x, "w": given.w, "size": given.itemsize, "pieces": pieces, "bands": walk.bands,
        "groups": given.groups, "channels": channels, "filters": filters, "halo": render_halo(given.dtype),
    }  # fmt: skip
    triples = {
        "w": given.window, "o": given.places, "s": given.strides, "d": given.dilations,
        "move_": walk.move, "long_": walk.long,
    }  # fmt: skip
    found.update((name + axis, v) for name, three in triples.items() for axis, v in zip("zyx", three, strict=True))
    return found


def _call(
    source: Any,
    named: dict[str, object],
    halo: tuple[object, ...],
    share: Share,
    scratch: tuple[Scratch, ...],
    given: Convolution,
) -> Call:
    names = source.signature[: len(source.signature) - len(halo)]
    arguments = (*[named[name] for name in names], *halo)
    return Call(source, arguments, share, scratch, given=given, parts=(render_halo(given.dtype),))
