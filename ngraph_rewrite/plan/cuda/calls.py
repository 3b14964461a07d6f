# SPDX-License-Identifier: Apache-2.0
"""Library calls by op, for a GPU: products of matrices, access by index, sorts, running operations, draws."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ngraph_rewrite.codegen.library import render_gather
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, all_plain
from ngraph_rewrite.terms.op import Op


def _gather(term: Op, groups: Groups) -> Call:
    x, indices = all_plain(term.args, groups)
    axis, shape = term.attribute("axis"), x.layout.shape
    outer, inner, length = prod(shape[:axis]), prod(shape[axis + 1 :]), shape[axis]
    source = render_gather(term.dtype.name, indices.base.dtype.name, "cuda")
    count = prod(indices.layout.shape)
    arguments = (outer, count, inner, length, x, length * inner, inner, indices, OUTPUT)
    return Call(source, arguments, grid_for(outer * count * inner))


# What computes an op in one call, or adds to its first operand once that is in the memory of the result.
CALLS: dict[str, Callable[[Op, Groups], Call]] = {
    "semi.gather": _gather,
}
