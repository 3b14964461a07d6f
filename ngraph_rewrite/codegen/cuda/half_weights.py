# SPDX-License-Identifier: Apache-2.0
"""Weights of attention over 16-bit floats in the text of kernels for a GPU: what scores become, and what masks hide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ngraph_rewrite.codegen.cuda.accumulators import paired
from ngraph_rewrite.codegen.cuda.half_forms import COLUMNS, HalfForm
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import nested

LEAST = literal(float("-inf"), "float32")
_BINARY = math.log2(math.e)
# By so many powers of two a score may be larger than what is subtracted from all: what is summed is finite all the
# same, and is rarely to be made smaller (Zadouri and others, FlashAttention-4, 2026).
_SLACK = 8
# Exponents from here on are not scaled, as what is subtracted from them is rounded by too much: unscaled it is exact.
# Scores that are so large and differ do so by so much that smaller ones have no weight, whatever the scale.
_LARGE = literal(float(1 << 26), "float32")


@dataclass(frozen=True)
class Weights:
    """The scores of a thread, s0_0 and so on: of each product with some keys two of its first row, then of the next.

    They become powers of two: what is subtracted from them, ``shift``, is near the largest that there was, ``best``. In
    a form that is binary scores stay products until they are exponents.
    """

    form: HalfForm

    @property
    def scores(self) -> range:
        """The products of rows with keys."""
        return range(self.form.blocks.keys // COLUMNS)

    @property
    def rows(self) -> range:
        """The rows of a thread."""
        return self.form.blocks.of_thread

    @property
    def columns(self) -> range:
        """The products of weights with values."""
        return range(self.form.blocks.columns // COLUMNS)

    def placed(self) -> list[str]:
        """The lines that find out by what scores are multiplied, and what hidden ones are.

        A finite number stays one, as rows all of whose scores are hidden have equal weights.
        """
        scale, fill, most = "bits_as_float64(scale)", "bits_as_float64(fill)", repr(float(np.finfo(np.float32).max))
        if not self.form.binary:
            hidden = [f"filled = to_float32({fill})"] if self.form.mask == "bool" else []
            return [f"factor = to_float32({scale})", *hidden]
        lines = [f"factor = to_float32({scale} * {_BINARY!r})"]
        if not self.form.mask:
            return lines
        bounded = f"maximum(minimum({fill} / {scale}, {most}), -{most})"
        return [*lines, f"filled = to_float32(select(fabs({fill}) == np.inf, {fill}, {bounded}))"]

    def begun(self) -> list[str]:
        """The lines that begin with no key at all."""
        sums = [f"o{c}_{2 * r + n}" for c in self.columns for r in self.rows for n in range(2)]
        sums += [f"{name}{r}" for name in ("total", "shift") for r in self.rows]
        lines = [f"{' = '.join(sums)} = np.float32(0.0)", f"{' = '.join(f'best{r}' for r in self.rows)} = {LEAST}"]
        return [*lines, *([f"{' = '.join(f'factor{r}' for r in self.rows)} = factor"] if self.form.binary else [])]

    def weighed(self) -> list[str]:
        """The lines that make weights of scores."""
        scaled = [] if self.form.binary else [f"{name} *= factor" for r in self.rows for name in self._row(r)]
        lines = [*scaled, *self._hidden()]
        lines += [f"most{r} = quad_largest({paired(self._row(r), 'maximum({}, {})')})" for r in self.rows]
        larger = " | ".join(map(self._larger, self.rows))
        lines += [f"if any_of_warp({larger}):", *nested(line for r in self.rows for line in self._raised(r))]
        for r in self.rows:
            lines += [f"{name} = {self._weight(name, r)}" for name in self._row(r)]
            lines += [f"total{r} += {paired(self._row(r), '({} + {})')}"]
        return lines

    def _larger(self, r: int) -> str:
        """Whether more is to be subtracted from scores of a row: its first ones, or some that are larger by much."""
        if self.form.binary:
            much = f"fused(most{r}, factor{r}, -shift{r}) > np.float32({_SLACK}.0)"
        else:
            much = f"most{r} - shift{r} > {literal(_SLACK / _BINARY, 'float32')}"
        return f"({much}) | ((best{r} == {LEAST}) & (most{r} > {LEAST}))"

    def _raised(self, r: int) -> Iterator[str]:
        """The lines that subtract more from scores of a row, and scale down what was summed."""
        shift = f"most{r} * factor{r}" if self.form.binary else f"most{r}"
        yield f"most{r} = maximum(best{r}, most{r})"
        yield f"past{r} = shift{r}"
        if self.form.binary:
            yield f"factor{r} = select(fabs(most{r} * factor) < {_LARGE}, factor, np.float32(1.0))"
        yield f"shift{r} = select(fabs(most{r}) < np.inf, {shift}, np.float32(0.0))"
        power = f"past{r} - shift{r}" if self.form.binary else f"(past{r} - shift{r}) * {literal(_BINARY, 'float32')}"
        yield f"ratio{r} = select(best{r} == {LEAST}, np.float32(0.0), rough_exp2({power}))"
        yield f"best{r} = most{r}"
        for name in (f"total{r}", *(f"o{c}_{2 * r + n}" for c in self.columns for n in range(2))):
            yield f"{name} *= ratio{r}"

    def best(self, r: int) -> str:
        """The text of what weights of a row are relative to, as a score."""
        return f"best{r} * (factor * {literal(1 / _BINARY, 'float32')})" if self.form.binary else f"best{r}"

    def _row(self, r: int) -> list[str]:
        """The scores of a row."""
        return [f"s{j}_{2 * r + n}" for j in self.scores for n in range(2)]

    def _weight(self, score: str, r: int) -> str:
        """The weight of a score."""
        if self.form.binary:
            return f"rough_exp2(fused({score}, factor{r}, -shift{r}))"
        return f"rough_exp2(({score} - shift{r}) * {literal(_BINARY, 'float32')})"

    # -- what is hidden ------------------------------------------------------------------------------------------------

    def _hidden(self) -> list[str]:
        """The lines that hide scores, those beyond the last key as well: each where a tile has some."""
        lines, blocks = list[str](), self.form.blocks
        if self.form.mask:
            test = f"mask_pairs and first + {blocks.keys} <= n and top + {blocks.rows} <= m"
            inside, anywhere = ([x for r in self.rows for x in of(r)] for of in (self._masked_inside, self._masked))
            lines += ["if hides:", *nested([f"if {test}:", *nested(inside), "else:", *nested(anywhere)])]
        beyond = [
            f"s{j}_{2 * r + n} = select(first + column + {COLUMNS * j + n} < n, s{j}_{2 * r + n}, {LEAST})"
            for j in self.scores
            for r in self.rows
            for n in range(2)
        ]
        return [*lines, f"if first + {blocks.keys} > n:", *nested(beyond)]

    def paired(self) -> list[str]:
        """The line that finds out whether two neighbours along the keys lie side by side in the mask, as one number."""
        strides = "mask_so | mask_si | mask_sm"
        return [f"mask_pairs = mask_sn == 1 and ({strides}) & 1 == 0 and aligned(mask, 2)"] if self.form.mask else []

    def _masked_inside(self, r: int) -> Iterator[str]:
        """The lines that do to the scores of a row what the mask says, where all of the tile is there."""
        row = f"outer * mask_so + own * mask_si + (top + row + {COLUMNS * r}) * mask_sm + first + column"
        if self.form.mask != "bool":
            yield f"line = {row}"
            for j in self.scores:
                for n in range(2):
                    yield f"s{j}_{2 * r + n} += {self._added(f'line + {COLUMNS * j + n}')}"
            return
        yield f"line = ({row}) >> 1"
        for j in self.scores:
            yield f"pair = load_uint16(mask, line + {COLUMNS // 2 * j}, 0)"
            for n, part in enumerate(("(pair & 255) != 0", "pair > 255")):
                yield f"s{j}_{2 * r + n} = select({part}, s{j}_{2 * r + n}, filled)"

    def _masked(self, r: int) -> Iterator[str]:
        """The same wherever the tile is, and however the mask lies."""
        yield f"line = outer * mask_so + own * mask_si + min(top + row + {COLUMNS * r}, m - 1) * mask_sm"
        for j in self.scores:
            for n in range(2):
                name, place = f"s{j}_{2 * r + n}", f"line + min(first + column + {COLUMNS * j + n}, n - 1) * mask_sn"
                if self.form.mask == "bool":
                    yield f"{name} = select(load_bool(mask, {place}, 0), {name}, filled)"
                else:
                    yield f"{name} += {self._added(place)}"

    def _added(self, place: str) -> str:
        """What a mask of numbers adds to a score."""
        number = f"load_{self.form.mask}(mask, {place}, 0)"
        return number if held(self.form.mask) == "float32" else f"to_float32({number})"
