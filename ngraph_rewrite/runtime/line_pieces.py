# SPDX-License-Identifier: Apache-2.0
"""Pieces of a long line, parted at pivots, are sorted side by side: each in a lane of vectors, as short lines are."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.compressing import first_lanes
from ngraph_rewrite.runtime.line_keys import Keys, Lines, long_keys
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.sorting_network import merge, sort_groups
from ngraph_rewrite.runtime.vector_code import I32, I64, declared, everywhere, interleaved_halves, loop

_WORDS = 2  # of a piece: where its keys are, and how many


class _Pieces:
    """The code that moves pieces of a table into a workspace and back."""

    def __init__(self, builder: Any, keys: Keys, table: Any, length: Any, space: Any) -> None:
        self.builder, self.keys, self.length = builder, keys, length
        self.lines = Lines.over(builder, keys, space)
        told = builder.inttoptr(table, I64.as_pointer())
        self.told = [
            [builder.load(builder.gep(told, [I64(_WORDS * r + k)])) for k in range(_WORDS)] for r in range(keys.lanes)
        ]

    def read(self) -> None:
        """A square at a time; what follows a piece comes after all keys."""
        builder, keys = self.builder, self.keys
        name = f"llvm.masked.load.v{keys.lanes}i{keys.width}.p0"
        with loop(builder, I64(0), self.length, keys.lanes) as index:
            rows = []
            for begin, count in self.told:
                there = first_lanes(builder, builder.sub(count, index), keys.lanes)
                place = builder.add(begin, builder.mul(index, I64(keys.width // 8)))
                place = builder.inttoptr(place, keys.vector.as_pointer())
                load = declared(builder, name, [place.type, I32, there.type, keys.vector], keys.vector)
                rows.append(builder.call(load, [place, I32(keys.width // 8), there, keys.last]))
            for k, column in enumerate(interleaved_halves(builder, rows)):
                self.lines.keep(builder.add(index, I64(k)), column)

    def write(self) -> None:
        """What keys stand for."""
        builder, keys = self.builder, self.keys
        size = I64(8 if keys.order else keys.size)
        with loop(builder, I64(0), self.length, keys.lanes) as index:
            columns = [self.lines.kept(builder.add(index, I64(k))) for k in range(keys.lanes)]
            for (begin, count), row in zip(self.told, interleaved_halves(builder, columns), strict=True):
                value, place = keys.result(builder, row), builder.add(begin, builder.mul(index, size))
                left = builder.sub(count, index)
                with builder.if_else(builder.icmp_signed(">=", left, I64(keys.lanes))) as (whole, part):
                    with whole:
                        builder.store(value, builder.inttoptr(place, value.type.as_pointer()), align=keys.size)
                    with part, builder.if_then(builder.icmp_signed(">", left, I64(0))):
                        self.lines.write(value, place, first_lanes(builder, left, keys.lanes))


def _sorting(module: Any, name: str, keys: Keys) -> Any:
    """The function of a module that sorts pieces."""
    name = f"ngraph_rewrite_{name}"
    if name in module.globals:
        return module.globals[name]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [I64] * 3), name)
    function.linkage = "internal"
    function.attributes.add("noinline")  # it is called more than once
    pieces = _Pieces(ir.IRBuilder(function.append_basic_block("entry")), keys, *function.args)
    pieces.read()
    sort_groups(pieces.lines, pieces.length)
    merge(pieces.lines, pieces.length)
    pieces.write()
    pieces.builder.ret_void()
    return function


def _sort(name: str, keys: Keys) -> Any:
    """A function of a table of pieces, one for each lane, a length that is whole groups, and a workspace."""

    def typing(context: Any, table: Any, length: Any, space: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            builder.call(_sorting(builder.module, name, keys), arguments)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 3), generate

    return named(name, typing)


def _fill(name: str, keys: Keys) -> Any:
    """A function of a place, a number of elements and a key: all become what it stands for."""

    def typing(context: Any, to: Any, count: Any, key: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            to, count, key = arguments
            lines = Lines.over(builder, keys)
            key = builder.trunc(key, keys.vector.element) if keys.width < 64 else key
            value = keys.result(builder, everywhere(builder, key, keys.lanes))
            with loop(builder, I64(0), count, keys.lanes) as index:
                there = first_lanes(builder, builder.sub(count, index), keys.lanes)
                lines.write(value, builder.add(to, builder.mul(index, I64(keys.size))), there)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 3), generate

    return named(name, typing)


for _name, _keys in long_keys():
    for _word, _make in (("sort_pieces", _sort), ("fill_pieces", _fill)):
        globals()[f"{_word}_{_name}"] = _make(f"{_word}_{_name}", _keys)
