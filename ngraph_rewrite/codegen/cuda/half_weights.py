# SPDX-License-Identifier: Apache-2.0
"""Weights of attention over 16-bit floats in the text of kernels for a GPU: what scores become, and what masks hide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ngraph_rewrite.codegen.cuda.half_forms import COLUMNS, ROWS, HalfForm
from ngraph_rewrite.codegen.cuda.hiding import AGREED, Mask
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested

LEAST = literal(float("-inf"), "float32")


@dataclass(frozen=True)
class Weights:
    """The scores of a thread, s0_0 and so on: of each product two of its first row, then two of the second."""

    form: HalfForm

    @property
    def scores(self) -> range:
        """The products of rows with keys."""
        return range(self.form.blocks.keys // COLUMNS)

    @property
    def columns(self) -> range:
        """The products of weights with values."""
        return range(self.form.blocks.columns // COLUMNS)

    def weighed(self) -> list[str]:
        """The lines that make weights of scores, and scale down what was summed with smaller ones."""
        lines = list[str]()
        for r in ROWS:
            lines += self._hidden(r)
            names = [f"s{j}_{2 * r + n}" for j in self.scores for n in range(2)]
            largest = names[0]
            for name in names[1:]:
                largest = f"number_max({largest}, {name})"
            lines += [f"most{r} = number_max(best{r}, quad_largest({largest}))"]
            lines += [f"shift{r} = select(fabs(most{r}) < np.inf, most{r}, np.float32(0.0))"]
            lines += [f"past{r} = select(fabs(best{r}) < np.inf, best{r}, np.float32(0.0))"]
            ratio = f"select(best{r} == {LEAST}, np.float32(0.0), rough_exp(past{r} - shift{r}))"
            lines += [f"ratio{r} = {ratio}", f"best{r} = most{r}"]
            lines += [f"{name} = rough_exp({name} - shift{r})" for name in names]
            lines += [f"total{r} = total{r} * ratio{r} + ({' + '.join(names)})"]
            lines += [f"o{c}_{2 * r + n} *= ratio{r}" for c in self.columns for n in range(2)]
        return lines

    def _hidden(self, r: int) -> Iterator[str]:
        """The lines that scale scores of a row, hide some of them, and those beyond the last key."""
        if self.form.mask:
            yield self._line(r)
        for j in self.scores:
            for n in range(2):
                name, key = f"s{j}_{2 * r + n}", f"first + column + {COLUMNS * j + n}"
                scaled = f"{name} * factor"
                if self.form.mask:
                    hiding = f"load_{self.form.mask}(mask, line + min({key}, n - 1) * mask_sn, 0)"
                    added = f"{scaled} + {self._number(hiding)}"
                    scaled = f"select({hiding}, {scaled}, filled)" if self.form.mask == "bool" else added
                yield f"{name} = select({key} < n, {scaled}, {LEAST})"

    def _number(self, text: str) -> str:
        """A number of the mask as float32."""
        return text if held(self.form.mask) == "float32" else f"to_float32({text})"

    @staticmethod
    def _line(r: int) -> str:
        """The line that finds a row of the mask."""
        return f"line = outer * mask_so + own * mask_si + min(top + row + {COLUMNS * r}, m - 1) * mask_sm"

    @property
    def mask(self) -> Mask:
        """What tells which tiles are seen; which scores are hidden is read here, in other places of a tile."""
        return Mask(self.form.mask, (0, COLUMNS), ())

    def looked(self) -> list[str]:
        """The lines in which the threads of a block find out whether any of them sees something of a tile."""
        mask = self.form.mask
        if not mask:
            return ["pass"]
        lines = [f"seen = filled != {LEAST}" if mask == "bool" else "seen = False"]
        for r in ROWS:
            hiding = f"load_{mask}(mask, line + min(first + column + look, n - 1) * mask_sn, 0)"
            test = hiding if mask == "bool" else f"({hiding} != {literal(float('-inf'), held(mask))})"
            turn = [f"seen = seen | {test}", f"look += {COLUMNS}"]
            for n in range(2):
                lines += [self._line(r), f"look = {n}", f"while look < {self.form.blocks.keys}:", *nested(turn)]
        return [*lines, AGREED]
