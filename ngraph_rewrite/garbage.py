# SPDX-License-Identifier: Apache-2.0
"""Where the garbage collector need not look, because no cycles are made there, and where it has to, because many are.

What lives long joins the old objects without a search; unless the program has frozen objects, which nobody else may
thaw. The garbage collector does not count what comes to them in this way, so it is counted here when to search them.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNGEST = 0
# Frozen objects are counted one by one. So it is asked again whether there are any only after some seconds, and after
# so many times what counting them took, but at most a minute.
_FROZEN, _RARELY, _LONGEST = 10.0, 1000, 60.0
_GROWTH = 1.1  # of the blocks of memory there are, from one search of the old objects to the next
_PAUSE = 1e-5  # seconds between two looks, for each block: searches take about a fortieth of the time


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Lowering builds many terms and no cycles: looking for some would double the time.

    What it has built lives as long as its computation, and so is old at once.

    >>> with no_garbage_collection():
    ...     gc.isenabled()
    False
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            _age()
            gc.enable()
            _search_old()


@contextmanager
def garbage_collected() -> Iterator[None]:
    """What is made inside, and is garbage at the end, goes there, cycles too. What was there before is not looked at.

    >>> import weakref
    >>> class Cycle:
    ...     def __init__(self):
    ...         self.itself = self
    >>> with garbage_collected():
    ...     seen = weakref.ref(Cycle())
    >>> seen() is None
    True
    """
    was = gc.isenabled()
    gc.disable()
    _age()
    try:
        yield
    finally:
        gc.collect(_YOUNGEST)
        if was:
            gc.enable()


class _Frozen:
    """Until when objects are taken to be frozen, as they were found to be."""

    until = 0.0


def _age() -> None:
    """Make all objects old."""
    now = time.monotonic()
    if now < _Frozen.until:
        return
    if gc.get_freeze_count():
        _Frozen.until = now + min(max(_FROZEN, _RARELY * (time.monotonic() - now)), _LONGEST)
    else:
        gc.freeze()
        gc.unfreeze()


class _Look:
    """When old objects were last looked at, and the blocks of memory that there were."""

    at, blocks = 0.0, 0


def _search_old() -> None:
    """Find garbage among old objects, such as a cycle with a computation, if there is much more than there was."""
    now = time.monotonic()
    if now - _Look.at < _PAUSE * _Look.blocks:
        return
    blocks, before = sys.getallocatedblocks(), _Look.blocks
    _Look.at, _Look.blocks = now, min(blocks, before or blocks)
    if blocks > _GROWTH * before > 0:
        gc.collect()
        _Look.blocks = sys.getallocatedblocks()
