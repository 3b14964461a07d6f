# SPDX-License-Identifier: Apache-2.0
"""Functions that compute each element by itself: equal features, N and R repeated where an operand lacks them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.frontend.building import condition_of
from ngraph_rewrite.frontend.simple.operands import Array, apply, as_term, documented
from ngraph_rewrite.terms.op import Op

_ERRORS = (
    "Raises:\n    AxesError: if the features of the operands differ; no length stretches.\n"
    "    IncompatibleAxesError: if N or R has two lengths.\n\n"
)


def _unary(name: str) -> Callable[[Array], Op]:
    def function(x: Array) -> Op:
        return apply(name, as_term(x))

    documented(function, name, "x", "float32")
    return function


def _binary(name: str) -> Callable[[Array, Array], Op]:
    def function(x: Array, y: Array) -> Op:
        return apply(name, x, y)

    documented(function, name, "x, y", "float32", _ERRORS)
    return function


# -- one argument -------------------------------------------------------------------------------------

absolute = _unary("absolute")
ceil = _unary("ceil")
cos = _unary("cos")
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
log1p = _unary("log1p")
logical_not = _unary("logical_not")
negative = _unary("negative")
reciprocal = _unary("reciprocal")
relu = _unary("relu")
round = _unary("round")
sigmoid = _unary("sigmoid")
sign = _unary("sign")
sin = _unary("sin")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")

# -- two arguments ------------------------------------------------------------------------------------

add = _binary("add")
divide = _binary("divide")
equal = _binary("equal")
floordivide = _binary("floordivide")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
less = _binary("less")
less_equal = _binary("less_equal")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
maximum = _binary("maximum")
minimum = _binary("minimum")
mod = _binary("mod")
multiply = _binary("multiply")
not_equal = _binary("not_equal")
power = _binary("power")
subtract = _binary("subtract")


# -- choice and dtype ---------------------------------------------------------------------------------


def select(c: Array, x: Array, y: Array) -> Op:
    """`x` where the bool `c` is true, `y` elsewhere; all combined as operands of one elementwise function.

    Raises:
        DTypeError: if `c` is not bool, or is True or False of Python, as ``x == 0`` is of a term.
        AxesError: if the features of the operands differ.

    >>> import ngraph_rewrite as ng
    >>> x = ng.simple.placeholder((3, ng.simple.N))
    >>> ng.simple.select(x > 0, x, 0.0).type
    float32[3, sample:N]
    """
    return apply("select", condition_of("select", c), x, y)


where = select


def cast(x: Array, dtype: Any) -> Op:
    """`x` in another dtype: floats are truncated to integers, bool is "not zero". What does not fit is undefined.

    Raises:
        DTypeError: for a dtype that is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.cast(ng.simple.placeholder((ng.simple.N, 3)), "int64").type
    int64[sample:N, 3]
    """
    return apply("cast", as_term(x), dtype=dtype)


def safelog(x: Array, limit: float = -50.0) -> Op:
    """``maximum(log(x + exp(limit)), limit)``: a logarithm that stays above `limit`.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.safelog(ng.simple.placeholder((3, ng.simple.N), name="x"))
    simple.safelog(x, limit=-50.0)
    """
    return apply("safelog", as_term(x), limit=limit)


__all__ = [
    "absolute", "add", "cast", "ceil", "cos", "divide", "equal", "erf", "erfinv", "exp", "expm1", "floor",
    "floordivide", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log1p",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "negative",
    "not_equal", "power", "reciprocal", "relu", "round", "safelog", "select", "sigmoid", "sign", "sin", "sqrt",
    "square", "subtract", "tan", "tanh", "where",
]  # fmt: skip
