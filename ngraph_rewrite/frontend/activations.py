# SPDX-License-Identifier: Apache-2.0
"""Functions between the layers of networks, of terms of any family: names and marks stay."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.frontend.numpy.activation_formulas import activated
from ngraph_rewrite.terms.op import Op


def silu(x: Operand) -> Op:
    """`x` times its sigmoid; -0.0 at -inf. Also called swish.

    >>> import ngraph_rewrite as ng
    >>> ng.silu(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("silu", x, keeping=True)


def gelu(x: Operand, approximate: bool = False) -> Op:
    """`x` times the share of the normal distribution that is below it; -0.0 at -inf.

    It is as exact as `erf`: off by a rounding error of `x`, not of what is left of it far below 0.

    Args:
        approximate: Whether that share is computed by `tanh`, as some models have it, up to 3e-4 beside the exact one.

    Raises:
        AttributeValueError: for an `approximate` that is neither True nor False.

    >>> import ngraph_rewrite as ng
    >>> ng.gelu(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("gelu", x, keeping=True, approximate=approximate)


def softplus(x: Operand) -> Op:
    """log(1 + exp(`x`)), without overflow: a `relu` that is smooth.

    >>> import ngraph_rewrite as ng
    >>> ng.softplus(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("softplus", x, keeping=True)


def log_sigmoid(x: Operand) -> Op:
    """The logarithm of the sigmoid, which is finite where that is too small for a float.

    >>> import ngraph_rewrite as ng
    >>> ng.log_sigmoid(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("log_sigmoid", x, keeping=True)


def elu(x: Operand, alpha: Operand = 1.0) -> Op:
    """`x` where it is positive, `alpha` times exp(`x`) - 1 elsewhere.

    >>> import ngraph_rewrite as ng
    >>> ng.elu(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("elu", x, keeping=True, alpha=alpha)


def leaky_relu(x: Operand, negative_slope: Operand = 0.01) -> Op:
    """`x` where it is at least 0, `x` times a slope elsewhere. At 0 all of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.leaky_relu(ng.placeholder({"H": 3}), 0.2).type
    float32[H:3]
    """
    return activated("leaky_relu", x, keeping=True, negative_slope=negative_slope)
