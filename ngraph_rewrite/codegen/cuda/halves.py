# SPDX-License-Identifier: Apache-2.0
"""Renders products of matrices of 16-bit floats for a GPU, by tensor cores, with a map over the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.half_tiles import LINES, HalfSide
from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.products import ARGUMENTS, four_ended, moved, signature, width
from ngraph_rewrite.codegen.cuda.tiles import PAD
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.nest import MapNest
from ngraph_rewrite.codegen.scalar import HALVES
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.runtime.cuda.hardware import REGISTER_FILE, WARP

_MOST = 128  # of a thread


class WarpTile(NamedTuple):
    """The part of a product that a block has.

    Attributes:
        rows, columns: Its size.
        deep: How much of k is in shared memory at once; a multiple of 16.
        down, across: How many warps there are, one below the other and side by side; each has a multiple of 16 rows,
            and of columns.
    """

    rows: int
    columns: int
    deep: int
    down: int
    across: int

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.down * self.across * WARP


@lru_cache(maxsize=1 << 10)
def render_halves(
    dtype: str, tile: WarpTile, along: tuple[bool, bool], nest: MapNest, literals: tuple[object, ...] = ()
) -> Source:
    """Return the kernel of products of matrices of a float of 16 bits, and of a map over them.

    It takes what `ngraph_rewrite.codegen.cuda.products.render_product` does, and gives the same but for rounding.

    Raises:
        KernelError: for another dtype.

    >>> from ngraph_rewrite.codegen.cuda.products import stored
    >>> render_halves("bfloat16", WarpTile(64, 64, 32, 2, 2), (True, False), stored("bfloat16")).signature[:4]
    ('count', 'm', 'n', 'k')
    """
    has_dtype(dtype, HALVES, "gemm_of_halves")
    text = _Text(dtype, tile, along, nest)
    return rendered("gemm_of_halves", (*ARGUMENTS.split(), *signature(nest)), "cuda", **text.holes())


@dataclass(frozen=True)
class _Text:
    """The lines of a kernel."""

    dtype: str
    tile: WarpTile
    along: tuple[bool, bool]
    nest: MapNest

    @property
    def high(self) -> int:
        """Matrices of a warp, one below the other."""
        return self.tile.rows // (self.tile.down * LINES)

    @property
    def wide(self) -> int:
        """Matrices of a warp side by side."""
        return self.tile.columns // (self.tile.across * LINES)

    def holes(self) -> dict[str, str]:
        """What fills the template."""
        tile = self.tile
        a = HalfSide("a", "left", "m", "m", tile.rows, tile.deep, self.along[0], tile.threads)
        b = HalfSide("b", "right", "n", "n", tile.columns, tile.deep, self.along[1], tile.threads, a.room)
        half = a.room + b.room
        numbers = {"rows": tile.rows, "columns": tile.columns, "deep": tile.deep, "half": half, "threads": tile.threads}
        numbers["room"] = max(2 * half, 2 * tile.down * LINES * self._pitch)
        numbers["fitting"] = max(1, REGISTER_FILE // (_MOST * tile.threads))
        sums = [name for i in range(self.high) for name in self._sums(i)]
        depths, place = range(0, tile.deep, LINES), ("following", "end", "filling")
        return {
            **{name: str(number) for name, number in numbers.items()},
            "places": _block([*self._placed(), *a.placed(), *b.placed(), *width(self.nest)]),
            "begun": _block([f"{' = '.join(sums)} = np.float32(0.0)", *moved(self.nest)]),
            "fetched": _block([*a.fetched("top", *place), *b.fetched("left", *place)]),
            "multiplied": _block(line for depth in depths for line in self._multiplied(a, b, depth)),
            "ended": _block(self._ended()),
        }

    def _placed(self) -> list[str]:
        """The lines that find the part of this warp, and of this thread in each of its matrices."""
        tile = self.tile
        return [
            f"warp_number, own = quotient(number, {WARP}), remainder(number, {WARP})",
            f"warp_down = quotient(warp_number, {tile.across})",
            f"warp_row = warp_down * {tile.rows // tile.down}",
            f"warp_column = (warp_number - warp_down * {tile.across}) * {tile.columns // tile.across}",
            f"place = (warp_down * {LINES} + quotient(own, 4)) * {self._pitch} + warp_column + 2 * remainder(own, 4)",
        ]

    @property
    def _pitch(self) -> int:
        """How far apart rows of sums are in shared memory."""
        return self.tile.columns + PAD

    def _sums(self, i: int) -> list[str]:
        """The sums of a thread in its matrices that are side by side: four for each eight columns."""
        return [f"s{i}_{j}_{n}" for j in range(2 * self.wide) for n in range(4)]

    def _multiplied(self, a: HalfSide, b: HalfSide, depth: int) -> Iterator[str]:
        """The lines that multiply 16 along k."""
        yield from (a.seen(i, f"warp_row + {i * LINES}", depth, "reading") for i in range(self.high))
        yield from (b.seen(j, f"warp_column + {j * LINES}", depth, "reading") for j in range(self.wide))
        for i in range(self.high):
            for j in range(2 * self.wide):
                names = ", ".join(self._sums(i)[4 * j : 4 * j + 4])
                yield f"{names} = products_{self.dtype}(a{i}, b{j // 2}, {j % 2}, {names})"

    def _ended(self) -> list[str]:
        """The lines that work the map out and store, of 16 rows of each warp at a time."""
        tile, fours = self.tile, self.tile.columns // FOUR
        each = [f"line = quotient(four, {fours})", f"i1 = left + {FOUR} * (four - line * {fours})"]
        each += [f"i0 = top + quotient(line, {LINES}) * {tile.rows // tile.down} + turn * {LINES}"]
        each += [f"i0 += remainder(line, {LINES})"]
        read = f"sum0, sum1, sum2, sum3 = read4_float32(sums, line * {self._pitch} + i1 - left)"
        each += ["if i0 < m and i1 < n:", *nested([read, *four_ended(self.nest, "float32")])]
        each += [f"four += {tile.threads}"]
        every = ["barrier()", *self._told(), "barrier()", "four = number"]
        every += [f"while four < {tile.down * LINES * fours}:", *nested(each)]
        for i in range(1, self.high):
            every.append(f"{', '.join(self._sums(i - 1))} = {', '.join(self._sums(i))}")
        turns = ["sums, turn = tile_as_float32(tile), 0", f"while turn < {self.high}:"]
        return [*turns, *nested([*every, "turn += 1"])]

    def _told(self) -> Iterator[str]:
        """The lines that put the sums of 16 rows where others can read them."""
        for j in range(2 * self.wide):
            for n in range(4):
                at = 8 * j + n % 2 + n // 2 * 8 * self._pitch
                yield f"write_float32(sums, place + {at}, s0_{j}_{n})"


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines)
