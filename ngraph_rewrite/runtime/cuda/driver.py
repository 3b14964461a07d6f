# SPDX-License-Identifier: Apache-2.0
"""A real GPU through the CUDA driver: memory, modules, and graphs of launches that cost one call to run.

Everything but early copies to the host (`downloads`) runs on the default stream, which other libraries' default streams
wait for and which waits for them.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from cuda.bindings import driver as cu

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.cuda.checked import checked as _checked
from ngraph_rewrite.runtime.cuda.compiler import code_of, prepare_codes
from ngraph_rewrite.runtime.cuda.cublas import WORKSPACE, Cublas
from ngraph_rewrite.runtime.cuda.device import Array, Launched, each_way, out_of_memory
from ngraph_rewrite.runtime.cuda.downloads import Downloads
from ngraph_rewrite.runtime.cuda.origin import Origin
from ngraph_rewrite.runtime.cuda.starting import start_driver

_STREAM = 0
# More launches than these are not made one graph, which would take longer to build than it saves.
MOST_NODES = 1 << 14
# So few cost less one by one, as graphs are told of each change of an address.
FEW = 3


class RealDevice:
    """The first GPU, and its primary context, which other libraries use too.

    Raises:
        DeviceError: if there is no driver, it is too old, or there is no device.
    """

    is_real = True

    def __init__(self) -> None:
        self.origin = Origin()
        start_driver()
        device = _checked(cu.cuDeviceGet(0), "looking for a GPU")
        self._context = _checked(cu.cuDevicePrimaryCtxRetain(device), "using the GPU")
        self._entered = threading.local()
        self._enter()
        self.name = _checked(cu.cuDeviceGetName(128, device), "asking for its name").split(b"\0")[0].decode()
        kinds = cu.CUdevice_attribute
        major, minor = (
            int(_checked(cu.cuDeviceGetAttribute(kind, device), "asking for its capability"))
            for kind in (
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.capability = (major, minor)
        pool = _checked(cu.cuDeviceGetDefaultMemPool(device), "asking for its memory")
        kind = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        _checked(cu.cuMemPoolSetAttribute(pool, kind, cu.cuuint64_t(2**64 - 1)), "keeping memory for reuse")
        self._functions: dict[str, Any] = {}
        self._library: Cublas | None = None

    def _enter(self) -> None:
        """Make its context that of this thread, once: a library that has another one puts it back."""
        self.origin.check()
        if not getattr(self._entered, "yes", False):
            _checked(cu.cuCtxSetCurrent(self._context), "using the GPU")
            self._entered.yes = True

    def allocate(self, size: int, purpose: str) -> int:
        self._enter()
        error, address = cu.cuMemAllocAsync(max(size, 1), _STREAM)
        if error == cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise out_of_memory(self, size, purpose)
        return int(_checked((error, address), f"taking memory for {purpose}"))

    def free(self, address: int) -> None:
        if self.origin.is_here():
            self._enter()
            _checked(cu.cuMemFreeAsync(address, _STREAM), "giving memory back")

    def upload(self, address: int, array: Array) -> None:
        self._enter()
        if array.nbytes:
            _checked(cu.cuMemcpyHtoD(address, array.ctypes.data, array.nbytes), "copying to the GPU")

    def download(self, array: Array, address: int) -> None:
        self._enter()
        if array.nbytes:
            _checked(cu.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes), "running on the GPU")

    def copy(self, target: int, source: int, size: int) -> None:
        self._enter()
        if size:
            _checked(cu.cuMemcpyDtoDAsync(target, source, size, _STREAM), "copying on the GPU")

    def load(self, sources: Mapping[str, str], cache: Cache, processes: int) -> dict[str, Any]:
        missing = {name: text for name, text in sources.items() if text not in self._functions}
        if missing:
            prepare_codes(missing, [self.capability], cache, processes)
            self._enter()
            self._functions |= {text: self._loaded(name, text, cache) for name, text in missing.items()}
        return {name: self._functions[text] for name, text in sources.items()}

    def _loaded(self, name: str, text: str, cache: Cache) -> Any:
        code = code_of(text, name, self.capability, cache)
        module = _checked(cu.cuModuleLoadData(code.data), f"loading the kernel {name}")
        return _checked(cu.cuModuleGetFunction(module, code.entry.encode()), f"finding the kernel {name}")

    def library(self, name: str) -> Any:
        self._enter()
        if self._library is None:
            self._library = Cublas(self.allocate(WORKSPACE, "products of matrices"))
        return self._library.function(name)

    def record(
        self, launches: Sequence[Launched], after: Sequence[Sequence[int]] | None = None, marks: Sequence[int] = ()
    ) -> RecordedGraph | RecordedLaunches:
        self._enter()
        if not FEW < len(launches) <= MOST_NODES:
            return RecordedLaunches(self, launches)
        chain = [(n - 1,) if n else () for n in range(len(launches))]
        return RecordedGraph(self, launches, chain if after is None else after, marks)

    def synchronize(self) -> None:
        self._enter()
        _checked(cu.cuStreamSynchronize(_STREAM), "running on the GPU")

    def synchronize_stream(self, stream: int) -> None:
        self._enter()
        _checked(cu.cuStreamSynchronize(stream), "running on the GPU")

    def memory(self) -> tuple[int, int]:
        self._enter()
        free, total = _checked(cu.cuMemGetInfo(), "asking for its memory")
        return int(free), int(total)


class _Arguments:
    """Arguments of launches where the driver reads them: numbers, and addresses of each of them."""

    def __init__(self, launches: Sequence[Launched]) -> None:
        self._numbers = [np.array(one.arguments or [0], np.int64) for one in launches]
        steps = [8 * np.arange(len(numbers), dtype=np.int64) + numbers.ctypes.data for numbers in self._numbers]
        self._addresses = steps

    def numbers(self, number: int) -> list[int]:
        """The arguments of a launch."""
        return [int(x) for x in self._numbers[number]]

    def at(self, number: int) -> int:
        """Where the addresses of the arguments of a launch lie."""
        return int(self._addresses[number].ctypes.data)

    def change(self, number: int, arguments: Sequence[int]) -> None:
        """Give a launch other arguments."""
        self._numbers[number][: len(arguments)] = arguments


def _is_of_library(one: Launched) -> bool:
    """Whether a function of a library launches what there is to launch."""
    return isinstance(one.function, partial)


class RecordedLaunches:
    """Launches one after the other."""

    def __init__(self, device: RealDevice, launches: Sequence[Launched]) -> None:
        self._device, self._launches, self._arguments = device, launches, _Arguments(launches)
        self._calls = [
            (one.function, *each_way(one.blocks), one.threads, 1, 1, 0, _STREAM, self._arguments.at(number), 0)
            for number, one in enumerate(launches)
        ]

    def run(self) -> None:
        self._device._enter()
        for number, one in enumerate(self._launches):
            if _is_of_library(one):
                one.function(_STREAM, self._arguments.numbers(number))
            else:
                (error,) = cu.cuLaunchKernel(*self._calls[number])
                if error:
                    _checked((error,), "launching a kernel")

    def change(self, changed: Sequence[tuple[int, Sequence[int]]]) -> None:
        for number, arguments in changed:
            self._arguments.change(number, arguments)

    def download(self, array: Array, address: int, mark: int) -> None:
        self._device.download(array, address)

    def close(self) -> None:
        """Nothing is kept."""


def _destroy(device: RealDevice, ready: Any, graph: Any) -> None:
    """Free what the driver keeps of a graph."""
    if device.origin.is_here():
        device._enter()
        _checked(cu.cuGraphExecDestroy(ready), "freeing a graph of launches")
        _checked(cu.cuGraphDestroy(graph), "freeing a graph of launches")


class RecordedGraph:
    """Launches as one graph, each node after those it waits for: one call runs them all, some of them at once.

    What a function of a library launches is captured as a graph of its own, which is a node.
    """

    def __init__(
        self, device: RealDevice, launches: Sequence[Launched], after: Sequence[Sequence[int]], marks: Sequence[int]
    ) -> None:
        self._device, self._launches, self._arguments = device, launches, _Arguments(launches)
        self._after, self._downloads = after, Downloads(device.origin, device._context, marks) if marks else None
        self._build()

    def _build(self) -> None:
        self._graph = _checked(cu.cuGraphCreate(0), "making a graph of launches")
        self._nodes: list[Any] = []
        self._given = [self._parameters(number) for number in range(len(self._launches))]
        for number, one in enumerate(self._launches):
            before = [self._nodes[other] for other in self._after[number]]
            if _is_of_library(one):
                inner = self._captured(number)
                found = cu.cuGraphAddChildGraphNode(self._graph, before or None, len(before), inner)
                _checked(cu.cuGraphDestroy(inner), "freeing a graph of launches")
            else:
                found = cu.cuGraphAddKernelNode(self._graph, before or None, len(before), self._given[number])
            self._nodes.append(_checked(found, "adding a launch to a graph"))
        if self._downloads is not None:
            self._downloads.add_to(self._graph, self._nodes)
        self._ready = _checked(cu.cuGraphInstantiate(self._graph, 0), "making a graph of launches")
        self._end = weakref.finalize(self, _destroy, self._device, self._ready, self._graph)

    def _captured(self, number: int) -> Any:
        """What a function of a library launches, as a graph."""
        stream = _checked(cu.cuStreamCreate(int(cu.CUstream_flags.CU_STREAM_NON_BLOCKING)), "making a stream")
        mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _checked(cu.cuStreamBeginCapture(stream, mode), "capturing launches")
        try:
            self._launches[number].function(int(stream), self._arguments.numbers(number))
        finally:
            graph = _checked(cu.cuStreamEndCapture(stream), "capturing launches")
            _checked(cu.cuStreamDestroy(stream), "freeing a stream")
        return graph

    def _parameters(self, number: int) -> Any:
        one, found = self._launches[number], cu.CUDA_KERNEL_NODE_PARAMS()
        if _is_of_library(one):
            return found
        found.func = one.function
        found.gridDimX, found.gridDimY, found.gridDimZ = each_way(one.blocks)
        found.blockDimX, found.blockDimY, found.blockDimZ = one.threads, 1, 1
        found.sharedMemBytes, found.kernelParams, found.extra = 0, self._arguments.at(number), 0
        return found

    def run(self) -> None:
        self._device._enter()
        _checked(cu.cuGraphLaunch(self._ready, _STREAM), "running a graph of launches")

    def change(self, changed: Sequence[tuple[int, Sequence[int]]]) -> None:
        self._device._enter()
        for number, arguments in changed:
            self._arguments.change(number, arguments)
        same = [self._changed(number) for number, _ in changed]
        if not all(same):
            self.close()  # a library may launch other kernels for other addresses
            self._build()

    def _changed(self, number: int) -> bool:
        """Whether the graph as it is ready can have other arguments of a launch; then it has them."""
        if not _is_of_library(self._launches[number]):
            found = cu.cuGraphExecKernelNodeSetParams(self._ready, self._nodes[number], self._given[number])
            _checked(found, "changing the arguments of a launch")
            return True
        inner = self._captured(number)
        (error,) = cu.cuGraphExecChildGraphNodeSetParams(self._ready, self._nodes[number], inner)
        _checked(cu.cuGraphDestroy(inner), "freeing a graph of launches")
        return bool(error == cu.CUresult.CUDA_SUCCESS)

    def download(self, array: Array, address: int, mark: int) -> None:
        self._device._enter()
        assert self._downloads is not None
        self._downloads.download(array, address, mark)

    def close(self) -> None:
        self._end()
