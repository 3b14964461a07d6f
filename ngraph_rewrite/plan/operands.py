# SPDX-License-Identifier: Apache-2.0
"""Operands of library kernels: a call names memory by the term it belongs to, and the layout it has there."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import Groups, is_scalar_constant
from ngraph_rewrite.plan.nests import CopyFirst, Load, located
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import Grid, Share
from ngraph_rewrite.plan.views import is_view
from ngraph_rewrite.terms.op import Op

OUTPUT = "output"


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory a call uses while it runs.

    Attributes:
        bytes: How much of it one chunk needs.
        chunks: How many chunks there are that must not have the same if they run at once; 1 if all of them share it.
    """

    bytes: int
    chunks: int = 1

    def size(self, threads: int | None = None) -> int:
        """The bytes of all, if so many threads run chunks, or any number: a thread is told a number below both."""
        return self.bytes * (self.chunks if threads is None else min(self.chunks, threads))


class Ref(NamedTuple):
    """An address to be filled in: `offset` bytes into what `key` names in a space.

    Spaces: arena, input (a placeholder), storage (a variable), result, constant, stream (of a draw), seed,
    call (the address of the call counter), product (what the processor decides of those of a dtype), kernel (a source).
    """

    space: str
    key: object
    offset: int = 0

    def moved(self, by: int) -> Ref:
        """The address some bytes further on."""
        return Ref(self.space, self.key, self.offset + by) if by else self


class Call(NamedTuple):
    """One library kernel: its source and its arguments; a `Load`, a `Scratch` or a symbol stands for an address.

    Attributes:
        share: How it may be shared out.
        scratch: The memory it needs beside its operands: all of its arguments that are such, but for those of a call
            before it that does the same job.
        places: Which of its arguments may stand for addresses; all, if it is None.
        fixed: Which are a `Ref` already, beside these.
        given: What it computes, for those who group it with other work.
        parts: The kernels that it calls, which are arguments.
    """

    source: Source
    arguments: tuple[object, ...]
    share: Share | Grid
    scratch: tuple[Scratch, ...] = ()
    places: tuple[int, ...] | None = None
    fixed: tuple[int, ...] = ()
    given: object = None
    parts: tuple[Source, ...] = ()

    @property
    def loads(self) -> list[Load]:
        """The operands among its arguments."""
        given, places = self.arguments, self.places
        return [a for a in (given if places is None else [given[i] for i in places]) if type(a) is Load]


def in_memory(term: Op, groups: Groups) -> Load:
    """As `resolve`, for a reader that takes addresses only: a number has to be written down first."""
    return together([placed(term, groups)])[0]


def placed(term: Op, groups: Groups) -> Load | Op:
    """As `in_memory`, for those who read more: what has to be copied first, where that is needed."""
    found = located(term, groups)
    if isinstance(found, Load) and is_scalar_constant(found[0]) and groups.group_of.get(found[0]) is not found[0]:
        return term
    return found


def together(found: Iterable[Load | Op]) -> list[Load]:
    """Operands as they were found; the copies that they need are asked for at once, as each asking costs an attempt.

    Raises:
        CopyFirst: for all that need one, but not for views of what is copied, which may then be right as they are.
    """
    loads: list[Load] = []
    needs: list[Op] = []
    for one in found:
        if isinstance(one, Load):
            loads.append(one)
        elif not is_seen(one, needs):
            needs.append(one)
    if needs:
        raise CopyFirst(*needs)
    return loads


def is_seen(term: Op, others: Container[Op]) -> bool:
    """Whether a term is one of some others, or a view of one."""
    while is_view(term) and term not in others:
        term = term.args[0]
    return term in others


def all_in_memory(terms: Iterable[Op], groups: Groups) -> list[Load]:
    """Several operands, as `in_memory` gives them."""
    return together([placed(term, groups) for term in terms])


def all_plain(terms: Iterable[Op], groups: Groups) -> list[Load]:
    """Several operands, as `plain` gives them."""
    return together([placed_plainly(term, groups) for term in terms])


def plain(term: Op, groups: Groups) -> Load:
    """As `in_memory`, with the elements one after the other in row-major order."""
    return together([placed_plainly(term, groups)])[0]


def placed_plainly(term: Op, groups: Groups) -> Load | Op:
    """As `plain`, for those who read more: what has to be copied first, where that is needed."""
    found = placed(term, groups)
    return term if isinstance(found, Load) and not found.layout.is_contiguous else found


__all__ = [
    "OUTPUT",
    "Call",
    "Ref",
    "Scratch",
    "all_in_memory",
    "all_plain",
    "in_memory",
    "known",
    "placed",
    "placed_plainly",
    "plain",
    "together",
]
