# SPDX-License-Identifier: Apache-2.0
"""The launch table: a computation as rows of (kernel, arguments, chunks) that one compiled function walks.

A row may also be a table of its own that runs a number of times, while some of its arguments grow; or several that run
beside each other. The chunks of a row are shared out to threads, of several tables each is one. A walk that takes long
is cut, so that an interrupt is noticed between two rows.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.compiler import Kernel
from ngraph_rewrite.runtime.entry import Rows
from ngraph_rewrite.runtime.pool import Pool, process_pool
from ngraph_rewrite.runtime.walker import walker
from ngraph_rewrite.waiting import Waiting, finished

SLICE = 20_000_000  # the weight after which Python may look at signals: 20 ms, as far as weights are right
NEVER = 2**62
DEEPEST = 4_000  # rows in each other: the walker calls itself for each, and threads may have 512 KiB of stack

_DO = "run the computation with the reference target, or let one loop with a state do what is done in so many"


class Launch(NamedTuple):
    """One row: a kernel, its int64 arguments in the order of its signature, and in how many chunks it runs.

    Attributes:
        chunks: 0 if it shares out parts of itself (`ngraph_rewrite.runtime.parting_code`).
        weight: About how many nanoseconds it takes.
    """

    kernel: Kernel
    arguments: Sequence[int]
    chunks: int = 1
    weight: int = 1


class Repeat(NamedTuple):
    """One row that runs others a number of times.

    Attributes:
        steps: Which arguments (numbered through all that the rows have) grow, and by how much with each time;
            afterwards they are what they were.
        flag: The address of a byte that is not 0 before each time, or no more times follow; 0 if there is none.
        where: The user's line that built it, for errors.
    """

    launches: Sequence[Row]
    times: int
    steps: Sequence[tuple[int, int]] = ()
    flag: int = 0
    where: str | None = None


class Beside(NamedTuple):
    """One row that runs others beside each other, each of them whole in one thread; `where` is the user's line."""

    launches: Sequence[Row]
    where: str | None = None


Row = Launch | Repeat | Beside


