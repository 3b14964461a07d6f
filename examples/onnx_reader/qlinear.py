# SPDX-License-Identifier: Apache-2.0
"""Operators that onnxruntime's quantizer writes, from integers to integers: what they do to the floats in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import onnx_reader.quantized as own
from onnx_reader import activations
from onnx_reader.quantized import Quantized, dequantize, quantize, quantized_gemm, quantized_matmul
from onnx_reader.reducing import gemm
from onnx_reader.table import Value, cast, find, is_term, op, space, term
from onnx_reader.windows import average_pool, conv, max_pool

op("com.microsoft.QuantizeLinear")(quantize)
op("com.microsoft.DequantizeLinear")(dequantize)


def one(value: Value) -> Value:
    """A number, which some write as a vector of one."""
    return np.reshape(value, ()) if value is not None and tuple(value.shape) == (1,) else value


def numbers(x: Value, scale: Value, zero: Value) -> Value:
    """The floats that integers with one scale stand for."""
    return dequantize(x, one(scale), one(zero))


def again(y: Value, scale: Value, zero: Value, like: Value) -> Value:
    """Floats as integers, of the dtype that these have."""
    return quantize(y, one(scale), np.zeros((), like.dtype) if zero is None else one(zero))


def channels_second(function: Callable[..., Value], x: Value, channels_last: int, *given: Any, **how: Any) -> Value:
    """What a function of images gives that have their channels second, of such as have them last."""
    if not channels_last:
        return function(x, *given, **how)
    return np.moveaxis(function(np.moveaxis(x, -1, 1), *given, **how), 1, -1)


def _pair(function: Any) -> Callable[..., Value]:
    def of_two(
        a: Value, scale_a: Value, zero_a: Value, b: Value, scale_b: Value, zero_b: Value, scale: Value,
        zero: Value = None,
    ) -> Value:  # fmt: skip
        return again(function(numbers(a, scale_a, zero_a), numbers(b, scale_b, zero_b)), scale, zero, a)

    return of_two


op("com.microsoft.QLinearAdd")(_pair(np.add))
op("com.microsoft.QLinearMul")(_pair(np.multiply))


@op("com.microsoft.QLinearSigmoid")
def sigmoid(x: Value, scale_x: Value, zero_x: Value, scale: Value, zero: Value = None) -> Value:
    return again(activations.sigmoid(numbers(x, scale_x, zero_x)), scale, zero, x)


@op("com.microsoft.QLinearLeakyRelu")
def leaky_relu(
    x: Value, scale_x: Value, zero_x: Value, scale: Value, zero: Value = None, *, alpha: float = 0.01
) -> Value:
    return again(activations.leaky_relu(numbers(x, scale_x, zero_x), alpha=alpha), scale, zero, x)


@op("com.microsoft.QLinearSoftmax")
def softmax(x: Value, scale_x: Value, zero_x: Value, scale: Value, zero: Value, *, axis: int = -1, opset: int) -> Value:
    """The version of the operator set that says what a softmax is, is an attribute."""
    return again(find("Softmax", opset).function(numbers(x, scale_x, zero_x), axis=axis), scale, zero, x)


@op("com.microsoft.QLinearReduceMean")
def reduce_mean(
    x: Value, scale_x: Value, zero_x: Value, scale: Value, zero: Value = None, *, axes: Any, keepdims: int
) -> Value:
    found = np.mean(numbers(x, scale_x, zero_x), axis=tuple(axes), keepdims=bool(keepdims))
    return again(found, scale, zero, x)


@op("com.microsoft.QLinearGlobalAveragePool")
def global_average_pool(
    x: Value, scale_x: Value, zero_x: Value, scale: Value, zero: Value, *, channels_last: int = 0
) -> Value:
    axes = tuple(range(1, len(x.shape) - 1) if channels_last else range(2, len(x.shape)))
    return reduce_mean(x, scale_x, zero_x, scale, zero, axes=axes, keepdims=1)


@op("com.microsoft.QLinearAveragePool", like=average_pool)
def quantized_average_pool(
    x: Value, scale_x: Value, zero_x: Value, scale: Value, zero: Value = None, *, channels_last: int = 0, **how: Any
) -> Value:
    found = channels_second(average_pool, numbers(x, scale_x, zero_x), channels_last, **how)
    return again(found, scale, zero, x)


@op("com.microsoft.NhwcMaxPool", like=max_pool)
def nhwc_max_pool(x: Value, **how: Any) -> Value:
    return channels_second(partial(max_pool, outputs=1), x, 1, **{k: v for k, v in how.items() if k != "outputs"})


@op("com.microsoft.QLinearConv", like=conv)
def qlinear_conv(x: Value, scale_x: Value, zero_x: Value, *given: Value, channels_last: int = 0, **how: Any) -> Value:
    def image(v: Value) -> Value:
        return own.qlinear_conv(v, scale_x, zero_x, *given, **how)

    return channels_second(image, x, channels_last)


@op("com.microsoft.QLinearConcat")
def concat(scale: Value, zero: Value, *parts: Value, axis: int) -> Value:
    """Each part has a scale and a zero of its own; one with those of the result is as it is."""
    every = [parts[i : i + 3] for i in range(0, len(parts), 3)]
    same = [_same(s, scale) and _same(z, zero) for _, s, z in every]
    found = [x if s else again(numbers(x, *how), scale, zero, x) for s, (x, *how) in zip(same, every, strict=True)]
    some = any(map(is_term, found))
    return space(*found).concatenate([term(v) if some else v for v in found], axis)


def _same(a: Value, b: Value) -> bool:
    """Whether two numbers are surely equal."""
    if a is None or b is None or is_term(a) or is_term(b):
        return a is b
    return a.dtype == b.dtype and bool(np.all(np.equal(a, b)))


@op("com.microsoft.QLinearWhere")
def where(
    condition: Value, x: Value, scale_x: Value, zero_x: Value, y: Value, scale_y: Value, zero_y: Value, scale: Value,
    zero: Value,
) -> Value:  # fmt: skip
    found = np.where(condition, numbers(x, scale_x, zero_x), numbers(y, scale_y, zero_y))
    return again(found, scale, zero, x)


@op("com.microsoft.QGemm")
def qgemm(
    x: Value, scale_x: Value, zero_x: Value, y: Value, scale_y: Value, zero_y: Value, z: Value = None,
    scale: Value = None, zero: Value = None, *, alpha: float = 1.0, transA: int = 0, transB: int = 0,
) -> Value:  # fmt: skip
    """Floats, unless there is a scale for the result. What is added is an int32 whose scale is that of products."""
    left = Quantized(x, one(scale_x), one(zero_x))
    right = Quantized(y, one(scale_y), one(zero_y), 0 if transB else 1)
    how = {"alpha": alpha, "transA": transA, "transB": transB}
    found = quantized_gemm(left, right, **how)
    if found is None:
        found = gemm(left.numbers, right.numbers, **how)
    found = found if z is None else found + cast(z, np.float32) * (alpha * left.scale * right.scale)
    return found if scale is None else again(found, scale, zero, x)


def quantized_product(x: Quantized, y: Quantized) -> Value:
    """The product of matrices, in integers if it can be."""
    found = quantized_matmul(x, y)
    return np.matmul(x.numbers, y.numbers) if found is None else found
