# SPDX-License-Identifier: Apache-2.0
"""Renders attention for a GPU: tiles of scores become weights in registers, and are nowhere as a whole.

Of each of its rows a thread knows the largest score that any thread has met, and the sum of the weights that it has
met itself (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al., FlashAttention, 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from ngraph_rewrite.codegen.cuda.accumulators import paired
from ngraph_rewrite.codegen.cuda.cells import Cells, Form, parted
from ngraph_rewrite.codegen.cuda.hiding import MASK_OPERANDS, Mask, known
from ngraph_rewrite.codegen.cuda.keys import read_four, wide_line
from ngraph_rewrite.codegen.cuda.lanes import FOUR, bytes_of_four
from ngraph_rewrite.codegen.cuda.tiles import Side, threads_placed
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import HALVES, held, literal
from ngraph_rewrite.codegen.source import Source, nested

FLOATS = ("float32", "float64")
_SIZES = "inner count m n e d scale fill parts stretch"
_FACTORS = " q q_so q_si q_sm q_sk k k_so k_si k_sk k_sn"
_SCORES = " x x_so x_si x_sm x_sn"
_VALUES = " v v_so v_si v_sk v_sd"
_MATRIX, _BETWEEN = "outer own", "o i"
# Threads of a multiprocessor, of whose registers each has 168, or 255; cells that are too many for the former.
_MANY, _FEWER, _CELLS = 384, 256, 64


@lru_cache(maxsize=1 << 8)
def render_attention(form: Form) -> Source:
    """Return the kernel OUT[o, i] = softmax(scale Q[o, i] K[o, i]) V[o, i] of ``count`` products, ``inner`` for each o.

    Q is of m and e, K of e and n, V of n and d; given scores X are of m and n. A mask of truths keeps scores, and where
    it is false they are ``fill``; another is added to them. What it does to each tile is in TILES
    (`ngraph_rewrite.codegen.cuda.hiding.render_tiles`). Strides are in elements, ``so`` and ``si`` those from o to
    o and from i to i; OUT is contiguous, and ``scale`` and ``fill`` are the bits of a float64.

    Keys are cut into ``parts``, each ``stretch`` long, a multiple of those that go by at once. In a form with parts OUT
    has what was summed for each, in the dtype in which is computed, and FOUND the sums of weights and then the largest
    scores.

    Raises:
        KernelError: for anything but float32 and float64.

    >>> from ngraph_rewrite.codegen.cuda.cells import Blocks
    >>> render_attention(Form("float32", Blocks(64, 64, 64, 16, 8, 4), (True, True, False))).signature[:5]
    ('inner', 'count', 'm', 'n', 'e')
    """
    has_dtype(form.dtype, FLOATS, "attention")
    text = _Text(form)
    names = _SIZES + (_SCORES if form.given else _FACTORS) + _VALUES + (MASK_OPERANDS if form.mask else "") + " out"
    names += " found" if form.parted else ""
    return rendered("attention", tuple(names.split()), "cuda", **text.holes())


@dataclass(frozen=True)
class _Text(Cells):
    """The lines of a kernel of some form."""

    @cached_property
    def sides(self) -> tuple[Side, Side, Side]:
        """Rows, keys and values, as operands of products."""
        form, dtype = self.form, self.form.dtype
        one, two = form.blocks.products, form.blocks.mixtures
        q = Side("q", "m", "top", one.rows, one.down, form.along[0], one, dtype, _MATRIX, _BETWEEN)
        k = Side("k", "n", "first", one.columns, one.across, form.along[1], one, dtype, _MATRIX, _BETWEEN)
        v = Side("v", "d", "left", two.columns, two.across, form.along[2], two, dtype, _MATRIX, _BETWEEN)
        return q, k, v

    @cached_property
    def mask(self) -> Mask:
        """What hides scores."""
        form = self.form
        return Mask(form.mask, [self.row(i) for i in self.rows], [self.key(j) for j in self.keys[::FOUR]])

    def holes(self) -> dict[str, str]:
        """What fills the template."""
        blocks, (q, k, v) = self.form.blocks, self.sides
        rows = blocks.rows * self.pitch
        others = max(k.half * 2, v.half * 2, self.across * self.apart)
        begun = [f"o{i}_{c}" for i in self.rows for c in self.columns] + [f"total{i}" for i in self.rows]
        return {
            "held": self.own,
            "bounds": f"launch_bounds({blocks.threads}, {max(1, self._threads // blocks.threads)})",
            "rows": str(blocks.rows),
            "columns": str(blocks.columns),
            "keys": str(blocks.keys),
            "weights_room": str(rows if self.form.given else max(rows, q.half * 2)),
            "others_room": str(others),
            **parted(self.form.parted),
            "places": "\n".join([*threads_placed(blocks.products), *self._placed()]),
            "begun": "\n".join(
                [self.assigned(begun, 0.0), self.assigned([f"best{i}" for i in self.rows], float("-inf"))]
            ),
            "known": "\n".join(known(blocks.rows, "first", blocks.keys)) if self.form.mask else "pass",
            "seen": "seen" if self.form.mask else "True",
            "scores": "\n".join(self._scores()),
            "weighed": "\n".join(self._weighed()),
            "mixed": "\n".join(self._mixed()),
            "ended": "\n".join(self._ended()),
        }

    @property
    def _threads(self) -> int:
        """How many threads a multiprocessor should have."""
        cells = len(self.rows) * (len(self.keys) + len(self.columns))
        return _MANY if cells * (1 + (self.own == "float64")) <= _CELLS else _FEWER

    def _placed(self) -> list[str]:
        q, k, v = self.sides
        size = bytes_of_four(self.own if self.form.parted else self.form.dtype)
        lines = [f"wide = d & {FOUR - 1} == 0 and aligned(out, {size})"]
        lines += [wide_line("mask", self.form.mask)] if self.form.mask else []
        if self.form.given:
            return [*v.placed(), *lines, wide_line("x", self.form.dtype)]
        return [*q.placed(), *k.placed(), *v.placed(), *lines]

    # -- scores -------------------------------------------------------------------------------------------------------

    def _scores(self) -> list[str]:
        """The lines that compute scores, or read them."""
        cells = [f"s{i}_{j}" for i in self.rows for j in self.keys]
        if self.form.given:
            return [line for i in self.rows for line in self._read(i)]
        q, k, _ = self.sides
        sums = [f"s{i}_{j} = fused(q_{i}, k_{j}, s{i}_{j})" for i in self.rows for j in self.keys]
        begun = ["begin, end = 0, e", *q.begun(), *k.begun(), self.assigned(cells, 0.0)]
        places = f"q_at, k_at = half * {q.half} + row, half * {k.half} + column"
        steps = self.form.blocks.unrolled
        return [*begun, *self._passed([q, k], places, [*q.seen(), *k.seen(), *sums] * steps, steps)]

    def _passed(self, sides: Sequence[Side], places: str, summed: Sequence[str], steps: int) -> list[str]:
        """The lines in which operands go by: while some is summed up, what follows is on its way."""
        fetched = ["if following < end:", *nested(line for side in sides for line in side.fetched())]
        kept = ["if following < end:", *nested(line for side in sides for line in side.kept())]
        deep = self.form.blocks.deep
        turn = ["depth = 0", f"while depth < {deep}:", *nested([*summed, f"depth += {steps}"])]
        passed = [f"following = at_k + {deep}", *fetched, "if at_k >= begin:", *nested([places, *turn])]
        passed += ["half = 1 - half", *kept, "barrier()", "at_k = following"]
        return [f"at_k, half = begin - {deep}, 0", "while at_k < end:", *nested(passed)]

    def _read(self, i: int) -> list[str]:
        """The lines that read given scores of a row; beyond the ends anything will do."""
        lines = [f"x{i} = outer * x_so + own * x_si + min(top + row + {self.row(i)}, m - 1) * x_sm"]
        for j in self.keys[::FOUR]:
            names = [f"s{i}_{j + lane}" for lane in range(FOUR)]
            lines += read_four("x", self.form.dtype, names, f"x{i}", f"first + column + {self.key(j)}")
        return lines

    # -- weights ------------------------------------------------------------------------------------------------------

    def _weighed(self) -> list[str]:
        """The lines that make weights of scores, and scale down what was summed with smaller ones."""
        lines = [f"t{i}_{j} = s{i}_{j} * factor" for i in self.rows for j in self.keys]
        lines += [*self.mask.hidden(), f"if first + {self.form.blocks.keys} > n:", *nested(self._beyond())]
        found = [[f"t{i}_{j}" for j in self.keys] for i in self.rows]
        lines += [f"found{i} = {paired(names, self._larger)}" for i, names in enumerate(found)]
        lines += [*self.told("found"), *(f"most{i} = best{i}" for i in self.rows), "barrier()"]
        larger = [f"most{i} = {self._larger.format(f'most{i}', f'met{i}')}" for i in self.rows]
        return [*lines, *self.met(larger), *(line for i in self.rows for line in self._weights(i))]

    def _beyond(self) -> list[str]:
        """The lines that hide scores beyond the last key."""
        least = literal(float("-inf"), self.own)
        lines = [f"in{j} = first + column + {self.key(j)} < n" for j in self.keys]
        return lines + [f"t{i}_{j} = select(in{j}, t{i}_{j}, {least})" for i in self.rows for j in self.keys]

    @property
    def _larger(self) -> str:
        """The text of the larger of two scores; of those that are NaN, so will be all weights of the row."""
        return "maximum({}, {})" if self.own == "float32" else "number_max({}, {})"

    def _weights(self, i: int) -> list[str]:
        zero, least = literal(0.0, self.own), literal(float("-inf"), self.own)
        lines = [f"shift{i} = select(fabs(most{i}) < np.inf, most{i}, {zero})"]
        lines += [f"past{i} = select(fabs(best{i}) < np.inf, best{i}, {zero})"]
        lines += [f"ratio{i} = select(best{i} == {least}, {zero}, exp(past{i} - shift{i}))", f"best{i} = most{i}"]
        lines += [f"p{i}_{j} = exp(t{i}_{j} - shift{i})" for j in self.keys]
        lines += [f"total{i} = total{i} * ratio{i} + ({' + '.join(f'p{i}_{j}' for j in self.keys)})"]
        lines += [f"o{i}_{c} *= ratio{i}" for c in self.columns]
        for j in self.keys[::FOUR]:
            place = f"(row + {self.row(i)}) * {self.pitch} + column + {self.key(j)}"
            lines += [f"write4_{self.own}(weights, {place}, {', '.join(f'p{i}_{j + lane}' for lane in range(FOUR))})"]
        return lines

    # -- the result ---------------------------------------------------------------------------------------------------

    def _mixed(self) -> list[str]:
        """The lines that add values, four keys at a time."""
        v, summed = self.sides[2], list[str]()
        for lane in range(FOUR):
            for c in self.columns[::FOUR]:
                names = ", ".join(f"u{lane}_{c + n}" for n in range(FOUR))
                summed.append(f"{names} = read4_{self.own}(others, v_at + {lane * v.pitch + self.key(c)})")
        for i in self.rows:
            names = ", ".join(f"w{i}_{lane}" for lane in range(FOUR))
            summed.append(f"{names} = read4_{self.own}(weights, w_at + {self.row(i) * self.pitch})")
            cells = [(lane, c) for lane in range(FOUR) for c in self.columns]
            summed += [f"o{i}_{c} = fused(w{i}_{lane}, u{lane}_{c}, o{i}_{c})" for lane, c in cells]
        summed += [f"w_at += {FOUR}", f"v_at += {FOUR * v.pitch}"]
        places = f"w_at, v_at = row * {self.pitch} + at_k - begin, half * {v.half} + column"
        begun = [f"begin, end = first, min(n, first + {self.form.blocks.keys})", *v.begun()]
        return [*begun, *self._passed([v], places, summed, FOUR)]

    def _ended(self) -> list[str]:
        """The lines that divide by the sums of weights, and store: four columns of the first row at a time."""
        sums, totals = [f"o{i}_{c}" for i in self.rows for c in self.columns], [f"total{i}" for i in self.rows]
        added, bests = [f"total{i} = total{i} + met{i}" for i in self.rows], [f"best{i}" for i in self.rows]
        lines = [*self.told("total"), "barrier()", self.assigned(totals, 0.0), *self.met(added), "barrier()"]
        fours, high = len(self.columns) // FOUR, min(self.form.blocks.down, FOUR)
        apart = high * self.form.blocks.rows // self.form.blocks.down
        turn = [f"turn_row = quotient(four, {fours})", f"turn_four = four - turn_row * {fours}"]
        turn += [f"i0 = top + row + quotient(turn_row, {high}) * {apart} + remainder(turn_row, {high})"]
        turn += [f"i1 = left + column + turn_four * {FOUR * self.across}"]
        turn += ["if i0 < m:", *nested(self._stored(sums[:FOUR]))]
        turn += [f"{x} = {y}" for x, y in zip(sums, sums[FOUR:], strict=False)]
        turn += [f"if turn_four == {fours - 1}:", "    pass"]
        for names in (totals, bests)[: 1 + self.form.parted] if totals[1:] else ():
            turn += [f"    {', '.join(names[:-1])} = {', '.join(names[1:])}"]
        return [*lines, "four = 0", f"while four < {len(sums) // FOUR}:", *nested([*turn, "four += 1"])]

    def _stored(self, sums: Sequence[str]) -> list[str]:
        """The lines that store four columns of the first row; of a part, its sums as they are."""
        if self.form.parted:
            line = "((part * count + group) * m + i0)"
            lines = [f"line = {line}", "if left + column + turn_four == 0:"]
            lines += [f"    store_{self.own}(found, line, total0, 2)"]
            lines += [f"    store_{self.own}(found, parts * count * m + line, best0, 2)", "place = line * d + i1"]
            return [*lines, *self._four_stored(self.own, sums)]
        mixed = [f"y{lane}" for lane in range(FOUR)]
        lines = [f"whole = select(n > 0, total0, {literal(1.0, self.own)})", "place = (group * m + i0) * d + i1"]
        lines += [f"{y} = {x} / whole" for x, y in zip(sums, mixed, strict=True)]
        return [*lines, *self._four_stored(self.form.dtype, mixed)]

    @staticmethod
    def _four_stored(dtype: str, values: Sequence[str]) -> list[str]:
        four = [f"if wide and i1 + {FOUR} <= d:", f"    store4_{dtype}(out, place, {', '.join(values)})", "else:"]
        each = [f"if i1 + {n} < d:\n    store_{dtype}(out, place + {n}, {x}, 1)" for n, x in enumerate(values)]
        return [*four, *nested(each)]


@cache
def render_sums(dtype: str) -> Source:
    """Return the kernel that adds up what parts of keys gave, of ``rows`` in all; see `render_attention`.

    >>> render_sums("float32").signature
    ('rows', 'd', 'parts', 'sums', 'found', 'out')
    """
    has_dtype(dtype, (*HALVES, *FLOATS), "attention")
    own = held(dtype)
    numbers = {"zero": literal(0.0, own), "least": literal(float("-inf"), own)}
    names = ("rows", "d", "parts", "sums", "found", "out")
    return rendered("attention_sums", names, "cuda", dtype=dtype, held=own, **numbers)
