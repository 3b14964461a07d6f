# SPDX-License-Identifier: Apache-2.0
"""The calls that compute pooling and its derivative: windows over the last axes, which kernels walk line by line."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.library_pooling import render_pooling, render_unpooling
from ngraph_rewrite.plan.fusion import Groups, is_leaf
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, in_memory, plain, together
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import loop_share
from ngraph_rewrite.plan.views import merged
from ngraph_rewrite.terms.op import Op

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
    return last and 1 <= count <= 3 and 1 < prod(sizes) <= _LARGEST and x.dtype.name in ("float32", "float64")


def three(values: tuple[int, ...]) -> Three:
    """Numbers of the last axes as those of three."""
    z, y, x = (1,) * (3 - len(values)) + tuple(values)
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
    """The call that shares out what belongs to windows."""
    axes, sizes, strides, dilations = term.attrs
    x, size = term.args[0], term.dtype.itemsize
    load, result, given = together(partial(in_memory, x, groups), *[partial(plain, t, groups) for t in term.args[1:]])
    walk = _walk(load, x, three(strides), three(dilations), len(axes))
    oz, oy, ox = three(known(term.args[1])[-len(axes) :])
    _, y, width = three(known(term)[-len(axes) :])
    (sz, sy, _), (ez, ey, _) = three(strides), three(dilations)
    plane = prod(known(term)[-len(axes) :])
    steps = [n * size for n in (walk.step, *walk.along, *walk.within)]
    own = [y * width * sz, width * sy, y * width * ez, width * ey]
    source = render_unpooling(term.dtype.name, three(sizes), three(strides), three(dilations))
    share = loop_share(walk.leads, plane * 0.3 + oz * oy * ox * prod(sizes) * 0.3)
    return Call(source, (load, result, given, OUTPUT, walk.leads, plane, oz, oy, ox, *steps, *own), share)
