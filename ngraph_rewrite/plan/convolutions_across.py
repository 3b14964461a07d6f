# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose result has few places, as derivatives of filters have: sums over windows as large as images."""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.library_convolutions import render_convolution_across, render_convolution_sums
from ngraph_rewrite.plan.convolution_bands import (
    PIECE,
    PIECES,
    WIDE,
    chunks_of,
    fitting,
    halo_arguments,
    kernel_call,
    laid_out,
    of_processor,
    shared,
)
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch
from ngraph_rewrite.plan.shares import loop_share

# Of large windows so many elements are multiplied at once: they stay in the first cache. Bytes of sums, at most.
_FEW, _SUMS = 192, 16 << 20
# So many parts need no reason. There are more only if adding them up, so many bytes in a nanosecond, takes no more than
# one of so many nanoseconds of all.
_PARTS, _ADDED, _ALL = 8, 10, 64


def across_calls(given: Convolution) -> tuple[Call, Call]:
    """The sums over some channels each, and the sum of these."""
    (images, m, places, _), size, layout = given.sizes, given.itemsize, given.x.layout
    channels, filters = layout.shape[1] // given.groups, m // given.groups
    pitch = -(-filters // 16) * 16
    each = given.groups * places * images * pitch * size
    wanted = max(1, min(given.time // PIECE, PIECES) // given.groups)
    added = max(_PARTS, given.time * _ADDED // (_ALL * max(each, 1)))
    parts = min(channels, wanted, added, max(1, _SUMS // max(each, 1)))  # none, if there is nothing to sum
    blocks = max(1, min(-(-images // 14), -(-wanted // max(parts, 1))))
    rows = max(1, -(-images // blocks))
    walk = fitting(given.window, given.dilations, given.places, given.strides, size, rows, WIDE * size, 1)
    blocks = -(-images // rows)
    pieces = parts * given.groups * blocks
    share = chunks_of(pieces, given.time)
    sums = Scratch(parts * each)
    _, *at = laid_out(8 * places, prod(walk.long) * WIDE * size, walk.pitches[2] * rows, 32 * places)
    space = Scratch(at[-1], share.chunks)
    abreast = given.places[2] if walk.phases == 1 and rows < 4 and given.places[2] > rows else 1
    named = shared(given, walk, channels, filters, pieces) | {
        "x_sb": layout.strides[1] * size, "space": space, "room": at[-1],
        "panel_at": at[0], "image_at": at[1], "seen_at": at[2], "sums": sums,
        "w_so": given.w.layout.strides[0] * size, "w_sc": given.w.layout.strides[1] * size,
        "images": images, "parts": parts, "blocks": blocks, "rows": rows, "pitch": pitch, "abreast": abreast,
        "few": max(1, _FEW // walk.long[2]),
        **of_processor(given.dtype, ("walk", "pack"), high="rows", wide="columns"),
    }  # fmt: skip
    halo = halo_arguments(given, layout.strides[0], walk.phases, walk.slots, walk.pitches)
    first = kernel_call(render_convolution_across(), named, halo, share, (space, sums))
    numbers = (sums, OUTPUT, parts, given.groups, places, images, pitch, filters)
    adding = loop_share(images, parts * given.groups * places * filters * 0.5)
    return first, Call(render_convolution_sums(given.dtype), numbers, adding)
