# SPDX-License-Identifier: Apache-2.0
"""The part of each pass over a row at the places that a thread has in registers, from the first pass to the last.

All of them are read before anything is computed, so that many reads are under way; where they are is known when the
kernel is written, so that distances are literal. Where a block has several rows, what the next one has is fetched into
shared memory while this one is computed: each thread has slots there for its own places, which no other uses, so that
none waits for another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ngraph_rewrite.codegen.cuda.accumulators import Reduction
from ngraph_rewrite.codegen.cuda.forms import RowForm
from ngraph_rewrite.codegen.cuda.lanes import Lanes, decomposed
from ngraph_rewrite.codegen.cuda.passes import Passes
from ngraph_rewrite.codegen.nest import RowNest, place
from ngraph_rewrite.codegen.scalar import held
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.types.dtypes import as_dtype


@dataclass(frozen=True)
class Resident:
    """The places of a row that a thread keeps.

    Attributes:
        nest: What is computed of each row.
        form: What has a row.
        own: The text of which thread of the row this is.
        step: The text of how many these are.
        reductions: Those of the nest, by value.
    """

    nest: RowNest
    form: RowForm
    own: str
    step: str
    reductions: Mapping[int, Reduction]

    def part(self, number: int) -> list[str]:
        """The part of a pass at the places that a thread keeps, one after the other, when all are read."""
        lines = self._all_read() if number == 0 else []
        values = [v for v in self.keeping.needs(number) if v not in self.keeping.kept or self._is_found(v, number)]
        for p in range(self.form.places):
            body = [*self.lanes.computed_at(values, p), *self._taken(number, p)]
            body += [self.lanes.stored_at(i, p) for i in self.keeping.stores(number)]
            lines += self._if_there(p, [v for v in values if v in self.keeping.kept], body)
        return lines

    @cached_property
    def keeping(self) -> Passes:
        return Passes(self.nest, keeps=True)

    @cached_property
    def lanes(self) -> Lanes:
        return Lanes(self.nest, self.form.near, frozenset(self.nest.along), self.form.places, "r")

    def _is_found(self, value: int, number: int) -> bool:
        """Whether a value that is kept is computed in a pass: what is read is there already."""
        return value >= len(self.nest.loads) and self.nest.stages[value] == number

    def _all_read(self) -> list[str]:
        """What is kept of a row from memory; then the next row is asked for."""
        lines = ["arrived()"] if self.form.ahead else []
        lines += [line for p in range(self.form.places) for line in self._read(p)]
        if not self.form.ahead:
            return lines
        later = "row + blocks()" if self.form.kind == "block" else "row + warps()"
        return [*lines, f"next = {later}", "if next < rows:", indented("\n".join(self.fetched("next")), 4)]

    def _read(self, number: int) -> list[str]:
        """Which place of a row this is, by number of those that a thread has, and what is kept of it from there."""
        loads = [v for v in self.keeping.kept if v < len(self.nest.loads)]
        slots = [v for v in loads if number < self.form.ahead and v in self.ahead]
        body = [line for v in slots for line in self._taken_over(v, number)]
        body += self.lanes.computed_at([v for v in loads if v not in slots], number)
        return self._spot(number) + self._if_there(number, loads, body)

    def _spot(self, number: int) -> list[str]:
        """Which place of a row this is, by number of those that a thread has."""
        near, suffix = self.form.near, self.lanes.suffix(number)
        lines = [f"spot_{suffix} = {number} * {self.step} + {self.own}"]
        lines += [f"first_{suffix} = {near} * spot_{suffix}" if near > 1 else f"first_{suffix} = spot_{suffix}"]
        return lines + decomposed(f"first_{suffix}", self.nest.along, f"_{suffix}")

    def _if_there(self, place: int, kept: Iterable[int], body: Sequence[str]) -> list[str]:
        """What is done at a place if the row has it; else nothing is left there of the row before."""
        if not body or self.form.extent == "whole":
            return [*body]
        names = {name: value for value in kept for name in self._names(value, place)}
        nothing = [f"{name} = {_zero(self.nest.dtypes[value])}" for name, value in names.items()]
        spots = "wide" if self.form.near > 1 else "length"
        return [*nothing, f"if spot_{self.lanes.suffix(place)} < {spots}:", indented("\n".join(body), 4)]

    def _names(self, value: int, place: int) -> list[str]:
        """The names of a value at one of the places."""
        return self.lanes.names(value)[place * self.form.near : (place + 1) * self.form.near]

    def _taken(self, number: int, place: int) -> list[str]:
        """The lines that take one of the places into the reductions of a pass."""
        lines, near = list[str](), self.form.near
        for value in self.keeping.reductions(number):
            names = self._names(self.keeping.operands(value)[0], place)
            places = [f"first_{self.lanes.suffix(place)} + {k}" for k in range(near)]
            one = self.reductions[value]
            lines += one.taken_together(names, places) if near > 1 else one.taken(names[0], places[0])
        return lines

    # -- the next row --------------------------------------------------------------------------------------------------

    @cached_property
    def ahead(self) -> list[int]:
        """What is fetched of the next row: what is kept and differs from row to row."""
        loads = self.nest.loads
        return [v for v in self.keeping.kept if v < len(loads) and is_fetched(self.nest, v)]

    def slots(self) -> list[str]:
        """The lines that set up the memory that the next row is fetched into."""
        count = self.form.ahead * self.form.threads * self.form.near
        return [f"ahead{v} = tile_uint8({count * as_dtype(self.nest.dtypes[v]).itemsize})" for v in self.ahead]

    def fetched(self, row: str) -> list[str]:
        """The lines that begin to fetch what a row has."""
        suffix = f"_of_{row}"
        lines = decomposed(row, self.nest.kept, suffix)
        for p in range(self.form.ahead):
            found = [self._fetch(v, p, suffix) for v in self.ahead]
            lines += [*self._spot(p), *self._if_there(p, (), found)]
        return lines

    def _fetch(self, value: int, place_: int, suffix: str) -> str:
        load = self.nest.loads[value]
        at = place(f"x{value}", load)
        for dim in self.nest.kept:
            at = re.sub(rf"\bi{dim}\b", f"i{dim}{suffix}", at)
        for dim in self.nest.along:
            at = re.sub(rf"\bi{dim}\b", f"i{dim}_{self.lanes.suffix(place_)}", at)
        return f"fetch4_{load.dtype}(ahead{value}, {self._slot(place_)}, x{value}, {at})"

    def _slot(self, place_: int) -> str:
        """Where the slot of a place is, in elements."""
        return f"{self.form.near} * ({place_} * lanes_of({self.form.threads}) + lane())"

    def _taken_over(self, value: int, place_: int) -> list[str]:
        """The lines that read what was fetched of a place."""
        names = ", ".join(self._names(value, place_))
        return [f"{names} = fetched4_{self.nest.dtypes[value]}(ahead{value}, {self._slot(place_)})"]


def is_fetched(nest: RowNest, value: int) -> bool:
    """Whether a load differs between rows, and between neighbours in a row, so that fetching it early is worth it."""
    load = nest.loads[value]
    return bool(load.dims - nest.within) and load.strides[-1] == "1"


def _zero(dtype: str) -> str:
    """The text of nothing of a dtype."""
    return "False" if dtype == "bool" else f"np.{held(dtype)}(0)"
