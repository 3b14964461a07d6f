# SPDX-License-Identifier: Apache-2.0
"""A job is the work of one group: pieces of loop nest, or one library kernel, with what it reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ngraph_rewrite.codegen.library import render_dot, render_gather, render_gemm, render_random
from ngraph_rewrite.codegen.opkernels import rendered
from ngraph_rewrite.plan.fusion import REDUCTIONS, Groups, is_elementwise, is_leaf
from ngraph_rewrite.plan.library_calls import ADDITIONS, CALLS
from ngraph_rewrite.plan.nests import Body, Load, Value
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, in_memory, known, matrix, plain, resolve
from ngraph_rewrite.plan.views import IDENTITIES, Layout, is_view, row_major
from ngraph_rewrite.plan.windows import fold_call
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op


@dataclass(frozen=True)
class Piece:
    """One loop nest: a body, the value to store, and where; for a reduction, its kind and axes."""

    body: Body
    value: Value
    store: Layout
    kind: str | None = None
    axes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Job:
    """What computes one term into memory of its own (or, for a write or a result, copies it there).

    Attributes:
        raw: Whether it copies a leaf, whose copy others then read.
        destination: None for the term's own buffer, else the write or the number of the result.
    """

    term: Op
    pieces: tuple[Piece, ...] = ()
    calls: tuple[Call, ...] = ()
    raw: bool = False
    destination: Op | int | None = None

    @property
    def is_one_map(self) -> bool:
        """Whether it is one elementwise loop nest."""
        return len(self.pieces) == 1 and self.pieces[0].kind is None and not self.calls

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The terms whose memory it fills."""
        return (self.term,)

    @property
    def scratch(self) -> Iterator[Scratch]:
        """The memory it needs beside its operands."""
        return (s for call in self.calls for s in call.scratch)

    def loads(self) -> Iterator[Load]:
        """Every operand."""
        for piece in self.pieces:
            yield from piece.body.loads
        for call in self.calls:
            yield from (a for a in call.arguments if isinstance(a, Load))


def job_of(term: Op, groups: Groups) -> Job:
    """The work that computes the root of a group.

    Raises:
        CopyFirst: if a view in it needs its argument in memory.
        KernelError: if no kernel computes its op.
    """
    name = term.definition.name
    if name in REDUCTIONS:
        return _reduction(term, groups)
    if name == "semi.concat":
        return _concat(term, groups)
    if name == "semi.pad":
        return _pad(term, groups)
    if name == "semi.update":
        return _update(term, groups)
    if name == "semi.copy":
        return _copy(term, groups)
    if name == "semi.allocate":
        return _allocate(term, groups)
    if name == "semi.on_diagonal":
        return _on_diagonal(term, groups)
    library = CALLS | {"cpu.gemm": _gemm, "semi.dot": _dot, "semi.gather": _gather, "semi.fold": fold_call}
    if name in library:
        return Job(term, calls=(library[name](term, groups),))
    if name in ADDITIONS:
        return _addition(term, groups)
    if name in ("semi.uniform", "semi.normal"):
        return Job(term, calls=(_random(term),))
    if not is_elementwise(term) and not is_view(term) and not is_leaf(term):
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


def _reduction(term: Op, groups: Groups) -> Job:
    arg = term.args[0]
    body = Body(known(arg), groups, term)
    value = body.value(arg)
    piece = Piece(body, value, row_major(known(term)), term.definition.short, term.attribute("axes"))
    return Job(term, (piece,))


def _copy(term: Op, groups: Groups) -> Job:
    body = Body(known(term), groups, term)
    return Job(term, (Piece(body, body.value(term.args[0]), row_major(known(term))),))


def _allocate(term: Op, groups: Groups) -> Job:
    body = Body(known(term), groups, term)
    zero = body.step("constant", term.dtype.name, (), Literal(0, term.dtype))
    return Job(term, (Piece(body, zero, row_major(known(term))),))


def _concat(term: Op, groups: Groups) -> Job:
    axis, whole = term.attribute("axis"), row_major(known(term))
    pieces, start = [], 0
    for arg in term.args:
        body = Body(known(arg), groups, term)
        store = Layout(start * whole.strides[axis], known(arg), whole.strides)
        pieces.append(Piece(body, body.value(arg), store))
        start += known(arg)[axis]
    return Job(term, tuple(pieces))


