# SPDX-License-Identifier: Apache-2.0
"""More semi elementwise ops: the functions of C's mathematics library, and the bits of integers and floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.ops.checks import Check, alike, float_only, integer_only, numpy_meaning, positional, tensor
from ngraph_rewrite.ops.functions import nextafter
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.types.dtypes import BOOL, DType
from ngraph_rewrite.types.tensor import TensorType

Function = Callable[..., Any]
_KINDS = {float_only: "a float dtype", integer_only: "an integer dtype"}


def _unary(name: str, function: Function, check: Check, says: str, result: DType | None = None) -> None:
    def type_rule(x: TensorType) -> TensorType:
        positional(x)
        check(x)
        return tensor(result or x.dtype, x.shape)

    type_rule.__doc__ = f"{says}.\n\n`x` has {_KINDS[check]} and any shape; the result is {result or 'of its type'}."
    op(f"semi.{name}", "elementwise", meaning=numpy_meaning(function))(type_rule)


def _binary(name: str, function: Function, check: Check, says: str, *traits: str) -> None:
    def type_rule(x: TensorType, y: TensorType) -> TensorType:
        positional(x, y)
        check(x, y)
        alike(x, y)
        return x

    type_rule.__doc__ = f"{says}.\n\nBoth have {_KINDS[check]} and one type, which is that of the result."
    op(f"semi.{name}", "elementwise", *traits, meaning=numpy_meaning(function))(type_rule)


# -- one argument -----------------------------------------------------------------------------------

_unary("log2", np.log2, float_only, "The logarithm to base 2; -inf at 0, NaN below")
_unary("log10", np.log10, float_only, "The logarithm to base 10; -inf at 0, NaN below")
_unary("sinh", np.sinh, float_only, "The hyperbolic sine")
_unary("cosh", np.cosh, float_only, "The hyperbolic cosine")
_unary("asin", np.arcsin, float_only, "The angle in [-pi/2, pi/2] whose sine is `x`; NaN outside of [-1, 1]")
_unary("acos", np.arccos, float_only, "The angle in [0, pi] whose cosine is `x`; NaN outside of [-1, 1]")
_unary("atan", np.arctan, float_only, "The angle in [-pi/2, pi/2] whose tangent is `x`")
_unary("asinh", np.arcsinh, float_only, "The number whose hyperbolic sine is `x`")
_unary("acosh", np.arccosh, float_only, "The number of at least 0 whose hyperbolic cosine is `x`; NaN below 1")
_unary("atanh", np.arctanh, float_only, "The number whose hyperbolic tangent is `x`; NaN outside of [-1, 1]")
_unary("trunc", np.trunc, float_only, "The nearest integer towards 0")
_unary("signbit", np.signbit, float_only, "Whether the sign of `x` is set: also that of -0.0 and of a NaN", BOOL)
_unary("bitwise_invert", np.invert, integer_only, "`x` with every bit turned over")

# -- two arguments ----------------------------------------------------------------------------------

_AC = ("commutative", "associative")
_binary("atan2", np.arctan2, float_only, "The angle in [-pi, pi] of the point that lies `y` to the right and `x` up")
_binary("hypot", np.hypot, float_only, "The length of the vector (`x`, `y`), without overflow", "commutative")
_binary("copysign", np.copysign, float_only, "The magnitude of `x` with the sign of `y`")
_binary("nextafter", nextafter, float_only, "The next number of the dtype from `x` on towards `y`")
_binary("logaddexp", np.logaddexp, float_only, "log(exp(`x`) + exp(`y`)) without overflow", "commutative")
_binary("bitwise_and", np.bitwise_and, integer_only, "The bits set in both", *_AC)
_binary("bitwise_or", np.bitwise_or, integer_only, "The bits set in either", *_AC)
_binary("bitwise_xor", np.bitwise_xor, integer_only, "The bits set in just one", *_AC)
_binary("left_shift", np.left_shift, integer_only, "`x` with its bits moved up by `y`; 0 where `y` is no bit's number")
_binary(
    "right_shift",
    np.right_shift,
    integer_only,
    "`x` with its bits moved down by `y`, its sign staying; 0 or -1 where `y` is no bit's number",
)
