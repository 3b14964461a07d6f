# SPDX-License-Identifier: Apache-2.0
"""What the threads of a warp do together: exchange of registers, and matrices that they have between them.

Layouts are those of NVIDIA's PTX ISA for ``shfl.sync``, ``ldmatrix`` and ``mma.sync.m16n8k8`` and ``m16n8k16``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.cuda.hardware import WARP
from ngraph_rewrite.runtime.ptx.watching import Numbers

Values = NDArray[Any]


def lanes_asked(lane: Numbers, mode: str, by: Numbers, clamp: Numbers) -> tuple[Numbers, Values]:
    """The lane that each thread asks by ``shfl``, and whether there is one: its own where not."""
    last, part, by = clamp & 31, (clamp >> 8) & 31, by & 31
    low = lane & part
    high = low | (last & ~part)
    if mode == "bfly":
        asked = lane ^ by
        there = asked <= high
    elif mode == "down":
        asked = lane + by
        there = asked <= high
    elif mode == "up":
        asked = lane - by
        there = asked >= high
    else:
        asked = low | (by & ~part & 31)
        there = asked <= high
    return np.where(there, asked, lane), there


def check_together(present: NDArray[np.bool_], numbers: Numbers, named: Numbers, each: int) -> None:
    """Refuse what threads do without some of those that they name.

    Args:
        present: Of all threads, who is here.
        numbers: Of those who are here.
        named: The mask of lanes that each names; lanes that a block does not have are none.
        each: Threads of a block.

    Raises:
        KernelError: if one is somewhere else in the program, or has ended.
    """
    lane = numbers % each % WARP
    begin = numbers - lane
    end = np.minimum(begin - begin % each + each, begin + WARP)
    for n in range(min(WARP, each)):
        asks = ((named >> n) & 1).astype(bool) & (begin + n < end)
        if not present[(begin + n)[asks]].all():
            raise KernelError(
                f"threads of a warp are to do something together, and thread {n} of it is not there",
                do="let all threads of the warp come there, whatever they have to do",
            )


def whole_warps(numbers: Numbers, each: int) -> Numbers:
    """Threads as warps, each a row.

    Raises:
        KernelError: if some of a warp are missing.
    """
    rows = numbers.reshape(-1, WARP) if len(numbers) % WARP == 0 and each % WARP == 0 else None
    if rows is None or (rows != rows[:, :1] + np.arange(WARP)).any() or (rows[:, 0] % each % WARP).any():
        raise KernelError("matrices are asked for by a part of a warp", do="let all threads of the warp come there")
    return rows


_LANES = np.arange(WARP)
_GROUP, _PLACE = _LANES // 4, 2 * (_LANES % 4)


def matrix_places(turned: bool) -> tuple[Values, Values]:
    """Of a matrix of 8 times 8 the lines and places in them that each thread gets of ``ldmatrix``, two of them."""
    pair = _PLACE[:, None] + np.arange(2)
    line = np.broadcast_to(_GROUP[:, None], pair.shape)
    return (pair, line) if turned else (line, pair)


def multiplied(left: Sequence[Values], right: Sequence[Values], sums: Sequence[Values]) -> list[Values]:
    """What ``mma`` gives: each register of 16-bit floats has a row for a warp, and pairs; sums are `float32`."""
    warps, deep = len(left[0]), 8 * len(right)
    rows, columns = np.zeros((warps, 16, deep)), np.zeros((warps, deep, 8))
    total = np.zeros((warps, 16, 8))
    for number, pairs in enumerate(left):
        for n in range(2):
            rows[:, _GROUP + 8 * (number % 2), _PLACE + 8 * (number // 2) + n] = pairs[..., n]
    for number, pairs in enumerate(right):
        for n in range(2):
            columns[:, _PLACE + 8 * number + n, _GROUP] = pairs[..., n]
    for number, values in enumerate(sums):
        total[:, _GROUP + 8 * (number // 2), _PLACE + number % 2] = values
    with np.errstate(all="ignore"):
        found = (rows @ columns + total).astype(np.float32)
    return [found[:, _GROUP + 8 * (n // 2), _PLACE + n % 2] for n in range(4)]
