# SPDX-License-Identifier: Apache-2.0
"""Operators that onnxruntime writes into the models that it has made faster: several of ONNX's in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnx_reader import activations as own
from onnx_reader.quantized import dequantize, matmul_integer
from onnx_reader.recurrent import lstm
from onnx_reader.reducing import layer_normalization
from onnx_reader.table import ModelError, Value, cast, op
from onnx_reader.windows import conv

ACTIVATIONS: dict[str, Callable[..., Value]] = {
    "Clip": np.clip, "HardSigmoid": lambda x, a, b: own.hard_sigmoid(x, alpha=a, beta=b), "Relu": own.relu,
    "LeakyRelu": lambda x, a: own.leaky_relu(x, alpha=a), "Sigmoid": own.sigmoid, "Tanh": np.tanh,
}  # fmt: skip


@op("com.microsoft.Gelu", "com.microsoft.BiasGelu")
def gelu(x: Value, bias: Value = None) -> Value:
    return own.gelu(x if bias is None else x + bias)


@op("com.microsoft.FastGelu")
def fast_gelu(x: Value, bias: Value = None) -> Value:
    return own.gelu(x if bias is None else x + bias, approximate="tanh")


@op("com.microsoft.QuickGelu")
def quick_gelu(x: Value, *, alpha: float = 1.702) -> Value:
    return own.swish(x, alpha=alpha)


@op("com.microsoft.SkipLayerNormalization")
def skip_layer_normalization(
    x: Value, skip: Value, scale: Value, shift: Value = None, bias: Value = None, *, epsilon: float = 1e-12,
    outputs: int,
) -> Any:  # fmt: skip
    """The last of four outputs is the sum."""
    whole = x + skip if bias is None else x + skip + bias
    found = layer_normalization(whole, scale, shift, epsilon=epsilon, outputs=min(outputs, 3))
    return (*found, whole)[:outputs]


@op("com.microsoft.FusedMatMul")
def fused_matmul(
    x: Value, y: Value, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0,
) -> Value:  # fmt: skip
    if transBatchA or transBatchB:
        raise ModelError("FusedMatMul with batches that are transposed is not supported")
    x, y = (np.swapaxes(v, -1, -2) if turn else v for v, turn in ((x, transA), (y, transB)))
    return np.matmul(x, y) if alpha == 1 else alpha * np.matmul(x, y)


@op("com.microsoft.FusedConv", like=conv)
def fused_conv(
    x: Value,
    w: Value,
    b: Value = None,
    z: Value = None,
    *,
    activation: str = "",
    activation_params: Any = (),
    **how: Any,
) -> Value:
    y = conv(x, w, b, **how)
    y = y if z is None else y + z
    if activation and activation not in ACTIVATIONS:
        raise ModelError(f"the activation {activation} is not supported")
    return ACTIVATIONS[activation](y, *activation_params) if activation else y


@op("com.microsoft.DynamicQuantizeMatMul")
def dynamic_quantize_matmul(x: Value, y: Value, scale: Value, zero: Value = None, bias: Value = None) -> Value:
    """By the numbers that the weights stand for; rounding `x` to integers first is for speed alone."""
    found = np.matmul(x, dequantize(y, scale, zero, axis=-1))
    return found if bias is None else found + bias


@op("com.microsoft.MatMulIntegerToFloat")
def matmul_integer_to_float(
    x: Value, y: Value, scale_x: Value, scale_y: Value, zero_x: Value = None, zero_y: Value = None, bias: Value = None
) -> Value:
    found = cast(matmul_integer(x, y, zero_x, zero_y), np.float32) * (scale_x * scale_y)
    return found if bias is None else found + bias


@op("com.microsoft.DynamicQuantizeLSTM", like=lstm)
def dynamic_quantize_lstm(
    x: Value, w: Value, r: Value, b: Value, steps: Value, h: Value, c: Value, peep: Value, scale_w: Value,
    zero_w: Value, scale_r: Value, zero_r: Value, **how: Any,
) -> tuple[Value, ...]:  # fmt: skip
    """Weights lie the other way round, with scales for each direction and maybe for each gate's units."""
    whole = [_weights(*given) for given in ((w, scale_w, zero_w), (r, scale_r, zero_r))]
    return lstm(x, *whole, b, steps, h, c, peep, **how)


def _weights(w: Value, scale: Value, zero: Value) -> Value:
    scale, zero = (np.reshape(v, (w.shape[0], 1, -1)) for v in (scale, zero))
    return np.transpose((cast(w, np.float32) - cast(zero, np.float32)) * scale, (0, 2, 1))
