# SPDX-License-Identifier: Apache-2.0
"""A GPU in Numba's simulator: memory is the host's, the threads of a kernel are Python's. For tests at small sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.compiler import source_file, source_function
from ngraph_rewrite.runtime.cuda.device import each_way
from ngraph_rewrite.runtime.cuda.host_device import HostDevice
from ngraph_rewrite.runtime.cuda.simulated_launches import launch

# A launch has no more blocks and threads than these, where the kernel lets it be so.
MOST_BLOCKS, MOST_THREADS = 3, 4


class SimulatedKernel(NamedTuple):
    """A kernel as it was written."""

    function: Callable[..., None]

    def launch(self, blocks: int | tuple[int, int, int], threads: int, fixed: bool, arguments: Sequence[int]) -> None:
        size = threads if fixed else min(threads, MOST_THREADS)
        few = tuple([min(n, MOST_BLOCKS) for n in each_way(blocks)])
        launch(self.function, few, size, arguments)


class SimulatedDevice(HostDevice):
    """A GPU of threads of Python."""

    name = "Numba's CUDA simulator"

    def _made(self, name: str, text: str, cache: Cache) -> SimulatedKernel:
        with source_function(source_file(text, name, cache), name) as function:
            return SimulatedKernel(function)
