# SPDX-License-Identifier: Apache-2.0
"""One walk down a panel: each row is reflected at a column, and what the next column's reflection needs is added up.

A panel has rows of `WIDTH` columns side by side, as vectors. Sums of products with the next column tell its length, and
what its reflection takes from the columns right of it.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.panel_sizes import WIDTH
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, declared, everywhere, loop, multiply_add, plus, pointer, words

_SUMS, _MOST = 8, 4  # vectors of sums that are in registers, and rows that are changed together


class _Rows:
    """The rows of a panel, and what is done with each of them."""

    def __init__(self, builder: Any, dtype: str, panel: Any, k: Any, following: Any, factor: Any, taken: Any) -> None:
        self.builder, self.own, self.panel, self.factor = builder, words(dtype), panel, factor
        self.k, self.following = (builder.mul(place, I64(self.own.size)) for place in (k, following))
        self.taken = [builder.load(place, align=self.own.size) for place in self.vectors(taken)]
        self.next_taken = self.number(builder.add(taken, self.following))

    def vectors(self, address: Any) -> list[Any]:
        """Where the vectors of a row are."""
        starts = range(0, WIDTH * self.own.size, self.own.size * self.own.tile.lanes)
        return [pointer(self.builder, self.builder.add(address, I64(start)), self.own) for start in starts]

    def place(self, address: Any) -> Any:
        """Where a number is."""
        return self.builder.inttoptr(address, self.own.element.as_pointer())

    def number(self, address: Any) -> Any:
        """A number."""
        return self.builder.load(self.place(address), align=self.own.size)

    def change(self, i: Any, sums: list[Any]) -> None:
        """Take from row i what is taken, times its factor, which stays in column k; add to the sums."""
        builder, own = self.builder, self.own
        address = builder.add(self.panel, builder.mul(i, I64(WIDTH * own.size)))
        factor = builder.fmul(self.number(builder.add(address, self.k)), self.factor)
        following = self.number(builder.add(address, self.following))
        less = builder.fneg(factor)
        # rounded as in its row: where nearly nothing is left of a column, that decides what it is multiplied with
        kind = own.element
        rounded = declared(builder, f"llvm.fmuladd.f{8 * own.size}", [kind] * 3, kind)
        following = builder.call(rounded, [less, self.next_taken, following])
        less, times = (everywhere(builder, x, own.tile.lanes) for x in (less, following))
        for place, taken, total in zip(self.vectors(address), self.taken, sums, strict=True):
            row = multiply_add(builder, own, less, taken, builder.load(place, align=own.size))
            builder.store(row, place, align=own.size)
            builder.store(multiply_add(builder, own, times, row, builder.load(total)), total)
        builder.store(factor, self.place(builder.add(address, self.k)), align=own.size)


def _change(rows: _Rows, begin: Any, end: Any, sums: Any) -> None:
    """Change rows, some together, each of which has sums of its own."""
    builder, own, places = rows.builder, rows.own, rows.vectors(sums)
    together = max(1, min(_MOST, _SUMS // len(places)))
    with builder.goto_entry_block():
        totals = [[builder.alloca(own.vector) for _ in places] for _ in range(together)]
    for total, place in zip(totals[0], places, strict=True):
        builder.store(builder.load(place, align=own.size), total)
    for total in sum(totals[1:], []):
        builder.store(own.vector(None), total)
    groups = builder.sdiv(builder.sub(end, begin), I64(together))
    whole = builder.add(begin, builder.mul(groups, I64(together)))
    with loop(builder, begin, whole, together) as i:
        for r in range(together):
            rows.change(builder.add(i, I64(r)), totals[r])
    with loop(builder, whole, end) as i:
        rows.change(i, totals[0])
    for number, place in enumerate(places):
        value = builder.load(totals[0][number])
        for other in totals[1:]:
            value = plus(builder, own, value, builder.load(other[number]))
        builder.store(value, place, align=own.size)


def _word(dtype: str) -> Any:
    """A function of a panel, of the columns that it is reflected at now and next, of the first row and the end.

    Column k times `factor` is the reflection; ``taken`` and ``sums`` are rows in memory.
    """
    real = getattr(types, dtype)

    def typing(
        context: Any, panel: Any, k: Any, following: Any, begin: Any, end: Any, factor: Any, taken: Any, sums: Any
    ) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            panel, k, following, begin, end, factor, taken, sums = arguments
            _change(_Rows(builder, dtype, panel, k, following, factor, taken), begin, end, sums)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 5, real, types.int64, types.int64), generate

    return named(f"change_rows_{dtype}", typing)


for _dtype in ("float32", "float64"):
    globals()[f"change_rows_{_dtype}"] = _word(_dtype)
