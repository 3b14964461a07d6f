# SPDX-License-Identifier: Apache-2.0
"""The memories that threads share, of the GPU and of a block: what a GPU would refuse, or should, is an error.

An access outside of what a kernel was given, or one that is not aligned, is refused; so is one that meets another
thread (`watching`), and one that reads shared memory which nobody wrote.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.values import bits_of
from ngraph_rewrite.runtime.ptx.watching import Meeting, Watch, Who

Values = NDArray[Any]
Numbers = NDArray[np.int64]

_BASE = 4096  # where the memory of a process begins at the earliest
_WHOLE: Any = (ctypes.c_uint8 * ((1 << 47) - _BASE)).from_address(_BASE)
_PROCESS = np.frombuffer(_WHOLE, np.uint8)
_VIEWS = {size: _PROCESS.view(f"u{size}") for size in (1, 2, 4, 8)}


class Cells(NamedTuple):
    """Where in a memory accesses are: the first cell of each that is watched, and how many each has."""

    first: Numbers
    each: int


class Space(ABC):
    """Memory that threads share.

    Args:
        name: What it is called.
        bytes_of_cell: The smallest piece that is moved.
        watch: Who is where.
    """

    def __init__(self, name: str, bytes_of_cell: int, watch: Watch) -> None:
        self.name, self.cell, self.watch = name, bytes_of_cell, watch

    @abstractmethod
    def _places(self, addresses: Numbers, size: int, who: Who) -> tuple[Values, Numbers, Cells]:
        """The memory in such pieces, which of them they are, and their cells."""

    def check(self, addresses: Numbers, size: int) -> None:
        """Refuse addresses that are no multiples of a size.

        Raises:
            KernelError: for the first.
        """
        wrong = addresses & (size - 1)
        if wrong.any():
            found = int(addresses[np.flatnonzero(wrong)[0]])
            raise KernelError(
                f"{size} bytes at address {found:#x} of {self.name} memory are not aligned",
                do="access several at once only where their address is a multiple of their bytes",
            )

    def load(self, addresses: Numbers, kind: np.dtype[Any], who: Who, constant: bool = False) -> Values:
        """What is at addresses, one for each thread.

        Args:
            constant: Whether the kernel says that it does not write there: what it wrote may be seen or not.

        Raises:
            KernelError: if that is not theirs to read.
        """
        self.check(addresses, kind.itemsize)
        memory, places, cells = self._places(addresses, kind.itemsize, who)
        for n in range(cells.each):
            self._told(self.watch.read(cells.first + n, who), "reads", addresses, who)
            if constant and not (unwritten := self.watch.unwritten(cells.first + n)).all():
                at = int(np.flatnonzero(~unwritten)[0])
                raise KernelError(
                    f"thread {int(who.numbers[at]) - 1} reads {self.name} memory at {int(addresses[at]):#x} as what is "
                    f"constant, and the kernel wrote there",
                    do="read it by an ordinary load",
                )
        return memory[places].view(kind)

    def store(self, addresses: Numbers, values: Values, who: Who) -> None:
        """Write values to addresses, one for each thread.

        Raises:
            KernelError: if that is not theirs to write.
        """
        size = values.dtype.itemsize
        self.check(addresses, size)
        memory, places, cells = self._places(addresses, size, who)
        bits = values.view(bits_of(values.dtype))
        before = memory[places] == bits
        memory[places] = bits
        after = memory[places] == bits
        for n in range(cells.each):
            self._told(self.watch.write(cells.first + n, who, before, after), "writes", addresses, who)

    def ask(self, addresses: Numbers, who: Who) -> None:
        """Refuse addresses where nothing may be read; who is there does not matter.

        Raises:
            KernelError: for the first.
        """
        self._places(addresses, 1, who)

    def _told(self, meeting: Meeting | None, does: str, addresses: Numbers, who: Who) -> None:
        if meeting is None:
            return
        at = int(np.flatnonzero(who.numbers == meeting.later + 1)[0])
        raise KernelError(
            f"thread {meeting.later} {does} {self.name} memory at {int(addresses[at]):#x}, which {meeting.earlier} "
            f"with no barrier between",
            do="put a barrier between both, or let one thread do both",
        )


class GlobalSpace(Space):
    """What a kernel may use of the process's memory.

    Args:
        ranges: Beginnings and ends.
    """

    def __init__(self, ranges: Sequence[tuple[int, int]], bytes_of_cell: int) -> None:
        apart = list(_merged(ranges)) or [(0, 0)]
        begins, ends = (np.array(places, np.int64) for places in zip(*apart, strict=True))
        counts = (ends - begins + bytes_of_cell - 1) // bytes_of_cell
        self._begins, self._ends = begins, ends
        self._first = np.cumsum(counts) - counts
        super().__init__("global", bytes_of_cell, Watch(int(counts.sum())))

    def _places(self, addresses: Numbers, size: int, who: Who) -> tuple[Values, Numbers, Cells]:
        which = np.maximum(np.searchsorted(self._begins, addresses, "right") - 1, 0)
        into = addresses - self._begins[which]
        outside = (into < 0) | (addresses + size > self._ends[which])
        if outside.any():
            at = int(np.flatnonzero(outside)[0])
            raise KernelError(
                f"thread {int(who.numbers[at]) - 1} accesses {size} bytes at {int(addresses[at]):#x} of global memory, "
                f"which are outside of what the kernel was given",
                do="look at the address, and at what the launch says of lengths",
            )
        cells = Cells(self._first[which] + into // self.cell, max(size // self.cell, 1))
        return _VIEWS[size], (addresses - _BASE) // size, cells


def _merged(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Ranges in order, and as one where some overlap: what goes from one into the next is outside of both.

    >>> list(_merged([(8, 12), (0, 4), (2, 6), (6, 8)]))
    [(0, 6), (6, 8), (8, 12)]
    """
    begin = end = 0
    for first, last in sorted(ranges):
        if first >= end > begin:
            yield begin, end
        begin, end = (begin, max(end, last)) if first < end else (first, last)
    if begin < end:
        yield begin, end


