# SPDX-License-Identifier: Apache-2.0
"""Renders kernels over rows for a GPU: a block, or a warp, has a row; or a block has rows that lie side by side.

A row is read anew in each pass: from one pass to the next it stays in a cache, and what is computed is cheap. A block
with columns has as many threads side by side as read memory in whole lines, and these many times, down the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ngraph_rewrite.codegen.cuda.accumulators import WARPS, Reduction, in_block, in_columns, in_warp, shared
from ngraph_rewrite.codegen.cuda.lanes import FOUR, Lanes, can_be_wide, decomposed, loop, product, width_test
from ngraph_rewrite.codegen.nest import RowNest, signature
from ngraph_rewrite.codegen.source import Source, imports, indented, named
from ngraph_rewrite.codegen.stages import Kept, Stages
from ngraph_rewrite.codegen.template import kernel_template

WIDTH = 32  # threads side by side of a block with columns
COLUMN_THREADS = 256  # of such a block, at most
MOST_STEPS = 24  # beyond which four indices at once take too many registers


class Passes(Stages):
    """The passes over a row, none of which leaves anything in memory for others."""

    @cached_property
    def kept(self) -> dict[int, Kept]:
        return {}


def render_rows(nest: RowNest, form: str) -> Source:
    """Return the kernel of a nest over rows, for any number of blocks and of threads.

    Args:
        form: What has a row: ``"block"``, ``"warp"``, or ``"columns"`` for rows that lie side by side.
    """
    kernel = _Rows(nest, Passes(nest), form)
    names, body = signature(nest), "\n".join(kernel.lines())
    template = kernel_template("rows")
    text = template.fill(
        "cuda",
        name="$name",
        idea=template.idea,
        parameters=", ".join(names),
        signature=", ".join(names),
        imports=imports(body, "cuda"),
        nest=body,
    )
    return named("rows", text, names)


@dataclass(frozen=True)
class _Rows:
    nest: RowNest
    stages: Passes
    form: str

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
        if self.form == "columns":
            return [*length, *self._columns()]
        every = "block()", "blocks()"
        memory = shared(self.reductions.values(), WARPS)
        if self.form == "warp":
            every, memory = ("warp()", "warps()"), []
        body = [*decomposed("row", self.kept), *self._row()]
        rows = loop("row", every[0], "rows", every[1], body)
        return [*length, f"rows = {product(self.kept)}", *memory, *self._widths(), *rows]

    def _columns(self) -> list[str]:
        """Groups of columns that lie side by side, one after the other."""
        *outer, inner = self.kept
        lines = [
            *shared(self.reductions.values(), COLUMN_THREADS),
            f"width = lesser({WIDTH}, lanes())",
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
                lines += {"block": in_block, "warp": in_warp, "columns": in_columns}[self.form](reductions)
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
        return [*lines, f"if {first[self.form]}:", indented("\n".join(stores), 4)] if stores else lines

    def _pass(self, number: int) -> list[str]:
        """One pass over a row: of its threads each has some of the places."""
        start, step = {"block": ("lane()", "lanes()"), "warp": ("lane() % warp_lanes()", "warp_lanes()")}.get(
            self.form, ("down", "depth")
        )
        lines = []
        if self._is_wide(number):
            body = [f"first = {FOUR} * at", *decomposed("first", self.reduced)]
            body += self._at(Lanes(self.nest, FOUR), number)
            lines += loop("at", start, f"wide{number}", step, body)
            start = f"{FOUR} * wide{number} + {start}"
        body = [*decomposed("at", self.reduced), *self._at(Lanes(self.nest), number)]
        return lines + loop("at", start, "length", step, body)

    def _at(self, lanes: Lanes, number: int) -> list[str]:
        """What a pass does at one place of a row, or at four."""
        lines = lanes.computed(self.stages.needs(number))
        for value in self.stages.reductions(number):
            names = lanes.names(self.stages.operands(value)[0])
            for lane, name in enumerate(names):
                place = "at" if lanes.count == 1 else f"first + {lane}"
                lines += self.reductions[value].taken(name, place)
        stores = [line for i in self.stages.stores(number) for line in lanes.stored(i)]
        if self.form == "columns" and stores:
            stores = ["if inside:", indented("\n".join(stores), 4)]
        return lines + stores

    # -- four places at once -------------------------------------------------------------------------------------------

    def _widths(self) -> list[str]:
        """For each pass how many accesses of four elements a row has."""
        lines = []
        for number in range(self.stages.passes):
            if self._is_wide(number):
                test = width_test(self.nest, self.stages.stores(number))
                lines += [f"wide{number} = 0", f"if {test}:", f"    wide{number} = length // {FOUR}"]
        return lines

    def _is_wide(self, number: int) -> bool:
        if self.form == "columns" or not self.reduced or self.reduced[-1] != self.nest.rank - 1:
            return False
        return can_be_wide(self.nest, self.stages.stores(number)) and len(self.nest.steps) <= MOST_STEPS
