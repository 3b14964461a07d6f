# SPDX-License-Identifier: Apache-2.0
"""Functions of kernels that work on bits: signs, shifts, the next number.

A shift by a number that is no bit's number leaves nothing but, to the right, the sign: what NumPy does.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic, register_jitable

from ngraph_rewrite.runtime.casts import to_bfloat16, to_float16
from ngraph_rewrite.runtime.reals import Real, kernel_function
from ngraph_rewrite.runtime.scalar_functions import (
    c_function,
    fabs,
    for_gpu,
    llvm_function,
    maximum,
    named,
    real_function,
)


def _real(name: str, arity: int) -> Any:
    """A function of floats of one type, which LLVM has."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return llvm_function(builder, f"llvm.{name}", args)

    return real_function(name, arity, generate)


trunc, copysign = _real("trunc", 1), _real("copysign", 2)


@intrinsic
def signbit(context: Any, x: Any) -> Any:
    """Whether the sign of a float is set."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = ir.IntType(x.bitwidth)
        return builder.icmp_signed("<", builder.bitcast(args[0], bits), ir.Constant(bits, 0))

    return (signature(types.boolean, x), generate) if isinstance(x, types.Float) else None


def _nextafter(x: Real, y: Real) -> Real:
    """The next number from x on towards y, by its bits: those of sizes are in order. Of two zeros it is the second."""
    if for_gpu(x.builder):
        return Real(x.builder, c_function(x.builder, "nextafter", [x.value, y.value]))
    grows = x.builder.xor(x.is_("<", y), x.is_("<", 0.0))
    bits = x.bits()
    moved = (bits + 1).where(grows, bits - 1).real()
    moved = x.of(2.0 ** (2 - x.format.bias - x.format.digits)).signed_as(y).where(x.is_("==", 0.0), moved)
    return (x + y).where(x.builder.or_(x.is_nan(), y.is_nan()), y.where(x.is_("==", y), moved))


nextafter = kernel_function(_nextafter)


def _next(rounded: Any, digits: int, largest: float, smallest: float) -> Any:
    """The next number of 16 bits from ``x`` on towards ``y``, both held as float32.

    A step between a half and one and a half units in the last place rounds to the neighbour. Of zeros that differ in
    sign it is the second, as in C, and in NumPy from 2.5 on.
    """
    most, least, part = np.float32(largest), np.float32(smallest), np.float32(1.25 / 2**digits)

    @register_jitable
    def following(x: Any, y: Any) -> Any:
        if x != x or y != y:
            return x + y
        if x == y:
            return y
        if fabs(x) > most:
            return copysign(most, x)
        step = maximum(fabs(x) * part, least)
        moved = rounded(x + copysign(step, y - x))
        return copysign(moved, x) if moved == np.float32(0) else moved

    return following


next_float16 = _next(to_float16, 11, 65504.0, 2.0**-24)
next_bfloat16 = _next(to_bfloat16, 8, (2 - 2.0**-7) * 2.0**127, 2.0**-133)


# -- shifts ------------------------------------------------------------------------------------------------------------


def _shift(name: str, left: bool) -> Any:
    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            value, number = args
            width = value.type.width
            inside = builder.icmp_unsigned("<", number, ir.Constant(number.type, width))
            zero = ir.Constant(value.type, 0)
            if left:
                return builder.select(inside, builder.shl(value, builder.select(inside, number, zero)), zero)
            if not x.signed:
                return builder.select(inside, builder.lshr(value, builder.select(inside, number, zero)), zero)
            return builder.ashr(value, builder.select(inside, number, ir.Constant(value.type, width - 1)))

        return (signature(x, x, x), generate) if isinstance(x, types.Integer) else None

    return named(name, typing)


left_shift, right_shift = _shift("left_shift", left=True), _shift("right_shift", left=False)
