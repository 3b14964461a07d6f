# SPDX-License-Identifier: Apache-2.0
"""Maps over as many elements, in one step of a loop, are one launch: it reads once what several of them read.

A launch of some thousand elements costs as much as handing it to another thread, and a loop pays for it in each step.
What one of the maps computes and another reads at the same element stays in a register, and goes to memory only if
something else reads it. A group stands behind all that its maps wait for, and before all that waits for one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.collapsing import collapsed_joint
from ngraph_rewrite.plan.fusion import is_storage_read, variable_of
from ngraph_rewrite.plan.jobs import Job, Piece
from ngraph_rewrite.plan.launches import Work, base_address, strided, target_of
from ngraph_rewrite.plan.nests import Load, Position, ScalarStep, Value
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.plan.scalar_programs import JointProgram
from ngraph_rewrite.plan.shapes import DTYPE_NAMES
from ngraph_rewrite.plan.views import Layout, reshaped, row_major
from ngraph_rewrite.terms.op import Op

# Jobs behind the first one of a group that are looked at; the steps and the operands that a launch may have.
_WINDOW, _STEPS, _OPERANDS = 24, 128, 32
Home = Mapping[Op | Scratch, Ref]


class _Store(NamedTuple):
    """A value that a job stores, and where by the loops of its group."""

    job: Job
    value: Value
    layout: Layout


class Maps:
    """The maps of several jobs as one scalar program over the elements of the first."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.plain = shape, row_major(shape)
        self.loads: list[Load] = []
        self.steps: list[ScalarStep] = []
        self.stores: list[_Store] = []
        self.values: dict[Op, Value] = {}  # of the terms that are stored element by element
        self._same: dict[Load | ScalarStep, Value] = {}

    def seen(self, layout: Layout) -> Layout | None:
        """A layout by the loops of the group, if strides can say it."""
        return layout if layout.shape == self.shape else reshaped(layout, self.shape)

    def add(self, job: Job, pieces: Sequence[Piece]) -> None:
        """Compute pieces of a job, whose layouts can all be seen."""
        for piece in pieces:
            store = self._seen(piece.store)
            self.stores.append(_Store(job, self._computed(piece), store))
            if store == self.plain and job.destination is None:
                self.values[job.term] = self.stores[-1].value

    def _computed(self, piece: Piece) -> Value:
        loads = [self._loaded(base, layout) for base, layout in piece.body.loads]
        numbers: list[Value] = []
        for op, dtype, operands, attribute in piece.body.steps:
            given = tuple([numbers[v] if v >= 0 else loads[-v - 1] for v in operands])
            numbers.append(self._step((op, dtype, given, attribute)))
        return numbers[piece.value] if piece.value >= 0 else loads[-piece.value - 1]

    def _loaded(self, base: Op, layout: Layout) -> Value:
        if base in self.values:
            return self.values[base]
        load = Load(base, self._seen(layout))
        if load not in self._same:
            self.loads.append(load)
            self._same[load] = -len(self.loads)
        return self._same[load]

    def _step(self, step: ScalarStep) -> Value:
        if step not in self._same:
            self._same[step] = len(self.steps)
            self.steps.append(step)
        return self._same[step]

    def _seen(self, layout: Layout) -> Layout:
        found = self.seen(layout)
        assert found is not None
        return found


