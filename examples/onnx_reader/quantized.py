# SPDX-License-Identifier: Apache-2.0
"""Operators of quantized models: integers that stand for ``(x - zero) * scale``."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_reader.files import dtype_of
from onnx_reader.table import Value, cast, op
from onnx_reader.windows import conv


def _beside(v: Value, x: Value, axis: int, block: int = 0) -> Value:
    """Numbers for the whole of `x`, for each place along an axis, or for blocks of places, as they stand beside `x`."""
    if block:
        at = axis % len(x.shape)
        return np.repeat(v, block, axis=at)[(*(slice(None),) * at, slice(0, x.shape[at]))]
    return v if len(v.shape) != 1 else np.reshape(v, (-1, *(1,) * (len(x.shape) - 1 - axis % len(x.shape))))


@op("QuantizeLinear")
def quantize(
    x: Value, scale: Value, zero: Value = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0,
    precision: int = 0, saturate: int = 1,
) -> Value:  # fmt: skip
    """The quotient has the dtype of the scale, or that of `precision`; sums of 16-bit floats would be rounded."""
    wanted = zero.dtype if zero is not None else dtype_of(output_dtype) if output_dtype else np.uint8
    limits, own = np.iinfo(wanted), dtype_of(precision) if precision else scale.dtype
    steps = np.round(cast(x, own) / cast(_beside(scale, x, axis, block_size), own))
    wide = np.float32 if np.dtype(own).itemsize < 4 else own
    steps = cast(steps, wide) if zero is None else cast(steps, wide) + cast(_beside(zero, x, axis, block_size), wide)
    return cast(np.clip(steps, limits.min, limits.max), wanted)


@op("DequantizeLinear")
def dequantize(
    x: Value, scale: Value, zero: Value = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Value:
    own = np.float32 if np.dtype(scale.dtype).itemsize < 4 else scale.dtype
    steps = cast(x, own) if zero is None else cast(x, own) - cast(_beside(zero, x, axis, block_size), own)
    found = steps * cast(_beside(scale, x, axis, block_size), own)
    return cast(found, dtype_of(output_dtype) if output_dtype else scale.dtype)


@op("MatMulInteger")
def matmul_integer(x: Value, y: Value, zero_x: Value = None, zero_y: Value = None) -> Value:
    """The zero of `x` may be one for each row."""
    rows = zero_x if zero_x is None or len(zero_x.shape) != 1 else zero_x[:, None]
    return np.matmul(_centered(x, rows), _centered(y, zero_y))


@op("ConvInteger", like=conv)
def conv_integer(x: Value, w: Value, zero_x: Value = None, zero_w: Value = None, **how: Any) -> Value:
    return conv(_centered(x, zero_x), _centered(w, zero_w if zero_w is None else _beside(zero_w, w, 0)), **how)


def _centered(x: Value, zero: Value) -> Value:
    return cast(x, np.int32) if zero is None else cast(x, np.int32) - cast(zero, np.int32)


@op("QLinearMatMul")
def qlinear_matmul(
    x: Value, scale_x: Value, zero_x: Value, y: Value, scale_y: Value, zero_y: Value, scale: Value, zero: Value
) -> Value:
    """In float32, though scales may be of 16 bits."""
    scale_x, scale_y, scale = (cast(v, np.float32) for v in (scale_x, scale_y, scale))
    product = np.matmul(dequantize(x, scale_x, zero_x, axis=-2), dequantize(y, scale_y, zero_y, axis=-1))
    return quantize(product, scale, zero, axis=-2)


@op("QLinearConv", like=conv)
def qlinear_conv(
    x: Value, scale_x: Value, zero_x: Value, w: Value, scale_w: Value, zero_w: Value, scale: Value, zero: Value,
    b: Value = None, **how: Any,
) -> Value:  # fmt: skip
    """A bias is an int32 whose scale is that of the products."""
    y = cast(conv_integer(x, w, zero_x, zero_w, **how), np.float32)
    factor = np.reshape(scale_x * scale_w, (-1, *(1,) * (len(x.shape) - 2)))
    y = y if b is None else y + np.reshape(cast(b, np.float32), (-1, *(1,) * (len(x.shape) - 2)))
    return quantize(y * factor, scale, zero)
