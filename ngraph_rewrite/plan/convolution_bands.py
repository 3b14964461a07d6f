# SPDX-License-Identifier: Apache-2.0
"""How kernels of convolutions walk padded images: in bands of which a copy fits a cache, and what they all take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple

from ngraph_rewrite.codegen.library_convolutions import render_halo
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.convolution_operands import Convolution, Three, three
from ngraph_rewrite.plan.memory import aligned
from ngraph_rewrite.plan.operands import Call, Scratch
from ngraph_rewrite.plan.shares import Share

# Bytes of an image that are copied at once, and of what is packed of the other operand: both stay in the second cache.
_IMAGE, _PANEL = 320 << 10, 160 << 10
# The columns of a panel are at most so many.
WIDE = 32
# A piece takes about so many nanoseconds or more, and there need not be more than so many.
PIECE, PIECES = 60_000, 32
# Each chunk may run on a thread of its own, which has workspace then, so there are not more than so many.
_CHUNKS = 32
# What kernels take for each axis: window, places, strides, dilations, and how bands lie.
_TRIPLES = tuple([name + axis for name in "w o s d move_ long_".split() for axis in "zyx"])


class Walk(NamedTuple):
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


def _walk(lengths: Three, steps: Three, offsets: Three, spread: Three, band: int, itemsize: int) -> Walk:
    """Bands of a length, of places some steps apart, each with offsets spread by some distance."""
    cut = next((i for i, n in enumerate(lengths) if n > 1), 2)
    long = tuple([band if i == cut else n for i, n in enumerate(lengths)])
    move = tuple([band if i == cut else 0 for i in range(3)])
    z, y, x = [(n - 1) * s + (k - 1) * e + 1 for n, s, k, e in zip(long, steps, offsets, spread, strict=True)]
    slots = -(-x // steps[2])
    line = slots * steps[2] * itemsize
    return Walk(long, move, -(-lengths[cut] // band), steps[2], slots, (y * line, line, z * y * line))


def fitting(
    lengths: Three, steps: Three, offsets: Three, spread: Three, itemsize: int, count: int, panel: int, wanted: int
) -> Walk:
    """Bands of which `count` channels fit the cache, and a panel of so many bytes for each place; more if wanted."""
    cut = next((i for i, n in enumerate(lengths) if n > 1), 2)
    reach = -(-((offsets[cut] - 1) * spread[cut]) // steps[cut])
    least = max(1, 2 * reach, -(-WIDE // prod(lengths[cut + 1 :])))
    band = min(lengths[cut], max(1, -(-lengths[cut] // max(wanted, 1))))
    while True:
        found = _walk(lengths, steps, offsets, spread, band, itemsize)
        large = found.pitches[2] * count > _IMAGE or prod(found.long) * panel > _PANEL
        if not large or band <= least:
            return found
        band = max(least, -(-band // 2))


def halo_arguments(given: Convolution, channels: int, phases: int, slots: int, pitches: Three) -> tuple[object, ...]:
    """The arguments of the kernel that copies images into lines of `slots` elements; `channels` is how far they lie."""
    size, (z, y, x) = given.itemsize, three(given.x.layout.strides[2:], 0)
    apart = tuple([i + 1 for i in given.interior])
    own = (channels * size, z * size, y * size, x, *given.lengths, *given.before, *apart)
    copies = "halves" if phases == 2 else "lines"
    return (*own, phases, slots, *pitches, f"product {copies} {given.tiles}")


def laid_out(*sizes: int) -> list[int]:
    """Where parts of workspace begin, and its length; behind each is space for a row of a panel more than it needs."""
    found = [0]
    for size in sizes:
        found.append(found[-1] + aligned(size + 128))
    return found


def chunks_of(pieces: int, time: int) -> Share:
    """How pieces are shared out."""
    return Share(pieces, time, max(1, -(-pieces // _CHUNKS)))


@lru_cache(maxsize=64)
def of_processor(dtype: str, words: tuple[str, ...], **others: str) -> Mapping[str, str]:
    """What the processor decides, by name of the argument; `others` are called otherwise there."""
    named = dict(zip(words, words, strict=True)) | others
    return MappingProxyType({name: f"product {word} {dtype}" for name, word in named.items()})


def shared(given: Convolution, walk: Walk, channels: int, filters: int, pieces: int) -> dict[str, object]:
    """What both kernels of windows take."""
    found: dict[str, object] = {
        "source": given.x, "w": given.w, "size": given.itemsize, "pieces": pieces, "bands": walk.bands,
        "groups": given.groups, "channels": channels, "filters": filters, "halo": render_halo(given.dtype),
    }  # fmt: skip
    triples = (*given.window, *given.places, *given.strides, *given.dilations, *walk.move, *walk.long)
    found.update(zip(_TRIPLES, triples, strict=True))
    return found


def kernel_call(
    source: Source,
    named: Mapping[str, Any],
    halo: tuple[object, ...],
    share: Share,
    scratch: tuple[Scratch, ...],
    given: Convolution | None = None,
) -> Call:
    """The call of a kernel that copies images, whose arguments come last."""
    names = source.signature[: len(source.signature) - len(halo)]
    arguments = (*[named[name] for name in names], *halo)
    return Call(source, arguments, share, scratch, given=given, parts=(named["halo"],))
