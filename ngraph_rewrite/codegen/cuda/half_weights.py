# SPDX-License-Identifier: Apache-2.0
"""Weights of attention over 16-bit floats in the text of kernels for a GPU: what scores become, and what masks hide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ngraph_rewrite.codegen.cuda.accumulators import paired
from ngraph_rewrite.codegen.cuda.half_forms import COLUMNS, ROWS, HalfForm
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested

LEAST = literal(float("-inf"), "float32")
_BINARY = math.log2(math.e)


@dataclass(frozen=True)
class Weights:
    """The scores of a thread, s0_0 and so on: of each product two of its first row, then two of the second.

    They become powers of two, and are scaled for that at once in a form that is binary.
    """

    form: HalfForm

    @property
    def scores(self) -> range:
        """The products of rows with keys."""
        return range(self.form.blocks.keys // COLUMNS)

    @property
    def columns(self) -> range:
        """The products of weights with values."""
        return range(self.form.blocks.columns // COLUMNS)

    def placed(self) -> list[str]:
        """The lines that find out by what scores are multiplied, and what hidden ones are.

        A finite number stays one, as rows all of whose scores are hidden have equal weights.
        """
        scale, fill = "bits_as_float64(scale)", "bits_as_float64(fill)"
        if not self.form.binary:
            hidden = [f"filled = to_float32({fill})"] if self.form.mask == "bool" else []
            return [f"factor = to_float32({scale})", *hidden]
        lines = [f"factor = to_float32({scale} * {_BINARY!r})"]
        if not self.form.mask:
            return lines
        most = repr(float(np.finfo(np.float32).max))
        bounded = f"maximum(minimum({fill} * {_BINARY!r}, {most}), -{most})"
        return [*lines, f"filled = to_float32(select(fabs({fill}) == np.inf, {fill}, {bounded}))"]

    def weighed(self) -> list[str]:
        """The lines that make weights of scores, and scale down what was summed with smaller ones."""
        lines = [f"{name} *= factor" for r in ROWS for name in self._row(r)] + self._hidden()
        for r in ROWS:
            names = self._row(r)
            lines += [f"most{r} = maximum(best{r}, quad_largest({paired(names, 'maximum({}, {})')}))"]
            lines += [f"shift{r} = select(fabs(most{r}) < np.inf, most{r}, np.float32(0.0))"]
            lines += [f"past{r} = select(fabs(best{r}) < np.inf, best{r}, np.float32(0.0))"]
            ratio = f"select(best{r} == {LEAST}, np.float32(0.0), {self._weight(f'past{r}', r)})"
            lines += [f"ratio{r} = {ratio}", f"best{r} = most{r}"]
            lines += [f"{name} = {self._weight(name, r)}" for name in names]
            lines += [f"total{r} = total{r} * ratio{r} + {paired(names, '({} + {})')}"]
            lines += [f"o{c}_{2 * r + n} *= ratio{r}" for c in self.columns for n in range(2)]
        return lines

    def best(self, r: int) -> str:
        """The text of the largest score of a row."""
        return f"best{r} * {literal(1 / _BINARY, 'float32')}" if self.form.binary else f"best{r}"

    def _row(self, r: int) -> list[str]:
        """The scores of a row."""
        return [f"s{j}_{2 * r + n}" for j in self.scores for n in range(2)]

    def _weight(self, score: str, r: int) -> str:
        """The weight of a score."""
        power = f"{score} - shift{r}"
        return f"rough_exp2({power})" if self.form.binary else f"rough_exp2(({power}) * {literal(_BINARY, 'float32')})"

    # -- what is hidden ------------------------------------------------------------------------------------------------

    def _hidden(self) -> list[str]:
        """The lines that hide scores, those beyond the last key as well: each where a tile has some."""
        lines = list[str]()
        if self.form.mask:
            masked = [line for r in ROWS for line in self._masked(r)]
            lines += ["if hides:", *nested(masked)] if self.form.mask == "bool" else masked
        beyond = [
            f"s{j}_{2 * r + n} = select(first + column + {COLUMNS * j + n} < n, s{j}_{2 * r + n}, {LEAST})"
            for j in self.scores
            for r in ROWS
            for n in range(2)
        ]
        return [*lines, f"if first + {self.form.blocks.keys} > n:", *nested(beyond)]

    def _masked(self, r: int) -> Iterator[str]:
        """The lines that do to the scores of a row what the mask says."""
        mask = self.form.mask
        yield f"line = outer * mask_so + own * mask_si + min(top + row + {COLUMNS * r}, m - 1) * mask_sm"
        for j in self.scores:
            for n in range(2):
                name, key = f"s{j}_{2 * r + n}", f"first + column + {COLUMNS * j + n}"
                hiding = f"load_{mask}(mask, line + min({key}, n - 1) * mask_sn, 0)"
                if mask == "bool":
                    yield f"{name} = select({hiding}, {name}, filled)"
                else:
                    yield f"{name} += {hiding if held(mask) == 'float32' else f'to_float32({hiding})'}"
