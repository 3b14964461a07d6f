# SPDX-License-Identifier: Apache-2.0
"""Division and places of chunks on a simulated device, in Python's integers."""

__all__ = ["chunk_start", "lesser", "quotient", "remainder"]


def quotient(i: int, n: int) -> int:
    """The quotient of two integers that are not negative."""
    return i // n


def remainder(i: int, n: int) -> int:
    """What dividing leaves of two integers that are not negative."""
    return i % n


def chunk_start(length: int, chunk: int, nchunks: int) -> int:
    """Where a chunk begins."""
    return int(length) * int(chunk) // int(nchunks)


def lesser(x: int, y: int) -> int:
    """The smaller one of two integers."""
    return min(x, y)
