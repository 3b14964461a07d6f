# SPDX-License-Identifier: Apache-2.0
"""Training steps of networks that differ in nothing but how deep they are: for what it takes to compile them."""

from __future__ import annotations

from functools import partial

from benchmarks.comparison import Tasks
from benchmarks.workloads.networks import mlp

HIDDEN = (2, 4, 8, 16, 32)
CLASSES, BATCH, WIDTH = 10, 32, 64


def lengths(kind: str, hidden: int) -> list[int]:
    """Those of the layers of an MLP: hidden ones that are all alike, or no two of them.

    >>> lengths("equal", 2), lengths("unequal", 2)
    ([64, 64, 64, 10], [64, 65, 66, 10])
    """
    return [WIDTH + (i if kind == "unequal" else 0) for i in range(hidden + 1)] + [CLASSES]


def tasks(size: int | None) -> Tasks:
    """``equal_2`` to ``equal_32`` and ``unequal_2`` to ``unequal_32``; `size` is that of the batch."""
    kinds = [(kind, hidden) for kind in ("equal", "unequal") for hidden in HIDDEN]
    return {f"{k}_{n}": partial(mlp, f"{k}_{n}", size or BATCH, lengths(k, n)) for k, n in kinds}
