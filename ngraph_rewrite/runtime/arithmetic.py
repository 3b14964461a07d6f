# SPDX-License-Identifier: Apache-2.0
"""Composite scalar operations of kernels, as NumPy defines them: division, modulo, sign, integer power.

Integer division and modulo by zero give 0, and the one quotient that overflows wraps; floats follow NumPy's ``divmod``,
signed zeros and infinities included. All are free of branches but `integer_power`.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import register_jitable

from ngraph_rewrite.runtime.scalar_functions import c_function, llvm_function, named


def _same_type(name: str, arity: int, body: Callable[..., Any]) -> Any:
    """An operation of one type: ``body(builder, kind, *operands)`` gives its instructions."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return body(builder, sig.return_type, *args)

    def unary(context: Any, x: Any) -> Any:
        return signature(x, x), generate

    def binary(context: Any, x: Any, y: Any) -> Any:
        return signature(x, x, x), generate

    typing = unary if arity == 1 else binary
    return named(name, typing)


def _constant(like: Any, value: float) -> Any:
    return ir.Constant(like.type, value)


def _is(builder: Any, sign: str, x: Any, value: float) -> Any:
    compare = builder.icmp_signed if isinstance(x.type, ir.IntType) else builder.fcmp_unordered
    return compare(sign, x, _constant(x, value))


# -- integers ----------------------------------------------------------------------------------------------------------


def _safe_divisor(builder: Any, kind: Any, x: Any, y: Any) -> Any:
    """``y``, or 1 where the division would trap: then the quotient is ``x``, which is what wrapping gives."""
    bad = _is(builder, "==", y, 0)
    if kind.signed:
        overflow = builder.and_(_is(builder, "==", x, -(2 ** (kind.bitwidth - 1))), _is(builder, "==", y, -1))
        bad = builder.or_(bad, overflow)
    return builder.select(bad, _constant(y, 1), y)


def _integer_divmod(builder: Any, kind: Any, x: Any, y: Any) -> tuple[Any, Any]:
    divisor = _safe_divisor(builder, kind, x, y)
    if not kind.signed:
        return builder.udiv(x, divisor), builder.urem(x, divisor)
    quotient, rest = builder.sdiv(x, divisor), builder.srem(x, divisor)
    differ = _is(builder, "<", builder.xor(rest, divisor), 0)
    down = builder.and_(differ, _is(builder, "!=", rest, 0))
    zero = _constant(x, 0)
    return builder.add(quotient, builder.sext(down, x.type)), builder.add(rest, builder.select(down, divisor, zero))


# -- floats ------------------------------------------------------------------------------------------------------------


def _copysign(builder: Any, value: float, sign: Any) -> Any:
    return llvm_function(builder, "llvm.copysign", [_constant(sign, value), sign])


def _remainder(builder: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The remainder with the divisor's sign, and whether the quotient must go down by one for it."""
    rest = c_function(builder, "fmod", [x, y])
    zero = _constant(x, 0.0)
    negative = [builder.fcmp_ordered("<", value, zero) for value in (y, rest)]
    down = builder.and_(builder.xor(*negative), builder.fcmp_unordered("!=", rest, zero))
    moved = builder.select(down, builder.fadd(rest, y), rest)
    exact = builder.fcmp_ordered("==", rest, zero)
    moved = builder.select(exact, _copysign(builder, 0.0, y), moved)
    return builder.select(builder.fcmp_ordered("==", y, zero), rest, moved), down


def _floored(builder: Any, x: Any, y: Any) -> Any:
    rest = c_function(builder, "fmod", [x, y])
    _, down = _remainder(builder, x, y)
    one, zero = _constant(x, 1.0), _constant(x, 0.0)
    ratio = builder.fdiv(x, y)
    quotient = builder.fdiv(builder.fsub(x, rest), y)
    quotient = builder.select(down, builder.fsub(quotient, one), quotient)
    whole = llvm_function(builder, "llvm.floor", [quotient])
    late = builder.fcmp_ordered(">", builder.fsub(quotient, whole), _constant(x, 0.5))
    whole = builder.select(late, builder.fadd(whole, one), whole)
    whole = builder.select(builder.fcmp_ordered("==", quotient, zero), _copysign(builder, 0.0, ratio), whole)
    return builder.select(builder.fcmp_ordered("==", y, zero), ratio, whole)


# -- the operations ----------------------------------------------------------------------------------------------------


def _floor_divide(builder: Any, kind: Any, x: Any, y: Any) -> Any:
    if isinstance(kind, types.Float):
        return _floored(builder, x, y)
    return builder.select(_is(builder, "==", y, 0), _constant(x, 0), _integer_divmod(builder, kind, x, y)[0])


def _modulo(builder: Any, kind: Any, x: Any, y: Any) -> Any:
    if isinstance(kind, types.Float):
        return _remainder(builder, x, y)[0]
    return builder.select(_is(builder, "==", y, 0), _constant(x, 0), _integer_divmod(builder, kind, x, y)[1])


def _sign(builder: Any, kind: Any, x: Any) -> Any:
    zero, one = _constant(x, 0), _constant(x, 1)
    if not isinstance(kind, types.Float):
        nonzero = builder.select(_is(builder, "!=", x, 0), one, zero)
        return builder.select(_is(builder, "<", x, 0), _constant(x, -1), nonzero) if kind.signed else nonzero
    nonzero = builder.select(builder.fcmp_ordered("==", x, zero), zero, _copysign(builder, 1.0, x))
    return builder.select(builder.fcmp_unordered("uno", x, x), x, nonzero)


floor_divide, modulo = _same_type("floor_divide", 2, _floor_divide), _same_type("modulo", 2, _modulo)
sign = _same_type("sign", 1, _sign)


@register_jitable
def integer_power(base: int, exponent: int, signed: bool) -> int:
    """``base ** exponent`` modulo 2**64, on int64; a negative exponent truncates, as integer division would."""
    if signed and exponent < 0:
        if base == -1:
            return 1 - 2 * (exponent & 1)
        return 1 if base == 1 else 0
    result = 1
    while exponent != 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent = (exponent >> 1) & 0x7FFFFFFFFFFFFFFF
    return result
