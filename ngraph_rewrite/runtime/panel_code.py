# SPDX-License-Identifier: Apache-2.0
"""A reflection of some columns that lie side by side in workspace, as vectors.

What is taken from a column is the same, to the bit, however many are reflected at once: products are added up row by
row, and each product, sum and difference is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.panel_sizes import TILE, WIDTH
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, everywhere, loop, pointer, words


class _Columns(NamedTuple):
    """So many columns, row by row from an address."""

    builder: Any
    own: Any
    address: Any
    width: int

    def places(self, i: Any) -> list[Any]:
        """The vectors of a row."""
        builder, bytes_ = self.builder, self.own.size * self.own.tile.lanes
        row = builder.add(self.address, builder.mul(i, I64(self.width * self.own.size)))
        starts = range(0, self.width * self.own.size, bytes_)
        return [pointer(builder, builder.add(row, I64(start)), self.own) for start in starts]

    def load(self, i: Any) -> list[Any]:
        """A row."""
        return [self.builder.load(place, align=self.own.size) for place in self.places(i)]

    def take(self, i: Any, factor: Any, sums: Sequence[Any], lanes: Sequence[Any]) -> None:
        """Take a multiple of the sums from a row, in the lanes that are there."""
        builder, factor = self.builder, everywhere(self.builder, factor, self.own.tile.lanes)
        for place, row, total, there in zip(self.places(i), self.load(i), sums, lanes, strict=True):
            left = builder.fsub(row, builder.fmul(factor, total))
            builder.store(left if there is None else builder.select(there, left, row), place, align=self.own.size)


def _reflect(columns: _Columns, panel: Any, step: Any, k: Any, rows: Any, twice: Any, lanes: Sequence[Any]) -> None:
    """Reflect columns at column `step` of a panel, which has a 1 in row k, and is 0 above.

    Args:
        twice: Two by the squares of that column.
        lanes: Which of the columns are reflected.
    """
    builder, own = columns.builder, columns.own

    def factor(i: Any) -> Any:
        number = builder.add(builder.mul(i, I64(WIDTH)), step)
        place = builder.add(panel, builder.mul(number, I64(own.size)))
        return builder.load(builder.inttoptr(place, own.element.as_pointer()), align=own.size)

    with builder.goto_entry_block():
        totals = [builder.alloca(own.vector) for _ in lanes]
    for total, row in zip(totals, columns.load(k), strict=True):
        builder.store(row, total)
    below = builder.add(k, I64(1))
    with loop(builder, below, rows) as i:
        element = everywhere(builder, factor(i), own.tile.lanes)
        for total, row in zip(totals, columns.load(i), strict=True):
            builder.store(builder.fadd(builder.load(total), builder.fmul(element, row)), total)
    sums = [builder.load(total) for total in totals]
    columns.take(k, twice, sums, lanes)
    with loop(builder, below, rows) as i:
        columns.take(i, builder.fmul(twice, factor(i)), sums, lanes)


def _after(columns: _Columns, step: Any) -> list[Any]:
    """The lanes of the columns that stand behind one."""
    builder, lanes = columns.builder, columns.own.tile.lanes
    last = everywhere(builder, step, lanes)
    kind = ir.VectorType(I64, lanes)
    numbers = [ir.Constant(kind, list(range(begin, begin + lanes))) for begin in range(0, columns.width, lanes)]
    return [builder.icmp_signed(">", some, last) for some in numbers]


def _word(name: str, dtype: str, width: int, others: bool) -> Any:
    """A function of a panel, the column that it is reflected at, its row, the number of rows, and two by the squares.

    Args:
        others: Whether other columns are reflected, whose address goes last; else what is right of it in the panel.
    """
    real = getattr(types, dtype)

    def reflect(builder: Any, panel: Any, step: Any, k: Any, rows: Any, twice: Any, address: Any) -> None:
        columns = _Columns(builder, words(dtype), address, width)
        lanes = [None] * len(columns.places(k)) if others else _after(columns, step)
        _reflect(columns, panel, step, k, rows, twice, lanes)

    def typing(context: Any, panel: Any, step: Any, k: Any, rows: Any, twice: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            reflect(builder, *arguments)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 4, real, types.int64), generate

    return named(name, typing)


for _dtype in ("float32", "float64"):
    for _name, _width, _others in (("panel", WIDTH, False), ("few", WIDTH, True), ("tile", TILE, True)):
        globals()[f"reflect_{_name}_{_dtype}"] = _word(f"reflect_{_name}_{_dtype}", _dtype, _width, _others)
