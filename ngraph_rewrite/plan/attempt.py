# SPDX-License-Identifier: Apache-2.0
"""One try at a plan, with a set of terms that get memory of their own: a plan, or the terms that it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from ngraph_rewrite.plan.accesses import Access, access
from ngraph_rewrite.plan.buffers import buffers
from ngraph_rewrite.plan.copies import layout_copies
from ngraph_rewrite.plan.epilogues import with_epilogues
from ngraph_rewrite.plan.fusion import fuse, is_leaf, is_storage_read, variable_of, version_of
from ngraph_rewrite.plan.gathering import gather_rows
from ngraph_rewrite.plan.interleaving import piece_work
from ngraph_rewrite.plan.jobs import Job, copy_job
from ngraph_rewrite.plan.joint import JointJob, joined, joint_work
from ngraph_rewrite.plan.kinds import Kinds
from ngraph_rewrite.plan.launches import Loop, Work
from ngraph_rewrite.plan.lives import holds_up, let_overwrite, numbered
from ngraph_rewrite.plan.loops import Band, LoopJob, loop_job, loop_work
from ngraph_rewrite.plan.nests import CopyFirst, Load, resolve
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.plan.planned import CopyAll, Cycle, Plan
from ngraph_rewrite.plan.product_jobs import ProductJob, product_work
from ngraph_rewrite.plan.prologues import with_prologues
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.reuse import stale_roots
from ngraph_rewrite.plan.row_launches import row_work
from ngraph_rewrite.plan.rows import RowJob
from ngraph_rewrite.plan.schedule import in_circles, in_order
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.updates import part_only, reads_in_step
from ngraph_rewrite.terms.op import Op


def parts_of(loops: Iterable[Op], order: Iterable[Op]) -> dict[Op, dict[int, Op]]:
    """The parts of each loop's tuple that are read, by number."""
    found: dict[Op, dict[int, Op]] = {loop: {} for loop in loops}
    if found:
        for term in order:
            if term.args and term.args[0] in found:
                found[term.args[0]][term.attribute("index")] = term
    return found


