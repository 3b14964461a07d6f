# SPDX-License-Identifier: Apache-2.0
"""A driver of CUDA without a device: memory is the host's, kernels compute nothing, and what it is asked is noted.

Where there is no driver, its bindings are called too: they convert what they are given before they miss it, and refuse
what they would refuse on a machine that has one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from threading import get_ident
from typing import Any

import pytest
from cuda.bindings import driver as cu

from ngraph_rewrite.runtime.cuda import (
    captures,
    checked,
    context,
    device,
    downloads,
    driver,
    elsewhere,
    lent,
    modules,
    one_by_one,
    recorded,
    starting,
)

_MADE = re.compile("Alloc|Create|Get|Retain|Load|Instantiate|Add|EndCapture")
# What ends a capture of another thread, unless this one leaves captures alone. Source: CUDA driver API, stream capture.
_UNSAFE = re.compile(
    "Query|Synchronize$|MemcpyHtoD|MemcpyDtoH|Module(Load|Unload)|MemPoolTrim|Instantiate|Stream(Create|Destroy)|ExecDestroy"
)
_ASKING = (captures, checked, context, downloads, driver, elsewhere, lent, modules, one_by_one, recorded, starting)
ROOM = 1 << 30
USUAL = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
RELAXED = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED


@cache
def is_there() -> bool:
    """Whether there is a driver, which would do what its bindings are asked."""
    with suppress(OSError):
        ctypes.CDLL("libcuda.so.1")
        return True
    return False


def _check_arguments(name: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what the bindings refuse."""
    if not is_there():
        with suppress(RuntimeError):  # which they raise where there is no driver
            getattr(cu, name)(*arguments)


