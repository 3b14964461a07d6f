# SPDX-License-Identifier: Apache-2.0
"""Numpy elementwise ops: operands are broadcast by position, dtypes promote as NumPy's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.ops.checks import numeric, positional
from ngraph_rewrite.ops.elementwise import (
    BINARY,
    CLASSIFYING,
    COMPARISONS,
    LOGIC,
    ROUNDING,
    UNARY,
    Family,
    Function,
    Row,
    declare_binary,
    declare_choices,
    declare_rounding,
    declare_unary,
)
from ngraph_rewrite.ops.functions import cbrt, nextafter
from ngraph_rewrite.ops.promotion import Rule, bits, floats, integers, numbers, real
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import BOOL


def _together(*several: Axes) -> Axes:
    return anonymous(stretched(*(axes.lengths for axes in several)))


def _as_they_are(term: Op, arrays: Sequence[Any]) -> Sequence[Any]:
    return arrays


NUMPY = Family("numpy", positional, _together, _as_they_are, "broadcast by position")

# Where the array API differs from the other families: what these compute in.
_OWN: dict[str, Rule] = {"square": numbers, "reciprocal": real}
_AC = ("commutative", "associative")

declare_unary(NUMPY, [row._replace(compute=_OWN.get(row.name, row.compute)) for row in UNARY])
declare_unary(NUMPY, CLASSIFYING, BOOL)
declare_unary(
    NUMPY,
    [
        Row("log2", np.log2, floats, "The logarithm to base 2"),
        Row("log10", np.log10, floats, "The logarithm to base 10"),
        Row("cbrt", cbrt, floats, "The cube root, also of a negative number"),
        Row("asin", np.arcsin, floats, "The angle whose sine is `x`"),
        Row("acos", np.arccos, floats, "The angle whose cosine is `x`"),
        Row("atan", np.arctan, floats, "The angle whose tangent is `x`"),
        Row("sinh", np.sinh, floats, "The hyperbolic sine"),
        Row("cosh", np.cosh, floats, "The hyperbolic cosine"),
        Row("asinh", np.arcsinh, floats, "The number whose hyperbolic sine is `x`"),
        Row("acosh", np.arccosh, floats, "The number whose hyperbolic cosine is `x`"),
        Row("atanh", np.arctanh, floats, "The number whose hyperbolic tangent is `x`"),
        Row("bitwise_invert", np.invert, bits, "`x` with every bit turned over"),
    ],
)
declare_unary(NUMPY, [Row("signbit", np.signbit, real, "Whether the sign of `x` is set, also that of -0.0")], BOOL)

_ROUNDING: dict[str, tuple[Function, str]] = {**ROUNDING, "trunc": (np.trunc, "The nearest integer towards 0")}
declare_rounding(NUMPY, _ROUNDING, numeric, "a numeric dtype; integers")

declare_binary(NUMPY, BINARY)
declare_binary(
    NUMPY,
    [
        Row("atan2", np.arctan2, floats, "The angle in [-pi, pi] of the point that lies `y` to the right and `x` up"),
        Row("hypot", np.hypot, floats, "The length of the vector (`x`, `y`)", ("commutative",)),
        Row("copysign", np.copysign, floats, "The magnitude of `x` with the sign of `y`"),
        Row("nextafter", nextafter, floats, "The next number of the dtype from `x` on towards `y`"),
        Row("logaddexp", np.logaddexp, floats, "log(exp(`x`) + exp(`y`)) without overflow", ("commutative",)),
        Row("bitwise_and", np.bitwise_and, bits, "The bits set in both", _AC),
        Row("bitwise_or", np.bitwise_or, bits, "The bits set in either", _AC),
        Row("bitwise_xor", np.bitwise_xor, bits, "The bits set in just one", _AC),
        Row("left_shift", np.left_shift, integers, "`x` with its bits moved up by `y`"),
        Row("right_shift", np.right_shift, integers, "`x` with its bits moved down by `y`, its sign staying"),
    ],
)
declare_binary(NUMPY, LOGIC, BOOL)
# NumPy compares signed with unsigned integers exactly: the operands stay as they are.
declare_binary(NUMPY, COMPARISONS, BOOL, promotes=False)
declare_choices(NUMPY)
