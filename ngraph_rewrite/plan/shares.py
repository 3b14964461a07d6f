# SPDX-License-Identifier: Apache-2.0
"""In how many chunks a kernel runs, and about how long it takes: decided by shapes alone.

The number of threads has no part in it, so results do not depend on it either: a product of matrices in other chunks
may round differently. Times are rough: they tell what is worth sharing from what is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2, prod
from types import MappingProxyType
from typing import NamedTuple

# A chunk takes about so many nanoseconds or more: twenty times what it costs to hand a launch to a thread that waits.
CHUNK_TIME = 10_000
MOST = 64
# Indices of an innermost loop that are worth a chunk: some cache lines, and vectors enough.
INNERMOST = 128
_BYTES = 10  # that one core moves in a nanosecond
_LAUNCH = 50  # nanoseconds of a launch, whatever it does
# Nanoseconds of a scalar operation: of one instruction, of a formula in vectors, and of a call for each number.
_SIMPLE, _FORMULA, _CALL = 0.05, 0.5, 6.0
_FORMULAS = "exp expm1 exp2 log log1p log2 log10 tanh sigmoid erf sin cos tan sinh cosh power logaddexp softplus"
_CALLS = "asin acos atan asinh acosh atanh atan2 hypot floordivide mod remainder"
_TIMES = MappingProxyType(dict.fromkeys(_FORMULAS.split(), _FORMULA) | dict.fromkeys(_CALLS.split(), _CALL))


class Share(NamedTuple):
    """What decides in how many chunks a kernel runs.

    Attributes:
        length: The length of what the chunks split.
        time: About how many nanoseconds the kernel takes on one core.
        least: How much of the length is worth a chunk.

    >>> Share(1000, 100_000).chunks, Share(1000, 15_000).chunks, Share(3, 10**9).chunks
    (10, 1, 3)
    """

    length: int = 1
    time: int = 0
    least: int = 1

    @property
    def weight(self) -> int:
        """About how many nanoseconds a launch takes."""
        return self.time + _LAUNCH

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return max(1, min(self.length // self.least, self.time // CHUNK_TIME, MOST))


def nest_share(length: int, innermost: bool, sizes: Sequence[int], widths: Iterable[int], ops: Iterable[str]) -> Share:
    """Of a loop nest whose chunks split a loop of some length.

    Args:
        innermost: Whether that is the loop along which memory lies.
        sizes: The lengths of all loops.
        widths: The sizes of the elements it reads and writes at every index.
        ops: The scalar operations at every index.
    """
    each = sum(widths) / _BYTES + sum(_TIMES.get(op, _SIMPLE) for op in ops)
    return Share(length, int(prod(sizes) * each), INNERMOST if innermost else 1)


def loop_share(length: int, each: float) -> Share:
    """Of a kernel that takes so many nanoseconds for each index of the loop that it splits."""
    return Share(length, int(length * each))


def sorting_share(rows: int, n: int) -> Share:
    """Of a sort of rows."""
    return loop_share(rows, 5 * n * log2(n + 1))


def running_share(outer: int, n: int, inner: int) -> Share:
    """Of a kernel along the middle one of three axes, which splits the first one, or else the last."""
    time = int(outer * n * inner * 2)
    return Share(outer, time) if outer >= inner // INNERMOST else Share(inner, time, INNERMOST)