def _pad(term: Op, groups: Groups) -> Job:
    before, _, interior, value = term.attrs
    arg, whole = term.args[0], row_major(known(term))
    fill = Body(known(term), groups, term)
    inside = Body(known(arg), groups, term)
    offset = sum(b * s for b, s in zip(before, whole.strides, strict=True))
    strides = tuple(s * (i + 1) for s, i in zip(whole.strides, interior, strict=True))
    return Job(
        term,
        (
            Piece(fill, fill.step("constant", term.dtype.name, (), value), whole),
            Piece(inside, inside.value(arg), Layout(offset, known(arg), strides)),
        ),
    )


def _update(term: Op, groups: Groups) -> Job:
    """A copy of all, then the slice over it."""
    (x, value), whole = term.args, row_major(known(term))
    outside, inside = Body(known(term), groups, term), Body(known(value), groups, term)
    starts, _, steps = term.attrs
    offset = sum(a * s for a, s in zip(starts, whole.strides, strict=True))
    strides = tuple(c * s for c, s in zip(steps, whole.strides, strict=True))
    store = Layout(offset if value.size else 0, known(value), strides)
    return Job(term, (Piece(outside, outside.value(x), whole), Piece(inside, inside.value(value), store)))


def _on_diagonal(term: Op, groups: Groups) -> Job:
    """Zeros, then the diagonal over them."""
    arg, places, whole = term.args[0], term.attribute("places"), row_major(known(term))
    fill, inside = Body(known(term), groups, term), Body(known(arg), groups, term)
    each = ([s for p, s in zip(places, whole.strides, strict=True) if p == k] for k in range(arg.rank))
    store = Layout(0, known(arg), tuple(map(sum, each)))
    zero = fill.step("constant", term.dtype.name, (), 0)
    return Job(term, (Piece(fill, zero, whole), Piece(inside, inside.value(arg), store)))


def _addition(term: Op, groups: Groups) -> Job:
    """The first operand, computed or copied into the memory of the result, and the call that adds to it."""
    body = Body(known(term), groups, term)
    piece = Piece(body, body.value(term.args[0]), row_major(known(term)))
    return Job(term, (piece,), (ADDITIONS[term.definition.name](term, groups),))


def _gemm(term: Op, groups: Groups) -> Call:
    m, n = known(term)
    k = known(term.args[0])[0 if term.attribute("ta") else 1]
    a, lda, ta = matrix(term.args[0], term.attribute("ta"), groups)
    b, ldb, tb = matrix(term.args[1], term.attribute("tb"), groups)
    source = render_gemm(term.dtype.name, ta, tb)
    return Call(source, (m, n, k, a, lda, b, ldb, OUTPUT, max(n, 1), f"gemm {term.dtype.name}"))


def _dot(term: Op, groups: Groups) -> Call:
    a, b = (in_memory(arg, groups) for arg in term.args)
    (m, n), k = known(term), a.layout.shape[1]
    source = render_dot(term.dtype.name)
    return Call(source, (m, n, k, a, *a.layout.strides, b, *b.layout.strides, OUTPUT, n))


def _gather(term: Op, groups: Groups) -> Call:
    x, indices = (plain(arg, groups) for arg in term.args)
    axis, shape = term.attribute("axis"), x.layout.shape
    outer, inner, length = prod(shape[:axis]), prod(shape[axis + 1 :]), shape[axis]
    source = render_gather(term.dtype.name, indices.base.dtype.name)
    count = prod(indices.layout.shape)
    return Call(source, (outer, count, inner, length, x, length * inner, inner, indices, OUTPUT))


def _own_kernel(term: Op, groups: Groups) -> Call:
    """The kernel file of a third party's op."""
    source, sizes = rendered(term)
    return Call(source, (*sizes, *(plain(arg, groups) for arg in term.args), OUTPUT))


def _random(term: Op) -> Call:
    kind = term.definition.short
    first, second = ("low", "high") if kind == "uniform" else ("loc", "scale")
    source = render_random(kind, term.dtype.name)
    bits = [struct.unpack("<q", struct.pack("<d", term.attribute(a).scalar))[0] for a in (first, second)]
    return Call(source, (OUTPUT, prod(known(term)), "seed", "call", term.attribute("uid"), *bits))


__all__ = ["OUTPUT", "Call", "Job", "Piece", "copy_job", "in_memory", "job_of", "known", "resolve"]
