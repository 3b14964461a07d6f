# SPDX-License-Identifier: Apache-2.0
"""Launches: each loop nest or library call with its arguments, whose addresses are symbolic until a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.collapsing import ScalarProgram, collapsed
from ngraph_rewrite.plan.fusion import is_storage_read, variable_of
from ngraph_rewrite.plan.jobs import OUTPUT, Job, Piece
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import Scratch
from ngraph_rewrite.plan.shapes import DTYPE_NAMES
from ngraph_rewrite.plan.shares import Share
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType


class Ref(NamedTuple):
    """An address to be filled in: `offset` bytes into what `key` names in a space.

    Spaces: arena, input (a placeholder), storage (a variable), result, constant, stream (of a draw), seed,
    call (the address of the call counter), gemm (of a dtype).
    """

    space: str
    key: object
    offset: int = 0

    def moved(self, by: int) -> Ref:
        """The address some bytes further on."""
        return Ref(self.space, self.key, self.offset + by) if by else self


class Work(NamedTuple):
    """One kernel launch: the rendered kernel and its arguments, the term it computes, and where that will lie.

    Attributes:
        share: What decides in how many chunks it runs.
    """

    source: Source
    arguments: tuple[int | Ref, ...]
    term: Op
    stored: Ref
    share: Share = Share()


class Loop(NamedTuple):
    """Work that is done a number of times.

    Attributes:
        steps: Which of its arguments (numbered through all the work) move with each time, and by how many bytes.
    """

    times: int
    work: tuple[Work | Loop, ...]
    steps: tuple[tuple[int, int], ...]
    term: Op

    @property
    def slots(self) -> int:
        """The number of arguments of all its work."""
        return sum(len(one.arguments) for one in kernels(self.work))


def kernels(work: Iterable[Work | Loop]) -> Iterator[Work]:
    """Every kernel launch, once, those of loops included."""
    for one in work:
        if isinstance(one, Loop):
            yield from kernels(one.work)
        else:
            yield one


def loops_in(work: Iterable[Work | Loop]) -> Iterator[Loop]:
    """Every loop, those inside loops included."""
    for one in work:
        if isinstance(one, Loop):
            yield one
            yield from loops_in(one.work)


def launches(job: Job, home: Mapping[Op | Scratch, Ref]) -> list[Work]:
    """What has to be launched to do a job.

    Args:
        home: Where the terms lie that have memory of their own.
    """
    target = _target(job, home)
    works = [nest(job, piece, home, target, job.term.type.dtype) for piece in job.pieces]
    for call in job.calls:
        arguments = tuple([a if type(a) is int else _argument(job, a, home, target) for a in call.arguments])
        works.append(Work(call.source, arguments, job.term, target, call.share))
    return works


def nest(job: Job, piece: Piece, home: Mapping[Op | Scratch, Ref], target: Ref, dtype: DType) -> Work:
    """The launch of one loop nest, which stores to `target`."""
    body, value, store, kind, axes = piece
    places = [_address(job, load, home) for load in body.loads]
    in_place = tuple([place == target for place in places]) if kind is None else ()
    loads = tuple([(DTYPE_NAMES[base.type.dtype], layout) for base, layout in body.loads])
    program = ScalarProgram(
        body.shape, loads, tuple(body.steps), value, DTYPE_NAMES[dtype], store, kind, axes, in_place
    )
    source, sizes, layouts, stored, share = collapsed(program)
    arguments: list[int | Ref] = [*sizes]
    for (base, _), place, layout in zip(body.loads, places, layouts, strict=True):
        _strided(arguments, place, layout, base.type.dtype)
    _strided(arguments, target, stored, dtype)
    return Work(source, tuple(arguments), job.term, target, share)


def _strided(arguments: list[int | Ref], place: Ref, layout: Layout, dtype: DType) -> None:
    """Add what a kernel takes for an operand: where its first element lies, and the strides it does not know."""
    offset, _, strides = layout
    arguments.append(place.moved(offset * dtype.itemsize) if offset else place)
    arguments += [stride for stride in strides if stride != 0 and stride != 1]


def _target(job: Job, home: Mapping[Op | Scratch, Ref]) -> Ref:
    if isinstance(job.destination, int):
        return Ref("result", job.destination)
    if job.destination is not None:
        return Ref("storage", job.destination.args[0])
    return home[job.term]


def _argument(job: Job, value: object, home: Mapping[Op | Scratch, Ref], target: Ref) -> int | Ref:
    if isinstance(value, int):
        return value
    if isinstance(value, Load):
        return address(job, value, home)
    if isinstance(value, Scratch):
        return home[value]
    if value == OUTPUT:
        return target
    return _symbol(value) if isinstance(value, str) else Ref("stream", value)


@lru_cache(maxsize=64)
def _symbol(text: str) -> Ref:
    """What a call names by a word, or by a word and an index."""
    space, _, index = text.partition(" ")
    return Ref(space, index)


def address(job: Job, load: Load, home: Mapping[Op | Scratch, Ref]) -> Ref:
    """Where the first element of an operand lies."""
    begin, offset = _address(job, load, home), load.layout.offset
    return begin.moved(offset * load.base.type.dtype.itemsize) if offset else begin


def _address(job: Job, load: Load, home: Mapping[Op | Scratch, Ref]) -> Ref:
    base = load.base
    found = home.get(base)
    if found is not None and not (job.raw and base is job.term):
        return found
    if is_storage_read(base):
        return Ref("storage", variable_of(base))
    return Ref("constant" if base.definition.name == "core.constant" else "input", base)
