# SPDX-License-Identifier: Apache-2.0
"""Lengths of Fourier transforms: which have small prime factors only, and how these are split in two and in steps."""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import NamedTuple

_SHORTEST, _LONGEST = 16, 1 << 17  # shorter ones are one product with a matrix; longer ones leave the caches
_PRIMES = (3, 5, 7, 11, 13, 2)
_LINE = 16  # numbers that are computed at once, at most
_ASKEW = 8  # of two factors that are whole vectors one may be so many times the other
_FEW, _SOME = 700, 2048  # four lines of less are transformed at once, or two of less


class Split(NamedTuple):
    """A length as a product of two, and how many lines of it are transformed at once, so that vectors are full."""

    first: int
    second: int
    together: int


def smooth_part(n: int) -> int:
    """The largest divisor of a length that has no prime factor above 13.

    >>> smooth_part(1700), smooth_part(101)
    (100, 1)
    """
    rest = n
    for prime in _PRIMES:
        while rest % prime == 0:
            rest //= prime
    return n // rest


def is_smooth(n: int) -> bool:
    """Whether a length has no prime factor above 13.

    >>> [n for n in range(30, 40) if is_smooth(n)]
    [30, 32, 33, 35, 36, 39]
    """
    return smooth_part(n) == n


def next_smooth(least: int) -> int:
    """The smallest length from `least` on that has no prime factor above 13.

    >>> next_smooth(17), next_smooth(2041)
    (18, 2048)
    """
    while not is_smooth(least):
        least += 1
    return least


def suits(n: int) -> bool:
    """Whether lines of n numbers are transformed by steps of 2 to 13 elements, in the caches.

    >>> [n for n in (15, 16, 17, 66, 1009, 1024, 1 << 18) if suits(n)]
    [16, 66, 1024]
    """
    return _SHORTEST <= n <= _LONGEST and is_smooth(n)


@cache
def steps_of(n: int) -> tuple[int, ...]:
    """How many elements each step of a smooth length has, which are its factors.

    >>> steps_of(16), steps_of(32), steps_of(60), steps_of(1)
    ((4, 4), (8, 4), (3, 5, 4), ())
    """
    found = []
    while n > 1:
        halves = (8 if n % 8 == 0 and n != 16 else 4 if n % 4 == 0 else 2) if n % 2 == 0 else 1
        found.append(next((prime for prime in _PRIMES[:-1] if n % prime == 0), halves))
        n //= found[-1]
    return tuple(found)


@cache
def split(n: int) -> Split:
    """A smooth length in two: both are whole vectors, or else about as long.

    >>> [tuple(split(n)) for n in (512, 8192, 500, 1000)]
    [(16, 32, 1), (32, 256, 1), (20, 25, 4), (25, 40, 2)]
    """
    for first in range(_LINE, isqrt(n) + 1, _LINE):
        if n % (first * _LINE) == 0 and n <= _ASKEW * first * first:
            return Split(first, n // first, 1)
    first = next(d for d in range(isqrt(n), 0, -1) if n % d == 0)
    return Split(first, n // first, 4 if n <= _FEW else 2 if n <= _SOME else 1)
