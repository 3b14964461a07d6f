# SPDX-License-Identifier: Apache-2.0
"""Masks in the text of attention for a GPU: what they do to scores, and whether a tile has any that is seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ngraph_rewrite.codegen.cuda.keys import read_four, wide_line
from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested

AGREED = "seen = any_of_block(seen)"


class Mask(NamedTuple):
    """A mask of a dtype; none if that is empty.

    Attributes:
        dtype: If it is bool, scores are kept where it is true; numbers are added.
        rows, fours: How far the rows of a thread are from its first one; so for each fourth key.
    """

    dtype: str
    rows: Sequence[int]
    fours: Sequence[int]

    def placed(self) -> list[str]:
        """The line that finds out whether four neighbours can be read at once."""
        return [wide_line("mask", self.dtype)] if self.dtype else []

    def seen(self) -> str:
        """Whether anything is seen of a tile."""
        return "seen" if self.dtype else "True"

    def looked(self, own: str) -> list[str]:
        """The lines in which the threads of a block find out whether any of them sees something of a tile.

        What is not seen has no weight.
        """
        if not self.dtype:
            return ["pass"]
        truths, names = self.dtype == "bool", [f"l{lane}" for lane in range(FOUR)]
        least = literal(float("-inf"), held(self.dtype))
        tests = names if truths else [f"({x} != {least})" for x in names]
        lines = [f"seen = filled != {literal(float('-inf'), own)}" if truths else "seen = False", "look = 0"]
        # Rows are four by four at most; all are as far from each other as the first two groups.
        high = sum(far < FOUR for far in self.rows)
        apart = self.rows[high] if high < len(self.rows) else 0
        row = f"top + row + quotient(look, {high}) * {apart} + remainder(look, {high})"
        turn = [f"line = outer * mask_so + own * mask_si + min({row}, m - 1) * mask_sm"]
        for far in self.fours:
            turn += read_four("mask", self.dtype, names, "line", f"first + column + {far}")
            turn += [f"seen = seen | {' | '.join(tests)}"]
        lines += [f"while look < {len(self.rows)}:", *nested([*turn, "look += 1"])]
        return [*lines, AGREED]

    def read(self, i: int) -> list[str]:
        """The lines that read what there is of a row."""
        if not self.dtype:
            return []
        lines = [f"line{i} = outer * mask_so + own * mask_si + min(top + row + {self.rows[i]}, m - 1) * mask_sm"]
        for four, far in enumerate(self.fours):
            names = [f"h{i}_{FOUR * four + lane}" for lane in range(FOUR)]
            lines += read_four("mask", self.dtype, names, f"line{i}", f"first + column + {far}")
        return lines

    def hidden(self, i: int, j: int) -> str:
        """A score, scaled, or what it is where it is hidden."""
        scaled, hiding = f"s{i}_{j} * factor", f"h{i}_{j}"
        if not self.dtype:
            return scaled
        return f"select({hiding}, {scaled}, filled)" if self.dtype == "bool" else f"{scaled} + {hiding}"
