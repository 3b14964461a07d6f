# SPDX-License-Identifier: Apache-2.0
"""Memory that was given back, kept for whoever asks next for as much: most calls take what the last one left.

All work on the default stream runs in the order in which it was asked for, and streams that block wait for it: what
still uses such memory there is done before its next owner begins. Work on streams that do not block has to be waited
for before memory that it uses is given back.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ngraph_rewrite.errors import DeviceError

# The largest whose sizes are rounded to powers of two, and how many of each size are kept: at most 32 MB in all.
LARGEST, MOST = 1 << 20, 16
_ALIGNED = 256
_FEW = 2  # of each larger size that have a home


class _Home(list[int]):
    """The addresses of a size that are kept.

    Attributes:
        own: Of a large size all that come back here, those that are taken too.
        is_open: Whether they still do.
    """

    def __init__(self, size: int, most: int) -> None:
        self.size, self.most, self.is_open = size, most, True
        self.own: set[int] = set()


class FreedMemory:
    """Addresses by the size of what begins there, which is a power of two, or a large one.

    Threads may use it at once, and the garbage collector gives arrays back between any two instructions: who takes
    memory, or gives it back to a home, does so by one step of a list or of a dict. Who gives a home to a large one, or
    takes it away, is alone; what comes meanwhile is not kept.

    Args:
        room: The bytes that large ones may have together.

    >>> memory = FreedMemory()
    >>> memory.add(4096, memory.rounded(1000))
    >>> memory.keep(4096), memory.take(700), memory.take(700)
    ((), 4096, None)
    """

    def __init__(self, room: int = 0) -> None:
        self._small = [_Home(1 << n, MOST) for n in range(LARGEST.bit_length())]  # by the exponents of sizes
        self._large: dict[int, _Home] = {}  # by sizes, those of which one got a home last at the end
        self._homes: dict[int, _Home] = {}
        self._sizes: dict[int, int] = {}  # of large ones that have no home
        self._room, self._total, self._lock = room, 0, threading.Lock()

    def rounded(self, size: int) -> int:
        """How many bytes are to be taken for so many, so that they can be kept."""
        return max(size, 1) if size > LARGEST else 1 << _exponent(size)

    def add(self, address: int, size: int) -> None:
        """Know memory that was taken, of a size that is `rounded`."""
        if size <= LARGEST:
            self._homes[address] = self._small[_exponent(size)]
        else:
            self._sizes[address] = size

    def take(self, size: int) -> int | None:
        """The address of at least so many bytes, one or more, if there are some."""
        home = self._small[(size - 1 | _ALIGNED - 1).bit_length()] if size <= LARGEST else self._large.get(size)
        try:
            return home.pop() if home else None
        except IndexError:  # another thread was faster
            return None

    def keep(self, address: int) -> Sequence[int]:
        """Keep memory that is given back; what is not kept, or no longer, is not known from now on.

        Returns:
            The addresses of what is not kept.

        Raises:
            DeviceError: if it is kept already, as it would have two owners next.
        """
        home = self._homes.get(address)
        if home is None:
            return self._settled(address)
        if address in home:
            raise _twice(address)
        if len(home) < home.most:
            home.append(address)
            return () if home.is_open else self._left(home, address)
        self._forget(address)
        return (address,)

    def drop(self) -> int | None:
        """The address of the largest that was kept, and from now on is not; None if nothing is."""
        with self._lock:
            for home in (*[self._large[size] for size in sorted(self._large, reverse=True)], *reversed(self._small)):
                address = _last(home)
                if address is not None:
                    self._total -= home.size * (address in home.own)
                    home.own.discard(address)
                    self._forget(address)
                    return address
        return None

    def _forget(self, address: int) -> None:
        """Know nothing of an address any more."""
        self._homes.pop(address, None)
        self._sizes.pop(address, None)

    # -- homes of large ones -------------------------------------------------------------------------------------------

    def _settled(self, address: int) -> Sequence[int]:
        """Give a home to a large one; what is not kept."""
        size = self._sizes.pop(address, 0)
        if not size:
            raise _twice(address)
        if size > self._room or not self._lock.acquire(blocking=False):
            return (address,)
        try:
            return self._settle(address, size)
        finally:
            self._lock.release()

    def _settle(self, address: int, size: int) -> list[int]:
        home = self._large.pop(size, None)
        home = self._large[size] = _Home(size, _FEW) if home is None else home
        if len(home.own) >= _FEW:
            taken = [other for other in home.own if other not in home]
            if not taken:
                return [address]
            self._unsettle(home, taken[0])
        home.own.add(address)
        self._total += size
        self._homes[address] = home
        home.append(address)
        others = list[int]()
        while self._total > self._room:
            others += self._closed(self._large.pop(next(iter(self._large))))
        return others

    def _unsettle(self, home: _Home, address: int) -> None:
        """Take its home away from one that is taken."""
        self._sizes[address] = home.size
        self._homes.pop(address, None)
        home.own.discard(address)
        self._total -= home.size

    def _closed(self, home: _Home) -> list[int]:
        """What a home had, from which all is given away."""
        home.is_open = False
        found = list[int]()
        while (address := _last(home)) is not None:
            found.append(address)
            self._forget(address)
        self._total -= home.size * len(home.own)
        home.own.difference_update(found)
        for other in list(home.own):
            self._sizes[other] = home.size
            if self._homes.pop(other, None) is None:  # it came back meanwhile, and was not kept
                self._sizes.pop(other, None)
        return found

    def _left(self, home: _Home, address: int) -> Sequence[int]:
        """What is not kept of one that came to its home when that was closed: nothing, if it was given away there."""
        try:
            home.remove(address)
        except ValueError:
            return ()
        self._forget(address)
        return (address,)


def _last(home: list[int]) -> int | None:
    """The last of some addresses, which is none of them any more."""
    try:
        return home.pop()
    except IndexError:
        return None


def _twice(address: int) -> DeviceError:
    return DeviceError(f"memory at {address:#x} of the GPU is given back twice", do="look for its second owner")


def _exponent(size: int) -> int:
    """That of the least power of two that is as large as a size and what addresses are multiples of."""
    return (size - 1 | _ALIGNED - 1).bit_length() if size else _ALIGNED.bit_length() - 1
