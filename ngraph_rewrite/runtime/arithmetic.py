# SPDX-License-Identifier: Apache-2.0
"""Composite scalar operations of kernels, as NumPy defines them: division, modulo, sign, integer power.

Integer division and modulo by zero give 0, and the one quotient that overflows wraps; floats follow NumPy's ``divmod``,
signed zeros and infinities included (`remainders`). Those of integers are free of branches but `integer_power`.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import register_jitable

from ngraph_rewrite.runtime.reals import Real
from ngraph_rewrite.runtime.remainders import real_floor_divide, real_modulo
from ngraph_rewrite.runtime.scalar_functions import llvm_function, named


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


# -- the operations ----------------------------------------------------------------------------------------------------


def _floor_divide(builder: Any, kind: Any, x: Any, y: Any) -> Any:
    if isinstance(kind, types.Float):
        return real_floor_divide(Real(builder, x), Real(builder, y)).value
    return builder.select(_is(builder, "==", y, 0), _constant(x, 0), _integer_divmod(builder, kind, x, y)[0])


def _modulo(builder: Any, kind: Any, x: Any, y: Any) -> Any:
    if isinstance(kind, types.Float):
        return real_modulo(Real(builder, x), Real(builder, y)).value
    return builder.select(_is(builder, "==", y, 0), _constant(x, 0), _integer_divmod(builder, kind, x, y)[1])


def _sign(builder: Any, kind: Any, x: Any) -> Any:
    zero, one = _constant(x, 0), _constant(x, 1)
    if not isinstance(kind, types.Float):
        nonzero = builder.select(_is(builder, "!=", x, 0), one, zero)
        return builder.select(_is(builder, "<", x, 0), _constant(x, -1), nonzero) if kind.signed else nonzero
    one_signed = llvm_function(builder, "llvm.copysign", [one, x])
    nonzero = builder.select(builder.fcmp_ordered("==", x, zero), zero, one_signed)
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
