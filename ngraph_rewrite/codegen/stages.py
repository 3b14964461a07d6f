# SPDX-License-Identifier: Apache-2.0
"""What each pass over a row computes, and which values it leaves in memory for the passes after it.

A pass computes what its reductions and its stores need, from loads if need be: arithmetic is cheaper done twice than
kept. Functions are kept: in the place where they are stored anyway, else where a later pass stores a number of the same
dtype, else in a workspace as long as a row. Where a last loop is told (`short_loops`), they are not: LLVM sees what is
computed twice where it writes it out, and a part of a vector that was just stored is read late.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ngraph_rewrite.codegen.nest import FUNCTIONS, RowNest

# What is kept rather than computed again: formulas, and what is called for each element.
_KEPT = FUNCTIONS | frozenset("hypot floordivide mod nextafter".split())


class Kept(NamedTuple):
    """A value that later passes find in memory: in that of a store, or (`store` is None) in a workspace by number."""

    store: int | None
    workspace: int | None


@dataclass(frozen=True)
class Stages:
    """The passes of a row nest."""

    nest: RowNest

    @cached_property
    def passes(self) -> int:
        """How many passes over a row there are."""
        ends = [self.nest.stages[r] for r in self.nest.reductions]
        wide = [self.nest.stages[value] + 1 for value, operand in self.nest.stores if operand.dims & self.nest.within]
        return max([*ends, *wide, *(self.nest.stages[value] + 1 for value in self.nest.totals)], default=0)

    def is_wide(self, value: int) -> bool:
        """Whether a value changes along a row."""
        return bool(self.nest.dims[value] & self.nest.within)

    def operands(self, value: int) -> tuple[int, ...]:
        """The values that a value is computed from."""
        step = value - len(self.nest.loads)
        return self.nest.steps[step].operands if step >= 0 else ()

    def reductions(self, number: int) -> list[int]:
        """The reductions of a pass."""
        return [r for r in self.nest.reductions if self.nest.stages[r] == number + 1]

    def stores(self, number: int) -> list[int]:
        """The stores of a pass, by position: those that move along a row."""
        stores, within = self.nest.stores, self.nest.within
        return [i for i, (v, at) in enumerate(stores) if at.dims & within and self.nest.stages[v] == number]

    def stored_before(self, number: int) -> list[int]:
        """The stores, once a row, of values that are known before a pass and were not before the one before it."""
        stores, within = self.nest.stores, self.nest.within
        return [i for i, (v, at) in enumerate(stores) if not at.dims & within and self.nest.stages[v] == number]

    def roots(self, number: int) -> list[int]:
        """The values that a pass is there for."""
        reduced = [self.operands(r)[0] for r in self.reductions(number)]
        reduced += [self.nest.totals[i] for i in self.totals(number)]
        return reduced + [self.nest.stores[i][0] for i in self.stores(number)]

    def totals(self, number: int) -> list[int]:
        """The sums over all rows to which a pass adds, by position."""
        return [i for i, value in enumerate(self.nest.totals) if self.nest.stages[value] == number]

    # -- values that change along a row --------------------------------------------------------------------------------

    def needs(self, number: int, roots: Iterable[int] | None = None) -> list[int]:
        """The values that change along a row and that a pass computes or reads, in order; those below some roots."""
        found = self._reached(number, self.kept, self.roots(number) if roots is None else roots)
        return sorted(v for v in found if self.is_wide(v))

    def wants(self, number: int) -> list[int]:
        """The values that are computed once a row and that a pass uses."""
        return sorted(v for v in self._reached(number, self.kept, self.roots(number)) if not self.is_wide(v))

    def _reached(self, number: int, kept: Iterable[int], roots: Iterable[int]) -> set[int]:
        """What a pass needs for some values; what is kept, or computed once a row, needs no more."""
        read = {value for value in kept if self._first(value) < number}
        found: set[int] = set()
        pending = list(roots)
        while pending:
            value = pending.pop()
            if value not in found:
                found.add(value)
                pending += self.operands(value) if self.is_wide(value) and value not in read else ()
        return found

    def _first(self, value: int) -> int:
        """The first pass that can compute a value."""
        return self.nest.stages[value]

    @cached_property
    def kept(self) -> dict[int, Kept]:
        """The values that are kept from the pass that computes them first, and where."""
        found: dict[int, Kept] = {}
        if self.nest.few:
            return found
        taken: set[int] = set()
        workspaces = 0
        for value in range(len(self.nest.dtypes) - 1, len(self.nest.loads) - 1, -1):
            step = self.nest.steps[value - len(self.nest.loads)]
            if step.op not in _KEPT or not self.is_wide(value):
                continue
            used = [n for n in range(self.passes) if value in self._reached(n, found, self.roots(n))]
            if len(used) < 2 or used[0] != self._first(value):
                continue
            store = self._place(value, used[-1], taken)
            if store is None:
                found[value], workspaces = Kept(None, workspaces), workspaces + 1
            else:
                found[value] = Kept(store, None)
                taken.add(store)
        return found

    def _place(self, value: int, last: int, taken: set[int]) -> int | None:
        """A store whose memory can hold a value until a pass is done with it."""
        nest, stores = self.nest, self.nest.stores
        fitting = [
            i
            for n in range(self.passes)
            for i in self.stores(n)
            if stores[i][1].dtype == nest.dtypes[value] and stores[i][1].dims >= nest.dims[value]
        ]
        if own := [i for i in fitting if stores[i][0] == value]:
            return own[0]
        last += any(nest.steps[r - len(nest.loads)].op.startswith("arg") for r in self.reductions(last))  # reads twice
        return next((i for i in fitting if i not in taken and nest.stages[stores[i][0]] >= last), None)

    @property
    def workspaces(self) -> list[str]:
        """The dtype of each workspace."""
        kept = [(where.workspace, self.nest.dtypes[value]) for value, where in self.kept.items()]
        return [dtype for number, dtype in sorted((n, d) for n, d in kept if n is not None)]

    def has_functions(self, number: int) -> bool:
        """Whether a pass computes functions."""
        loads = len(self.nest.loads)
        computed = [v for v in self.needs(number) if v not in self.kept or self._first(v) == number]
        return any(self.nest.steps[v - loads].op in FUNCTIONS for v in computed if v >= loads)

    # -- values that are computed once a row ---------------------------------------------------------------------------

    @cached_property
    def narrow(self) -> list[int]:
        """The values that are computed once a row, in order."""
        found: set[int] = set()
        pending = [value for n in range(self.passes) for value in self.wants(n)]
        pending += [value for value, operand in self.nest.stores if not self.is_wide(value)]
        while pending:
            value = pending.pop()
            if value not in found:
                found.add(value)
                pending += [v for v in self.operands(value) if not self.is_wide(v)]
        found.update(self.nest.reductions)
        return sorted(found)
