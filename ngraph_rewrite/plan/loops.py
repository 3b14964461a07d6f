# SPDX-License-Identifier: Apache-2.0
"""A loop as a job: its body's kernels run once per step, and the addresses of slices move on by a slice.

The body has a plan of its own, made once, however many steps there are. Its states are the memory of the final
states, its results the rows of the stacked outputs, its arena a part of the arena around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.closing import LoopBody
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job, Piece
from ngraph_rewrite.plan.launches import Loop, Work, address, nest
from ngraph_rewrite.plan.memory import ALIGNMENT
from ngraph_rewrite.plan.nests import Body, CopyFirst, Load
from ngraph_rewrite.plan.operands import Ref, Scratch, all_plain, in_memory, known
from ngraph_rewrite.plan.shares import shares_of_step
from ngraph_rewrite.plan.views import row_major
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType

Home = Mapping[Op | Scratch, Ref]


class _Place(NamedTuple):
    """Where something lies in the first step, and by how many bytes it moves with each step."""

    ref: Ref
    step: int = 0


@dataclass(eq=False)
class LoopJob(Job):
    """The job of a loop.

    Attributes:
        work: The kernels of a step.
        parts: The terms that read its results, by number.
        sequences, captured: What the inputs of the body are outside.
        workspace: The memory of a step, and of states that nothing else reads.
        hidden: Where in the workspace those states lie.
    """

    body: LoopBody | None = None
    work: tuple[Work | Loop, ...] = ()
    parts: Mapping[int, Op] | None = None
    sequences: tuple[Load, ...] = ()
    captured: tuple[Load, ...] = ()
    workspace: Scratch | None = None
    hidden: Mapping[int, int] | None = None

    @property
    def is_one_map(self) -> bool:
        """It is none: what it reads it reads more than once."""
        return False

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The terms whose memory it fills."""
        assert self.parts is not None
        return tuple(self.parts.values())

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        """The memory it needs beside its operands."""
        assert self.workspace is not None
        return (self.workspace,)

    def operands(self) -> list[Load]:
        """What it reads, worked out."""
        return [*super().operands(), *self.sequences, *self.captured]


def loop_job(term: Op, groups: Groups, parts: Mapping[int, Op], work: Sequence[Work | Loop], arena: int) -> LoopJob:
    """The job of a loop whose body does `work` in an arena of this size.

    Args:
        parts: The terms that are parts of the loop's tuple, by number.

    Raises:
        CopyFirst: if an operand has to be in memory in another way.
    """
    body: LoopBody = term.attrs[0]
    n, m = len(body.states), len(body.slices)
    pieces = tuple(_initial(arg, term, groups) for arg in term.args[:n])
    hidden, size = _hidden(body, parts, arena)
    return LoopJob(
        term,
        pieces,
        body=body,
        work=tuple(work),
        parts=parts,
        sequences=tuple(_rows(arg, groups) for arg in term.args[n : n + m]),
        captured=tuple(all_plain(term.args[n + m :], groups)),
        workspace=Scratch(size),
        hidden=hidden,
    )


def _initial(init: Op, term: Op, groups: Groups) -> Piece:
    body = Body(known(init), groups, term)
    return Piece(body, body.value(init), row_major(known(init)))


def _rows(sequence: Op, groups: Groups) -> Load:
    """A sequence each of whose slices is one stretch of memory."""
    load = in_memory(sequence, groups)
    _, shape, strides = load.layout
    wanted = row_major(shape[1:]).strides
    if not all(n <= 1 or s == w for n, s, w in zip(shape[1:], strides[1:], wanted, strict=True)):
        raise CopyFirst(sequence)
    return load


