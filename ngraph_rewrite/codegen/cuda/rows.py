# SPDX-License-Identifier: Apache-2.0
"""Renders kernels over rows for a GPU: a block, or a warp, has a row; or a block has rows that lie side by side.

Where several passes need the same of a row, each thread has some places of it in registers, as many as there is room
for, from the first pass to the last: all of them are read before anything is computed. What is left of a long row is
read anew in each pass, and stays in a cache from one to the next. Where a row does not lie as was hoped for, nothing of
it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ngraph_rewrite.codegen.cuda.accumulators import (
    REGISTERS,
    WARPS,
    Reduction,
    in_block,
    in_warp,
    reductions_of,
    registers_for,
    shared,
)
from ngraph_rewrite.codegen.cuda.columns import columns
from ngraph_rewrite.codegen.cuda.forms import FITTING, MOST_THREADS, RowForm
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
from ngraph_rewrite.codegen.nest import FUNCTIONS, RowNest, signature
from ngraph_rewrite.codegen.source import Source, indented
from ngraph_rewrite.runtime.cuda.hardware import REGISTER_FILE

PLACES = 4  # of a row that are taken at once, four neighbours at each, where nothing is kept
MOST_STEPS = 24  # beyond which four indices at once take too many registers
FEW_STEPS = 12  # the same of two, beside what is kept of a row
# Registers of a thread beside what it keeps of a row: for each of what it finds in a pass (that, what another thread
# found, and sums of neighbours), for an index of a place, for a function of float64, and for all else.
_FOR_EACH, _INDEX, _FUNCTION, _OTHERS = 4, 2, 40, 24


def render_rows(nest: RowNest, form: RowForm) -> Source:
    """Return the kernel of a nest over rows, for any number of blocks and of threads."""
    if form.kind == "columns":
        lines = columns(nest, form.width, form.near, form.threads)
    else:
        lines = _Rows(nest, Passes(nest), form).lines()
    return rendered("rows", signature(nest), "cuda", nest="\n".join(lines))


@dataclass(frozen=True)
class _Rows:
    nest: RowNest
    stages: Passes
    form: RowForm

    @cached_property
    def reductions(self) -> dict[int, Reduction]:
        return {value: one for value, (one,) in reductions_of(self.nest).items()}

    def lines(self) -> list[str]:
        """The body of the kernel."""
        form, threads = self.form, self.form.threads or MOST_THREADS
        bounds = f"launch_bounds({threads}, {self._fitting(threads)})"
        memory = shared(self.reductions.values(), WARPS) if form.kind == "block" else []
        sizes = [f"length = {product(self.nest.along)}", f"rows = {product(self.nest.kept)}"]
        return [bounds, *sizes, *memory, *self._widths(), *self._every_row()]

    def _fitting(self, threads: int) -> int:
        """How many blocks of so many threads a multiprocessor should have: each thread has the registers it needs."""
        form, blocks = self.form, -(-FITTING // threads)
        if not form.places:
            return blocks if registers_for(self.nest, FOUR, PLACES) <= REGISTERS else 1
        found = [
            sum(self.reductions[r].registers for r in self.stages.reductions(n)) for n in range(self.stages.passes)
        ]
        indices = _INDEX * len(self.nest.along) if len(self.nest.along) > 1 else 0  # else they are known beforehand
        function = _FUNCTION * any(step.op in FUNCTIONS and step.dtype == "float64" for step in self.nest.steps)
        needed = form.places * (form.near * self.stages.registers + indices) + _FOR_EACH * max(found) + _OTHERS
        needed += function
        return max(1, min(blocks, REGISTER_FILE // (threads * needed)))

    def _every_row(self) -> list[str]:
        """All rows, one after the other: with what is kept of them, if they lie as that asks for."""
        if self.form.places == 0 or self.form.near == 1:
            return self._loop()
        fits = f"{self.form.places} * {self._threads[1]}"
        test = {"whole": f"wide == {fits}", "part": f"0 < wide and wide <= {fits}", "long": "wide > 0"}
        even = f" and length % {FOUR} == 0" if self.nest.rank == 1 else ""
        plain = replace(self, form=RowForm(self.form.kind))
        return [
            f"if {test[self.form.extent]}{even}:",
            indented("\n".join(self._loop()), 4),
            "else:",
            indented("\n".join(plain._loop()), 4),
        ]

    def _loop(self) -> list[str]:
        first, step = ("block()", "blocks()") if self.form.kind == "block" else ("warp()", "warps()")
        own = "lane()" if self.form.kind == "block" else "lane() % warp_lanes()"
        begin = [f"own = anew({own})"] if self.form.places else []
        body = [*begin, *decomposed("row", self.nest.kept), *self._row()]
        return loop("row", first, "rows", step, body)

    # -- one row -------------------------------------------------------------------------------------------------------

    def _row(self) -> list[str]:
        lines = self._between(0)
        for number in range(self.stages.passes):
            reductions = [self.reductions[r] for r in self.stages.reductions(number)]
            lines += [line for one in reductions for line in one.begun()]
            lines += self._pass(number)
            if reductions:
                lines += in_warp(reductions) if self.form.kind == "warp" else in_block(reductions, self._threads[1])
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
                lines += lanes.computed([value]) if own is None else [own.ended(f"v{value}")]
        stores = [line for i in self.stages.stored_before(stage) for line in lanes.stored(i)]
        first = {"block": "lane() == 0", "warp": "lane() % warp_lanes() == 0"}
        return [*lines, f"if {first[self.form.kind]}:", indented("\n".join(stores), 4)] if stores else lines

    def _pass(self, number: int) -> list[str]:
        """One pass over a row: of its threads each has some of the places."""
        own, step = self._threads
        if not self.form.places:
            return self._anew(number)
        lines, done = self._resident.part(number), f"{self.form.places} * {step} + {own}"
        if self.form.near == 1:
            return lines + self._one_by_one(number, done)
        if self.form.extent != "long":
            return lines
        several = self._wide(number, 2, step) if len(self.nest.steps) <= FEW_STEPS else []
        return [*lines, f"at = {done}", *several, *self._wide(number, 1, step)]

    def _anew(self, number: int) -> list[str]:
        """A pass that reads all that it needs."""
        own, step = self._threads
        lines = []
        if self._is_wide:
            several = self._wide(number, PLACES, step) if self._reads_several(number) else []
            lines = [f"at = {own}", *several, *self._wide(number, 1, step)]
        return lines + self._one_by_one(number, f"{FOUR} * wide + {own}" if lines else own)

    @cached_property
    def _resident(self) -> Resident:
        return Resident(self.nest, self.form, *self._threads, self.reductions)

    @property
    def _threads(self) -> tuple[str, str]:
        """Which of those that have a row this thread is, and how many they are."""
        if self.form.kind == "warp":
            return "own" if self.form.places else "lane() % warp_lanes()", "warp_lanes()"
        every = f"lanes_of({self.form.threads})" if self.form.threads else "lanes()"
        return ("own" if self.form.places else "lane()"), every

    def _one_by_one(self, number: int, start: str) -> list[str]:
        """The part of a pass that takes single places, from one on."""
        body = [*decomposed("at", self.nest.along), *self._at(Lanes(self.nest), number, ["at"])]
        return loop("at", start, "length", self._threads[1], body)

    def _reads_several(self, number: int) -> bool:
        """Whether a pass should have several reads of memory under way."""
        return len(self.nest.steps) <= MOST_STEPS and any(v < len(self.nest.loads) for v in self.stages.needs(number))

    def _wide(self, number: int, count: int, step: str) -> list[str]:
        """The part of a pass that takes four neighbours at a time, at so many places at once."""
        apart = frozenset(self.nest.along if count > 1 else ())
        lanes, body = Lanes(self.nest, FOUR, apart, count), list[str]()
        for p in range(count):
            suffix = f"_{p}" if count > 1 else ""
            body.append(f"first{suffix} = {FOUR} * (at + {p} * {step})" if p else f"first{suffix} = {FOUR} * at")
            body += decomposed(f"first{suffix}", self.nest.along, suffix)
        firsts = [f"first_{p}" for p in range(count)] if count > 1 else ["first"]
        body += self._at(lanes, number, [f"{first} + {k}" for first in firsts for k in range(FOUR)])
        if count == 1:
            return going_on("at", "wide", step, body)
        return going_on("at", "wide", f"{count} * {step}", body, f" + {count - 1} * {step}")

    def _at(self, lanes: Lanes, number: int, places: list[str]) -> list[str]:
        """What a pass does at some places of a row."""
        lines = lanes.computed(self.stages.needs(number))
        for value in self.stages.reductions(number):
            names, one = lanes.names(self.stages.operands(value)[0]), self.reductions[value]
            lines += one.taken_together(names, places) if len(names) > 1 else one.taken(names[0], places[0])
        return lines + [line for i in self.stages.stores(number) for line in lanes.stored(i)]

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
        if self.form.places and self.form.near == 1:
            return False
        return lies_side_by_side(self.nest) and (self.form.places > 0 or len(self.nest.steps) <= MOST_STEPS)


def lies_side_by_side(nest: RowNest) -> bool:
    """Whether four neighbours along a row can be read, and written, by one access if they are aligned."""
    stages = Passes(nest)
    moving = [i for number in range(stages.passes) for i in stages.stores(number)]
    return any(nest.reduced) and nest.reduced[-1] and can_be_wide(nest, moving)
