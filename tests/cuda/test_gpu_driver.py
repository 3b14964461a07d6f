# SPDX-License-Identifier: Apache-2.0
"""What a call asks of the driver of CUDA: as little as can be, and of the arrays that it was given."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.runtime.cuda.device import Launched, find_device
from ngraph_rewrite.runtime.cuda.freed import LARGEST, MOST, FreedMemory

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")

import fake_driver as fake_driver_module
from cuda.bindings import driver as cu
from fake_driver import ROOM, FakeDevice, FakeDriver, fake_driver

from ngraph_rewrite.runtime.cuda import cublas
from ngraph_rewrite.runtime.cuda.context import Context
from ngraph_rewrite.runtime.cuda.elsewhere import MOST as MOST_ELSEWHERE
from ngraph_rewrite.runtime.cuda.recorded import RecordedGraph

pytestmark = pytest.mark.cuda

X = np.arange(6, dtype=np.float32).reshape(2, 3)
x, y = (ng.placeholder(ng.anonymous((2, 3)), name=name) for name in "xy")
one = ng.exp(x) + y
# Which end no capture of another library, and find out whether the thread has the context of the GPU.
RUN, COPY = {"cuCtxGetCurrent": 1}, {"cuCtxGetCurrent": 2, "cuMemcpyDtoH": 1, "cuThreadExchangeStreamCaptureMode": 2}


def several(term: ng.Op, count: int) -> ng.Op:
    """So many launches, of which the last one reads y."""
    for axis in range(count - 1):
        term = ng.numpy.cumsum(term, axis=axis % 2)
    return term * y


@pytest.fixture
def fake() -> Iterator[FakeDriver]:
    with fake_driver() as found:
        yield found


def test_what_the_bindings_of_the_driver_refuse_is_refused(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what tests find here is not told first on a machine that has a GPU."""
    monkeypatch.setattr(fake_driver_module, "is_there", lambda: False)
    with pytest.raises(TypeError):
        fake.cuMemAllocAsync("many", 0)
    with pytest.raises(TypeError):
        fake.cuGraphAddEventRecordNode(fake.cuGraphCreate(0)[1], [5], 1, 7)
    assert not fake.cuStreamWaitEvent(5, 7, 0)[0]


def test_a_call_of_a_small_graph_is_one_call_of_the_driver(fake: FakeDriver) -> None:
    a, b = ng.to_device(X), ng.to_device(X)
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(one, x, y)
        transformer.computation(ng.semi.uniform((3,), 0.0, 1.0, "float32"))()  # draws of others are none of its own
        kept = [computation.on_device(a, b)]
        for number in range(6):
            kept.append(computation.on_device(a, b))
            kept.pop(0)
            found = fake.counts()
            assert number < 3 or found == {"cuLaunchKernelEx": 1, **RUN}
        computation(a, b)
        assert fake.counts() == {"cuLaunchKernelEx": 1, **COPY}
        computation(X, X)
        computation(X, X)
        assert fake.counts()["cuMemcpyHtoD"] == 4


@pytest.mark.parametrize(("capability", "overlap"), [((8, 9), False), ((9, 0), True), ((10, 0), True)])
def test_launches_may_overlap_on_gpus_that_know_of_it(capability: tuple[int, int], overlap: bool) -> None:
    with fake_driver(capability) as fake, ng.make_transformer("cuda") as transformer:
        transformer.computation(several(x, 2), x, y)(X, X)
        assert fake.overlapping == [overlap] * len(fake.launched) and fake.launched


def test_launches_do_not_overlap_where_somebody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NGRAPH_REWRITE_OVERLAP", "0")
    with fake_driver((9, 0)) as fake, ng.make_transformer("cuda") as transformer:
        transformer.computation(several(x, 2), x, y)(X, X)
        assert fake.overlapping == [False] * len(fake.launched) and fake.launched


