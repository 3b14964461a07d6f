# SPDX-License-Identifier: Apache-2.0
"""A pool runs every chunk of a launch once, before the launch returns, whoever comes to help and whenever."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.runtime.claiming_code import BRIEF
from ngraph_rewrite.runtime.engine import load_functions
from ngraph_rewrite.runtime.pool import Pool, usable_threads
from ngraph_rewrite.runtime.waiting_code import waits_by_futex

# Kernels whose arguments are counters: one adds to that of its chunk, one first sleeps in every chunk but the first,
# and one writes which thread runs it, and behind all that the number it was told; one takes longer in a worker, and one
# writes down which chunks run, in their order. And what a worker does, and the caller does not, between reading a
# launch and claiming a chunk of it.
_KERNELS = """
declare i32 @usleep(i32)

define void @test_pool_visit(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %counters = inttoptr i64 %args to ptr
  %counter = getelementptr i64, ptr %counters, i64 %chunk
  %before = load i64, ptr %counter
  %after = add i64 %before, %nchunks
  store i64 %after, ptr %counter
  ret void
}

define void @test_pool_nap(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %first = icmp eq i64 %chunk, 0
  br i1 %first, label %visit, label %sleep
sleep:
  %slept = call i32 @usleep(i32 2000)
  br label %visit
visit:
  call void @test_pool_visit(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread)
  ret void
}

declare i64 @pthread_self()

define void @test_pool_sign(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %signatures = inttoptr i64 %args to ptr
  %signature = getelementptr i64, ptr %signatures, i64 %chunk
  %self = call i64 @pthread_self()
  store i64 %self, ptr %signature
  %behind = add i64 %chunk, %nchunks
  %number = getelementptr i64, ptr %signatures, i64 %behind
  store i64 %thread, ptr %number
  ret void
}

define void @test_pool_sign_late(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  call void @test_pool_sign(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread)
  %slept = call i32 @usleep(i32 2000)
  ret void
}

define void @test_pool_limp(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %numbers = inttoptr i64 %args to ptr
  %number = getelementptr i64, ptr %numbers, i64 %chunk
  store i64 %thread, ptr %number
  %time = mul i64 %thread, 4000
  %some = add i64 %time, 500
  %microseconds = trunc i64 %some to i32
  %slept = call i32 @usleep(i32 %microseconds)
  ret void
}

define void @test_pool_queue(i64 %args, i64 %chunk, i64 %nchunks, i64 %thread) {
  %counter = inttoptr i64 %args to ptr
  %before = atomicrmw add ptr %counter, i64 1 seq_cst
  %behind = add i64 %before, 1
  %place = getelementptr i64, ptr %counter, i64 %behind
  store i64 %chunk, ptr %place
  ret void
}

