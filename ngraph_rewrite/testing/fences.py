# SPDX-License-Identifier: Apache-2.0
"""Arrays at the edge of memory that nobody may touch, or within margins that tell what was stored there.

An operand ends, or begins, where a page begins that can be neither read nor written: who goes beyond ends the process.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.aligned import address_of

Bytes = NDArray[np.uint8]
PAGE = mmap.PAGESIZE
_PATTERN = 0xA5  # of each byte beside an array, until something is stored there
_NOTHING, _READ = 0, 1


def _found_protect() -> Callable[[int, int, int], int] | None:
    """The system's function that says what may be done with pages; None where there is none."""
    try:
        found: Any = ctypes.CDLL(None).mprotect
    except (AttributeError, OSError, TypeError):  # not a Unix
        return None
    found.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    protect: Callable[[int, int, int], int] = found
    return protect


_protect = _found_protect()


def _allow(address: int, count: int, what: int) -> None:
    if _protect is not None and count:
        _protect(address, count, what)


def _between_fences(count: int) -> Bytes:
    """Pages of which nobody may touch the first and the last; between them are at least so many bytes."""
    pages = -(-count // PAGE) * PAGE
    whole = np.frombuffer(mmap.mmap(-1, pages + 2 * PAGE), np.uint8)
    for fence in (address_of(whole), address_of(whole) + PAGE + pages):
        _allow(fence, PAGE, _NOTHING)
    return whole


def _copied(array: NDArray[Any], memory: Bytes, start: int) -> NDArray[Any]:
    copy: NDArray[Any] = np.ndarray(
        array.shape, array.dtype, memory, start
    )  # a slice forgets where it is if it is empty
    copy[...] = array
    return copy


def fenced(array: NDArray[Any], ends: bool) -> NDArray[Any]:
    """A copy that can only be read, and that ends, or else begins, at a fence."""
    memory = _between_fences(array.nbytes)
    copy = _copied(array, memory, len(memory) - PAGE - array.nbytes if ends else PAGE)
    _allow(address_of(memory) + PAGE, len(memory) - 2 * PAGE, _READ)
    return copy


class Margins:
    """A copy of an array that can be written, between bytes of a pattern and then fences.

    >>> margins = Margins(np.zeros(3, "float32"))
    >>> margins.stray() is None
    True
    >>> margins.after[3] = 1
    >>> margins.stray()
    'up to 4 bytes beyond its end'
    """

    def __init__(self, array: NDArray[Any]) -> None:
        memory, end = _between_fences(2 * PAGE + array.nbytes), 2 * PAGE + array.nbytes
        self.before, self.after = memory[PAGE : 2 * PAGE], memory[end:-PAGE]
        self.before[...] = self.after[...] = _PATTERN
        self.array = _copied(array, memory, 2 * PAGE)

    def stray(self) -> str | None:
        """Where something was stored outside of the array; None if nothing was."""
        for margin, where in ((self.after, "beyond its end"), (self.before[::-1], "before its beginning")):
            touched = np.flatnonzero(margin != _PATTERN)
            if len(touched):
                return f"up to {touched[-1] + 1} bytes {where}"
        return None
