# SPDX-License-Identifier: Apache-2.0
"""The launch table: a computation as rows of (kernel, arguments, chunks) that one compiled function walks."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
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
  br label %chunk
chunk:
  %c = phi i64 [0, %read], [%c1, %call]
  %left = icmp slt i64 %c, %chunks
  br i1 %left, label %call, label %done
call:
  call void %kernel(i64 %args, i64 %c, i64 %chunks)
  %c1 = add i64 %c, 1
  br label %chunk
done:
  %next = add i64 %i, 1
  br label %row
end:
  ret void
}
"""


class Launch(NamedTuple):
    """One row: a kernel, its int64 arguments in the order of its signature, and in how many chunks it runs."""

    kernel: Kernel
    arguments: Sequence[int]
    chunks: int = 1


@cache
def _walker() -> Callable[[int, int], None]:
    """The compiled walker; ctypes releases the interpreter lock around it."""
    address = load_ir("ngraph_rewrite_walk", _WALKER)
    return ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(address)


class LaunchTable:
    """Launches in the order in which they run, with their arguments in one array that callers may patch.

    ``arguments[slot(launch, i)] = address`` changes one argument of one launch. A table may be walked by one thread at
    a time; `copy` gives another thread its own.
    """

    def __init__(self, launches: Sequence[Launch]) -> None:
        self.launches = tuple(launches)
        lengths = [len(launch.arguments) for launch in self.launches]
        self._first = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).tolist()
        flat = [int(value) for launch in self.launches for value in launch.arguments]
        self.arguments: npt.NDArray[np.int64] = np.array(flat or [0], dtype=np.int64)
        base = self.arguments.ctypes.data
        rows = [
            (launch.kernel.address, base + 8 * first, launch.chunks)
            for launch, first in zip(self.launches, self._first, strict=False)
        ]
        self._rows = np.array(rows, dtype=np.int64).reshape(-1, 3)
        self._address, self._walk = self._rows.ctypes.data, _walker()

    def __len__(self) -> int:
        return len(self.launches)

    def slot(self, launch: int, argument: int) -> int:
        """Return the index in ``arguments`` of one argument of one launch."""
        count = len(self.launches[launch].arguments)
        if not 0 <= argument < count:
            raise IndexError(f"launch {launch} has {count} arguments, so none of number {argument}")
        return int(self._first[launch]) + argument

    def run(self) -> None:
        """Run every launch."""
        self._walk(self._address, len(self.launches))

    def step(self, launch: int) -> None:
        """Run one launch."""
        self._walk(self._address + 24 * range(len(self.launches))[launch], 1)

    def copy(self) -> "LaunchTable":
        """Return a table with its own arguments, as they are now."""
        other = LaunchTable(self.launches)
        other.arguments[:] = self.arguments
        return other
