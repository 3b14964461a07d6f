# SPDX-License-Identifier: Apache-2.0
"""Matrices of 16-bit floats that the threads of a warp have together, and their products by tensor cores.

A word reads 16 lines of 16 numbers from a tile, four words of 32 bits for each thread: lines of the left matrix are its
rows, lines of the right one its columns. ``lines`` lie one after the other in the tile; of those ``across`` it, it has
the first number of each, then the second. Layouts are those of NVIDIA's PTX ISA (``ldmatrix``, ``mma.m16n8k16``).
"""

from inspect import Parameter, Signature
from typing import Any

from llvmlite import ir
from numba import cuda
from numba.core import cgutils, types
from numba.core.typing import signature

from ngraph_rewrite.runtime.cuda import fragments
from ngraph_rewrite.runtime.cuda.device_scalars import WORDS
from ngraph_rewrite.runtime.cuda.generation import AMPERE, is_since
from ngraph_rewrite.runtime.cuda.porting import device_function, named

__all__ = [
    "any_of_warp",
    "left_across",
    "left_lines",
    "left_of_bfloat16",
    "left_of_float16",
    "pair_of_bfloat16",
    "pair_of_float16",
    "products_bfloat16",
    "products_float16",
    "quad_largest",
    "quad_sum",
    "right_across",
    "right_lines",
    "rough_exp2",
    "tile_as_float32",
]

maximum = WORDS["maximum"]
_I32, _FLOAT = ir.IntType(32), ir.FloatType()
_WORDS = ir.LiteralStructType([_I32] * 4)
_SUMS = ir.LiteralStructType([_FLOAT] * 4)
_FOUR = types.UniTuple(types.int32, 4)
_MATRIX = _FOUR(types.int64, types.int64, types.int64)
_PLACE = types.int64(types.int64, types.int64, types.int64)
_MARKS = {"float16": "f16", "bfloat16": "bf16"}