define void @test_pool_hesitate(i64 %index) {
  %helps = icmp sge i64 %index, 0
  br i1 %helps, label %sleep, label %end
sleep:
  %slept = call i32 @usleep(i32 50)
  br label %end
end:
  ret void
}
"""
LONG = BRIEF + 1
WEIGHTS = [0, BRIEF, LONG]
WAYS = [True, False] if waits_by_futex() else [False]  # by futex, by lock


@cache
def kernels() -> list[int]:
    return load_functions(
        _KERNELS, [f"test_pool_{name}" for name in ("visit", "nap", "hesitate", "sign_late", "sign", "queue", "limp")]
    )


@pytest.fixture(scope="module", params=WAYS)
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    """A pool that waits by futex, if the system has it, and one that waits by locks, as on any system."""
    made = Pool(futex=request.param)
    made.grow(3)
    yield made
    made.stop()


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """What the environment says of threads is asked in the test, and forgotten after it."""
    usable_threads.cache_clear()
    yield
    usable_threads.cache_clear()


def visits(pool: Pool, kernel: int, chunks: int, workers: int, weight: int = LONG) -> np.ndarray:
    counters = np.zeros(chunks, np.int64)
    pool.share(kernel, counters.ctypes.data, chunks, workers, weight)
    return counters


def signed(pool: Pool, chunks: int, workers: int, slow: bool = True) -> tuple[list[int], list[int]]:
    """Which thread ran each chunk, and the number that the kernel was told."""
    signatures = np.full(2 * chunks, -1, np.int64)
    pool.share(kernels()[3 if slow else 4], signatures.ctypes.data, chunks, workers, LONG)
    threads, numbers = signatures.reshape(2, chunks).tolist()
    return threads, numbers


@given(launches=st.lists(st.tuples(st.integers(0, 70), st.integers(0, 5), st.sampled_from(WEIGHTS)), max_size=50))
@settings(deadline=None, max_examples=30)
def test_each_chunk_runs_once(pool: Pool, launches: list[tuple[int, int, int]]) -> None:
    for chunks, workers, weight in launches:
        assert np.array_equal(visits(pool, kernels()[0], chunks, workers, weight), [chunks] * chunks)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("chunks", [4094, 4095, 4096, 70_000])
def test_as_many_chunks_as_a_ticket_holds_are_shared_and_more_run_alone(pool: Pool, chunks: int, weight: int) -> None:
    assert np.all(visits(pool, kernels()[0], chunks, 3, weight) == chunks)


def test_a_launch_waits_for_the_chunks_that_workers_have_begun(pool: Pool) -> None:
    """The caller takes the first chunk and is soon done; it sleeps until the last one is."""
    for _ in range(20):
        assert np.array_equal(visits(pool, kernels()[1], 4, 3), [4] * 4)


def test_workers_help(pool: Pool) -> None:
    before = sum(pool.done)
    for _ in range(5):
        visits(pool, kernels()[1], 16, 3)  # in chunks that sleep, so that they come in time however busy the machine is
    assert sum(pool.done) > before


def test_a_caller_and_a_worker_begin_at_different_ends_or_both_in_the_middle(pool: Pool) -> None:
    """By turns: so each finds in its caches what it left there last, if arrays are split alike again."""
    ends, caller = set(), threading.get_ident()
    for _ in range(10):
        signatures, _numbers = signed(pool, 16, 1)
        inwards = [*signatures]
        outwards = signatures[7::-1] + signatures[:7:-1]
        count = signatures.count(caller)
        split = [caller] * count + [pool.threads[0].ident] * (16 - count)
        assert split in (inwards, outwards)
        ends.add((signatures[0], signatures[7], signatures[8], signatures[15]))
    worker = pool.threads[0].ident
    assert any(worker in end for end in ends)  # the worker came in time at least once


@pytest.mark.parametrize("weight, most", [(BRIEF, 16), (LONG, 8)])
def test_a_slow_worker_does_its_equal_part_of_what_is_brief_and_less_of_what_is_long(
    pool: Pool, weight: int, most: int
) -> None:
    """At once what is in its caches; or a quarter of all, if it comes first, and no more before the caller is done."""
    shares = []
    for _ in range(5):
        numbers = np.full(32, -1, np.int64)
        pool.share(kernels()[6], numbers.ctypes.data, 32, 1, weight)
        shares.append(np.count_nonzero(numbers == 1))
        assert np.count_nonzero(numbers == 0) == 32 - shares[-1]
    came = [share for share in shares if share]  # at least once in time; others may have kept the caller from its part
    assert 0 < statistics.median(came) <= most
    assert weight == LONG or 16 in shares


@pytest.mark.parametrize("chunks", [3, 7, 16])
def test_every_second_launch_goes_from_the_middle_to_the_ends(pool: Pool, chunks: int) -> None:
    """First to one end, and what is left by a thread that does not come from the other end to the middle."""
    half, found = chunks // 2, []
    for _ in range(4):
        queue = np.zeros(chunks + 1, np.int64)
        pool.share(kernels()[5], queue.ctypes.data, chunks, 0)
        found.append(queue[1:].tolist())
    inwards, outwards = list(range(chunks)), [*reversed(range(half)), *reversed(range(half, chunks))]
    assert found in ([inwards, outwards] * 2, [outwards, inwards] * 2)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_a_kernel_is_told_who_runs_it(pool: Pool, workers: int) -> None:
    """The caller is 0, the first worker 1: numbers of workspaces, of which each thread has one."""
    who = {threading.get_ident(): 0, **{thread.ident: i for i, thread in enumerate(pool.threads[:workers], 1)}}
    for _ in range(5):
        signatures, numbers = signed(pool, 16, workers)
        assert numbers == [who[signature] for signature in signatures]


def test_who_runs_a_chunk_has_a_number_below_that_of_chunks(pool: Pool) -> None:
    """Also workers that are still awake, whom nobody called: there are no more workspaces than chunks."""
    for _ in range(200):
        visits(pool, kernels()[0], 16, 3)
        assert max(signed(pool, 2, 3, slow=False)[1]) < 2


def test_a_launch_that_is_not_shared_is_run_by_the_caller(pool: Pool) -> None:
    assert signed(pool, 5000, 3, slow=False)[1] == [0] * 5000


def test_no_more_workers_help_than_are_allowed(pool: Pool) -> None:
    before = pool.done
    for _ in range(5):
        visits(pool, kernels()[1], 8, 1)
    assert pool.done[1:] == before[1:]


@pytest.mark.skipif(not waits_by_futex(), reason="this system does not say on which processor a thread may run")
@pytest.mark.parametrize("alone", [False, True])
def test_a_worker_is_woken_beside_its_caller_not_behind_it(alone: bool) -> None:
    """Sent to another processor, if the caller may use any, it then may run wherever its caller may."""
    pool, allowed = Pool(spins=0), os.sched_getaffinity(0)
    pool.grow(1)
    may = {min(allowed)} if alone else allowed
    os.sched_setaffinity(0, may)
    try:
        for _ in range(5):
            visits(pool, kernels()[1], 4, 1)  # it sleeps between two launches
            time.sleep(0.005)
        before, end = pool.done[0], time.monotonic() + 60
        while pool.done[0] == before:  # the last time it was woken it runs, and takes its restriction back
            assert time.monotonic() < end, "the worker does not come"
            visits(pool, kernels()[1], 4, 1)
        found = os.sched_getaffinity(pool.threads[0].native_id or 0)
        assert os.sched_getaffinity(0) == may
    finally:
        os.sched_setaffinity(0, allowed)
        pool.stop()
    assert found == allowed


def launched_from_three_threads(pool: Pool, launches: int) -> list[np.ndarray]:
    """The counters of launches that did not run each of their chunks once, as the launch returned or after all."""
    wrong: list[np.ndarray] = []

    def launch(seed: int) -> None:
        counts = np.random.default_rng(seed).integers(2, 9, launches).tolist()
        arrays = [np.zeros(12, np.int64) for _ in counts]
        for n, counters in zip(counts, arrays, strict=True):
            pool.share(kernels()[0], counters.ctypes.data, n, 2, WEIGHTS[n % 3])
            if counters.sum() != n * n:
                wrong.append(counters)
        wrong.extend(a for n, a in zip(counts, arrays, strict=True) if a.tolist() != [n] * n + [0] * (12 - n))

    threads = [threading.Thread(target=launch, args=(seed,), daemon=True) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)  # a chunk run twice makes a launch wait for ever
    pool.stop()
    return wrong


@pytest.mark.parametrize("spins", [0, 10, 1000])
@pytest.mark.parametrize("futex", WAYS)
def test_thousands_of_short_launches(futex: bool, spins: int) -> None:
    pool = Pool(futex=futex, spins=spins)
    pool.grow(2)
    assert not launched_from_three_threads(pool, 2500)


@pytest.mark.parametrize("futex", WAYS)
def test_a_late_worker_never_takes_a_chunk_of_another_launch(futex: bool) -> None:
    """Many launches go by while it hesitates, some with as many chunks left as there were in the one it has read."""
    pool = Pool(futex, hesitation=f"call void inttoptr (i64 {kernels()[2]} to ptr)(i64 %index)")
    pool.grow(2)
    assert not launched_from_three_threads(pool, 10_000)


def test_a_pool_grows_and_stops() -> None:
    pool = Pool()
    assert np.all(visits(pool, kernels()[0], 5, 3) == 5)  # nobody there yet
    pool.grow(1)
    pool.grow(2)
    pool.grow(1)
    assert pool.workers == 2
    named = [t for t in threading.enumerate() if t.name.startswith("ngraph_rewrite")]
    assert all(t.daemon for t in named)
    pool.stop()
    assert not any(t.is_alive() for t in pool.threads)
    pool.grow(4)
    assert pool.workers == 2  # it has stopped
    assert np.all(visits(pool, kernels()[0], 5, 3) == 5)


# -- processes ---------------------------------------------------------------------------------------------------------


def ran(program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, and what it printed."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


COMPUTATION = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, as in the background
import numpy as np
import ngraph_rewrite as ng
from ngraph_rewrite.runtime.pool import process_pool

H = ng.Axis("H", 200_000)
x, v = ng.placeholder([H]), ng.variable([H], initial_value=0.0)
transformer = ng.make_transformer("cpu", threads=3)
counted = transformer.computation(ng.sequential([ng.assign(v, v + x), ng.sum(v, out_axes=[])]), x)
ones = np.ones(200_000, np.float32)
assert counted(ones) == 200_000
assert counted.stats()["chunks"][0] > 1 and process_pool().workers == 2
"""


