# SPDX-License-Identifier: Apache-2.0
"""Formulas of what numbers are made of: their bits, their fractions and powers of two, and the gaps beside them.

They are made in the family of their operands, as those of `formulas` are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.numpy.keeping import by_position
from ngraph_rewrite.ops.alignment import floating
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, FLOAT16, FLOAT64, DType, finfo, is_float, wide

Make = Callable[..., Op]


def as_float(x: Op) -> Op:
    """`x` in the float dtype in which functions such as exp are computed."""
    return x if is_float(x.dtype) else cast(x, floating(x.dtype))


def own_float(x: Op) -> Op:
    """`x` as a float, float64 if it is none."""
    return x if is_float(x.dtype) else cast(x, FLOAT64)


def bitwise_count(make: Make, x: Op) -> Op:
    """How many bits of the absolute value are set, as uint8: of pairs of bits, of fours, of eights, and so on."""
    if x.dtype == BOOL:
        return cast(x, "uint8")
    if x.dtype.kind not in "iu":
        raise DTypeError(f"expected bool or integers, got {x.type!r}", do="cast it to int64")
    bits = 8 * x.dtype.itemsize
    left = cast(make("absolute", x) if x.dtype.kind == "i" else x, f"uint{bits}")
    left = make("subtract", left, _masked(make, left, 1, _repeated(0x55, bits)))
    twos = _repeated(0x33, bits)
    left = make("add", make("bitwise_and", left, twos), _masked(make, left, 2, twos))
    left = make("bitwise_and", make("add", left, make("right_shift", left, 4)), _repeated(0x0F, bits))
    for step in (8, 16, 32):
        left = make("add", left, make("right_shift", left, step)) if step < bits else left
    return cast(make("bitwise_and", left, 0x7F), "uint8")


def _masked(make: Make, x: Op, step: int, mask: int) -> Op:
    return make("bitwise_and", make("right_shift", x, step), mask)


def _repeated(byte: int, bits: int) -> int:
    return int.from_bytes(bytes([byte]) * (bits // 8), "big")


def scaled_by_power(make: Make, x: Op, exponent: Op) -> Op:
    """`x` times a power of two, by three factors: one alone may be infinite, or zero, where the product is not.

    The last one is as much of it as is a normal number: what comes before is exact, or too small to be seen after it.
    """
    x = as_float(x)
    least, most = int(finfo(x.dtype).minexp), int(finfo(x.dtype).maxexp) - 1
    left = _bounded(make, exponent, 3 * least, 3 * most, _integer(x.dtype))  # beyond that there is no number
    factors = []
    for _ in range(3):
        part = _between(make, left, least, most)
        factors.append(_power_of_two(make, part, x.dtype))
        left = make("subtract", left, part)
    for factor in reversed(factors):
        x = make("multiply", x, factor)
    return x


def _bounded(make: Make, x: Op, least: int, most: int, dtype: str) -> Op:
    """Integers of any dtype in one that has both limits, which are never compared in one that lacks them."""
    x = cast(x, "int32") if x.dtype.itemsize < 4 else x
    x = make("minimum", x, most)
    return cast(x if x.dtype.kind == "u" else make("maximum", x, least), dtype)


def _integer(dtype: DType) -> str:
    """The integers that have as many bits as a float."""
    return f"int{8 * dtype.itemsize}"


def _power_of_two(make: Make, exponent: Op, dtype: DType) -> Op:
    """Two to the power of integers that are exponents of normal numbers: they are a number's bits."""
    of_float = finfo(dtype)
    biased = make("add", exponent, int(of_float.maxexp) - 1)
    return _read_as(make("left_shift", biased, int(of_float.nmant)), dtype)


def _read_as(x: Op, dtype: DType | str) -> Op:
    """The bits of `x` as another dtype, between its axes."""
    return by_position(lambda term: build_term("semi.bitcast", term, dtype=dtype), "bitcast", x)