class FakeDriver:
    """What stands for the module of the driver's functions.

    Attributes:
        calls: The names of those that were called.
        launched: The arguments of each kernel that was launched, by its own or with a graph.
        memory: What is taken, by address.
        failing: The names of functions that fail.
        error: What those give.
        version: That of CUDA that the driver is of.
        devices: How many GPUs there are.
        overlapping: Of each kernel that was launched by its own whether it might begin while the one before ended.
        unsafe: The names of functions that would have ended such a capture.
    """

    def __init__(self, capability: tuple[int, int] = (9, 0)) -> None:
        self._capability, self.overlapping = capability, list[bool]()
        self.devices, self.version, self.error = 1, 13000, cu.CUresult.CUDA_ERROR_UNKNOWN
        self.calls: list[str] = []
        self.launched: list[tuple[int, ...]] = []
        self.memory: dict[int, Any] = {}
        self.failing: set[str] = set()
        self.parameters: dict[int, int] = {}  # how many a function has, by its handle
        self._current = defaultdict[int, list[int]](lambda: [0])  # contexts of each thread, the last one on top
        self._modes, self.unsafe = dict[int, Any](), list[str]()
        self._handles = count(1 << 20)
        self._graphs: dict[int, dict[Any, tuple[int, ...]]] = {}  # arguments, by graph and node

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu") or name == "cuuint64_t":
            return getattr(cu, name)
        own = getattr(self, f"_{name}", None)

        def call(*arguments: Any) -> tuple[Any, ...]:
            self.calls.append(name)
            _check_arguments(name, arguments)
            if _UNSAFE.search(name) and self._modes.get(get_ident(), USUAL) != RELAXED:
                self.unsafe.append(name)
            if name in self.failing:
                return (self.error,)
            found = own(*arguments) if own is not None else next(self._handles) if _MADE.search(name) else ()
            values = found if isinstance(found, tuple) else (found,)
            return values if values and isinstance(values[0], cu.CUresult) else (cu.CUresult.CUDA_SUCCESS, *values)

        return call

    def counts(self) -> Counter[str]:
        """How often each function was called since the last time."""
        found = Counter(self.calls)
        self.calls.clear()
        return found

    def function(self, name: str, text: str) -> int:
        """The handle of a kernel."""
        (given,) = re.findall(rf"def {name}\(([^)]*)\)", text)
        handle = next(self._handles)
        self.parameters[handle] = len([word for word in given.split(",") if word.strip()])
        return handle

    # -- what has a meaning --------------------------------------------------------------------------------------------

    def _cuDriverGetVersion(self) -> int:
        return self.version

    def _cuDeviceGetCount(self) -> int:
        return self.devices

    def _cuDeviceGetName(self, size: int, which: int) -> bytes:
        return b"a device that is none\0"

    def _cuGetErrorName(self, error: Any) -> bytes:
        return str(error.name).encode()

    _cuGetErrorString = _cuGetErrorName

    def _cuDeviceGetAttribute(self, kind: Any, which: int) -> int:
        major = cu.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
        return self._capability[0 if kind == major else 1]

    def _cuCtxGetCurrent(self) -> int:
        return self._current[get_ident()][-1]

    def _cuCtxSetCurrent(self, context: int) -> tuple[()]:
        self._current[get_ident()][-1] = context
        return ()

    def _cuCtxPushCurrent(self, context: int) -> tuple[()]:
        self._current[get_ident()].append(context)
        return ()

    def _cuCtxPopCurrent(self) -> int:
        return self._current[get_ident()].pop()

    def _cuThreadExchangeStreamCaptureMode(self, mode: Any) -> Any:
        before = self._modes.get(get_ident(), USUAL)
        self._modes[get_ident()] = mode
        return before

    def _cuStreamIsCapturing(self, stream: Any) -> Any:
        return cu.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE

    def _cuMemGetInfo(self) -> tuple[int, int]:
        return ROOM - sum(map(len, self.memory.values())), ROOM

    def _cuMemAllocAsync(self, size: int, stream: Any) -> Any:
        if size > self._cuMemGetInfo()[0]:
            return cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY, 0
        taken = ctypes.create_string_buffer(max(size, 1)) if size < ROOM // 8 else b""
        address = ctypes.addressof(taken) if taken else next(self._handles) << 20
        self.memory[address] = taken or range(size)  # what is large has no bytes
        return address

    def _cuMemFreeAsync(self, address: int, stream: Any) -> tuple[()]:
        del self.memory[address]
        return ()

    def _cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[()]:
        ctypes.memmove(to, source, size)
        return ()

    _cuMemcpyDtoH = _cuMemcpyHtoD

    def _cuMemcpyDtoHAsync(self, to: int, source: int, size: int, stream: Any) -> tuple[()]:
        return self._cuMemcpyHtoD(to, source, size)

    _cuMemcpyDtoDAsync = _cuMemcpyDtoHAsync

    def _cuLaunchKernel(self, function: Any, *given: Any) -> tuple[()]:
        self.launched.append(self._read(function, given[-2]))
        self.overlapping.append(False)
        return ()

    def _cuLaunchKernelEx(self, config: Any, function: Any, *given: Any) -> tuple[()]:
        (one,) = config.attrs
        assert one.id == cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        assert config.gridDimX * config.gridDimY * config.gridDimZ * config.blockDimX > 0
        self._cuLaunchKernel(function, *given)
        self.overlapping[-1] = one.value.programmaticStreamSerializationAllowed == 1
        return ()

    def _cuGraphCreate(self, flags: int) -> int:
        graph = next(self._handles)
        self._graphs[graph] = {}
        return graph

    def _cuStreamEndCapture(self, stream: int) -> int:
        return self._cuGraphCreate(0)

    def _cuGraphAddKernelNode(self, graph: int, before: Any, number: int, given: Any) -> Any:
        node = cu.CUgraphNode(next(self._handles))
        self._graphs[graph][node] = self._read(given.func, given.kernelParams)
        return node

    def _cuGraphAddChildGraphNode(self, graph: int, before: Any, number: int, inner: int) -> Any:
        return cu.CUgraphNode(next(self._handles))

    def _cuGraphInstantiate(self, graph: int, flags: int) -> int:
        ready = next(self._handles)
        self._graphs[ready] = {**self._graphs[graph]}
        return ready

    def _cuGraphExecKernelNodeSetParams(self, ready: int, node: Any, given: Any) -> tuple[()]:
        self._graphs[ready][node] = self._read(given.func, given.kernelParams)
        return ()

    def _cuGraphLaunch(self, ready: int, stream: Any) -> tuple[()]:
        self.launched += self._graphs[ready].values()
        return ()

    def _cuGraphExecDestroy(self, graph: int) -> tuple[()]:
        del self._graphs[graph]
        return ()

    _cuGraphDestroy = _cuGraphExecDestroy

    def _read(self, function: Any, addresses: int) -> tuple[int, ...]:
        """The arguments of a kernel, from where the driver finds their addresses."""
        places = (ctypes.c_void_p * self.parameters[int(function)]).from_address(addresses)
        return tuple(ctypes.c_int64.from_address(place or 0).value for place in places)


class FakeDevice(driver.RealDevice):
    """A device that runs no kernels, and need not compile them."""

    def __init__(self, fake: FakeDriver) -> None:
        self.fake = fake
        super().__init__()

    def load(self, sources: Mapping[str, str], cache: Any, processes: int) -> dict[str, Any]:
        return {name: cu.CUfunction(self.fake.function(name, text)) for name, text in sources.items()}


@contextmanager
def fake_driver(capability: tuple[int, int] = (9, 0), devices: int = 1) -> Iterator[FakeDriver]:
    """Within the context there is a device of this driver, of a compute capability, and so many in all."""
    if os.environ.get(device.SIMULATOR, "0") in ("", "0"):
        gc.collect()  # what ends is given back to the driver that it is of
    fake = FakeDriver(capability)
    with pytest.MonkeyPatch.context() as patch:
        for module in _ASKING:
            patch.setattr(module, "cu", fake)
        fake.devices = devices
        own = FakeDevice(fake)
        patch.setattr(device, "_found_device", lambda: own)
        try:
            yield fake
        finally:
            gc.collect()  # what ends here is given back to this driver
    assert not fake.unsafe, "what others capture is left alone"
