# SPDX-License-Identifier: Apache-2.0
"""Library calls by op: sorts, searches, running operations, products of many matrices, access by index."""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import log2, prod

from ngraph_rewrite.codegen.library_indexed import render_put_along, render_scatter, render_take_along
from ngraph_rewrite.codegen.library_middle import render_middle_elements
from ngraph_rewrite.codegen.library_places import render_chosen_places, render_first_places, render_searchsorted
from ngraph_rewrite.codegen.library_products import render_batch_dot
from ngraph_rewrite.codegen.library_running import OPERATIONS, render_recurrence, render_running
from ngraph_rewrite.plan.factor_calls import factors_call, qr_call, triangular_call
from ngraph_rewrite.plan.fourier_calls import fourier_call
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory, all_plain, known, plain
from ngraph_rewrite.plan.shapes import around
from ngraph_rewrite.plan.shares import Share, loop_share, running_share
from ngraph_rewrite.plan.sort_calls import sort_call
from ngraph_rewrite.plan.spectral_calls import eigh_call, svd_call
from ngraph_rewrite.runtime.features import compresses
from ngraph_rewrite.runtime.philox import last_below
from ngraph_rewrite.terms.op import Op

# In so many parts a row is asked for its true elements: each part begins by counting those of all before.
PARTS = 8
_MIDDLE_TIME, _LINE = 2, 64  # nanoseconds of an element of a line whose middle is asked for; bytes of a cache line


def ends_of_draws(term: Op) -> list[int]:
    """Low, high and the last number below it, or loc and scale, as the bits of float64."""
    if term.definition.short == "normal":
        ends = [term.attribute("loc").scalar, term.attribute("scale").scalar]
    else:
        low, high = term.attribute("low").scalar, term.attribute("high").scalar
        ends = [low, high, last_below(low, high, term.dtype)]
    return [struct.unpack("<q", struct.pack("<d", end))[0] for end in ends]


def _batch_dot(term: Op, groups: Groups) -> Call:
    a, b = all_in_memory(term.args, groups)
    (count, m, n), k = known(term), a.layout.shape[2]
    arguments = (count, m, n, k, a, *a.layout.strides, b, *b.layout.strides, OUTPUT)
    return Call(render_batch_dot(term.dtype.name), arguments, loop_share(count * m, n * k / 2))


def _first_places(term: Op, groups: Groups) -> Call:
    x = plain(term.args[0], groups)
    outer, n, inner = around(x.layout.shape, term.attribute("axis"))
    source = render_first_places(term.args[0].dtype.name, term.attribute("descending"), term.attribute("last"))
    count = term.attribute("count")
    arguments = (outer * inner, n, inner, count, x, OUTPUT)
    return Call(source, arguments, loop_share(outer * inner, n + count * count))


def _middle_elements(term: Op, groups: Groups) -> Call:
    x = plain(term.args[0], groups)
    *outer, n = x.layout.shape
    rows, dtype = prod(outer), term.dtype
    source = render_middle_elements(dtype.name, term.attribute("descending"), compresses())
    share = loop_share(rows, n * _MIDDLE_TIME)
    space = Scratch(-(-n * dtype.itemsize // _LINE) * _LINE, share.chunks)
    arguments = (rows, n, term.attribute("begin"), term.attribute("end"), x, space, space.bytes, OUTPUT)
    return Call(source, arguments, share, (space,))


def _chosen_places(term: Op, groups: Groups) -> Call:
    x = plain(term.args[1], groups)
    *rows, n = x.layout.shape
    arguments = (prod(rows), n, known(term)[-1], x, OUTPUT)
    size = prod(rows) * n
    return Call(render_chosen_places(), arguments, Share(size, size // 2, least=n // PARTS + 1))


def _searchsorted(term: Op, groups: Groups) -> Call:
    x, v = all_plain(term.args, groups)
    source = render_searchsorted(x.base.dtype.name, term.attribute("right"))
    count, length = prod(v.layout.shape), x.layout.shape[0]
    return Call(source, (count, length, x, v, OUTPUT), loop_share(count, 1 + log2(length + 1)))


def _running(term: Op, groups: Groups) -> Call:
    operands = all_plain(reversed(term.args), groups)
    short, dtype, reverse = term.definition.short, term.dtype.name, term.attribute("reverse")
    source = render_recurrence(dtype, reverse) if short == "recurrence" else render_running(short, dtype, reverse)
    sizes = around(known(term), term.attribute("axis"))
    return Call(source, (*sizes, *operands, OUTPUT), running_share(*sizes))


def _take_along(term: Op, groups: Groups) -> Call:
    x, indices = all_plain(term.args, groups)
    axis = term.attribute("axis")
    outer, count, inner = around(indices.layout.shape, axis)
    source = render_take_along(term.dtype.name, indices.base.dtype.name)
    arguments = (outer, count, inner, x.layout.shape[axis], x, indices, OUTPUT)
    return Call(source, arguments, loop_share(outer * count, 2 * inner))


def how_of(term: Op) -> str:
    """How an op that puts something at indices makes one of what was there and what is put there."""
    return str(term.attribute("how")) if "how" in term.attributes else "add"


def _put_along(term: Op, groups: Groups) -> Call:
    indices, updates = all_plain(term.args[1:], groups)
    axis = term.attribute("axis")
    outer, count, inner = around(updates.layout.shape, axis)
    source = render_put_along(how_of(term), term.dtype.name, indices.base.dtype.name)
    arguments = (outer, count, inner, known(term)[axis], indices, updates, OUTPUT)
    return Call(source, arguments, running_share(outer, count, inner))


def _scatter(term: Op, groups: Groups) -> Call:
    indices, updates = all_plain(term.args[1:], groups)
    outer, length, inner = around(known(term), term.attribute("axis"))
    source = render_scatter(how_of(term), term.dtype.name, indices.base.dtype.name)
    count = prod(indices.layout.shape)
    return Call(source, (outer, count, inner, length, indices, updates, OUTPUT), running_share(outer, count, inner))


# What computes an op in one call.
CALLS: dict[str, Callable[[Op, Groups], Call]] = {
    "semi.batch_dot": _batch_dot,
    "semi.argsort": sort_call,
    "semi.sort": sort_call,
    "cpu.first_places": _first_places,
    "cpu.middle_elements": _middle_elements,
    "semi.searchsorted": _searchsorted,
    "semi.recurrence": _running,
    **{f"semi.{short}": _running for short in OPERATIONS},
    "semi.take_along": _take_along,
    "semi.cholesky": factors_call,
    "semi.lu": factors_call,
    "semi.qr": qr_call,
    "semi.triangular_solve": triangular_call,
    "semi.eigh": eigh_call,
    "semi.eigvalsh": eigh_call,
    "semi.svd": svd_call,
    "semi.svdvals": svd_call,
    "cpu.fourier": fourier_call,
}
# What puts something into its first operand in one call, once that is in the memory of the result.
INSERTIONS: dict[str, Callable[[Op, Groups], Call]] = {
    "cpu.chosen_places": _chosen_places,
    "semi.scatter_add": _scatter,
    "semi.scatter": _scatter,
    "semi.add_along": _put_along,
    "semi.put_along": _put_along,
}
