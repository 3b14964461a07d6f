# SPDX-License-Identifier: Apache-2.0
"""Functions between the layers of networks, by position: each is a formula of others, of the float dtype of exp."""

from __future__ import annotations

from ngraph_rewrite.frontend.numpy.activation_formulas import activated
from ngraph_rewrite.frontend.numpy.operands import Array
from ngraph_rewrite.terms.op import Op


def silu(x: Array, /) -> Op:
    """`x` times its sigmoid; -0.0 at -inf. Also called swish.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.silu(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("silu", x)


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
    return activated("gelu", x, approximate=approximate)


def softplus(x: Array, /) -> Op:
    """log(1 + exp(`x`)), without overflow: a `relu` that is smooth.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.softplus(ng.placeholder((3,), name="x"))
    numpy.logaddexp(x, 0.0)
    """
    return activated("softplus", x)


def log_sigmoid(x: Array, /) -> Op:
    """The logarithm of the sigmoid, which is finite where that is too small for a float.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.log_sigmoid(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("log_sigmoid", x)


def elu(x: Array, /, alpha: Array = 1.0) -> Op:
    """`x` where it is positive, `alpha` times exp(`x`) - 1 elsewhere.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.elu(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("elu", x, alpha=alpha)


def leaky_relu(x: Array, /, negative_slope: Array = 0.01) -> Op:
    """`x` where it is at least 0, `x` times a slope elsewhere. At 0 all of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.leaky_relu(ng.placeholder((3,)), 0.2).type
    float32[3]
    """
    return activated("leaky_relu", x, negative_slope=negative_slope)
