# SPDX-License-Identifier: Apache-2.0
"""A job is the work of one group: pieces of loop nest, or one library kernel, with what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.added_kernels import rendered
from ngraph_rewrite.codegen.library import render_dot, render_gather, render_random
from ngraph_rewrite.plan.attention import attention_call
from ngraph_rewrite.plan.convolution_operands import CONVOLUTIONS
from ngraph_rewrite.plan.convolutions import convolution_calls
from ngraph_rewrite.plan.fusion import Groups, is_leaf
from ngraph_rewrite.plan.kinds import OTHER
from ngraph_rewrite.plan.library_calls import CALLS, INSERTIONS, ends_of_draws
from ngraph_rewrite.plan.nests import Body, Load, Value
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory, all_plain
from ngraph_rewrite.plan.pooling import UNPOOLING, unpooling_call
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import loop_share
from ngraph_rewrite.plan.spreading import SPREAD, spread_call
from ngraph_rewrite.plan.views import IDENTITIES, Layout, is_view, row_major
from ngraph_rewrite.plan.windows import fold_call
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op


class Piece(NamedTuple):
    """One loop nest: a body, the value to store, and where."""

    body: Body
    value: Value
    store: Layout


Pieces = tuple[Piece, ...]
MakeCall = Callable[[Op, Groups], Call]
# The same for a target that may need several, one after the other, in a list.
MakeCalls = Callable[[Op, Groups], "Call | list[Call]"]


@dataclass(eq=False)
class Job:
    """What computes one term into memory of its own (or, for a write or a result, copies it there).

    Attributes:
        raw: Whether it copies a leaf, whose copy others then read.
        destination: None for the term's own buffer, else the write or the number of the result.
        loads: Every operand.
    """

    term: Op
    pieces: Pieces = ()
    calls: tuple[Call, ...] = ()
    raw: bool = False
    destination: Op | int | None = None
    loads: list[Load] = field(init=False)

    def __post_init__(self) -> None:
        self.loads = self.operands()

    @property
    def is_one_map(self) -> bool:
        """Whether it is one elementwise loop nest."""
        return len(self.pieces) == 1 and not self.calls

    @property
    def in_step(self) -> list[Load]:
        """What it reads only at the very element that it stores then."""
        return self.loads if self.is_one_map else []

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The terms whose memory it fills."""
        return (self.term,)

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        """The memory it needs beside its operands."""
        return tuple([s for call in self.calls for s in call.scratch]) if self.calls else ()

    def operands(self) -> list[Load]:
        """What it reads, worked out."""
        found: list[Load] = []
        for piece in self.pieces:
            found += piece.body.loads
        for call in self.calls:
            found += call.loads
        return found


def job_of(term: Op, groups: Groups, calls: Mapping[str, MakeCalls] | None = None) -> Job:
    """The work that computes the root of a group, but for those over rows.

    Args:
        calls: What computes an op in calls (or fills parts of its first operand), on a target that has other kernels.

    Raises:
        CopyFirst: if a view in it needs its argument in memory.
        KernelError: if no kernel computes its op.
    """
    name = term.definition.name
    if name in _IN_PIECES:
        return Job(term, _IN_PIECES[name](term, groups))
    if name in INSERTIONS:
        return _insertion(term, groups, (calls or INSERTIONS)[name](term, groups))
    if calls is None and name in CONVOLUTIONS:
        return Job(term, calls=convolution_calls(term, groups))
    if name in (table := _CALLS if calls is None else calls):
        return Job(term, calls=_listed(table[name](term, groups)))
    if groups.kinds[term.definition] == OTHER:
        return Job(term, calls=(_own_kernel(term, groups),))
    return copy_job(term, groups)


def copy_job(term: Op, groups: Groups, destination: Op | int | None = None, own: bool = True) -> Job:
    """Evaluate `term` at every index; `own` if it is the root of the group that does so."""
    body = Body(known(term), groups, term if own else _NOBODY)
    raw = own and is_leaf(term)
    if own and is_view(term):
        path = () if term.definition.name in IDENTITIES else (term,)
        value = body.value(term.args[0], path)
    else:
        value = body.value(term)
    return Job(term, (Piece(body, value, row_major(known(term))),), raw=raw, destination=destination)


_NOBODY: Op = object()  # type: ignore[assignment]  # a group to which no term belongs


def _copy(term: Op, groups: Groups) -> Pieces:
    body = Body(known(term), groups, term)
    return (Piece(body, body.value(term.args[0]), row_major(known(term))),)


def _allocate(term: Op, groups: Groups) -> Pieces:
    body = Body(known(term), groups, term)
    zero = body.step("constant", term.dtype.name, (), Literal(0, term.dtype))
    return (Piece(body, zero, row_major(known(term))),)


def _concat(term: Op, groups: Groups) -> Pieces:
    axis, whole = term.attribute("axis"), row_major(known(term))
    pieces, start = [], 0
    for arg in term.args:
        body = Body(known(arg), groups, term)
        store = Layout(start * whole.strides[axis], known(arg), whole.strides)
        pieces.append(Piece(body, body.value(arg), store))
        start += known(arg)[axis]
    return tuple(pieces)


