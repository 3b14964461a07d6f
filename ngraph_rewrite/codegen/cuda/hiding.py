# SPDX-License-Identifier: Apache-2.0
"""Masks in the text of attention for a GPU: what they do to scores, and how much of a tile is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.keys import read_four
from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested


def looked(mask: str, own: str, rows: int, keys: int, threads: int, first: str = "first") -> list[str]:
    """The lines in which a block finds out whether any of it sees something of a tile, and whether all is seen.

    What is not seen has no weight. Threads look at four neighbours at a time, those side by side at what lies so.

    Args:
        mask: Its dtype. If it is bool, scores are kept where it is true; numbers are added to all of them.
        own: The dtype of scores.
        rows, keys: Those of a tile.
        threads: Those of a block.
        first: The first key of the tile.
    """
    if not mask:
        return ["pass"]
    truths, names, fours = mask == "bool", [f"l{n}" for n in range(FOUR)], keys // FOUR
    tests = names if truths else [f"({name} != {literal(float('-inf'), held(mask))})" for name in names]
    taken = [f"seen = seen | {' | '.join(tests)}"]
    taken += [f"hides = hides | (not ({' & '.join(tests)}))"] if truths else []
    each = ["line = start + min(top + quotient(look, {0}), m - 1) * mask_sm", "key = {1} + 4 * remainder(look, {0})"]
    each = [line.format(fours, first) for line in each]
    each += [f"{x} = load_{mask}(mask, line + min(key + {n}, n - 1) * mask_sn, 0)" for n, x in enumerate(names)]
    turn = ["look = number", f"while look < {rows * fours}:", *nested([*each, *taken, f"look += {threads}"])]
    lines = ["start = outer * mask_so + own * mask_si", *(["hides = False"] if truths else [])]
    lines += [f"seen = filled != {literal(float('-inf'), own)}" if truths else "seen = False"]
    if threads % fours == 0:
        place = f"start + (top + quotient(number, {fours})) * mask_sm + {first} + {FOUR} * remainder(number, {fours})"
        four = [f"{', '.join(names)} = load4_{mask}(mask, line)", *taken]
        step = f"line += {threads // fours} * mask_sm"
        whole = [f"line = {place}", *four, *([step, *four] * (rows * fours // threads - 1))]
        test = f"mask_wide and {first} + {keys} <= n and top + {rows} <= m"
        turn = [f"if {test}:", *nested(whole), "else:", *nested(turn)]
    agreed = ["seen = any_of_block(seen)", *(["hides = any_of_block(hides)"] if truths else [])]
    return [*lines, *turn, *agreed]


class Mask(NamedTuple):
    """What hides the scores of a thread; none if the dtype is empty.

    Attributes:
        rows, fours: How far the rows of a thread are from its first one; so for each fourth key.
    """

    dtype: str
    rows: Sequence[int]
    fours: Sequence[int]

    def hidden(self, score: str) -> list[str]:
        """The lines that do what the mask says to scores, whose names tell their rows and keys, if it hides any."""
        if not self.dtype:
            return []
        lines = list[str]()
        for i, down in enumerate(self.rows):
            lines.append(f"line = outer * mask_so + own * mask_si + min(top + row + {down}, m - 1) * mask_sm")
            for four, far in enumerate(self.fours):
                lines += read_four(
                    "mask", self.dtype, [f"h{n}" for n in range(FOUR)], "line", f"first + column + {far}"
                )
                lines += [self._hidden(score.format(i, FOUR * four + n), f"h{n}") for n in range(FOUR)]
        return ["if hides:", *nested(lines)] if self.dtype == "bool" else lines

    def _hidden(self, score: str, hiding: str) -> str:
        """The line that does it to one score."""
        return f"{score} = select({hiding}, {score}, filled)" if self.dtype == "bool" else f"{score} += {hiding}"
