# SPDX-License-Identifier: Apache-2.0
"""The places of eight truths that are true, one after the other, by a table that has a row for each choice of them."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.compressing import number_of, places_table
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, everywhere

__all__ = ["places_of_eight"]

_EIGHT = 8


def _store(builder: Any, x: Any, first: Any, place: Any, y: Any, target: Any) -> Any:
    """Store the places and anything after them, eight int64 in all; how many are places."""
    bytes_, wide = ir.VectorType(ir.IntType(8), _EIGHT), ir.VectorType(I64, _EIGHT)
    begin = builder.inttoptr(builder.add(x, first), bytes_.as_pointer())
    chosen = builder.icmp_unsigned("!=", builder.load(begin, align=1), ir.Constant(bytes_, None))
    bits = builder.zext(builder.bitcast(chosen, ir.IntType(_EIGHT)), I64)
    row = builder.gep(places_table(builder.module, _EIGHT), [I64(0), bits])
    places = builder.add(builder.zext(builder.load(row, align=_EIGHT), wide), everywhere(builder, place, _EIGHT))
    there = builder.inttoptr(builder.add(y, builder.mul(target, I64(8))), wide.as_pointer())
    builder.store(places, there, align=8)
    return number_of(builder, chosen)


def _typing(context: Any, x: Any, first: Any, place: Any, y: Any, target: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        return _store(builder, *arguments)

    return signature(types.int64, *[types.int64] * 5), generate


# Of eight bytes of x from the first on, the places counted from one on go to y, from a target on.
places_of_eight = named("places_of_eight", _typing)