def _hidden(body: LoopBody, parts: Mapping[int, Op], arena: int) -> tuple[dict[int, int], int]:
    """Where states that nobody reads afterwards lie behind the arena of a step, and where that ends."""
    found, end = {}, _aligned(arena)
    for number, variable in body.states:
        if number not in parts:
            found[number] = end
            end += _aligned(_bytes(variable.type))
    return found, end


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _bytes(type_: TensorType) -> int:
    lengths: list[int] = [int(n) for n in type_.shape]  # type: ignore[arg-type]
    return prod(lengths) * type_.dtype.itemsize


# -- launches ---------------------------------------------------------------------------------------


def loop_work(job: LoopJob, home: Home) -> list[Work | Loop]:
    """What has to be launched: the initial states are written where the states lie, then the loop runs."""
    body = job.body
    assert body is not None
    states = {variable: _state(job, number, home) for number, variable in body.states}
    first: list[Work | Loop] = [
        nest(job, piece, home, states[variable], variable.dtype)
        for piece, (_, variable) in zip(job.pieces, body.states, strict=True)
    ]
    return [*first, Loop(body.length, *_moved(_awake(job.work), _Places(job, home, states)), job.term)]


def _awake(work: Sequence[Work | Loop]) -> list[Work | Loop]:
    """The work of a step, in which threads wait from one launch to the next."""
    shares = iter(shares_of_step([one.share for one in work if isinstance(one, Work)]))
    return [one._replace(share=next(shares)) if isinstance(one, Work) else one for one in work]


def _state(job: LoopJob, number: int, home: Home) -> Ref:
    assert job.hidden is not None and job.parts is not None and job.workspace is not None
    if number in job.hidden:
        place = home[job.workspace]
        return place.moved(job.hidden[number])
    return home[job.parts[number]]


class _Places:
    """Where what the body's kernels name lies outside."""

    def __init__(self, job: LoopJob, home: Home, states: Mapping[Op, Ref]) -> None:
        body, parts = job.body, job.parts
        assert body is not None and parts is not None and job.workspace is not None
        self.workspace = home[job.workspace]
        self.named: dict[tuple[str, object], _Place] = {("storage", v): _Place(r) for v, r in states.items()}
        last = body.length - 1
        for leaf, load in zip(body.slices, job.sequences, strict=True):
            step = load.layout.strides[0] * leaf.dtype.itemsize
            self.named["input", leaf] = _started(address(job, load, home), step, last, body.reverse)
        for leaf, load in zip(body.captured, job.captured, strict=True):
            self.named["input", leaf] = _Place(address(job, load, home))
        for i, (number, result) in enumerate(body.read(parts)):
            self.named["result", i] = _started(home[parts[number]], _bytes(result.type), last, body.reverse)

    def of(self, ref: Ref) -> _Place:
        """The place of what the body calls `ref`."""
        if ref.space == "arena":
            return _Place(self.workspace.moved(ref.offset))
        found = self.named.get((ref.space, ref.key))
        if found is None:
            return _Place(ref)
        return _Place(found.ref.moved(ref.offset), found.step)


def _started(ref: Ref, step: int, last: int, reverse: bool) -> _Place:
    return _Place(ref.moved(last * step), -step) if reverse else _Place(ref, step)


def _moved(work: Sequence[Work | Loop], places: _Places) -> tuple[tuple[Work | Loop, ...], tuple[tuple[int, int], ...]]:
    """The work with the addresses outside, and the slots (counted through all of it) that move, with their steps."""
    found: list[Work | Loop] = []
    steps: list[tuple[int, int]] = []
    slot = 0
    for one in work:
        if isinstance(one, Loop):
            inner, own = _moved(one.work, places)
            steps += [(slot + at, step) for at, step in own]
            found.append(one._replace(work=inner))
            slot += one.slots
            continue
        arguments: list[int | Ref] = []
        for at, argument in enumerate(one.arguments):
            place = places.of(argument) if isinstance(argument, Ref) else None
            arguments.append(argument if place is None else place.ref)
            if place is not None and place.step:
                steps.append((slot + at, place.step))
        found.append(one._replace(arguments=tuple(arguments)))
        slot += len(one.arguments)
    return tuple(found), tuple(steps)
