# SPDX-License-Identifier: Apache-2.0
"""What a block of a GPU has of attention over 16-bit floats, and what each of its threads has of a product."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.half_tiles import LINES
from ngraph_rewrite.runtime.cuda.hardware import WARP

COLUMNS = 8  # keys, or columns, of a product; the second row of a thread in it is as far below the first


class HalfBlocks(NamedTuple):
    """The part of attention that a block has.

    Attributes:
        warps: How many there are.
        keys: How many of them go by at once.
        columns: Those of its part of the result.
        deep: How much of what scores are summed over is in shared memory at once. These are multiples of 16.
        high: How many times 16 rows a warp has: what it reads of keys and values serves all of them.
    """

    warps: int
    keys: int
    columns: int
    deep: int
    high: int = 1

    @property
    def rows(self) -> int:
        """The rows of a block."""
        return self.warps * self.high * LINES

    @property
    def of_thread(self) -> range:
        """The rows of a thread, each eight below the one before: two of each product."""
        return range(2 * self.high)

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.warps * WARP


class HalfForm(NamedTuple):
    """What the text of a kernel depends on.

    Attributes:
        along: Whether rows, keys and values lie in memory along what is summed over.
        given: Whether scores are given, rather than factors.
        mask: The dtype of the mask, which keeps scores if it is bool and is added otherwise; empty if there is none.
        parted: Whether keys are cut into parts, whose sums another kernel adds up.
        binary: Whether scores are scaled as they become exponents of two, by a positive factor that has to leave finite
            ones finite and must not be tiny; nothing may be added to them.
    """

    dtype: str
    blocks: HalfBlocks
    along: tuple[bool, bool, bool]
    given: bool = False
    mask: str = ""
    parted: bool = False
    binary: bool = False
