# SPDX-License-Identifier: Apache-2.0
"""Some lanes of a vector come to its begin: by a mask, or by a table of places that has a row for each mask.

A table does it where there is AVX2 alone (Gueron and Krasnov, *Fast Quicksort implementation using AVX instructions*,
2016).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.vector_code import I32, I64, declared

_WORDS = 8  # of 32 bits in a vector whose lanes are moved by a table


def compressed(builder: Any, value: Any, chosen: Any) -> Any:
    """The lanes of a vector that a mask has, one after the other; anything after them.

    Where no instruction does that, a table tells the places of these lanes, and of all others after them.
    """
    kind = value.type
    if vectors().bytes < 64:
        return _permuted(builder, value, chosen)
    name = f"llvm.experimental.vector.compress.v{kind.count}i{kind.element.width}"
    function = declared(builder, name, [kind, chosen.type, kind], kind)
    return builder.call(function, [value, chosen, ir.Constant(kind, ir.Undefined)])


def _permuted(builder: Any, value: Any, chosen: Any) -> Any:
    """The lanes that a mask has, then the others: words of 32 bits by places of a table, one for each mask."""
    kind, words = value.type, ir.VectorType(I32, _WORDS)
    bits = builder.bitcast(chosen, ir.IntType(kind.count))
    table = places_table(builder.module, kind.count)
    place = builder.gep(table, [I64(0), builder.zext(bits, I64)])
    places = builder.zext(builder.load(place, align=_WORDS), words)
    permute = declared(builder, "llvm.x86.avx2.permd", [words] * 2, words)
    return builder.bitcast(builder.call(permute, [builder.bitcast(value, words), places]), kind)


def places_table(module: Any, lanes: int) -> Any:
    """The table of a module: for each mask the places of the words of its lanes, then those of the others."""
    name, row = f"ngraph_rewrite_places_{lanes}", ir.VectorType(ir.IntType(8), _WORDS)
    if name in module.globals:
        return module.globals[name]
    table = ir.GlobalVariable(module, ir.ArrayType(row, 1 << lanes), name)
    table.linkage, table.global_constant, table.align = "internal", True, 64
    table.initializer = ir.Constant(
        table.value_type, [ir.Constant(row, places) for places in compressing_places(lanes)]
    )
    return table


def compressing_places(lanes: int) -> list[list[int]]:
    """For each mask of so many lanes, where the eight words of a vector come from if its lanes are to come first.

    >>> compressing_places(4)[0b1010]
    [2, 3, 6, 7, 0, 1, 4, 5]
    """
    words = _WORDS // lanes
    orders = [sorted(range(lanes), key=lambda lane: not mask >> lane & 1) for mask in range(1 << lanes)]
    return [[words * lane + word for lane in order for word in range(words)] for order in orders]


def number_of(builder: Any, chosen: Any) -> Any:
    """How many lanes a mask has."""
    bits = builder.bitcast(chosen, ir.IntType(chosen.type.count))
    count = declared(builder, "llvm.ctpop.i64", [I64], I64)
    return builder.call(count, [builder.zext(bits, I64)])


def first_lanes(builder: Any, count: Any, lanes: int) -> Any:
    """The mask of so many lanes, the first ones; of none if there are less, of all if there are more."""
    for word, end in (("smin", lanes), ("smax", 0)):
        count = builder.call(declared(builder, f"llvm.{word}.i64", [I64] * 2, I64), [count, I64(end)])
    bits = builder.sub(builder.shl(I64(1), count), I64(1))
    return builder.bitcast(builder.trunc(bits, ir.IntType(lanes)), ir.VectorType(ir.IntType(1), lanes))
