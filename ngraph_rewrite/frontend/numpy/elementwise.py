# SPDX-License-Identifier: Apache-2.0
"""Functions that compute each element by itself: operands are broadcast by position and promoted as NumPy's are."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from sys import float_info
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import checked, condition_of
from ngraph_rewrite.frontend.numpy.creation import zeros_like
from ngraph_rewrite.frontend.numpy.operands import Array, Parts, apply, as_number, as_term, no_truth
from ngraph_rewrite.ops.checks import as_index, numeric
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, is_float, kind_of, promote, scalar_dtype
from ngraph_rewrite.types.lengths import Length


def _documented(function: Callable[..., Op], name: str, short: str, call: str, dtype: str) -> None:
    """Give a function its name, and the documentation of its op with an example."""
    function.__name__ = function.__qualname__ = name
    made = [f'{x} = ng.placeholder((3,), "{dtype}", name="{x}")' for x in call.split(", ")]
    lines = ["import ngraph_rewrite as ng", *made, f"ng.numpy.{name}({call})"]
    example = "\n".join(f">>> {line}" for line in lines)
    function.__doc__ = f"{lookup(f'numpy.{short}').doc}\n\n{example}\nnumpy.{short}({call})\n"


def _unary(name: str, short: str | None = None, dtype: str = "float32") -> Callable[[Array], Op]:
    def function(x: Array, /) -> Op:
        return apply(short or name, no_truth(x))

    _documented(function, name, short or name, "x", dtype)
    return function


def _binary(name: str, short: str | None = None, dtype: str = "float32") -> Callable[[Array, Array], Op]:
    def function(x1: Array, x2: Array, /) -> Op:
        return apply(short or name, x1, x2)

    _documented(function, name, short or name, "x1, x2", dtype)
    return function


# -- one argument -------------------------------------------------------------------------------------

_absolute = _unary("abs", "absolute")
acos = _unary("acos")
acosh = _unary("acosh")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
bitwise_invert = _unary("bitwise_invert", dtype="int32")
ceil = _unary("ceil")
cos = _unary("cos")
cosh = _unary("cosh")
erf = _unary("erf")
erfinv = _unary("erfinv")
lgamma = _unary("lgamma")
digamma = _unary("digamma")
trigamma = _unary("trigamma")
exp = _unary("exp")
expm1 = _unary("expm1")
floor = _unary("floor")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
logical_not = _unary("logical_not", dtype="bool")
negative = _unary("negative")
reciprocal = _unary("reciprocal")
sigmoid = _unary("sigmoid")
sign = _unary("sign")
signbit = _unary("signbit")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = _unary("trunc")

# -- two arguments ------------------------------------------------------------------------------------

add = _binary("add")
atan2 = _binary("atan2")
bitwise_and = _binary("bitwise_and", dtype="int32")
bitwise_left_shift = _binary("bitwise_left_shift", "left_shift", dtype="int32")
bitwise_or = _binary("bitwise_or", dtype="int32")
bitwise_right_shift = _binary("bitwise_right_shift", "right_shift", dtype="int32")
bitwise_xor = _binary("bitwise_xor", dtype="int32")
copysign = _binary("copysign")
divide = _binary("divide")
equal = _binary("equal")
floor_divide = _binary("floor_divide", "floordivide")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
hypot = _binary("hypot")
less = _binary("less")
less_equal = _binary("less_equal")
logaddexp = _binary("logaddexp")
logical_and = _binary("logical_and", dtype="bool")
logical_or = _binary("logical_or", dtype="bool")
logical_xor = _binary("logical_xor", dtype="bool")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
nextafter = _binary("nextafter")
not_equal = _binary("not_equal")
pow = _binary("pow", "power")
remainder = _binary("remainder", "mod")
subtract = _binary("subtract")


def positive(x: Array, /) -> Op:
    """`x` itself.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,), name="x")
    >>> ng.numpy.positive(x) is x
    True
    """
    return as_term(x)


def abs(x: Array | Parts, /) -> Op:
    """The absolute value, which of a complex number is its distance from 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.abs(ng.placeholder((3,), name="x")), ng.numpy.abs(ng.numpy.fft.fft(ng.placeholder((3,)))).type
    (numpy.absolute(x), float32[3])
    """
    return hypot(x.real, x.imag) if isinstance(x, Parts) else _absolute(x)


def conj(x: Array | Parts, /) -> Any:
    """A complex array with the other sign of its imaginary part; `x` itself, if it is real.

    Raises:
        DTypeError: for bool, which is no number.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,), name="x")
    >>> ng.numpy.conj(x) is x, ng.numpy.conj(ng.numpy.fft.Complex(x, x)).imag
    (True, numpy.negative(x))
    """
    return x._replace(imag=negative(x.imag)) if isinstance(x, Parts) else _number("conj", x)


def real(x: Array | Parts, /) -> Op:
    """The real part of a complex array; `x` itself, if it is real.

    Raises:
        DTypeError: for bool, which is no number.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,), name="x")
    >>> ng.numpy.real(x) is x
    True
    """
    return as_term(x.real) if isinstance(x, Parts) else _number("real", x)


def imag(x: Array | Parts, /) -> Op:
    """The imaginary part of a complex array; zeros of the shape and dtype of `x`, if it is real.

    Raises:
        DTypeError: for bool, which is no number.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.imag(ng.placeholder((3,))).type
    float32[3]
    """
    return as_term(x.imag) if isinstance(x, Parts) else zeros_like(_number("imag", x))


def _number(call: str, x: Array) -> Op:
    term = as_term(x)
    checked(call, numeric, term.type)
    return term


def round(x: Array, /, decimals: int = 0) -> Op:
    """The nearest integer, or multiple of ``10 ** -decimals``; halves go to the even one. The dtype stays.

    Integers are rounded in float64, as NumPy rounds them.

    Raises:
        DTypeError: for bool.
        AttributeValueError: if `decimals` is no integer from -308 to 308.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.round(ng.placeholder((3,), name="x"))
    numpy.round(x)
    """
    term, places = as_term(x), checked("round", _decimals, decimals)
    if places == 0 or (places > 0 and not is_float(term.dtype)) or term.dtype == BOOL:
        return apply("round", term)
    scale = 10.0 ** builtins.abs(places)
    up, down = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    wide = term if is_float(term.dtype) else apply("cast", term, dtype="float64")
    found = apply(down, apply("round", apply(up, wide, scale)), scale)
    return found if found.dtype == term.dtype else apply("cast", found, dtype=term.dtype)


def _decimals(given: Any) -> int:
    number = as_index(given, "decimals")
    if builtins.abs(number) > float_info.max_10_exp:
        raise AttributeValueError(f"decimals is {number}", do="give an integer from -308 to 308")
    return number


def clip(
    x: Array,
    /,
    min: Array | None = None,
    max: Array | None = None,
    *,
    a_min: Array | None = None,
    a_max: Array | None = None,
) -> Op:
    """`x`, but at least `min` and at most `max`; NaN stays NaN. Where the two cross it is `max`.

    NumPy's older names of the two, `a_min` and `a_max`, mean the same.

    A Python integer below or above all integers of the dtype bounds nothing on that side.

    Raises:
        ArgumentError: for a bound under both of its names.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.clip(ng.placeholder((3,), name="x"), 0, max=1)
    numpy.minimum(numpy.maximum(x, 0.0), 1.0)
    """
    term = as_term(x)
    if not (min is None or a_min is None) or not (max is None or a_max is None):
        raise ArgumentError(
            "clip: a bound has both of its names", where=user_line(), do="give min or a_min, max or a_max"
        )
    low, high = bounds_of(term, a_min if min is None else min, a_max if max is None else max)
    below = term if low is None else apply("maximum", term, low)
    return below if high is None else apply("minimum", below, high)


def bounds_of(term: Op, low: Any, high: Any) -> tuple[Any, Any]:
    """What `clip` is given, but None for a Python integer that bounds no integer of the dtype.

    >>> import ngraph_rewrite as ng
    >>> bounds_of(ng.placeholder((3,), "uint8"), -3, 9), bounds_of(ng.placeholder((3,)), -3, 9)
    ((None, 9), (-3, 9))
    """
    if kind_of(term.dtype) not in "iu":
        return low, high
    limits = np.iinfo(term.dtype)
    no_low, no_high = type(low) is int and low <= limits.min, type(high) is int and high >= limits.max
    return None if no_low else low, None if no_high else high


def where(condition: Array, x1: Array | None = None, x2: Array | None = None, /) -> Op:
    """`x1` where the condition holds, `x2` elsewhere; broadcast by position, `x1` and `x2` promoted.

    Raises:
        ArgumentError: for a condition alone: how many places there are depends on values.
        DTypeError: if the condition is not bool, or is True or False of Python, as ``x == 0`` is of a term.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,), name="x")
    >>> ng.numpy.where(x > 0, x, 0)
    numpy.select(numpy.greater(x, 0.0), x, 0.0)
    """
    if x1 is None or x2 is None:
        what = "where of a condition alone: how many elements are true is not known, and so no shape"
        do = "give both values, or use ng.numpy.nonzero(condition, size=...)"
        raise ArgumentError(what, where=user_line(), do=do)
    return apply("select", as_term(condition_of("where", condition)), *_branches(x1, x2))


def _branches(*branches: Array) -> list[Op]:
    """The two as terms: a Python number takes the dtype of the other; the condition's does not count."""
    terms = [x if isinstance(x, bool | int | float | Length) else as_term(x, branches) for x in branches]
    numbers = [1 if isinstance(x, Length) else x for x in terms if not isinstance(x, Op)]
    if len(numbers) == len(terms):
        dtype = builtins.max((scalar_dtype(x) for x in numbers), key=lambda d: "biuf".index(kind_of(d)))
    else:
        dtype = promote(*(x.dtype for x in terms if isinstance(x, Op)), *numbers)
    return [x if isinstance(x, Op) else as_number(x, dtype) for x in terms]
