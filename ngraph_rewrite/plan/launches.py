# SPDX-License-Identifier: Apache-2.0
"""Launches: each loop nest or library call with its arguments, whose addresses are symbolic until a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ngraph_rewrite.codegen.copy import render_copy
from ngraph_rewrite.codegen.loops import MapNest, render_map, render_reduce
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import is_storage_read, variable_of
from ngraph_rewrite.plan.jobs import OUTPUT, Job, Piece
from ngraph_rewrite.plan.nests import Load, map_nest, reduce_nest
from ngraph_rewrite.plan.operands import Scratch
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


class Work(NamedTuple):
    """One kernel launch: the rendered kernel and its arguments, the term it computes, and where that will lie."""

    source: Source
    arguments: tuple[int | Ref, ...]
    term: Op
    stored: Ref


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
    works = [nest(job, piece, home, _target(job, home), job.term.dtype) for piece in job.pieces]
    for call in job.calls:
        arguments = tuple(_argument(job, a, home) for a in call.arguments)
        works.append(Work(call.source, arguments, job.term, _target(job, home)))
    return works


def nest(job: Job, piece: Piece, home: Mapping[Op | Scratch, Ref], target: Ref, dtype: DType) -> Work:
    """The launch of one loop nest, which stores to `target`."""
    if piece.kind is not None:
        made = reduce_nest(piece.body, piece.kind, piece.value, piece.axes, piece.store, dtype.name)
        source = render_reduce(made.nest)  # type: ignore[arg-type]
    else:
        same = [_address(job, x, home) == target for x in piece.body.loads]
        made = map_nest(piece.body, piece.value, piece.store, dtype.name, same)
        source = _rendered(made.nest)  # type: ignore[arg-type]
    arguments: list[int | Ref] = list(made.sizes)
    for load in made.loads:
        arguments += _strided(address(job, load, home), load.layout)
    first = target._replace(offset=target.offset + made.store.offset * dtype.itemsize)
    arguments += _strided(first, made.store)
    return Work(source, tuple(arguments), job.term, target)


def _rendered(nest: MapNest) -> Source:
    """The kernel of a map; one that only moves elements goes by tiles where rows become columns."""
    if len(nest.loads) == 1 and not nest.steps and nest.buffer_of[0] != nest.buffer_of[1]:
        source, target = nest.operands
        if source.dtype == target.dtype:
            return render_copy(source, target)
    return render_map(nest)


def _target(job: Job, home: Mapping[Op | Scratch, Ref]) -> Ref:
    if isinstance(job.destination, int):
        return Ref("result", job.destination)
    if job.destination is not None:
        return Ref("storage", job.destination.args[0])
    return home[job.term]


def _argument(job: Job, value: object, home: Mapping[Op | Scratch, Ref]) -> int | Ref:
    if isinstance(value, int):
        return value
    if isinstance(value, Load):
        return address(job, value, home)
    if isinstance(value, Scratch):
        return home[value]
    if value == OUTPUT:
        return _target(job, home)
    if isinstance(value, str):
        space, _, index = value.partition(" ")
        return Ref(space, index)
    return Ref("stream", value)


def address(job: Job, load: Load, home: Mapping[Op | Scratch, Ref]) -> Ref:
    """Where the first element of an operand lies."""
    base = _address(job, load, home)
    return base._replace(offset=base.offset + load.layout.offset * load.base.dtype.itemsize)


def _address(job: Job, load: Load, home: Mapping[Op | Scratch, Ref]) -> Ref:
    base = load.base
    if base in home and not (job.raw and base is job.term):
        return home[base]
    if is_storage_read(base):
        return Ref("storage", variable_of(base))
    return Ref("constant" if base.definition.name == "core.constant" else "input", base)


def _strided(address: int | Ref, layout: Layout) -> list[int | Ref]:
    return [address, *(s for s in layout.strides if s not in (0, 1))]
