# SPDX-License-Identifier: Apache-2.0
"""A loop as a job: its body's kernels run once per step, and the addresses of slices move on by a slice.

The body has a plan of its own, made once, however many steps there are. Its states are the memory of the final
states, its results the rows of the stacked outputs, its arena a part of the arena around it. Where it is done by bands
of samples (`ngraph_rewrite.plan.bands`), each band has a loop of its own, and threads share these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job, Piece
from ngraph_rewrite.plan.launches import Loop, Place, Work, address, nest, weight
from ngraph_rewrite.plan.loop_body import LoopBody
from ngraph_rewrite.plan.memory import aligned
from ngraph_rewrite.plan.nests import Body, CopyFirst, Load
from ngraph_rewrite.plan.operands import Ref, Scratch, all_plain, in_memory, known
from ngraph_rewrite.plan.placing import placed
from ngraph_rewrite.plan.shapes import bytes_of
from ngraph_rewrite.plan.shares import shares_of_step
from ngraph_rewrite.plan.views import row_major
from ngraph_rewrite.terms.op import Op

Home = Mapping[Op | Scratch, Ref]
# Nanoseconds of work that bands do beside each other before Python can look at signals.
_STRETCH = 10_000_000


class Band(NamedTuple):
    """What a step does with some rows of all states, or with all.

    Attributes:
        first: The first row.
        work: Its kernels.
        arena: The bytes that they need.
    """

    first: int
    body: LoopBody
    work: Sequence[Work | Loop]
    arena: int


@dataclass(eq=False)
class LoopJob(Job):
    """The job of a loop.

    Attributes:
        body: What a step does with all rows.
        bands: The work of a step, by rows.
        parts: The terms that read its results, by number.
        sequences, captured: What the inputs of the body are outside.
        workspace: The memory of a step of each band, and of states that nothing else reads.
        hidden: Where in the workspace those states lie.
    """

    body: LoopBody | None = None
    bands: tuple[Band, ...] = ()
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


def loop_job(term: Op, groups: Groups, parts: Mapping[int, Op], bands: Sequence[Band]) -> LoopJob:
    """The job of a loop.

    Args:
        bands: What its body does, by rows.
        parts: The terms that are parts of the loop's tuple, by number.

    Raises:
        CopyFirst: if an operand has to be in memory in another way.
    """
    body: LoopBody = term.attrs[0]
    n, m = len(body.states), len(body.slices)
    pieces = tuple(_initial(arg, term, groups) for arg in term.args[:n])
    hidden, size = _hidden(body, parts, sum(aligned(band.arena) for band in bands))
    return LoopJob(
        term,
        pieces,
        body=body,
        bands=tuple(bands),
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
    found, end = {}, aligned(arena)
    for number, variable in body.states:
        if number not in parts:
            found[number] = end
            end += aligned(bytes_of(variable))
    return found, end


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
    arenas = accumulate((aligned(band.arena) for band in job.bands), initial=0)
    places = [_places(job, home, states, band, at) for band, at in zip(job.bands, arenas, strict=False)]
    if len(places) == 1:
        flag, work = None if body.flag is None else states[body.flag], tuple(_awake(job.bands[0].work))
        return [*first, Loop(body.length, work, (), job.term, flag=flag, limit=body.limit, places=places[0])]
    pairs = zip(job.bands, places, strict=True)
    loops = placed(Loop(body.length, tuple(band.work), (), job.term, places=at) for band, at in pairs)
    return [*first, *_beside([one for one in loops if isinstance(one, Loop)], body.length, job.term)]


def _beside(loops: Sequence[Loop], length: int, term: Op) -> list[Loop]:
    """Loops that run beside each other, a stretch of steps at a time."""
    stretch = max(1, _STRETCH // weight(one._replace(times=1) for one in loops))
    if stretch >= length:
        return [Loop(1, tuple(loops), (), term, beside=True)]
    times, rest = divmod(length, stretch)
    steps, slot = list[tuple[int, int]](), 0
    for loop in loops:
        steps += [(slot + at, stretch * step) for at, step in loop.steps]
        slot += loop.slots
    some = Loop(1, tuple([loop._replace(times=stretch) for loop in loops]), (), term, beside=True)
    found = [Loop(times, (some,), tuple(steps), term)]
    if rest:
        last = [_later(loop, times * stretch)._replace(times=rest) for loop in loops]
        found.append(Loop(1, tuple(last), (), term, beside=True))
    return found


def _later(loop: Loop, times: int) -> Loop:
    """A loop as it stands after so many steps; it has no loops in it."""
    moves, work, slot = dict(loop.steps), list[Work | Loop](), 0
    for one in loop.work:
        assert isinstance(one, Work)
        arguments = list(one.arguments)
        for at, ref in enumerate(arguments):
            if isinstance(ref, Ref):
                arguments[at] = ref.moved(times * moves.get(slot + at, 0))
        work.append(one._replace(arguments=tuple(arguments)))
        slot += len(arguments)
    return loop._replace(work=tuple(work))


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


def _places(
    job: LoopJob, home: Home, states: Mapping[Op, Ref], band: Band, arena: int
) -> dict[tuple[str, object], Place]:
    """Where what the kernels of a band name lies outside.

    Args:
        states: Where they lie, with all rows.
        arena: Where the arena of the band begins in the workspace.
    """
    body, parts, own = job.body, job.parts, band.body
    assert body is not None and parts is not None and job.workspace is not None

    def begun(ref: Ref, term: Op, was: Op) -> Ref:
        """Where a term begins in memory that holds it with all rows."""
        return ref if term is was else ref.moved(band.first * (bytes_of(was) // known(was)[0]))

    found: dict[tuple[str, object], Place] = {("arena", 0): Place(home[job.workspace].moved(arena))}
    for (_, leaf), (_, variable) in zip(own.states, body.states, strict=True):
        found["storage", leaf] = Place(begun(states[variable], leaf, variable))
    last = body.length - 1
    for leaf, was, load in zip(own.slices, body.slices, job.sequences, strict=True):
        step, begin = load.layout.strides[0] * leaf.dtype.itemsize, begun(address(job, load, home), leaf, was)
        found["input", leaf] = _started(begin, step, last, body.reverse)
    for leaf, was, load in zip(own.captured, body.captured, job.captured, strict=True):
        found["input", leaf] = Place(begun(address(job, load, home), leaf, was))
    pairs = zip(own.read(parts), body.read(parts), strict=True)
    for i, ((number, result), (_, was)) in enumerate(pairs):
        found["result", i] = _started(begun(home[parts[number]], result, was), bytes_of(was), last, body.reverse)
    return found


def _started(ref: Ref, step: int, last: int, reverse: bool) -> Place:
    return Place(ref.moved(last * step), -step) if reverse else Place(ref, step)
