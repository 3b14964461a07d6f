# SPDX-License-Identifier: Apache-2.0
"""What has a row on a GPU: a block, or a warp, or a block that has rows which lie side by side."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.runtime.cuda.hardware import WARP

MOST_THREADS = 512  # of a block with a row that nothing is kept of
FITTING = 1024  # threads that a multiprocessor should have


class RowForm(NamedTuple):
    """What has a row.

    Attributes:
        kind: ``"block"``, ``"warp"``, or ``"columns"`` for rows that lie side by side.
        width: How many of these a block has.
        places: Of a row that each thread has in registers; 0 if nothing is kept from one pass to the next.
        near: Neighbours at each of these places, or rows of a thread that lie side by side: 4, or 1 where they do not
            begin at multiples of four.
        threads: Of a block, if that is known.
        extent: ``"whole"`` if these places are a row, ``"part"`` if some of them are, ``"long"`` if a row may have
            more.
    """

    kind: str
    width: int = WARP
    places: int = 0
    near: int = FOUR
    threads: int = 0
    extent: str = "long"
