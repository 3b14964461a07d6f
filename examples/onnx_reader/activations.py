# SPDX-License-Identifier: Apache-2.0
"""Activation functions, as formulas of NumPy's functions."""

from __future__ import annotations

import math

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, cast, op


@op("Relu")
def relu(x: Value) -> Value:
    return np.maximum(x, 0)


@op("LeakyRelu")
def leaky_relu(x: Value, *, alpha: float = 0.01) -> Value:
    return np.where(x < 0, alpha * x, x)


@op("PRelu", since=7)
def prelu(x: Value, slope: Value) -> Value:
    return np.where(x < 0, slope * x, x)


@op("PRelu")
def prelu_1(x: Value, slope: Value) -> Value:
    """One slope for each channel, or one for all."""
    return prelu(x, np.reshape(slope, (-1, *(1,) * (len(x.shape) - 2))))


@op("ThresholdedRelu")
def thresholded_relu(x: Value, *, alpha: float = 1.0) -> Value:
    return np.where(x > alpha, x, 0)


@op("Elu")
def elu(x: Value, *, alpha: float = 1.0) -> Value:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


@op("Celu")
def celu(x: Value, *, alpha: float = 1.0) -> Value:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0) / alpha), x)


@op("Selu", since=6)
def selu(x: Value, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875) -> Value:
    return gamma * elu(x, alpha=alpha)


@op("Selu")
def selu_1(x: Value, *, alpha: float = 1.6732, gamma: float = 1.0507) -> Value:
    return selu(x, alpha=alpha, gamma=gamma)


@op("Sigmoid")
def sigmoid(x: Value) -> Value:
    return ng.numpy.sigmoid(x)


@op("HardSigmoid")
def hard_sigmoid(x: Value, *, alpha: float = 0.2, beta: float = 0.5) -> Value:
    return np.clip(alpha * x + beta, 0, 1)


@op("HardSwish")
def hard_swish(x: Value) -> Value:
    return x * hard_sigmoid(x, alpha=1 / 6)


@op("Swish")
def swish(x: Value, *, alpha: float = 1.0) -> Value:
    return x * ng.numpy.sigmoid(alpha * x)


@op("Gelu")
def gelu(x: Value, *, approximate: str = "none") -> Value:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + ng.numpy.erf(x * math.sqrt(0.5)))


@op("Softplus")
def softplus(x: Value) -> Value:
    return np.logaddexp(x, 0)


@op("Softsign")
def softsign(x: Value) -> Value:
    return x / (1 + np.abs(x))


@op("Mish")
def mish(x: Value) -> Value:
    return x * np.tanh(softplus(x))


@op("Shrink")
def shrink(x: Value, *, bias: float = 0.0, lambd: float = 0.5) -> Value:
    return cast(np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0)), x.dtype)
