# SPDX-License-Identifier: Apache-2.0
"""Tiles: memory that a block shares, by address, of which four neighbours are read or written by one access.

An array of Numba's has natural alignment, and an index into it may be negative; neither suits products of matrices.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from ngraph_rewrite.runtime.cuda.hardware import WIDEST
from ngraph_rewrite.runtime.cuda.porting import named
from ngraph_rewrite.runtime.intrinsics import MEMORY, VALUES, from_memory, to_memory

__all__ = []

_SHARED = 3  # the address space


def _place(builder: Any, memory: Any, tile: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(tile, ir.PointerType(memory, _SHARED)), [index], inbounds=True)


def _made(dtype: str) -> Any:
    """The address of so many elements, a literal number; one tile for each place that calls for it."""

    def typing(context: Any, length: Any) -> Any:
        if not isinstance(length, types.IntegerLiteral):
            return None

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = ir.ArrayType(MEMORY[dtype], length.literal_value)
            name = builder.module.get_unique_name("tile_of_ngraph_rewrite")
            memory = cgutils.add_global_variable(builder.module, kind, name, _SHARED)
            memory.linkage, memory.align = "internal", WIDEST
            memory.initializer = ir.Constant(kind, ir.Undefined)
            return builder.ptrtoint(memory, ir.IntType(64))

        return signature(types.int64, length), generate

    return named(f"tile_{dtype}", typing)


def _read(dtype: str) -> Any:
    def typing(context: Any, tile: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return from_memory(builder, builder.load(_place(builder, MEMORY[dtype], *args)), dtype)

        return signature(VALUES[dtype], types.int64, types.int64), generate

    return named(f"read_{dtype}", typing)


def _write(dtype: str) -> Any:
    def typing(context: Any, tile: Any, index: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(to_memory(builder, args[2], dtype), _place(builder, MEMORY[dtype], *args[:2]))
            return context.get_dummy_value()

        return signature(types.none, types.int64, types.int64, VALUES[dtype]), generate

    return named(f"write_{dtype}", typing)


def _vectors(builder: Any, memory: Any, tile: Any, index: Any) -> tuple[list[Any], int, int]:
    """The places of the vectors that four neighbours fill, how many each holds, and their bytes."""
    size = 8 if isinstance(memory, ir.DoubleType) else 4 if isinstance(memory, ir.FloatType) else memory.width // 8
    each = min(4, WIDEST // size)
    first = _place(builder, memory, tile, index)
    start = builder.bitcast(first, ir.PointerType(ir.VectorType(memory, each), _SHARED))
    places = [builder.gep(start, [ir.Constant(ir.IntType(64), n)], inbounds=True) for n in range(4 // each)]
    return places, each, each * size


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


def _read_four(dtype: str) -> Any:
    def typing(context: Any, tile: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places, each, align = _vectors(builder, MEMORY[dtype], *args)
            loaded = [builder.load(place, align=align) for place in places]
            bits = [builder.extract_element(vector, _lane(n)) for vector in loaded for n in range(each)]
            return context.make_tuple(builder, sig.return_type, [from_memory(builder, x, dtype) for x in bits])

        return signature(types.UniTuple(VALUES[dtype], 4), types.int64, types.int64), generate

    return named(f"read4_{dtype}", typing)


def _write_four(dtype: str) -> Any:
    def typing(context: Any, tile: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places, each, align = _vectors(builder, MEMORY[dtype], *args[:2])
            values = [to_memory(builder, x, dtype) for x in args[2:]]
            for number, place in enumerate(places):
                vector = ir.Constant(ir.VectorType(MEMORY[dtype], each), ir.Undefined)
                for n in range(each):
                    vector = builder.insert_element(vector, values[number * each + n], _lane(n))
                builder.store(vector, place, align=align)
            return context.get_dummy_value()

        return signature(types.none, types.int64, types.int64, *[VALUES[dtype]] * 4), generate

    return named(f"write4_{dtype}", typing)


for _dtype in VALUES:
    if "float16" not in _dtype:  # held as float32
        for _make in (_made, _read, _write, _read_four, _write_four):
            _intrinsic = _make(_dtype)
            globals()[_intrinsic.__name__] = _intrinsic
            __all__.append(_intrinsic.__name__)
