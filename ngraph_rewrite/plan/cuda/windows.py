# SPDX-License-Identifier: Apache-2.0
"""The calls that add windows up on a GPU, and the axes that its kernels see: those beside each other may be one."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ngraph_rewrite.codegen.cuda.folds import render_gathered_fold
from ngraph_rewrite.codegen.cuda.pooling import Sliding
from ngraph_rewrite.codegen.cuda.spreading import render_spread
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, in_memory, known
from ngraph_rewrite.plan.spreading import spread_kind
from ngraph_rewrite.terms.op import Op

Slides = Mapping[int, tuple[int, int, int, bool]]


def slid_axes(
    lengths: tuple[int, ...], strides: tuple[int, ...], slides: Slides
) -> tuple[list[list[int]], tuple[Sliding, ...]]:
    """The axes that are one for a kernel together, and how windows slide along some, in the order of `slides`.

    Args:
        strides: Those of an operand, which decide which axes may be one.
        slides: For an axis the size, stride and dilation of windows along it, and whether it is padded.

    >>> slid_axes((2, 3, 8), (24, 8, 1), {2: (2, 2, 1, False)})
    ([[0, 1], [2]], (Sliding(dim=1, size=2, stride=2, dilation=1, padded=False),))
    """
    runs = list[list[int]]()
    for k, length in enumerate(lengths):
        if k not in slides and runs and (last := runs[-1][-1]) not in slides and strides[last] == strides[k] * length:
            runs[-1].append(k)
        else:
            runs.append([k])
    return runs, tuple([Sliding(runs.index([k]), *slides[k]) for k in slides])


def fold_call(term: Op, groups: Groups) -> Call:
    """The call of a fold, or of one of which a part is asked for.

    Raises:
        CopyFirst: if the operand is not in memory, or is so in a way that strides cannot say.
    """
    axes, strides, dilations = (term.attribute(name) for name in ("axes", "strides", "dilations"))
    load, shape = in_memory(term.args[0], groups), known(term)
    rank, layout = len(shape), load.layout
    starts = term.attribute("starts") if "starts" in term.definition.attributes else (0,) * rank
    skipped = sum(starts[k] * layout.strides[k] for k in range(rank) if k not in axes)
    begun = load._replace(layout=layout._replace(offset=layout.offset + skipped))
    every = zip(layout.shape[rank:], strides, dilations, [starts[k] > 0 for k in axes], strict=True)
    runs, windows = slid_axes(shape, layout.strides[:rank], dict(zip(axes, every, strict=True)))
    arguments = list[object]()
    for run in runs:
        k = run[-1]
        arguments += [prod([shape[j] for j in run]), layout.strides[k]]
        if k in axes:
            arguments += [layout.shape[k], layout.strides[rank + axes.index(k)], *([starts[k]] if starts[k] else [])]
    source = render_gathered_fold(term.dtype.name, windows, len(runs))
    return Call(source, (*arguments, begun, OUTPUT), grid_for(prod(shape)))


def spread_call(term: Op, groups: Groups) -> Call:
    """The call that gives what windows have to their elements.

    Raises:
        CopyFirst: if the operand is not in memory, or is so in a way that strides cannot say.
    """
    axes, _, sizes, strides, before, dilations, _, _ = term.attrs
    load, shape = in_memory(term.args[0], groups), known(term)
    every = zip(sizes, strides, dilations, [b > 0 for b in before], strict=True)
    runs, windows = slid_axes(shape, load.layout.strides, dict(zip(axes, every, strict=True)))
    arguments = list[object]()
    for run in runs:
        k = run[-1]
        arguments += [prod([shape[j] for j in run]), load.layout.strides[k]]
        if k in axes:
            arguments += [load.layout.shape[k], *(b for a, b in zip(axes, before, strict=True) if a == k and b)]
    source = render_spread(spread_kind(term), term.dtype.name, windows, len(runs))
    return Call(source, (*arguments, load, OUTPUT), grid_for(prod(shape)))
