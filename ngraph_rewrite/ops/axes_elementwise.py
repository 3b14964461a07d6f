# SPDX-License-Identifier: Apache-2.0
"""Axes elementwise ops: operands broadcast by name, dtypes promote as NumPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import aligned, combine, spread
from ngraph_rewrite.ops.checks import bool_only, named
from ngraph_rewrite.ops.promotion import SAYS, Rule, floats, numbers, quotient, same, truth
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype, is_float
from ngraph_rewrite.types.tensor import TensorType

Function = Callable[..., Any]


def _meaning(function: Function, compute: Rule) -> Meaning:
    """Align the operands, bring them to the dtype of the computation, apply a NumPy function."""

    def meaning(term: Op, *arrays: Any) -> Any:
        dtype = compute(*(a.type for a in term.args))
        with np.errstate(all="ignore"):
            operands = [np.asarray(a).astype(dtype, copy=False) for a in aligned(term, arrays, term.axes)]
            return np.asarray(function(*operands)).astype(term.dtype, copy=False)

    return meaning


def _declare(
    name: str, function: Function, compute: Rule, says: str, *traits: str, unary: bool, result: DType | None
) -> None:
    def unary_rule(x: TensorType) -> TensorType:
        named(x)
        dtype = compute(x)
        return x.with_dtype(result or dtype)

    def binary_rule(x: TensorType, y: TensorType) -> TensorType:
        named(x, y)
        dtype = compute(x, y)
        return TensorType(result or dtype, combine(x.axes, y.axes))

    rule = unary_rule if unary else binary_rule
    operands = SAYS[compute] if unary else f"{SAYS[compute]}, broadcast by name"
    rule.__doc__ = f"{says}.\n\nTakes {operands}; the result is {result or 'of the dtype computed in'}."
    op(f"axes.{name}", "elementwise", *traits, meaning=_meaning(function, compute))(rule)


def _unary(name: str, function: Function, compute: Rule, says: str, result: DType | None = None) -> None:
    _declare(name, function, compute, says, unary=True, result=result)


def _binary(name: str, function: Function, compute: Rule, says: str, *traits: str, result: DType | None = None) -> None:
    _declare(name, function, compute, says, *traits, unary=False, result=result)


# -- one argument -----------------------------------------------------------------------------------

_unary("negative", np.negative, numbers, "Minus `x`")
_unary("absolute", np.absolute, same, "`x` without its sign")
_unary("sign", np.sign, numbers, "-1, 0 or 1; NaN stays NaN")
_unary("square", np.square, same, "`x` times `x`")
_unary("sqrt", np.sqrt, floats, "The square root")
_unary("reciprocal", functions.reciprocal, floats, "1 / `x`")
_unary("exp", np.exp, floats, "e to the power of `x`")
_unary("expm1", np.expm1, floats, "exp(`x`) - 1, accurate near 0")
_unary("log", np.log, floats, "The natural logarithm")
_unary("log1p", np.log1p, floats, "log(1 + `x`), accurate near 0")
_unary("sin", np.sin, floats, "The sine of `x` radians")
_unary("cos", np.cos, floats, "The cosine of `x` radians")
_unary("tan", np.tan, floats, "The tangent of `x` radians")
_unary("tanh", np.tanh, floats, "The hyperbolic tangent")
_unary("sigmoid", functions.sigmoid, floats, "1 / (1 + exp(-`x`)) without overflow")
_unary("erf", functions.erf, floats, "The error function")
_unary("isnan", np.isnan, floats, "Whether `x` is not a number", BOOL)
_unary("isinf", np.isinf, floats, "Whether `x` is infinite", BOOL)
_unary("isfinite", np.isfinite, floats, "Whether `x` is neither infinite nor NaN", BOOL)
_unary("logical_not", np.logical_not, truth, "Whether `x` is zero", BOOL)


def _rounding(name: str, function: Function, says: str) -> None:
    def rule(x: TensorType) -> TensorType:
        named(x)
        return x

    def meaning(term: Op, x: Any) -> Any:
        return np.asarray(function(x), term.dtype) if is_float(term.dtype) else x

    rule.__doc__ = f"{says}.\n\nTakes any dtype; integers and bool stay as they are."
    op(f"axes.{name}", "elementwise", meaning=meaning)(rule)


_rounding("floor", np.floor, "The greatest integer not above `x`")
_rounding("ceil", np.ceil, "The least integer not below `x`")
_rounding("round", np.rint, "The nearest integer, halves to the even one")

# -- two arguments: subtract and divide first, as in the semi family ----------------------------------

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
_binary("logical_and", np.logical_and, truth, "Whether both are true", *_AC, result=BOOL)
_binary("logical_or", np.logical_or, truth, "Whether either is true", *_AC, result=BOOL)
_binary("logical_xor", np.logical_xor, truth, "Whether just one is true", *_AC, result=BOOL)
_binary("equal", np.equal, same, "Whether `x` = `y`", "comparison", "commutative", result=BOOL)
_binary("not_equal", np.not_equal, same, "Whether `x` differs from `y`", "comparison", "commutative", result=BOOL)
_binary("less", np.less, same, "Whether `x` < `y`", "comparison", result=BOOL)
_binary("less_equal", np.less_equal, same, "Whether `x` <= `y`", "comparison", result=BOOL)
_binary("greater", np.greater, same, "Whether `x` > `y`", "comparison", result=BOOL)
_binary("greater_equal", np.greater_equal, same, "Whether `x` >= `y`", "comparison", result=BOOL)


def _select(term: Op, *arrays: Any) -> Any:
    c, x, y = (spread(a, arg.axes, term.axes) for a, arg in zip(arrays, term.args, strict=True))
    return np.where(c, x.astype(term.dtype), y.astype(term.dtype))


@op("axes.select", "elementwise", meaning=_select)
def select(c: TensorType, x: TensorType, y: TensorType) -> TensorType:
    """`x` where the bool `c` is true, `y` elsewhere: broadcast by name, `x` and `y` promoted."""
    named(c, x, y)
    bool_only(c)
    return TensorType(same(x, y), combine(c.axes, x.axes, y.axes))


def _cast_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


def _cast(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(term.dtype)


@op("axes.cast", "elementwise", meaning=_cast, normalise=_cast_attributes)
def cast(x: TensorType, *, dtype: DType) -> TensorType:
    """`x` in another dtype: floats are truncated to integers, bool is "not zero". What does not fit is undefined."""
    named(x)
    return x.with_dtype(dtype)
