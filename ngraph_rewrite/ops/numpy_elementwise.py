# SPDX-License-Identifier: Apache-2.0
"""Numpy elementwise ops: operands are broadcast by position, dtypes promote as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import bool_only, numeric, positional, tensor
from ngraph_rewrite.ops.promotion import SAYS, Rule, bits, floats, integers, numbers, quotient, real, same, truth
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype, is_float
from ngraph_rewrite.types.tensor import TensorType

Function = Callable[..., Any]


def _meaning(function: Function, compute: Rule) -> Meaning:
    """Bring the operands to the dtype of the computation and apply a NumPy function, which broadcasts."""

    def meaning(term: Op, *arrays: Any) -> Any:
        dtype = compute(*(a.type for a in term.args))
        with np.errstate(all="ignore"):
            operands = [np.asarray(a).astype(dtype, copy=False) for a in arrays]
            return np.asarray(function(*operands)).astype(term.dtype, copy=False)

    return meaning


def _declare(
    name: str, meaning: Meaning, compute: Rule, says: str, *traits: str, unary: bool, result: DType | None
) -> None:
    def unary_rule(x: TensorType) -> TensorType:
        positional(x)
        dtype = compute(x)
        return x.with_dtype(result or dtype)

    def binary_rule(x: TensorType, y: TensorType) -> TensorType:
        positional(x, y)
        dtype = compute(x, y)
        return tensor(result or dtype, stretched(x.shape, y.shape))

    rule = unary_rule if unary else binary_rule
    operands = SAYS[compute] if unary else f"{SAYS[compute]}, broadcast by position"
    rule.__doc__ = f"{says}.\n\nTakes {operands}; the result is {result or 'of the dtype computed in'}."
    op(f"numpy.{name}", "elementwise", *traits, meaning=meaning)(rule)


def _unary(name: str, function: Function, compute: Rule, says: str, result: DType | None = None) -> None:
    _declare(name, _meaning(function, compute), compute, says, unary=True, result=result)


def _binary(name: str, function: Function, compute: Rule, says: str, *traits: str) -> None:
    result = BOOL if compute is truth else None
    _declare(name, _meaning(function, compute), compute, says, *traits, unary=False, result=result)


# -- one argument -----------------------------------------------------------------------------------

_unary("negative", np.negative, numbers, "Minus `x`")
_unary("absolute", np.absolute, same, "`x` without its sign")
_unary("sign", np.sign, numbers, "-1, 0 or 1; NaN stays NaN")
_unary("square", np.square, numbers, "`x` times `x`")
_unary("sqrt", np.sqrt, floats, "The square root")
_unary("reciprocal", functions.reciprocal, real, "1 / `x`")
_unary("exp", np.exp, floats, "e to the power of `x`")
_unary("expm1", np.expm1, floats, "exp(`x`) - 1, accurate near 0")
_unary("log", np.log, floats, "The natural logarithm")
_unary("log1p", np.log1p, floats, "log(1 + `x`), accurate near 0")
_unary("log2", np.log2, floats, "The logarithm to base 2")
_unary("log10", np.log10, floats, "The logarithm to base 10")
_unary("sin", np.sin, floats, "The sine of `x` radians")
_unary("cos", np.cos, floats, "The cosine of `x` radians")
_unary("tan", np.tan, floats, "The tangent of `x` radians")
_unary("asin", np.arcsin, floats, "The angle whose sine is `x`")
_unary("acos", np.arccos, floats, "The angle whose cosine is `x`")
_unary("atan", np.arctan, floats, "The angle whose tangent is `x`")
_unary("sinh", np.sinh, floats, "The hyperbolic sine")
_unary("cosh", np.cosh, floats, "The hyperbolic cosine")
_unary("tanh", np.tanh, floats, "The hyperbolic tangent")
_unary("asinh", np.arcsinh, floats, "The number whose hyperbolic sine is `x`")
_unary("acosh", np.arccosh, floats, "The number whose hyperbolic cosine is `x`")
_unary("atanh", np.arctanh, floats, "The number whose hyperbolic tangent is `x`")
_unary("sigmoid", functions.sigmoid, floats, "1 / (1 + exp(-`x`)) without overflow")
_unary("erf", functions.erf, floats, "The error function")
_unary("isnan", np.isnan, floats, "Whether `x` is not a number", BOOL)
_unary("isinf", np.isinf, floats, "Whether `x` is infinite", BOOL)
_unary("isfinite", np.isfinite, floats, "Whether `x` is neither infinite nor NaN", BOOL)
_unary("signbit", np.signbit, real, "Whether the sign of `x` is set, also that of -0.0", BOOL)
_unary("logical_not", np.logical_not, truth, "Whether `x` is zero", BOOL)
_unary("bitwise_invert", np.invert, bits, "`x` with every bit turned over")


def _rounding(name: str, function: Function, says: str) -> None:
    def rule(x: TensorType) -> TensorType:
        positional(x)
        numeric(x)
        return x

    def meaning(term: Op, x: Any) -> Any:
        return np.asarray(function(x), term.dtype) if is_float(term.dtype) else x

    rule.__doc__ = f"{says}.\n\nTakes a numeric dtype; integers stay as they are."
    op(f"numpy.{name}", "elementwise", meaning=meaning)(rule)


_rounding("floor", np.floor, "The greatest integer not above `x`")
_rounding("ceil", np.ceil, "The least integer not below `x`")
_rounding("trunc", np.trunc, "The nearest integer towards 0")
_rounding("round", np.rint, "The nearest integer, halves to the even one")

# -- two arguments ----------------------------------------------------------------------------------

_AC = ("commutative", "associative")
_binary("subtract", np.subtract, numbers, "`x` minus `y`")
_binary("divide", np.divide, quotient, "`x` divided by `y`")
_binary("add", np.add, same, "`x` plus `y`, or for bool", *_AC)
_binary("multiply", np.multiply, same, "`x` times `y`, and for bool", *_AC)
_binary("maximum", np.maximum, same, "The greater; NaN if either is", *_AC)
_binary("minimum", np.minimum, same, "The lesser; NaN if either is", *_AC)
_binary("floordivide", np.floor_divide, numbers, "The quotient rounded down; 0 for an integer divided by 0")
_binary("mod", np.mod, numbers, "The remainder, with the sign of `y`")
_binary("power", functions.power, numbers, "`x` to the power of `y`; negative integer exponents fail when computed")
_binary("atan2", np.arctan2, floats, "The angle in [-pi, pi] of the point that lies `y` to the right and `x` up")
_binary("hypot", np.hypot, floats, "The length of the vector (`x`, `y`)", "commutative")
_binary("copysign", np.copysign, floats, "The magnitude of `x` with the sign of `y`")
_binary("nextafter", np.nextafter, floats, "The next number of the dtype from `x` on towards `y`")
_binary("logaddexp", np.logaddexp, floats, "log(exp(`x`) + exp(`y`)) without overflow", "commutative")
_binary("bitwise_and", np.bitwise_and, bits, "The bits set in both", *_AC)
_binary("bitwise_or", np.bitwise_or, bits, "The bits set in either", *_AC)
_binary("bitwise_xor", np.bitwise_xor, bits, "The bits set in just one", *_AC)
_binary("left_shift", np.left_shift, integers, "`x` with its bits moved up by `y`")
_binary("right_shift", np.right_shift, integers, "`x` with its bits moved down by `y`, its sign staying")
_binary("logical_and", np.logical_and, truth, "Whether both are true", *_AC)
_binary("logical_or", np.logical_or, truth, "Whether either is true", *_AC)
_binary("logical_xor", np.logical_xor, truth, "Whether just one is true", *_AC)


def _comparison(name: str, function: Function, says: str, *traits: str) -> None:
    """NumPy compares signed with unsigned integers exactly: the operands stay as they are."""

    def meaning(term: Op, x: Any, y: Any) -> Any:
        return np.asarray(function(x, y))

    _declare(name, meaning, same, says, "comparison", *traits, unary=False, result=BOOL)


_comparison("equal", np.equal, "Whether `x` = `y`", "commutative")
_comparison("not_equal", np.not_equal, "Whether `x` differs from `y`", "commutative")
_comparison("less", np.less, "Whether `x` < `y`")
_comparison("less_equal", np.less_equal, "Whether `x` <= `y`")
_comparison("greater", np.greater, "Whether `x` > `y`")
_comparison("greater_equal", np.greater_equal, "Whether `x` >= `y`")


def _select(term: Op, c: Any, x: Any, y: Any) -> Any:
    return np.where(c, np.asarray(x).astype(term.dtype), np.asarray(y).astype(term.dtype))


@op("numpy.select", "elementwise", meaning=_select)
def select(c: TensorType, x: TensorType, y: TensorType) -> TensorType:
    """`x` where the bool `c` is true, `y` elsewhere: broadcast by position, `x` and `y` promoted."""
    positional(c, x, y)
    bool_only(c)
    return tensor(same(x, y), stretched(c.shape, x.shape, y.shape))


def _cast_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


def _cast(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(term.dtype)


@op("numpy.cast", "elementwise", meaning=_cast, normalise=_cast_attributes)
def cast(x: TensorType, *, dtype: DType) -> TensorType:
    """`x` in another dtype: floats are truncated to integers, bool is "not zero". What does not fit is undefined."""
    positional(x)
    return x.with_dtype(dtype)
