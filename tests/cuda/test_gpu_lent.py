# SPDX-License-Identifier: Apache-2.0
"""Memory of other libraries: what wrote it is waited for, and what reads it is done before it is theirs again."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.runtime.cuda.device import Launched, find_device
from ngraph_rewrite.targets.device_arrays import DeviceArray

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")

from cuda.bindings import driver as cu
from fake_driver import ROOM, FakeDriver, fake_driver

from ngraph_rewrite.runtime.cuda import cublas, driver
from ngraph_rewrite.runtime.cuda.recorded import CAPTURES, RecordedGraph

pytestmark = pytest.mark.cuda

X = np.arange(6, dtype=np.float32).reshape(2, 3)
x = ng.placeholder(ng.anonymous((2, 3)), name="x")
BUSY, FULL = cu.CUresult.CUDA_ERROR_NOT_READY, cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY


@pytest.fixture
def fake() -> Iterator[FakeDriver]:
    with fake_driver() as found:
        yield found


class Interface:
    """An array of another library by the CUDA Array Interface; `own` has its memory."""

    def __init__(self, own: DeviceArray, **more: Any) -> None:
        self.own = own
        self.__cuda_array_interface__ = {"shape": X.shape, "typestr": "<f4", "data": (own.address, False), **more}


class Both(Interface):
    """And by DLPack, which notes for which stream it was asked."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, stream: int, **options: Any) -> Any:
        self.asked = stream
        return self.own.__dlpack__(stream=stream, **options)


# -- before a call -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [{"version": 2}, {"version": 3}, {"version": 2, "stream": 5}])
def test_where_no_stream_is_told_dlpack_is_asked_which_waits(told: dict[str, int]) -> None:
    """PyTorch and JAX have version 2 of the interface, which has no streams."""
    given = Both(ng.to_device(X), **told)
    seen = ng.to_device(given)
    assert given.asked == 1 and seen.address == given.own.address and np.asarray(seen).tolist() == X.tolist()
    assert not seen.read_only
    lone = ng.to_device(Interface(given.own, **told))
    assert lone.address == given.own.address


def test_what_may_only_be_read_by_the_interface_may_only_be_read() -> None:
    own = ng.to_device(X)
    assert ng.to_device(Both(own, version=2, data=(own.address, True))).read_only


@pytest.mark.parametrize("stream", [None, 1, 77])
def test_a_stream_that_is_told_is_waited_for_and_dlpack_not_asked(fake: FakeDriver, stream: int | None) -> None:
    given = Both(ng.to_device(X), version=3, stream=stream)
    fake.counts()
    ng.to_device(given)
    assert fake.counts()["cuStreamSynchronize"] == (stream == 77) and not hasattr(given, "asked")


def test_a_stream_that_a_version_without_streams_tells_of_is_none(fake: FakeDriver) -> None:
    """To wait for what is no stream may end the process."""
    given = Interface(ng.to_device(X), version=2, stream=5)
    fake.counts()
    assert ng.to_device(given).address == given.own.address
    assert not fake.counts()["cuStreamSynchronize"]


def test_an_array_on_another_gpu_is_refused_however_it_is_told() -> None:
    with fake_driver(devices=2) as fake:
        own = ng.to_device(X)
        numbers = {own.address: 0, 4096: 1}
        fake._cuPointerGetAttribute = lambda kind, address: numbers[address]
        ng.to_device(Interface(own, version=3, stream=None))
        with pytest.raises(ng.ComputationError, match="GPU 1"):
            ng.to_device(Interface(own, version=3, stream=None, data=(4096, False)))


@pytest.mark.parametrize("devices", [1, 2])
def test_a_thread_has_the_context_of_its_gpu_whatever_another_library_chose(devices: int) -> None:
    with fake_driver(devices=devices) as fake, ng.make_transformer("cuda") as transformer:
        double, given = transformer.computation(x + x, x), ng.to_device(X)
        kept = [double.on_device(given) for _ in range(3)]
        (own,) = fake.cuCtxGetCurrent()[1:]
        fake.counts()
        kept.append(double.on_device(given))
        assert not fake.counts()["cuCtxSetCurrent"]
        fake.cuCtxSetCurrent(own + 1)  # of another GPU, or one that the other library made
        fake.counts()
        kept.append(double.on_device(given))
        calls = fake.calls[:]
        assert calls.index("cuCtxSetCurrent") < calls.index("cuLaunchKernelEx")
        assert fake.cuCtxGetCurrent()[1] == own