def test_a_graph_is_told_of_launches_whose_arguments_moved(fake: FakeDriver) -> None:
    a, b, c = (ng.to_device(X) for _ in range(3))
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(several(x, 6), x, y)
        computation(a, b)
        fake.counts()
        computation(a, b)
        assert fake.counts() == {"cuGraphLaunch": 1, **COPY}
        computation(a, c)
        wanted = {"cuGraphLaunch": 1, "cuGraphExecKernelNodeSetParams": 1, **COPY, "cuCtxGetCurrent": 3}
        assert fake.counts() == wanted


def test_after_a_call_that_failed_kernels_are_given_the_arrays_of_the_next(fake: FakeDriver) -> None:
    a, b, c = (ng.to_device(X) for _ in range(3))
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(several(x, 6), x, y)
        computation(a, b)
        fake.failing = {"cuGraphExecKernelNodeSetParams"}
        with pytest.raises(ng.DeviceError, match="CUDA_ERROR_UNKNOWN"):
            computation(a, c)
        fake.failing = set()
        computation(a, c)
        assert c.address in fake.launched[-1]


@contextmanager
def interrupted(after: int) -> Iterator[list[int]]:
    """An interrupt before so many lines of what makes launches have run; how many ran."""
    before, ran = sys.gettrace(), [0]

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if Path(frame.f_code.co_filename).name not in ("cuda.py", "device_launches.py", "recorded.py", "one_by_one.py"):
            return None
        if event == "line":
            ran[0] += 1
            if ran[0] == after:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        yield ran
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("launches", [2, 6])
def test_after_an_interrupt_kernels_are_given_the_arrays_of_the_next_call(fake: FakeDriver, launches: int) -> None:
    """Wherever it comes: while arguments are worked out, while launches are told of them, while they are recorded."""
    arrays = [ng.to_device(X) for _ in range(3)]
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(several(x, launches), x, y)
        kept, after, ran = [], 0, [0]
        while ran[0] >= after:
            after += 1
            given_ = arrays[after % 2 :][:2]
            with interrupted(after) as ran:
                kept.append(computation.on_device(*given_))
            for _ in range(2):
                fake.launched.clear()
                kept.append(computation.on_device(*given_))
                assert given_[0].address in fake.launched[0]
                assert {given_[1].address, kept[-1].address} <= {*fake.launched[-1]}
    assert after > 30


@pytest.mark.parametrize("launches", [3, 5])
def test_launches_follow_the_arena_also_after_an_interrupt_or_an_error(fake: FakeDriver, launches: int) -> None:
    rows = term = ng.placeholder([ng.Axis("N"), ng.Axis("C", 3)])
    for number in range(launches):
        term = ng.softmax(ng.exp(term) + number, normalization_axes=[rows.axes[number % 2]])
    short, long = np.ones((5, 3), np.float32), np.ones((99, 3), np.float32)
    for after in range(20):  # an error, then interrupts
        with ng.make_transformer("cuda") as transformer:
            computation = transformer.computation(term, rows)
            computation(short)
            computation(long)
            fake.failing = set() if after else {"cuGraphExecDestroy"}
            with suppress(ng.DeviceError), interrupted(after):
                computation(short)
            fake.failing = set()
            fake.launched.clear()
            computation(short)
            assert computation.stats()["launches"] == launches
        arenas = {address for address, taken in fake.memory.items() if len(taken) == 4096}  # no array is so large
        assert arenas & {address for given_ in fake.launched for address in given_}


@pytest.fixture(scope="module", params=[1, 2, 6])
def called(request: pytest.FixtureRequest) -> Iterator[tuple[FakeDriver, Any]]:
    """A computation of some launches."""
    with fake_driver() as fake, ng.make_transformer("cuda") as transformer:
        yield fake, transformer.computation(several(ng.exp(x), request.param), x, y)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from("ghn")), max_size=6))
