# SPDX-License-Identifier: Apache-2.0
"""The plan of a computation: kernels with their arguments, in order, and the memory they use.

It is cost and sharing, not equations, so it is code. It works on a graph whose lengths are known; addresses
are symbolic until a call fills them in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ngraph_rewrite.plan.buffers import buffers
from ngraph_rewrite.plan.fusion import fuse, is_leaf, is_storage_read, variable_of, version_of
from ngraph_rewrite.plan.jobs import Job, copy_job, job_of, resolve
from ngraph_rewrite.plan.launches import Ref, Work, launches
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.schedule import in_order
from ngraph_rewrite.terms.op import Op, topological


@dataclass
class Plan:
    """What to run for one binding of the unknown lengths.

    Attributes:
        arena: Bytes of memory that lives inside a call.
        results: The terms whose values are returned, by number; their shapes and dtypes.
        inlined: Terms that exist in registers only, and the term whose kernel computes them.
        temporaries: The number of blocks in the arena.
        echoes: Results that are views of an input: their numbers, and what they see. No kernel runs for them.
    """

    work: list[Work]
    arena: int
    results: list[Op]
    inlined: dict[Op, Op] = field(default_factory=dict)
    temporaries: int = 0
    echoes: list[tuple[int, Load]] = field(default_factory=list)


class _CopyAll(Exception):
    """Terms whose elements have to be in memory by themselves."""

    def __init__(self, terms: set[Op]) -> None:
        super().__init__(terms)
        self.terms = terms


class _Cycle(Exception):
    """Jobs that wait for each other."""


def make_plan(results: Sequence[Op], writes: Sequence[Op]) -> Plan:
    """The plan that computes `results` and performs `writes`, in that order of effects."""
    forced: set[Op] = set()
    direct = True
    while True:
        attempt = _Attempt(results, writes, forced, direct)
        try:
            return attempt.plan()
        except _CopyAll as need:
            more = need.terms
            if more <= forced:
                raise
        except CopyFirst as need:  # a result or a write sees what strides cannot say
            more = {need.term}
            if more <= forced:
                raise
        except _Cycle:  # updates that wait for each other: compute first, then write; at worst, copy what they read
            more = set() if direct else set(attempt.effects.ends)
            if not direct and more <= forced:
                raise
            direct = False
        forced = forced | more


class _Attempt:
    """One try at a plan, with a set of terms that get memory of their own."""

    def __init__(self, results: Sequence[Op], writes: Sequence[Op], forced: set[Op], direct: bool) -> None:
        self.results, self.writes, self.forced, self.direct = list(results), list(writes), forced, direct
        self.order = topological([*results, *writes])
        self.number = {t: i for i, t in enumerate(self.order)}
        self.groups = fuse(self.order, results, writes, forced)
        self.effects = self.groups.effects

    def plan(self) -> Plan:
        self.jobs, needs = self._jobs()
        self.job_of = {job.term: job for job in self.jobs}
        needs |= self._hazards()
        if needs:
            raise _CopyAll(needs)
        self.home: dict[Op, Ref] = {}
        self.written: dict[Op, Job] = {}
        self._claim_results()
        self.read = {load.base for job in self.jobs for load in job.loads()}
        self.stored = Counter(resolve(w.args[1], self.groups).base for w in self.writes)
        for write in self.writes:
            self._write(write)
        ordered = self._ordered()
        found = buffers(ordered, self.home)
        self.home.update((term, Ref("arena", 0, offset)) for term, offset in found.offsets.items())
        work = [w for job in ordered for w in launches(job, self.home)]
        inlined = {t: g for t, g in self.groups.group_of.items() if t is not g}
        return Plan(work, found.arena, self.results, inlined, found.blocks, self.echoes)

    def _jobs(self) -> tuple[list[Job], set[Op]]:
        """The jobs of all groups, and the terms they need copies of."""
        jobs, needs = [], set()
        for root in self.groups.roots:
            try:
                jobs.append(job_of(root, self.groups))
            except CopyFirst as need:
                needs.add(need.term)
        return jobs, needs

    # -- effects ------------------------------------------------------------------------------------

    def _hazards(self) -> set[Op]:
        """Reads that have to happen before a write their readers wait for: they need copies."""
        found = set()
        for job in self.jobs:
            for load in job.loads():
                ends = self.effects.ends.get(load.base)
                if ends is not None and not self._is_copied(load.base) and self.effects.waits[job.term] >> ends & 1:
                    found.add(load.base)
        return found

    def _is_copied(self, leaf: Op) -> bool:
        return leaf in self.forced and is_leaf(leaf)

    def _write(self, write: Op) -> None:
        variable, value = write.args
        load = resolve(value, self.groups)
        if is_storage_read(load.base) and not self._is_copied(load.base):
            same = version_of(load.base) is variable and load.layout.is_plain
            if not same and (load.base in self.effects.ends or variable_of(load.base) is variable):
                raise _CopyAll({load.base})
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
        if base in self.read or self.stored[base] > 1:
            return False
        own = [x for x in job.loads() if is_storage_read(x.base) and variable_of(x.base) is variable]
        own = [x for x in own if not self._is_copied(x.base)]
        return not own or (job.is_one_map and all(x.layout.is_plain for x in own))

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


__all__ = ["Plan", "Ref", "Work", "make_plan"]
