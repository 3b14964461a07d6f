# SPDX-License-Identifier: Apache-2.0
"""Launches: each loop nest or library call with its arguments, whose addresses are symbolic until a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ngraph_rewrite.codegen.copy import render_copy
from ngraph_rewrite.codegen.loops import MapNest, render_map, render_reduce
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import is_storage_read, variable_of
from ngraph_rewrite.plan.jobs import OUTPUT, Job, Piece
from ngraph_rewrite.plan.nests import Load, map_nest, reduce_nest
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.terms.op import Op


class Ref(NamedTuple):
    """An address to be filled in: `offset` bytes into what `key` names in a space.

    Spaces: arena, input (a placeholder), storage (a variable), result, constant, stream (of a draw), seed,
    call (the address of the call counter), gemm (of a dtype).
    """

    space: str
    key: object
    offset: int = 0


class Work(NamedTuple):
    """One kernel launch: the rendered kernel and its arguments, and the term it computes."""

    source: Source
    arguments: tuple[int | Ref, ...]
    term: Op


def launches(job: Job, home: Mapping[Op, Ref]) -> list[Work]:
    """What has to be launched to do a job.

    Args:
        home: Where the terms lie that have memory of their own.
    """
    works = [_nest(job, piece, home) for piece in job.pieces]
    for call in job.calls:
        works.append(Work(call.source, tuple(_argument(job, a, home) for a in call.arguments), job.term))
    return works


def _nest(job: Job, piece: Piece, home: Mapping[Op, Ref]) -> Work:
    dtype = job.term.dtype.name
    if piece.kind is not None:
        nest = reduce_nest(piece.body, piece.kind, piece.value, piece.axes, piece.store, dtype)
        source = render_reduce(nest.nest)  # type: ignore[arg-type]
    else:
        target = _target(job, home)
        same = [_address(job, x, home) == target for x in piece.body.loads]
        nest = map_nest(piece.body, piece.value, piece.store, dtype, same)
        source = _rendered(nest.nest)  # type: ignore[arg-type]
    arguments: list[int | Ref] = list(nest.sizes)
    for load in nest.loads:
        arguments += _strided(_argument(job, load, home), load.layout)
    itemsize = job.term.dtype.itemsize
    target = _target(job, home)
    target = target._replace(offset=target.offset + nest.store.offset * itemsize)
    arguments += _strided(target, nest.store)
    return Work(source, tuple(arguments), job.term)


def _rendered(nest: MapNest) -> Source:
    """The kernel of a map; one that only moves elements goes by tiles where rows become columns."""
    if len(nest.loads) == 1 and not nest.steps and nest.buffer_of[0] != nest.buffer_of[1]:
        source, target = nest.operands
        if source.dtype == target.dtype:
            return render_copy(source, target)
    return render_map(nest)


def _target(job: Job, home: Mapping[Op, Ref]) -> Ref:
    if isinstance(job.destination, int):
        return Ref("result", job.destination)
    if job.destination is not None:
        return Ref("storage", job.destination.args[0])
    return home[job.term]


def _argument(job: Job, value: object, home: Mapping[Op, Ref]) -> int | Ref:
    if isinstance(value, int):
        return value
    if isinstance(value, Load):
        address = _address(job, value, home)
        return address._replace(offset=address.offset + value.layout.offset * value.base.dtype.itemsize)
    if value == OUTPUT:
        return _target(job, home)
    if isinstance(value, str):
        space, _, index = value.partition(" ")
        return Ref(space, index)
    return Ref("stream", value)


def _address(job: Job, load: Load, home: Mapping[Op, Ref]) -> Ref:
    base = load.base
    if base in home and not (job.raw and base is job.term):
        return home[base]
    if is_storage_read(base):
        return Ref("storage", variable_of(base))
    return Ref("constant" if base.definition.name == "core.constant" else "input", base)


def _strided(address: int | Ref, layout: Layout) -> list[int | Ref]:
    return [address, *(s for s in layout.strides if s not in (0, 1))]