def test_kernels_are_given_the_arrays_of_their_call(
    called: tuple[FakeDriver, Any], calls: Sequence[tuple[int, int, str]]
) -> None:
    """Arrays that stay, that end, and that are copied from and to the host, in any order."""
    fake, computation = called
    arrays, results = [ng.to_device(X) for _ in range(3)], []
    for first, second, how in calls:
        fake.launched.clear()
        if how == "h":  # there are copies then, at the same places in each call
            computation(X, arrays[second])
            assert arrays[second].address in fake.launched[-1]
            continue
        results.append(computation.on_device(arrays[first], arrays[second]))
        assert arrays[first].address in fake.launched[0]
        assert {arrays[second].address, results[-1].address} <= {*fake.launched[-1]}
        if how == "n":
            arrays[first] = results.pop(0)


def test_numbers_of_calls_are_told_where_there_are_draws(fake: FakeDriver) -> None:
    with ng.make_transformer("cuda") as transformer:
        draw = transformer.computation(ng.semi.uniform((3,), 0.0, 1.0, "float32"))
        draw.on_device()
        assert fake.counts()["cuMemsetD32Async"] == 2  # both halves
        draw.on_device()
        assert fake.counts()["cuMemsetD32Async"] == 1


# -- a library ---------------------------------------------------------------------------------------------------------


AT, NUMBER, FAR = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
OPERAND = (AT, NUMBER, NUMBER, FAR)
# As cuBLAS's manual has it.
GEMM: Any = ctypes.CFUNCTYPE(
    NUMBER, AT, *[NUMBER] * 5, AT, *OPERAND, *OPERAND, AT, *OPERAND, *[NUMBER] * 3,
)  # fmt: skip


