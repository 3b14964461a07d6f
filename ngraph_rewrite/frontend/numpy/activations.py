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


def celu(x: Array, /, alpha: Array = 1.0) -> Op:
    """`x` where it is positive, `alpha` times exp(`x` / `alpha`) - 1 elsewhere: an `elu` whose slope has no step.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.celu(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("celu", x, alpha=alpha)


def selu(x: Array, /) -> Op:
    """An `elu` times a factor, both of which keep means of 0 and variances of 1 from layer to layer.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.selu(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("selu", x)


def mish(x: Array, /) -> Op:
    """`x` times tanh(softplus(`x`)); -0.0 at -inf.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.mish(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("mish", x)


def relu6(x: Array, /) -> Op:
    """`x` between 0 and 6. At either half of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.relu6(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("relu6", x)


def hard_tanh(x: Array, /) -> Op:
    """`x` between -1 and 1. At either half of a slope passes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.hard_tanh(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("hard_tanh", x)


def hard_sigmoid(x: Array, /) -> Op:
    """``x / 6 + 1 / 2`` between 0 and 1, a `sigmoid` of three straight lines.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.hard_sigmoid(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("hard_sigmoid", x)


def hard_silu(x: Array, /) -> Op:
    """`x` times its `hard_sigmoid`; -0.0 at -inf. Also called hard swish.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.hard_silu(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("hard_silu", x)


def soft_sign(x: Array, /) -> Op:
    """``x / (1 + abs(x))``, from -1 at -inf to 1 at inf.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.soft_sign(ng.placeholder((3,))).type
    float32[3]
    """
    return activated("soft_sign", x)
