# SPDX-License-Identifier: Apache-2.0
"""Masks in the text of attention for a GPU: what they do to scores, and a kernel that says so of each tile before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.keys import read_four, wide_line
from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import Source, nested

_MASK = "mask mask_so mask_si mask_sm mask_sn"
MASK_OPERANDS = f" {_MASK} tiles tiles_so tiles_si tiles_sm"
_THREADS = 128


@cache
def render_tiles(mask: str, own: str, rows: int, keys: int) -> Source:
    """Return the kernel that finds out what a mask does to tiles of scores.

    MASK has ``count`` matrices of m and n, ``inner`` for each o, with strides in elements. TILES has a byte for each
    tile, contiguous: 1 if some of it has a weight, and 2 more if the mask changes any score. A mask of truths puts
    ``fill`` where it is false, the bits of a float64; another is added.

    Args:
        mask: Its dtype.
        own: That of scores.
        rows, keys: Those of a tile.

    >>> render_tiles("bool", "float32", 64, 64).signature[:6]
    ('inner', 'count', 'm', 'n', 'fill', 'mask')
    """
    holes = {"places": wide_line("mask", mask), "looked": "\n".join(_looked(mask, own, rows, keys))}
    names = tuple(f"inner count m n fill {_MASK} tiles".split())
    return rendered("attention_tiles", names, "cuda", own=own, rows=str(rows), keys=str(keys), **holes)


def threads_of_tile(rows: int, keys: int) -> int:
    """The threads that look at a tile: each has four neighbours at a time, at least once."""
    return min(_THREADS, rows * keys // FOUR)


def known(rows: int, first: str, keys: int) -> list[str]:
    """The lines that read whether anybody sees a tile, and whether the mask changes it.

    Args:
        rows, keys: Those of a tile.
        first: Its first key.
    """
    tile = f"outer * tiles_so + own * tiles_si + quotient(top, {rows}) * tiles_sm + quotient({first}, {keys})"
    return [f"told = load_uint8(tiles, {tile}, 0)", "seen, hides = (told & 1) != 0, (told & 2) != 0"]


def _looked(mask: str, own: str, rows: int, keys: int) -> list[str]:
    """The lines in which a block looks at a tile, four neighbours at a time, those side by side at what lies so."""
    names, fours, threads = [f"l{n}" for n in range(FOUR)], keys // FOUR, threads_of_tile(rows, keys)
    if mask == "bool":
        seen, changed = names, [f"(not {name})" for name in names]
    else:
        least = literal(float("-inf"), held(mask))
        seen, changed = ([f"({name} != {x})" for name in names] for x in (least, literal(0.0, held(mask))))
    taken = [f"seen = seen | {' | '.join(seen)}", f"hides = hides | {' | '.join(changed)}"]
    each = ["line = start + min(top + quotient(look, {0}), m - 1) * mask_sm", "key = first + 4 * remainder(look, {0})"]
    each = [line.format(fours) for line in each]
    each += [f"{x} = load_{mask}(mask, line + min(key + {n}, n - 1) * mask_sn, 0)" for n, x in enumerate(names)]
    turn = ["look = number", f"while look < {rows * fours}:", *nested([*each, *taken, f"look += {threads}"])]
    begun = f"filled != {literal(float('-inf'), own)}" if mask == "bool" else "False"
    lines = ["start = outer * mask_so + own * mask_si", f"seen, hides = {begun}, False"]
    if threads % fours == 0 and rows * fours % threads == 0:
        place = f"start + (top + quotient(number, {fours})) * mask_sm + first + {FOUR} * remainder(number, {fours})"
        four = [f"{', '.join(names)} = load4_{mask}(mask, line)", *taken]
        step = f"line += {threads // fours} * mask_sm"
        whole = [f"line = {place}", *four, *([step, *four] * (rows * fours // threads - 1))]
        test = f"mask_wide and first + {keys} <= n and top + {rows} <= m"
        turn = [f"if {test}:", *nested(whole), "else:", *nested(turn)]
    return [*lines, *turn, "seen = any_of_block(seen)", "hides = any_of_block(hides)"]


class Mask(NamedTuple):
    """What hides the scores of a thread; none if the dtype is empty.

    Attributes:
        rows, fours: How far the rows of a thread are from its first one; so for each fourth key.
    """

    dtype: str
    rows: Sequence[int]
    fours: Sequence[int]

    def hidden(self) -> list[str]:
        """The lines that do what the mask says to scores, ``t{row}_{key}``, if it hides any."""
        if not self.dtype:
            return []
        lines = list[str]()
        for i, down in enumerate(self.rows):
            lines.append(f"line = outer * mask_so + own * mask_si + min(top + row + {down}, m - 1) * mask_sm")
            for four, far in enumerate(self.fours):
                lines += read_four(
                    "mask", self.dtype, [f"h{n}" for n in range(FOUR)], "line", f"first + column + {far}"
                )
                lines += [self._hidden(f"t{i}_{FOUR * four + n}", f"h{n}") for n in range(FOUR)]
        return ["if hides:", *nested(lines)]

    def _hidden(self, score: str, hiding: str) -> str:
        """The line that does it to one score."""
        return f"{score} = select({hiding}, {score}, filled)" if self.dtype == "bool" else f"{score} += {hiding}"
