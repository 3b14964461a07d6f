# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of two arguments: operands are matched by the names of their axes.

The result has the axes of an operand that has them all, in its order, and otherwise those of `x` and then what `y`
adds. No length stretches: one name with two lengths is an `IncompatibleAxesError`. dtypes promote as NumPy's do, and
Python numbers take the dtype of the terms beside them.
"""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import combine


def add(x: Operand, y: Operand) -> Op:
    """`x` plus `y`; bool means or. `x + y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.add(x, y).type
    float32[H:2, W:3]
    """
    return combine("add", x, y)


def subtract(x: Operand, y: Operand) -> Op:
    """`x` minus `y`. `x - y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.subtract(x, y).type
    float32[H:2, W:3]
    """
    return combine("subtract", x, y)


def multiply(x: Operand, y: Operand) -> Op:
    """`x` times `y`; bool means and. `x * y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.multiply(x, y).type
    float32[H:2, W:3]
    """
    return combine("multiply", x, y)


def divide(x: Operand, y: Operand) -> Op:
    """`x` divided by `y`; integers give float64. `x / y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.divide(x, y).type
    float32[H:2, W:3]
    """
    return combine("divide", x, y)


def floordivide(x: Operand, y: Operand) -> Op:
    """The quotient rounded down; 0 for an integer divided by 0. `x // y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.floordivide(x, y).type
    float32[H:2, W:3]
    """
    return combine("floordivide", x, y)


def mod(x: Operand, y: Operand) -> Op:
    """The remainder, with the sign of `y`. `x % y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.mod(x, y).type
    float32[H:2, W:3]
    """
    return combine("mod", x, y)


def power(x: Operand, y: Operand) -> Op:
    """`x` to the power of `y`; a negative power of an integer is truncated. `x ** y` builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.
        DTypeError: if both are bool.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.power(x, y).type
    float32[H:2, W:3]
    """
    return combine("power", x, y)


def maximum(x: Operand, y: Operand) -> Op:
    """The greater of the two; NaN if either is.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.maximum(x, y).type
    float32[H:2, W:3]
    """
    return combine("maximum", x, y)


def minimum(x: Operand, y: Operand) -> Op:
    """The lesser of the two; NaN if either is.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.minimum(x, y).type
    float32[H:2, W:3]
    """
    return combine("minimum", x, y)


def equal(x: Operand, y: Operand) -> Op:
    """Whether `x` = `y`. (`x == y` asks whether both are one handle.)

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.equal(x, y).type
    bool[H:2, W:3]
    """
    return combine("equal", x, y)


def not_equal(x: Operand, y: Operand) -> Op:
    """Whether `x` differs from `y`. (`x != y` asks whether both are different handles.)

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.not_equal(x, y).type
    bool[H:2, W:3]
    """
    return combine("not_equal", x, y)


def less(x: Operand, y: Operand) -> Op:
    """Whether `x` < `y`, which builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.less(x, y).type
    bool[H:2, W:3]
    """
    return combine("less", x, y)


def less_equal(x: Operand, y: Operand) -> Op:
    """Whether `x` <= `y`, which builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.less_equal(x, y).type
    bool[H:2, W:3]
    """
    return combine("less_equal", x, y)


def greater(x: Operand, y: Operand) -> Op:
    """Whether `x` > `y`, which builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.greater(x, y).type
    bool[H:2, W:3]
    """
    return combine("greater", x, y)


def greater_equal(x: Operand, y: Operand) -> Op:
    """Whether `x` >= `y`, which builds the same.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.greater_equal(x, y).type
    bool[H:2, W:3]
    """
    return combine("greater_equal", x, y)


def logical_and(x: Operand, y: Operand) -> Op:
    """Whether both are true; what is not zero is true.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.logical_and(x, y).type
    bool[H:2, W:3]
    """
    return combine("logical_and", x, y)


def logical_or(x: Operand, y: Operand) -> Op:
    """Whether either is true; what is not zero is true.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.logical_or(x, y).type
    bool[H:2, W:3]
    """
    return combine("logical_or", x, y)


def logical_xor(x: Operand, y: Operand) -> Op:
    """Whether just one is true; what is not zero is true.

    Raises:
        IncompatibleAxesError: if an axis has two lengths.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable({"H": 2}, name="x"), ng.variable({"W": 3}, name="y")
    >>> ng.logical_xor(x, y).type
    bool[H:2, W:3]
    """
    return combine("logical_xor", x, y)
