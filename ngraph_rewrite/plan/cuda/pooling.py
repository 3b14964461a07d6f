# SPDX-License-Identifier: Apache-2.0
"""The calls of pooling and of its derivative on a GPU: a thread for each element, and how memory is walked."""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.cuda.pooling import Sliding, render_pooling, render_unpooling
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.cuda.windows import slid_axes
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, in_memory, known, placed, placed_plainly, together
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.terms.op import Op


def pooling_call(term: Op, groups: Groups) -> Call:
    """The call that pools what windows see.

    Raises:
        CopyFirst: if the operand is not in memory, or is so in a way that strides cannot say.
    """
    load = in_memory(term.args[0], groups)
    runs, windows = _axes(term, load.layout)
    before, lengths = dict(zip(term.attribute("axes"), term.attribute("before"), strict=True)), known(term)
    arguments: list[object] = []
    for number, run in enumerate(runs):
        k = run[-1]
        arguments += [prod([lengths[j] for j in run]), load.layout.strides[k]]
        if any(one.dim == number and one.padded for one in windows):
            arguments += [load.layout.shape[k], before[k]]
    source = render_pooling(term.attribute("kind"), term.dtype.name, windows, len(runs), term.attribute("counted"))
    return Call(source, (*arguments, load, OUTPUT), grid_for(prod(lengths)))


def unpooling_call(term: Op, groups: Groups) -> Call:
    """The call that shares out what belongs to windows.

    Raises:
        CopyFirst: if the operands are not in memory, or are so in a way that strides cannot say.
    """
    x, d = together([placed(term.args[0], groups), placed_plainly(term.args[1], groups)])
    runs, windows = _axes(term, x.layout)
    before, lengths = dict(zip(term.attribute("axes"), term.attribute("before"), strict=True)), known(term)
    arguments: list[object] = []
    for number, run in enumerate(runs):
        k = run[-1]
        arguments += [prod([lengths[j] for j in run]), x.layout.strides[k], d.layout.strides[k]]
        if k in before:
            arguments.append(d.layout.shape[k])
        if any(one.dim == number and one.padded for one in windows):
            arguments.append(before[k])
    source = render_unpooling(term.attribute("kind"), term.dtype.name, windows, len(runs))
    return Call(source, (*arguments, x, d, OUTPUT), grid_for(prod(lengths)))


def _axes(term: Op, layout: Layout) -> tuple[list[list[int]], tuple[Sliding, ...]]:
    """The axes of the operand, those that are one for the kernel together, and how windows slide along some."""
    every = zip(*term.attrs[:6], strict=True)
    slides = {k: (size, stride, dilation, bool(b or a)) for k, size, stride, b, a, dilation in every}
    return slid_axes(layout.shape, layout.strides, slides)
