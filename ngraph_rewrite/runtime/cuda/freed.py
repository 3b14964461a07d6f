# SPDX-License-Identifier: Apache-2.0
"""Memory that was given back, kept for whoever asks next for as much: most calls take what the last one left.

All work on the default stream runs in the order in which it was asked for, and streams that block wait for it: what
still uses such memory there is done before its next owner begins. Work on streams that do not block has to be waited
for before memory that it uses is given back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence

from ngraph_rewrite.errors import DeviceError

# The largest whose sizes are rounded to powers of two, and how many of each size are kept: at most 32 MB in all.
LARGEST, MOST = 1 << 20, 16
_ALIGNED = 256
_FEW = 2  # of each larger size that are kept


class FreedMemory:
    """Addresses by the size of what begins there, which is a power of two, or a large one.

    Threads may use it at once: of small ones each step is one of a list or of a dict.

    Args:
        room: The bytes that large ones may have together.

    >>> memory = FreedMemory()
    >>> memory.add(4096, memory.rounded(1000))
    >>> memory.keep(4096), memory.take(700), memory.take(700)
    ((), 4096, None)
    """

    def __init__(self, room: int = 0) -> None:
        self._kept: list[list[int]] = [[] for _ in range(LARGEST.bit_length())]  # by the exponents of sizes
        self._homes: dict[int, list[int]] = {}
        self._large, self._sizes = _Large(room), dict[int, int]()  # of large ones that are taken

    def rounded(self, size: int) -> int:
        """How many bytes are to be taken for so many, so that they can be kept."""
        return max(size, 1) if size > LARGEST else 1 << _exponent(size)

    def add(self, address: int, size: int) -> None:
        """Know memory that was taken, of a size that is `rounded`."""
        if size <= LARGEST:
            self._homes[address] = self._kept[_exponent(size)]
        else:
            self._sizes[address] = size

    def take(self, size: int) -> int | None:
        """The address of at least so many bytes, if there are some."""
        if size <= LARGEST:
            return _taken(self._kept[_exponent(size)])
        address = self._large.take(size)
        if address is not None:
            self._sizes[address] = size
        return address

    def keep(self, address: int) -> Sequence[int]:
        """Keep memory that is given back; what is not kept, or no longer, is not known from now on.

        Returns:
            The addresses of what is not kept.

        Raises:
            DeviceError: if it is kept already, as it would have two owners next.
        """
        home = self._homes.get(address)
        if home is None and address not in self._large:
            return self._large.keep(address, self._sizes.pop(address, 0))
        if home is None or address in home:
            raise DeviceError(f"memory at {address:#x} of the GPU is given back twice", do="look for its second owner")
        if len(home) < MOST:
            home.append(address)
            return ()
        del self._homes[address]
        return (address,)

    def drop(self) -> int | None:
        """The address of the largest that was kept, and from now on is not; None if nothing is."""
        address = self._large.drop()
        if address is not None:
            return address
        for kept in reversed(self._kept):
            address = _taken(kept)
            if address is not None:
                del self._homes[address]
                return address
        return None


class _Large:
    """Large ones, by sizes: those that were kept last are at the end.

    The garbage collector gives arrays back at any time, in a thread that is at work here too: what comes then, or while
    another thread is, waits in a queue for whoever looks next.
    """

    def __init__(self, room: int) -> None:
        self._room, self._total, self._lock = room, 0, threading.Lock()
        self._kept = OrderedDict[int, list[int]]()
        self._queue = deque[tuple[int, int]]()
        self._known: dict[int, int] = {}  # sizes, of those in the queue too

    def __contains__(self, address: int) -> bool:
        return address in self._known

    def take(self, size: int) -> int | None:
        """One of a size, if there is one, and nobody else is at work here."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._taken(size) if size in self._kept else None
        finally:
            self._lock.release()

    def keep(self, address: int, size: int) -> list[int]:
        """Keep one, and say which are not kept: too many of a size, or those of sizes that were kept long ago."""
        if not 0 < size <= self._room:
            return [address]
        self._known[address] = size
        self._queue.append((address, size))
        if not self._lock.acquire(blocking=False):
            return []
        try:
            others = list[int]()
            while self._queue:
                others += self._placed(*self._queue.popleft())
            return others
        finally:
            self._lock.release()

    def _placed(self, address: int, size: int) -> list[int]:
        some = self._kept.setdefault(size, [])
        self._kept.move_to_end(size)
        if len(some) >= _FEW:
            del self._known[address]
            return [address]
        some.append(address)
        self._total += size
        others = list[int]()
        while self._total > self._room:
            others.append(self._taken(next(iter(self._kept))))
        return others

    def _taken(self, size: int) -> int:
        some = self._kept[size]
        address = some.pop()
        if not some:
            del self._kept[size]
        self._total -= size
        del self._known[address]
        return address

    def drop(self) -> int | None:
        """One that waits, or of the largest; None if there is none."""
        with self._lock:
            if self._queue:
                address, _ = self._queue.popleft()
                del self._known[address]
                return address
            return self._taken(max(self._kept)) if self._kept else None


def _taken(kept: list[int]) -> int | None:
    """The last of some addresses, which is none of them any more."""
    try:
        return kept.pop() if kept else None
    except IndexError:  # another thread was faster
        return None


def _exponent(size: int) -> int:
    """That of the least power of two that is as large as a size and what addresses are multiples of."""
    return (size - 1 | _ALIGNED - 1).bit_length() if size else _ALIGNED.bit_length() - 1
