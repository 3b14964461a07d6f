# SPDX-License-Identifier: Apache-2.0
"""A GPU that runs the PTX of kernels on the host (`runtime.ptx`): what is compiled for a GPU, and watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.cuda.compiler import ptx_of
from ngraph_rewrite.runtime.cuda.device import each_way
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.cuda.host_device import HostDevice
from ngraph_rewrite.runtime.cuda.overlapping import can_overlap
from ngraph_rewrite.runtime.cuda.permitted import permitted
from ngraph_rewrite.runtime.ptx.counting import Counts
from ngraph_rewrite.runtime.ptx.program import Program

Blocks = int | tuple[int, int, int]


class Watcher(NamedTuple):
    """Who is told of launches, of which not all blocks need be run.

    Attributes:
        budget: So many instructions of warps are done, about: see `Program.launch`.
        tell: Given the name of a kernel, its blocks and threads, and what those cost that were run.
    """

    budget: int
    tell: Callable[[str, Blocks, int, Counts], None]


class EmulatedKernel(NamedTuple):
    """A kernel as it was compiled."""

    program: Program
    watcher: Watcher | None

    def launch(self, blocks: Blocks, threads: int, fixed: bool, arguments: Sequence[int]) -> None:
        given = [(begin, end) for begin, end in permitted() if any(begin <= x < end for x in arguments)]
        if self.watcher is None:
            self.program.launch(each_way(blocks), threads, arguments, given)
            return
        counts = Counts()
        self.program.launch(each_way(blocks), threads, arguments, given, counts, self.watcher.budget)
        self.watcher.tell(self.program.name, blocks, threads, counts)


class EmulatedDevice(HostDevice):
    """A GPU of compute capability 9.0, as slow as an interpreter is."""

    name, warp = "the emulator of PTX", WARP

    def __init__(self, watcher: Watcher | None = None) -> None:
        super().__init__()
        self._watcher = watcher

    def _made(self, name: str, text: str, cache: Cache) -> EmulatedKernel:
        ptx, waits = ptx_of(text, name, self.capability, cache), can_overlap(self.capability)
        return EmulatedKernel(Program(ptx, name, waits), self._watcher)
