# SPDX-License-Identifier: Apache-2.0
"""Operators that onnxruntime writes into the models that it has made faster: several of ONNX's in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader import activations as own
from onnx_reader.qlinear import one
from onnx_reader.quantized import dequantize, matmul_integer
from onnx_reader.recurrent import lstm
from onnx_reader.reducing import gemm, layer_normalization, statistics_of
from onnx_reader.table import ModelError, Value, cast, count, op, space
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


@op("com.microsoft.SkipSimplifiedLayerNormalization")
def skip_rms_normalization(
    x: Value, skip: Value, scale: Value, bias: Value = None, *, epsilon: float = 1e-12, outputs: int
) -> Any:
    """The last of four outputs is the sum, the second is none."""
    whole = x + skip if bias is None else x + skip + bias
    y, size = simplified_layer_normalization(whole, scale, epsilon=epsilon)
    return (y, None, size, whole)[:outputs]


@op("SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    """An operator that onnxruntime has among the standard ones."""
    axes, wide = tuple(range(axis % len(x.shape), len(x.shape))), statistics_of(x, stash_type)
    size = 1 / np.sqrt(np.mean(wide * wide, axis=axes, keepdims=True) + epsilon)
    return cast(wide * size, scale.dtype) * scale, size


@op("com.microsoft.EmbedLayerNormalization")
def embed_layer_normalization(
    ids: Value, segments: Value, words: Value, places: Value, kinds: Value, scale: Value, shift: Value,
    mask: Value = None, at: Value = None, *, epsilon: float = 1e-12, mask_index_type: int = 0, outputs: int,
) -> Any:  # fmt: skip
    """A word, its place and the segment that it is in. The second output has the number of words of each sample."""
    whole = _chosen(words, ids) + _chosen(places, count(ids.shape[1]) if at is None else at)
    whole = whole if segments is None else whole + _chosen(kinds, segments)
    found, *_ = layer_normalization(whole, scale, shift, epsilon=epsilon, outputs=1)
    zeros = ng.numpy.zeros((ids.shape[0],), dtype="int32")
    sizes = zeros if mask is None else cast(np.sum(mask, axis=1), np.int32)
    return (found, sizes, whole)[:outputs]


def _chosen(table: Value, places: Value) -> Value:
    return space(table, places).take(table, places, axis=0)


@op("com.microsoft.QEmbedLayerNormalization")
def quantized_embed_layer_normalization(
    ids: Value, segments: Value, words: Value, places: Value, kinds: Value, scale: Value, shift: Value, mask: Value,
    *numbers: Value, epsilon: float = 1e-12, outputs: int,
) -> Any:  # fmt: skip
    """Of integers, whose scales are the first five of the numbers, and whose zeros the others."""
    tables = (words, places, kinds, scale, shift)
    whole = [
        None if v is None else dequantize(v, one(s), one(z))
        for v, s, z in zip(tables, numbers, numbers[5:], strict=False)
    ]
    return embed_layer_normalization(ids, segments, *whole, mask, epsilon=epsilon, outputs=outputs)


@op("com.microsoft.CDist")
def distances(x: Value, y: Value, *, metric: str = "sqeuclidean") -> Value:
    """Of each row from each other row."""
    if metric not in ("euclidean", "sqeuclidean"):
        raise ModelError(f"CDist with the metric {metric} is not supported")
    apart = np.expand_dims(x, 1) - np.expand_dims(y, 0)
    square = np.sum(apart * apart, axis=-1)
    return np.sqrt(square) if metric == "euclidean" else square


@op("com.microsoft.Inverse")
def inverse(x: Value) -> Value:
    return np.linalg.inv(x)


@op("com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul")
def fused_matmul(
    x: Value, y: Value, *, alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0,
) -> Value:  # fmt: skip
    """A batch may stand between the axes of the matrices."""
    x, y = (np.moveaxis(v, 0, -2) if turn else v for v, turn in ((x, transBatchA), (y, transBatchB)))
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
    return _activated(y if z is None else y + z, activation, activation_params)


def _activated(y: Value, activation: str, numbers: Any) -> Value:
    if activation and activation not in ACTIVATIONS:
        raise ModelError(f"the activation {activation} is not supported")
    return ACTIVATIONS[activation](y, *numbers) if activation else y


@op("com.microsoft.FusedGemm", like=gemm)
def fused_gemm(
    x: Value, y: Value, z: Value = None, *, activation: str = "", activation_alpha: float | None = None,
    activation_beta: float | None = None, activation_gamma: float | None = None, **how: Any,
) -> Value:  # fmt: skip
    """An attribute that the activation does not take may be there, too."""
    takes = {"LeakyRelu": (activation_alpha,), "HardSigmoid": (activation_alpha, activation_beta)}.get(activation, ())
    return _activated(gemm(x, y, z, **how), activation, takes)


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
