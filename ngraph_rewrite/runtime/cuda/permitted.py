# SPDX-License-Identifier: Apache-2.0
"""Which memory of this process kernels may use that run without a GPU: what is not permitted is an error there."""

import sys
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_ranges: list[tuple[int, int]] = []  # of addresses, in order: memory is the process's, whoever allowed it


@contextmanager
def allow(begin: int, size: int) -> Iterator[None]:
    """Within the context kernels may use ``size`` bytes from an address on.

    >>> with allow(4096, 8):
    ...     is_permitted(4096, 4104), is_permitted(4100, 4108)
    (True, False)
    """
    permit(begin, size)
    try:
        yield
    finally:
        forbid(begin, size)


def permit(begin: int, size: int) -> None:
    """Let kernels use ``size`` bytes from an address on, until `forbid` says the same."""
    insort(_ranges, (int(begin), int(begin) + int(size)))


def forbid(begin: int, size: int) -> None:
    """Take back what `permit` gave."""
    _ranges.remove((int(begin), int(begin) + int(size)))


def is_permitted(begin: int, end: int) -> bool:
    """Whether kernels may use what is from an address to another."""
    after = bisect_right(_ranges, (begin, sys.maxsize))
    return any(last >= end for _, last in _ranges[:after])


def permitted() -> Sequence[tuple[int, int]]:
    """What kernels may use, from an address to another, in order."""
    return tuple(_ranges)
