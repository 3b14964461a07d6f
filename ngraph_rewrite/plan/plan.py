# SPDX-License-Identifier: Apache-2.0
"""The plan of a computation: kernels with their arguments, in order, and the memory they use.

It is cost and sharing, not equations, so it is code. It works on a graph whose lengths are known; addresses
are symbolic until a call fills them in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.loops import render_map, render_reduce
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.fusion import Groups, fuse, is_leaf, is_storage_read, variable_of, version_of
from ngraph_rewrite.plan.jobs import OUTPUT, Job, Piece, copy_job, job_of, known, resolve
from ngraph_rewrite.plan.memory import Block, place
from ngraph_rewrite.plan.nests import CopyFirst, Load, map_nest, reduce_nest
from ngraph_rewrite.plan.schedule import in_order
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.terms.op import Op, topological


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


@dataclass
class Plan:
    """What to run for one binding of the unknown lengths.

    Attributes:
        arena: Bytes of memory that lives inside a call.
        results: The terms whose values are returned, by number; their shapes and dtypes.
        available: Where in memory terms are after a call, for `value`: only those nothing overwrites.
        inlined: Terms that exist in registers only, and the term whose kernel computes them.
        temporaries: The number of blocks in the arena.
        echoes: Results that are views of an input: their numbers, and what they see. No kernel runs for them.
    """

    work: list[Work]
    arena: int
    results: list[Op]
    available: dict[Op, tuple[Ref, Layout]] = field(default_factory=dict)
    inlined: dict[Op, Op] = field(default_factory=dict)
    temporaries: int = 0
    echoes: list[tuple[int, Load]] = field(default_factory=list)


class _Cycle(Exception):
    """Writes that wait for each other: reads have to be copied first."""


def make_plan(results: Sequence[Op], writes: Sequence[Op]) -> Plan:
    """The plan that computes `results` and performs `writes`, in that order of effects."""
    forced: set[Op] = set()
    direct = True
    while True:
        try:
            return _Attempt(results, writes, forced, direct).plan()
        except CopyFirst as need:
            if need.term in forced:
                raise
            forced.add(need.term)
        except _Cycle:
            direct = False
            effects = _Attempt(results, writes, forced, direct).groups.effects
            forced |= set(effects.ends)


class _Attempt:
    """One try at a plan, with a set of terms that get memory of their own."""

    def __init__(self, results: Sequence[Op], writes: Sequence[Op], forced: set[Op], direct: bool) -> None:
        self.results, self.writes, self.forced, self.direct = list(results), list(writes), forced, direct
        self.order = topological([*results, *writes])
        self.number = {t: i for i, t in enumerate(self.order)}
        self.groups = fuse(self.order, results, writes, forced)
        self.effects = self.groups.effects

    def plan(self) -> Plan:
        self.jobs = [job_of(t, self.groups) for t in self.groups.roots]
        self.job_of = {job.term: job for job in self.jobs}
        self._refuse_hazards()
        self.home: dict[Op, Ref] = {}
        self.written: dict[Op, Job] = {}
        self._claim_results()
        for write in self.writes:
            self._write(write)
        ordered = self._ordered()
        blocks = self._memory(ordered)
        work = [w for job in ordered for w in self._work(job)]
        inlined = {t: g for t, g in self.groups.group_of.items() if t is not g}
        return Plan(work, self.arena, self.results, self._available(), inlined, blocks, self.echoes)

    # -- effects ------------------------------------------------------------------------------------

    def _refuse_hazards(self) -> None:
        """A read that has to happen before a write its reader waits for needs a copy."""
        for job in self.jobs:
            for load in job.loads():
                ends = self.effects.ends.get(load.base)
                if ends is not None and not job.raw and self.effects.waits[job.term] >> ends & 1:
                    self._copy_leaf(load.base)

    def _copy_leaf(self, leaf: Op) -> None:
        if leaf not in self.forced:
            raise CopyFirst(leaf)

    def _is_copied(self, leaf: Op) -> bool:
        return leaf in self.forced and is_leaf(leaf)

    def _write(self, write: Op) -> None:
        variable, value = write.args
        load = resolve(value, self.groups)
        if is_storage_read(load.base) and not self._is_copied(load.base):
            same = version_of(load.base) is variable and load.layout.is_plain
            if not same and (load.base in self.effects.ends or variable_of(load.base) is variable):
                self._copy_leaf(load.base)
        job = self.job_of.get(load.base)
        if self.direct and job is not None and load.layout.is_plain and self._only_for(write, load.base, variable, job):
            self.home[load.base] = Ref("storage", variable)
            self.written[write] = job
        else:
            self.written[write] = copy_job(value, self.groups, write, own=False)
            self.jobs.append(self.written[write])

    def _only_for(self, write: Op, base: Op, variable: Op, job: Job) -> bool:
        """Whether a job can compute straight into storage: nobody else reads it, and it reads in step."""
        if base in self.home or base.size != variable.size or base.dtype != variable.dtype or job.raw:
            return False
        if any(load.base is base for j in self.jobs for load in j.loads()) or self._wanted_twice(write, base):
            return False
        own = [x for x in job.loads() if is_storage_read(x.base) and variable_of(x.base) is variable]
        return not own or (_is_one_map(job) and all(x.layout.is_plain and not self._is_copied(x.base) for x in own))

    def _wanted_twice(self, write: Op, base: Op) -> bool:
        return sum(resolve(w.args[1], self.groups).base is base for w in self.writes) > 1

    # -- results ------------------------------------------------------------------------------------

    def _claim_results(self) -> None:
        self.echoes: list[tuple[int, Load]] = []
        for i, result in enumerate(self.results):
            load = resolve(result, self.groups)
            if load.base.definition.name == "core.placeholder" and load.base not in self.forced:
                self.echoes.append((i, load))
                continue
            claimed = load.base in self.home or load.base not in self.job_of
            if claimed or not load.layout.is_plain or load.base.size != result.size:
                self.jobs.append(copy_job(result, self.groups, i, own=False))
            else:
                self.home[load.base] = Ref("result", i)

    # -- order --------------------------------------------------------------------------------------

    def _ordered(self) -> list[Job]:
        index = {id(job): i for i, job in enumerate(self.jobs)}
        before: dict[int, list[int]] = {i: [] for i in range(len(self.jobs))}
        done_by = {w: index[id(job)] for w, job in self.written.items()}
        last: dict[Op, Op] = {}
        for write in self.writes:
            if write.args[0] in last:
                before[done_by[write]].append(done_by[last[write.args[0]]])
            last[write.args[0]] = write
        for i, job in enumerate(self.jobs):
            for load in job.loads():
                own = self.job_of.get(load.base)
                if own is not None and own is not job:
                    before[i].append(index[id(own)])
                elif is_storage_read(load.base):
                    self._order_read(i, load.base, before, done_by)
        numbers = {i: self.number[job.term] for i, job in enumerate(self.jobs)}
        order = in_order(numbers, before)
        if order is None:
            raise _Cycle
        return [self.jobs[i] for i in order]

    def _order_read(self, job: int, leaf: Op, before: dict[int, list[int]], done_by: dict[Op, int]) -> None:
        version = version_of(leaf)
        if version in done_by and done_by[version] != job:
            before[job].append(done_by[version])
        ends = self.effects.ends.get(leaf)
        if ends is not None and done_by[self.writes[ends]] != job:
            before[done_by[self.writes[ends]]].append(job)

    # -- memory -------------------------------------------------------------------------------------

    def _memory(self, ordered: Sequence[Job]) -> int:
        """Give every buffer that lives only inside the call a place in the arena."""
        first = {job.term: i for i, job in enumerate(ordered) if job.destination is None}
        last = dict(first)
        for i, job in enumerate(ordered):
            for load in job.loads():
                if load.base in last and not (job.raw and load.base is job.term):
                    last[load.base] = max(last[load.base], i)
        block_of: dict[Op, int] = {}
        blocks: list[Block] = []
        self.in_place: dict[Op, Op] = {}
        for i, job in enumerate(ordered):
            term = job.term
            if job.destination is not None or term in self.home:
                continue
            dying = self._dying(job, i, last, block_of)
            if dying is not None:
                number = block_of[dying]
                blocks[number] = Block(blocks[number].size, blocks[number].first, last[term])
                self.in_place[term] = dying
            else:
                number = len(blocks)
                blocks.append(Block(_bytes(term), i, last[term]))
            block_of[term] = number
        offsets, self.arena = place(blocks)
        self.home.update((t, Ref("arena", 0, offsets[n])) for t, n in block_of.items())
        return len(blocks)

    def _dying(self, job: Job, at: int, last: dict[Op, int], block_of: dict[Op, int]) -> Op | None:
        """An operand whose memory the result can take over: it dies here and is read in step."""
        if not _is_one_map(job) or job.raw:
            return None
        for load in job.loads():
            base = load.base
            mine = [x for x in job.loads() if x.base is base]
            if base in block_of and last[base] == at and _bytes(base) == _bytes(job.term):
                same = base.dtype.itemsize == job.term.dtype.itemsize
                if same and all(x.layout.is_plain and x.layout.shape == known(job.term) for x in mine):
                    return base
        return None

    # -- arguments ----------------------------------------------------------------------------------

    def _work(self, job: Job) -> list[Work]:
        works = [self._nest(job, piece) for piece in job.pieces]
        for call in job.calls:
            arguments = tuple(self._argument(job, a) for a in call.arguments)
            works.append(Work(call.source, arguments, job.term))
        return works

    def _nest(self, job: Job, piece: Piece) -> Work:
        dtype = job.term.dtype.name
        if piece.kind is not None:
            nest = reduce_nest(piece.body, piece.kind, piece.value, piece.axes, piece.store, dtype)
            source = render_reduce(nest.nest)  # type: ignore[arg-type]
        else:
            target = self._target(job)
            same = [self._address(job, x) == target for x in piece.body.loads]
            nest = map_nest(piece.body, piece.value, piece.store, dtype, same)
            source = render_map(nest.nest)  # type: ignore[arg-type]
        arguments: list[int | Ref] = list(nest.sizes)
        for load in nest.loads:
            arguments += _strided(self._argument(job, load), load.layout)
        itemsize = job.term.dtype.itemsize
        target = self._target(job)
        target = target._replace(offset=target.offset + nest.store.offset * itemsize)
        arguments += _strided(target, nest.store)
        return Work(source, tuple(arguments), job.term)

    def _target(self, job: Job) -> Ref:
        if isinstance(job.destination, int):
            return Ref("result", job.destination)
        if job.destination is not None:
            return Ref("storage", job.destination.args[0])
        return self.home[job.term]

    def _argument(self, job: Job, value: object) -> int | Ref:
        if isinstance(value, int):
            return value
        if isinstance(value, Load):
            address = self._address(job, value)
            return address._replace(offset=address.offset + value.layout.offset * value.base.dtype.itemsize)
        if value == OUTPUT:
            return self._target(job)
        if isinstance(value, str):
            space, _, index = value.partition(" ")
            return Ref(space, index)
        return Ref("stream", value)

    def _address(self, job: Job, load: Load) -> Ref:
        base = load.base
        if base in self.home and not (job.raw and base is job.term):
            return self.home[base]
        if is_storage_read(base):
            return Ref("storage", variable_of(base))
        return Ref("constant" if base.definition.name == "core.constant" else "input", base)

    def _available(self) -> dict[Op, tuple[Ref, Layout]]:
        """Results and leaves: what can be read after a call. The arena may have been reused."""
        found = {}
        for term in self.order:
            if term.definition.name == "core.doall":
                continue
            try:
                load = resolve(term, self.groups)
            except CopyFirst:
                continue
            home = self.home.get(load.base)
            if home is not None and home.space == "result":
                found[term] = (home, load.layout)
        for i, result in enumerate(self.results):
            found.setdefault(result, (Ref("result", i), Layout(0, known(result), _plain_strides(result))))
        return found


def _plain_strides(term: Op) -> tuple[int, ...]:
    shape = known(term)
    return tuple(prod(max(n, 1) for n in shape[i + 1 :]) for i in range(len(shape)))


def _is_one_map(job: Job) -> bool:
    return len(job.pieces) == 1 and job.pieces[0].kind is None and not job.calls


def _bytes(term: Op) -> int:
    return prod(known(term)) * term.dtype.itemsize


def _strided(address: int | Ref, layout: Layout) -> list[int | Ref]:
    return [address, *(s for s in layout.strides if s not in (0, 1))]


__all__ = ["Groups", "Plan", "Ref", "Work", "make_plan"]
