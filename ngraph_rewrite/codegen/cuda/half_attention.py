# SPDX-License-Identifier: Apache-2.0
"""Renders attention over 16-bit floats for a GPU, by tensor cores: scores become weights where they were summed.

Of each product of 16 rows with 8 keys, or columns, a thread has two neighbours in one row and two in the eighth below
(``mma.m16n8k16`` of the PTX ISA); four threads have the rest of both rows, and tell each other what they have found. A
warp may have some times 16 rows, all of which are multiplied with what it reads of keys and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ngraph_rewrite.codegen.cuda.cells import parted
from ngraph_rewrite.codegen.cuda.half_forms import COLUMNS, HalfForm
from ngraph_rewrite.codegen.cuda.half_tiles import LINES, HalfSide
from ngraph_rewrite.codegen.cuda.half_weights import Weights
from ngraph_rewrite.codegen.cuda.hiding import MASK_OPERANDS, known
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import HALVES
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.runtime.cuda.hardware import WARP

_SIZES = "inner count m n e d scale fill parts stretch"
_FACTORS, _SCORES = " q q_so q_si q_sm q_sk k k_so k_si k_sk k_sn", " x x_so x_si x_sm x_sn"
_VALUES = " v v_so v_si v_sk v_sd"
# Sixteens of rows that the warps of a multiprocessor have: a multiple of the four parts that its registers are in.
_RESIDENT = 12


@lru_cache(maxsize=1 << 8)
def render_half_attention(form: HalfForm) -> Source:
    """Return the kernel of attention over a float of 16 bits.

    It takes what `ngraph_rewrite.codegen.cuda.attention.render_attention` does, and gives the same but for rounding:
    weights are rounded to 16 bits before they are multiplied. Values beyond a 256th of the largest float32 may give
    infinities, as weights may be 256 before they are divided by their sum.

    Raises:
        KernelError: for another dtype.

    >>> from ngraph_rewrite.codegen.cuda.half_forms import HalfBlocks
    >>> render_half_attention(HalfForm("float16", HalfBlocks(4, 64, 64, 64), (True, True, False))).signature[:5]
    ('inner', 'count', 'm', 'n', 'e')
    """
    has_dtype(form.dtype, HALVES, "attention_of_halves")
    names = _SIZES + (_SCORES if form.given else _FACTORS) + _VALUES + (MASK_OPERANDS if form.mask else "") + " out"
    names += " found" if form.parted else ""
    return rendered("attention_of_halves", tuple(names.split()), "cuda", **_Text(form).holes())


@dataclass(frozen=True)
class _Text:
    """The lines of a kernel of some form."""

    form: HalfForm

    @cached_property
    def sides(self) -> tuple[HalfSide, HalfSide, HalfSide]:
        """Rows, keys and values, as operands of products."""
        blocks, along = self.form.blocks, self.form.along
        numbers = (blocks.threads, 0, "outer own", "o i")
        q = HalfSide("q", "left", "m", "m", blocks.rows, blocks.deep, along[0], *numbers)
        k = HalfSide("k", "right", "n", "n", blocks.keys, blocks.deep, along[1], numbers[0], q.room, *numbers[2:])
        begin = 0 if self.form.given else q.room + k.room
        v = HalfSide("v", "right", "d", "d", blocks.columns, blocks.keys, along[2], numbers[0], begin, *numbers[2:])
        return q, k, v

    @property
    def _fetched(self) -> Sequence[HalfSide]:
        """Those that go by shared memory."""
        return self.sides[2:] if self.form.given else self.sides

    @cached_property
    def weights(self) -> Weights:
        """What scores become."""
        return Weights(self.form)

    def holes(self) -> dict[str, str]:
        """What fills the template."""
        blocks, v = self.form.blocks, self.sides[2]
        return {
            "threads": str(blocks.threads),
            "fitting": str(max(1, _RESIDENT // (blocks.warps * blocks.high))),
            "room": str(v.begin + v.room),
            "rows": str(blocks.rows),
            "columns": str(blocks.columns),
            "places": _block([*self._placed(), *(line for side in self._fetched for line in side.placed())]),
            "numbers": _block(self.weights.placed()),
            **parted(self.form.parted),
            "begun": _block(self.weights.begun()),
            "first": _block(self._first()),
            "passes": _block(self._passes_unmasked() if not self.form.mask else self._passes()),
            "ended": _block(self._ended()),
        }

    def _placed(self) -> list[str]:
        """The lines that find the rows of this thread, and where it is in each product."""
        return [
            f"warp_row = quotient(number, {WARP}) * {LINES * self.form.blocks.high}",
            f"mine = remainder(number, {WARP})",
            "row, column = warp_row + quotient(mine, 4), 2 * remainder(mine, 4)",
            *self.weights.paired(),
        ]

    # -- the way along keys --------------------------------------------------------------------------------------------

    def _first(self) -> list[str]:
        """The lines that ask for rows, and for the first keys: with a mask it is not known yet which are seen."""
        if self.form.given:
            return ["pass"]
        keys = [] if self.form.mask else self.sides[1].fetched("first", "0", "e")
        return ["if first < last:", *nested([*self.sides[0].fetched("top", "0", "e"), *keys])]

    def _passes_unmasked(self) -> list[str]:
        """The lines that go by all keys: the next ones are asked for while values are added up."""
        keys = self.form.blocks.keys
        asked = [f"if first + {keys} < last:", *nested(self._asked(f"(first + {keys})"))]
        return ["while first < last:", *nested([*self._weights(), *asked, *self._mixed(), f"first += {keys}"])]

    def _passes(self) -> list[str]:
        """The lines that go by keys of which some are seen: the next such are looked for before values are added up."""
        blocks, found = self.form.blocks, ["seen = hides = False", "while coming < last and not seen:"]
        found += nested([*known(blocks.rows, "coming", blocks.keys), "if not seen:", f"    coming += {blocks.keys}"])
        body = [*found, "if seen:", *nested(self._asked("coming"))]
        body += ["if first < last:", *nested(self._mixed()), "if not seen:", "    break"]
        body += ["first = coming", f"coming += {blocks.keys}", *self._weights()]
        nothing = f"left_of_{self.form.dtype}({', '.join(['np.float32(0.0)'] * 8)})"
        names = [f"w{step}_{high}" for step in self._steps for high in self._high]
        begun = [f"{' = '.join(names)} = {nothing}", "coming, first = first, last"]
        return [*begun, "while True:", *nested(body)]

    def _weights(self) -> list[str]:
        """The lines that make weights of some keys, as they are multiplied; then all of the block have theirs."""
        lines = [*self._scores(), *self.weights.weighed()]
        for step in self._steps:
            for high in self._high:
                names = ", ".join(f"s{2 * step + half}_{4 * high + n}" for half in range(2) for n in range(4))
                lines.append(f"w{step}_{high} = left_of_{self.form.dtype}({names})")
        return [*lines, "arrived()", "barrier()"]

    def _asked(self, first: str) -> list[str]:
        """The lines that ask for keys; and for rows again, if scores were summed over more than is there at once."""
        if self.form.given:
            return ["pass"]
        again = self.sides[0].fetched("top", "0", "e")
        return [
            *self.sides[1].fetched(first, "0", "e"),
            f"if e > {self.form.blocks.deep} and first < last:",
            *nested(again),
        ]

    # -- scores --------------------------------------------------------------------------------------------------------

    def _scores(self) -> list[str]:
        """The lines that compute scores, or read them; values are asked for meanwhile."""
        (q, k, v), deep = self.sides, self.form.blocks.deep
        lines = ["arrived()", "barrier()", *v.fetched("left", "first", f"min(n, first + {self.form.blocks.keys})")]
        if self.form.given:
            return [*lines, *(line for r in self.weights.rows for line in self._read(r))]
        sums = [f"s{j}_{2 * r + n}" for j in self.weights.scores for r in self.weights.rows for n in range(2)]
        lines += [f"{' = '.join(sums)} = np.float32(0.0)", *self._multiplied()]
        more = [
            "barrier()",
            *q.fetched("top", "begin", "e"),
            *k.fetched("first", "begin", "e"),
            "arrived()",
            "barrier()",
        ]
        lines += [f"begin = {deep}", "while begin < e:", *nested([*more, *self._multiplied(), f"begin += {deep}"])]
        return lines

    def _read(self, r: int) -> Iterator[str]:
        """The lines that read given scores of a row; beyond the ends anything will do."""
        yield f"line = outer * x_so + own * x_si + min(top + row + {COLUMNS * r}, m - 1) * x_sm"
        for j in self.weights.scores:
            for n in range(2):
                at = f"line + min(first + column + {COLUMNS * j + n}, n - 1) * x_sn"
                yield f"s{j}_{2 * r + n} = load_{self.form.dtype}(x, {at}, 0)"

    def _multiplied(self) -> Iterator[str]:
        """The lines that multiply rows with keys, as far as they are in shared memory."""
        q, k, _ = self.sides
        for depth in range(0, self.form.blocks.deep, LINES):
            for high in self._high:
                yield q.seen(high, f"warp_row + {high * LINES}", depth)
            for pair in range(len(self.weights.scores) // 2):
                yield k.seen(pair, str(pair * LINES), depth)
            for j in self.weights.scores:
                yield from (self._added(f"s{j}", high, f"q{high}, k{j // 2}, {j % 2}") for high in self._high)

    # -- the result ----------------------------------------------------------------------------------------------------

    def _mixed(self) -> list[str]:
        """The lines that multiply weights with values."""
        v, lines = self.sides[2], list[str]()
        for step in self._steps:
            lines += [v.seen(pair, str(pair * LINES), step * LINES) for pair in range(len(self.weights.columns) // 2)]
            for c in self.weights.columns:
                lines += [self._added(f"o{c}", high, f"w{step}_{high}, v{c // 2}, {c % 2}") for high in self._high]
        return lines

    @property
    def _steps(self) -> range:
        """The sixteens of keys that go by at once."""
        return range(self.form.blocks.keys // LINES)

    @property
    def _high(self) -> range:
        """The sixteens of rows of a warp."""
        return range(self.form.blocks.high)

    def _added(self, sums: str, high: int, factors: str) -> str:
        """The line that adds a product of some rows to sums."""
        names = ", ".join(f"{sums}_{4 * high + n}" for n in range(4))
        return f"{names} = products_{self.form.dtype}({factors}, {names})"

    def _ended(self) -> Iterator[str]:
        """The lines that divide by the sums of weights, and store; of a part, what was summed as it is."""
        for r in self.weights.rows:
            yield f"total{r} = quad_sum(total{r})"
        for r in self.weights.rows:
            yield f"i0 = top + row + {COLUMNS * r}"
            yield "if i0 < m:"
            sums = [f"o{c}_{2 * r + n}" for c in self.weights.columns for n in range(2)]
            yield from nested(self._part_stored(r, sums) if self.form.parted else self._stored(r, sums))

    def _stored(self, r: int, sums: Sequence[str]) -> Iterator[str]:
        yield f"share = np.float32(1.0) / select(n > 0, total{r}, np.float32(1.0))"
        yield "line = (group * m + i0) * d"
        pairs = [
            f"pair_of_{self.form.dtype}({x} * share, {y} * share)" for x, y in zip(sums[::2], sums[1::2], strict=True)
        ]
        yield f"if left + {self.form.blocks.columns} <= d and d & 1 == 0 and aligned(out, 4):"
        yield "    line = (line + left + column) >> 1"
        yield from (f"    store_int32(out, line + {n * COLUMNS // 2}, {pair}, 1)" for n, pair in enumerate(pairs))
        yield "else:"
        for number, name in enumerate(sums):
            yield from nested(self._one_stored(number, f"store_{self.form.dtype}(out, line + i1, {name} * share, 1)"))

    def _part_stored(self, r: int, sums: Sequence[str]) -> Iterator[str]:
        yield "line = (part * count + group) * m + i0"
        yield "if left + column == 0:"
        yield f"    store_float32(found, line, total{r}, 2)"
        yield f"    store_float32(found, parts * count * m + line, {self.weights.best(r)}, 2)"
        for number, name in enumerate(sums):
            yield from self._one_stored(number, f"store_float32(out, line * d + i1, {name}, 1)")

    @staticmethod
    def _one_stored(number: int, store: str) -> Iterator[str]:
        yield f"i1 = left + column + {number // 2 * COLUMNS + number % 2}"
        yield "if i1 < d:"
        yield f"    {store}"


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines)
