# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of one argument: the axes of the result are those of `x`."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import combine


def negative(x: Operand) -> Op:
    """Minus `x`; unsigned integers wrap. `-x` builds the same.

    Raises:
        DTypeError: if `x` is bool.

    >>> import ngraph_rewrite as ng
    >>> ng.negative(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("negative", x)


def absolute(x: Operand) -> Op:
    """`x` without its sign. `abs(x)` builds the same.

    >>> import ngraph_rewrite as ng
    >>> ng.absolute(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("absolute", x)


def sign(x: Operand) -> Op:
    """-1, 0 or 1; NaN stays NaN.

    Raises:
        DTypeError: if `x` is bool.

    >>> import ngraph_rewrite as ng
    >>> ng.sign(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("sign", x)


def square(x: Operand) -> Op:
    """`x` times `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.square(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("square", x)


def sqrt(x: Operand) -> Op:
    """The square root; NaN below 0.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.sqrt(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("sqrt", x)


def reciprocal(x: Operand) -> Op:
    """1 / `x`; infinite at 0.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.reciprocal(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("reciprocal", x)


def exp(x: Operand) -> Op:
    """e to the power of `x`.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.exp(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("exp", x)


def expm1(x: Operand) -> Op:
    """exp(`x`) - 1, accurate near 0.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.expm1(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("expm1", x)


def log(x: Operand) -> Op:
    """The natural logarithm; -inf at 0, NaN below.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.log(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("log", x)


def log1p(x: Operand) -> Op:
    """log(1 + `x`), accurate near 0.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.log1p(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("log1p", x)


def sin(x: Operand) -> Op:
    """The sine of `x` radians.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.sin(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("sin", x)


def cos(x: Operand) -> Op:
    """The cosine of `x` radians.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.cos(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("cos", x)


def tan(x: Operand) -> Op:
    """The tangent of `x` radians.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.tan(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("tan", x)


def tanh(x: Operand) -> Op:
    """The hyperbolic tangent.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.tanh(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("tanh", x)


def sigmoid(x: Operand) -> Op:
    """1 / (1 + exp(-`x`)), without overflow.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.sigmoid(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("sigmoid", x)


def erf(x: Operand) -> Op:
    """The error function.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.erf(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("erf", x)


def erfinv(x: Operand) -> Op:
    """The number whose error function is `x`: infinite at -1 and 1, NaN beyond.

    Integers are computed as floats wide enough for them.

    >>> import ngraph_rewrite as ng
    >>> ng.erfinv(ng.variable({"H": 3}, "float16", name="x")).type
    float16[H:3]
    """
    return combine("erfinv", x)


def floor(x: Operand) -> Op:
    """The greatest integer not above `x`, in the dtype of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.floor(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("floor", x)


def ceil(x: Operand) -> Op:
    """The least integer not below `x`, in the dtype of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.ceil(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("ceil", x)


def round(x: Operand) -> Op:
    """The nearest integer, halves to the even one, in the dtype of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.round(ng.variable({"H": 3}, "int8", name="x")).type
    int8[H:3]
    """
    return combine("round", x)


def isnan(x: Operand) -> Op:
    """Whether `x` is not a number; bool.

    >>> import ngraph_rewrite as ng
    >>> ng.isnan(ng.variable({"H": 3}, name="x")).type
    bool[H:3]
    """
    return combine("isnan", x)


def isinf(x: Operand) -> Op:
    """Whether `x` is infinite; bool.

    >>> import ngraph_rewrite as ng
    >>> ng.isinf(ng.variable({"H": 3}, name="x")).type
    bool[H:3]
    """
    return combine("isinf", x)


def isfinite(x: Operand) -> Op:
    """Whether `x` is neither infinite nor NaN; bool.

    >>> import ngraph_rewrite as ng
    >>> ng.isfinite(ng.variable({"H": 3}, name="x")).type
    bool[H:3]
    """
    return combine("isfinite", x)


def logical_not(x: Operand) -> Op:
    """Whether `x` is zero; bool. `~x` builds the same.

    >>> import ngraph_rewrite as ng
    >>> ng.logical_not(ng.variable({"H": 3}, name="x")).type
    bool[H:3]
    """
    return combine("logical_not", x)
