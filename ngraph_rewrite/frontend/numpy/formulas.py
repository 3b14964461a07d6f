# SPDX-License-Identifier: Apache-2.0
"""Formulas of functions that compute each element by itself, made of ops in the family of their operands.

Each takes what builds an op of a name, then terms: `apply` matches these by position, `made` by names, if any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.frontend.arrangement import stop_gradient
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.numpy.keeping import made
from ngraph_rewrite.frontend.numpy.number_formulas import (
    Make,
    as_float,
    bitwise_count,
    frexp,
    i0,
    own_float,
    polynomial,
    scaled_by_power,
    spacing,
)
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_terms
from ngraph_rewrite.ops.checks import integer_only
from ngraph_rewrite.terms.op import Op, family_of
from ngraph_rewrite.terms.operands import as_operands
from ngraph_rewrite.types.dtypes import FLOAT64, is_float

Formula = Callable[..., Any]
_SINC = [(-1) ** n / math.factorial(2 * n + 1) for n in range(9)]


# -- the greater, the nearest ------------------------------------------------------------------------


def _known(short: str) -> Formula:
    def formula(make: Make, x: Op, y: Op) -> Op:
        found = make(short, x, y)
        if not is_float(found.dtype):
            return found
        return make("select", make("isnan", x), y, make("select", make("isnan", y), x, found))

    return formula


def _fabs(make: Make, x: Op) -> Op:
    return make("absolute", as_float(x))


def _rint(make: Make, x: Op) -> Op:
    return make("round", as_float(x))


def _fix(make: Make, x: Op) -> Op:
    return make("trunc", x) if is_float(x.dtype) else x


# -- remainders and parts ----------------------------------------------------------------------------


def _fmod(make: Make, x: Op, y: Op) -> Op:
    """The remainder with the sign of `x`: that of floats is exact, as that of absolute values is.

    Signs are factors, as the slope of an absolute value, and of a copied sign, is 0 at 0, where that of `x` is 1.
    """
    found = make("mod", x, y)
    x, y = cast(x, found.dtype), cast(y, found.dtype)
    if is_float(found.dtype):
        signs = make("copysign", 1.0, x), make("copysign", 1.0, y)
        sizes = (make("multiply", z, sign) for z, sign in zip((x, y), signs, strict=True))
        return make("multiply", make("mod", *sizes), signs[0])
    across = make("not_equal", make("less", found, 0), make("less", x, 0))
    return make("select", make("logical_and", make("not_equal", found, 0), across), make("subtract", found, y), found)


def _divmod(make: Make, x: Op, y: Op) -> tuple[Op, Op]:
    return make("floordivide", x, y), make("mod", x, y)


def _modf(make: Make, x: Op) -> tuple[Op, Op]:
    x = as_float(x)
    whole = make("trunc", x)
    rest = make("select", make("isinf", x), 0.0, make("subtract", x, whole))
    return make("copysign", rest, x), whole


# -- powers and roots --------------------------------------------------------------------------------


def _exp2(make: Make, x: Op) -> Op:
    return make("power", 2.0, as_float(x))


def _cbrt(make: Make, x: Op) -> Op:
    return make("cbrt", as_float(x))


def _float_power(make: Make, x: Op, y: Op) -> Op:
    return make("power", cast(x, FLOAT64), cast(y, FLOAT64))


def _ldexp(make: Make, x: Op, exponent: Op) -> Op:
    integer_only(exponent.type)
    return scaled_by_power(make, x, exponent)


def _logaddexp2(make: Make, x: Op, y: Op) -> Op:
    """The greater one, which is a constant beside what is added to it: slopes pass through that alone.

    Infinities have no difference: there it is the greater one, and so is the slope.
    """
    x, y = as_float(x), as_float(y)
    greater, later = make("maximum", x, y), make("less", x, y)
    infinite = make("isinf", greater)
    both = make("select", later, y, x), make("select", later, x, y)
    apart = (make("select", infinite, 0.0, make("subtract", z, stop_gradient(greater))) for z in both)
    high, low = (make("multiply", z, math.log(2)) for z in apart)
    more = make("multiply", make("log1p", make("add", make("expm1", high), make("exp", low))), 1 / math.log(2))
    return make("select", infinite, greater, make("add", stop_gradient(greater), more))


# -- angles and steps --------------------------------------------------------------------------------


def _scaled(factor: float) -> Formula:
    def formula(make: Make, x: Op) -> Op:
        return make("multiply", as_float(x), factor)

    return formula


def _angle(make: Make, x: Op) -> Op:
    """That of a complex number without an imaginary part: half a turn where there is a sign, and no slope."""
    x = as_float(x)
    return make("select", make("isnan", x), x, make("multiply", cast(make("signbit", x), x.dtype), math.pi))


def _sinc(make: Make, x: Op) -> Op:
    """By a series near 0, where the slopes of a quotient would be differences of large numbers."""
    angle = make("multiply", own_float(x), math.pi)
    near = make("less", make("absolute", angle), 0.5)
    small, other = make("select", near, angle, 0.0), make("select", near, 1.0, angle)
    series = polynomial(make, make("multiply", small, small), _SINC)
    return make("select", near, series, make("divide", make("sin", other), other))


def _heaviside(make: Make, x: Op, at_zero: Op) -> Op:
    x, at_zero = as_float(x), as_float(at_zero)
    step = make("select", make("equal", x, 0.0), at_zero, cast(make("greater", x, 0.0), make("add", x, at_zero).dtype))
    return make("select", make("isnan", x), x, step)


# -- classes -----------------------------------------------------------------------------------------


def _isposinf(make: Make, x: Op) -> Op:
    return make("equal", x, math.inf) if is_float(x.dtype) else make("isinf", x)


def _isneginf(make: Make, x: Op) -> Op:
    return make("equal", x, -math.inf) if is_float(x.dtype) else make("isinf", x)


def replaced(make: Make, x: Op, nan: Any, posinf: Any, neginf: Any) -> Op:
    """`x` with numbers in the place of what is not finite."""
    clean = make("select", make("isnan", x), nan, x)
    for infinity, number in ((math.inf, posinf), (-math.inf, neginf)):
        clean = make("select", make("equal", x, infinity), number, clean)
    return clean


def close(make: Make, x: Op, y: Op, rtol: Any, atol: Any, equal_nan: bool) -> Op:
    """Whether each `x` is within ``atol + rtol * abs(y)`` of `y`, or equal to it."""
    y = own_float(y)
    room = make("add", make("multiply", make("absolute", y), rtol), atol)
    near = make("less_equal", make("absolute", make("subtract", x, y)), room)
    found = make("logical_or", make("logical_and", near, make("isfinite", y)), make("equal", x, y))
    if equal_nan:
        found = make("logical_or", found, make("logical_and", make("isnan", x), make("isnan", y)))
    return found


FORMULAS: Mapping[str, Formula] = {
    "fmax": _known("maximum"), "fmin": _known("minimum"), "fabs": _fabs, "rint": _rint, "fix": _fix, "fmod": _fmod,
    "divmod": _divmod, "modf": _modf, "exp2": _exp2, "cbrt": _cbrt, "float_power": _float_power, "ldexp": _ldexp,
    "logaddexp2": _logaddexp2, "deg2rad": _scaled(math.pi / 180), "radians": _scaled(math.pi / 180),
    "rad2deg": _scaled(180 / math.pi), "degrees": _scaled(180 / math.pi), "sinc": _sinc, "angle": _angle,
    "heaviside": _heaviside,
    "isposinf": _isposinf, "isneginf": _isneginf, "isclose": close, "nan_to_num": replaced,
    "bitwise_count": bitwise_count, "frexp": frexp, "spacing": spacing, "i0": i0,
}  # fmt: skip


def _mantissa(x: float) -> Any:
    """What `ldexp` takes a number of Python for: an integer is of the least of its dtypes, a float of the greatest."""
    with np.errstate(over="ignore"):
        return np.float64(x) if isinstance(x, float) else np.float16(x)


# What a number is beside terms where it is not weak, by its place.
_NOT_WEAK: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "ldexp": (_mantissa, lambda x: np.asarray(x)[()]),
    "float_power": (np.float64, np.float64),
}


def without_names(name: str, *operands: Array, **options: Any) -> Any:
    """What a formula makes of operands matched by position."""
    return checked(name, FORMULAS[name], apply, *as_terms(name, *_own(name, operands)), **options)


def in_their_family(name: str, *operands: Any, **options: Any) -> Any:
    """What a formula makes of operands, some of them terms, in the family of these: names stay."""
    terms = [x for x in operands if isinstance(x, Op) and x.rank]
    if not terms or family_of(terms) == "numpy":
        return without_names(name, *operands, **options)
    given = as_operands(_own(name, operands), family_of(terms), name)
    return checked(name, FORMULAS[name], made, *given, **options)


def _own(name: str, operands: Iterable[Any]) -> list[Any]:
    if name not in _NOT_WEAK:
        return list(operands)
    return [
        make(x) if isinstance(x, int | float) and not isinstance(x, np.generic) else x
        for make, x in zip(_NOT_WEAK[name], operands, strict=True)
    ]