def _pad(term: Op, groups: Groups) -> Pieces:
    before, _, interior, value = term.attrs
    arg, whole = term.args[0], row_major(known(term))
    fill = Body(known(term), groups, term)
    inside = Body(known(arg), groups, term)
    offset = sum(b * s for b, s in zip(before, whole.strides, strict=True))
    strides = tuple(s * (i + 1) for s, i in zip(whole.strides, interior, strict=True))
    return (
        Piece(fill, fill.step("constant", term.dtype.name, (), value), whole),
        Piece(inside, inside.value(arg), Layout(offset, known(arg), strides)),
    )


def _update(term: Op, groups: Groups) -> Pieces:
    """A copy of all, then the slice over it."""
    (x, value), whole = term.args, row_major(known(term))
    outside, inside = Body(known(term), groups, term), Body(known(value), groups, term)
    starts, _, steps = term.attrs
    offset = sum(a * s for a, s in zip(starts, whole.strides, strict=True))
    strides = tuple(c * s for c, s in zip(steps, whole.strides, strict=True))
    store = Layout(offset if value.size else 0, known(value), strides)
    return Piece(outside, outside.value(x), whole), Piece(inside, inside.value(value), store)


def _on_diagonal(term: Op, groups: Groups) -> Pieces:
    """Zeros, then the diagonal over them."""
    arg, places, whole = term.args[0], term.attribute("places"), row_major(known(term))
    fill, inside = Body(known(term), groups, term), Body(known(arg), groups, term)
    each = ([s for p, s in zip(places, whole.strides, strict=True) if p == k] for k in range(arg.rank))
    store = Layout(0, known(arg), tuple(map(sum, each)))
    zero = fill.step("constant", term.dtype.name, (), Literal(0, term.dtype))
    return Piece(fill, zero, whole), Piece(inside, inside.value(arg), store)


def _insertion(term: Op, groups: Groups, calls: Call | list[Call]) -> Job:
    """The first operand, computed or copied into the memory of the result, and the calls that put something there."""
    body = Body(known(term), groups, term)
    piece = Piece(body, body.value(term.args[0]), row_major(known(term)))
    return Job(term, (piece,), _listed(calls))


def _listed(calls: Call | list[Call]) -> tuple[Call, ...]:
    return tuple(calls) if isinstance(calls, list) else (calls,)


def _dot(term: Op, groups: Groups) -> Call:
    a, b = all_in_memory(term.args, groups)
    (m, n), k = known(term), a.layout.shape[1]
    source = render_dot(term.dtype.name)
    return Call(source, (m, n, k, a, *a.layout.strides, b, *b.layout.strides, OUTPUT, n), loop_share(m, n * k / 2))


def _gather(term: Op, groups: Groups) -> Call:
    x, indices = all_plain(term.args, groups)
    axis, shape = term.attribute("axis"), x.layout.shape
    outer, inner, length = prod(shape[:axis]), prod(shape[axis + 1 :]), shape[axis]
    source = render_gather(term.dtype.name, indices.base.dtype.name)
    count = prod(indices.layout.shape)
    arguments = (outer, count, inner, length, x, length * inner, inner, indices, OUTPUT)
    return Call(source, arguments, loop_share(outer * count, 2 + inner / 2))


def _own_kernel(term: Op, groups: Groups) -> Call:
    """The kernel file of a third party's op."""
    source, sizes = rendered(term, groups.renderer.target)
    operands = all_plain(term.args, groups)
    elements = prod(known(term)) + sum(prod(x.layout.shape) for x in operands)
    share = groups.renderer.own_share(known(term), elements)
    return Call(source, (*sizes, *operands, OUTPUT), share)


def _random(term: Op, groups: Groups) -> Call:
    kind = term.definition.short
    source = render_random(kind, term.dtype.name)
    count = prod(known(term))
    arguments = (OUTPUT, count, "seed", "call", term.attribute("uid"), *ends_of_draws(term))
    return Call(source, arguments, loop_share(count, 4))


# What is computed piece by piece, and what in one call.
_IN_PIECES: dict[str, Callable[[Op, Groups], Pieces]] = {
    "semi.concat": _concat,
    "semi.pad": _pad,
    "semi.update": _update,
    "semi.copy": _copy,
    "semi.allocate": _allocate,
    "semi.on_diagonal": _on_diagonal,
}
_CALLS: dict[str, MakeCall] = CALLS | {
    "semi.dot": _dot,
    "semi.gather": _gather,
    "semi.fold": fold_call,
    UNPOOLING: unpooling_call,
    SPREAD: spread_call,
    "fused.attention": attention_call,
    "fused.mixture": attention_call,
    "semi.uniform": _random,
    "semi.normal": _random,
}

__all__ = ["OUTPUT", "Call", "Job", "Piece", "copy_job", "job_of"]
