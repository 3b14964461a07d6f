# SPDX-License-Identifier: Apache-2.0
"""Simple elementwise ops: equal features, N and R repeated where an operand lacks them, dtypes promoted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import bool_only, known_shape
from ngraph_rewrite.ops.promotion import SAYS, Rule, floats, numbers, quotient, same, truth
from ngraph_rewrite.ops.simple_marks import align, aligned, simple, together
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype, is_float
from ngraph_rewrite.types.tensor import TensorType


def _meaning(function: Callable[..., Any], compute: Rule) -> Meaning:
    """A NumPy function of the aligned operands, in the dtype of the computation."""

    def meaning(term: Op, *arrays: Any) -> Any:
        dtype = compute(*(a.type for a in term.args))
        with np.errstate(all="ignore"):
            operands = [np.asarray(a).astype(dtype, copy=False) for a in aligned(term, arrays, term.axes)]
            return np.asarray(function(*operands)).astype(term.dtype, copy=False)

    return meaning


def _declare(
    name: str, function: Callable[..., Any], compute: Rule, says: str, *traits: str, result: DType | None = None
) -> None:
    """An op of one or two arguments, as many as the rule of its dtype takes or `traits` tell."""

    def unary(x: TensorType) -> TensorType:
        simple(x)
        dtype = compute(x)
        return x.with_dtype(result or dtype)

    def binary(x: TensorType, y: TensorType) -> TensorType:
        simple(x, y)
        dtype = compute(x, y)
        return TensorType(result or dtype, together(x.axes, y.axes))

    rule = binary if "binary" in traits else unary
    rule.__doc__ = f"{says}.\n\nTakes {SAYS[compute]}; the result is {result or 'of the dtype computed in'}."
    kept = [t for t in traits if t != "binary"]
    op(f"simple.{name}", "elementwise", *kept, meaning=_meaning(function, compute))(rule)


_BOTH, _AC = ("binary",), ("binary", "commutative", "associative")
_COMPARES = ("binary", "comparison")

# -- one argument -----------------------------------------------------------------------------------

_declare("negative", np.negative, numbers, "Minus `x`")
_declare("absolute", np.absolute, same, "`x` without its sign")
_declare("sign", np.sign, numbers, "-1, 0 or 1; NaN stays NaN")
_declare("square", np.square, same, "`x` times `x`")
_declare("sqrt", np.sqrt, floats, "The square root")
_declare("reciprocal", functions.reciprocal, floats, "1 / `x`")
_declare("exp", np.exp, floats, "e to the power of `x`")
_declare("expm1", np.expm1, floats, "exp(`x`) - 1, accurate near 0")
_declare("log", np.log, floats, "The natural logarithm")
_declare("log1p", np.log1p, floats, "log(1 + `x`), accurate near 0")
_declare("sin", np.sin, floats, "The sine of `x` radians")
_declare("cos", np.cos, floats, "The cosine of `x` radians")
_declare("tan", np.tan, floats, "The tangent of `x` radians")
_declare("tanh", np.tanh, floats, "The hyperbolic tangent")
_declare("sigmoid", functions.sigmoid, floats, "1 / (1 + exp(-`x`)) without overflow")
_declare("erf", functions.erf, floats, "The error function")
_declare("isnan", np.isnan, floats, "Whether `x` is not a number", result=BOOL)
_declare("isinf", np.isinf, floats, "Whether `x` is infinite", result=BOOL)
_declare("isfinite", np.isfinite, floats, "Whether `x` is neither infinite nor NaN", result=BOOL)
_declare("logical_not", np.logical_not, truth, "Whether `x` is zero", result=BOOL)


def _rounding(name: str, function: Callable[..., Any], says: str) -> None:
    def rule(x: TensorType) -> TensorType:
        simple(x)
        return x

    def meaning(term: Op, x: Any) -> Any:
        return np.asarray(function(x), term.dtype) if is_float(term.dtype) else x

    rule.__doc__ = f"{says}.\n\nTakes any dtype; integers and bool stay as they are."
    op(f"simple.{name}", "elementwise", meaning=meaning)(rule)


_rounding("floor", np.floor, "The greatest integer not above `x`")
_rounding("ceil", np.ceil, "The least integer not below `x`")
_rounding("round", np.rint, "The nearest integer, halves to the even one")

# -- two arguments: subtract and divide first, as in the other families --------------------------------

_declare("subtract", np.subtract, numbers, "`x` minus `y`", *_BOTH)
_declare("divide", np.divide, quotient, "`x` divided by `y`", *_BOTH)
_declare("add", np.add, same, "`x` plus `y`, or for bool", *_AC)
_declare("multiply", np.multiply, same, "`x` times `y`, and for bool", *_AC)
_declare("maximum", np.maximum, same, "The greater; NaN if either is", *_AC)
_declare("minimum", np.minimum, same, "The lesser; NaN if either is", *_AC)
_declare("floordivide", np.floor_divide, numbers, "The quotient rounded down; 0 for an integer divided by 0", *_BOTH)
_declare("mod", np.mod, numbers, "The remainder, with the sign of `y`", *_BOTH)
_declare("power", functions.power, numbers, "`x` to the power of `y`; below 0 no integer can be one", *_BOTH)
_declare("logical_and", np.logical_and, truth, "Whether both are true", *_AC, result=BOOL)
_declare("logical_or", np.logical_or, truth, "Whether either is true", *_AC, result=BOOL)
_declare("logical_xor", np.logical_xor, truth, "Whether just one is true", *_AC, result=BOOL)
_declare("equal", np.equal, same, "Whether `x` = `y`", *_COMPARES, "commutative", result=BOOL)
_declare("not_equal", np.not_equal, same, "Whether `x` differs from `y`", *_COMPARES, "commutative", result=BOOL)
_declare("less", np.less, same, "Whether `x` < `y`", *_COMPARES, result=BOOL)
_declare("less_equal", np.less_equal, same, "Whether `x` <= `y`", *_COMPARES, result=BOOL)
_declare("greater", np.greater, same, "Whether `x` > `y`", *_COMPARES, result=BOOL)
_declare("greater_equal", np.greater_equal, same, "Whether `x` >= `y`", *_COMPARES, result=BOOL)


def _select(term: Op, *arrays: Any) -> Any:
    c, x, y = (align(a, arg.axes, term.axes) for a, arg in zip(arrays, term.args, strict=True))
    return np.broadcast_to(np.where(c, x.astype(term.dtype), y.astype(term.dtype)), known_shape(term.axes))


@op("simple.select", "elementwise", meaning=_select)
def select(c: TensorType, x: TensorType, y: TensorType) -> TensorType:
    """`x` where the bool `c` is true, `y` elsewhere: combined as elementwise operands, `x` and `y` promoted."""
    simple(c, x, y)
    bool_only(c)
    return TensorType(same(x, y), together(c.axes, x.axes, y.axes))


def _cast_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


def _cast(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(term.dtype)


@op("simple.cast", "elementwise", meaning=_cast, normalise=_cast_attributes)
def cast(x: TensorType, *, dtype: DType) -> TensorType:
    """`x` in another dtype: floats are truncated to integers, bool is "not zero". What does not fit is undefined."""
    simple(x)
    return x.with_dtype(dtype)
