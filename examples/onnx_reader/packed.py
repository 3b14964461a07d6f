# SPDX-License-Identifier: Apache-2.0
"""Weights of 2, 4 or 8 bits, several to a byte, whose blocks have a scale each: floats only a piece at a time.

A table's rows are unpacked once they are chosen. Rows of a matrix are floats one piece after another, each of which
caches hold: for a few rows a product takes about as long as one of floats, for a single one nearly twice as long.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from onnx_reader.quantized import dequantize
from onnx_reader.small import INTEGERS, limits
from onnx_reader.table import ModelError, Value, cast, is_term, op, space, term

PIECE = 2**21  # so many weights are floats at a time


def _part(packed: Value, bits: int, k: int) -> Value:
    """Of each byte the number of so many bits that is the k-th, from the lowest bit on."""
    shifted = np.right_shift(packed, np.uint8(bits * k)) if k else packed
    return shifted if bits * (k + 1) == 8 else np.bitwise_and(shifted, np.uint8(2**bits - 1))


def unpacked(packed: Value, bits: int) -> Value:
    """Numbers of few bits that lie along the last axis."""
    if bits == 8:
        return packed
    parts = [_part(packed, bits, k) for k in range(8 // bits)]
    return np.reshape(np.stack(parts, -1), (*packed.shape[:-1], packed.shape[-1] * len(parts)))


@op("com.microsoft.MatMulNBits")
def matmul_n_bits(
    x: Value, packed: Value, scale: Value, zero: Value = None, order: Value = None, bias: Value = None, *, K: int,
    N: int, block_size: int, bits: int = 4, accuracy_level: int = 0, weight_prepacked: int = 0,
) -> Value:  # fmt: skip
    """The product with rows of weights. It is one of floats, however few bits `accuracy_level` asks for."""
    if order is not None or weight_prepacked or bits not in (2, 4, 8):
        what = "MatMulNBits with g_idx, with weights in another order, or of other than 2, 4 or 8 bits"
        raise ModelError(f"{what} is not supported")
    blocks = -(-K // block_size)
    packed, scale = np.reshape(packed, (N, blocks, -1)), np.reshape(scale, (N, blocks))
    zero = cast(_zeros(zero, N, blocks, bits), scale.dtype)
    if K % block_size:
        x = np.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(0, blocks * block_size - K)])
    rows = max(PIECE // K // 16 * 16, 16) if is_term(packed) else N
    pieces = [slice(i, i + rows) for i in range(0, N, rows)]
    found = [_product(x, packed[p], scale[p], zero[p] if zero.shape else zero, bits) for p in pieces]
    y = found[0] if len(found) == 1 else space(*found).concatenate(found, -1)
    return y if bias is None else y + bias


class Blocks(NamedTuple):
    """A matrix (K, N) that `DequantizeLinear` makes floats, as rows of `MatMulNBits`; or one that was `turned`."""

    packed: Value
    scale: Value
    zero: Value
    how: dict[str, int]
    turned: bool = False

    def product(self, x: Value) -> Value:
        """What is multiplied with it."""
        return matmul_n_bits(x, self.packed, np.transpose(self.scale), self.zero, **self.how)


def blocks_of(
    x: Value, scale: Value, zero: Value = None, *, axis: int = 1, block_size: int = 0, **other: Any
) -> Blocks | None:
    """A known matrix of integers with a scale for some neighbours along an axis; None if `x` is none.

    Its numbers lie from 0 on, so that the least one is the zero if there is none.
    """
    known = isinstance(x, np.ndarray) and (zero is None or isinstance(zero, np.ndarray))
    if not known or x.ndim != 2 or not block_size or other or scale.dtype == np.float64:
        return None
    turned = bool(axis % 2)
    x, scale, zero = (np.transpose(v) if turned and v is not None else v for v in (x, scale, zero))
    bits = ml_dtypes.iinfo(x.dtype).bits if x.dtype in INTEGERS or x.dtype in (np.int8, np.uint8) else 0
    if not bits or block_size * bits % 8:
        return None
    least, (size, rows), each = limits(x.dtype)[0], x.shape, 8 // bits
    whole = np.pad((x.astype(np.int16) - least).astype(np.uint8).T, ((0, 0), (0, -size % block_size)))
    parts = whole.reshape(rows, -1, block_size // each, each)
    packed = reduce(np.bitwise_or, [parts[..., k] << np.uint8(bits * k) for k in range(each)])
    own = np.zeros(scale.shape, np.float32) if zero is None else zero.astype(np.float32)
    return Blocks(
        packed, scale, (own - least).T, {"K": size, "N": rows, "bits": bits, "block_size": block_size}, turned
    )


def _zeros(zero: Value, rows: int, blocks: int, bits: int) -> Value:
    """Zero points of blocks: packed as weights are, if they are no floats."""
    if zero is None:
        return np.asarray(2 ** (bits - 1))
    whole = np.reshape(zero, (rows, -1))
    return unpacked(whole, bits)[:, :blocks] if zero.dtype == np.uint8 else whole


def _product(x: Value, packed: Value, scale: Value, zero: Value, bits: int) -> Value:
    """Each number of a byte is of every other column, or every fourth: a product for each, and nothing moves."""
    if not is_term(packed):
        return np.matmul(x, np.transpose(_floats(unpacked(packed, bits), scale, zero)))
    each = 8 // bits
    parts = [_floats(_part(packed, bits, k), scale, zero) for k in range(each)]
    return reduce(np.add, [np.matmul(x[..., k::each], np.transpose(w)) for k, w in enumerate(parts)])


def _floats(numbers: Value, scale: Value, zero: Value) -> Value:
    """Rows of floats, of the numbers of their blocks."""
    steps = cast(numbers, scale.dtype) - (zero[..., None] if zero.shape else zero)
    return np.reshape(steps * scale[..., None], (numbers.shape[0], numbers.shape[1] * numbers.shape[2]))


def floats_of(packed: Value, scale: Value, zero: Value, bits: int) -> Value:
    """Rows (N, bytes) as floats, whose blocks have scales (N, blocks) and zeros; or which have one each, (N,)."""
    if bits not in (2, 4, 8):
        raise ModelError(f"weights of {bits} bits are not supported")
    rows = packed.shape[0]
    scale = np.reshape(scale, (rows, -1))
    alone = zero is not None and len(zero.shape) == 1
    own = unpacked(zero, bits)[:rows, None] if alone else _zeros(zero, rows, scale.shape[1], bits)
    return _floats(np.reshape(unpacked(packed, bits), (*scale.shape, -1)), scale, cast(own, scale.dtype))


@op("com.microsoft.GatherBlockQuantized")
def gather_block_quantized(
    x: Value, indices: Value, scale: Value, zero: Value = None, *, bits: int = 4, block_size: int = 128,
    gather_axis: int = 0, quantize_axis: int = 1,
) -> Value:  # fmt: skip
    """What is chosen, as floats. Without zero points they are 0, or in the middle if numbers are packed in bytes."""
    rank, bytes_ = len(x.shape), x.dtype == np.uint8
    along, own = gather_axis % rank, quantize_axis % rank
    x, zero = (v if v is None or v.dtype == np.uint8 else cast(v, np.int8) for v in (x, zero))
    places = np.where(indices < 0, indices + x.shape[along], indices)
    blocks = places // block_size if along == own else places
    q, s = np.take(*_alike(x, places), axis=along), np.take(*_alike(scale, blocks), axis=along)
    z = None if zero is None else np.take(*_alike(zero, blocks), axis=along)
    if bytes_:
        q, z = unpacked(q, bits), np.uint8(2 ** (bits - 1)) if z is None else unpacked(z, bits)
        z = z[..., : s.shape[-1]] if z.shape else z
    if along == own:
        return dequantize(q, s, z)
    return dequantize(q, s, z, axis=own + len(indices.shape) - 1 if own > along else own, block_size=block_size)


def _alike(x: Value, places: Value) -> tuple[Value, Value]:
    """Both as terms if one is."""
    return (term(x), term(places)) if is_term(x) or is_term(places) else (x, places)
