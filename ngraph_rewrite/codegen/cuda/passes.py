# SPDX-License-Identifier: Apache-2.0
"""What the passes over a row leave in registers for those after them.

What later passes need is kept where it was first read or computed by a function; arithmetic is done again, if the
compiler does not know better. What a pass reads for the last time may make way for what it computes at the same place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ngraph_rewrite.codegen.nest import FUNCTIONS
from ngraph_rewrite.codegen.scalar import held
from ngraph_rewrite.codegen.stages import Kept, Stages
from ngraph_rewrite.types.dtypes import as_dtype

_WORD = 4  # bytes of a register


class _Life(NamedTuple):
    """The first pass that has a value, the last one that needs it, and the value."""

    first: int
    last: int
    value: int


@dataclass(frozen=True)
class Passes(Stages):
    """The passes over places of a row, of which values are kept or not."""

    keeps: bool = False

    @cached_property
    def kept(self) -> dict[int, Kept]:
        """The values that are kept."""
        return {life.value: Kept(None, None) for life in self._lives} if self.keeps else {}

    @cached_property
    def registers(self) -> int:
        """How many registers what is kept of one place takes."""
        dtypes: list[str] = []
        until: list[int] = []
        for first, last, value in self._lives:
            dtype = held(self.nest.dtypes[value])
            free = [i for i, own in enumerate(dtypes) if own == dtype and until[i] <= first]
            number = free[0] if free else len(dtypes)
            if not free:
                dtypes.append(dtype)
                until.append(0)
            until[number] = last
        return sum(-(-as_dtype(dtype).itemsize // _WORD) for dtype in dtypes)

    @cached_property
    def _lives(self) -> list[_Life]:
        functions = [v for v in range(len(self.nest.loads), len(self.nest.dtypes)) if self._is_function(v)]
        return sorted(self._lives_of([*range(len(self.nest.loads)), *functions]))

    def _is_function(self, value: int) -> bool:
        return self.nest.steps[value - len(self.nest.loads)].op in FUNCTIONS

    def _lives_of(self, worth: Iterable[int]) -> list[_Life]:
        """Those of some values that change along a row and are needed by several passes, later ones first decided."""
        found: list[_Life] = []
        for value in sorted(worth, reverse=True):
            if not self.is_wide(value):
                continue
            known = [life.value for life in found]
            used = [n for n in range(self.passes) if value in self._reached(n, known, self.roots(n))]
            if len(used) > 1 and used[0] == self._first(value):
                found.append(_Life(used[0], used[-1], value))
        return found