@dataclass(eq=False)
class JointJob(Job):
    """Maps that one launch does.

    Attributes:
        maps: What they compute.
        stored: What is stored of it: all but terms that nothing else reads.
        inlined: Those terms.
    """

    maps: Maps | None = None
    stored: Sequence[_Store] = ()
    inlined: tuple[Op, ...] = ()

    @property
    def is_one_map(self) -> bool:
        """It is several."""
        return False

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The terms whose memory it fills."""
        return tuple(dict.fromkeys([s.job.term for s in self.stored if s.job.destination is None]))

    def operands(self) -> list[Load]:
        """What it reads, worked out."""
        assert self.maps is not None
        return list(self.maps.loads)


def joined(ordered: Sequence[Job], before: Mapping[Job, Iterable[Job]], home: Home) -> list[Job]:
    """The jobs of a step, with maps over as many elements in one.

    Args:
        ordered: The jobs, in an order in which they can run.
        before: The jobs that each waits for.
        home: Where terms lie that have to be stored though no job may read them.
    """
    readers: dict[Op, list[Job]] = {}
    for job in ordered:
        for base in {load.base for load in job.loads}:
            readers.setdefault(base, []).append(job)
    waits = {job: set(before[job]) for job in ordered}
    found, rest = list[Job](), list(ordered)
    while rest:
        first, near = rest[0], rest[1:_WINDOW]
        group = _Group(first, home) if is_map(first) else None
        waiting = group.grow(near, waits) if group else ()
        if group is None or len(group.members) == 1:
            found.append(rest.pop(0))
            continue
        made = group.job(readers)
        others = [job for job in near if job not in waiting and job not in group.members]
        rest = [*others, made, *waiting, *rest[_WINDOW:]]
        waits[made] = set().union(*[waits[job] for job in group.members]) - set(group.members)
        for job in rest:
            if not waits[job].isdisjoint(group.members):
                waits[job].add(made)
    return found


def is_map(job: Job) -> bool:
    """Whether it is elementwise loop nests of one size, which store what does not overlap."""
    if job.raw or job.calls or not job.pieces or not (job.is_one_map or job.term.definition.name == "semi.concat"):
        return False
    sizes = {prod(piece.body.shape) for piece in job.pieces}
    return sizes != {0} and len(sizes) == 1 and all(not _has_positions(piece) for piece in job.pieces)


def _has_positions(piece: Piece) -> bool:
    return any(type(step[3]) is Position for step in piece.body.steps)


class _Group:
    """Maps that can be one launch, the first of which is given."""

    def __init__(self, job: Job, home: Home) -> None:
        shape = job.pieces[0].body.shape
        self.size, self.maps, self.home = prod(shape), Maps(shape), home
        self.members = [job]
        self.maps.add(job, job.pieces)

    def grow(self, near: Sequence[Job], waits: Mapping[Job, set[Job]]) -> list[Job]:
        """Take in what can be; the jobs that have to wait for the group."""
        waiting: list[Job] = []
        for job in near:
            if waits[job].isdisjoint(waiting) and is_map(job) and self._takes(job):
                self.members.append(job)
                self.maps.add(job, job.pieces)
            elif not (waits[job].isdisjoint(waiting) and waits[job].isdisjoint(self.members)):
                waiting.append(job)
        return waiting

    def _takes(self, job: Job) -> bool:
        maps = self.maps
        if prod(job.pieces[0].body.shape) != self.size or any(maps.seen(p.store) is None for p in job.pieces):
            return False
        steps = len(maps.steps) + sum(len(piece.body.steps) for piece in job.pieces)
        others = {load.base for load in job.loads if load.base not in maps.values}
        if steps > _STEPS or len(maps.loads) + len(maps.stores) + len(others) + len(job.pieces) > _OPERANDS:
            return False
        return all(self._reads(load) for load in job.loads) and self._writes(job)

    def _reads(self, load: Load) -> bool:
        """Whether what is read is there when the group begins, or is computed in it at the very element."""
        seen, base = self.maps.seen(load.layout), load.base
        if seen is None:
            return False
        if any(base is member.term and member.destination is None for member in self.members):
            return base in self.maps.values and seen == self.maps.plain
        written = {self._variable(member) for member in self.members}
        return not (is_storage_read(base) and variable_of(base) in written)

    def _writes(self, job: Job) -> bool:
        """Whether a variable that it writes is nobody else's, and read only at the very element that is written."""
        variable = self._variable(job)
        if variable is None:
            return True
        stores = [self.maps.seen(piece.store) for piece in job.pieces]
        loads = [*self.maps.loads, *job.loads]
        own = [x for x in loads if is_storage_read(x.base) and variable_of(x.base) is variable]
        alone = all(self._variable(member) is not variable for member in self.members)
        return (
            alone
            and (not own or stores == [self.maps.plain])
            and all(self.maps.seen(x.layout) == self.maps.plain for x in own)
        )

    def _variable(self, job: Job) -> object:
        """The variable that a job writes, if any."""
        if isinstance(job.destination, Op):
            return job.destination.args[0]
        place = self.home.get(job.term) if job.destination is None else None
        return place.key if place is not None and place.space == "storage" else None

    def job(self, readers: Mapping[Op, Sequence[Job]]) -> JointJob:
        """The job of the group."""
        inside = set(self.members)
        inlined = tuple([t for t in self.maps.values if t not in self.home and inside.issuperset(readers.get(t, ()))])
        stored = [s for s in self.maps.stores if s.job.destination is not None or s.job.term not in inlined]
        term = stored[-1].job.term
        return JointJob(term, maps=self.maps, stored=stored, inlined=inlined)


# -- launches -------------------------------------------------------------------------------------------


def joint_work(job: JointJob, home: Home) -> Work:
    """The launch of a group."""
    maps = job.maps
    assert maps is not None
    targets = [target_of(store.job, home) for store in job.stored]
    places = [base_address(job, load.base, home) for load in maps.loads]
    stores = [(store.value, DTYPE_NAMES[store.job.term.type.dtype], store.layout) for store in job.stored]
    written = {(place, layout): k for k, (place, (_, _, layout)) in enumerate(zip(targets, stores, strict=True))}
    count = len(maps.loads)
    ends = [(place, load.layout) for place, load in zip(places, maps.loads, strict=True)]
    buffers = [count + written[end] if end in written else i for i, end in enumerate(ends)]
    buffers += range(count, count + len(stores))
    loads = tuple([(DTYPE_NAMES[base.type.dtype], layout) for base, layout in maps.loads])
    program = JointProgram(maps.shape, loads, tuple(maps.steps), tuple(stores), tuple(buffers))
    renderer = job.stored[0].job.pieces[0].body.groups.renderer
    source, sizes, read, stored, share, numbers, _ = collapsed_joint(program, renderer)
    arguments: list[int | Ref] = [*sizes]
    refs: list[int] = []
    sizes_of = [base.type.dtype.itemsize for base, _ in maps.loads] + [
        s.job.term.type.dtype.itemsize for s in job.stored
    ]
    for place, layout, size in zip((*places, *targets), (*read, *stored), sizes_of, strict=True):
        strided(arguments, refs, place, layout, size)
    arguments += numbers
    last, others = job.stored[-1].job.term, list(zip([s.job.term for s in job.stored], targets, strict=True))[:-1]
    return Work(source, tuple(arguments), last, targets[-1], share, tuple(refs), others=tuple(others))
