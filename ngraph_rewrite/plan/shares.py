# SPDX-License-Identifier: Apache-2.0
"""In how many chunks a kernel runs, and about how long it takes: decided by shapes alone.

The number of threads has no part in it where results could depend on it: a product of matrices in other chunks may
round differently. It limits the chunks of elementwise maps, where nothing else depends on them. Times are rough: they
tell what is worth sharing from what is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from types import MappingProxyType
from typing import NamedTuple

# A chunk takes about so many nanoseconds: ten times what it costs to hand a launch to a thread that waits. A launch is
# worth sharing where it takes as long as to wake a thread. Few threads have equal parts of a multiple of `EVEN` chunks.
# In a loop threads stay awake if a step takes less than `AWAKE_TIME` in launches that are not shared.
CHUNK_TIME = 5_000
SHARED_TIME = 15_000
AWAKE_TIME = 50_000
EVEN = 4
MOST = 64
# Where nothing depends on their number, there are at most so many for each thread: one that the system stops leaves
# most to others.
EACH = 8
# Indices of an innermost loop that are worth a chunk: some cache lines, and vectors enough.
INNERMOST = 128
# Bytes that one core moves in a nanosecond where so many in all are moved: they stay in its own caches, in one that it
# shares, or in none.
_RATES = ((1 << 20, 50), (1 << 24, 30))
_RATE = 12
LAUNCH = 50  # nanoseconds of a launch, whatever it does
# Nanoseconds of a scalar operation: of one instruction, of a formula in vectors, and of a call for each number.
_SIMPLE, _FORMULA, _CALL = 0.02, 0.3, 6.0
_FORMULAS = (
    "exp expm1 exp2 log log1p log2 log10 cbrt tanh sigmoid erf erfinv sin cos tan sinh cosh power logaddexp softplus "
    "lgamma digamma trigamma asin acos atan atan2 asinh acosh atanh hypot"
)
_CALLS = "floordivide mod remainder"
_DRAWS = {
    "gamma_draw": 100.0,
    "poisson_draw": 100.0,
    "binomial_draw": 150.0,
    "vonmises_draw": 100.0,
    "zipf_draw": 100.0,
}
_TIMES = MappingProxyType(dict.fromkeys(_FORMULAS.split(), _FORMULA) | dict.fromkeys(_CALLS.split(), _CALL) | _DRAWS)


class Share(NamedTuple):
    """What decides in how many chunks a kernel runs.

    Attributes:
        length: The length of what the chunks split.
        time: About how many nanoseconds the kernel takes on one core.
        least: How much of the length is worth a chunk.
        loose: Whether nothing else depends on the number of chunks.
        awake: Whether threads wait for it, so that a launch that takes as long as a chunk is worth sharing.
        parted: Whether the kernel can share out parts of itself, one index after the other, where they are few.

    >>> Share(1000, 100_000).chunks, Share(1000, 10_000).chunks, Share(3, 10**9).chunks
    (20, 1, 3)
    """

    length: int = 1
    time: int = 0
    least: int = 1
    loose: bool = False
    awake: bool = False
    parted: bool = False

    @property
    def weight(self) -> int:
        """About how many nanoseconds a launch takes."""
        return self.time + LAUNCH

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        if self.time < (CHUNK_TIME if self.awake else SHARED_TIME):
            return 1
        return max(1, min(self.length // self.least, -(-self.time // CHUNK_TIME // EVEN) * EVEN, MOST))

    def chunks_for(self, threads: int) -> int:
        """The number of chunks, of which few threads claim no more than they need, if nothing depends on it.

        >>> Share(1000, 10**6, loose=True).chunks_for(2), Share(1000, 10**6).chunks_for(2)
        (16, 64)

        It is 0 if the kernel shares out parts of itself, as there is not one for each thread:

        >>> Share(3, 10**9, parted=True).chunks_for(2), Share(3, 10**9, parted=True).chunks_for(4)
        (3, 0)
        """
        if self.parted and self.length < threads and self.time > SHARED_TIME:
            return 0
        return min(self.chunks, EACH * threads) if self.loose else self.chunks


class Grid(NamedTuple):
    """How a kernel is shared out to the threads of a GPU.

    Attributes:
        blocks, threads: How many blocks there are, and threads in each.
        fixed: Whether the kernel needs just so many threads.
        beside: How many blocks there are along the second and the third dimension of the grid.
    """

    blocks: int = 1
    threads: int = 128
    fixed: bool = False
    beside: tuple[int, int] = (1, 1)

    @property
    def dimensions(self) -> tuple[int, int, int]:
        """How many blocks there are along each dimension."""
        return self.blocks, *self.beside

    @property
    def chunks(self) -> int:
        """The number of all blocks: of parts that have workspaces of their own."""
        return prod(self.dimensions)

    @property
    def weight(self) -> int:
        """Nothing is known of its time."""
        return LAUNCH


def nest_share(length: int, innermost: bool, sizes: Sequence[int], widths: Iterable[int], ops: Iterable[str]) -> Share:
    """Of a loop nest whose chunks split a loop of some length.

    Args:
        innermost: Whether that is the loop along which memory lies.
        sizes: The lengths of all loops.
        widths: The sizes of the elements it reads and writes at every index.
        ops: The scalar operations at every index.
    """
    count, width = prod(sizes), sum(widths)
    each = width / rate(count * width) + sum(map(op_time, ops))
    return Share(length, int(count * each), INNERMOST if innermost else 1)


def shares_of_step(shares: Sequence[Share | Grid]) -> list[Share | Grid]:
    """Of the launches of a step of a loop: threads that are awake take part in what may be shared out further.

    >>> product, map = Share(4, 40_000), Share(100, 10_000, loose=True)
    >>> [share.chunks for share in shares_of_step([product, map])]
    [4, 4]
    >>> [share.chunks for share in shares_of_step([Share(1, 90_000), map])]
    [1, 1]
    """
    alone = sum(share.time for share in shares if isinstance(share, Share) and share.chunks == 1)
    if alone > AWAKE_TIME:
        return [*shares]
    return [share._replace(awake=True) if isinstance(share, Share) and share.loose else share for share in shares]


def op_time(op: str) -> float:
    """About how many nanoseconds a scalar operation takes for one element, among many."""
    return _TIMES.get(op, _SIMPLE)


def rate(size: int) -> int:
    """How many bytes one core moves in a nanosecond, where so many are moved in all."""
    return next((rate for most, rate in _RATES if size <= most), _RATE)


class Speed(NamedTuple):
    """How long a machine takes for maps that it shares out to nobody else, compared with one core of a processor.

    Attributes:
        launch: Nanoseconds of a launch.
        faster: How many times as many operations it does in a time.
        moves: How many times as many bytes it moves.
    """

    launch: float = LAUNCH
    faster: float = 1.0
    moves: float = 1.0


CORE = Speed()
# A large GPU: 132 multiprocessors of 128 lanes, which compute most while they wait for memory; 4 TB/s; and what follows
# a launch begins some microseconds after it.
GPU = Speed(2500, 1000, 300)


def loop_share(length: int, each: float) -> Share:
    """Of a kernel that takes so many nanoseconds for each index of the loop that it splits."""
    return Share(length, int(length * each))


def sorting_share(rows: int, n: int) -> Share:
    """Of a sort of rows: of short ones each element is compared with all others."""
    return loop_share(rows, n * min(2 + n / 15, 16))


def running_share(outer: int, n: int, inner: int) -> Share:
    """Of a kernel along the middle one of three axes, which splits the first one, or else the last."""
    time = int(outer * n * inner * 2)
    return Share(outer, time) if outer >= inner // INNERMOST else Share(inner, time, INNERMOST)