def _loaded(turned: str) -> Any:
    """Four matrices of 8 times 8, of which each eight threads tell where the lines of one are."""

    def typing(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            code = f"ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16 {{$0, $1, $2, $3}}, [$4];"
            kind = ir.FunctionType(_WORDS, [_I32])
            found = builder.asm(kind, code, "=r,=r,=r,=r,r,~{memory}", [builder.trunc(args[0], _I32)], True)
            found.attributes.add("convergent")
            return context.make_tuple(builder, _FOUR, [builder.extract_value(found, n) for n in range(4)])

        return signature(_FOUR, types.int64), generate

    return typing


_plain: Any = named("_plain", _loaded(""))
_turned: Any = named("_turned", _loaded(".trans"))


_below = device_function(_PLACE)(fragments.below_first)
_beside = device_function(_PLACE)(fragments.beside_first)


@device_function(_MATRIX)
def left_lines(tile: Any, at: int, pitch: int) -> Any:
    """Rows of a left matrix, which lie along the tile."""
    return _plain(tile + 2 * _below(cuda.threadIdx.x & 31, at, pitch))


@device_function(_MATRIX)
def left_across(tile: Any, at: int, pitch: int) -> Any:
    """Rows of a left matrix, which lie across the tile."""
    return _turned(tile + 2 * _beside(cuda.threadIdx.x & 31, at, pitch))


@device_function(_MATRIX)
def right_lines(tile: Any, at: int, pitch: int) -> Any:
    """Columns of a right matrix, which lie along the tile."""
    return _plain(tile + 2 * _beside(cuda.threadIdx.x & 31, at, pitch))


@device_function(_MATRIX)
def right_across(tile: Any, at: int, pitch: int) -> Any:
    """Columns of a right matrix, which lie across the tile."""
    return _turned(tile + 2 * _below(cuda.threadIdx.x & 31, at, pitch))


def _product(dtype: str) -> Any:
    """Sums and products of a left matrix with 8 columns of a right one, the first or the second: four for each thread.

    Those of thread t are in rows t // 4 and 8 below, in columns 2 (t mod 4) and the next. They are float32.
    """

    def typing(context: Any, left: Any, right: Any, which: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        if not isinstance(which, types.IntegerLiteral):
            return None

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            rows, columns = (cgutils.unpack_tuple(builder, x, 4) for x in args[:2])
            columns = columns[2 * which.literal_value :][:2]
            sums = list(args[3:])
            steps = [(rows, columns)]
            if not is_since(AMPERE):  # which multiply half as much at once
                steps = [(rows[:2], columns[:1]), (rows[2:], columns[1:])]
            for some, others in steps:
                sums = _multiplied(builder, _MARKS[dtype], some, others, sums)
            return context.make_tuple(builder, sig.return_type, sums)

        kinds = [left, right, which, *[types.float32] * 4]
        return signature(types.UniTuple(types.float32, 4), *kinds), generate

    return named(f"products_{dtype}", typing)


def _multiplied(builder: Any, mark: str, rows: list[Any], columns: list[Any], sums: list[Any]) -> list[Any]:
    """One instruction."""
    count = len(rows) + len(columns)
    named = [f"${n}" for n in range(8 + count)]
    given = [named[4 : 4 + len(rows)], named[4 + len(rows) : 4 + count], named[4 + count :]]
    lists = ", ".join("{" + ", ".join(names) + "}" for names in (named[:4], *given))
    code = f"mma.sync.aligned.m16n8k{8 * len(columns)}.row.col.f32.{mark}.{mark}.f32 {lists};"
    kind = ir.FunctionType(_SUMS, [*[_I32] * count, *[_FLOAT] * 4])
    constraint = ",".join(["=f"] * 4 + ["r"] * count + ["f"] * 4)
    found = builder.asm(kind, code, constraint, [*rows, *columns, *sums], False)
    found.attributes.add("convergent")  # all threads of the warp do it together, wherever the compiler puts it
    return [builder.extract_value(found, n) for n in range(4)]


products_float16, products_bfloat16 = _product("float16"), _product("bfloat16")


def _left(dtype: str) -> Any:
    """A left matrix of sums that threads have of two products, side by side, each rounded to 16 bits."""

    def typing(context: Any, *sums: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pairs = [_rounded(builder, dtype, *args[n : n + 2]) for n in range(0, 8, 2)]
            return context.make_tuple(builder, _FOUR, pairs)

        return signature(_FOUR, *[types.float32] * 8), generate

    eight = [Parameter(f"x{n}", Parameter.POSITIONAL_OR_KEYWORD) for n in range(8)]
    context = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD)
    vars(typing)["__signature__"] = Signature([context, *eight])  # Numba asks for it
    return named(f"left_of_{dtype}", typing)


def _rounded(builder: Any, dtype: str, low: Any, high: Any) -> Any:
    """Two numbers in one word, the first of them in its lower half."""
    if dtype == "bfloat16":
        kind = ir.FunctionType(_I32, [_FLOAT, _FLOAT])
        return builder.asm(kind, "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f", [high, low], False)
    bits = [builder.bitcast(builder.fptrunc(x, ir.HalfType()), ir.IntType(16)) for x in (low, high)]
    first, second = (builder.zext(x, _I32) for x in bits)
    return builder.or_(first, builder.shl(second, ir.Constant(_I32, 16)))


def _pair(dtype: str) -> Any:
    """Two numbers, each rounded to 16 bits, as they lie in memory side by side."""

    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _rounded(builder, dtype, *args)

        return signature(types.int32, types.float32, types.float32), generate

    return named(f"pair_of_{dtype}", typing)


left_of_float16, left_of_bfloat16 = _left("float16"), _left("bfloat16")
pair_of_float16, pair_of_bfloat16 = _pair("float16"), _pair("bfloat16")
_FLOAT32 = types.float32(types.float32)


@device_function(_FLOAT32)
def quad_largest(value: Any) -> Any:
    """The largest number that any of four threads has which have the same rows of a product; NaN if one is."""
    value = maximum(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 1))
    return maximum(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, 2))


@device_function(_FLOAT32)
def quad_sum(value: Any) -> Any:
    """What four threads have together which have the same rows of a product."""
    value = value + cuda.shfl_xor_sync(0xFFFFFFFF, value, 1)
    return value + cuda.shfl_xor_sync(0xFFFFFFFF, value, 2)


@device_function(types.boolean(types.boolean))
def any_of_warp(true: bool) -> Any:
    """Whether it is true of any thread of the warp."""
    return cuda.any_sync(0xFFFFFFFF, true)


def _rough_exp2(context: Any, x: Any) -> Any:
    """Two to the power of a float32, to some 20 bits: for what is rounded to 16."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(_FLOAT, [_FLOAT])
        return builder.asm(kind, "ex2.approx.ftz.f32 $0, $1;", "=f,f", args, False)

    return signature(types.float32, types.float32), generate


rough_exp2: Any = named("rough_exp2", _rough_exp2)


@device_function(types.int64(types.int64))
def tile_as_float32(tile: Any) -> Any:
    """The memory of a tile, for other numbers."""
    return tile
