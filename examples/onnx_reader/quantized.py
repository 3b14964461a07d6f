# SPDX-License-Identifier: Apache-2.0
"""Operators of quantized models: integers that stand for ``(x - zero) * scale``.

A product of what was dequantized is one of integers, summed exactly, and scaled afterwards.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onnx_reader.files import dtype_of
from onnx_reader.small import FLOATS, any_dtype_of, converted, limits, nearest, widened
from onnx_reader.table import Value, cast, is_term, op
from onnx_reader.windows import conv


def _beside(v: Value, x: Value, axis: int, block: int = 0) -> Value:
    """Numbers for the whole of `x`, for each place along an axis, or for blocks of places, as they stand beside `x`."""
    if block and v.shape:
        at = axis % len(x.shape)
        return np.repeat(v, block, axis=at)[(*(slice(None),) * at, slice(0, x.shape[at]))]
    return v if len(v.shape) != 1 else np.reshape(v, (-1, *(1,) * (len(x.shape) - 1 - axis % len(x.shape))))


@op("QuantizeLinear")
def quantize(
    x: Value, scale: Value, zero: Value = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0,
    precision: int = 0, saturate: int = 1,
) -> Value:  # fmt: skip
    """The quotient has the dtype of the scale, or that of `precision`; sums of 16-bit floats would be rounded.

    Floats have the zero 0.
    """
    wanted = np.dtype(zero.dtype if zero is not None else any_dtype_of(output_dtype) if output_dtype else np.uint8)
    own = dtype_of(precision) if precision else scale.dtype
    quotient = cast(x, own) / cast(_beside(scale, x, axis, block_size), own)
    if wanted in FLOATS:
        return nearest(quotient, wanted, saturate)
    wide = np.float32 if np.dtype(own).itemsize < 4 else own
    steps = cast(np.round(quotient), wide)
    steps = steps if zero is None else steps + cast(_beside(widened(zero), x, axis, block_size), wide)
    return converted(np.clip(steps, *limits(wanted)), wanted)


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
    left, right = Quantized(x, scale_x, zero_x, -2), Quantized(y, scale_y, zero_y, -1)
    product = quantized_matmul(left, right)
    if product is None:
        product = np.matmul(left.numbers, right.numbers)
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


# -- what was dequantized ---------------------------------------------------------------------------------

# So many products of two bytes, each less its zero, are surely no more than an int32.
MOST_SUMMED = (2**31 - 1) // 255**2


class Quantized(NamedTuple):
    """Integers, and what says for which floats they stand."""

    value: Value
    scale: Value
    zero: Value = None
    axis: int = 1

    @property
    def numbers(self) -> Value:
        """The floats."""
        return dequantize(self.value, self.scale, self.zero, axis=self.axis)

    @property
    def transposed(self) -> Quantized:
        """The columns of a matrix as rows."""
        return Quantized(np.transpose(self.value), self.scale, self.zero, 1 - self.axis % 2)

    def is_bytes(self, axis: int | None = None) -> bool:
        """Whether they are of 8 bits, with one scale of float32 for all or one for each place along an axis."""
        if self.value.dtype not in (np.int8, np.uint8) or self.scale.dtype != np.float32:
            return False
        own = self.axis % max(len(self.value.shape), 1)
        return not self.scale.shape or (len(self.scale.shape) == 1 and own == axis)


def quantized_matmul(x: Quantized, y: Quantized) -> Value:
    """The product of matrices, summed in integers; None if it has to be one of floats."""
    m, n = len(x.value.shape), len(y.value.shape)
    if min(m, n) < 2 or not x.is_bytes(m - 2) or not y.is_bytes(n - 1) or not _is_summed(y.value.shape[-2]):
        return None
    if m > 2 and x.scale.shape or n > 2 and y.scale.shape:
        return None
    scale = (x.scale[:, None] if x.scale.shape else x.scale) * y.scale
    return cast(matmul_integer(x.value, y.value, x.zero, y.zero), np.float32) * scale


def quantized_conv(x: Quantized, w: Quantized, b: Value = None, **how: Any) -> Value:
    """A convolution, summed in integers; None if it has to be one of floats.

    It has, too, where filters less their zeros are no bytes: integers are worth it where four are multiplied at once.
    """
    spatial = (1,) * (len(w.value.shape) - 2)
    if is_term(w.value) or is_term(w.zero) or not x.is_bytes() or x.scale.shape or not w.is_bytes(0):
        return None
    filters = _centered(w.value, w.zero if w.zero is None else _beside(w.zero, w.value, 0))
    if not _is_summed(math.prod(filters.shape[1:])) or np.any((filters < -128) | (filters > 127)):
        return None
    scale = x.scale * (np.reshape(w.scale, (-1, *spatial)) if w.scale.shape else w.scale)
    y = cast(conv_integer(x.value, filters, x.zero, **how), np.float32) * scale
    return y if b is None else y + np.reshape(b, (-1, *spatial))


def quantized_gemm(
    x: Quantized, y: Quantized, z: Value = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0, **other: Any,
) -> Value:  # fmt: skip
    product = None if other else quantized_matmul(x.transposed if transA else x, y.transposed if transB else y)
    if product is None:
        return None
    product = product if alpha == 1 else alpha * product
    return product if z is None else product + (z if beta == 1 else beta * z)


def _is_summed(count: Any) -> bool:
    """Whether so many products have a sum that int32 holds."""
    return isinstance(count, int) and count <= MOST_SUMMED


# Of operators, what computes them of two dequantized inputs.
PRODUCTS = {"MatMul": quantized_matmul, "Gemm": quantized_gemm, "Conv": quantized_conv}
