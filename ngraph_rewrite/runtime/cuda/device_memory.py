# SPDX-License-Identifier: Apache-2.0
"""Memory of a device: its elements by address, one or four neighbours at a time, and arrays that a block shares.

Addresses are those of global memory. Accesses that name different buffers are declared not to alias.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.cuda.generation import AMPERE, is_since
from ngraph_rewrite.runtime.cuda.hardware import WIDEST
from ngraph_rewrite.runtime.cuda.porting import named
from ngraph_rewrite.runtime.intrinsics import MEMORY, VALUES, from_memory, mark_buffer, to_memory

__all__ = []

_GLOBAL = 1  # the address space
# Two float32 as bfloat16 in one word, the second of them in its lower half.
_PAIR, _ROUNDED = ir.FunctionType(ir.IntType(32), [ir.FloatType()] * 2), "cvt.rn.bf16x2.f32 $0, $1, $2;"


def _element(builder: Any, memory: Any, address: Any, index: Any) -> Any:
    return builder.gep(builder.inttoptr(address, ir.PointerType(memory, _GLOBAL)), [index], inbounds=True)


def _mark(builder: Any, instruction: Any, buffer: Any) -> None:
    if isinstance(buffer, types.IntegerLiteral):
        mark_buffer(builder.module, instruction, buffer.literal_value)


# -- one element -------------------------------------------------------------------------------------------------------


def _load(dtype: str) -> Any:
    def typing(context: Any, address: Any, index: Any, buffer: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            loaded = builder.load(_element(builder, MEMORY[dtype], args[0], args[1]))
            _mark(builder, loaded, buffer)
            return from_memory(builder, loaded, dtype)

        return signature(VALUES[dtype], types.int64, types.int64, buffer), generate

    return named(f"load_{dtype}", typing)


def _store(dtype: str) -> Any:
    def typing(context: Any, address: Any, index: Any, value: Any, buffer: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            place = _element(builder, MEMORY[dtype], args[0], args[1])
            _mark(builder, builder.store(to_memory(builder, args[2], dtype), place), buffer)
            return context.get_dummy_value()

        return signature(types.none, types.int64, types.int64, VALUES[dtype], buffer), generate

    return named(f"store_{dtype}", typing)


# -- four neighbours ---------------------------------------------------------------------------------------------------


def _width(dtype: str) -> int:
    """The bits of an element in memory."""
    return max(8, VALUES[dtype].bitwidth // (2 if dtype in ("float16", "bfloat16") else 1)) if dtype != "bool" else 8


def _vectors(builder: Any, dtype: str, address: Any, index: Any) -> tuple[list[Any], int]:
    """The places of the vectors that four neighbours fill, one or two, and how many each holds."""
    integer = ir.IntType(_width(dtype))
    each = min(4, WIDEST * 8 // integer.width)
    first = _element(builder, integer, address, index)
    start = builder.bitcast(first, ir.PointerType(ir.VectorType(integer, each), _GLOBAL))
    return [builder.gep(start, [ir.Constant(ir.IntType(64), n)], inbounds=True) for n in range(4 // each)], each


def _vector(builder: Any, values: Sequence[Any]) -> Any:
    """A vector of some values."""
    vector = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for n, value in enumerate(values):
        vector = builder.insert_element(vector, value, _lane(n))
    return vector


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


def _load_four(dtype: str) -> Any:
    def typing(context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places, each = _vectors(builder, dtype, *args)
            align = each * _width(dtype) // 8
            loaded = [builder.load(place, align=align) for place in places]
            bits = [builder.extract_element(vector, _lane(n)) for vector in loaded for n in range(each)]
            values = [from_memory(builder, builder.bitcast(x, MEMORY[dtype]), dtype) for x in bits]
            return context.make_tuple(builder, sig.return_type, values)

        return signature(types.UniTuple(VALUES[dtype], 4), types.int64, types.int64), generate

    return named(f"load4_{dtype}", typing)


def _load_four_once(dtype: str) -> Any:
    """The same past the first cache, where what others will read again stays."""

    def typing(context: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            places, each = _vectors(builder, dtype, *args)
            bits = [x for place in places for x in _past_first_cache(builder, place, each, _width(dtype))]
            values = [from_memory(builder, builder.bitcast(x, MEMORY[dtype]), dtype) for x in bits]
            return context.make_tuple(builder, sig.return_type, values)

        return signature(types.UniTuple(VALUES[dtype], 4), types.int64, types.int64), generate

    return named(f"load4_once_{dtype}", typing)


def _past_first_cache(builder: Any, place: Any, count: int, width: int) -> list[Any]:
    """So many neighbours of so many bits, which are not kept in the first cache."""
    words = count * width // 32
    registers = ", ".join(f"${n}" for n in range(words))
    vector, listed = (f".v{words}", f"{{{registers}}}") if words > 1 else ("", registers)
    code = f"ld.global.L1::no_allocate{vector}.u32 {listed}, [${words}];"
    result = ir.LiteralStructType([ir.IntType(32)] * words) if words > 1 else ir.IntType(32)
    constraints = ",".join(["=r"] * words + ["l", "~{memory}"])
    kind = ir.FunctionType(result, [ir.IntType(64)])
    found = builder.asm(kind, code, constraints, [builder.ptrtoint(place, ir.IntType(64))], True)
    filled = _vector(builder, [builder.extract_value(found, n) for n in range(words)] if words > 1 else [found])
    apart = builder.bitcast(filled, ir.VectorType(ir.IntType(width), count))
    return [builder.extract_element(apart, _lane(n)) for n in range(count)]


def _store_four(dtype: str) -> Any:
    def typing(context: Any, address: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            integer = ir.IntType(_width(dtype))
            places, each = _vectors(builder, dtype, *args[:2])
            if dtype == "bfloat16" and is_since(AMPERE):
                pairs = [builder.asm(_PAIR, _ROUNDED, "=r,f,f", [args[k + 1], args[k]], False) for k in (2, 4)]
                whole = builder.bitcast(places[0], ir.PointerType(ir.VectorType(pairs[0].type, 2), _GLOBAL))
                builder.store(_vector(builder, pairs), whole, align=8)
                return context.get_dummy_value()
            bits = [builder.bitcast(to_memory(builder, x, dtype), integer) for x in args[2:]]
            for number, place in enumerate(places):
                vector = _vector(builder, bits[number * each : (number + 1) * each])
                builder.store(vector, place, align=each * integer.width // 8)
            return context.get_dummy_value()

        return signature(types.none, types.int64, types.int64, *[VALUES[dtype]] * 4), generate

    return named(f"store4_{dtype}", typing)


# -- what a block shares -----------------------------------------------------------------------------------------------


def _shared(dtype: str) -> Any:
    """An array of a literal length, one for each place that calls for it."""

    def typing(context: Any, length: Any) -> Any:
        if not isinstance(length, types.IntegerLiteral):
            return None
        array = types.Array(VALUES[dtype], 1, "C")

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            asked = signature(array, length, types.DType(VALUES[dtype]))
            return context.get_function(cuda.shared.array, asked)(builder, [args[0], context.get_dummy_value()])

        return signature(array, length), generate

    return named(f"shared_{dtype}", typing)


for _dtype in VALUES:
    for _make in (_load, _store, _load_four, _load_four_once, _store_four, _shared):
        _intrinsic = _make(_dtype)
        globals()[_intrinsic.__name__] = _intrinsic
        __all__.append(_intrinsic.__name__)
