# SPDX-License-Identifier: Apache-2.0
"""Operands of library kernels: a call names memory by the term it belongs to, and the layout it has there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.views import is_view, row_major, view
from ngraph_rewrite.terms.op import Op

OUTPUT = "output"


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory a call uses while it runs."""

    bytes: int


@dataclass(frozen=True)
class Call:
    """One library kernel: its source and its arguments; a `Load`, a `Scratch` or a symbol stands for an address."""

    source: Source
    arguments: tuple[object, ...]

    @property
    def scratch(self) -> Iterator[Scratch]:
        """The memory it needs beside its operands."""
        return (a for a in self.arguments if isinstance(a, Scratch))


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


def matrix(term: Op, transposed: bool, groups: Groups) -> tuple[Load, int, bool]:
    """The last two axes as BLAS takes a matrix: rows or columns of unit stride, the stride between them, a flag.

    Raises:
        CopyFirst: if neither its rows nor its columns have unit stride.
    """
    load = in_memory(term, groups)
    (rows, columns), (down, along) = load.layout.shape[-2:], load.layout.strides[-2:]
    if (along == 1 or columns <= 1) and (down >= columns or rows <= 1):
        return load, max(down if rows > 1 else columns, 1), transposed
    if (down == 1 or rows <= 1) and (along >= rows or columns <= 1):
        return load, max(along if columns > 1 else rows, 1), not transposed
    raise CopyFirst(term)


def plain(term: Op, groups: Groups) -> Load:
    """As `in_memory`, with the elements one after the other in row-major order."""
    load = in_memory(term, groups)
    if not load.layout.is_contiguous:
        raise CopyFirst(term)
    return load
