# SPDX-License-Identifier: Apache-2.0
"""What a GPU does for a computation: memory, copies, and launches in order; a real device, or one that is none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache as memoise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ComputationError, DeviceError, DeviceMemoryError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.cuda.origin import Origin

if TYPE_CHECKING:
    from ngraph_rewrite.runtime.cuda import cublas, driver, emulated, simulated
else:
    cublas = lazy_module("ngraph_rewrite.runtime.cuda.cublas")
    driver = lazy_module("ngraph_rewrite.runtime.cuda.driver")
    emulated = lazy_module("ngraph_rewrite.runtime.cuda.emulated")
    simulated = lazy_module("ngraph_rewrite.runtime.cuda.simulated")

Array = NDArray[Any]
SIMULATOR = "NUMBA_ENABLE_CUDASIM"  # of kernels as they were written
EMULATOR = "NGRAPH_REWRITE_EMULATE_GPU"  # of kernels as they were compiled
FREE_SOME = "use smaller batches, or drop computations and arrays that are not needed any more"


class Launched(NamedTuple):
    """A launch: what `Device.load` gave, blocks (along each of three dimensions, or in one), threads, arguments.

    Attributes:
        fixed: Whether the kernel needs just so many threads in a block.
    """

    function: Any
    blocks: int | tuple[int, int, int]
    threads: int
    fixed: bool
    arguments: Sequence[int]


# An argument that is another than before: of which launch (by number), which one, and what it is now.
Changed = tuple[int, int, int]


def each_way(blocks: int | tuple[int, int, int]) -> tuple[int, int, int]:
    """How many blocks there are along each dimension of a grid.

    >>> each_way(3), each_way((3, 2, 1))
    ((3, 1, 1), (3, 2, 1))
    """
    return (blocks, 1, 1) if isinstance(blocks, int) else blocks


class Recorded(Protocol):
    """Launches that run together, each once those it waits for are done."""

    def run(self) -> None:
        """Run them; they may still be running afterwards."""

    def change(self, changed: Sequence[Changed]) -> None:
        """Give launches other arguments."""

    def download(self, array: Array, address: int, mark: int) -> None:
        """Copy from the device into a row-major array, when a marked launch is done; others may still be running."""

    def close(self) -> None:
        """Free what the device keeps of them."""


class Device(Protocol):
    """A GPU. Addresses are integers; all work runs in the order in which it was asked for, but for what is recorded.

    A process that was forked from the one that found it has nothing of it: there `free` does nothing, as do ends of
    what was recorded, and all else is a `DeviceError`.

    Attributes:
        origin: The process that found it.
        name: What it is called.
        capability: Its compute capability, major and minor.
        is_real: Whether it is one of NVIDIA's.
        warp: How many threads run in step.
    """

    origin: Origin
    name: str
    capability: tuple[int, int]
    is_real: bool
    warp: int

    def allocate(self, size: int, purpose: str) -> int:
        """The address of so many bytes, aligned to 256; `purpose` is told if there are none left."""

    def free(self, address: int, elsewhere: int = 0) -> None:
        """Give memory back.

        Args:
            elsewhere: How many bytes of it were used on other streams, if any: then when all is known to be done there.
        """

    def upload(self, address: int, array: Array) -> None:
        """Copy a row-major array to the device."""

    def write(self, address: int, number: int) -> None:
        """Store a number of 32 bits, once what was asked for before is done; nobody waits for it."""

    def download(self, array: Array, address: int) -> None:
        """Copy from the device into a row-major array, when all that runs is done."""

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy bytes from one place of the device to another."""

    def load(self, sources: Mapping[str, str], cache: Cache, processes: int) -> dict[str, Any]:
        """Kernels by name as what launches take; so many processes may compile them, this one included."""

    def library(self, name: str) -> Any:
        """A function of a library as what a launch takes."""

    def record(
        self, launches: Sequence[Launched], after: Sequence[Sequence[int]] | None = None, marks: Sequence[int] = ()
    ) -> Recorded:
        """Make launches ready to run together.

        Args:
            after: Of each launch the numbers of those before it that it waits for, and nothing else; by default each
                waits for the one before.
            marks: The launches that `Recorded.download` may wait for.
        """

    def synchronize(self) -> None:
        """Wait until all is done."""

    def synchronize_stream(self, stream: int) -> None:
        """Wait until what another library put on a stream of its own is done."""

    def check_here(self, address: int) -> None:
        """Refuse memory that is on another GPU."""

    def hold(self, owner: object, elsewhere: int = 0) -> None:
        """Keep an owner of memory, which another library lent, until all is done that was asked for.

        Args:
            elsewhere: How many bytes of it were used on other streams, if any: then until all is done there, too.
        """

    def let_wait(self, streams: Iterable[int]) -> None:
        """Let streams of other libraries wait until all is done that was asked for."""

    def memory(self) -> tuple[int, int]:
        """The bytes that are free, and all there are."""


def free_all(device: Device, addresses: list[int]) -> None:
    """Give memory back, once."""
    while addresses:
        device.free(addresses.pop())


def out_of_memory(name: str, memory: tuple[int, int], size: int, purpose: str) -> DeviceMemoryError:
    """The error of a device that has not so many bytes left."""
    free, total = memory
    return DeviceMemoryError(
        f"{size:,} bytes for {purpose} are asked of {name}, which has {free:,} of {total:,} left",
        do=FREE_SOME,
    )


def check_number(number: int) -> None:
    """Refuse memory that is on another GPU than the first, by its number.

    Raises:
        ComputationError: if it is.
    """
    if number:
        raise ComputationError(
            f"an array is on GPU {number}, and GPU 0 is used",
            do="copy it there, or say which GPU by CUDA_VISIBLE_DEVICES",
        )


@memoise
def has_library() -> bool:
    """Whether there is a device, and a library that multiplies matrices on it; one that is none has none."""
    if _is_on(SIMULATOR) or _is_on(EMULATOR):
        return False
    try:
        return cublas.found() is not None
    except ImportError:
        return False


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def find_device() -> Device:
    """The GPU of this process: a simulated one if Numba's simulator is on, an emulated one if that is, else a real one.

    Raises:
        DeviceError: if there is none, or what is needed to use it is missing, or a process used it that was forked
            into this one.
    """
    found = _found_device()
    found.origin.check()
    return found


@memoise
def _found_device() -> Device:
    if _is_on(SIMULATOR):
        return simulated.SimulatedDevice()
    try:
        return emulated.EmulatedDevice() if _is_on(EMULATOR) else driver.RealDevice()
    except ImportError as error:
        raise DeviceError(
            f"the target cuda needs the package numba-cuda: {error}",
            do="pip install 'ngraph_rewrite[cuda]', or set NUMBA_ENABLE_CUDASIM=1 for Numba's simulator",
        ) from error
