# SPDX-License-Identifier: Apache-2.0
"""Functions of the C library for kernels, and those that work on bits: signs, shifts, the next number.

A shift by a number that is no bit's number leaves nothing but, to the right, the sign: what NumPy does.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic, register_jitable

from ngraph_rewrite.runtime.casts import to_bfloat16, to_float16
from ngraph_rewrite.runtime.scalar_functions import c_function, fabs, llvm_function, maximum, named, real_function


def _real(name: str, arity: int, external: str | None = None) -> Any:
    """A function of floats of one type: of the C library, or LLVM's `external`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return c_function(builder, name, args) if external is None else llvm_function(builder, external, args)

    return real_function(name, arity, generate)


nextafter = _real("nextafter", 2)
trunc, copysign = _real("trunc", 1, "llvm.trunc"), _real("copysign", 2, "llvm.copysign")


@intrinsic
def signbit(context: Any, x: Any) -> Any:
    """Whether the sign of a float is set."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = ir.IntType(x.bitwidth)
        return builder.icmp_signed("<", builder.bitcast(args[0], bits), ir.Constant(bits, 0))

    return (signature(types.boolean, x), generate) if isinstance(x, types.Float) else None


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