class LaunchTable:
    """Launches in the order in which they run, with their arguments in one array that callers may patch.

    ``arguments[slot(launch, i)] = address`` changes one argument of one launch; launches are numbered in the order
    in which they are written, those that are repeated included. A table may be walked by one thread at a time;
    `copy` gives another thread its own.

    Args:
        pool: The workers to share chunks with; those of the process by default.
        cache: Where the machine code that walks is kept.

    Attributes:
        weight: About how many nanoseconds one core takes for all of it.
        shared: Whether any launch has chunks to share out.
    """

    def __init__(self, launches: Sequence[Row], pool: Pool | None = None, cache: Cache | None = None) -> None:
        self.launches = tuple(launches)
        every = list(_flat(self.launches))
        lengths = [len(launch.arguments) for launch in every]
        self._first = [*accumulate(lengths, initial=0)]
        flat = [*chain.from_iterable([launch.arguments for launch in every])]
        self.arguments: npt.NDArray[np.int64] = np.array(array("q", flat or [0]))
        self._tables: list[npt.NDArray[np.int64]] = []  # what rows point to
        self._records: list[int] = []
        self._pool, self._cache = pool, cache
        self._walk, self._rewind, self._walk_at, self._walk_one_at = walker(cache)
        self._address, _ = finished(self._table(self.launches, 0, 0))
        self._records_at = self._kept([(record,) for record in self._records])
        self._context = np.array([0, 0, SLICE, 0], dtype=np.int64)
        self._context_at = address_of(self._context)
        self.weight, self.shared = _weight(self.launches), _is_shared(self.launches)
        self._unfinished = False

    def _table(self, launches: Sequence[Row], slot: int, depth: int) -> Waiting[tuple[int, int]]:
        """The address of the rows of launches whose arguments begin at `slot`, and where they end."""
        base, rows = address_of(self.arguments), []
        for one in launches:
            first = slot
            if depth == DEEPEST and not isinstance(one, Launch):
                what = f"loops and branches are in each other more than {DEEPEST:,} deep"
                raise KernelError(what, where=one.where, do=_DO)
            if isinstance(one, Repeat):
                inner, slot = yield self._table(one.launches, first, depth + 1)
                steps = self._kept([(base + 8 * (first + at), step) for at, step in one.steps])
                record = self._kept([(inner, len(one.launches), steps, len(one.steps), 0, 0, one.flag, 0)])
                self._records.append(record)
                rows.append((0, record, one.times, 0))
            elif isinstance(one, Beside):
                tables, slot = yield self._beside(one, first, depth + 1)
                rows.append((self._walk_one_at, tables, len(one.launches), _weight(one.launches)))
            else:
                rows.append((one.kernel.address, base + 8 * first, one.chunks, one.weight))
                slot += len(one.arguments)
        return self._kept(rows), slot

    def _beside(self, row: Beside, slot: int, depth: int) -> Waiting[tuple[int, int]]:
        """The address of tables that are walked beside each other, each in a context without other threads."""
        tables = list[tuple[int, int, int]]()
        for one in row.launches:
            table, slot = yield self._table([one], slot, depth)
            tables.append((table, 1, self._kept([(0, 0, NEVER, 0)])))
        return self._kept(tables), slot

    def _kept(self, rows: Sequence[tuple[int, ...]]) -> int:
        """The address of a table that lives as long as this one."""
        self._tables.append(np.array(rows or [(0,)], dtype=np.int64))
        return address_of(self._tables[-1])

    def __len__(self) -> int:
        return len(self.launches)

    def rows(self, threads: int = 1) -> tuple[Rows, Sequence[int]]:
        """What the walker is called with, for who calls it without this object; it has to live until then.

        Args:
            threads: How many threads run it.

        Returns:
            The rows, and addresses of words which are not 0 once they may not be walked in this way any more.
        """
        pool = self._share(threads) if self.shared else None
        return self._rows(), [] if pool is None else [pool.gone]

    def _rows(self) -> Rows:
        return Rows(self._address, len(self.launches), self._context_at, self._walk_at)

    def slot(self, launch: int, argument: int) -> int:
        """Return the index in ``arguments`` of one argument of one launch."""
        count = self._first[launch + 1] - self._first[launch]
        if not 0 <= argument < count:
            raise IndexError(f"launch {launch} has {count} arguments, so none of number {argument}")
        return self._first[launch] + argument

    def run(self, threads: int = 1) -> None:
        """Run every launch, with at most so many threads.

        Raises:
            KeyboardInterrupt: between two rows, in the main thread. Rows before that have run; it can be run again.
        """
        self._run(0, len(self.launches), threads)

    def step(self, launch: int, threads: int = 1) -> None:
        """Run one row: a launch, or all that is repeated together."""
        row = range(len(self.launches))[launch]
        self._run(row, row + 1, threads)

    def _run(self, first: int, end: int, threads: int) -> None:
        if self.shared:
            self._share(threads)
        self.rewind()
        self._unfinished = True
        stands = self._walk(self._address, first, end, self._context_at)
        if stands < end:
            self._go_on(stands, end)
        self._unfinished = False

    def rewind(self) -> None:
        """After a run that was interrupted: let what was repeated begin anew. Do so before you patch arguments."""
        if self._unfinished:
            self._rewind(self._records_at, len(self._records))
            self._unfinished = False

    def _share(self, threads: int) -> Pool | None:
        """Tell the walker of a pool with workers enough, if it needs one."""
        if threads <= 1:
            self._context[0] = 0
            return None
        pool = self._pool or process_pool(self._cache)
        if pool.workers < threads - 1:
            pool.grow(threads - 1)
        self._context[0], self._context[1] = pool.address, threads - 1
        return pool

    def _go_on(self, stands: int, end: int) -> None:
        """Walk the rest of a table slice by slice; signals are for the main thread, others need no slices."""
        in_main = threading.get_ident() == threading.main_thread().ident
        self._context[2] = SLICE if in_main else NEVER
        try:
            while stands < end:
                stands = self._walk(self._address, stands, end, self._context_at)
        finally:
            self._context[2] = SLICE

    def copy(self) -> LaunchTable:
        """Return a table with its own arguments, as they are now."""
        self.rewind()
        other = LaunchTable(self.launches, self._pool, self._cache)
        other.arguments[:] = self.arguments
        return other


def _weight(launches: Sequence[Row]) -> int:
    return finished(_weighed(launches))


def _weighed(launches: Sequence[Row]) -> Waiting[int]:
    found = 0
    for one in launches:
        if isinstance(one, Launch):
            found += one.weight
        else:
            found += getattr(one, "times", 1) * (yield _weighed(one.launches))
    return found


def _is_shared(launches: Sequence[Row]) -> bool:
    return any(one.chunks != 1 if isinstance(one, Launch) else isinstance(one, Beside) for one in _every(launches))


def _flat(launches: Sequence[Row]) -> Iterator[Launch]:
    return (one for one in _every(launches) if isinstance(one, Launch))


def _every(launches: Sequence[Row]) -> Iterator[Row]:
    """All rows, each before those inside."""
    waiting = [iter(launches)]
    while waiting:
        one = next(waiting[-1], None)
        if one is None:
            waiting.pop()
        else:
            yield one
            if not isinstance(one, Launch):
                waiting.append(iter(one.launches))
