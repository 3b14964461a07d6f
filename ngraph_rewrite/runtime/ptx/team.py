# SPDX-License-Identifier: Apache-2.0
"""The threads of some blocks that run side by side: who they are, what they passed, and what is on its way to them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.counting import Counts
from ngraph_rewrite.runtime.ptx.memory import GlobalSpace, SharedSpace, Space
from ngraph_rewrite.runtime.ptx.values import Frame, Some
from ngraph_rewrite.runtime.ptx.watching import Numbers, Who

Grid = tuple[int, int, int]
Bytes = NDArray[np.uint8]


class Coming(NamedTuple):
    """A copy to shared memory that threads have begun, and not waited for.

    Attributes:
        numbers: Which threads.
        pieces: What was at the source, a row for each piece.
    """

    numbers: Numbers
    source: Numbers
    target: Numbers
    size: int
    pieces: NDArray[Any]

    def of(self, some: NDArray[np.bool_]) -> Coming:
        """Some of it."""
        return Coming(self.numbers[some], self.source[some], self.target[some], self.size, self.pieces[:, some])


SPECIAL = frozenset(f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz") | {"%laneid"}


class Team:
    """Threads of blocks of one launch.

    Args:
        grid: How many blocks there are along each dimension.
        each: Threads of a block.
        blocks: Their numbers.
        memory: Of the GPU.
        shared: Of these blocks.
        counts: Of what they do, if that is counted.
    """

    def __init__(
        self,
        grid: Grid,
        each: int,
        blocks: Numbers,
        memory: GlobalSpace,
        shared: SharedSpace,
        counts: Counts | None = None,
    ) -> None:
        self.counts = counts
        self.each = each
        self.slots, self.blocks = np.repeat(np.arange(len(blocks)), each), np.repeat(blocks, each)
        self.lanes = np.tile(np.arange(each), len(blocks))
        self.numbers = self.blocks * each + self.lanes + 1
        self.times = np.zeros(len(blocks), np.int64)
        self.shared, self.spaces = shared, MappingProxyType[str, Space]({"global": memory, "shared": shared})
        self.coming = list[Coming]()
        self.special: Mapping[str, NDArray[Any]] = self._special(grid)

    def _special(self, grid: Grid) -> dict[str, NDArray[Any]]:
        x, y, _ = grid
        found = {"tid.x": self.lanes, "laneid": self.lanes % 32}
        found |= {"ctaid.x": self.blocks % x, "ctaid.y": self.blocks // x % y, "ctaid.z": self.blocks // (x * y)}
        found |= {"tid.y": self.lanes * 0, "tid.z": self.lanes * 0}
        same = {"ntid.x": self.each, "ntid.y": 1, "ntid.z": 1}
        same |= {f"nctaid.{axis}": n for axis, n in zip("xyz", grid, strict=True)}
        found |= {name: np.full(len(self.numbers), value) for name, value in same.items()}
        return {f"%{name}": values.astype(np.uint32) for name, values in found.items()}

    def __len__(self) -> int:
        return len(self.numbers)

    def who(self, some: Some) -> Who:
        """Some threads, as memory is told of them."""
        slots = self.slots[some]
        return Who(self.numbers[some], self.blocks[some], slots, self.times[slots])

    def places(self, some: Some) -> Numbers:
        """The numbers of some threads among these."""
        return np.arange(len(self))[some]

    def count(self, space: str, addresses: Numbers, size: int, some: Some) -> None:
        """Note an access of so many bytes of each of some threads, if that is counted."""
        if self.counts is not None:
            self.counts.access(space, addresses, size, self.numbers[some] - 1, self.each)

    def begin_copies(self, target: Numbers, source: Numbers, size: int, some: Some) -> None:
        """Threads begin to copy so many bytes each from the GPU's memory to what their block shares."""
        for address, space in ((target, "shared"), (source, "global")):
            self.spaces[space].check(address, size)
            self.count(space, address, size, some)
        self.shared.spoil(target, size, self.who(some))
        pieces = np.stack(self._pieces(source, size, self.who(some)))
        self.coming.append(Coming(self.places(some), source, target, size, pieces))

    def end_copies(self, some: Some) -> None:
        """All that threads have begun to copy is there; it is read no earlier, as it may be late."""
        waiting = np.zeros(len(self), bool)
        waiting[some] = True
        still = list[Coming]()
        for one in self.coming:
            now = waiting[one.numbers]
            self._end(one.of(now))
            if not now.all():
                still.append(one.of(~now))
        self.coming = still

    def _end(self, copy: Coming) -> None:
        """Refuse a copy whose source or target were written meanwhile; else it is there."""
        who, spoiled = self.who(copy.numbers), ~np.zeros((), f"u{self.shared.cell}")
        for n, was in enumerate(self._pieces(copy.source, copy.size, who)):
            target = copy.target + n * self.shared.cell
            there = self.shared.load(target, was.dtype, who)
            if (was != copy.pieces[n]).any() or (there != spoiled).any():
                raise KernelError(
                    "what is fetched, or where it goes, was written before a thread waited for it",
                    do="wait for what was fetched before either is written",
                )
            self.shared.store(target, was, who)

    def _pieces(self, addresses: Numbers, size: int, who: Who) -> list[NDArray[Any]]:
        """What threads read of global memory, so many bytes, in the smallest pieces of shared memory."""
        kind = np.dtype(f"u{self.shared.cell}")
        return [self.spaces["global"].load(addresses + n, kind, who) for n in range(0, size, kind.itemsize)]


def own_memory(frame: Frame, addresses: Numbers, size: int, some: Some) -> Bytes:
    """Bytes of memory of threads' own, a row for each.

    Raises:
        KernelError: if they are not there, or not aligned.
    """
    rows = np.arange(frame.count)[some]
    begin = np.broadcast_to(addresses, rows.shape)
    if ((begin < 0) | (begin + size > frame.own.shape[1])).any() or (begin & (size - 1)).any():
        raise KernelError(f"{size} bytes of a thread's own memory are not there, or not aligned")
    found: Bytes = frame.own[rows[:, None], begin[:, None] + np.arange(size)]
    return found


def set_own_memory(frame: Frame, addresses: Numbers, values: NDArray[Any], some: Some) -> None:
    """Write values to memory of threads' own, one to each."""
    rows = np.arange(frame.count)[some]
    begin = np.broadcast_to(addresses, rows.shape)
    size = values.dtype.itemsize
    own_memory(frame, addresses, size, some)
    pieces = np.ascontiguousarray(np.broadcast_to(values, rows.shape)).view(np.uint8).reshape(-1, size)
    frame.own[rows[:, None], begin[:, None] + np.arange(size)] = pieces
