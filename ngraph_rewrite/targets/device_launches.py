# SPDX-License-Identifier: Apache-2.0
"""The launches of a plan with loops unrolled, and their arguments, of which a call changes some.

A loop whose steps nobody counts stands there once, as a span that is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from ngraph_rewrite.plan.launches import Loop, Work, kernels
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.shares import Grid
from ngraph_rewrite.runtime.cuda.device import Changed, Launched
from ngraph_rewrite.targets.device_loops import Span
from ngraph_rewrite.targets.device_memory import ProgramMemory
from ngraph_rewrite.waiting import Waiting, finished


class UnrolledLaunches:
    """The launches of a plan, those of loops once for each step.

    Attributes:
        arguments: Of each launch, once they are worked out.
        spans: The launches that are repeated while a flag is true.
    """

    def __init__(self, work: Sequence[Work | Loop], memory: ProgramMemory, functions: Mapping[str, Any]) -> None:
        self._memory, self._functions = memory, functions
        self._every = list(kernels(work))
        first, self._first = 0, list[int]()
        for one in self._every:
            self._first.append(first)
            first += len(one.arguments)
        self._moved = [0] * first
        self.arguments: list[list[int]] = []
        self._addresses: list[int] | None = None  # for which they were worked out, if they were to the end
        self._order: list[tuple[int, list[int]]] = []  # which of the work, and by how much its arguments moved
        self._ends: list[int] = []
        self.spans: list[Span] = []
        number = 0
        for row in work:
            number = finished(self._unroll(row, number))
            self._ends.append(len(self._order))

    def _unroll(self, work: Work | Loop, number: int) -> Waiting[int]:
        if isinstance(work, Work):
            begin = self._first[number]
            self._order.append((number, self._moved[begin : begin + len(work.arguments)]))
            return number + 1
        counted = work.flag is None
        end: int = yield self._repeated(work, work.times, number) if counted else self._span(work, number)
        return end

    def _repeated(self, work: Loop, times: int, number: int) -> Waiting[int]:
        end, begin = number, self._first[number] if number < len(self._first) else 0
        for _ in range(times):
            end = number
            for inner in work.work:
                end = yield self._unroll(inner, end)
            for at, step in work.steps:
                self._moved[begin + at] += step
        for at, step in work.steps:
            self._moved[begin + at] -= step * times
        return end if times else number + sum(1 for _ in kernels(work.work))

    def _span(self, loop: Loop, number: int) -> Waiting[int]:
        first, parts = len(self._order), loop.limit or 0 if loop.steps else 1
        number = yield self._repeated(loop, parts, number)
        if len(self._order) > first:
            assert loop.flag is not None
            self.spans.append(Span(first, len(self._order), loop.flag, loop.limit, parts, loop.term.info.place))
        return number

    def __len__(self) -> int:
        return len(self._order)

    def of_row(self, row: int) -> range:
        """The launches of a row of the plan."""
        return range(self._ends[row - 1] if row else 0, self._ends[row])

    def spans_of_row(self, row: int) -> list[Span]:
        """The spans among the launches of a row of the plan, which are numbered from 0."""
        own = self.of_row(row)
        return [s._replace(first=s.first - own.start, end=s.end - own.start) for s in self.spans if s.first in own]

    def after(self, rows: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Of each launch those that it waits for, given the rows that each row waits for: its own are in order."""
        found: list[tuple[int, ...]] = []
        ends: list[tuple[int, ...]] = []  # of each row what whoever waits for it has to wait for
        for row, waits in enumerate(rows):
            own = self.of_row(row)
            before = tuple(dict.fromkeys(launch for other in waits for launch in ends[other]))
            found += [before if launch == own.start else (launch - 1,) for launch in own]
            ends.append((own.stop - 1,) if own else before)
        return found

    def restart(self) -> None:
        """Forget the arguments, as memory has moved."""
        self._addresses = None

    def update(self) -> list[Changed]:
        """Work out the arguments of this call; those that are others than in the last one, if that came to its end."""
        addresses, before = self._memory.addresses, self._addresses
        if addresses == before:
            return []
        self._addresses = None  # until all are worked out, as an interrupt may come in between
        changed = [] if before is None else self._change(addresses, before)
        if before is None:
            found = [[self._memory.number(a) for a in one.arguments] for one in self._every]
            self.arguments = [[a + by for a, by in zip(found[n], moved, strict=True)] for n, moved in self._order]
        self._addresses = addresses
        return changed

    def _change(self, addresses: Sequence[int], before: Sequence[int]) -> list[Changed]:
        """Put addresses in the place of those before; the arguments that are others now."""
        changed: list[Changed] = []
        for now, was, readers in zip(addresses, before, self._readers, strict=True):
            if now != was:
                for launch, place, into in readers:
                    self.arguments[launch][place] = now + into
                    changed.append((launch, place, now + into))
        return changed

    @cached_property
    def _readers(self) -> list[list[tuple[int, int, int]]]:
        """For each address of a call the arguments that it decides: of which launch, which one, how far from there."""
        found: list[list[tuple[int, int, int]]] = [[] for _ in self._memory.addresses]
        for launch, (number, moved) in enumerate(self._order):
            for place, argument in enumerate(self._every[number].arguments):
                slot = self._memory.slot(argument)
                if slot is not None:
                    assert isinstance(argument, Ref)
                    found[slot].append((launch, place, argument.offset + moved[place]))
        return found

    def launches(self) -> list[Launched]:
        """Each launch with its arguments, as they are in this call."""
        return [self._launched(number, given) for (number, _), given in zip(self._order, self.arguments, strict=True)]

    def _launched(self, number: int, given: Sequence[int]) -> Launched:
        work, grid = self._every[number], self._every[number].share
        assert isinstance(grid, Grid)
        return Launched(self._functions[work.source.name], grid.dimensions, grid.threads, grid.fixed, [*given])
