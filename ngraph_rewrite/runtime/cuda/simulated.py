# SPDX-License-Identifier: Apache-2.0
"""A GPU in Numba's simulator: memory is the host's, the threads of a kernel are Python's. For tests at small sizes."""

from __future__ import annotations

import ctypes
import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.aligned import address_of, aligned_array
from ngraph_rewrite.runtime.compiler import source_file, source_function
from ngraph_rewrite.runtime.cuda import simulated_library
from ngraph_rewrite.runtime.cuda.device import Array, Changed, Launched, each_way, out_of_memory
from ngraph_rewrite.runtime.cuda.origin import Origin
from ngraph_rewrite.runtime.cuda.simulated_launches import launch
from ngraph_rewrite.runtime.cuda.simulated_memory import forbid, permit

# A launch has no more blocks and threads than these, where the kernel lets it be so.
MOST_BLOCKS, MOST_THREADS = 3, 4
_MEMORY = 1 << 32


class SimulatedKernel(NamedTuple):
    """A kernel as it was written."""

    function: Callable[..., None]


class SimulatedDevice:
    """A GPU that is none."""

    name, capability, is_real = "Numba's CUDA simulator", (9, 0), False

    def __init__(self) -> None:
        self.origin = Origin()
        self._memory: dict[int, tuple[Array, int]] = {}
        self._functions: dict[str, Any] = {}

    def allocate(self, size: int, purpose: str) -> int:
        self.origin.check()
        if size > self.memory()[0]:
            raise out_of_memory(self, size, purpose)
        array = aligned_array((max(size, 1),), np.uint8)
        address = address_of(array)
        permit(address, size)
        self._memory[address] = array, size
        return address

    def free(self, address: int, elsewhere: bool = False) -> None:
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
        for name, text in sources.items():
            if text not in self._functions:
                with source_function(source_file(text, name, cache), name) as function:
                    self._functions[text] = SimulatedKernel(function)
        return {name: self._functions[text] for name, text in sources.items()}

    def library(self, name: str) -> Any:
        self.origin.check()
        return simulated_library.FUNCTIONS[name]

    def record(
        self, launches: Sequence[Launched], after: Sequence[Sequence[int]] | None = None, marks: Sequence[int] = ()
    ) -> SimulatedLaunches:
        self.origin.check()
        return SimulatedLaunches(self, launches, range(len(launches)) if after is None else latest_first(after))

    def synchronize(self) -> None:
        self.origin.check()  # all was done when a launch returned

    def synchronize_stream(self, stream: int) -> None:
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


class SimulatedLaunches:
    """Launches one after the other.

    Args:
        order: Their numbers, as they run.
    """

    def __init__(self, device: SimulatedDevice, launches: Sequence[Launched], order: Sequence[int]) -> None:
        self._device, self._launches, self._order = device, launches, order
        self._arguments = [[*one.arguments] for one in launches]

    def run(self) -> None:
        self._device.origin.check()
        for number in self._order:
            function, blocks, threads, fixed, _ = self._launches[number]
            arguments = self._arguments[number]
            if isinstance(function, SimulatedKernel):
                size = threads if fixed else min(threads, MOST_THREADS)
                few = tuple([min(n, MOST_BLOCKS) for n in each_way(blocks)])
                launch(function.function, few, size, arguments)
            else:  # of a library
                function(*arguments)

    def change(self, changed: Sequence[Changed]) -> None:
        for number, place, now in changed:
            self._arguments[number][place] = now

    def download(self, array: Array, address: int, mark: int) -> None:
        self._device.download(array, address)

    def close(self) -> None:
        """Nothing is kept."""