class Attempt:
    """One try at a plan.

    Args:
        forced: The terms that get memory of their own.
        direct: Whether kernels may compute straight into variables.
        whole: Whether this is all of a call, not a step of a loop.
        bodies: What loops do, by rows.
        inside: The plans of that.
        stead: What stands for a term in the groups.
        previous: The try before, of whose jobs those stand in which nothing has changed.
    """

    def __init__(
        self,
        results: Sequence[Op],
        writes: Sequence[Op],
        order: Sequence[Op],
        renderer: Renderer,
        forced: set[Op],
        kinds: Kinds,
        direct: bool,
        whole: bool,
        bodies: Mapping[Op, Sequence[Band]],
        inside: Sequence[Plan],
        stead: Mapping[Op, Op],
        previous: Attempt | None,
    ) -> None:
        self.results, self.writes, self.forced, self.direct = list(results), list(writes), forced, direct
        self.whole, self.bodies, self.inside = whole, bodies, inside
        self.order, self._parts = order, parts_of(bodies, order)
        self.groups = fuse(self.order, results, writes, forced, renderer, kinds, stead)
        gather_rows(self.groups, forced)
        self.effects = self.groups.effects
        self.made: dict[Op, Job] = {}  # by root
        if previous is not None:
            stale = stale_roots(order, previous.groups, self.groups)
            self.made = {root: job for root, job in previous.made.items() if root not in stale}

    def plan(self, threads: int | None) -> Plan:
        """The plan.

        Args:
            threads: How many run chunks at once, if a number is known.

        Raises:
            CopyAll: for terms that need memory of their own; another try may give it to them.
            Cycle: if jobs wait for each other.
        """
        self.jobs, needs = self._jobs()
        needs |= self._hazards() | self._unseen()
        if needs:
            raise CopyAll(needs)
        kept = self._kept()
        self.jobs = with_prologues(with_epilogues(self.jobs, kept, self.groups), kept, self.groups)
        self.job_of = {term: job for job in self.jobs for term in job.outputs}
        self.home: dict[Op | Scratch, Ref] = {}
        self.written: dict[Op, Job] = {}
        self._claim_results()
        if self.writes:
            self._write_all()
        ordered = self._ordered()
        found = buffers(ordered, self.home, threads)
        self.home |= {term: Ref("arena", 0, offset) for term, offset in found.offsets.items()}
        work, accesses, concurrent = list[Work | Loop](), list[Access](), self.groups.renderer.concurrent
        for job in ordered:
            launched = self._launched(job)
            work += launched
            if concurrent:
                accesses += [access(job, launched, self.home)] * len(launched)
        inlined = {t: g for t, g in self.groups.group_of.items() if t is not g and t not in self.job_of}
        grouped = [job for job in ordered if isinstance(job, (JointJob, ProductJob, RowJob))]
        inlined.update((t, job.term) for job in grouped for t in job.inlined)
        copies = list(layout_copies(ordered))
        plan = Plan(work, found.arena, self.results, inlined, found.blocks, copies=copies)
        plan.again, plan.costs = dict(self.groups.again), dict(self.groups.costs)
        plan.home, plan.accesses, plan.inside = self.home, accesses, self.inside
        return plan

    def _launched(self, job: Job) -> Sequence[Work | Loop]:
        if isinstance(job, LoopJob):
            return loop_work(job, self.home)
        if isinstance(job, ProductJob):
            assert self.groups.renderer.epilogues is not None
            return product_work(job, self.home, self.groups.renderer.epilogues)
        if isinstance(job, JointJob):
            return [joint_work(job, self.home)]
        return row_work(job, self.home) if isinstance(job, RowJob) else piece_work(job, self.home)

    def _jobs(self) -> tuple[list[Job], set[Op]]:
        """The jobs of all groups, and the terms they need copies of."""
        needs: set[Op] = set()
        for root in self.groups.roots:
            if root in self.made:
                continue
            try:
                self.made[root] = self._job(root)
            except CopyFirst as need:
                needs.update(need.terms)
        return [self.made[root] for root in self.groups.roots if root in self.made], needs

    def _unseen(self) -> set[Op]:
        """What results and writes see in a way that strides cannot say."""
        found: set[Op] = set()
        for term in (*self.results, *(write.args[1] for write in self.writes)):
            try:
                resolve(term, self.groups)
            except CopyFirst as need:
                found.update(need.terms)
        return found

    def _kept(self) -> set[Op]:
        """What results and writes see: it has to be in memory."""
        return {resolve(t, self.groups).base for t in (*self.results, *(write.args[1] for write in self.writes))}

    def _job(self, term: Op) -> Job:
        if term not in self.bodies:
            return self.groups.renderer.job(term, self.groups)
        return loop_job(term, self.groups, self._parts[term], self.bodies[term])

    # -- effects ------------------------------------------------------------------------------------

    def _hazards(self) -> set[Op]:
        """Reads that have to happen before a write their readers wait for: they need copies."""
        found: set[Op] = set()
        if not self.effects.ends:
            return found
        for job in self.jobs:
            for load in job.loads:
                ends = self.effects.ends.get(load.base)
                if ends is None or self._is_copied(load.base):
                    continue
                if any(self.effects.waits.get(term, 0) >> ends & 1 for term in {job.term, *job.outputs}):
                    found.add(load.base)
        return found

    def _is_copied(self, leaf: Op) -> bool:
        return leaf in self.forced and is_leaf(leaf)

    def _write_all(self) -> None:
        """Find the job of every write; what they need copies of is found together."""
        self.read = {load.base for job in self.jobs for load in job.loads}
        self.stored = Counter(resolve(w.args[1], self.groups).base for w in self.writes)
        needs: set[Op] = set()
        for write in self.writes:
            try:
                self._write(write)
            except CopyAll as need:
                needs |= need.terms
        if needs:
            raise CopyAll(needs)

    def _write(self, write: Op) -> None:
        variable, value = write.args
        load = resolve(value, self.groups)
        if is_storage_read(load.base) and not self._is_copied(load.base):
            same = version_of(load.base) is variable and load.layout.is_plain
            if not same and (load.base in self.effects.ends or variable_of(load.base) is variable):
                raise CopyAll({load.base})
        job = self._direct(write, load, variable)
        if job is not None:
            self.home[load.base] = Ref("storage", variable)
            self.written[write] = job
        else:
            self.written[write] = copy_job(value, self.groups, write, own=False)
            self.jobs.append(self.written[write])

    def _direct(self, write: Op, load: Load, variable: Op) -> Job | None:
        """The job that computes straight into storage: nobody else reads what it computes, and it reads in step."""
        base = load.base
        job = self.job_of.get(base)
        if not self.direct or job is None or not load.layout.is_plain or job.raw:
            return None
        if base in self.home or base.size != variable.size or base.dtype != variable.dtype:
            return None
        if base in self.read or self.stored[base] > 1 or holds_up(job, variable, self.jobs):
            return None
        if any(self.home.get(term) == Ref("storage", variable) for term in job.outputs):
            return None  # one job does not write twice
        own = [x for x in job.loads if self._is_own(x.base, variable)]
        if not own or all(x.layout.is_plain and x in job.in_step for x in own):
            return job
        if isinstance(job, LoopJob):
            return None
        return self._direct_part(write, job)

    def _direct_part(self, write: Op, job: Job) -> Job | None:
        """What stores a part of the variable where it lies, once its value is where it cannot be overwritten."""
        variable, value = write.args[0], job.term.args[-1]
        inside = part_only(job, lambda leaf: self._is_current(leaf, write))
        if inside is None:
            return None
        if not reads_in_step(inside, lambda x: self._is_own(x, variable), lambda x: self._is_current(x, write)):
            if value in self.forced:
                return None
            raise CopyAll({value})
        self.job_of[job.term] = inside
        self.jobs = [inside if other is job else other for other in self.jobs]
        return inside

    def _is_own(self, leaf: Op, variable: Op) -> bool:
        """Whether a leaf is the variable where it lies, at whatever time."""
        return is_storage_read(leaf) and variable_of(leaf) is variable and not self._is_copied(leaf)

    def _is_current(self, leaf: Op, write: Op) -> bool:
        """Whether a leaf is the variable that a write overwrites, as it is then, where it lies."""
        ends = self.effects.ends.get(leaf)
        return self._is_own(leaf, write.args[0]) and ends is not None and self.writes[ends] is write

    # -- results ------------------------------------------------------------------------------------

    def _claim_results(self) -> None:
        for i, result in enumerate(self.results):
            load = resolve(result, self.groups)
            claimed = load.base in self.home or load.base not in self.job_of
            if claimed or not load.layout.is_plain or prod(known(load.base)) != prod(known(result)):
                self.jobs.append(copy_job(result, self.groups, i, own=False))
            else:
                self.home[load.base] = Ref("result", i)

    # -- order --------------------------------------------------------------------------------------

    def _ordered(self) -> list[Job]:
        index = {job: i for i, job in enumerate(self.jobs)}
        before: dict[int, list[int]] = {i: [] for i in range(len(self.jobs))}
        done_by = {w: index[job] for w, job in self.written.items()}
        last: dict[Op, Op] = {}
        for write in self.writes:
            if write.args[0] in last:
                before[done_by[write]].append(done_by[last[write.args[0]]])
            last[write.args[0]] = write
        job_of = self.job_of
        for i, job in enumerate(self.jobs):
            for base, _ in job.loads:
                own = job_of.get(base)
                if own is not None and own is not job:
                    before[i].append(index[own])
                elif self.writes and is_storage_read(base):
                    self._order_read(i, base, before, done_by)
        let_overwrite(self.jobs, before)
        numbers = [self.groups.number[job.term] for job in self.jobs]
        owner = {base: index[job] for base, job in job_of.items()}
        order = in_order(numbered(self.jobs, numbers, owner), before)
        if order is None:
            several = [job for i in in_circles(before) if isinstance(job := self.jobs[i], RowJob) and job.stored[1:]]
            raise Cycle({*max(several, key=lambda job: self.groups.number[job.term]).stored} if several else set())
        ordered = [self.jobs[i] for i in order]
        if self.whole:
            return ordered
        waits = {job: [self.jobs[b] for b in before[i]] for i, job in enumerate(self.jobs)}  # in a step of a loop
        return joined(ordered, waits, self.home)

    def _order_read(self, job: int, leaf: Op, before: dict[int, list[int]], done_by: dict[Op, int]) -> None:
        version = version_of(leaf)
        if version in done_by and done_by[version] != job:
            before[job].append(done_by[version])
        ends = self.effects.ends.get(leaf)
        if ends is not None and done_by[self.writes[ends]] != job:
            before[done_by[self.writes[ends]]].append(job)
