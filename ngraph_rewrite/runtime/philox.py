# SPDX-License-Identifier: Apache-2.0
"""Random numbers that are a function of where they are drawn: Philox4x32-10 in NumPy, the meaning of every draw.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A draw is named by a seed, a
stream (one for each op), a call (one for each run of the computation) and its place in the result, so any part of a
result can be computed anywhere, in any order, with the same bits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
_LOW = 0xFFFFFFFF


def philox(counter: Sequence[npt.ArrayLike], key: Sequence[int]) -> tuple[Words, Words, Words, Words]:
    """Return four arrays of 32 random bits for four arrays of counter words and a key of two words.

    >>> [hex(int(word)) for word in philox((0, 0, 0, 0), (0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint32).astype(np.uint64) for word in counter)
    k0, k1 = (int(word) & _LOW for word in key)
    low, shift = np.uint64(_LOW), np.uint64(32)
    for _ in range(ROUNDS):
        p0, p1 = np.uint64(MULTIPLIERS[0]) * c0, np.uint64(MULTIPLIERS[1]) * c2
        c0, c1, c2, c3 = (p1 >> shift) ^ c1 ^ np.uint64(k0), p1 & low, (p0 >> shift) ^ c3 ^ np.uint64(k1), p0 & low
        k0, k1 = (k0 + WEYL[0]) & _LOW, (k1 + WEYL[1]) & _LOW
    first, second, third, fourth = (np.asarray(word).astype(np.uint32) for word in (c0, c1, c2, c3))
    return first, second, third, fourth


def uniform(
    seed: int, stream: int, call: int, count: int, dtype: npt.DTypeLike, low: float = 0.0, high: float = 1.0
) -> npt.NDArray[Any]:
    """Return ``count`` draws, evenly spread over [low, high): 53 random bits each for float64, 24 for the others.

    What would be rounded to `high` is the number before it.

    >>> uniform(seed=1, stream=0, call=0, count=3, dtype="float32").shape
    (3,)
    """
    unit = _unit(seed, stream, call, count, np.dtype(dtype))
    return np.minimum(low + unit * (high - low), last_below(low, high, np.dtype(dtype)))[:count].astype(dtype)


def last_below(low: float, high: float, dtype: np.dtype[Any]) -> float:
    """The largest number of a dtype in [low, high), or its nearest to low if it has none there; inf of no interval.

    >>> [last_below(0.0, 1.0, np.dtype(dtype)) for dtype in ("float16", "float32")]
    [0.99951171875, 0.9999999403953552]
    """
    if not 0 <= float(high) - float(low) < np.inf:
        return np.inf
    end, least = np.asarray(high).astype(dtype), np.asarray(low).astype(dtype)
    before = np.nextafter(end, np.asarray(-np.inf, dtype)) if float(end) >= high else end
    return max(float(before), float(least))


def normal(
    seed: int, stream: int, call: int, count: int, dtype: npt.DTypeLike, loc: float = 0.0, scale: float = 1.0
) -> npt.NDArray[Any]:
    """Return ``count`` draws from the normal distribution, by Box and Muller's transform of pairs of uniform draws.

    >>> normal(seed=1, stream=0, call=0, count=3, dtype="float64").dtype
    dtype('float64')
    """
    unit = _unit(seed, stream, call, count, np.dtype(dtype)).reshape(-1, 2)
    radius, angle = np.sqrt(-2.0 * np.log(1.0 - unit[:, 0])), 2.0 * np.pi * unit[:, 1]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return (loc + scale * pairs.reshape(-1)[:count]).astype(dtype)


def _unit(seed: int, stream: int, call: int, count: int, dtype: np.dtype[Any]) -> npt.NDArray[np.float64]:
    """At least ``count`` draws from [0, 1), whole blocks of them: four a block, or two for float64."""
    per_block = 2 if dtype == np.float64 else 4
    block = np.arange(-(-count // per_block), dtype=np.uint64)
    zero = np.zeros(block.shape, dtype=np.uint32)
    counter = (block & np.uint64(_LOW), block >> np.uint64(32), zero + np.uint32(call & _LOW), zero + np.uint32(stream))
    a, b, c, d = philox(counter, (seed & _LOW, (seed >> 32) & _LOW))
    if per_block == 4:
        return np.stack([_single(word) for word in (a, b, c, d)], axis=-1).reshape(-1)
    return np.stack([_double(a, b), _double(c, d)], axis=-1).reshape(-1)


def _single(word: Words) -> npt.NDArray[np.float64]:
    return (word >> np.uint32(8)).astype(np.float64) * 2.0**-24


def _double(high: Words, low: Words) -> npt.NDArray[np.float64]:
    top, bottom = (high >> np.uint32(5)).astype(np.float64), (low >> np.uint32(6)).astype(np.float64)
    return (top * 2.0**26 + bottom) * 2.0**-53
