# SPDX-License-Identifier: Apache-2.0
"""Renders kernels over rows for a GPU: a block, or a warp, has a row; or a block has rows that lie side by side.

Where a row is short enough, what later passes need of it is kept in shared memory; else it is read anew in each pass,
and stays in a cache from one to the next. A block with columns has some threads side by side, and these many times,
down the rows; each thread reads four places at once.
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
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import RowNest, signature
from ngraph_rewrite.codegen.source import Source, indented

COLUMN_THREADS = 1024  # of a block with columns, at most
WARPS_OF_ROWS = 4  # in a block whose warps have rows, at most
PLACES = 4  # where four neighbours are taken at once
MOST_STEPS = 24  # beyond which four indices at once take too many registers


class RowForm(NamedTuple):
    """What has a row.

    Attributes:
        kind: ``"block"``, ``"warp"``, or ``"columns"`` for rows that lie side by side.
        width: Threads side by side of a block with columns.
        room: Elements that a row has at most, if some of it is kept in shared memory; else 0.
    """

    kind: str
    width: int = 32
    room: int = 0


def render_rows(nest: RowNest, form: RowForm) -> Source:
    """Return the kernel of a nest over rows, for any number of blocks and of threads."""
    kernel = _Rows(nest, Passes(nest, form.room), form)
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
        first = len(self.nest.loads)
        found = {}
        for number, value in enumerate(self.nest.reductions):
            step = self.nest.steps[value - first]
            found[value] = Reduction(step.op, self.nest.dtypes[step.operands[0]], number)
        return found

    def lines(self) -> list[str]:
        """The body of the kernel."""
        length = [f"length = {product(self.reduced)}"]
        if self.form.kind == "columns":
            return [*length, *self._columns()]
        every = "block()", "blocks()"
        memory = shared(self.reductions.values(), WARPS)
        if self.form.kind == "warp":
            every, memory = ("warp()", "warps()"), []
        body = [*decomposed("row", self.kept), *self._row()]
        rows = loop("row", every[0], "rows", every[1], body)
        return [*length, f"rows = {product(self.kept)}", *memory, *self._room(), *self._widths(), *rows]

    def _room(self) -> list[str]:
        """The shared memory in which values are kept: of each warp its own, if warps have rows."""
        if not self.stages.kept:
            return []
        each = self.form.room + FOUR
        count = WARPS_OF_ROWS if self.form.kind == "warp" else 1
        lines = [f"k{i} = shared_{dtype}({each * count})" for i, dtype in enumerate(self.stages.arrays)]
        return [*lines, f"own = lane() // warp_lanes() * {each}" if count > 1 else "own = 0"]

    def _columns(self) -> list[str]:
        """Groups of columns that lie side by side, one after the other."""
        *outer, inner = self.kept
        lines = [
            *shared(self.reductions.values(), COLUMN_THREADS),
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
        return lines

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
        own, step = ("lane()", "lanes()") if self.form.kind == "block" else ("lane() % warp_lanes()", "warp_lanes()")
        lines, start = [], own
        if self._is_wide:
            several = self._wide(number, PLACES, step) if self._reads_memory(number) else []
            lines += [f"at = {own}", *several, *self._wide(number, 1, step)]
            start = f"{FOUR} * wide + {own}"
        body = [*decomposed("at", self.reduced), *self._at(Lanes(self.nest), number, ["at"])]
        return lines + loop("at", start, "length", step, body)

    def _reads_memory(self, number: int) -> bool:
        """Whether a pass should have several reads of memory under way: unless it looks for a place."""
        if any(len(self.reductions[r].variables) > 1 for r in self.stages.reductions(number)):
            return False
        loads = [v for v in self.stages.needs(number) if v < len(self.nest.loads)]
        return any(number == 0 or v not in self.stages.kept for v in loads)

    def _wide(self, number: int, count: int, step: str) -> list[str]:
        """The part of a pass that takes four neighbours at a time, at so many places at once."""
        lanes, body = Lanes(self.nest, FOUR, frozenset(self.reduced), count), list[str]()
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
        lines = []
        for value in self.stages.needs(number):
            if value in self.stages.kept and self.nest.stages[value] < number:
                lines += [f"{v} = element({at})" for v, at in self._kept_at(value, lanes)]
            else:
                lines += lanes.computed([value])
                if value in self.stages.kept:
                    lines += [f"set_element({at}, {v})" for v, at in self._kept_at(value, lanes)]
        for value in self.stages.reductions(number):
            names, one = lanes.names(self.stages.operands(value)[0]), self.reductions[value]
            lines += one.taken_together(names, places) if len(names) > 1 else one.taken(names[0], places[0])
        stores = [line for i in self.stages.stores(number) for line in lanes.stored(i)]
        if self.form.kind == "columns" and stores:
            stores = ["if inside:", indented("\n".join(stores), 4)]
        return lines + stores

    def _kept_at(self, value: int, lanes: Lanes) -> list[tuple[str, str]]:
        """The names of a value, and where each is kept: threads side by side have places side by side.

        What is behind the last four places of a row has places behind all others.
        """
        names, room, array = lanes.names(value), self.form.room, f"k{self.stages.kept[value].workspace}"
        if lanes.near > 1:
            step = "lanes()" if self.form.kind == "block" else "warp_lanes()"
            places = ["at" if p == 0 else f"at + {p} * {step}" for p in range(lanes.places)]
            spots = [f"{array}, own + {k * room // FOUR} + {at}" for at in places for k in range(FOUR)]
            return list(zip(names, spots, strict=True))
        behind = f"select(wide > 0, at - {FOUR} * wide + {room}, at)" if self._is_wide else "at"
        return [(names[0], f"{array}, own + {behind}")]

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
        if self.form.kind == "columns" or not self.reduced or self.reduced[-1] != self.nest.rank - 1:
            return False
        return can_be_wide(self.nest, self._moving) and len(self.nest.steps) <= MOST_STEPS
