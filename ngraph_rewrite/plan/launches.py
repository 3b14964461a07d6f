# SPDX-License-Identifier: Apache-2.0
"""Launches: each loop nest or library call with its arguments, whose addresses are symbolic until a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.collapsing import collapsed
from ngraph_rewrite.plan.fusion import is_storage_read, variable_of
from ngraph_rewrite.plan.jobs import OUTPUT, Job, Piece
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import Call, Ref, Scratch
from ngraph_rewrite.plan.scalar_programs import ScalarProgram
from ngraph_rewrite.plan.shapes import DTYPE_NAMES
from ngraph_rewrite.plan.shares import Grid, Share
from ngraph_rewrite.plan.spaces import Told
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType


class Work(NamedTuple):
    """One kernel launch: the rendered kernel and its arguments, the term it computes, and where that will lie.

    Attributes:
        share: What decides in how many chunks it runs.
        refs: Which of its arguments are no numbers yet.
        parts: The kernels that it calls.
        others: What else it computes, and where that will lie.
    """

    source: Source
    arguments: tuple[int | Ref, ...]
    term: Op
    stored: Ref
    share: Share | Grid = Share()
    refs: tuple[int, ...] = ()
    parts: tuple[Source, ...] = ()
    others: tuple[tuple[Op, Ref], ...] = ()

    @property
    def computed(self) -> tuple[Op, ...]:
        """All that it computes."""
        return (self.term, *(term for term, _ in self.others))


class Place(NamedTuple):
    """Where something lies at the first time of a loop, and by how many bytes it moves with each time."""

    ref: Ref
    step: int = 0


class Loop(NamedTuple):
    """Work that is done a number of times.

    Attributes:
        steps: Which of its arguments (numbered through all the work) move with each time, and by how many bytes.
        beside: Whether its work is loops that know nothing of each other: threads share them, and each has one whole.
        flag: Where a byte lies that says before each time whether to go on: then nobody knows the number of times, and
            `times` is a guess.
        limit: After how many times it ends even if its flag is true, if there is such a number.
        places: Where what its work names lies outside, by space and key, until that is written in the work instead.
    """

    times: int
    work: tuple[Work | Loop, ...]
    steps: tuple[tuple[int, int], ...]
    term: Op
    beside: bool = False
    flag: Ref | None = None
    limit: int | None = None
    places: Mapping[tuple[str, object], Place] | None = None

    @property
    def slots(self) -> int:
        """The number of arguments of all its work."""
        return sum(len(one.arguments) for one in kernels(self.work))

    @property
    def weight(self) -> int:
        """About how many nanoseconds all of it takes."""
        return self.times * weight(self.work)


def weight(work: Iterable[Work | Loop]) -> int:
    """About how many nanoseconds work takes in one thread."""
    return sum(one.weight if isinstance(one, Loop) else one.share.weight for one in work)


def kernels(work: Iterable[Work | Loop]) -> Iterator[Work]:
    """Every kernel launch, once, those of loops included."""
    return (one for one in _every(work) if isinstance(one, Work))


def loops_in(work: Iterable[Work | Loop]) -> Iterator[Loop]:
    """Every loop, those inside loops included."""
    return (one for one in _every(work) if isinstance(one, Loop))


def _every(work: Iterable[Work | Loop]) -> Iterator[Work | Loop]:
    """Work and loops, each loop before what is inside."""
    waiting = [iter(work)]
    while waiting:
        one = next(waiting[-1], None)
        if one is None:
            waiting.pop()
        else:
            yield one
            if isinstance(one, Loop):
                waiting.append(iter(one.work))


def launches(job: Job, home: Mapping[Op | Scratch, Ref]) -> list[Work]:
    """What has to be launched to do a job.

    Args:
        home: Where the terms lie that have memory of their own.
    """
    target = target_of(job, home)
    works = [nest(job, piece, home, target, job.term.type.dtype) for piece in job.pieces]
    return works + [call_work(job, call, home, target) for call in job.calls]


def call_work(job: Job, call: Call, home: Mapping[Op | Scratch, Ref], target: Ref) -> Work:
    """The launch of a library call."""
    arguments, refs = called(job, call, home, target)
    return Work(call.source, tuple(arguments), job.term, target, call.share, tuple(refs), call.parts)


def called(job: Job, call: Call, home: Mapping[Op | Scratch, Ref], target: Ref) -> tuple[list[Any], list[int]]:
    """The arguments of a library call, and which of them are no numbers yet."""
    arguments: list[Any] = list(call.arguments)
    refs = list(call.fixed)
    for place in range(len(arguments)) if call.places is None else call.places:
        value = arguments[place]
        if type(value) is not int:
            found = address(job, value, home) if type(value) is Load else argument(value, home, target)
            arguments[place] = found
            if type(found) is not int:
                refs.append(place)
    return arguments, refs


def nest(job: Job, piece: Piece, home: Mapping[Op | Scratch, Ref], target: Ref, dtype: DType) -> Work:
    """The launch of one loop nest, which stores to `target`."""
    body, value, store = piece
    places = [base_address(job, load.base, home) for load in body.loads]
    in_place = tuple([place == target for place in places])
    loads = tuple([(DTYPE_NAMES[base.type.dtype], layout) for base, layout in body.loads])
    program = ScalarProgram(body.shape, loads, tuple(body.steps), value, DTYPE_NAMES[dtype], store, in_place)
    source, sizes, layouts, (stored,), share, numbers, _ = collapsed(program, body.groups.renderer)
    arguments: list[int | Ref] = [*sizes]
    refs: list[int] = []
    for (base, _), place, layout in zip(body.loads, places, layouts, strict=True):
        strided(arguments, refs, place, layout, base.type.dtype.itemsize)
    strided(arguments, refs, target, stored, dtype.itemsize)
    arguments += numbers
    return Work(source, tuple(arguments), job.term, target, share, tuple(refs))


def strided(arguments: list[int | Ref], refs: list[int], place: Ref, told: Told, itemsize: int) -> None:
    """Add what a kernel takes for an operand: where its first element lies, and the strides it does not know."""
    offset, strides = told
    refs.append(len(arguments))
    arguments.append(place.moved(offset * itemsize) if offset else place)
    arguments += strides


def target_of(job: Job, home: Mapping[Op | Scratch, Ref]) -> Ref:
    """Where a job stores."""
    if isinstance(job.destination, int):
        return Ref("result", job.destination)
    if job.destination is not None:
        return Ref("storage", job.destination.args[0])
    return home[job.term]


def argument(value: object, home: Mapping[Op | Scratch, Ref], target: Ref) -> int | Ref:
    """What stands for an argument of a call that is no operand: a number, or an address to be filled in."""
    if isinstance(value, int | Ref):
        return value
    if isinstance(value, Scratch):
        return home[value]
    if isinstance(value, Source):
        return Ref("kernel", value)
    if value == OUTPUT:
        return target
    return _symbol(value) if isinstance(value, str) else Ref("stream", value)


@lru_cache(maxsize=64)
def _symbol(text: str) -> Ref:
    """What a call names by a word, or by a word and an index."""
    space, _, key = text.partition(" ")
    return Ref(space, key)


def address(job: Job, load: Load, home: Mapping[Op | Scratch, Ref]) -> Ref:
    """Where the first element of an operand lies."""
    begin, offset = base_address(job, load.base, home), load.layout.offset
    return begin.moved(offset * load.base.type.dtype.itemsize) if offset else begin


def base_address(job: Job, base: Op, home: Mapping[Op | Scratch, Ref]) -> Ref:
    """Where the memory begins in which an operand lies."""
    found = home.get(base)
    if found is not None and not (job.raw and base is job.term):
        return found
    if is_storage_read(base):
        return Ref("storage", variable_of(base))
    return Ref("constant" if base.definition.name == "core.constant" else "input", base)