def _between(make: Make, x: Op, least: int, most: int) -> Op:
    return make("maximum", make("minimum", x, most), least)


def frexp(make: Make, x: Op) -> tuple[Op, Op]:
    """A fraction from 0.5 to 1 and a power of two, which its bits tell; those of a subnormal number, scaled up."""
    x = as_float(x)
    of_float, plain = finfo(x.dtype), make("logical_and", make("isfinite", x), make("not_equal", x, 0.0))
    near, digits, bias = make("select", plain, x, 0.5), int(of_float.nmant), int(of_float.maxexp) - 1
    small = make("less", make("absolute", near), float(of_float.smallest_normal))
    normal = make("multiply", near, make("select", small, 2.0**digits, cast(1.0, x.dtype)))
    biased = make("bitwise_and", make("right_shift", _read_as(normal, _integer(x.dtype)), digits), 2 * bias + 1)
    power = make(
        "subtract", cast(biased, "int32"), make("add", make("multiply", cast(small, "int32"), digits), bias - 1)
    )
    part = scaled_by_power(make, near, make("negative", power))
    return make("select", plain, part, x), make("select", plain, power, 0)


def spacing(make: Make, x: Op) -> Op:
    """How far it is to the next number away from 0; for float16, as in NumPy, to the next greater one."""
    x = as_float(x)
    away = math.inf if x.dtype == FLOAT16 else make("select", make("less", x, 0.0), -math.inf, math.inf)
    beyond = make("isinf", x)
    found = make("subtract", make("nextafter", x, cast(away, x.dtype) if isinstance(away, Op) else away), x)
    return make("select", beyond, math.nan, found)


# -- the modified Bessel function --------------------------------------------------------------------

# Coefficients of Chebyshev polynomials, as NumPy has them of Cephes: of exp(-x) i0(x) for x / 2 - 2, and of that
# times sqrt(x) for 32 / x - 2.
UP_TO_8 = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998, -0.02373741480589947,
    0.04930528423967071, -0.09490109704804764, 0.17162090152220877, -0.3046826723431984, 0.6767952744094761,
)  # fmt: skip
ABOVE_8 = (
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
    -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15,
    -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13,
    7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
    1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
    2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943, 0.8044904110141088,
)  # fmt: skip


def i0(make: Make, x: Op) -> Op:
    """By one polynomial up to 8 and another one above, each computed of 8 where the other one is meant.

    Which sign there is, is chosen, as the slope of an absolute value is 0 at 0: so would be the second one of this.
    """
    dtype = own_float(x).dtype
    x = cast(x, wide(dtype))
    x = make("select", make("less", x, 0.0), make("negative", x), x)
    small = make("less_equal", x, 8.0)
    low, high = make("select", small, x, 8.0), make("select", small, 8.0, x)
    series = chebyshev(make, make("subtract", make("divide", low, 2.0), 2.0), UP_TO_8)
    below = make("multiply", make("exp", low), series)
    series = chebyshev(make, make("subtract", make("divide", 32.0, high), 2.0), ABOVE_8)
    above = make("divide", make("multiply", make("exp", high), series), make("sqrt", high))
    return cast(make("select", small, below, above), dtype)


def polynomial(make: Make, x: Op, factors: Sequence[float]) -> Op:
    """The sum of powers of `x` times factors, that of the constant first, of two or more (Horner)."""
    found = make("add", make("multiply", x, factors[-1]), factors[-2])
    for factor in factors[-3::-1]:
        found = make("add", make("multiply", x, found), factor)
    return found


def chebyshev(make: Make, x: Op, factors: Sequence[float]) -> Op:
    """Half of the difference that Clenshaw's recurrence ends with."""
    last: Op | float = factors[0]
    before: Op | float = 0.0
    older: Op | float = 0.0
    for factor in factors[1:]:
        older, before = before, last
        last = make("add", make("subtract", make("multiply", x, before), older), factor)
    return make("multiply", make("subtract", last, older), 0.5)
