# SPDX-License-Identifier: Apache-2.0
"""Semi elementwise ops: equal dtypes and equal shapes, no promotion and no broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions, gammas
from ngraph_rewrite.ops.checks import (
    Check,
    alike,
    any_dtype,
    bool_only,
    float_only,
    integer_only,
    numeric,
    numpy_meaning,
    positional,
    tensor,
)
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype
from ngraph_rewrite.types.tensor import TensorType

Function = Callable[..., Any]
_KINDS = {
    any_dtype: "any dtype", numeric: "a numeric dtype", float_only: "a float dtype", integer_only: "an integer dtype",
    bool_only: "bool",
}  # fmt: skip


def unary(name: str, function: Function, check: Check, says: str, result: DType | None = None) -> None:
    """Declare an op of one argument; `result` is its dtype, if not that of the argument."""

    def type_rule(x: TensorType) -> TensorType:
        positional(x)
        check(x)
        return tensor(result or x.dtype, x.shape)

    type_rule.__doc__ = f"{says}.\n\n`x` has {_KINDS[check]} and any shape; the result is {result or 'of its type'}."
    op(f"semi.{name}", "elementwise", meaning=numpy_meaning(function))(type_rule)


def binary(name: str, function: Function, check: Check, says: str, *traits: str, result: DType | None = None) -> None:
    """Declare an op of two arguments of one type; `result` is its dtype, if not theirs."""

    def type_rule(x: TensorType, y: TensorType) -> TensorType:
        positional(x, y)
        check(x, y)
        alike(x, y)
        return tensor(result or x.dtype, x.shape)

    type_rule.__doc__ = f"{says}.\n\nBoth have {_KINDS[check]} and one type; the result is {result or 'of that type'}."
    op(f"semi.{name}", "elementwise", *traits, meaning=numpy_meaning(function))(type_rule)


# -- one argument -----------------------------------------------------------------------------------

unary("negative", np.negative, numeric, "Minus `x`; unsigned integers wrap")
unary("absolute", np.absolute, any_dtype, "`x` without its sign")
unary("sign", functions.sign, numeric, "-1, 0 or 1; NaN stays NaN")
unary("square", np.square, any_dtype, "`x` times `x`")
unary("sqrt", np.sqrt, float_only, "The square root; NaN below 0")
unary("reciprocal", functions.reciprocal, float_only, "1 / `x`; infinite at 0")
unary("exp", np.exp, float_only, "e to the power of `x`")
unary("expm1", np.expm1, float_only, "exp(`x`) - 1, accurate near 0")
unary("log", np.log, float_only, "The natural logarithm; -inf at 0, NaN below")
unary("log1p", np.log1p, float_only, "log(1 + `x`), accurate near 0")
unary("sin", np.sin, float_only, "The sine of `x` radians")
unary("cos", np.cos, float_only, "The cosine of `x` radians")
unary("tan", np.tan, float_only, "The tangent of `x` radians")
unary("tanh", np.tanh, float_only, "The hyperbolic tangent")
unary("sigmoid", functions.sigmoid, float_only, "1 / (1 + exp(-`x`)) without overflow")
unary("erf", functions.erf, float_only, "The error function")
unary("erfinv", functions.erfinv, float_only, "The number whose error function is `x`; NaN outside of [-1, 1]")
unary(
    "lgamma",
    gammas.lgamma,
    float_only,
    "The logarithm of the size of gamma(`x`); infinite at 0, -1, -2 and so on",
)
unary("digamma", gammas.digamma, float_only, "The slope of lgamma; infinite at 0, NaN at -1, -2 and so on")
unary("trigamma", gammas.trigamma, float_only, "The slope of digamma; infinite at 0, -1, -2 and so on")
unary("floor", np.floor, float_only, "The greatest integer not above `x`")
unary("ceil", np.ceil, float_only, "The least integer not below `x`")
unary("round", np.rint, float_only, "The nearest integer; halves go to the even one")
unary("isnan", np.isnan, float_only, "Whether `x` is not a number", BOOL)
unary("isinf", np.isinf, float_only, "Whether `x` is infinite", BOOL)
unary("isfinite", np.isfinite, float_only, "Whether `x` is neither infinite nor NaN", BOOL)
unary("logical_not", np.logical_not, bool_only, "Whether `x` is false")

# -- two arguments: subtract and divide first, so that sums and products may be rewritten to them -----

binary("subtract", np.subtract, numeric, "`x` minus `y`; integers wrap")
binary("divide", np.divide, float_only, "`x` divided by `y`")
binary("add", np.add, any_dtype, "`x` plus `y`, or for bool; integers wrap", "commutative", "associative")
binary("multiply", np.multiply, any_dtype, "`x` times `y`, and for bool; integers wrap", "commutative", "associative")
binary("maximum", np.maximum, any_dtype, "The greater; NaN if either is", "commutative", "associative")
binary("minimum", np.minimum, any_dtype, "The lesser; NaN if either is", "commutative", "associative")
binary("floordivide", np.floor_divide, numeric, "The quotient rounded down; 0 for an integer divided by 0")
binary("mod", np.mod, numeric, "The remainder, with the sign of `y`; 0 for an integer modulo 0")
binary("logical_and", np.logical_and, bool_only, "Whether both are true", "commutative", "associative")
binary("logical_or", np.logical_or, bool_only, "Whether either is true", "commutative", "associative")
binary("logical_xor", np.logical_xor, bool_only, "Whether just one is true", "commutative", "associative")
binary("equal", np.equal, any_dtype, "Whether `x` = `y`", "comparison", "commutative", result=BOOL)
binary("not_equal", np.not_equal, any_dtype, "Whether `x` differs from `y`", "comparison", "commutative", result=BOOL)
binary("less", np.less, any_dtype, "Whether `x` < `y`", "comparison", result=BOOL)
binary("less_equal", np.less_equal, any_dtype, "Whether `x` <= `y`", "comparison", result=BOOL)
binary("greater", np.greater, any_dtype, "Whether `x` > `y`", "comparison", result=BOOL)
binary("greater_equal", np.greater_equal, any_dtype, "Whether `x` >= `y`", "comparison", result=BOOL)


@op("semi.select", "elementwise", meaning=numpy_meaning(np.where))
def select(c: TensorType, x: TensorType, y: TensorType) -> TensorType:
    """`x` where the bool `c` is true, `y` elsewhere; `x` and `y` have one type, `c` its shape."""
    positional(c, x, y)
    bool_only(c)
    alike(x, y)
    if c.shape != x.shape:
        raise AxesError(f"expected the condition to have the shape of {x!r}, got {c!r}", do="broadcast it")
    return tensor(x.dtype, x.shape)


# Some powers are roots, or what is chosen in their place.
binary("power", functions.power, numeric, "`x` to the power of `y`; a negative power of an integer is truncated")


def _cast_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


@op("semi.cast", "elementwise", meaning=numpy_meaning(np.asarray), normalise=_cast_attributes)
def cast(x: TensorType, *, dtype: DType) -> TensorType:
    """`x` in another dtype: floats are truncated to integers, bool is "not zero". What does not fit is undefined."""
    positional(x)
    return tensor(dtype, x.shape)
