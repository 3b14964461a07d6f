# SPDX-License-Identifier: Apache-2.0
"""Locks that a fork waits for, so that the forked process finds what they guard whole, and none of them taken.

Threads other than the one that forks are not there afterwards: what one of them held would stay taken for ever, and
what it was writing would stay half written.
"""

from __future__ import annotations

import logging  # noqa: F401  (its lock, which importing Numba takes, is taken by forks: it has to be after ours)
import os
import threading
from contextlib import AbstractContextManager
from itertools import count
from operator import itemgetter
from weakref import WeakValueDictionary

Lock = AbstractContextManager[object]

# Whoever holds a lock takes others of later kinds only, or younger ones of the same kind; so does a fork.
COMPUTING, COMPILING, STARTING, LOADING = range(4)


class _Fork(threading.local):
    """The locks that a thread holds while it forks."""

    def __init__(self) -> None:
        self.held: list[Lock] = []


def fork_lock(kind: int) -> Lock:
    """A lock that may be taken again by the thread that has it, and that a fork waits for.

    Args:
        kind: What it guards: one of the kinds above.

    >>> lock = fork_lock(COMPUTING)
    >>> with lock, lock:
    ...     pass
    """
    lock = threading.RLock()
    _locks[kind, next(_ages)] = lock
    return lock


_locks: WeakValueDictionary[tuple[int, int], Lock] = WeakValueDictionary()
_ages, _fork = count(), _Fork()


def _hold() -> None:
    """Take all locks; those that are made meanwhile too, which have their place among the others."""
    taken = list[Lock]()
    while (there := _present()) != taken:
        _let_go()
        for lock in there:
            lock.__enter__()
            _fork.held.append(lock)
        taken = there


def _present() -> list[Lock]:
    """The locks in the order in which they are taken, while other threads make some."""
    found = [(seen.key, lock) for seen in _locks.valuerefs() if (lock := seen()) is not None]
    return [lock for _, lock in sorted(found, key=itemgetter(0))]


def _let_go() -> None:
    while _fork.held:
        _fork.held.pop().__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_let_go, after_in_child=_let_go)
