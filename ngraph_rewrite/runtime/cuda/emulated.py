# SPDX-License-Identifier: Apache-2.0
"""A GPU that runs the PTX of kernels on the host (`runtime.ptx`): what is compiled for a GPU, and watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.cuda.compiler import ptx_of
from ngraph_rewrite.runtime.cuda.device import each_way
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.cuda.host_device import HostDevice
from ngraph_rewrite.runtime.cuda.permitted import permitted
from ngraph_rewrite.runtime.ptx.program import Program


class EmulatedKernel(NamedTuple):
    """A kernel as it was compiled."""

    program: Program

    def launch(self, blocks: int | tuple[int, int, int], threads: int, fixed: bool, arguments: Sequence[int]) -> None:
        self.program.launch(each_way(blocks), threads, arguments, permitted())


class EmulatedDevice(HostDevice):
    """A GPU of compute capability 9.0, as slow as an interpreter is."""

    name, warp = "the emulator of PTX", WARP

    def load(self, sources: Mapping[str, str], cache: Cache, processes: int) -> dict[str, Any]:
        self.origin.check()
        for name, text in sources.items():
            if text not in self._functions:
                self._functions[text] = EmulatedKernel(Program(ptx_of(text, name, self.capability, cache), name))
        return {name: self._functions[text] for name, text in sources.items()}
