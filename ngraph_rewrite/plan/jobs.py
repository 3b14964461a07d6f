# SPDX-License-Identifier: Apache-2.0
"""A job is the work of one group: pieces of loop nest, or one library kernel, with what it reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ngraph_rewrite.codegen.library import render_dot, render_gather, render_gemm, render_random
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import REDUCTIONS, Groups, is_leaf
from ngraph_rewrite.plan.nests import Body, CopyFirst, Load, Value
from ngraph_rewrite.plan.views import IDENTITIES, Layout, is_view, row_major, view
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
class Call:
    """One library kernel: its source and its arguments; a `Load` or a symbol stands for an address."""

    source: Source
    arguments: tuple[object, ...]


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

    def loads(self) -> Iterator[Load]:
        """Every operand."""
        for piece in self.pieces:
            yield from piece.body.loads
        for call in self.calls:
            yield from (a for a in call.arguments if isinstance(a, Load))


OUTPUT = "output"


def job_of(term: Op, groups: Groups) -> Job:
    """The work that computes the root of a group.

    Raises:
        CopyFirst: if a view in it needs its argument in memory.
    """
    name = term.definition.name
    if name in REDUCTIONS:
        return _reduction(term, groups)
    if name == "semi.concat":
        return _concat(term, groups)
    if name == "semi.pad":
        return _pad(term, groups)
    library = {"cpu.gemm": _gemm, "semi.dot": _dot, "semi.gather": _gather}
    if name in library:
        return Job(term, calls=(library[name](term, groups),))
    if name in ("semi.uniform", "semi.normal"):
        return Job(term, calls=(_random(term),))
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


def known(term: Op) -> tuple[int, ...]:
    """The shape of a term all of whose lengths are bound."""
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]


def resolve(term: Op, groups: Groups) -> Load:
    """The memory a term lies in and the layout of its elements there.

    Raises:
        CopyFirst: if a view on the way needs its argument in memory.
    """
    path = []
    while is_view(term) and groups.group_of.get(term) is not term:
        path.append(term)
        term = term.args[0]
    layout = row_major(known(term))
    for step in reversed(path):
        seen = view(step, layout)
        if seen is None:
            raise CopyFirst(step.args[0])
        layout = seen
    return Load(term, layout)


def in_memory(term: Op, groups: Groups) -> Load:
    """As `resolve`, for a reader that takes addresses only: a number has to be written down first."""
    load = resolve(term, groups)
    if load.base.definition.name == "core.constant" and groups.group_of.get(load.base) is not load.base:
        if load.base.attrs[0].scalar is not None:
            raise CopyFirst(term)
    return load


def _reduction(term: Op, groups: Groups) -> Job:
    arg = term.args[0]
    body = Body(known(arg), groups, term)
    value = body.value(arg)
    piece = Piece(body, value, row_major(known(term)), term.definition.short, term.attribute("axes"))
    return Job(term, (piece,))


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


def _gemm(term: Op, groups: Groups) -> Call:
    m, n = known(term)
    k = known(term.args[0])[0 if term.attribute("ta") else 1]
    a, lda, ta = _matrix(term.args[0], term.attribute("ta"), groups)
    b, ldb, tb = _matrix(term.args[1], term.attribute("tb"), groups)
    source = render_gemm(term.dtype.name, ta, tb)
    return Call(source, (m, n, k, a, lda, b, ldb, OUTPUT, max(n, 1), f"gemm {term.dtype.name}"))


def _matrix(term: Op, transposed: bool, groups: Groups) -> tuple[Load, int, bool]:
    """A matrix as BLAS takes it: rows or columns of unit stride, and the stride between them."""
    load = in_memory(term, groups)
    (rows, columns), (down, along) = load.layout.shape, load.layout.strides
    if (along == 1 or columns <= 1) and (down >= columns or rows <= 1):
        return load, max(down if rows > 1 else columns, 1), transposed
    if (down == 1 or rows <= 1) and (along >= rows or columns <= 1):
        return load, max(along if columns > 1 else rows, 1), not transposed
    raise CopyFirst(term)


def _dot(term: Op, groups: Groups) -> Call:
    a, b = (in_memory(arg, groups) for arg in term.args)
    (m, n), k = known(term), a.layout.shape[1]
    source = render_dot(term.dtype.name)
    return Call(source, (m, n, k, a, *a.layout.strides, b, *b.layout.strides, OUTPUT, n))


def _gather(term: Op, groups: Groups) -> Call:
    x, indices = (_plain(arg, groups) for arg in term.args)
    axis, shape = term.attribute("axis"), x.layout.shape
    outer, inner, length = prod(shape[:axis]), prod(shape[axis + 1 :]), shape[axis]
    source = render_gather(term.dtype.name, indices.base.dtype.name)
    count = prod(indices.layout.shape)
    return Call(source, (outer, count, inner, length, x, length * inner, inner, indices, OUTPUT))


def _plain(term: Op, groups: Groups) -> Load:
    load = in_memory(term, groups)
    if not load.layout.is_contiguous:
        raise CopyFirst(term)
    return load


def _random(term: Op) -> Call:
    kind = term.definition.short
    first, second = ("low", "high") if kind == "uniform" else ("loc", "scale")
    source = render_random(kind, term.dtype.name)
    bits = [struct.unpack("<q", struct.pack("<d", term.attribute(a).scalar))[0] for a in (first, second)]
    return Call(source, (OUTPUT, prod(known(term)), "seed", "call", term.attribute("uid"), *bits))
