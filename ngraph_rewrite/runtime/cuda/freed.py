# SPDX-License-Identifier: Apache-2.0
"""Memory that was given back, kept for whoever asks next for as much: most calls take what the last one left.

All work on the default stream runs in the order in which it was asked for, and streams that block wait for it: what
still uses such memory there is done before its next owner begins. Work on streams that do not block has to be waited
for before memory that it uses is given back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from ngraph_rewrite.errors import DeviceError

# The largest whose sizes are rounded to powers of two, and how many of each size are kept: at most 32 MB in all.
LARGEST, MOST = 1 << 20, 16
_ALIGNED = 256
_FEW = 4  # of each larger size that have a home


class _Home(list[int]):
    """The addresses of a size that are kept.

    Attributes:
        members: Of a large size how many come back here, those that are taken too.
        is_open: Whether they still do; those that are taken know it by this home all the same.
    """

    def __init__(self, size: int, most: int, is_open: bool = True) -> None:
        self.size, self.most, self.is_open, self.members = size, most, is_open, 0


class FreedMemory:
    """Addresses by the size of what begins there, which is a power of two, or a large one.

    Threads may use it at once, and the garbage collector gives arrays back between any two instructions: who takes
    memory, or gives it back to a home, does so by one step of a list or of a dict. What is known of an address is
    changed by who has it alone. Who gives large ones a home, or closes one, is alone; what comes meanwhile is not kept.

    Args:
        room: The bytes that large ones may have together.

    >>> memory = FreedMemory()
    >>> memory.add(4096, memory.rounded(1000))
    >>> memory.keep(4096), memory.take(700), memory.take(700)
    ((), 4096, None)
    """

    def __init__(self, room: int = 0) -> None:
        self._small = [_Home(1 << n, MOST) for n in range(LARGEST.bit_length())]  # by the exponents of sizes
        self._large = OrderedDict[int, _Home]()  # by sizes, those of which one got a home last at the end
        self._homes: dict[int, _Home] = {}
        self._room, self._total, self._lock = room, 0, threading.Lock()

    def rounded(self, size: int) -> int:
        """How many bytes are to be taken for so many, so that they can be kept."""
        return size if size > LARGEST else 1 << _exponent(size)

    def add(self, address: int, size: int) -> None:
        """Know memory that was taken, of a size that is `rounded`."""
        self._homes[address] = self._small[_exponent(size)] if size <= LARGEST else _Home(size, _FEW, is_open=False)

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
        if home is None or address in home:
            raise DeviceError(f"memory at {address:#x} of the GPU is given back twice", do="look for its second owner")
        if not home.is_open:
            return self._settled(address, home.size)
        if len(home) < home.most:
            home.append(address)
            return () if home.is_open else self._left(home, address)
        del self._homes[address]
        return (address,)

    def drop(self) -> int | None:
        """The address of the largest that was kept, and from now on is not; None if nothing is."""
        with self._lock:
            for home in (*[self._large[size] for size in sorted(self._large, reverse=True)], *reversed(self._small)):
                address = _last(home)
                if address is not None:
                    home.members -= 1
                    self._total -= home.size if home.size > LARGEST else 0
                    del self._homes[address]
                    return address
        return None

    # -- homes of large ones -------------------------------------------------------------------------------------------

    def _settled(self, address: int, size: int) -> Sequence[int]:
        """Give a home to a large one that is given back; what is not kept."""
        if size <= self._room and self._lock.acquire(blocking=False):
            try:
                return self._settle(address, size)
            finally:
                self._lock.release()
        del self._homes[address]
        return (address,)

    def _settle(self, address: int, size: int) -> list[int]:
        home = self._large.setdefault(size, _Home(size, _FEW))
        self._large.move_to_end(size)
        if home.members == _FEW or (home.members + 1) * size > self._room:
            del self._homes[address]
            return [address]
        home.members += 1
        self._total += size
        self._homes[address] = home
        home.append(address)
        others = list[int]()
        while self._total > self._room:
            others += self._closed(self._large.popitem(last=False)[1])
        return others

    def _closed(self, home: _Home) -> list[int]:
        """What a home had that is one no longer."""
        home.is_open, found = False, list[int]()
        while (address := _last(home)) is not None:
            del self._homes[address]
            found.append(address)
        self._total -= home.size * home.members
        return found

    def _left(self, home: _Home, address: int) -> Sequence[int]:
        """What is not kept of one that came home when that was closed: nothing, if it was given away there."""
        try:
            home.remove(address)
        except ValueError:
            return ()
        del self._homes[address]
        return (address,)


def _last(home: list[int]) -> int | None:
    """The last of some addresses, which is none of them any more."""
    try:
        return home.pop()
    except IndexError:
        return None


def _exponent(size: int) -> int:
    """That of the least power of two that is as large as a size and what addresses are multiples of."""
    return (size - 1 | _ALIGNED - 1).bit_length() if size else _ALIGNED.bit_length() - 1
