# SPDX-License-Identifier: Apache-2.0
"""The launch table: a computation as rows of (kernel, arguments, chunks) that one compiled function walks.

A row may also be a table of its own that runs a number of times, while some of its arguments grow.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ngraph_rewrite.runtime.compiler import Kernel
from ngraph_rewrite.runtime.engine import load_ir

_WALKER = """
define void @ngraph_rewrite_walk(i64 %table, i64 %count) {
entry:
  %rows = inttoptr i64 %table to ptr
  br label %row
row:
  %i = phi i64 [0, %entry], [%next, %done]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %read, label %end
read:
  %base = mul i64 %i, 3
  %at = getelementptr i64, ptr %rows, i64 %base
  %at1 = getelementptr i64, ptr %at, i64 1
  %at2 = getelementptr i64, ptr %at, i64 2
  %address = load i64, ptr %at
  %args = load i64, ptr %at1
  %chunks = load i64, ptr %at2
  %kernel = inttoptr i64 %address to ptr
  %repeats = icmp eq i64 %address, 0
  br i1 %repeats, label %loop, label %chunk
chunk:
  %c = phi i64 [0, %read], [%c1, %call]
  %left = icmp slt i64 %c, %chunks
  br i1 %left, label %call, label %done
call:
  call void %kernel(i64 %args, i64 %c, i64 %chunks)
  %c1 = add i64 %c, 1
  br label %chunk
loop:
  %l = inttoptr i64 %args to ptr
  %l1 = getelementptr i64, ptr %l, i64 1
  %l2 = getelementptr i64, ptr %l, i64 2
  %l3 = getelementptr i64, ptr %l, i64 3
  %body = load i64, ptr %l
  %length = load i64, ptr %l1
  %moves = load i64, ptr %l2
  %moving = load i64, ptr %l3
  br label %time
time:
  %t = phi i64 [0, %loop], [%t1, %moved]
  %again = icmp slt i64 %t, %chunks
  br i1 %again, label %once, label %back
once:
  call void @ngraph_rewrite_walk(i64 %body, i64 %length)
  call void @ngraph_rewrite_move(i64 %moves, i64 %moving, i64 1)
  br label %moved
moved:
  %t1 = add i64 %t, 1
  br label %time
back:
  %all = sub i64 0, %t
  call void @ngraph_rewrite_move(i64 %moves, i64 %moving, i64 %all)
  br label %done
done:
  %next = add i64 %i, 1
  br label %row
end:
  ret void
}

define internal void @ngraph_rewrite_move(i64 %table, i64 %count, i64 %times) {
entry:
  %moves = inttoptr i64 %table to ptr
  br label %move
move:
  %i = phi i64 [0, %entry], [%next, %one]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %one, label %end
one:
  %base = mul i64 %i, 2
  %at = getelementptr i64, ptr %moves, i64 %base
  %at1 = getelementptr i64, ptr %at, i64 1
  %where = load i64, ptr %at
  %step = load i64, ptr %at1
  %slot = inttoptr i64 %where to ptr
  %before = load i64, ptr %slot
  %by = mul i64 %step, %times
  %after = add i64 %before, %by
  store i64 %after, ptr %slot
  %next = add i64 %i, 1
  br label %move
end:
  ret void
}
"""


class Launch(NamedTuple):
    """One row: a kernel, its int64 arguments in the order of its signature, and in how many chunks it runs."""

    kernel: Kernel
    arguments: Sequence[int]
    chunks: int = 1


class Repeat(NamedTuple):
    """One row that runs others a number of times.

    Attributes:
        steps: Which arguments (numbered through all that the rows have) grow, and by how much with each time;
            afterwards they are what they were.
    """

    launches: Sequence["Launch | Repeat"]
    times: int
    steps: Sequence[tuple[int, int]] = ()


@cache
def _walker() -> Callable[[int, int], None]:
    """The compiled walker; ctypes releases the interpreter lock around it."""
    address = load_ir("ngraph_rewrite_walk", _WALKER)
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(address)


class LaunchTable:
    """Launches in the order in which they run, with their arguments in one array that callers may patch.

    ``arguments[slot(launch, i)] = address`` changes one argument of one launch; launches are numbered in the order
    in which they are written, those that are repeated included. A table may be walked by one thread at a time;
    `copy` gives another thread its own.
    """

    def __init__(self, launches: Sequence[Launch | Repeat]) -> None:
        self.launches = tuple(launches)
        every = list(_flat(self.launches))
        lengths = [len(launch.arguments) for launch in every]
        self._first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).tolist()
        flat = [*chain.from_iterable([launch.arguments for launch in every])]
        self.arguments: npt.NDArray[np.int64] = np.array(flat or [0], dtype=np.int64)
        self._tables: list[npt.NDArray[np.int64]] = []  # what rows point to
        self._address, _ = self._table(self.launches, 0)
        self._walk = _walker()

    def _table(self, launches: Sequence[Launch | Repeat], slot: int) -> tuple[int, int]:
        """The address of the rows of launches whose arguments begin at `slot`, and where they end."""
        base, rows = self.arguments.ctypes.data, []
        for one in launches:
            first = slot
            if isinstance(one, Repeat):
                inner, slot = self._table(one.launches, first)
                steps = self._kept([(base + 8 * (first + at), step) for at, step in one.steps])
                rows.append((0, self._kept([(inner, len(one.launches), steps, len(one.steps))]), one.times))
            else:
                rows.append((one.kernel.address, base + 8 * first, one.chunks))
                slot += len(one.arguments)
        return self._kept(rows), slot

    def _kept(self, rows: Sequence[tuple[int, ...]]) -> int:
        """The address of a table that lives as long as this one."""
        self._tables.append(np.array(rows or [(0,)], dtype=np.int64))
        return int(self._tables[-1].ctypes.data)

    def __len__(self) -> int:
        return len(self.launches)

    def slot(self, launch: int, argument: int) -> int:
        """Return the index in ``arguments`` of one argument of one launch."""
        count = self._first[launch + 1] - self._first[launch]
        if not 0 <= argument < count:
            raise IndexError(f"launch {launch} has {count} arguments, so none of number {argument}")
        return int(self._first[launch]) + argument

    def run(self) -> None:
        """Run every launch."""
        self._walk(self._address, len(self.launches))

    def step(self, launch: int) -> None:
        """Run one row: a launch, or all that is repeated together."""
        self._walk(self._address + 24 * range(len(self.launches))[launch], 1)

    def copy(self) -> "LaunchTable":
        """Return a table with its own arguments, as they are now."""
        other = LaunchTable(self.launches)
        other.arguments[:] = self.arguments
        return other


def _flat(launches: Sequence[Launch | Repeat]) -> Iterator[Launch]:
    for one in launches:
        if isinstance(one, Repeat):
            yield from _flat(one.launches)
        else:
            yield one
