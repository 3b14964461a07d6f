# SPDX-License-Identifier: Apache-2.0
"""Small stretches of memory that were given back, kept for whoever asks next: most calls take what the last one left.

All work on the default stream runs in the order in which it was asked for, and streams that block wait for it: what
still uses such memory there is done before its next owner begins. Work on streams that do not block has to be waited
for before memory that it uses is given back.
"""

from __future__ import annotations

from ngraph_rewrite.errors import DeviceError

# The largest that are kept, and how many of each size: at most 32 MB in all.
LARGEST, MOST = 1 << 20, 16
_ALIGNED = 256


class FreedMemory:
    """Addresses by the size of what begins there, which is a power of two.

    Threads may use it at once: each step is one of a list or of a dict.

    >>> memory = FreedMemory()
    >>> memory.add(4096, memory.rounded(1000))
    >>> memory.keep(4096), memory.take(700), memory.take(700)
    (True, 4096, None)
    """

    def __init__(self) -> None:
        self._kept: list[list[int]] = [[] for _ in range(LARGEST.bit_length())]  # by the exponents of sizes
        self._homes: dict[int, list[int]] = {}

    def rounded(self, size: int) -> int:
        """How many bytes are to be taken for so many, so that they can be kept."""
        return max(size, 1) if size > LARGEST else 1 << _exponent(size)

    def add(self, address: int, size: int) -> None:
        """Know memory that was taken, of a size that is `rounded`."""
        if size <= LARGEST:
            self._homes[address] = self._kept[_exponent(size)]

    def take(self, size: int) -> int | None:
        """The address of at least so many bytes, if there are some."""
        return _taken(self._kept[_exponent(size)]) if size <= LARGEST else None

    def keep(self, address: int) -> bool:
        """Whether memory that is given back is kept; if not, it is not known any longer.

        Raises:
            DeviceError: if it is kept already, as it would have two owners next.
        """
        home = self._homes.get(address)
        if home is not None and address in home:
            raise DeviceError(f"memory at {address:#x} of the GPU is given back twice", do="look for its second owner")
        if home is not None and len(home) < MOST:
            home.append(address)
            return True
        self._homes.pop(address, None)
        return False

    def drop(self) -> int | None:
        """The address of the largest that was kept, and from now on is not; None if nothing is."""
        for kept in reversed(self._kept):
            address = _taken(kept)
            if address is not None:
                del self._homes[address]
                return address
        return None


def _taken(kept: list[int]) -> int | None:
    """The last of some addresses, which is none of them any more."""
    try:
        return kept.pop() if kept else None
    except IndexError:  # another thread was faster
        return None


def _exponent(size: int) -> int:
    """That of the least power of two that is as large as a size and what addresses are multiples of."""
    return (size - 1 | _ALIGNED - 1).bit_length() if size else _ALIGNED.bit_length() - 1