class SharedSpace(Space):
    """What the threads of a block share, of so many blocks that run side by side."""

    def __init__(self, size: int, blocks: int, bytes_of_cell: int) -> None:
        self._size = -(-size // 16) * 16
        self._bytes = np.full(self._size * blocks, 0xFF, np.uint8)
        super().__init__("shared", bytes_of_cell, Watch(self._size * blocks // bytes_of_cell))

    def _places(self, addresses: Numbers, size: int, who: Who) -> tuple[Values, Numbers, Cells]:
        if ((addresses < 0) | (addresses + size > self._size)).any():
            raise KernelError(
                f"{size} bytes are accessed outside of the {self._size} of shared memory",
                do="make it larger, or stay in it",
            )
        into = addresses + who.slots * self._size
        return self._bytes.view(f"u{size}"), into // size, Cells(into // self.cell, max(size // self.cell, 1))

    def load(self, addresses: Numbers, kind: np.dtype[Any], who: Who, constant: bool = False) -> Values:
        found = super().load(addresses, kind, who, constant)
        _, _, cells = self._places(addresses, kind.itemsize, who)
        for n in range(cells.each):
            unwritten = self.watch.unwritten(cells.first + n)
            if not unwritten.any():
                continue
            at = int(np.flatnonzero(unwritten)[0])
            raise KernelError(
                f"thread {int(who.numbers[at]) - 1} reads shared memory at {int(addresses[at]):#x}, which none wrote",
                do="write it before the barrier",
            )
        return found

    def spoil(self, addresses: Numbers, size: int, who: Who) -> None:
        """Write what nobody is to read: something is on its way there."""
        for n in range(size // self.cell):
            kind = bits_of(np.dtype(f"u{self.cell}"))
            self.store(addresses + n * self.cell, np.full(addresses.shape, ~np.zeros((), kind)), who)