# -- after a call ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stays", [False, True])
def test_a_stream_that_is_told_waits_for_the_call_that_reads(fake: FakeDriver, stays: bool) -> None:
    waits = list[tuple[int, int]]()
    fake._cuStreamWaitEvent = lambda stream, event, flags: waits.append((stream, event)) or ()
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        for number in (1, 2, 3):  # of which the last goes the way of a call that moves nothing
            given = Interface(ng.to_device(X), version=3, stream=77)
            fake.counts()
            (double.on_device if stays else double)(given)
            calls = list(fake.counts())
            assert calls.index("cuLaunchKernelEx") < calls.index("cuEventRecord") < calls.index("cuStreamWaitEvent")
            assert len(waits) == number and waits[-1][0] == 77
        taken = ng.to_device(given)  # whose stream may be over when it is used
        double.on_device(taken)
    assert len(waits) == 3


class Busy:
    """A GPU that is at work as long as somebody says so."""

    def __init__(self, fake: FakeDriver) -> None:
        self.yes = True
        fake._cuEventQuery = fake._cuStreamQuery = lambda what: (BUSY if self.yes else cu.CUresult.CUDA_SUCCESS,)


@pytest.mark.parametrize("use", ["stay", "copy"])
def test_memory_of_others_is_kept_until_all_is_done(fake: FakeDriver, use: str) -> None:
    busy = Busy(fake)
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        uses: dict[str, Callable[[Any], Any]] = {
            "stay": double.on_device,
            "copy": lambda given: ng.to_device(given).__copy__(),
        }
        lent = [Interface(ng.to_device(X), version=3, stream=None) for _ in range(3)]
        alive = [weakref.ref(one) for one in lent]
        while lent:
            uses[use](lent.pop(0))
        assert all(one() for one in alive)
        busy.yes = False
        for _ in range(2):  # a computation has the arguments of its last call
            uses[use](Interface(ng.to_device(X), version=3, stream=None))
        assert not any(one() for one in alive)


def test_a_gpu_that_is_done_keeps_nothing(fake: FakeDriver) -> None:
    given = Interface(ng.to_device(X), version=3, stream=None)
    alive = weakref.ref(given)
    taken = ng.to_device(given)
    del given
    assert alive()
    fake.counts()
    del taken
    assert not alive() and not fake.counts()["cuEventCreate"]


def test_calls_with_the_same_arrays_ask_the_driver_for_nothing_more(fake: FakeDriver) -> None:
    Busy(fake)
    given = ng.to_device(Interface(ng.to_device(X), version=3, stream=None))
    with ng.make_transformer("cuda") as transformer:
        double = transformer.computation(x + x, x)
        kept = [double.on_device(given) for _ in range(4)]
        fake.counts()
        kept.append(double.on_device(given))
        assert [*fake.counts()] == ["cuCtxGetCurrent", "cuMemAllocAsync", "cuLaunchKernelEx"]


def test_events_are_used_again(fake: FakeDriver) -> None:
    Busy(fake)
    fake._cuEventQuery = lambda event: (cu.CUresult.CUDA_SUCCESS,)  # something else is running by then
    for number in range(5):
        fake.counts()
        ng.to_device(Interface(ng.to_device(X), version=3, stream=None))
        found = fake.counts()
        assert found["cuEventRecord"] == 1 and found["cuEventCreate"] == (number == 0)


def test_an_array_may_end_while_others_are_let_go(fake: FakeDriver) -> None:
    """By the garbage collector, in the middle of it: neither waits for the other, and none is let go twice."""
    busy, more = Busy(fake), [ng.to_device(Interface(ng.to_device(X), version=3, stream=None)) for _ in range(2)]
    ng.to_device(Interface(ng.to_device(X), version=3, stream=None))

    def query(event: int) -> Any:
        if more:
            more.pop()
        return (cu.CUresult.CUDA_SUCCESS,)

    fake._cuEventQuery = query
    more.pop()
    fake._cuEventQuery = lambda event: (cu.CUresult.CUDA_SUCCESS,)
    busy.yes = False
    fake.counts()
    ng.to_device(Interface(ng.to_device(X), version=3, stream=None))
    assert not more and fake.counts()["cuEventRecord"] == 0


def adopted() -> tuple[DeviceArray, weakref.ref[Any]]:
    """An array of another library, and what tells whether it still is."""
    given = Interface(ng.to_device(X), version=3, stream=None)
    return ng.to_device(given), weakref.ref(given)


def test_memory_is_kept_while_nobody_can_say_whether_all_is_done(fake: FakeDriver) -> None:
    """Another library captures, and questions of the usual kind would end that."""
    Busy(fake)
    fake._cuEventQuery = lambda event: (cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,)
    alive = [adopted()[1] for _ in range(3)]
    assert all(one() for one in alive)
    assert fake.counts()["cuThreadExchangeStreamCaptureMode"] % 2 == 0


