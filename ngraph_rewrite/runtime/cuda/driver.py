# SPDX-License-Identifier: Apache-2.0
"""A real GPU through the CUDA driver: memory, copies and modules.

Everything but early copies to the host (`downloads`) runs on the default stream, which other libraries' default streams
wait for and which waits for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from cuda.bindings import driver as cu

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import DeviceMemoryError
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.cuda.captures import LeavingCaptures
from ngraph_rewrite.runtime.cuda.checked import checked
from ngraph_rewrite.runtime.cuda.compiler import code_of, prepare_codes
from ngraph_rewrite.runtime.cuda.context import Context
from ngraph_rewrite.runtime.cuda.cublas import WORKSPACE, Cublas
from ngraph_rewrite.runtime.cuda.device import Array, Launched, check_number, out_of_memory
from ngraph_rewrite.runtime.cuda.elsewhere import UsedElsewhere
from ngraph_rewrite.runtime.cuda.freed import FreedMemory
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.cuda.lent import LentMemory
from ngraph_rewrite.runtime.cuda.modules import Modules
from ngraph_rewrite.runtime.cuda.one_by_one import STREAM, RecordedLaunches
from ngraph_rewrite.runtime.cuda.overlapping import may_overlap
from ngraph_rewrite.runtime.cuda.recorded import RecordedGraph
from ngraph_rewrite.runtime.cuda.starting import start_driver

T = TypeVar("T")

# More launches than these are not made one graph, which would take longer to build than it saves.
MOST_NODES = 1 << 14
# Which part of its memory large stretches may have that are kept: asking the driver takes longer than a launch. And
# which part may be kept that other streams used, before that is waited for.
KEPT = 16
# So few cost less one by one, as graphs are told of each change of an address.
FEW = 3


class RealDevice:
    """The first GPU, and its primary context, which other libraries use too.

    Raises:
        DeviceError: if there is no driver, it is too old, or there is no device.
    """

    is_real, warp = True, WARP

    def __init__(self) -> None:
        start_driver()
        device = checked(cu.cuDeviceGet(0), "looking for a GPU")
        self._context = Context(device)
        self.origin = self._context.origin
        self.name = checked(cu.cuDeviceGetName(128, device), "asking for its name").split(b"\0")[0].decode()
        kinds = cu.CUdevice_attribute
        major, minor = (
            int(checked(cu.cuDeviceGetAttribute(kind, device), "asking for its capability"))
            for kind in (
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.capability = (major, minor)
        self._pool = checked(cu.cuDeviceGetDefaultMemPool(device), "asking for its memory")
        kind = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        checked(cu.cuMemPoolSetAttribute(self._pool, kind, cu.cuuint64_t(2**64 - 1)), "keeping memory for reuse")
        room = self.memory()[1] // KEPT
        self._freed, self._lent, self._elsewhere = FreedMemory(room), LentMemory(), UsedElsewhere(self._context, room)
        self._modules = Modules(self._context, self.hold)
        self._library: Cublas | None = None
        self._making = threading.Lock()

    def allocate(self, size: int, purpose: str) -> int:
        self.origin.check()
        return self._freed.take(size or 1) or self._taken(size, purpose)

    def _taken(self, size: int, purpose: str) -> int:
        """As `allocate`, of the driver."""
        self._context.enter()
        if self._elsewhere.is_much():
            self._take_back()
        wanted = self._freed.rounded(size)
        error, address = cu.cuMemAllocAsync(wanted, STREAM)
        if error == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            self._let_go()
            error, address = cu.cuMemAllocAsync(wanted, STREAM)
        if error == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise out_of_memory(self.name, self.memory(), size, purpose)
        found = int(checked((error, address), f"taking memory for {purpose}"))
        self._freed.add(found, wanted)
        return found

    def free(self, address: int, elsewhere: int = 0) -> None:
        if not self.origin.is_here():
            return
        if elsewhere:
            self._elsewhere.add(address, elsewhere)
            return
        for other in self._freed.keep(address):
            with self._context.inside():
                self._give_back(other)

    def _take_back(self) -> None:
        """Have what other streams used, once all is done there."""
        for address in self._elsewhere.take_back():
            self.free(address)

    def _let_go(self) -> None:
        """Let the driver have all that is kept, once nothing uses it."""
        self._context.enter()
        self._take_back()
        while (kept := self._freed.drop()) is not None:
            self._give_back(kept)
        self.synchronize()
        with LeavingCaptures():
            checked(cu.cuMemPoolTrimTo(self._pool, 0), "giving memory back")

    def _with_room(self, make: Callable[[], T]) -> T:
        """What the driver makes, which is asked once more if it lacks memory for it."""
        with LeavingCaptures():
            try:
                return make()
            except DeviceMemoryError:
                self._let_go()
                return make()

    def _give_back(self, address: int) -> None:
        checked(cu.cuMemFreeAsync(address, STREAM), "giving memory back")

    def upload(self, address: int, array: Array) -> None:
        self._context.enter()
        if array.nbytes:
            with LeavingCaptures():
                checked(cu.cuMemcpyHtoD(address, address_of(array), array.nbytes), "copying to the GPU")

    def write(self, address: int, number: int) -> None:
        self._context.enter()
        checked(cu.cuMemsetD32Async(address, number, 1, STREAM), "writing a number to the GPU")

    def download(self, array: Array, address: int) -> None:
        self._context.enter()
        began = self._lent.now()
        if array.nbytes:
            with LeavingCaptures():
                checked(cu.cuMemcpyDtoH(address_of(array), address, array.nbytes), "running on the GPU")
            self._lent.let_go(began)

    def copy(self, target: int, source: int, size: int) -> None:
        self._context.enter()
        if size:
            checked(cu.cuMemcpyDtoDAsync(target, source, size, STREAM), "copying on the GPU")

    def load(self, sources: Mapping[str, str], cache: Cache, processes: int) -> dict[str, Any]:
        found: dict[str, Any] = {name: self._modules.find(text) for name, text in sources.items()}
        missing = {name: sources[name] for name, kernel in found.items() if kernel is None}
        if missing:
            prepare_codes(missing, [self.capability], cache, processes)
            self._context.enter()
            for name, text in missing.items():
                code = code_of(text, name, self.capability, cache)
                found[name] = self._with_room(partial(self._modules.load, name, text, code))
        return found

    def library(self, name: str) -> Any:
        self._context.enter()
        with self._making:
            if self._library is None:
                self._library = self._new_library()
        return self._library.function(name)

    def _new_library(self) -> Cublas:
        workspace = self.allocate(WORKSPACE, "products of matrices")
        try:
            return self._with_room(partial(Cublas, workspace))
        except BaseException:
            self.free(workspace)
            raise

    def record(
        self, launches: Sequence[Launched], after: Sequence[Sequence[int]] | None = None, marks: Sequence[int] = ()
    ) -> RecordedGraph | RecordedLaunches:
        self._context.enter()
        if not FEW < len(launches) <= MOST_NODES:
            overlap = may_overlap(self.capability)
            return RecordedLaunches(self._context, launches, overlap, self.download, self._let_go)
        chain = [(n - 1,) if n else () for n in range(len(launches))]
        return self._with_room(
            partial(RecordedGraph, self._context, launches, chain if after is None else after, marks, self._let_go)
        )

    def synchronize(self) -> None:
        began = self._lent.now()
        self.synchronize_stream(STREAM)
        self._lent.let_go(began)

    def synchronize_stream(self, stream: int) -> None:
        self._context.enter()
        with LeavingCaptures():
            checked(cu.cuStreamSynchronize(stream), "running on the GPU")

    def check_here(self, address: int) -> None:
        if self._context.is_alone or not address:
            return
        self._context.enter()
        kind = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        error, number = cu.cuPointerGetAttribute(kind, address)
        if error == cu.CUresult.CUDA_SUCCESS:  # else the driver does not know it
            check_number(int(number))

    def hold(self, owner: object, elsewhere: int = 0) -> None:
        if not self.origin.is_here():
            return
        if elsewhere:
            self._elsewhere.add((owner,), elsewhere)
            return
        with self._context.inside():
            self._lent.hold(owner)

    def let_wait(self, streams: Iterable[int]) -> None:
        self._context.enter()
        self._lent.let_wait(streams)

    def memory(self) -> tuple[int, int]:
        self._context.enter()
        free, total = checked(cu.cuMemGetInfo(), "asking for its memory")
        return int(free), int(total)
