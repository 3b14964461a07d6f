# SPDX-License-Identifier: Apache-2.0
"""The calls that compute pooling and its derivative: windows over the last axes, which kernels walk line by line."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.library_pooling import render_pooling, render_unpooling
from ngraph_rewrite.plan.fusion import Groups, is_leaf
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, in_memory, placed, placed_plainly, together
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import loop_share
from ngraph_rewrite.plan.views import merged
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL

UNPOOLING = "cpu.unpooling"
Three = tuple[int, int, int]
# Windows of more elements than these are not written out.
_LARGEST = 64


class Walk(NamedTuple):
    """How windows over the last axes are walked.

    Attributes:
        leads, step: The number and the stride of what comes before these axes.
        along, within: The strides from window to window and inside one, of z and y.
    """

    leads: int
    step: int
    along: tuple[int, int]
    within: tuple[int, int]


def is_pooled(x: Op, axes: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether the kernels can walk windows of some sizes over axes of x: at most three, the last ones."""
    count = len(axes)
    last = axes == tuple(range(x.rank - count, x.rank))
    return last and 1 <= count <= 3 and 1 < prod(sizes) <= _LARGEST and x.dtype != BOOL


def three(values: tuple[int, ...], filler: int = 1) -> Three:
    """Numbers of the last axes as those of three."""
    z, y, x = (filler,) * (3 - len(values)) + tuple(values)
    return z, y, x


def _walk(load: Load, term: Op, strides: Three, dilations: Three, count: int) -> Walk:
    """How to walk an operand.

    Raises:
        CopyFirst: for `term`, if its lines have no unit stride or what comes before has no one stride.
    """
    shape, found = load.layout.shape, load.layout.strides
    dims = list(zip(shape[:-count], found[:-count], strict=True))
    lead = merged(dims) or [(1, 0)]
    if len(lead) > 1 or (found[-1] != 1 and shape[-1] > 1):
        raise CopyFirst(term)
    z, y = ((0, 0) + found[-count:-1])[-2:]
    along, within = ((z * s[0], y * s[1]) for s in (strides, dilations))
    return Walk(prod(shape[:-count]), lead[0][1], along, within)


def is_pooling(term: Op) -> bool:
    """Whether a reduction is one of windows that the kernels can walk."""
    seen = term.args[0]
    if seen.definition.name != "semi.windows" or term.definition.short not in ("max", "min", "sum"):
        return False
    x, (axes, sizes, _, _) = seen.args[0], seen.attrs
    return is_pooled(x, axes, sizes) and term.attribute("axes") == (*range(x.rank, seen.rank),) and 0 not in known(seen)


def pooling_call(term: Op, groups: Groups) -> Call | None:
    """The call that reduces windows, if a reduction is one of them.

    Raises:
        CopyFirst: if the windows are over what is not in memory line by line.
    """
    if not is_pooling(term):
        return None
    seen = term.args[0]
    x, (axes, sizes, strides, dilations) = seen.args[0], seen.attrs
    load, size = in_memory(x, groups), x.dtype.itemsize
    if not is_leaf(load.base) and groups.group_of.get(load.base) is not load.base:
        raise CopyFirst(load.base)  # else it would be computed for each window
    walk = _walk(load, x, three(strides), three(dilations), len(axes))
    oz, oy, ox = three(known(term)[-len(axes) :])
    lines = walk.leads * oz * oy
    source = render_pooling(term.definition.short, x.dtype.name, three(sizes), three(strides), three(dilations))
    steps = [n * size for n in (walk.step, *walk.along, *walk.within)]
    return Call(source, (load, OUTPUT, lines, oz, oy, ox, *steps), loop_share(lines, 10 + ox * prod(sizes) * 0.1))


def unpooling_call(term: Op, groups: Groups) -> Call:
    """The call that shares out what belongs to windows; where they are over a padded image, copies are workspace."""
    axes, sizes, strides, before, after, dilations, kind = term.attrs
    x, size, count = term.args[0], term.dtype.itemsize, len(axes)
    load, given = together([placed(x, groups), placed_plainly(term.args[1], groups)])
    walk, inner = _walk(load, x, (1, 1, 1), (1, 1, 1), count), known(term)[-count:]
    lengths = three(tuple([b + n + a for b, n, a in zip(before, inner, after, strict=True)]))
    places, windows = three(known(term.args[1])[-count:]), [three(v) for v in (sizes, strides, dilations)]
    padded, (z, y) = any((*before, *after)), walk.along
    apart = lengths[1] * lengths[2] * size, lengths[2] * size  # planes and lines of what is written
    own = apart if padded else (z * size, y * size)
    steps = walk.step * size, *_steps(own, windows), prod(inner) * size, *_steps(apart, windows)
    fills = int(not _is_covered(lengths, places, windows))
    source = render_unpooling(kind, term.dtype.name, *windows, padded)
    share = loop_share(walk.leads, prod(lengths) * 0.1 + prod(places) * prod(sizes) * 0.1)
    arguments = (load, given, OUTPUT, walk.leads, fills, *lengths, *places, *steps)
    if not padded:
        return Call(source, arguments, share)
    room = 2 * prod(lengths) * size + 128
    space = Scratch(room, share.chunks)
    return Call(
        source, (*arguments, space, room, *three(before, 0), *three(inner), z * size, y * size), share, (space,)
    )


def _steps(apart: tuple[int, int], windows: list[Three]) -> tuple[int, int, int, int]:
    """From window to window and inside one, of z and y, where elements lie so far apart."""
    _, strides, dilations = windows
    (z, y), (sz, sy, _), (ez, ey, _) = apart, strides, dilations
    return z * sz, y * sy, z * ez, y * ey


def _is_covered(lengths: Three, places: Three, windows: list[Three]) -> bool:
    """Whether every element is part of exactly one window."""
    every = zip(lengths, places, *windows, strict=True)
    return all(size == s and m * s == length and (e == 1 or size == 1) for length, m, size, s, e in every)
