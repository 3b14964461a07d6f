# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy, beyond the standard, that compute each element by itself: each is a formula of others."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.elementwise import atan2, floor_divide, remainder, where
from ngraph_rewrite.frontend.numpy.formulas import without_names
from ngraph_rewrite.frontend.numpy.operands import Array, Parts, as_terms
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def fabs(x: Array, /) -> Op:
    """The absolute value as a float.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fabs(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("fabs", x)


def rint(x: Array, /) -> Op:
    """The nearest integer as a float; halves go to the even one.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.rint(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("rint", x)


def fix(x: Array, /) -> Op:
    """The nearest integer towards 0, of the dtype of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fix(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("fix", x)


def cbrt(x: Array, /) -> Op:
    """The cube root, also of negative numbers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cbrt(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("cbrt", x)


def exp2(x: Array, /) -> Op:
    """2 to the power of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.exp2(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("exp2", x)


def deg2rad(x: Array, /) -> Op:
    """Degrees in radians.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.deg2rad(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("deg2rad", x)


def radians(x: Array, /) -> Op:
    """Degrees in radians.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.radians(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("radians", x)


def rad2deg(x: Array, /) -> Op:
    """Radians in degrees.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.rad2deg(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("rad2deg", x)


def degrees(x: Array, /) -> Op:
    """Radians in degrees.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.degrees(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("degrees", x)


def sinc(x: Array, /) -> Op:
    """``sin(pi * x) / (pi * x)``, which is 1 at 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.sinc(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("sinc", x)


def fmod(x1: Array, x2: Array, /) -> Op:
    """What is left of `x1` divided by `x2`, with the sign of `x1`; `remainder` has that of `x2`.

    As there, an integer divided by 0 leaves 0.

    Raises:
        DTypeError: for bool.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fmod(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return _one("fmod", x1, x2)


def float_power(x1: Array, x2: Array, /) -> Op:
    """`x1` to the power of `x2`, computed in float64.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.float_power(ng.placeholder((3,)), 0.5).type
    float64[3]
    """
    return _one("float_power", x1, x2)


def logaddexp2(x1: Array, x2: Array, /) -> Op:
    """log2(2 ** `x1` + 2 ** `x2`) without overflow.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.logaddexp2(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return _one("logaddexp2", x1, x2)


def heaviside(x1: Array, x2: Array, /) -> Op:
    """0 where `x1` is negative, 1 where it is positive, `x2` where it is 0; NaN stays NaN.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.heaviside(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return _one("heaviside", x1, x2)


def ldexp(x1: Array, x2: Array, /) -> Op:
    """`x1` times 2 to the power of the integers `x2`.

    Raises:
        DTypeError: if `x2` are no integers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ldexp(ng.placeholder((3,)), [1, 0, 2]).type
    float32[3]
    """
    return _one("ldexp", x1, x2)


def divmod(x1: Array, x2: Array, /) -> tuple[Op, Op]:
    """`floor_divide` and `remainder`.

    >>> import ngraph_rewrite as ng
    >>> [part.type for part in ng.numpy.divmod(ng.placeholder((3,)), 2)]
    [float32[3], float32[3]]
    """
    return floor_divide(x1, x2), remainder(x1, x2)


def modf(x: Array, /) -> tuple[Op, Op]:
    """What is behind the point, and what before it, as floats with the sign of `x`.

    >>> import ngraph_rewrite as ng
    >>> [part.type for part in ng.numpy.modf(ng.placeholder((3,)))]
    [float32[3], float32[3]]
    """
    rest, whole = without_names("modf", x)
    return rest, whole


def frexp(x: Array, /) -> tuple[Op, Op]:
    """A fraction from 0.5 to 1, with the sign of `x`, and the int32 power of two that it is times to be `x`.

    The power of 0, of infinities and of NaN is 0. The slope of the fraction is that of a multiple.

    >>> import ngraph_rewrite as ng
    >>> [part.type for part in ng.numpy.frexp(ng.placeholder((3,)))]
    [float32[3], int32[3]]
    """
    part, power = without_names("frexp", x)
    return part, power


def spacing(x: Array, /) -> Op:
    """How far it is from `x` to the next number away from 0; negative for negative numbers.

    Of float16 it is the distance to the next greater number, as in NumPy.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.spacing(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("spacing", x)


def i0(x: Array, /) -> Op:
    """The modified Bessel function of the first kind, of order 0; float64 of integers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.i0(ng.placeholder((3,))).type
    float32[3]
    """
    return _one("i0", x)


def bitwise_count(x: Array, /) -> Op:
    """How many bits of the absolute value are 1, as uint8.

    Raises:
        DTypeError: for floats.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.bitwise_count(ng.placeholder((3,), "int32")).type
    uint8[3]
    """
    return _one("bitwise_count", x)


def angle(z: Array | Parts, /, deg: bool = False) -> Op:
    """The angle of a complex number, from -pi to pi; of a real one 0, or pi where it has a negative sign.

    NaN stays NaN.

    Args:
        deg: Whether it is given in degrees.

    Raises:
        AttributeValueError: for a `deg` that is neither True nor False.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.angle(ng.placeholder((3,))).type
    float32[3]
    """
    found = atan2(z.imag, z.real) if isinstance(z, Parts) else _one("angle", z)
    return _one("degrees", found) if checked("angle", flag, deg, "deg") else found


def select(conditions: Sequence[Array], choices: Sequence[Array], /, default: Array = 0) -> Op:
    """For each element the choice whose condition is the first to hold; where none does, the default.

    Raises:
        ArgumentError: if there are not as many conditions as choices, or none.
        DTypeError: for a condition that is not bool.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,))
    >>> ng.numpy.select([x < 0, x > 1], [0.0, 1.0], x).type
    float32[3]
    """
    for name, given in (("conditions", conditions), ("choices", choices)):
        if not isinstance(given, list | tuple) or len(given) != len(conditions) or not given:
            what = f"select: the {name} are {given!r}"
            raise ArgumentError(
                what, where=user_line(), do="give two lists: one condition for each choice, at least one"
            )
    *values, found = as_terms("select", *choices, default)
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        found = where(condition, value, found)
    return found


def _one(name: str, *operands: Array) -> Op:
    found: Op = without_names(name, *operands)
    return found
