# SPDX-License-Identifier: Apache-2.0
"""The calls that compute convolutions: how images are cut into bands that fit a cache, and what is shared out."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from ngraph_rewrite.codegen.library_convolutions import render_convolution
from ngraph_rewrite.plan.convolution_bands import (
    PIECE,
    PIECES,
    WIDE,
    Walk,
    chunks_of,
    fitting,
    halo_arguments,
    kernel_call,
    laid_out,
    of_processor,
    shared,
)
from ngraph_rewrite.plan.convolution_forms import filled, form_of, forms
from ngraph_rewrite.plan.convolution_operands import Convolution, convolved
from ngraph_rewrite.plan.convolutions_across import across_calls
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.minimal_across import is_worth_it_across, minimal_across_calls
from ngraph_rewrite.plan.minimal_filtering import is_worth_it, minimal_calls
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.terms.op import Op

# Vectors have so many lanes, or fewer: lines that are a multiple of it are not packed.
_LANES = 16
# A chunk of fewer places would look at filters for longer than it multiplies lines of zeros with them.
_WORTH = 256
# Of the result so many columns are computed before an epilogue has them.
_COLUMNS = 128
# So many filters are multiplied with a panel at once; so many elements of a window.
_ROWS, _DEEPEST = 252, 1024
# Filters are parted where there are few images, but not into fewer than so many: each part packs windows anew.
_SIDE = 126
# Rows so many bytes apart fall on the same places of the cache.
_FAR = 4096
_WORDS = ("lanes", "tile", "look", "pack", "rows_of")


def convolution_calls(term: Op, groups: Groups) -> tuple[Call, ...]:
    """The calls that compute a convolution."""
    if 0 in term.shape:  # of lengths that a call says; cropped images may be of less than none
        return ()
    return calls_of(convolved(term, groups))


def calls_of(given: Convolution, epilogue: object = 0, each: float = 0) -> tuple[Call, ...]:
    """The calls that compute a convolution; of one with many places the last stores the result, or hands it over.

    Args:
        epilogue: What stands for its address; its arguments follow those of the last call.
        each: The nanoseconds it takes for a number of the result.
    """
    return filled(_forms(form_of(given), epilogue, each), given)


@lru_cache(maxsize=1 << 12)
def _forms(given: Convolution, epilogue: object, each: float) -> tuple[Call, ...]:
    if given.is_across:
        return forms(minimal_across_calls(given) if is_worth_it_across(given) else across_calls(given))
    return forms(minimal_calls(given, epilogue, each) if is_worth_it(given) else [_by_windows(given, epilogue, each)])


def _by_windows(given: Convolution, epilogue: object, each: float) -> Call:
    """The call with a multiplication for each element of each window."""
    (count, m, n, k), size, layout = given.sizes, given.itemsize, given.x.layout
    channels, filters = layout.shape[1] // given.groups, m // given.groups
    time = given.time + int(each * count * m * n)
    wanted = -(-min(time // PIECE, PIECES) // max(count * given.groups, 1))
    least = min(wanted, max(1, n // (2 * WIDE)))  # bands of fewer places would leave lanes of vectors idle
    walk = fitting(given.places, given.strides, given.window, given.dilations, size, channels, 0, least)
    sides = max(1, min(filters // _SIDE, wanted // walk.bands))
    pieces = count * given.groups * walk.bands * sides
    share = chunks_of(pieces, time)
    taps = prod(given.window)
    deepest = _DEEPEST if walk.long[2] % _LANES else 2 * _DEEPEST  # nothing is packed
    deep = max(k, 1) if k <= deepest else -(-k // -(-k // deepest))  # of none, zeros are stored in one step
    if 0 < taps <= _DEEPEST:
        deep = -(-deep // taps) * taps  # whole channels
    columns, rows = min(_COLUMNS, -(-n // WIDE) * WIDE), min(-(-filters // sides), _ROWS)
    steps = [s * size for s in given.w.layout.strides]
    packs = int(any(s != 0 and s % _FAR == 0 for s in steps))
    lines = prod(walk.long[:2])
    packed = (rows * 4 // 3 + 32) * deep * size * packs
    aside = rows * columns * size * (epilogue != 0)
    _, *places = laid_out(8 * k, 8 * lines, WIDE * deep * size, packed, aside, walk.pitches[2] * channels)
    space = Scratch(places[-1], share.chunks)
    named = shared(given, walk, channels, filters, pieces) | {
        "x_sb": layout.strides[0] * size, "space": space, "room": places[-1],
        "w_so": steps[0], "w_sk": steps[1],
        "dense": int(_leaves_out(given, walk, pieces // share.chunks)),
        "every_w": prod(given.w.layout.shape) * given.dtype.startswith("float"),  # of integers all are finite
        "lines_at": places[0], "panel_at": places[1], "a_at": places[2], "c_at": places[3], "image_at": places[4],
        "sides": sides, "out": OUTPUT if epilogue == 0 else 0, "every": n, "columns": columns, "rows": rows,
        "deep": deep, "packs": packs, "epilogue": epilogue,
        **of_processor(given.tiles, _WORDS, high="rows", wide="columns", apart="stride"),
    }  # fmt: skip
    halo = halo_arguments(given, layout.strides[1], walk.phases, walk.slots, walk.pitches)
    return kernel_call(render_convolution(), named, halo, share, (space,), given)


def _leaves_out(given: Convolution, walk: Walk, pieces: int) -> bool:
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