class FakeLibrary:
    """What stands for cuBLAS, and notes what it is asked; `status` is its answer."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.status = 0
        self.cublasGemmStridedBatchedEx = GEMM(partial(self._note, "cublasGemmStridedBatchedEx"))

    def _note(self, name: str, *arguments: Any) -> int:
        self.calls.append((name, arguments))
        return self.status

    def __getattr__(self, name: str) -> Any:
        return partial(self._note, name)


@pytest.mark.parametrize(
    ("dtype", "number", "kind", "sums"),
    [("float64", ctypes.c_double, 1, 70), ("float32", ctypes.c_float, 0, 68), ("bfloat16", ctypes.c_float, 14, 68)],
)
def test_a_product_of_a_library_is_one_call_where_streams_stay_the_same(
    dtype: str, number: Any, kind: int, sums: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = FakeLibrary()
    monkeypatch.setattr(cublas, "found", lambda: library)
    given_ = (2, 3, 4, 5, 1 << 40, 15, 0, 3, 2000, 1 << 33, 1, 4, 3000)  # as `ngraph_rewrite.plan.cuda.library` says
    product = cublas.Cublas(4096).function(f"gemm_{dtype}")(given_)
    asked = []
    for stream in (0, 0, 7, 7, 0):
        library.calls.clear()
        product.run(stream)
        asked.append([name for name, _ in library.calls])
    first = ["cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasGemmStridedBatchedEx"]
    assert asked == [first, first[2:], first, first, first]  # other streams may have ended in between
    for now in (3000, 1 << 41):
        product.change(12, now)
        product.run(0)
        _, (_, *asked_for) = library.calls[-1]
        factors = [number.from_address(asked_for.pop(n)).value for n in (14, 5)]
        assert factors == [0, 1]  # of what is there, and of the product
        left, right = (1 << 40, kind, 3, 15), (2000, kind, 4, 1 << 33)
        assert asked_for == [0, 1, 3, 4, 5, *left, *right, now, kind, 3, 12, 2, sums, -1]
    library.status = 13
    with pytest.raises(ng.DeviceError, match="cublasGemmStridedBatchedEx failed with status 13"):
        product.run(0)


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driver() -> Iterator[FakeDriver]:
    with fake_driver() as found:
        yield found


@given(st.lists(st.integers(0, LARGEST + 9) | st.integers(0, 600), max_size=8))
@settings(max_examples=9, deadline=None)
def test_memory_that_is_taken_again_is_large_enough_and_its_own(driver: FakeDriver, sizes: list[int]) -> None:
    device = FakeDevice(driver)
    driver.memory.clear()
    driver.calls.clear()
    for _ in range(2):
        taken = [device.allocate(size, "a test") for size in sizes]
        assert len({*taken}) == len(sizes)
        assert all(len(driver.memory[address]) >= size for address, size in zip(taken, sizes, strict=True))
        for address in taken:
            device.free(address)
    more = sum(max(0, n - 4) for size, n in Counter(sizes).items() if size > LARGEST)  # of which four are kept
    assert driver.counts()["cuMemAllocAsync"] == len(sizes) + more
    assert len(driver.memory) == len(sizes) - more


def lack_memory() -> None:
    """Ask for more than there is."""
    with pytest.raises(ng.DeviceMemoryError):
        find_device().allocate(2 * ROOM, "a test")


@pytest.mark.parametrize("stream, waits", [(None, 0), (1, 0), (2, 1), (12345, 1), (-1, 1)])
def test_memory_that_was_lent_to_another_stream_is_kept_until_memory_is_lacking(
    fake: FakeDriver, stream: int | None, waits: int
) -> None:
    """The end of an array waits for nothing: it may come at any moment, and within a capture."""
    array = ng.to_device(X)
    capsule, address = array.__dlpack__(stream=stream), array.address
    del array, capsule
    again = [find_device().allocate(X.nbytes, "a test") for _ in range(2)]
    assert not fake.counts()["cuCtxSynchronize"] and (address in again) == (not waits)
    lack_memory()
    assert fake.counts()["cuCtxSynchronize"] == waits
    assert not waits or address not in fake.memory


@pytest.mark.parametrize("count, size", [(MOST_ELSEWHERE, 24), (3, ROOM // 16 // 3)])
def test_so_much_memory_is_kept_that_other_streams_used(fake: FakeDriver, count: int, size: int) -> None:
    """And then it is waited for, by who takes more; not by who ends an array."""
    taken = [find_device().allocate(size, "a test") for _ in range(count + 1)]
    fake.counts()
    for address in taken:
        find_device().allocate(300, "a test")
        find_device().free(address, size)
    found = fake.counts()
    assert not found["cuCtxSynchronize"] and found["cuMemAllocAsync"] == len(taken)
    find_device().allocate(300, "a test")
    assert fake.counts()["cuCtxSynchronize"] == 1
    assert find_device().allocate(size, "a test") in taken


def test_no_more_memory_is_kept_than_is_said(fake: FakeDriver) -> None:
    device = find_device()
    for address in [device.allocate(1000, "a test") for _ in range(MOST + 3)]:
        device.free(address)
    assert len(fake.memory) == MOST


@pytest.mark.parametrize("size", [1000, 3 * LARGEST])
def test_memory_is_given_back_once(fake: FakeDriver, size: int) -> None:
    device = find_device()
    address = device.allocate(size, "a test")
    device.free(address)
    with pytest.raises(ng.DeviceError, match="twice"):
        device.free(address)
    assert device.allocate(size, "a test") == address != device.allocate(size, "a test")


def test_large_memory_is_kept_as_far_as_there_is_room(fake: FakeDriver) -> None:
    """A sixteenth of the device's, four of a size, those of sizes first that are kept for longest."""
    device, each = find_device(), ROOM // 16 // 4
    sizes = [each, each + 1, each - 2, each]
    taken = [device.allocate(size, "a test") for size in sizes]
    for address in taken:
        device.free(address)
    assert len(fake.memory) == 4
    more = device.allocate(each + 2, "a test")
    device.free(more)  # and one of the size that was not asked for again
    assert [*fake.memory] == [taken[0], taken[2], taken[3], more]
    too_large = device.allocate(ROOM // 16 + 1, "a test")
    device.free(too_large)
    assert len(fake.memory) == 4
    assert device.allocate(each, "a test") == taken[3]
    fake.counts()
    device.allocate(each, "a test")
    device.allocate(each, "a test")
    assert fake.counts()["cuMemAllocAsync"] == 1


def test_what_is_kept_is_given_back_if_there_is_not_enough(fake: FakeDriver) -> None:
    device = find_device()
    device.free(device.allocate(LARGEST, "a test"))
    device.free(device.allocate(ROOM, "all there is"))
    assert not fake.memory
    rest = device.allocate(ROOM // 2, "a test")
    with pytest.raises(ng.DeviceMemoryError, match="bytes for more"):
        device.allocate(ROOM, "more")
    device.free(rest)


def test_an_error_of_the_driver_loses_nothing_else_that_is_kept(fake: FakeDriver) -> None:
    device = find_device()
    for address in [device.allocate(LARGEST, "a test") for _ in range(3)]:
        device.free(address)
    fake.failing = {"cuMemFreeAsync"}
    with pytest.raises(ng.DeviceError, match="giving memory back"):
        device.allocate(ROOM, "more")
    fake.failing = set()
    fake.counts()
    for _ in range(2):
        device.allocate(LARGEST, "a test")
    assert not fake.counts()


def emptied(ask: Callable[[], int | None]) -> Iterator[int]:
    """All that is asked for, until there is no more."""
    while (address := ask()) is not None:
        yield address


def asked_by_two(one: Callable[[], int | None], other: Callable[[], int | None], after: int) -> tuple[list[int], int]:
    """What both are given, where the other begins before an instruction of the one; how many instructions that has."""
    found = list[int]()
    ran = met(lambda: found.extend(emptied(one)), lambda: found.extend(emptied(other)), after)
    return found, ran


def met(one: Callable[[], object], other: Callable[[], object], after: int) -> int:
    """Do one thing, and another before one of its instructions; how many instructions it has."""
    ran, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal ran
        if event == "call":
            frame.f_trace = trace  # without which Python 3.13 may tell of no instruction
            frame.f_trace_opcodes = Path(frame.f_code.co_filename).name == "freed.py"
            sys.settrace(trace)  # Python 3.12 asks only now whether it is to tell of instructions
        ran += event == "opcode"
        if event == "opcode" and ran == after:
            sys.settrace(None)
            other()
            sys.settrace(trace)
        return trace

    sys.settrace(trace)
    try:
        one()
    finally:
        sys.settrace(before)
    return ran


@pytest.mark.parametrize("how", ["take", "drop"])
def test_what_is_kept_goes_to_one_thread_however_they_meet(how: str) -> None:
    after = ran = 0
    while ran >= after:
        memory, after = FreedMemory(), after + 1
        memory.add(4096, LARGEST)
        assert not memory.keep(4096)
        take = partial(memory.take, LARGEST)
        found, ran = asked_by_two(take if how == "take" else memory.drop, take, after)
        assert found == [4096]
    assert after > 10


@pytest.mark.parametrize("how", ["keep", "take", "keep what is too much"])
@pytest.mark.parametrize("other", [0, 1])
def test_large_memory_may_be_given_back_while_other_is(how: str, other: int) -> None:
    """By the garbage collector, which comes between any two instructions: none is lost, none is had twice."""
    size, after, ran = 2 * LARGEST, 0, 0
    while ran >= after:
        memory, given, after = FreedMemory(3 * size), list[int](), after + 1
        for address, bytes_ in ((1, size), (2, size + other), (3, size)):
            memory.add(address, bytes_)
        assert not memory.keep(3)
        if how == "keep what is too much":
            memory.add(4, size + 2)
            assert not memory.keep(4)
        one = partial(memory.take, size) if how == "take" else partial(memory.keep, 1)

        def do(one: Callable[[], Any] = one, given: list[int] = given) -> None:
            found = one()
            given += [found] if isinstance(found, int) else found or []

        ran = met(do, lambda memory=memory, given=given: given.extend(memory.keep(2)), after)  # type: ignore[misc]
        given += memory.keep(2) if ran < after else []
        given += memory.keep(1) if how == "take" else []
        given += emptied(memory.drop)
        assert sorted(given) == [1, 2, 3, 4][: 3 + (how == "keep what is too much")]
    assert after > 10


@pytest.mark.parametrize("sizes", [(0, 0, 0), (0, 0, 1), (0, 1, 2)], ids=["a third", "others", "too much"])
def test_large_memory_that_is_taken_may_come_back_while_its_home_is_given_away(sizes: tuple[int, ...]) -> None:
    """Between any two instructions: none is lost, none is had twice."""
    after = ran = 0
    while ran >= after:
        memory, given, after = FreedMemory(6 * LARGEST), list[int](), after + 1
        for address, more in enumerate(sizes, 1):
            memory.add(address, 2 * LARGEST + more)
        assert not [*memory.keep(1), *memory.keep(2)]
        taken = [memory.take(2 * LARGEST + more) for more in sizes[:2]]
        assert sorted(taken) == [1, 2]  # type: ignore[type-var]

        def back(address: int, memory: FreedMemory = memory, given: list[int] = given) -> None:
            given.extend(memory.keep(address))

        ran = met(partial(back, 3), partial(back, 1), after)
        if ran < after:
            back(1)
        back(2)
        given += emptied(memory.drop)
        assert sorted(given) == [1, 2, 3]
    assert after > 10


class Book:
    """Who has what of a driver that gives out addresses again, of any size, as soon as it has them back."""

    def __init__(self) -> None:
        self.memory, self.sizes = FreedMemory(7 * LARGEST), dict[int, int]()
        self.given_back, self.fresh = list[int](), iter(range(1, 1000))
        self.taken: list[int] = []

    def allocate(self, size: int) -> None:
        address = self.memory.take(size)
        if address is None:
            address = self.given_back.pop() if self.given_back else next(self.fresh)
            self.sizes[address] = self.memory.rounded(size)
            self.memory.add(address, self.sizes[address])
        assert size <= self.sizes[address] and address not in self.taken
        self.taken.append(address)

    def free(self, number: int) -> None:
        if self.taken:
            self.given_back += self.memory.keep(self.taken.pop(number % len(self.taken)))

    def do(self, step: int) -> None:
        """Take memory of one of five sizes, or give one back."""
        sizes = (4096, 2 * LARGEST, 2 * LARGEST, 2 * LARGEST + 1, 3 * LARGEST)
        self.allocate(sizes[step]) if step < len(sizes) else self.free(step)


STEPS = st.lists(st.integers(0, 11), max_size=14)


@settings(max_examples=15, deadline=None)
@given(before=STEPS, step=st.integers(0, 11), meanwhile=STEPS, then=STEPS)
@example(before=[1, 5, 1, 4, 4, 7], step=5, meanwhile=[5, 0, 0], then=[5, 5, 1, 1, 1])  # a home is given away meanwhile
def test_nobody_is_given_what_is_too_small_or_somebody_elses(
    before: list[int], step: int, meanwhile: list[int], then: list[int]
) -> None:
    """Whatever others do between any two instructions, though addresses come again with other sizes."""
    after = ran = 0
    while ran >= after:
        book, after = Book(), after + 1
        for one in before:
            book.do(one)
        ran = met(partial(book.do, step), lambda book=book: [book.do(one) for one in meanwhile], after)  # type: ignore[misc]
        for one in then:
            book.do(one)
        while book.taken:
            book.free(0)
        kept = [*emptied(book.memory.drop)]
        assert sorted([*kept, *book.given_back]) == [*range(1, next(book.fresh))]


# -- events ------------------------------------------------------------------------------------------------------------


def test_each_launch_that_is_waited_for_has_one_event_and_all_are_given_back(fake: FakeDriver) -> None:
    """Two results of one launch, which others do not wait for."""
    largest = ng.numpy.max(x, axis=1)
    total = ng.numpy.sum(ng.exp(x - ng.numpy.max(x, axis=1, keepdims=True)), axis=1)
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation([largest, total, several(y, 5)], x, y)
        computation(X, X)
        found = fake.counts()
        assert found["cuEventCreate"] == found["cuGraphAddEventRecordNode"] == 2
        assert found["cuMemcpyDtoHAsync"] == 3
    del computation, transformer
    gc.collect()
    calls, found = fake.calls[:], fake.counts()
    assert found["cuEventDestroy"] == 2 and found["cuStreamDestroy"] == found["cuGraphExecDestroy"] == 1
    assert calls.index("cuStreamSynchronize") < calls.index("cuEventDestroy")  # the graph may still run


def test_events_of_a_graph_that_cannot_be_waited_for_stay(fake: FakeDriver) -> None:
    """While another library captures a stream that blocks, to wait for the default one would end that."""
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation([ng.numpy.max(x, axis=1), several(y, 5)], x, y)
        computation(X, X)
        fake.counts()
        fake.failing, fake.error = {"cuStreamIsCapturing"}, cu.CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        del computation
    del transformer
    gc.collect()
    found = fake.counts()
    assert not found["cuStreamSynchronize"] and not found["cuEventDestroy"] and found["cuGraphExecDestroy"] == 1


# -- what failed half-way ----------------------------------------------------------------------------------------------


def graph_of_library(run: Callable[..., None]) -> RecordedGraph:
    """A graph of one launch, by a library."""
    launches = [Launched(partial(lambda given: SimpleNamespace(run=run)), 1, 1, False, [7])]
    return RecordedGraph(Context(0), launches, [()], (), nothing)


def nothing(*_: object) -> None:
    """A library that launches nothing."""


@pytest.mark.parametrize(
    ("failing", "graphs", "streams"),
    [
        ("cuGraphInstantiate", 2, 1),
        ("cuGraphAddChildGraphNode", 2, 1),
        ("cuStreamBeginCapture", 1, 1),
        ("cuStreamEndCapture", 1, 1),
        ("cuStreamCreate", 1, 0),
        ("cuGraphCreate", 0, 0),
    ],
)
def test_what_a_graph_had_of_the_driver_is_given_back_if_it_cannot_be_made(
    fake: FakeDriver, failing: str, graphs: int, streams: int
) -> None:
    fake.failing.add(failing)
    fake.counts()
    with pytest.raises(ng.DeviceError):
        graph_of_library(nothing)
    found = fake.counts()
    assert (found["cuGraphDestroy"], found["cuStreamDestroy"]) == (graphs, streams)


@pytest.mark.parametrize(("failing", "graphs"), [((), 2), (("cuStreamEndCapture",), 1)])
def test_the_error_of_a_library_is_the_one_that_is_told(fake: FakeDriver, failing: Iterable[str], graphs: int) -> None:
    def fails(*_: object) -> None:
        raise ng.DeviceError("the library says no")

    fake.failing.update(failing)
    fake.counts()
    with pytest.raises(ng.DeviceError, match="the library says no"):
        graph_of_library(fails)
    found = fake.counts()
    assert (found["cuGraphDestroy"], found["cuStreamDestroy"]) == (graphs, 1)


def test_a_graph_that_cannot_be_changed_is_still_there(fake: FakeDriver) -> None:
    graph = graph_of_library(nothing)
    fake.failing.update(["cuGraphExecChildGraphNodeSetParams", "cuGraphInstantiate"])
    fake.counts()
    with pytest.raises(ng.DeviceError):
        graph.change([(0, 0, 8)])
    assert not fake.counts()["cuGraphExecDestroy"]
    graph.run()
    fake.failing.discard("cuGraphInstantiate")
    graph.change([(0, 0, 9)])
    assert fake.counts()["cuGraphExecDestroy"] == 1
    graph.run()
    graph.close()
    assert fake.counts()["cuGraphExecDestroy"] == 1
