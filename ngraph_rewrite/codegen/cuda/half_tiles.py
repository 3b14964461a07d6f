# SPDX-License-Identifier: Apache-2.0
"""Tiles of operands of 16-bit floats in the text of kernels for a GPU: what threads fetch, and what warps see of them.

Operands lie in shared memory as they do in global memory, so that eight numbers at a time are copied past registers;
lines are some numbers longer than what they hold, so that eight of them begin in different banks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ngraph_rewrite.codegen.source import nested
from ngraph_rewrite.runtime.cuda.hardware import WIDEST

EIGHT = WIDEST // 2  # numbers of an access
LINES = 16  # of a matrix that a warp multiplies at once, which is as long
_UNROLLED = 16  # times that a thread fetches of a whole tile, at most, that are written out


@dataclass(frozen=True)
class HalfSide:
    """One of two operands in the text: its lines are rows of the left one, or columns of the right one.

    Attributes:
        name: That of its argument.
        word: ``"left"`` or ``"right"``.
        length: How many lines there are, in the arguments.
        mark: The letter of their stride; that along what is summed over is ``k``.
        lines: How many of them a tile has: eight times a divisor of the threads, as `deep` is.
        deep: How much of what is summed over it has.
        along: Whether memory lies along that, rather than across lines.
        threads: Of a block.
        begin: Where in the memory of tiles it begins.
        matrix: The numbers of the one that is multiplied, along each axis of matrices.
        between: Of which strides have such letters.
    """

    name: str
    word: str
    length: str
    mark: str
    lines: int
    deep: int
    along: bool
    threads: int
    begin: int = 0
    matrix: str = "batch"
    between: str = "b"

    @property
    def stride(self) -> str:
        """That of lines."""
        return f"{self.name}_s{self.mark}"

    @property
    def pitch(self) -> int:
        """How far apart the lines of the tile are, or places along what is summed over."""
        return (self.deep if self.along else self.lines) + EIGHT

    @property
    def room(self) -> int:
        """The numbers of a tile."""
        return (self.lines if self.along else self.deep) * self.pitch

    def placed(self) -> Iterator[str]:
        """The line that finds out whether eight neighbours can be copied at once."""
        x, (fast, slow) = self.name, (f"{self.name}_sk", self.stride)[:: 1 if self.along else -1]
        strides = " | ".join([slow, *(f"{x}_s{letter}" for letter in self.between.split())])
        yield f"{x}_wide = {fast} == 1 and ({strides}) & {EIGHT - 1} == 0 and aligned({x}, {WIDEST})"

    def fetched(self, corner: str, following: str, end: str, into: str = "0") -> list[str]:
        """The lines that begin to fetch a tile, with zeros beyond the ends.

        A thread fetches eight neighbours of some lines, or of some places along what is summed over.

        Args:
            corner: Its first line.
            following: Where it begins in what is summed over, of which `end` is the end.
            into: What is added to where the tile begins.
        """
        x, rows, each = self.name, self.room // self.pitch, (self.pitch - EIGHT) // EIGHT
        slow, fast = (self.stride, f"{x}_sk")[:: 1 if self.along else -1]
        pairs = zip(self.matrix.split(), self.between.split(), strict=True)
        start = " + ".join(f"{number} * {x}_s{letter}" for number, letter in pairs)
        line, deep = ("outermost", "within")[:: 1 if self.along else -1]
        ends = ((f"{corner} + {line}", self.length), (f"{following} + {deep}", end))
        lines = [
            f"outermost = quotient(number, {each})",
            f"within = {EIGHT} * (number - outermost * {each})",
            f"spot = {into} + {self.begin} + outermost * {self.pitch} + within",
            f"source = {start} + ({ends[0][0]}) * {self.stride} + ({ends[1][0]}) * {x}_sk",
        ]
        step = self.threads // each
        moved = [f"outermost += {step}", f"spot += {step * self.pitch}", f"source += {step} * {slow}"]
        copied = f"fetch8_uint16(tile, spot, {x}, source)"
        one = self._one_by_one(copied, ends[:: 1 if self.along else -1], fast)
        some = [f"while outermost < {rows}:", *nested([*one, *moved])]
        if rows % step or rows // step > _UNROLLED:
            return [*lines, *some]
        all_of_it = [copied, *(line for _ in range(rows // step - 1) for line in (*moved[1:], copied))]
        whole = f"{x}_wide and {corner} + {self.lines} <= {self.length} and {following} + {self.deep} <= {end}"
        return [*lines, f"if {whole}:", *nested(all_of_it), "else:", *nested(some)]

    def _one_by_one(self, copied: str, ends: Sequence[tuple[str, str]], fast: str) -> list[str]:
        """The lines that fetch eight neighbours of a tile that may be beyond the ends of its matrix."""
        x, (first, most), (second, last) = self.name, *ends
        one = [f"if {first} < {most} and {second} + one < {last}:"]
        one += nested([f"write_uint16(tile, spot + one, load_uint16({x}, source + one * {fast}, 0))"])
        one += ["else:", *nested(["write_uint16(tile, spot + one, np.uint16(0))"]), "one += 1"]
        inside = f"{x}_wide and {first} < {most} and {second} + {EIGHT} <= {last}"
        each = ["one = anew(0)", f"while one < {EIGHT}:", *nested(one)]
        return [f"if {inside}:", *nested([copied]), "else:", *nested(each)]

    def seen(self, number: int, line: str, depth: int, at: str = "0") -> str:
        """The line that reads a matrix, some way along what is summed over; its first line is at one of the tile."""
        where = f"({line}) * {self.pitch} + {depth}" if self.along else f"{depth * self.pitch} + {line}"
        word = f"{self.word}_{'lines' if self.along else 'across'}"
        return f"{self.name}{number} = {word}(tile, {at} + {self.begin} + {where}, {self.pitch})"
