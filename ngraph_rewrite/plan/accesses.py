# SPDX-License-Identifier: Apache-2.0
"""Which memory each launch of a plan reads and writes, and what therefore has to wait for what.

Launches of which neither writes what the other one touches may run at once, or in any order. It is said of whole
blocks: a launch that stores a slice of a variable is taken to write all of it.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.launches import Loop, Work, base_address, kernels, target_of
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.plan.shapes import bytes_of
from ngraph_rewrite.terms.op import Op

# What functions of a library work in: they share it.
_LIBRARY = ("library", 0)


class Span(NamedTuple):
    """Some bytes of what a space and a key name (as in a `Ref`)."""

    memory: tuple[str, object]
    begin: int
    end: int


class Access(NamedTuple):
    """What a launch reads, and what it writes; where it works in memory of its own, it writes that."""

    reads: tuple[Span, ...] = ()
    writes: tuple[Span, ...] = ()


def access(job: Job, work: Iterable[Work | Loop], home: Mapping[Op | Scratch, Ref]) -> Access:
    """What the launches of a job touch."""
    reads = {span(base_address(job, base, home), bytes_of(base)) for base, _ in job.loads}
    writes = {span(home[scratch], scratch.size()) for scratch in job.scratch}
    if job.destination is None:
        writes |= {span(home[term], bytes_of(term)) for term in job.outputs}
    else:
        writes.add(span(target_of(job, home), bytes_of(job.term)))
    if any(one.source.library for one in kernels(work)):
        writes.add(Span(_LIBRARY, 0, 1))
    return Access(tuple(reads), tuple(writes))


def span(ref: Ref, size: int) -> Span:
    """So many bytes from an address on."""
    return Span((ref.space, ref.key), ref.offset, ref.offset + size)


class _Cell:
    """Neighbouring bytes that were last written, and read since then, by the same launches."""

    __slots__ = ("begin", "end", "readers", "writer")

    def __init__(self, begin: int, end: int, writer: int, readers: list[int]) -> None:
        self.begin, self.end, self.writer, self.readers = begin, end, writer, readers


class _Memory:
    """One stretch of memory: disjoint cells in order, of those bytes that anything touched."""

    def __init__(self) -> None:
        self._cells: list[_Cell] = []

    def read(self, begin: int, end: int, launch: int) -> Iterable[int]:
        """What a launch that reads has to wait for."""
        first, last = self._cut(begin, end)
        inside, covered = self._cells[first:last], begin
        made: list[_Cell] = []
        for cell in inside:
            if covered < cell.begin:
                made.append(_Cell(covered, cell.begin, -1, [launch]))
            cell.readers.append(launch)
            made.append(cell)
            covered = cell.end
        if covered < end:
            made.append(_Cell(covered, end, -1, [launch]))
        self._cells[first:last] = made
        return [cell.writer for cell in inside]

    def write(self, begin: int, end: int, launch: int) -> Iterable[int]:
        """What a launch that writes has to wait for."""
        first, last = self._cut(begin, end)
        waits = [other for cell in self._cells[first:last] for other in (cell.writer, *cell.readers)]
        self._cells[first:last] = [_Cell(begin, end, launch, [])] if begin < end else []
        return waits

    def _cut(self, begin: int, end: int) -> tuple[int, int]:
        """The numbers of the cells between two places, cells across them having been divided."""
        for place in (begin, end):
            at = bisect.bisect_right(self._cells, place, key=lambda cell: cell.begin) - 1
            if at >= 0 and self._cells[at].begin < place < self._cells[at].end:
                cell = self._cells[at]
                self._cells.insert(at + 1, _Cell(place, cell.end, cell.writer, list(cell.readers)))
                cell.end = place
        first = bisect.bisect_left(self._cells, begin, key=lambda cell: cell.begin)
        return first, bisect.bisect_left(self._cells, end, key=lambda cell: cell.begin)


def dependencies(accesses: Sequence[Access]) -> list[tuple[int, ...]]:
    """Of each launch those before it for which it has to wait, but for what they wait for themselves.

    A read waits for the last write of what it reads, a write also for all reads since then.

    >>> a, b, c = (Span(("arena", 0), n, n + 8) for n in (0, 8, 16))
    >>> dependencies([Access((), (a,)), Access((), (b,)), Access((a, b), (c,)), Access((), (a,))])
    [(), (), (0, 1), (2,)]
    """
    memories: dict[tuple[str, object], _Memory] = {}
    before: list[int] = []  # of each launch all that has to be done, as bits
    found: list[tuple[int, ...]] = []
    for launch, (reads, writes) in enumerate(accesses):
        waits: set[int] = set()
        for memory, begin, end in reads:
            waits.update(memories.setdefault(memory, _Memory()).read(begin, end, launch))
        for memory, begin, end in writes:
            waits.update(memories.setdefault(memory, _Memory()).write(begin, end, launch))
        done, own = 0, list[int]()
        for other in sorted(waits - {-1, launch}, reverse=True):
            if not done >> other & 1:
                own.append(other)
                done |= before[other] | 1 << other
        before.append(done)
        found.append(tuple(sorted(own)))
    return found


def finishing(accesses: Sequence[Access], after: Sequence[Sequence[int]], memory: tuple[str, object]) -> int | None:
    """The launch after which some memory is as all launches leave it; None if there is not one.

    Args:
        after: What each launch waits for.
    """
    writers = [n for n, (_, writes) in enumerate(accesses) if any(each.memory == memory for each in writes)]
    return writers[-1] if writers and done_with(after, writers[-1]).issuperset(writers) else None


def done_with(after: Sequence[Sequence[int]], launch: int) -> set[int]:
    """What is done when a launch is, given what each waits for.

    >>> sorted(done_with([(), (), (0,), (2,)], 3))
    [0, 2, 3]
    """
    found, pending = {launch}, [launch]
    while pending:
        more = [other for other in after[pending.pop()] if other not in found]
        found.update(more)
        pending += more
    return found
