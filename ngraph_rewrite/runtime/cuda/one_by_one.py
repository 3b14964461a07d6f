# SPDX-License-Identifier: Apache-2.0
"""Launches one after the other, each by a call of the driver, and what these share with launches of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from cuda.bindings import driver as cu

from ngraph_rewrite.errors import DeviceMemoryError
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.context import Context
from ngraph_rewrite.runtime.cuda.device import Array, Changed, Launched, each_way

# The default stream, as functions of libraries take it, and as the driver's do.
STREAM = 0
STREAM_OF_LAUNCHES = cu.CUstream(STREAM)
_FULL = cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY


class Arguments:
    """Arguments of launches where the driver reads them: numbers, and addresses of each of them."""

    def __init__(self, launches: Sequence[Launched]) -> None:
        self._numbers = [np.array(one.arguments or [0], np.int64) for one in launches]
        steps = [8 * np.arange(len(numbers), dtype=np.int64) + address_of(numbers) for numbers in self._numbers]
        self._addresses = steps

    def numbers(self, number: int) -> list[int]:
        """The arguments of a launch."""
        found: list[int] = self._numbers[number].tolist()
        return found

    def at(self, number: int) -> int:
        """Where the addresses of the arguments of a launch lie."""
        return address_of(self._addresses[number])

    def change(self, changed: Iterable[Changed]) -> None:
        """Give launches other arguments."""
        for number, place, now in changed:
            self._numbers[number][place] = now


def is_of_library(one: Launched) -> bool:
    """Whether a function of a library launches what there is to launch."""
    return isinstance(one.function, partial)


def _overlapping(one: Launched) -> Any:
    """How the driver is asked for a launch that may overlap with the one before."""
    may = cu.CUlaunchAttribute()
    may.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    may.value.programmaticStreamSerializationAllowed = 1
    found = cu.CUlaunchConfig()
    found.gridDimX, found.gridDimY, found.gridDimZ = each_way(one.blocks)
    found.blockDimX, found.blockDimY, found.blockDimZ = one.threads, 1, 1
    found.sharedMemBytes, found.hStream, found.attrs, found.numAttrs = 0, STREAM_OF_LAUNCHES, [may], 1
    return found


def fine(error: Any, let_go: Callable[[], None], call: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Look at an error of what launches; if it lacks memory, it is called once more when what is kept was let go.

    Raises:
        DeviceError: if it failed, again if need be.
        DeviceMemoryError: if that is for want of memory.
    """
    if error == _FULL:
        let_go()
        (error,) = call(*arguments)
    checked((error,), "launching a kernel")


class RecordedLaunches:
    """Launches one after the other.

    Args:
        overlap: Whether each may begin while the one before ends, that of an earlier call included: see `overlapping`.
        download: Copies to the host when all is done.
        let_go: Has the driver have what is kept, when it lacks memory for a launch.
    """

    def __init__(
        self,
        context: Context,
        launches: Sequence[Launched],
        overlap: bool,
        download: Callable[[Array, int], None],
        let_go: Callable[[], None],
    ) -> None:
        self._context, self._arguments, self._download = context, Arguments(launches), download
        self._overlap, self._let_go = overlap, let_go
        self._of_library: dict[int, Any] = {}
        self._calls = [self._call(number, one) for number, one in enumerate(launches)]

    def _call(self, number: int, one: Launched) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """What launches one of them, and what it is called with."""
        if is_of_library(one):
            self._of_library[number] = one.function(self._arguments.numbers(number))
            return self._of_library[number].run, (STREAM,)
        if self._overlap:
            return cu.cuLaunchKernelEx, (_overlapping(one), one.function, self._arguments.at(number), 0)
        grid = *each_way(one.blocks), one.threads, 1, 1
        return cu.cuLaunchKernel, (one.function, *grid, 0, STREAM_OF_LAUNCHES, self._arguments.at(number), 0)

    def run(self) -> None:
        self._context.enter()
        for call, arguments in self._calls:
            try:
                (error,) = call(*arguments)
            except DeviceMemoryError:  # a library's
                error = _FULL
            if error:
                fine(error, self._let_go, call, arguments)

    def change(self, changed: Sequence[Changed]) -> None:
        self._arguments.change(changed)
        for number, place, now in changed if self._of_library else ():
            if number in self._of_library:
                self._of_library[number].change(place, now)

    def download(self, array: Array, address: int, mark: int) -> None:
        self._download(array, address)

    def close(self) -> None:
        """Nothing is kept."""
