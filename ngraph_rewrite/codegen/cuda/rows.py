# SPDX-License-Identifier: Apache-2.0
"""Renders kernels over rows for a GPU: a block, or a warp, has a row; or a block has rows that lie side by side.

Where several passes need the same of a row, each thread has some places of it in registers, as many as there is room
for, from the first pass to the last: all of them are read before anything is computed. What is left of a long row is
read anew in each pass, and stays in a cache from one to the next. A block with columns has some threads side by side,
and these many times, down the rows; each thread reads four places at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.accumulators import WARPS, Reduction, in_block, in_columns, in_warp, shared
from ngraph_rewrite.codegen.cuda.lanes import (
    FOUR,
    Lanes,
    can_be_wide,
    decomposed,
    going_on,
    loop,
    product,
    width_test,
)
from ngraph_rewrite.codegen.cuda.passes import Passes
from ngraph_rewrite.codegen.cuda.resident import Resident
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import RowNest, signature
from ngraph_rewrite.codegen.source import Source, indented
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.types.dtypes import as_dtype

_COLUMN_THREADS, _SHARED = 1024, 48 << 10  # of a block with columns, at most; bytes that it has for them
MOST_THREADS = 512  # of a block with a row that nothing is kept of
FITTING = 1024  # threads that a multiprocessor should have
PLACES = 4  # where four neighbours are taken at once
MOST_STEPS = 24  # beyond which four indices at once take too many registers


class RowForm(NamedTuple):
    """What has a row.

    Attributes:
        kind: ``"block"``, ``"warp"``, or ``"columns"`` for rows that lie side by side.
        width: Threads side by side of a block with columns.
        places: Of a row that each thread has in registers; 0 if nothing is kept from one pass to the next.
        near: Neighbours at each of these places: 4, or 1 where rows do not begin at multiples of four.
        threads: Of a block, if that is known.
    """

    kind: str
    width: int = WARP
    places: int = 0
    near: int = FOUR
    threads: int = 0


def render_rows(nest: RowNest, form: RowForm) -> Source:
    """Return the kernel of a nest over rows, for any number of blocks and of threads."""
    kernel = _Rows(nest, Passes(nest), form)
    names, body = signature(nest), "\n".join(kernel.lines())
    return rendered("rows", names, "cuda", nest=body)


@dataclass(frozen=True)
class _Rows:
    nest: RowNest
    stages: Passes
    form: RowForm

    @cached_property
    def kept(self) -> list[int]:
        return [dim for dim, reduced in enumerate(self.nest.reduced) if not reduced]

    @cached_property
    def reduced(self) -> list[int]:
        return [dim for dim, reduced in enumerate(self.nest.reduced) if reduced]

    @cached_property
    def reductions(self) -> dict[int, Reduction]:
        return _reductions(self.nest)

    def lines(self) -> list[str]:
        """The body of the kernel."""
        length = [f"length = {product(self.reduced)}"]
        if self.form.kind == "columns":
            return [f"launch_bounds({column_threads(self.nest)}, 1)", *length, *self._columns()]
        every = "block()", "blocks()"
        memory = shared(self.reductions.values(), WARPS)
        if self.form.kind == "warp":
            every, memory = ("warp()", "warps()"), []
        own = "lane()" if self.form.kind == "block" else "lane() % warp_lanes()"
        begin = [f"own = anew({own})"] if self.form.places else []
        body = [*begin, *decomposed("row", self.kept), *self._row()]
        threads = self.form.threads if self.form.places else MOST_THREADS
        bounds = f"launch_bounds({threads}, {-(-FITTING // threads) if self.form.places else 1})"
        rows = loop("row", every[0], "rows", every[1], body)
        return [bounds, *length, f"rows = {product(self.kept)}", *memory, *self._widths(), *rows]

    def _columns(self) -> list[str]:
        """Groups of columns that lie side by side, one after the other."""
        *outer, inner = self.kept
        lines = [
            *shared(self.reductions.values(), column_threads(self.nest)),
            f"width = lesser({self.form.width}, lanes())",
            "depth = lanes() // width",
            "down = lane() // width",
            "beside = lane() - down * width",
            f"across = quotient(n{inner} + width - 1, width)",
            f"groups = {product(outer)} * across" if outer else "groups = across",
        ]
        begin = ["outside = quotient(group, across)", f"i{inner} = (group - outside * across) * width + beside"]
        begin += [f"inside = i{inner} < n{inner}", *decomposed("outside", outer)]
        # threads past the last column do what the last one does, and store nothing
        begin.append(f"i{inner} = lesser(i{inner}, n{inner} - 1)")
        return lines + loop("group", "block()", "groups", "blocks()", [*begin, *self._row()])

    # -- one row -------------------------------------------------------------------------------------------------------

    def _row(self) -> list[str]:
        lines = self._between(0)
        for number in range(self.stages.passes):
            reductions = [self.reductions[r] for r in self.stages.reductions(number)]
            lines += [line for one in reductions for line in one.begun()]
            lines += self._pass(number)
            if reductions:
                lines += {"block": in_block, "warp": in_warp, "columns": in_columns}[self.form.kind](reductions)
            lines += self._between(number + 1)
        together = sum(bool(self.stages.reductions(number)) for number in range(self.stages.passes))
        # of several times that a block waits within a row, each is between two of any other
        return [*lines, "barrier()"] if together == 1 and self.form.kind != "warp" else lines

    def _between(self, stage: int) -> list[str]:
        """What is known once a row after some passes, and stored by one of its threads."""
        nest, lanes = self.nest, Lanes(self.nest)
        lines: list[str] = []
        for value in self.stages.narrow:
            if nest.stages[value] == stage:
                own = self.reductions.get(value)
                lines += lanes.computed([value]) if own is None else [own.ended(value)]
        stores = [line for i in self.stages.stored_before(stage) for line in lanes.stored(i)]
        first = {"block": "lane() == 0", "warp": "lane() % warp_lanes() == 0", "columns": "inside and down == 0"}
        return [*lines, f"if {first[self.form.kind]}:", indented("\n".join(stores), 4)] if stores else lines

    def _pass(self, number: int) -> list[str]:
        """One pass over a row: of its threads each has some of the places."""
        if self.form.kind == "columns":
            return self._pass_of_columns(number)
        own, step = self._threads
        lines = []
        if self.form.places:
            lines, done = self._resident.part(number), f"{self.form.places} * {step} + {own}"
            if self.form.near == 1:
                return lines + self._one_by_one(number, done)
            lines += [f"at = {done}", *self._wide(number, 1, step)]
        elif self._is_wide:
            several = self._wide(number, PLACES, step) if self._reads_memory(number) else []
            lines = [f"at = {own}", *several, *self._wide(number, 1, step)]
        return lines + self._one_by_one(number, f"{FOUR} * wide + {own}" if lines else own)

    @cached_property
    def _resident(self) -> Resident:
        own, step = self._threads
        return Resident(self.nest, self.form.places, self.form.near, own, step, self.reductions)

    @property
    def _threads(self) -> tuple[str, str]:
        """Which of those that have a row this thread is, and how many they are."""
        if self.form.kind == "warp":
            return "own" if self.form.places else "lane() % warp_lanes()", "warp_lanes()"
        return ("own", f"lanes_of({self.form.threads})") if self.form.places else ("lane()", "lanes()")

    def _one_by_one(self, number: int, start: str) -> list[str]:
        """The part of a pass that takes single places, from one on."""
        body = [*decomposed("at", self.reduced), *self._at(Lanes(self.nest), number, ["at"])]
        return loop("at", start, "length", self._threads[1], body)

    def _reads_memory(self, number: int) -> bool:
        """Whether a pass should have several reads of memory under way: unless it looks for a place."""
        if any(len(self.reductions[r].variables) > 1 for r in self.stages.reductions(number)):
            return False
        return any(v < len(self.nest.loads) for v in self.stages.needs(number))

    def _wide(self, number: int, count: int, step: str) -> list[str]:
        """The part of a pass that takes four neighbours at a time, at so many places at once."""
        apart = frozenset(self.reduced if count > 1 else ())
        lanes, body = Lanes(self.nest, FOUR, apart, count), list[str]()
        for p in range(count):
            suffix = f"_{p}" if count > 1 else ""
            body.append(f"first{suffix} = {FOUR} * (at + {p} * {step})" if p else f"first{suffix} = {FOUR} * at")
            body += decomposed(f"first{suffix}", self.reduced, suffix)
        firsts = [f"first_{p}" for p in range(count)] if count > 1 else ["first"]
        body += self._at(lanes, number, [f"{first} + {k}" for first in firsts for k in range(FOUR)])
        if count == 1:
            return going_on("at", "wide", step, body)
        return going_on("at", "wide", f"{count} * {step}", body, f" + {count - 1} * {step}")

    def _pass_of_columns(self, number: int) -> list[str]:
        """One pass, four places down the rows at once, then one by one."""
        lines, lanes = ["at = down"], Lanes(self.nest, 1, frozenset(self.reduced), FOUR)
        if len(self.nest.steps) <= MOST_STEPS and self.reduced:
            places = ["at", *(f"at + {lane} * depth" for lane in range(1, FOUR))]
            body = [line for k, at in enumerate(places) for line in decomposed(f"({at})", self.reduced, f"_{k}")]
            body += self._at(lanes, number, places)
            lines += going_on("at", "length", f"{FOUR} * depth", body, f" + {FOUR - 1} * depth")
        body = [*decomposed("at", self.reduced), *self._at(Lanes(self.nest), number, ["at"])]
        return lines + going_on("at", "length", "depth", body)

    def _at(self, lanes: Lanes, number: int, places: list[str]) -> list[str]:
        """What a pass does at some places of a row."""
        lines = lanes.computed(self.stages.needs(number))
        for value in self.stages.reductions(number):
            names, one = lanes.names(self.stages.operands(value)[0]), self.reductions[value]
            lines += one.taken_together(names, places) if len(names) > 1 else one.taken(names[0], places[0])
        stores = [line for i in self.stages.stores(number) for line in lanes.stored(i)]
        if self.form.kind == "columns" and stores:
            stores = ["if inside:", indented("\n".join(stores), 4)]
        return lines + stores

    # -- four places at once -------------------------------------------------------------------------------------------

    def _widths(self) -> list[str]:
        """How many accesses of four elements a row has: the same in all passes, so that threads keep their places."""
        if not self._is_wide:
            return []
        return ["wide = 0", f"if {width_test(self.nest, self._moving)}:", f"    wide = length // {FOUR}"]

    @cached_property
    def _moving(self) -> list[int]:
        """The stores that move along a row."""
        return [i for number in range(self.stages.passes) for i in self.stages.stores(number)]

    @cached_property
    def _is_wide(self) -> bool:
        if self.form.kind == "columns" or (self.form.places and self.form.near == 1):
            return False
        return lies_side_by_side(self.nest) and (self.form.places > 0 or len(self.nest.steps) <= MOST_STEPS)


def _reductions(nest: RowNest) -> dict[int, Reduction]:
    """The reductions of a nest, by value."""
    steps = {value: nest.steps[value - len(nest.loads)] for value in nest.reductions}
    return {v: Reduction(step.op, nest.dtypes[step.operands[0]], k) for k, (v, step) in enumerate(steps.items())}


def column_threads(nest: RowNest) -> int:
    """How many threads a block with columns has at most: each leaves what it found in shared memory."""
    kinds = [dtype for one in _reductions(nest).values() for _, dtype in one.variables]
    each, threads = sum(as_dtype(dtype).itemsize for dtype in kinds), _COLUMN_THREADS
    while threads * each > _SHARED:
        threads //= 2
    return threads


def lies_side_by_side(nest: RowNest) -> bool:
    """Whether four neighbours along a row can be read, and written, by one access if they are aligned."""
    stages = Passes(nest)
    moving = [i for number in range(stages.passes) for i in stages.stores(number)]
    return any(nest.reduced) and nest.reduced[-1] and can_be_wide(nest, moving)
