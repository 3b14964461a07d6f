# SPDX-License-Identifier: Apache-2.0
"""Rotations of neighbouring rows of a strip, one after the other, as vectors: the row that two share is in registers.

Each product, sum and difference is rounded, as if every rotation had read both rows and written them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.panel_sizes import STRIP
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, Words, everywhere, loop, pointer, words

_TOGETHER = 4  # vectors of a row that are turned together: they and their neighbours have registers


class _Rows:
    """Some vectors of each row of a strip."""

    def __init__(self, builder: Any, own: Words, strip: Any, first: int, count: int) -> None:
        self.builder, self.own, self._strip = builder, own, strip
        self._starts = [(first + i) * own.tile.lanes * own.size for i in range(count)]

    def places(self, row: Any) -> list[Any]:
        """Where those of a row lie."""
        builder = self.builder
        at = builder.add(self._strip, builder.mul(row, I64(STRIP * self.own.size)))
        return [pointer(builder, builder.add(at, I64(start)), self.own) for start in self._starts]

    def load(self, row: Any) -> list[Any]:
        """Those of a row."""
        return [self.builder.load(place, align=self.own.size) for place in self.places(row)]

    def store(self, row: Any, vectors: list[Any]) -> None:
        """Put them there."""
        for vector, place in zip(vectors, self.places(row), strict=True):
            self.builder.store(vector, place, align=self.own.size)


@contextmanager
def _kept(builder: Any, vectors: list[Any]) -> Iterator[list[Any]]:
    """Where vectors are while they change."""
    with builder.goto_entry_block():
        places = [builder.alloca(vector.type) for vector in vectors]
    for vector, place in zip(vectors, places, strict=True):
        builder.store(vector, place)
    yield places


def _turn(rows: _Rows, turns: Any, begin: Any, direction: Any, count: Any) -> None:
    """Turn row `begin` and the next one in a direction, then that one and the next, so many times.

    Args:
        turns: Where a cosine and a sine for each turn lie; upwards, the sine is of the other sign.
    """
    builder, own = rows.builder, rows.own
    sign = builder.sitofp(direction, own.element)
    with _kept(builder, rows.load(begin)) as places:
        with loop(builder, I64(0), count) as turn:
            cosine, sine = _turn_of(builder, own, turns, turn)
            c, s = (everywhere(builder, x, own.tile.lanes) for x in (cosine, builder.fmul(sign, sine)))
            row = builder.add(begin, builder.mul(direction, turn))
            turned = []
            for place, other in zip(places, rows.load(builder.add(row, direction)), strict=True):
                one = builder.load(place)
                turned.append(builder.fadd(builder.fmul(c, one), builder.fmul(s, other)))
                builder.store(builder.fsub(builder.fmul(c, other), builder.fmul(s, one)), place)
            rows.store(row, turned)
        last = builder.add(begin, builder.mul(direction, count))
        rows.store(last, [builder.load(place) for place in places])


def _turn_of(builder: Any, own: Words, turns: Any, turn: Any) -> list[Any]:
    """The cosine and the sine of a turn."""
    begin = builder.add(turns, builder.mul(turn, I64(2 * own.size)))
    places = [builder.add(begin, I64(i * own.size)) for i in range(2)]
    return [builder.load(builder.inttoptr(at, own.element.as_pointer()), align=own.size) for at in places]


def _word(name: str, dtype: str) -> Any:
    """A function of a strip, its turns, the row of the first one, their direction, 1 or -1, and their number.

    The row is the first of the two that are turned, whatever the direction.
    """

    def turn(builder: Any, strip: Any, turns: Any, row: Any, direction: Any, count: Any) -> None:
        own = words(dtype)
        vectors = STRIP // own.tile.lanes
        upwards = builder.icmp_signed("<", direction, I64(0))
        begin = builder.add(row, builder.zext(upwards, ir.IntType(64)))
        for first in range(0, vectors, _TOGETHER):
            _turn(_Rows(builder, own, strip, first, min(_TOGETHER, vectors - first)), turns, begin, direction, count)

    def typing(context: Any, strip: Any, turns: Any, row: Any, direction: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            turn(builder, *arguments)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 5), generate

    return named(name, typing)


for _dtype in ("float32", "float64"):
    globals()[f"turn_rows_{_dtype}"] = _word(f"turn_rows_{_dtype}", _dtype)
