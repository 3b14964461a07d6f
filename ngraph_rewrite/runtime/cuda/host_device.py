# SPDX-License-Identifier: Apache-2.0
"""What devices that are none have alike: memory is the host's, and all is done when it was asked for."""

from __future__ import annotations

import ctypes
import heapq
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.aligned import address_of, aligned_array
from ngraph_rewrite.runtime.cuda import simulated_library
from ngraph_rewrite.runtime.cuda.device import Array, Changed, Launched, out_of_memory
from ngraph_rewrite.runtime.cuda.origin import Origin
from ngraph_rewrite.runtime.cuda.permitted import forbid, permit

_MEMORY = 1 << 32
RECENT = 256  # so many kernels stay though nobody has them: a program may be made again
_ANYTHING = 0xFF  # what memory begins with: floats are NaN, so that whoever reads what nobody wrote is found out


class HostKernel(Protocol):
    """A kernel that the host can run."""

    def launch(self, blocks: int | tuple[int, int, int], threads: int, fixed: bool, arguments: Sequence[int]) -> None:
        """Run it as `Launched` has it."""


class HostDevice(ABC):
    """A GPU that is none.

    Attributes:
        origin: The process that found it.
    """

    name, capability, is_real, warp = "the host", (9, 0), False, 1

    def __init__(self) -> None:
        self.origin = Origin()
        self._memory: dict[int, tuple[Array, int]] = {}
        self._functions: dict[str, HostKernel] = {}
        self._keeping = threading.Lock()

    def allocate(self, size: int, purpose: str) -> int:
        self.origin.check()
        if size > self.memory()[0]:
            raise out_of_memory(self.name, self.memory(), size, purpose)
        array = aligned_array((max(size, 1),), np.uint8)
        array.fill(_ANYTHING)
        address = address_of(array)
        permit(address, size)
        self._memory[address] = array, size
        return address

    def free(self, address: int, elsewhere: int = 0) -> None:
        if self.origin.is_here():
            forbid(address, self._memory.pop(address)[1])

    def upload(self, address: int, array: Array) -> None:
        self.origin.check()
        ctypes.memmove(address, array.ctypes.data, array.nbytes)

    def write(self, address: int, number: int) -> None:
        self.origin.check()
        ctypes.c_uint32.from_address(address).value = number

    def download(self, array: Array, address: int) -> None:
        self.origin.check()
        ctypes.memmove(array.ctypes.data, address, array.nbytes)

    def copy(self, target: int, source: int, size: int) -> None:
        self.origin.check()
        ctypes.memmove(target, source, size)

    def load(self, sources: Mapping[str, str], cache: Cache, processes: int) -> dict[str, Any]:
        self.origin.check()
        found = {name: self._functions.get(text) or self._made(name, text, cache) for name, text in sources.items()}
        with self._keeping:
            for name, text in sources.items():
                self._functions.pop(text, None)
                self._functions[text] = found[name]
            while len(self._functions) > RECENT:
                del self._functions[next(iter(self._functions))]  # which was asked for longest ago
        return found

    @abstractmethod
    def _made(self, name: str, text: str, cache: Cache) -> HostKernel:
        """The kernel that a source defines."""

    def library(self, name: str) -> Any:
        self.origin.check()
        return simulated_library.FUNCTIONS[name]

    def record(
        self, launches: Sequence[Launched], after: Sequence[Sequence[int]] | None = None, marks: Sequence[int] = ()
    ) -> HostLaunches:
        self.origin.check()
        return HostLaunches(self, launches, range(len(launches)) if after is None else latest_first(after))

    def synchronize(self) -> None:
        self.origin.check()  # all was done when a launch returned

    def synchronize_stream(self, stream: int) -> None:
        self.origin.check()  # there are no streams

    def check_here(self, address: int) -> None:
        self.origin.check()  # there is one memory

    def hold(self, owner: object, elsewhere: int = 0) -> None:
        del owner  # all is done

    def let_wait(self, streams: Iterable[int]) -> None:
        self.origin.check()  # there are no streams

    def memory(self) -> tuple[int, int]:
        return _MEMORY - sum(array.nbytes for array, _ in self._memory.values()), _MEMORY


def latest_first(after: Sequence[Sequence[int]]) -> list[int]:
    """An order of launches in which each comes after those that it waits for, else the last ones come first.

    It is as far from the order in which they were asked for as can be, so that what waits for too little is found out.

    >>> latest_first([(), (), (0,), (1,)])
    [1, 3, 0, 2]
    """
    waiting = [len(waits) for waits in after]
    readers: list[list[int]] = [[] for _ in after]
    for number, waits in enumerate(after):
        for other in waits:
            readers[other].append(number)
    ready, order = [-n for n, count in enumerate(waiting) if not count], list[int]()
    heapq.heapify(ready)
    while ready:
        order.append(-heapq.heappop(ready))
        for reader in readers[order[-1]]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready, -reader)
    return order


class HostLaunches:
    """Launches one after the other.

    Args:
        order: Their numbers, as they run.
    """

    def __init__(self, device: HostDevice, launches: Sequence[Launched], order: Sequence[int]) -> None:
        self._device, self._launches, self._order = device, launches, order
        self._arguments = [[*one.arguments] for one in launches]
        known = set(simulated_library.FUNCTIONS.values())
        self._of_library = {n for n, one in enumerate(launches) if one.function in known}

    def run(self) -> None:
        self._device.origin.check()
        for number in self._order:
            function, blocks, threads, fixed, _ = self._launches[number]
            if number in self._of_library:
                function(*self._arguments[number])
            else:
                function.launch(blocks, threads, fixed, self._arguments[number])

    def change(self, changed: Sequence[Changed]) -> None:
        for number, place, now in changed:
            self._arguments[number][place] = now

    def download(self, array: Array, address: int, mark: int) -> None:
        self._device.download(array, address)

    def close(self) -> None:
        """Nothing is kept."""
