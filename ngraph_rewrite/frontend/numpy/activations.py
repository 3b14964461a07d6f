# SPDX-License-Identifier: Apache-2.0
"""Functions between the layers of networks: each is a formula of others, in the float dtype of its argument.

What has a limit at an infinity has it as its value there, where products of 0 and an infinity would be NaN.
"""

from __future__ import annotations

import math

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import (
    add,
    clip,
    erf,
    expm1,
    greater,
    greater_equal,
    logaddexp,
    maximum,
    multiply,
    negative,
    sigmoid,
    square,
    tanh,
    where,
)
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.ops.alignment import floating
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import finfo, is_float


def silu(x: Array, /) -> Op:
    """`x` times its sigmoid; -0.0 at -inf. Also called swish.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.silu(ng.placeholder((3,))).type
    float32[3]
    """
    term = _above_infinity(_as_float(x))
    return multiply(term, sigmoid(term))


def gelu(x: Array, /, approximate: bool = False) -> Op:
    """`x` times the share of the normal distribution that is below it; -0.0 at -inf.

    It is as exact as `erf`: off by a rounding error of `x`, not of what is left of it far below 0.

    Args:
        approximate: Whether that share is computed by `tanh`, as some models have it, up to 3e-4 beside the exact one.

    Raises:
        AttributeValueError: for an `approximate` that is neither True nor False.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.gelu(ng.placeholder((3,))).type
    float32[3]
    """
    term = _above_infinity(_as_float(x))
    if checked("gelu", flag, approximate, "approximate"):
        inner = clip(term, -_ENOUGH, _ENOUGH)
        cubic = multiply(multiply(square(inner), inner), 0.044715)
        twice = add(tanh(multiply(add(inner, cubic), math.sqrt(2 / math.pi))), 1)
    else:
        twice = add(erf(multiply(term, math.sqrt(0.5))), 1)
    return multiply(multiply(term, twice), 0.5)


def softplus(x: Array, /) -> Op:
    """log(1 + exp(`x`)), without overflow: a `relu` that is smooth.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.softplus(ng.placeholder((3,), name="x"))
    numpy.logaddexp(x, 0.0)
    """
    return logaddexp(_as_float(x), 0)


def log_sigmoid(x: Array, /) -> Op:
    """The logarithm of the sigmoid, which is finite where that is too small for a float.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.log_sigmoid(ng.placeholder((3,))).type
    float32[3]
    """
    return negative(logaddexp(negative(_as_float(x)), 0))


def elu(x: Array, /, alpha: Array = 1.0) -> Op:
    """`x` where it is positive, `alpha` times exp(`x`) - 1 elsewhere.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.elu(ng.placeholder((3,))).type
    float32[3]
    """
    term = _as_float(x)
    above = greater(term, 0)
    return where(above, term, multiply(expm1(where(above, 0.0, term)), alpha))


def leaky_relu(x: Array, /, negative_slope: Array = 0.01) -> Op:
    """`x` where it is at least 0, `x` times a slope elsewhere. At 0 all of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.leaky_relu(ng.placeholder((3,)), 0.2).type
    float32[3]
    """
    term = _as_float(x)
    return where(greater_equal(term, 0), term, multiply(term, negative_slope))


# Beyond it the hyperbolic tangent is 1; squares of greater numbers would be infinite in 16 bits, and slopes NaN.
_ENOUGH = 16.0


def _as_float(x: Array) -> Op:
    term = as_term(x)
    return term if is_float(term.dtype) else astype(term, floating(term.dtype))


def _above_infinity(x: Op) -> Op:
    """The lowest number in the place of -inf: times 0 that is 0."""
    return maximum(x, float(finfo(x.dtype).min))
