# SPDX-License-Identifier: Apache-2.0
"""The call that adds windows up on a GPU: a thread for each element, and the strides with which it finds windows."""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.library_windows import render_gathered_fold
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, in_memory, known
from ngraph_rewrite.terms.op import Op


def fold_call(term: Op, groups: Groups) -> Call:
    """The call of a fold; axes beside each other along which no window moves are one.

    Raises:
        CopyFirst: if the operand is not in memory, or is so in a way that strides cannot say.
    """
    axes, _, strides, dilations = term.attrs
    load, shape = in_memory(term.args[0], groups), known(term)
    rank, layout = len(shape), load.layout
    dims = list[list[int]]()  # what the kernel is given for each axis
    own = {axis: number for number, axis in enumerate(axes)}
    place = dict[int, int]()  # which of them has the windows along an axis
    for k in range(rank):
        if k in own:
            number = own[k]
            step = layout.strides[rank + number]
            place[k] = len(dims)
            sizes = (layout.shape[k], layout.shape[rank + number], step, strides[number], dilations[number])
            dims.append([shape[k], layout.strides[k], *sizes])
        elif dims and len(dims[-1]) == 2 and dims[-1][1] == layout.strides[k] * shape[k]:
            dims[-1] = [dims[-1][0] * shape[k], layout.strides[k]]
        else:
            dims.append([shape[k], layout.strides[k]])
    source = render_gathered_fold(term.dtype.name, tuple([place[axis] for axis in axes]), len(dims))
    arguments = [number for dim in dims for number in dim]
    return Call(source, (*arguments, load, OUTPUT), grid_for(prod(shape)))
