# SPDX-License-Identifier: Apache-2.0
"""Operands of products that are maps are computed by the kernel of the product, a block at a time, where it packs them.

They are never in memory as a whole: numbers of 16 bits, or whole numbers with a scale, are read as they are kept. What
is grouped is jobs, after maps over products have found theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ngraph_rewrite.plan.epilogues import Graph, epilogue_time
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.matrices import Matrix
from ngraph_rewrite.plan.operand_maps import OperandMap
from ngraph_rewrite.plan.product_jobs import ProductJob, lies_there
from ngraph_rewrite.plan.products import EPILOGUE, Product, product_calls
from ngraph_rewrite.plan.rows import RowJob, thin_job
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, DTYPE_SIZES, known
from ngraph_rewrite.plan.shares import op_time, rate
from ngraph_rewrite.plan.views import Layout, reshaped
from ngraph_rewrite.terms.op import Op

# Nanoseconds to launch a map and to wait for it; to pack a number.
_LAUNCHED, _PACKED = 2_000, 0.05


def with_prologues(jobs: Sequence[Job], kept: set[Op], groups: Groups) -> list[Job]:
    """The jobs, with maps that only one product reads drawn into it, if the target has kernels that do so.

    Args:
        kept: What has to be in memory although no job may read it.
    """
    if not groups.renderer.prologues:
        return list(jobs)
    graph = Graph(jobs, kept, groups)
    makers = {job.term: job for job in jobs if job.is_one_map}
    made: dict[Job, Job] = {}
    for job in jobs:
        given = job.given if isinstance(job, RowJob) else job.calls[-1].given if job.calls else None
        if isinstance(given, Product) and given.terms == 1 and any(load.base in makers for load in given.factors):
            found = _Merged(job, given, graph).with_operands(makers)
            if found is not job:
                made[job] = found
    return [made.get(job, job) for job in jobs if job not in graph.taken]


@dataclass
class _Merged:
    """A product that may compute its operands."""

    job: Job
    given: Product
    graph: Graph

    def with_operands(self, makers: dict[Op, Job]) -> Job:
        """Its job with those operands that are better computed by it."""
        count, m, n, k = self.given.sizes
        taken: list[Job] = []
        for side, matrix, shape in (("a", self.given.a, (count, m, k)), ("b", self.given.b, (count, k, n))):
            maker = makers.get(matrix.load.base)
            if maker is None or not self._is_only_here(maker):
                continue
            found = _operand_map(maker, matrix, shape)
            if found is not None and self._is_cheaper(found, side, shape):
                self.given = self.given.computing(side, found)
                taken.append(maker)
        self.graph.taken.update(taken)
        return self._job(tuple([maker.term for maker in taken])) if taken else self.job

    def _is_only_here(self, maker: Job) -> bool:
        """Whether only this product needs what a job computes, once, and may as well wait with it."""
        job, graph, term = self.job, self.graph, maker.term
        if not graph.is_map(maker, prod(known(term))) or graph.is_outside(term, [job]):
            return False
        if DTYPE_NAMES[term.type.dtype] != self.given.multiplied or [x.base for x in job.loads].count(term) > 1:
            return False
        # the product must not wait for a write that ends what the map reads: sets of writes are bits of numbers
        effects, waits = graph.groups.effects, 0
        for computed in (job.term, *job.outputs):
            waits |= effects.waits.get(computed, 0)
        ends = [effects.ends.get(load.base) for load in maker.loads]
        return not any(end is not None and waits >> end & 1 for end in ends)

    def _is_cheaper(self, found: OperandMap, side: str, shape: tuple[int, int, int]) -> bool:
        """Whether to compute it for each group that needs it takes less time than to write and to read it."""
        count, rows, columns = shape
        given = self.given.computing(side, found)
        _, m, n, _ = given.sizes
        down, across = (m, n) if given.is_thin else given.groups
        times = (across if side == "a" else down) * count // max(found.distinct, 1)
        size, elements = DTYPE_SIZES[given.dtype], found.distinct * rows * columns
        each = sum(map(op_time, found.operations)) + sum(
            DTYPE_SIZES[DTYPE_NAMES[load.base.type.dtype]] / rate(elements * size) for load in found.loads
        )
        kept = elements * (each + 2 * size / rate(elements * size)) + _LAUNCHED
        return times * elements * (each + _PACKED) <= kept

    def _job(self, inlined: tuple[Op, ...]) -> Job:
        """The work of the product, which may be a sum of rows now."""
        job, given, groups = self.job, self.given, self.graph.groups
        if isinstance(job, ProductJob) and job.program is not None:
            program, stored, inlined = job.program, job.stored, (*job.inlined, *inlined)
            if given.is_thin:
                found: ProductJob | RowJob = thin_job(job.term, given, groups, program, stored)
            else:
                there = lies_there(given, program, stored)
                calls = product_calls(given, EPILOGUE, epilogue_time(program, stored), there)
                found = ProductJob(job.term, calls=calls, given=given, program=program, stored=stored, there=there)
        elif given.is_thin:
            found = thin_job(job.term, given, groups)
        else:
            found = ProductJob(job.term, calls=product_calls(given), given=given, stored={job.term: -1})
        found.inlined = inlined
        return found


def _operand_map(job: Job, matrix: Matrix, shape: tuple[int, int, int]) -> OperandMap | None:
    """The operand that a job computes, an elementwise nest; None if strides cannot say what the product sees of it.

    The inner loop is the one along which most of what it reads lies.

    Args:
        shape: The number of matrices, their rows and columns.
    """
    found = _seen(job, matrix, shape)
    if found is None:
        return None
    layouts, distinct = found
    piece = job.pieces[0]
    along, down = (sum(at.strides[axis] == 1 < at.shape[axis] for at in layouts) for axis in (2, 1))
    if down > along:
        layouts = [_turned(layout) for layout in layouts]
    body = piece.body
    return OperandMap(tuple(body.loads), tuple(layouts), tuple(body.steps), piece.value, down > along, distinct)


def _seen(job: Job, matrix: Matrix, shape: tuple[int, int, int]) -> tuple[list[Layout], int] | None:
    """The layouts of what a job reads for the matrices, rows and columns of a product, and how many matrices differ."""
    count, rows, columns = shape
    (apart, down, along), (_, seen) = matrix.strides, matrix.load
    distinct = 1 if apart == 0 else count
    if seen.offset or (distinct > 1 and apart != rows * columns):
        return None
    body = job.pieces[0].body
    in_rows = (rows == 1 or down == columns) and (columns == 1 or along == 1)
    in_columns = (rows == 1 or down == 1) and (columns == 1 or along == rows)
    if not in_rows and not in_columns:
        return None
    lying = (distinct, rows, columns) if in_rows else (distinct, columns, rows)
    layouts: list[Layout] = []
    for load in body.loads:
        found = reshaped(load.layout, lying)
        if found is None:
            return None
        found = found if in_rows else _turned(found)
        strides = found.strides if distinct == count else (0, *found.strides[1:])
        layouts.append(Layout(found.offset, shape, strides))
    return layouts, distinct


def _turned(layout: Layout) -> Layout:
    """The columns as rows."""
    (count, rows, columns), (apart, down, along) = layout.shape, layout.strides
    return Layout(layout.offset, (count, columns, rows), (apart, along, down))
