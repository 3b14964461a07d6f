# SPDX-License-Identifier: Apache-2.0
"""More semi elementwise ops: the functions of C's mathematics library, and the bits of integers and floats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.ops.checks import float_only, integer_only, positional, tensor
from ngraph_rewrite.ops.functions import cbrt, nextafter
from ngraph_rewrite.ops.semi_elementwise import binary, unary
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, DType, as_dtype
from ngraph_rewrite.types.tensor import TensorType

# -- one argument -----------------------------------------------------------------------------------

unary("log2", np.log2, float_only, "The logarithm to base 2; -inf at 0, NaN below")
unary("log10", np.log10, float_only, "The logarithm to base 10; -inf at 0, NaN below")
unary("cbrt", cbrt, float_only, "The cube root, also of a negative number")
unary("sinh", np.sinh, float_only, "The hyperbolic sine")
unary("cosh", np.cosh, float_only, "The hyperbolic cosine")
unary("asin", np.arcsin, float_only, "The angle in [-pi/2, pi/2] whose sine is `x`; NaN outside of [-1, 1]")
unary("acos", np.arccos, float_only, "The angle in [0, pi] whose cosine is `x`; NaN outside of [-1, 1]")
unary("atan", np.arctan, float_only, "The angle in [-pi/2, pi/2] whose tangent is `x`")
unary("asinh", np.arcsinh, float_only, "The number whose hyperbolic sine is `x`")
unary("acosh", np.arccosh, float_only, "The number of at least 0 whose hyperbolic cosine is `x`; NaN below 1")
unary("atanh", np.arctanh, float_only, "The number whose hyperbolic tangent is `x`; NaN outside of [-1, 1]")
unary("trunc", np.trunc, float_only, "The nearest integer towards 0")
unary("signbit", np.signbit, float_only, "Whether the sign of `x` is set: also that of -0.0 and of a NaN", BOOL)
unary("bitwise_invert", np.invert, integer_only, "`x` with every bit turned over")

# -- two arguments ----------------------------------------------------------------------------------

_AC = ("commutative", "associative")
binary("atan2", np.arctan2, float_only, "The angle in [-pi, pi] of the point that lies `y` to the right and `x` up")
binary("hypot", np.hypot, float_only, "The length of the vector (`x`, `y`), without overflow", "commutative")
binary("copysign", np.copysign, float_only, "The magnitude of `x` with the sign of `y`")
binary("nextafter", nextafter, float_only, "The next number of the dtype from `x` on towards `y`")
binary("logaddexp", np.logaddexp, float_only, "log(exp(`x`) + exp(`y`)) without overflow", "commutative")
binary("bitwise_and", np.bitwise_and, integer_only, "The bits set in both", *_AC)
binary("bitwise_or", np.bitwise_or, integer_only, "The bits set in either", *_AC)
binary("bitwise_xor", np.bitwise_xor, integer_only, "The bits set in just one", *_AC)
binary("left_shift", np.left_shift, integer_only, "`x` with its bits moved up by `y`; 0 where `y` is no bit's number")
binary(
    "right_shift",
    np.right_shift,
    integer_only,
    "`x` with its bits moved down by `y`, its sign staying; 0 or -1 where `y` is no bit's number",
)


# -- the bits of a number -----------------------------------------------------------------------------


def _viewed(term: Op, x: Any) -> Any:
    return np.asarray(x).copy().view(term.dtype)


def _bitcast_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


@op("semi.bitcast", "elementwise", meaning=_viewed, normalise=_bitcast_attributes)
def bitcast(x: TensorType, *, dtype: DType) -> TensorType:
    """The bits of `x` read as another dtype of the same width, neither bool; a NaN of 16 bits may turn quiet."""
    positional(x)
    if BOOL in (x.dtype, dtype):
        raise DTypeError(f"the bits of {x!r} as {dtype}: a bool has none", do="cast from or to uint8")
    if x.dtype.itemsize != dtype.itemsize:
        what = f"{x!r} has numbers of {x.dtype.itemsize * 8} bits, {dtype} of {dtype.itemsize * 8}"
        raise DTypeError(what, do="cast to a dtype of that width before or after")
    return tensor(dtype, x.shape)
