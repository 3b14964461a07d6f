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


def celu(x: Operand, alpha: Operand = 1.0) -> Op:
    """`x` where it is positive, `alpha` times exp(`x` / `alpha`) - 1 elsewhere: an `elu` whose slope has no step.

    >>> import ngraph_rewrite as ng
    >>> ng.celu(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("celu", x, keeping=True, alpha=alpha)


def selu(x: Operand) -> Op:
    """An `elu` times a factor, both of which keep means of 0 and variances of 1 from layer to layer.

    >>> import ngraph_rewrite as ng
    >>> ng.selu(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("selu", x, keeping=True)


def mish(x: Operand) -> Op:
    """`x` times tanh(softplus(`x`)); -0.0 at -inf.

    >>> import ngraph_rewrite as ng
    >>> ng.mish(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("mish", x, keeping=True)


def relu6(x: Operand) -> Op:
    """`x` between 0 and 6. At either half of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.relu6(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("relu6", x, keeping=True)


def hard_tanh(x: Operand) -> Op:
    """`x` between -1 and 1. At either half of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.hard_tanh(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("hard_tanh", x, keeping=True)


def hard_sigmoid(x: Operand) -> Op:
    """``x / 6 + 1 / 2`` between 0 and 1, a `sigmoid` of three straight lines.

    >>> import ngraph_rewrite as ng
    >>> ng.hard_sigmoid(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("hard_sigmoid", x, keeping=True)


def hard_silu(x: Operand) -> Op:
    """`x` times its `hard_sigmoid`; -0.0 at -inf. Also called hard swish.

    >>> import ngraph_rewrite as ng
    >>> ng.hard_silu(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("hard_silu", x, keeping=True)


def soft_sign(x: Operand) -> Op:
    """``x / (1 + abs(x))``, from -1 at -inf to 1 at inf.

    >>> import ngraph_rewrite as ng
    >>> ng.soft_sign(ng.placeholder({"H": 3})).type
    float32[H:3]
    """
    return activated("soft_sign", x, keeping=True)
