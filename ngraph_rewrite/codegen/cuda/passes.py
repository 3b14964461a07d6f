# SPDX-License-Identifier: Apache-2.0
"""What the passes over a row leave in shared memory for those after them.

What later passes need is kept where it was first read or computed by a function; arithmetic is done again. An array
takes turns: what a pass reads for the last time may make way for what it computes at the same place.
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

_MOST = 40 << 10  # bytes of shared memory that a block takes for it


class _Life(NamedTuple):
    """The first pass that has a value, the last one that needs it, and the value."""

    first: int
    last: int
    value: int


@dataclass(frozen=True)
class Passes(Stages):
    """The passes over a row, with shared memory for so many of its elements; none if that is 0."""

    room: int = 0

    @cached_property
    def kept(self) -> dict[int, Kept]:
        """The values that are kept, and in which array."""
        return self._placed[0]

    @cached_property
    def arrays(self) -> list[str]:
        """The dtype of each array."""
        return self._placed[1]

    @cached_property
    def _placed(self) -> tuple[dict[int, Kept], list[str]]:
        if self.room:
            functions = [v for v in range(len(self.nest.loads), len(self.nest.dtypes)) if self._is_function(v)]
            for worth in ([*range(len(self.nest.loads)), *functions], functions):
                kept, arrays = self._in_arrays(self._lives(worth))
                if sum(as_dtype(dtype).itemsize for dtype in arrays) * self.room <= _MOST:
                    return kept, arrays
        return {}, []

    def _is_function(self, value: int) -> bool:
        return self.nest.steps[value - len(self.nest.loads)].op in FUNCTIONS

    def _lives(self, worth: Iterable[int]) -> list[_Life]:
        """Those of some values that change along a row and are needed by several passes, later ones first decided."""
        found: list[_Life] = []
        for value in sorted(worth, reverse=True):
            if not self.is_wide(value):
                continue
            known = [life.value for life in found]
            used = [n for n in range(self.passes) if value in self._reached(n, known, self.roots(n))]
            if len(used) > 1 and used[0] == self._first(value):
                found.append(_Life(used[0], used[-1], value))
        return sorted(found)

    def _in_arrays(self, lives: Iterable[_Life]) -> tuple[dict[int, Kept], list[str]]:
        kept: dict[int, Kept] = {}
        arrays: list[str] = []
        until: list[int] = []
        for first, last, value in lives:
            dtype = held(self.nest.dtypes[value])
            free = [i for i, own in enumerate(arrays) if own == dtype and until[i] <= first]
            number = free[0] if free else len(arrays)
            if not free:
                arrays.append(dtype)
                until.append(0)
            until[number] = last
            kept[value] = Kept(None, number)
        return kept, arrays