def test_a_process_ends_with_its_workers_asleep_or_at_work() -> None:
    asleep = ran(COMPUTATION)
    assert (asleep.returncode, asleep.stderr) == (0, "")
    again = "threading.Thread(target=lambda: [counted(ones) for _ in range(10**9)], daemon=True).start()"
    at_work = ran(COMPUTATION + again)
    assert (at_work.returncode, at_work.stderr) == (0, "")


def test_a_forked_process_has_workers_of_its_own() -> None:
    """While two other threads compute: the child finds a whole state, and no lock of theirs taken."""
    program = (
        COMPUTATION
        + """
going = True

def go_on():
    while going:
        counted(ones)

threads = [threading.Thread(target=go_on) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        state = transformer.get(v)
        assert np.all(state == state[0]) and process_pool().workers == 0
        assert counted(ones) == 200_000 * (state[0] + 1) and process_pool().workers == 2
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
going = False
for thread in threads:
    thread.join()
print("done")
"""
    )
    found = ran(program)
    assert (found.stdout, found.stderr) == ("done\n", "")


def test_an_interrupt_ends_a_computation_of_hours() -> None:
    """A scan of 1e13 steps gets a signal from outside, twice; then the same transformer computes something else."""
    program = (
        COMPUTATION
        + """
long = ng.scan(lambda s, _: (s + 1, None), ng.sum(v, out_axes=[]), axis=ng.Axis("REC", 10**13))[0]
endless = transformer.computation(ng.sequential([ng.assign(v, v + 1), long]))
memory, = transformer._state.storage.values()

def interrupt(before):
    while memory[0] == before:  # until it has begun
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

for times in range(2):
    threading.Thread(target=interrupt, args=(memory[0],)).start()
    try:
        endless()
    except KeyboardInterrupt:
        print("interrupted")
assert np.all(transformer.get(v) == 3)  # what had run has run
assert counted(ones) == 4 * 200_000
"""
    )
    found = ran(program)
    assert (found.stdout, found.stderr) == ("interrupted\n" * 2, "")


def test_one_thread_starts_none() -> None:
    program = (
        COMPUTATION.partition("assert")[0].replace("threads=3", "threads=1")
        + """
assert counted(ones) == 200_000 and counted.stats()["chunks"][0] > 1
print(threading.active_count(), process_pool().workers, counted.stats()["threads"])
"""
    )
    assert ran(program).stdout == "1 0 1\n"


@pytest.mark.parametrize("told, expected", [("3", "3"), ("1", "1")])
def test_the_variable_of_numba_says_how_many_threads(told: str, expected: str) -> None:
    program = "import ngraph_rewrite as ng; print(ng.make_transformer('cpu').threads)"
    assert ran(program, NUMBA_NUM_THREADS=told).stdout.strip() == expected


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize("told", ["0", "x", "", "-1", "5000"])
def test_a_wrong_number_of_threads_is_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_NUM_THREADS", told)
    with pytest.raises(ArgumentError, match="NUMBA_NUM_THREADS"):
        usable_threads()


@pytest.mark.usefixtures("asked_anew")
def test_by_default_there_is_a_thread_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    assert 1 <= usable_threads() <= (os.cpu_count() or 1)
