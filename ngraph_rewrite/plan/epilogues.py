# SPDX-License-Identifier: Apache-2.0
"""Maps over a product of matrices are done block by block by the kernel of the product, while a block is in the cache.

The product is stored only if something else reads it. What is grouped is jobs, when all of them are known: first the
one map that reads a product, if there is but one; then maps over what the group stores, each of which saves reading it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul

from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.fusion import LARGEST_GROUP, Groups
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.kinds import LONG
from ngraph_rewrite.plan.nests import Position
from ngraph_rewrite.plan.product_jobs import EpilogueProgram, ProductJob, is_same, lies_there
from ngraph_rewrite.plan.products import Product
from ngraph_rewrite.plan.renderer import Epilogues
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import nest_share
from ngraph_rewrite.plan.views import Layout, reshaped, row_major
from ngraph_rewrite.terms.op import Op

# A product is one of several if it has so many rows, for which B is packed, and columns.
_MANY_ROWS, _NARROW = 85, 32
# Maps in a group; and terms whose value is there at once, whenever it is read.
_MOST = 8
_AT_ONCE = ("core.placeholder", "core.constant", "core.variable")


@dataclass(eq=False)
class Graph:
    """What grouping has to know of all jobs: who reads a term, what has to be in memory anyhow."""

    jobs: Sequence[Job]
    kept: set[Op]
    groups: Groups

    def __post_init__(self) -> None:
        self.number = self.groups.number
        self.readers: dict[Op, list[Job]] = {}
        for job in self.jobs:
            for base in dict.fromkeys([load.base for load in job.loads]):
                self.readers.setdefault(base, []).append(job)
        self.taken: set[Job] = set()

    def is_map(self, job: Job, size: int) -> bool:
        """Whether it is an elementwise loop nest over so many elements, which no group has yet."""
        if job in self.taken or job.raw or job.destination is not None or not job.is_one_map:
            return False
        if job.term.definition.name in LONG:
            return False
        body, whole = job.pieces[0].body, job.pieces[0].store.is_plain
        if not whole or prod(body.shape) != size:
            return False
        return not any(type(step[3]) is Position for step in body.steps)

    def is_outside(self, term: Op, group: Sequence[Job]) -> bool:
        """Whether anything reads a term but the jobs of a group."""
        return term in self.kept or any(reader not in group for reader in self.readers.get(term, ()))


def with_epilogues(jobs: Sequence[Job], kept: set[Op], groups: Groups) -> list[Job]:
    """The jobs, with maps over products drawn into these, if the target has kernels that do so.

    Args:
        kept: What has to be in memory although no job may read it.
    """
    products = [job for job in jobs if job.calls and isinstance(job.calls[-1].given, (Product, Convolution))]
    epilogues = groups.renderer.epilogues
    if not products or epilogues is None:
        return list(jobs)
    graph, made = Graph(jobs, kept, groups), dict[Job, Job]()
    for job in sorted(products, key=lambda job: -graph.number[job.term]):
        readers = graph.readers.get(job.term, ())
        size = prod(known(job.term))
        is_read = any(graph.is_map(reader, size) for reader in readers)
        group = _Group(job, graph, epilogues.is_called) if is_read else None
        if group is not None and len(group.members) > 1:
            graph.taken.update(group.members)
            made[group.members[-1]] = group.job(epilogues)
    return [made.get(job, job) for job in jobs if job in made or job not in graph.taken]


class _Group:
    """A product and the maps that its kernel will do.

    Args:
        splits: Whether a product may be several of fewer columns.
    """

    def __init__(self, job: Job, graph: Graph, splits: bool) -> None:
        self.graph, self.members, self._splits = graph, [job], splits and len(job.calls) == 1
        self.waits, self.ends = 0, 0
        self._joins(job)
        given = job.calls[-1].given
        assert isinstance(given, (Product, Convolution))
        self.given: Product | Convolution = given
        readers = graph.readers.get(job.term, [])
        alone = len(readers) == 1 and job.term not in graph.kept
        self.program = self._program(job, readers[0] if alone else None)
        if alone and self._takes(readers[0]):
            job = readers[0]
        self._limit, pending = graph.number[job.term], [job.term]
        while pending:
            for reader in graph.readers.get(pending.pop(), ()):
                if reader.is_one_map and reader not in self.members and self._is_before(reader) and self._takes(reader):
                    pending.append(reader.term)

    def _program(self, job: Job, reader: Job | None) -> EpilogueProgram:
        """An empty program; of a product that its one reader sees otherwise, over a product whose rows are so."""
        given = self.given
        if reader is not None and isinstance(given, Product) and self.graph.is_map(reader, prod(given.sizes[:3])):
            seen = next(load.layout for load in reader.pieces[0].body.loads if load.base is job.term)
            ways = () if seen.is_plain else _other_ways(given, seen.shape, self._splits)
            for other, layout in ways:
                found = reshaped(seen, layout.shape)
                if found is not None and is_same(found, layout):
                    self.given = other
                    return EpilogueProgram(job.term, other, layout)
        return EpilogueProgram(job.term, given, row_major(given.sizes[:3]))

    def _is_before(self, reader: Job) -> bool:
        """Whether what a map reads besides is there before the group begins: else the group might wait for itself."""
        number = self.graph.number
        others = [load.base for load in reader.loads if load.base not in self.program.values]
        return all(number[base] < self._limit or base.definition.name in _AT_ONCE for base in others)

    def _takes(self, job: Job) -> bool:
        """Take a map in, if it can be; say so."""
        steps = len(self.program.steps) + len(job.pieces[0].body.steps) if job.pieces else 0
        if not self.graph.is_map(job, prod(self.program.shape)) or steps > LARGEST_GROUP:
            return False
        before = self.waits, self.ends
        if len(self.members) > _MOST or not self._joins(job) or not self.program.takes(job):
            self.waits, self.ends = before
            return False
        self.members.append(job)
        return True

    def _joins(self, job: Job) -> bool:
        """Note what a job waits for and which writes end what it reads; whether nothing read ends before it is."""
        effects = self.graph.groups.effects
        if not effects.ends:
            return True
        self.waits |= effects.waits.get(job.term, 0)
        for load in job.loads:
            end = effects.ends.get(load.base)
            self.ends |= 0 if end is None else 1 << end
        return not self.waits & self.ends

    def job(self, epilogues: Epilogues) -> ProductJob:
        """The job of the group."""
        values = self.program.values
        stored = {t: v for t, v in values.items() if self.graph.is_outside(t, self.members)}
        if not stored:
            stored = dict([list(values.items())[-1]])
        there = epilogues.is_called and lies_there(self.given, self.program, stored)
        return ProductJob(
            next(iter(stored)),
            calls=epilogues.calls(self.given, epilogue_time(self.program, stored), there),
            given=self.given,
            program=self.program,
            stored=stored,
            inlined=tuple([t for t in values if t not in stored]),
            there=there,
        )


def _other_ways(given: Product, shape: tuple[int, ...], splits: bool) -> Iterator[tuple[Product, Layout]]:
    """Products that give the same numbers in another order, and where these are in the memory of the product.

    It may be transposed. One product is also several of fewer columns, if a map runs over these one after the other.

    Args:
        shape: Over what the map runs.
        splits: Whether the product may be several.
    """
    count, m, n, _ = given.sizes
    ways = (given, n, 1), (given.transposed, 1, n)
    yield ways[1][0], Layout(0, (count, n, m), (m * n, 1, n))
    for first in accumulate(shape, mul) if splits and count == given.terms == 1 else ():
        for way, row, column in ways:
            _, rows, columns, _ = way.sizes
            length = columns // max(first, 1)
            if columns == first * length and _NARROW <= length < columns and rows >= _MANY_ROWS:
                yield way.by_columns(length), Layout(0, (first, rows, length), (length * column, row, column))


def epilogue_time(program: EpilogueProgram, stored: Iterable[Op]) -> float:
    """About how many nanoseconds maps over a product take for each of its numbers."""
    widths = [term.type.dtype.itemsize for term in (*(load.base for load in program.loads), *stored)]
    return nest_share(1, False, (1000,), widths, [step[0] for step in program.steps]).time / 1000
