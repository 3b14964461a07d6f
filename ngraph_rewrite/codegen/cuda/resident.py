# SPDX-License-Identifier: Apache-2.0
"""The part of each pass over a row at the places that a thread has in registers, from the first pass to the last.

All of them are read before anything is computed, so that many reads are under way; where they are is known when the
kernel is written, so that distances are literal. Then a row is asked for with which some block begins soon, half as
many rows later as are under way at once: it comes into the second cache while this one is computed. What all rows read,
as weights, has the first cache for itself: rows pass it by.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ngraph_rewrite.codegen.cuda.accumulators import Reduction
from ngraph_rewrite.codegen.cuda.forms import FITTING, RowForm
from ngraph_rewrite.codegen.cuda.lanes import Lanes, decomposed
from ngraph_rewrite.codegen.cuda.passes import Passes
from ngraph_rewrite.codegen.nest import RowNest, place
from ngraph_rewrite.codegen.scalar import held
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.runtime.cuda.hardware import LINE, MULTIPROCESSORS, WARP
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
        own = (v for v, load in enumerate(self.nest.loads) if len(load.dims) == self.nest.rank)
        once = frozenset(own if self._shares else ())
        return Lanes(self.nest, self.form.near, frozenset(self.nest.along), self.form.places, "r", once)

    @cached_property
    def _shares(self) -> bool:
        """Whether all rows read the same numbers of something, as weights, which best stay in the first cache."""
        return any(load.dims and not load.dims - self.nest.within for load in self.nest.loads)

    def _is_found(self, value: int, number: int) -> bool:
        """Whether a value that is kept is computed in a pass: what is read is there already."""
        return value >= len(self.nest.loads) and self.nest.stages[value] == number

    def _all_read(self) -> list[str]:
        """What is kept of a row from memory; a row that will be read soon is asked for."""
        return [*(line for p in range(self.form.places) for line in self._read(p)), *self._asked()]

    def _asked(self) -> list[str]:
        """The lines that ask for a later row, of which each thread asks for a line of memory."""
        asked = [line for v in self.keeping.kept if self._is_asked(v) for line in self._line_asked(v)]
        if not asked or self.form.near == 1:
            return []
        threads = self.form.threads if self.form.kind == "block" else WARP
        inside = [*decomposed("later", self.nest.kept, "_later"), *asked]
        later = f"later = row + {MULTIPROCESSORS * FITTING // (2 * threads)}"
        return [later, "if later < rows:", indented("\n".join(inside), 4)]

    def _is_asked(self, value: int) -> bool:
        """Whether a value is read, other numbers of each row, and neighbours lie side by side."""
        if value >= len(self.nest.loads):
            return False
        load = self.nest.loads[value]
        return bool(load.dims - self.nest.within) and load.strides[-1] == "1"

    def _line_asked(self, value: int) -> list[str]:
        """The lines in which a thread asks for a line of memory of a later row, if that is so long."""
        load, size = self.nest.loads[value], as_dtype(self.nest.loads[value].dtype).itemsize
        at = re.sub(r"\bi(\d+)\b", r"i\1_later", place(f"x{value}", load))
        found = [*decomposed("ask", self.nest.along, "_later"), f"ask_line(x{value} + {size} * ({at}))"]
        return [f"ask = {self.own} * {LINE // size}", "if ask < length:", indented("\n".join(found), 4)]

    def _read(self, number: int) -> list[str]:
        """Which place of a row this is, by number of those that a thread has, and what is kept of it from memory."""
        loads = [v for v in self.keeping.kept if v < len(self.nest.loads)]
        return self._spot(number) + self._if_there(number, loads, self.lanes.computed_at(loads, number))

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


def _zero(dtype: str) -> str:
    """The text of nothing of a dtype."""
    return "False" if dtype == "bool" else f"np.{held(dtype)}(0)"
