# SPDX-License-Identifier: Apache-2.0
"""Tiles of products of matrices in the text of kernels for a GPU: what threads fetch, keep and see of an operand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.lanes import FOUR, bytes_of_four
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested
from ngraph_rewrite.runtime.cuda.hardware import WARP

_ABREAST = 8  # threads of a warp that are side by side, so that a warp has a compact piece of a tile
PAD = 4  # elements after each line of a tile, so that writes of columns go to different banks


class Tile(NamedTuple):
    """The part of a product that a block has.

    Attributes:
        rows, columns: Its size.
        deep: How much of k is in shared memory at once.
        down, across: The rows and columns of a thread; a power of two, and of columns a multiple of four.
        unrolled: How many steps along k the text of a turn has; what one reads is on its way during the one before.
    """

    rows: int
    columns: int
    deep: int
    down: int
    across: int
    unrolled: int = 1

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.rows // self.down * (self.columns // self.across)


@dataclass(frozen=True)
class Side:
    """One of the two operands in the text: its lines are rows of A, or columns of B."""

    name: str
    length: str  # of its lines, in the arguments
    corner: str  # its first line in the tile of this block
    lines: int
    each: int  # lines of a thread
    along: bool  # whether memory lies along k, rather than across lines
    tile: Tile
    dtype: str
    matrix: str = "batch"  # the numbers of the one that is multiplied, along each axis of matrices
    between: str = "b"  # of which strides have such letters

    @property
    def stride(self) -> str:
        """That of lines."""
        return f"{self.name}_s{self.length}"

    @property
    def pitch(self) -> int:
        """How far apart neighbours along k are in the tile."""
        return self.lines + PAD

    @property
    def half(self) -> int:
        """The elements of one of two halves of its memory."""
        return self.tile.deep * self.pitch

    @property
    def turns(self) -> range:
        """How often a thread fetches four neighbours."""
        return range(-(-self.tile.deep * self.lines // (FOUR * self.tile.threads)))

    def _partly(self, turn: int, lines: Sequence[str]) -> list[str]:
        """Lines for the threads that have something to fetch."""
        fours = self.tile.deep * self.lines // FOUR
        if (turn + 1) * self.tile.threads <= fours:
            return list(lines)
        return [f"if number < {fours - turn * self.tile.threads}:", *nested(lines)]

    def placed(self) -> list[str]:
        """The lines that find out what this thread fetches, and whether four neighbours can be read at once."""
        x, fast, slow = self.name, f"{self.name}_sk", self.stride
        if not self.along:
            fast, slow = slow, fast
        size = bytes_of_four(self.dtype)
        strides = " | ".join([slow, *(f"{x}_s{letter}" for letter in self.between.split())])
        lines = [f"{x}_wide = {fast} == 1 and ({strides}) & {FOUR - 1} == 0 and aligned({x}, {size})"]
        first, second = ("line", "deep") if self.along else ("deep", "line")
        fours = (self.tile.deep if self.along else self.lines) // FOUR
        for turn in self.turns:
            own = f"number + {turn * self.tile.threads}"
            lines += [
                f"{x}_{first}{turn} = quotient({own}, {fours})",
                f"{x}_{second}{turn} = {FOUR} * ({own} - {x}_{first}{turn} * {fours})",
            ]
        return lines

    def begun(self) -> list[str]:
        """The lines that find the places of what is fetched first."""
        x, lines = self.name, []
        pairs = zip(self.matrix.split(), self.between.split(), strict=True)
        start = " + ".join(f"{number} * {x}_s{letter}" for number, letter in pairs)
        for turn in self.turns:
            line, deep = f"({self.corner} + {x}_line{turn})", f"(begin + {x}_deep{turn})"
            lines.append(f"{x}_place{turn} = {start} + {line} * {self.stride} + {deep} * {x}_sk")
            lines += [f"{name} = {literal(0, held(self.dtype))}" for name in self._values(turn)]
        return lines

    def _values(self, turn: int) -> list[str]:
        return [f"{self.name}{turn}_{lane}" for lane in range(FOUR)]

    def fetched(self) -> list[str]:
        """The lines that read what comes next, zeros beyond the ends: of a tile that is all there without a test."""
        x, there, some = self.name, list[str](), list[str]()
        for turn in self.turns:
            read = f"{', '.join(self._values(turn))} = load4_{self.dtype}({x}, {x}_place{turn})"
            there += self._partly(turn, [read])
            some += self._partly(turn, self._fetched(turn))
        whole = f"{self.corner} + {self.lines} <= {self.length} and following + {self.tile.deep} <= end"
        moved = [f"{x}_place{turn} += {self.tile.deep} * {x}_sk" for turn in self.turns]
        return [f"if {x}_wide and {whole}:", *nested(there), "else:", *nested(some), *moved]

    def _fetched(self, turn: int) -> list[str]:
        x, values = self.name, self._values(turn)
        ends = [(f"{self.corner} + {x}_line{turn}", self.length), (f"following + {x}_deep{turn}", "end")]
        steps = [self.stride, f"{x}_sk"]
        if not self.along:
            ends, steps = ends[::-1], steps[::-1]
        (outer, most), (inner, last) = ends
        lines = [f"{', '.join(values)} = {', '.join([literal(0, held(self.dtype))] * FOUR)}"]
        lines += [f"if {outer} < {most}:", f"    if {x}_wide and {inner} + {FOUR} <= {last}:"]
        lines += [f"        {', '.join(values)} = load4_{self.dtype}({x}, {x}_place{turn})", "    else:"]
        for lane, value in enumerate(values):
            lines += [f"        if {inner} + {lane} < {last}:"]
            lines += [f"            {value} = load_{self.dtype}({x}, {x}_place{turn} + {lane} * {steps[1]}, 0)"]
        return lines

    def kept(self) -> list[str]:
        """The lines that put what was read into the half of the tile that nobody reads."""
        x, own, found = self.name, held(self.dtype), []
        for turn in self.turns:
            values = self._values(turn)
            place = f"half * {self.half} + {x}_deep{turn} * {self.pitch} + {x}_line{turn}"
            if self.along:
                at = f"{x}_kept{turn}"
                lines = [f"write_{own}({x}_tile, {at} + {n * self.pitch}, {v})" for n, v in enumerate(values)]
                lines = [f"{at} = {place}", *lines]
            else:
                lines = [f"write4_{own}({x}_tile, {place}, {', '.join(values)})"]
            found += self._partly(turn, lines)
        return found

    def seen(self) -> list[str]:
        """The lines that read the lines of this thread, at one place along k."""
        x, own, apart = self.name, held(self.dtype), FOUR * self.lines // self.each
        lines = []
        if self.each < FOUR:
            lines = [f"{x}_{n} = read_{own}({x}_tile, {x}_at + {n})" for n in range(self.each)]
        for group in range(self.each // FOUR):
            names = ", ".join(f"{x}_{FOUR * group + lane}" for lane in range(FOUR))
            lines.append(f"{names} = read4_{own}({x}_tile, {x}_at + {group * apart})")
        return [*lines, f"{x}_at += {self.pitch}"]


def threads_placed(tile: Tile) -> list[str]:
    """The lines that find the first row and column of a thread in a tile; those of a warp are close together."""
    across = tile.columns // tile.across
    down = tile.rows // tile.down
    if across % _ABREAST == 0 and down % (WARP // _ABREAST) == 0:
        lines = [
            f"warp_number, own = quotient(number, {WARP}), remainder(number, {WARP})",
            f"over = quotient(warp_number, {across // _ABREAST}) * {WARP // _ABREAST} + quotient(own, {_ABREAST})",
            f"beside = remainder(warp_number, {across // _ABREAST}) * {_ABREAST} + remainder(own, {_ABREAST})",
        ]
    else:
        lines = [f"over, beside = quotient(number, {across}), remainder(number, {across})"]
    return [*lines, f"row, column = {min(tile.down, FOUR)} * over, {FOUR} * beside"]