@pytest.mark.parametrize("failing", ["cuEventCreate", "cuEventRecord"])
def test_memory_is_kept_until_somebody_waits_if_there_is_no_event(fake: FakeDriver, failing: str) -> None:
    busy = Busy(fake)
    fake.failing = {failing}
    alive = [adopted()[1] for _ in range(2)]
    fake.failing = set()
    alive.append(adopted()[1])
    assert all(one() for one in alive)
    busy.yes = False
    find_device().synchronize()
    assert not any(one() for one in alive)


def test_memory_is_let_go_when_a_result_is_there(fake: FakeDriver) -> None:
    Busy(fake)
    alive = adopted()[1]
    assert alive() and np.asarray(ng.to_device(X)).tolist() == X.tolist()
    assert not alive()


@pytest.mark.parametrize("wait", ["cuMemcpyDtoH", "cuStreamSynchronize"])
def test_memory_that_is_lent_while_a_thread_waits_is_kept(fake: FakeDriver, wait: str) -> None:
    """Another thread lets go of what was lent before, and lends more: that one is not what was waited for."""
    Busy(fake)
    result, first, over = ng.to_device(X), adopted()[1], list[weakref.ref[Any]]()

    def waiting(*given: int) -> None:
        fake._cuEventQuery = lambda event: (cu.CUresult.CUDA_SUCCESS,)
        over.append(adopted()[1])
        fake._cuEventQuery = lambda event: (BUSY,)
        assert not first()

    setattr(fake, f"_{wait}", lambda *given: waiting(*given) or ())
    np.asarray(result) if wait == "cuMemcpyDtoH" else find_device().synchronize()
    assert over[0]()


def test_events_that_fail_are_not_lost(fake: FakeDriver) -> None:
    given = ng.to_device(X)
    for number in range(3):
        fake.failing = {"cuStreamWaitEvent"}
        with pytest.raises(ng.DeviceError, match="another library wait"):
            find_device().let_wait([77])
        assert fake.counts()["cuEventCreate"] == (number == 0)
    assert given.owner is None


def test_what_others_had_of_others_is_kept_until_all_is_done(fake: FakeDriver) -> None:
    """It was handed on to a stream that may still read it."""
    array, alive = adopted()
    capsule = array.__dlpack__(stream=7)
    fake.failing, fake.error = {"cuCtxSynchronize"}, cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    del array, capsule
    lack_memory()
    assert alive()
    fake.failing = set()
    lack_memory()
    assert not alive()


def lack_memory() -> None:
    """Ask for more than there is: then all work on the GPU is waited for."""
    with pytest.raises(ng.DeviceMemoryError):
        find_device().allocate(2 * ROOM, "a test")


