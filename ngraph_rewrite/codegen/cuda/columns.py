# SPDX-License-Identifier: Apache-2.0
"""Renders rows that lie side by side for a GPU: a block has some, its threads stand side by side and down the rows.

A thread has four rows that are neighbours, and reads of all four by one access, where they are aligned; else one row.
It goes down its rows several places at once, so that many reads are under way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ngraph_rewrite.codegen.cuda.accumulators import (
    REGISTERS,
    Reduction,
    in_columns,
    reductions_of,
    registers_for,
    shared,
)
from ngraph_rewrite.codegen.cuda.forms import FITTING
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
from ngraph_rewrite.codegen.nest import FUNCTIONS, RowNest
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.types.dtypes import as_dtype

_MOST_THREADS, _SHARED = 1024, 48 << 10  # of a block, at most; bytes that it has for what threads find
_STEPS = 24  # beyond which several places at once take too many registers
_PLACES = (4, 2)  # down the rows, at once


def columns(nest: RowNest, width: int, near: int, threads: int) -> list[str]:
    """The body of a kernel of rows that lie side by side.

    Args:
        width: How many of them a block has.
        near: How many neighbours a thread has where they are aligned: four, or one.
        threads: Of a block, at most; 0 for as many as shared memory allows.
    """
    most = threads or column_threads(nest, near)
    reductions = reductions_of(nest, near)
    every = [one for found in reductions.values() for one in found]
    dims = [dim for dim, reduced in enumerate(nest.reduced) if reduced]
    lines = [f"launch_bounds({most}, {max(1, FITTING // most)})", f"length = {product(dims)}", *shared(every, most)]
    alone = _Columns(nest, width, {value: found[:1] for value, found in reductions.items()})
    if near == 1:
        return lines + alone.lines()
    wide = replace(alone, reductions=reductions, near=near)
    test = width_test(nest, range(len(nest.stores)))
    return [*lines, f"if {test}:", indented("\n".join(wide.lines()), 4), "else:", indented("\n".join(alone.lines()), 4)]


def column_threads(nest: RowNest, near: int = 1) -> int:
    """How many threads a block with columns has at most: each leaves what it found in shared memory."""
    kinds = [dtype for found in reductions_of(nest, near).values() for one in found for _, dtype in one.variables]
    each, threads = sum(as_dtype(dtype).itemsize for dtype in kinds), _MOST_THREADS
    while threads * each > _SHARED:
        threads //= 2
    return threads


def columns_side_by_side(nest: RowNest) -> bool:
    """Whether four neighbours across the rows can be read, and written, by one access if they are aligned.

    What a thread reads and finds of them also has to fit into its registers.
    """
    fits = len(nest.steps) <= _STEPS and registers_for(nest, FOUR, 1) <= REGISTERS
    return fits and can_be_wide(nest, range(len(nest.stores)))


@dataclass(frozen=True)
class _Columns:
    """The rows of a block, of which each thread has one, or some neighbours."""

    nest: RowNest
    width: int
    reductions: Mapping[int, Sequence[Reduction]]
    near: int = 1

    @cached_property
    def stages(self) -> Passes:
        return Passes(self.nest)

    @property
    def places(self) -> int:
        """How many places down a row are taken at once."""
        if not self.nest.along or len(self.nest.steps) > _STEPS:
            return 1
        if self.near == 1:
            return _PLACES[0]
        several = _PLACES[any(step.op in FUNCTIONS for step in self.nest.steps) :]
        return next((n for n in several if registers_for(self.nest, self.near, n) <= REGISTERS), 1)

    def lines(self) -> list[str]:
        """Groups of rows that lie side by side, one after the other."""
        *outer, inner = self.nest.kept
        near = f"{self.near} * " if self.near > 1 else ""
        lines = [
            f"width = lesser({max(1, self.width // self.near)}, lanes())",
            "depth = lanes() // width",
            "down = lane() // width",
            "beside = lane() - down * width",
            f"across = quotient(n{inner} + {near}width - 1, {near}width)",
            f"groups = {product(outer)} * across" if outer else "groups = across",
        ]
        begin = ["outside = quotient(group, across)"]
        begin.append(f"i{inner} = {near}((group - outside * across) * width + beside)")
        begin += [f"inside = i{inner} < n{inner}", *decomposed("outside", outer)]
        # threads past the last row do what the last one does, and store nothing
        begin.append(f"i{inner} = lesser(i{inner}, n{inner} - {self.near})")
        return lines + loop("group", "block()", "groups", "blocks()", [*begin, *self._row()])

    def _row(self) -> list[str]:
        lines = self._between(0)
        for number in range(self.stages.passes):
            every = [one for r in self.stages.reductions(number) for one in self.reductions[r]]
            lines += [line for one in every for line in one.begun()]
            lines += self._pass(number)
            lines += in_columns(every) if every else []
            lines += self._between(number + 1)
        together = sum(bool(self.stages.reductions(number)) for number in range(self.stages.passes))
        # of several times that a block waits within a row, each is between two of any other
        return [*lines, "barrier()"] if together == 1 else lines

    def _between(self, stage: int) -> list[str]:
        """What is known once a row after some passes, and stored by one of its threads."""
        nest, lanes = self.nest, Lanes(self.nest, self.near)
        lines: list[str] = []
        for value in self.stages.narrow:
            if nest.stages[value] == stage:
                own = self.reductions.get(value)
                lines += lanes.computed([value]) if own is None else self._ended(own, lanes.names(value))
        stores = [line for i in self.stages.stored_before(stage) for line in lanes.stored(i)]
        return [*lines, "if inside and down == 0:", indented("\n".join(stores), 4)] if stores else lines

    def _ended(self, own: Sequence[Reduction], names: Sequence[str]) -> list[str]:
        """The lines that name what a reduction of each neighbour found, or of them all."""
        return [one.ended(name) for one, name in zip(own, names[: len(own)], strict=True)]

    def _pass(self, number: int) -> list[str]:
        """One pass, several places down the rows at once, then one by one."""
        lines, count = ["at = down"], self.places
        if count > 1:
            places = ["at", *(f"at + {p} * depth" for p in range(1, count))]
            body = [line for k, at in enumerate(places) for line in decomposed(f"({at})", self.nest.along, f"_{k}")]
            body += self._at(Lanes(self.nest, self.near, frozenset(self.nest.along), count), number, places)
            lines += going_on("at", "length", f"{count} * depth", body, f" + {count - 1} * depth")
        body = [*decomposed("at", self.nest.along), *self._at(Lanes(self.nest, self.near), number, ["at"])]
        return lines + going_on("at", "length", "depth", body)

    def _at(self, lanes: Lanes, number: int, places: list[str]) -> list[str]:
        """What a pass does at some places of a row."""
        lines = lanes.computed(self.stages.needs(number))
        for value in self.stages.reductions(number):
            names = lanes.names(self.stages.operands(value)[0])
            for k, one in enumerate(self.reductions[value]):
                own = names[k :: self.near]
                lines += one.taken_together(own, places) if len(own) > 1 else one.taken(own[0], places[0])
        stores = [line for i in self.stages.stores(number) for line in lanes.stored(i)]
        return [*lines, "if inside:", indented("\n".join(stores), 4)] if stores else lines
