# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for launches, in machine code and for ever: one pool for the process, grown when it is needed.

The thread that launches does the work; workers help where they come in time (`ngraph_rewrite.runtime.claiming_code`). A
forked process has no workers, so it begins with a pool of its own when it needs one.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import cache

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.runtime.aligned import aligned_array
from ngraph_rewrite.runtime.claiming_code import (
    CALLER_LOCK,
    DONE,
    GONE,
    LOCK,
    POOL_WORDS,
    SHARE,
    SLOT_WORDS,
    SLOTS,
    SPINS,
    WORKERS,
)
from ngraph_rewrite.runtime.forking import STARTING, fork_lock
from ngraph_rewrite.runtime.pool_code import PoolCode, pool_code
from ngraph_rewrite.runtime.waiting_code import taken_lock, waits_by_futex

MOST_THREADS = 1024
_SPINS = 2500  # looks of a thread before it sleeps: about 100 us on recent processors
_PATIENCE = 1.0  # seconds that the end of the process waits for workers that are in a kernel
# What tells of a fault in the thread that gets it is left to it.
_FAULTS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP"}


class Pool:
    """Workers and the memory in which launches are told to them.

    Args:
        futex: Whether threads sleep by futex, or by Python's locks; as the system has it, by default.
        spins: How often a thread looks before it sleeps.
        hesitation: For tests: LLVM IR that makes a thread late (`ngraph_rewrite.runtime.claiming_code`).
        cache: Where its machine code is kept.

    Attributes:
        address: Where its memory begins, which a launch is given.
        gone: The address of a word that is not 0 in a process that has forked since: its workers are not there.

    >>> pool = Pool()
    >>> pool.grow(2)
    >>> pool.workers
    2
    >>> pool.stop()
    """

    def __init__(
        self, futex: bool | None = None, spins: int = _SPINS, hesitation: str = "", cache: Cache | None = None
    ) -> None:
        self._code: PoolCode = pool_code(waits_by_futex() if futex is None else futex, hesitation, cache)
        self._memory = aligned_array((POOL_WORDS,), np.int64)
        self._slots = aligned_array((MOST_THREADS, SLOT_WORDS), np.int64)
        _keep_for_ever(self._memory, self._slots)  # a worker may outlive all of Python's objects
        self._memory[:] = 0
        self._memory[SHARE], self._memory[SPINS] = self._code.share, spins
        self._memory[SLOTS], self._memory[CALLER_LOCK] = self._slots.ctypes.data, taken_lock()
        self.address = int(self._memory.ctypes.data)
        self.gone = self.address + 8 * GONE
        self.threads: list[threading.Thread] = []
        self._stopped = False
        self._lock = threading.Lock()

    @property
    def workers(self) -> int:
        """The number of workers."""
        return len(self.threads)

    @property
    def done(self) -> list[int]:
        """How many chunks each worker has run."""
        return [int(n) for n in self._slots[: self.workers, DONE]]

    def grow(self, workers: int) -> None:
        """Start workers until there are so many; fewer if the system gives no more threads, or after `stop`."""
        with self._lock:
            while self.workers < min(workers, MOST_THREADS - 1) and not self._stopped:
                if not self._start():
                    break

    def _start(self) -> bool:
        index = self.workers
        self._slots[index], self._slots[index, LOCK] = 0, taken_lock()
        serve = _function(self._code.serve, 2)
        thread = threading.Thread(
            target=_served, args=(serve, self.address, index), name=f"ngraph_rewrite {index + 1}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # too many, or Python is about to end
            return False
        self.threads.append(thread)
        self._memory[WORKERS] = self.workers
        return True

    def share(self, kernel: int, arguments: int, chunks: int, workers: int, weight: int = 0) -> None:
        """Run one launch, with at most so many workers, that takes about so many nanoseconds of one thread."""
        _function(self._code.share, 6)(self.address, kernel, arguments, chunks, workers, weight)

    def forget(self) -> None:
        """In a forked process: say that its workers are not there."""
        self._memory[GONE] = 1

    def stop(self) -> None:
        """End all workers, and wait a little for those that are in a kernel. What is launched later runs alone."""
        with self._lock:
            self._stopped = True
        _function(self._code.stop, 1)(self.address)
        end = time.monotonic() + _PATIENCE
        for thread in self.threads:
            thread.join(max(0.0, end - time.monotonic()))


def _served(serve: Callable[[int, int], None], pool: int, index: int) -> None:
    """The life of a worker: signals are for the threads that run Python."""
    if hasattr(signal, "pthread_sigmask"):
        blocked = [s for s in signal.valid_signals() if getattr(s, "name", "") not in _FAULTS]
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    serve(pool, index)


@cache
def _function(address: int, arguments: int) -> Callable[..., None]:
    """A function of integers; ctypes releases the interpreter lock around it."""
    function: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * arguments)(address)
    return function


def _keep_for_ever(*things: object) -> None:
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


# -- the process's pool ----------------------------------------------------------------------------------------------


_making = fork_lock(STARTING)


def process_pool(cache: Cache | None = None) -> Pool:
    """The pool of this process, made when it is first asked for; it has no workers until it grows.

    Args:
        cache: Where its machine code is kept, if it is made now.
    """
    with _making:
        if not _made:
            _made.append(Pool(cache=cache))
        return _made[0]


_made: list[Pool] = []


def _stop_at_exit() -> None:
    for pool in _made:
        pool.stop()


def _begin_anew() -> None:
    while _made:
        _made.pop().forget()


atexit.register(_stop_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


@cache
def usable_threads() -> int:
    """How many threads to use where nobody says: ``NUMBA_NUM_THREADS``, or else the cores this process may run on.

    Raises:
        ArgumentError: if the variable is set to anything but a number from 1 to 1024.
    """
    told = os.environ.get("NUMBA_NUM_THREADS")
    if told is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(cores, MOST_THREADS)
    if not told.isdecimal() or not 1 <= int(told) <= MOST_THREADS:
        raise ArgumentError(f"NUMBA_NUM_THREADS is {told!r}", do=f"set it to a number from 1 to {MOST_THREADS}")
    return int(told)
