# SPDX-License-Identifier: Apache-2.0
"""Formulas of functions between the layers of networks, made in the family of their operand, as in `formulas`.

What has a limit at an infinity has it as its value there, where products of 0 and an infinity would be NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.keeping import made
from ngraph_rewrite.frontend.numpy.number_formulas import Make, as_float
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.frontend.schema import with_deriv
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import finfo

# Beyond it the hyperbolic tangent is 1; squares of greater numbers would be infinite in 16 bits, and slopes NaN.
_ENOUGH = 16.0
_DENSITY = math.sqrt(0.5 / math.pi)  # of the normal distribution at 0
# The factors with which means of 0 and variances of 1 stay what they are from layer to layer (Klambauer et al. 2017).
_SELU = (1.0507009873554805, 1.6732632423543772)


def _silu(make: Make, x: Op) -> Op:
    def slope(low: Op, finite: Op) -> Op:
        share = make("sigmoid", low)
        return make("multiply", share, make("add", make("multiply", finite, make("subtract", 1, share)), 1))

    return _sloped(make, lambda low: make("multiply", low, make("sigmoid", low)), slope, x)


def _gelu(make: Make, x: Op, approximate: bool) -> Op:
    def slope(low: Op, finite: Op) -> Op:
        density = make("exp", make("multiply", make("square", finite), -0.5))
        return make("add", _normal_share(make, low), make("multiply", finite, make("multiply", density, _DENSITY)))

    if not flag(approximate, "approximate"):
        return _sloped(make, lambda low: make("multiply", low, _normal_share(make, low)), slope, x)
    low = _above_infinity(make, x)
    inner = make("minimum", make("maximum", low, -_ENOUGH), _ENOUGH)
    cubic = make("multiply", make("multiply", make("square", inner), inner), 0.044715)
    share = make("tanh", make("multiply", make("add", inner, cubic), math.sqrt(2 / math.pi)))
    return make("multiply", low, make("multiply", make("add", share, 1), 0.5))


def _normal_share(make: Make, x: Op) -> Op:
    """A share of 1: twice a number may be too large for its dtype."""
    return make("multiply", make("add", make("erf", make("multiply", x, math.sqrt(0.5))), 1), 0.5)


def _softplus(make: Make, x: Op) -> Op:
    return make("logaddexp", x, 0)


def _log_sigmoid(make: Make, x: Op) -> Op:
    return make("negative", make("logaddexp", make("negative", x), 0))


def _elu(make: Make, x: Op, alpha: Array) -> Op:
    above = make("greater", x, 0)
    return make("select", above, x, make("multiply", make("expm1", make("select", above, 0.0, x)), alpha))


def _leaky_relu(make: Make, x: Op, negative_slope: Array) -> Op:
    return make("select", make("greater_equal", x, 0), x, make("multiply", x, negative_slope))


def _celu(make: Make, x: Op, alpha: Array) -> Op:
    above = make("greater", x, 0)
    below = make("expm1", make("divide", make("select", above, 0.0, x), alpha))
    return make("select", above, x, make("multiply", below, alpha))


def _selu(make: Make, x: Op) -> Op:
    return make("multiply", _elu(make, x, _SELU[1]), _SELU[0])


def _mish(make: Make, x: Op) -> Op:
    def slope(low: Op, finite: Op) -> Op:
        share = make("tanh", _softplus(make, low))
        rises = make("multiply", make("subtract", 1, make("square", share)), make("sigmoid", low))
        return make("add", share, make("multiply", finite, rises))

    return _sloped(make, lambda low: make("multiply", low, make("tanh", _softplus(make, low))), slope, x)


def _relu6(make: Make, x: Op) -> Op:
    return _between(make, x, 0.0, 6.0)


def _hard_tanh(make: Make, x: Op) -> Op:
    return _between(make, x, -1.0, 1.0)


def _hard_sigmoid(make: Make, x: Op) -> Op:
    return _between(make, make("add", make("multiply", x, 1 / 6), 0.5), 0.0, 1.0)


def _hard_silu(make: Make, x: Op) -> Op:
    x = _above_infinity(make, x)
    return make("multiply", x, _hard_sigmoid(make, x))


def _soft_sign(make: Make, x: Op) -> Op:
    most = float(finfo(x.dtype).max)
    x = _between(make, x, -most, most)
    return make("divide", x, make("add", make("absolute", x), 1.0))


def _between(make: Make, x: Op, low: float, high: float) -> Op:
    return make("minimum", make("maximum", x, low), high)


def _sloped(make: Make, formula: Callable[[Op], Op], slope: Callable[[Op, Op], Op], x: Op) -> Op:
    """What a formula makes of `x`, the lowest number in the place of -inf, and a slope that is finite at infinities.

    Args:
        slope: By what the formula is given, so that both share what they have in common, and by that number or one for
            which there is nothing but 0 and 1, whose double is finite.
    """

    def adjoint(d: Op, x: Op) -> Op:
        low = _above_infinity(make, x)
        return make("multiply", d, slope(low, make("minimum", low, float(finfo(x.dtype).max) / 4)))

    return with_deriv(formula(_above_infinity(make, x)), adjoint, x)


def _above_infinity(make: Make, x: Op) -> Op:
    """The lowest number in the place of -inf: times 0 that is 0."""
    return make("maximum", x, float(finfo(x.dtype).min))


ACTIVATIONS: Mapping[str, Callable[..., Op]] = {
    "silu": _silu, "gelu": _gelu, "softplus": _softplus, "log_sigmoid": _log_sigmoid, "elu": _elu,
    "leaky_relu": _leaky_relu, "celu": _celu, "selu": _selu, "mish": _mish, "relu6": _relu6, "hard_tanh": _hard_tanh,
    "hard_sigmoid": _hard_sigmoid, "hard_silu": _hard_silu, "soft_sign": _soft_sign,
}  # fmt: skip


def activated(name: str, x: Array, *, keeping: bool = False, **options: Any) -> Op:
    """What a formula makes of `x` by position, or, keeping names and marks, in its family.

    >>> import ngraph_rewrite as ng
    >>> activated("silu", ng.placeholder({"H": 3}), keeping=True).type
    float32[H:3]
    """
    return checked(name, ACTIVATIONS[name], made if keeping else apply, as_float(as_term(x)), **options)