@pytest.mark.parametrize("devices", [1, 2])
def test_arrays_that_end_leave_a_thread_its_gpu(devices: int) -> None:
    with fake_driver(devices=devices) as fake:
        fake._cuPointerGetAttribute = lambda kind, address: 0
        array, large = adopted()[0], find_device().allocate(ROOM // 8, "a test")
        fake.cuCtxSetCurrent(7)
        fake.counts()
        del array
        find_device().free(large)
        found = fake.counts()
        assert not found["cuCtxSetCurrent"] and found["cuCtxPushCurrent"] == found["cuCtxPopCurrent"] == 2
        assert fake.cuCtxGetCurrent()[1] == 7


# -- captures ----------------------------------------------------------------------------------------------------------


def graph_of(run: Callable[[int], None]) -> RecordedGraph:
    """A graph of one launch, by a library."""
    launches = [Launched(partial(lambda given: SimpleNamespace(run=run)), 1, 1, False, [7])]
    return RecordedGraph(find_device()._context, launches, [()], (), lambda: None)  # type: ignore[attr-defined]


def test_the_end_of_what_others_had_asks_the_driver_for_nothing(fake: FakeDriver) -> None:
    """By the garbage collector, or by another thread: to wait for the whole GPU would end what anybody captures."""
    capsules = [ng.to_device(X).__dlpack__(stream=2), adopted()[0].__dlpack__(stream=2)]
    fake.counts()
    capsules.clear()
    assert not fake.counts()


def test_memory_is_not_waited_for_while_launches_are_captured(fake: FakeDriver) -> None:
    capsules = [ng.to_device(X).__dlpack__(stream=2)]
    address = max(fake.memory)
    capsules.clear()
    fake.counts()
    graph_of(lambda stream: lack_memory())
    assert not fake.counts()["cuCtxSynchronize"] and address in fake.memory
    lack_memory()
    assert fake.counts()["cuCtxSynchronize"] == 1 and address not in fake.memory


def test_memory_that_cannot_be_waited_for_while_another_library_captures_is_waited_for_later(fake: FakeDriver) -> None:
    fake.failing, fake.error = {"cuCtxSynchronize"}, cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    address = ng.to_device(X).__dlpack__(stream=2) and max(fake.memory)
    lack_memory()
    assert address in fake.memory
    fake.failing = set()
    lack_memory()
    assert address not in fake.memory


@pytest.mark.parametrize("status", ["ACTIVE", "INVALIDATED", None])
def test_a_stream_that_is_captured_is_not_asked_what_it_does(fake: FakeDriver, status: str | None) -> None:
    """Which would end that. A stream that blocks makes the default one unusable (None) while it is captured."""
    if status is None:
        found = cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 0
    else:
        found = getattr(cu.CUstreamCaptureStatus, f"CU_STREAM_CAPTURE_STATUS_{status}")
    fake._cuStreamIsCapturing = lambda stream: found  # type: ignore[method-assign]
    fake.counts()
    alive = adopted()[1]
    asked = fake.counts()
    assert alive() and not asked["cuStreamQuery"] and not asked["cuEventRecord"]
    find_device().synchronize()
    assert not alive()


def test_what_is_asked_of_the_driver_ends_no_capture_of_another_library(fake: FakeDriver) -> None:
    """Copies, waiting, results that are there early, graphs, arrays of others: `fake_driver` looks at what is asked."""
    Busy(fake)
    rows = ng.numpy.cumsum(ng.numpy.cumsum(ng.numpy.cumsum(x, axis=0), axis=1), axis=0)
    with ng.make_transformer("cuda") as transformer:
        sums = transformer.computation([ng.exp(x), rows], x)
        sums(X)
        sums.on_device(Interface(ng.to_device(X), version=3, stream=77))
        ng.to_device(X).__dlpack__(stream=77)
    lack_memory()
    found = fake.counts()
    assert {"cuMemcpyDtoHAsync", "cuMemcpyHtoD", "cuStreamSynchronize", "cuCtxSynchronize", "cuGraphLaunch"} <= {*found}
    assert not fake.unsafe
    fake.cuStreamQuery(0)
    assert fake.unsafe.pop() == "cuStreamQuery"


@pytest.mark.parametrize("where", ["library", "end"])
@pytest.mark.parametrize("times", [1, CAPTURES])
def test_a_capture_that_another_library_ended_is_made_again(fake: FakeDriver, where: str, times: int) -> None:
    left = [times]
    end = fake._cuStreamEndCapture

    def ended(stream: int) -> Any:
        left[0] -= 1
        return end(stream) if left[0] < 0 else (cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 0)

    def run(stream: int) -> None:
        if where == "library" and left[0] > 0:
            raise ng.DeviceError("cuBLAS says no")

    fake._cuStreamEndCapture = ended  # type: ignore[method-assign]
    fake.counts()
    if times < CAPTURES:
        graph_of(run)
    else:
        with pytest.raises(ng.DeviceError, match="something waited for the whole GPU"):
            graph_of(run)
    found = fake.counts()
    assert found["cuStreamCreate"] == found["cuStreamDestroy"] == min(times + 1, CAPTURES)
    assert not find_device()._context.capturing.locked()  # type: ignore[attr-defined]


def test_an_interrupt_is_no_reason_to_capture_again(fake: FakeDriver) -> None:
    def run(stream: int) -> None:
        raise KeyboardInterrupt

    fake._cuStreamEndCapture = lambda stream: (cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 0)  # type: ignore
    with pytest.raises(KeyboardInterrupt):
        graph_of(run)


# -- memory that is full -----------------------------------------------------------------------------------------------


def test_an_allocation_that_is_refused_waits_for_what_is_being_given_back(fake: FakeDriver) -> None:
    device, refused = find_device(), [True]
    allocate = fake._cuMemAllocAsync
    fake._cuMemAllocAsync = lambda size, stream: (FULL, 0) if refused[0] else allocate(size, stream)  # type: ignore
    fake._cuStreamSynchronize = lambda stream: refused.clear() or refused.append(False) or ()
    assert device.allocate(1 << 21, "a test") in fake.memory


@pytest.mark.parametrize("always", [False, True])
def test_a_graph_for_which_there_is_no_memory_has_what_is_kept(fake: FakeDriver, always: bool) -> None:
    device = find_device()
    device.free(device.allocate(ROOM // 16, "a test"))
    kept, make = [*fake.memory], fake._cuGraphInstantiate

    def instantiate(graph: int, flags: int) -> Any:
        return (FULL, 0) if always or kept[0] in fake.memory else make(graph, flags)

    fake._cuGraphInstantiate = instantiate  # type: ignore[method-assign]
    launches = [Launched(partial(lambda given: SimpleNamespace(run=lambda stream: None)), 1, 1, False, [7])] * 4
    if always:
        with pytest.raises(ng.DeviceMemoryError, match="making a graph of launches failed: the GPU has too little"):
            device.record(launches)
    else:
        device.record(launches).run()
    assert kept[0] not in fake.memory and fake.counts()["cuMemPoolTrimTo"] == 1


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("how, count", [("cuLaunchKernelEx", 1), ("cuLaunchKernelEx", 2), ("cuGraphLaunch", 4)])
def test_launches_for_which_there_is_no_memory_are_made_once_more(
    fake: FakeDriver, how: str, count: int, always: bool
) -> None:
    """When what is kept was given back; those before are not made again."""
    device, term, launch, left = find_device(), x, getattr(fake, f"_{how}"), [-1]
    for axis in range(count):
        term = ng.numpy.cumsum(term, axis=axis % 2)

    def full(*arguments: Any) -> Any:
        left[0] -= 1
        return (FULL,) if left[0] == 0 or always and left[0] == -1 else launch(*arguments)

    setattr(fake, f"_{how}", full)
    with ng.make_transformer("cuda") as transformer:
        sums, given = transformer.computation(term, x), ng.to_device(X)
        sums(given)
        device.free(device.allocate(ROOM // 16, "a test"))
        fake.launched.clear()
        left[0] = 1 if how == "cuGraphLaunch" else count  # the last of them
        if always:
            with pytest.raises(ng.DeviceMemoryError, match="launching a kernel failed: the GPU has too little memory"):
                sums(given)
        else:
            sums(given)
            assert len(fake.launched) == count
        assert fake.counts()["cuMemPoolTrimTo"] == 1 and all(len(one) < ROOM // 16 for one in fake.memory.values())
        sums(given)


def test_a_product_for_which_there_is_no_memory_is_asked_for_once_more(fake: FakeDriver) -> None:
    asked = list[int]()

    def run(stream: int) -> tuple[int]:
        asked.append(stream)
        if len(asked) == 1:
            raise ng.DeviceMemoryError("cuBLAS has no memory")
        return (0,)

    launches = [Launched(partial(lambda given: SimpleNamespace(run=run)), 1, 1, False, [7])]
    find_device().record(launches).run()
    assert len(asked) == 2 and fake.counts()["cuMemPoolTrimTo"] == 1


def test_a_library_without_memory_says_so(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        def __getattr__(self, name: str) -> Any:
            return lambda *arguments: 3

    monkeypatch.setattr(cublas, "found", Library)
    for _ in range(2):
        with pytest.raises(ng.DeviceMemoryError, match="cublasCreate_v2 failed: the GPU has too little memory left"):
            find_device().library("gemm_float32")
    assert sum(map(len, fake.memory.values())) <= cublas.WORKSPACE  # kept for whoever asks next


def test_two_threads_start_a_library_once(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    made, others = list[int](), list[threading.Thread]()

    class Library:
        def __init__(self, workspace: int) -> None:
            made.append(workspace)
            if len(made) == 1:  # another thread asks for it before it is there
                others.append(threading.Thread(target=find_device().library, args=("gemm_float32",)))
                others[0].start()
                others[0].join(0.05)

        def function(self, name: str) -> str:
            return name

    monkeypatch.setattr(driver, "Cublas", Library)
    find_device().library("gemm_float32")
    others[0].join()
    assert len(made) == 1


def test_a_graph_that_cannot_be_changed_for_want_of_memory_is_made_anew(fake: FakeDriver) -> None:
    rows = ng.numpy.cumsum(ng.numpy.cumsum(ng.numpy.cumsum(ng.numpy.cumsum(x, axis=0), axis=1), axis=0), axis=1)
    arrays = [ng.to_device(X) for _ in range(2)]
    with ng.make_transformer("cuda") as transformer:
        sums = transformer.computation(rows, x)
        kept = [sums.on_device(arrays[0]) for _ in range(3)]
        fake.failing, fake.error = {"cuGraphExecKernelNodeSetParams"}, FULL
        fake.launched.clear()
        kept.append(sums.on_device(arrays[1]))
        assert arrays[1].address in {address for given in fake.launched for address in given}
        assert fake.counts()["cuGraphInstantiate"] == 2
