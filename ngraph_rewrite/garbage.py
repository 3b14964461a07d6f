# SPDX-License-Identifier: Apache-2.0
"""Where the garbage collector need not look, because no cycles are made there, and where it has to, because many are.

What lives long joins the old objects without a search; unless the program has frozen objects, which nobody else may
thaw.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNGEST = 0


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


def _age() -> None:
    """Make all objects old."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
