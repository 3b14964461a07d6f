# SPDX-License-Identifier: Apache-2.0
"""Conversions between dtypes as kernels make them: what ``ndarray.astype`` gives, for every pair of dtypes.

A float out of an integer's range gives what the C casts of NumPy give on x86-64: the smallest value of a 32-bit (or,
for 64-bit and ``uint32`` results, a 64-bit) integer, whose low bits are then kept.
What becomes a bfloat16 is a float32 before, as in ``ml_dtypes``.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic

from ngraph_rewrite.runtime.scalar_functions import for_gpu, is_signed, llvm_function

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_HALF, _FLOAT, _DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()


def _is_real(value: Any) -> bool:
    return value.type in (_FLOAT, _DOUBLE)


def _truncated(builder: Any, value: Any, width: int) -> Any:
    """Round toward zero into a signed integer; out of range gives its smallest value."""
    integer, limit = ir.IntType(width), float(2 ** (width - 1))
    inside = builder.and_(
        builder.fcmp_ordered(">=", value, ir.Constant(value.type, -limit)),
        builder.fcmp_ordered("<", value, ir.Constant(value.type, limit)),
    )
    return builder.select(inside, builder.fptosi(value, integer), ir.Constant(integer, -(2 ** (width - 1))))


def _to_uint64(builder: Any, value: Any) -> Any:
    """Values of 2**63 and more are converted less 2**63, as C compilers do."""
    half = ir.Constant(value.type, 2.0**63)
    high = builder.add(_truncated(builder, builder.fsub(value, half), 64), ir.Constant(_I64, -(2**63)))
    return builder.select(builder.fcmp_ordered(">=", value, half), high, _truncated(builder, value, 64))


def _integer_from_real(builder: Any, value: Any, target: Any) -> Any:
    if target.bitwidth == 64:
        return _truncated(builder, value, 64) if target.signed else _to_uint64(builder, value)
    wide = 64 if target == types.uint32 else 32
    whole = _truncated(builder, value, wide)
    return whole if wide == target.bitwidth else builder.trunc(whole, ir.IntType(target.bitwidth))


def _integer_from_integer(builder: Any, value: Any, source: Any, target: Any) -> Any:
    width, own = target.bitwidth, value.type.width
    if width <= own:
        return value if width == own else builder.trunc(value, ir.IntType(width))
    return (builder.sext if is_signed(source) else builder.zext)(value, ir.IntType(width))


def _real(builder: Any, value: Any, source: Any, target: Any) -> Any:
    if _is_real(value):
        if value.type == target:
            return value
        return (builder.fpext if target == _DOUBLE else builder.fptrunc)(value, target)
    return (builder.sitofp if is_signed(source) else builder.uitofp)(value, target)


def _rounded_to_odd(builder: Any, value: Any) -> Any:
    """A float64 as a float32 whose last bit records inexactness, so that rounding again rounds once."""
    near = builder.fptrunc(value, _FLOAT)
    wide = builder.fpext(near, _DOUBLE)
    sizes = [llvm_function(builder, "llvm.fabs", [number]) for number in (wide, value)]
    past = builder.fcmp_ordered(">", *sizes)
    bits = builder.sub(builder.bitcast(near, _I32), builder.zext(past, _I32))
    odd = builder.bitcast(builder.or_(bits, ir.Constant(_I32, 1)), _FLOAT)
    return builder.select(builder.fcmp_ordered("one", wide, value), odd, near)


def _to_half(builder: Any, value: Any, source: Any) -> Any:
    single = _rounded_to_odd(builder, value) if value.type == _DOUBLE else _real(builder, value, source, _FLOAT)
    return builder.fpext(builder.fptrunc(single, _HALF), _FLOAT)


def bfloat16_bits(builder: Any, value: Any) -> Any:
    """The 32 bits of a float32 rounded to the nearest bfloat16, to even where two are: a NaN is quiet."""
    if for_gpu(builder):  # sm_80 and later have an instruction for it
        kind = ir.FunctionType(ir.IntType(16), [_FLOAT])
        half = builder.call(ir.InlineAsm(kind, "cvt.rn.bf16.f32 $0, $1;", "=h,f"), [value])
        return builder.shl(builder.zext(half, _I32), _word(16))
    bits = builder.bitcast(value, _I32)
    odd = builder.and_(builder.lshr(bits, _word(16)), _word(1))
    near = builder.add(bits, builder.add(odd, _word(0x7FFF)))
    is_nan = builder.fcmp_unordered("uno", value, value)
    return builder.select(is_nan, builder.or_(bits, _word(0x00400000)), near)


def _word(number: int) -> Any:
    return ir.Constant(_I32, number)


def _to_bfloat16(builder: Any, value: Any, source: Any) -> Any:
    bits = bfloat16_bits(builder, _real(builder, value, source, _FLOAT))
    return builder.bitcast(builder.and_(bits, _word(0xFFFF0000)), _FLOAT)


def _convert(builder: Any, value: Any, source: Any, target: str) -> Any:
    if target == "bool":
        if _is_real(value):
            return builder.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    if target == "float16":
        return _to_half(builder, value, source)
    if target == "bfloat16":
        return _to_bfloat16(builder, value, source)
    if target in ("float32", "float64"):
        return _real(builder, value, source, _FLOAT if target == "float32" else _DOUBLE)
    kind = getattr(types, target)
    return (
        _integer_from_real(builder, value, kind)
        if _is_real(value)
        else _integer_from_integer(builder, value, source, kind)
    )


def _cast(target: str) -> Any:
    result = {"bool": types.boolean, "float16": types.float32, "bfloat16": types.float32}.get(target)
    result = result or getattr(types, target)

    def typing(context: Any, value: Any) -> Any:
        source = types.unliteral(value)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _convert(builder, args[0], source, target)

        return signature(result, source), generate

    typing.__name__ = typing.__qualname__ = f"to_{target}"
    return intrinsic(typing)


to_bool, to_float32, to_float64 = (_cast(name) for name in ("bool", "float32", "float64"))
to_float16, to_bfloat16 = (_cast(name) for name in ("float16", "bfloat16"))
to_int8, to_int16, to_int32, to_int64 = (_cast(name) for name in ("int8", "int16", "int32", "int64"))
to_uint8, to_uint16, to_uint32, to_uint64 = (_cast(name) for name in ("uint8", "uint16", "uint32", "uint64"))


# -- the bits of a float, each as a signed integer of its width -------------------------------------------------------


def _as_half(builder: Any, bits: Any) -> Any:
    return builder.fpext(builder.bitcast(bits, _HALF), _FLOAT)


def _as_bfloat16(builder: Any, bits: Any) -> Any:
    return builder.bitcast(builder.shl(builder.zext(bits, _I32), _word(16)), _FLOAT)


def _of_half(builder: Any, value: Any) -> Any:
    return builder.bitcast(builder.fptrunc(value, _HALF), _I16)


def _of_bfloat16(builder: Any, value: Any) -> Any:
    return builder.trunc(builder.lshr(builder.bitcast(value, _I32), _word(16)), _I16)


def _bits_as(name: str, width: int, generate_one: Any) -> Any:
    """A float of that name whose bits are the last of an integer."""
    result = types.float64 if name == "float64" else types.float32

    def typing(context: Any, bits: Any) -> Any:
        source = types.unliteral(bits)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            integer = getattr(types, f"int{width}")
            return generate_one(builder, _integer_from_integer(builder, args[0], source, integer))

        return (signature(result, source), generate) if isinstance(source, types.Integer) else None

    typing.__name__ = typing.__qualname__ = f"bits_as_{name}"
    return intrinsic(typing)


def _bits_of(name: str, width: int, generate_one: Any) -> Any:
    """The bits of a float of that name, which is held as a float32 if it is shorter."""
    source = types.float64 if name == "float64" else types.float32

    def typing(context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return generate_one(builder, args[0])

        return signature(getattr(types, f"int{width}"), source), generate

    typing.__name__ = typing.__qualname__ = f"bits_of_{name}"
    return intrinsic(typing)


bits_as_float16, bits_as_bfloat16 = _bits_as("float16", 16, _as_half), _bits_as("bfloat16", 16, _as_bfloat16)
bits_as_float32 = _bits_as("float32", 32, lambda builder, bits: builder.bitcast(bits, _FLOAT))
bits_as_float64 = _bits_as("float64", 64, lambda builder, bits: builder.bitcast(bits, _DOUBLE))
bits_of_float16, bits_of_bfloat16 = _bits_of("float16", 16, _of_half), _bits_of("bfloat16", 16, _of_bfloat16)
bits_of_float32 = _bits_of("float32", 32, lambda builder, value: builder.bitcast(value, _I32))
bits_of_float64 = _bits_of("float64", 64, lambda builder, value: builder.bitcast(value, _I64))
