# SPDX-License-Identifier: Apache-2.0
"""Library calls by op, for a GPU: products of matrices, access by index, sorts, running operations, draws."""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.library import render_gather, render_random
from ngraph_rewrite.codegen.library_indexed import render_take_along
from ngraph_rewrite.codegen.library_places import render_searchsorted
from ngraph_rewrite.codegen.library_running import OPERATIONS, render_recurrence
from ngraph_rewrite.plan.cuda.attention import attention_calls
from ngraph_rewrite.plan.cuda.factors import cholesky_calls, lu_calls, qr_call, triangular_call
from ngraph_rewrite.plan.cuda.grids import grid_for
from ngraph_rewrite.plan.cuda.order import put_along_calls, scatter_calls, sort_calls
from ngraph_rewrite.plan.cuda.pooling import pooling_call, unpooling_call
from ngraph_rewrite.plan.cuda.running import running_calls
from ngraph_rewrite.plan.cuda.spectra import eigh_call, svd_call
from ngraph_rewrite.plan.cuda.windows import fold_call, spread_call
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import MakeCalls
from ngraph_rewrite.plan.library_calls import ends_of_draws
from ngraph_rewrite.plan.operands import OUTPUT, Call, all_plain, known
from ngraph_rewrite.plan.shapes import around
from ngraph_rewrite.terms.op import Op


def _gather(term: Op, groups: Groups) -> Call:
    x, indices = all_plain(term.args, groups)
    axis, shape = term.attribute("axis"), x.layout.shape
    outer, inner, length = prod(shape[:axis]), prod(shape[axis + 1 :]), shape[axis]
    source = render_gather(term.dtype.name, indices.base.dtype.name, "cuda")
    count = prod(indices.layout.shape)
    arguments = (outer, count, inner, length, x, length * inner, inner, indices, OUTPUT)
    return Call(source, arguments, grid_for(outer * count * inner))


def _take_along(term: Op, groups: Groups) -> Call:
    x, indices = all_plain(term.args, groups)
    axis = term.attribute("axis")
    outer, count, inner = around(indices.layout.shape, axis)
    source = render_take_along(term.dtype.name, indices.base.dtype.name, "cuda")
    arguments = (outer, count, inner, x.layout.shape[axis], x, indices, OUTPUT)
    return Call(source, arguments, grid_for(outer * count * inner))


def _searchsorted(term: Op, groups: Groups) -> Call:
    x, v = all_plain(term.args, groups)
    source = render_searchsorted(x.base.dtype.name, term.attribute("right"), "cuda")
    count, length = prod(v.layout.shape), x.layout.shape[0]
    return Call(source, (count, length, x, v, OUTPUT), grid_for(count))


def _recurrence(term: Op, groups: Groups) -> Call:
    b, a = all_plain(reversed(term.args), groups)
    source = render_recurrence(term.dtype.name, term.attribute("reverse"), "cuda")
    outer, n, inner = around(known(term), term.attribute("axis"))
    return Call(source, (outer, n, inner, b, a, OUTPUT), grid_for(outer * inner))


def _random(term: Op, groups: Groups) -> Call:
    kind = term.definition.short
    source = render_random(kind, term.dtype.name, "cuda")
    count = prod(known(term))
    each = 2 if term.dtype.name == "float64" else 4
    arguments = (OUTPUT, count, "seed", "call", term.attribute("uid"), *ends_of_draws(term))
    return Call(source, arguments, grid_for(-(-count // each)))


# What computes an op in calls, or puts something into its first operand once that is in the memory of the result.
CALLS: dict[str, MakeCalls] = {
    "semi.gather": _gather,
    "semi.take_along": _take_along,
    "semi.scatter_add": scatter_calls,
    "semi.scatter": scatter_calls,
    "semi.add_along": put_along_calls,
    "semi.put_along": put_along_calls,
    "semi.sort": sort_calls,
    "semi.argsort": sort_calls,
    "semi.searchsorted": _searchsorted,
    "semi.recurrence": _recurrence,
    "semi.cholesky": cholesky_calls,
    "semi.lu": lu_calls,
    "semi.qr": qr_call,
    "semi.triangular_solve": triangular_call,
    "semi.eigh": eigh_call,
    "semi.eigvalsh": eigh_call,
    "semi.svd": svd_call,
    "semi.svdvals": svd_call,
    **{f"semi.{short}": running_calls for short in OPERATIONS},
    "semi.fold": fold_call,
    "cuda.fold": fold_call,
    "fused.spread": spread_call,
    "cuda.pooling": pooling_call,
    "cuda.unpooling": unpooling_call,
    "fused.attention": attention_calls,
    "fused.mixture": attention_calls,
    "semi.uniform": _random,
    "semi.normal": _random,
}
