# SPDX-License-Identifier: Apache-2.0
"""What a block of a GPU, and each of its threads, has of attention: some rows, with some keys and then some columns.

What the threads that share a row have found of it, they tell each other through memory that the block shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.tiles import PAD, Tile
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested


class Blocks(NamedTuple):
    """The part of attention that a block has.

    Attributes:
        rows, columns: The size of its part of the result.
        keys: How many of them go by at once.
        deep: How much of what is summed over is in shared memory at once; a divisor of `keys`.
        down: The rows of a thread; a power of two.
        each: The keys of a thread, a power of two, four at least.
        unrolled: How many steps along what scores are summed over the text of a turn has.
    """

    rows: int
    keys: int
    columns: int
    deep: int
    down: int
    each: int
    unrolled: int = 2

    @property
    def products(self) -> Tile:
        """The tile of scores."""
        return Tile(self.rows, self.keys, self.deep, self.down, self.each)

    @property
    def mixtures(self) -> Tile:
        """The tile of the result."""
        return Tile(self.rows, self.columns, self.deep, self.down, self.columns * self.each // self.keys)

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.products.threads


class Form(NamedTuple):
    """What the text of a kernel depends on.

    Attributes:
        along: Whether rows, keys and values lie in memory along what is summed over; given scores are read as they lie.
        given: Whether scores are given, rather than factors.
        mask: The dtype of the mask, which keeps scores if it is bool and is added otherwise; empty if there is none.
        parted: Whether keys are cut into parts, whose sums another kernel adds up.
    """

    dtype: str
    blocks: Blocks
    along: tuple[bool, bool, bool]
    given: bool = False
    mask: str = ""
    parted: bool = False


@dataclass(frozen=True)
class Cells:
    """The cells of a thread, in lines of a kernel of some form: i, j is its row i and its key, or column, j."""

    form: Form

    @cached_property
    def own(self) -> str:
        """The dtype in which is computed."""
        return held(self.form.dtype)

    @cached_property
    def rows(self) -> range:
        """Those of a thread, as keys and columns are."""
        return range(self.form.blocks.down)

    @cached_property
    def keys(self) -> range:
        return range(self.form.blocks.each)

    @cached_property
    def columns(self) -> range:
        return range(self.form.blocks.mixtures.across)

    @property
    def pitch(self) -> int:
        """How far apart rows of weights are in memory that is shared."""
        return self.form.blocks.keys + PAD

    @property
    def across(self) -> int:
        """How many threads have the same rows."""
        return self.form.blocks.keys // self.form.blocks.each

    def row(self, i: int) -> int:
        """How far a row of a thread is from its first one."""
        return i // FOUR * FOUR * self.form.blocks.rows // self.form.blocks.down + i % FOUR

    def key(self, j: int) -> int:
        """How far a key of a thread, or a column, is from its first one."""
        return j // FOUR * FOUR * self.across + j % FOUR

    def assigned(self, names: Iterable[str], value: float) -> str:
        """The line in which names get a value."""
        return f"{' = '.join(names)} = {literal(value, self.own)}"

    def told(self, name: str) -> list[str]:
        """The lines that write down what this thread has found of its rows."""
        place, names = f"beside * {self.apart} + row", [f"{name}{i}" for i in self.rows]
        if len(names) < FOUR:
            return [f"write_{self.own}(others, {place} + {i}, {x})" for i, x in enumerate(names)]
        return [
            f"write4_{self.own}(others, {place} + {self.row(i)}, {', '.join(names[i : i + FOUR])})" for i in self.fours
        ]

    def met(self, taken: Iterable[str]) -> list[str]:
        """The lines that read what each thread has found, and take it."""
        place, names = f"other * {self.apart} + row", [f"met{i}" for i in self.rows]
        if len(names) < FOUR:
            read = [f"{x} = read_{self.own}(others, {place} + {i})" for i, x in enumerate(names)]
        else:
            fours = [(", ".join(names[i : i + FOUR]), self.row(i)) for i in self.fours]
            read = [f"{four} = read4_{self.own}(others, {place} + {far})" for four, far in fours]
        return ["other = 0", f"while other < {self.across}:", *nested([*read, *taken, "other += 1"])]

    @property
    def apart(self) -> int:
        """How far apart is what two threads tell each other."""
        return self.form.blocks.rows + PAD

    @property
    def fours(self) -> range:
        """The first of each four rows."""
        return self.rows[::FOUR]


def parted(apart: bool) -> dict[str, str]:
    """What fills the holes about parts of keys: a kernel without any has none to hold in registers."""
    if not apart:
        return {"pieces": "count", "numbered": "group = every", "stretched": "first, last = 0, n"}
    numbered = "part = quotient(every, count)\ngroup = every - part * count"
    stretched = "first = part * stretch\nlast = min(n, first + stretch)"
    return {"pieces": "count * parts", "numbered": numbered, "stretched": stretched}
