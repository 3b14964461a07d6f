# SPDX-License-Identifier: Apache-2.0
"""Operators over whole axes: reductions, softmax, normalization, and products of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.files import dtype_of
from onnx_reader.table import Value, cast, count, lowest, op, places, term

Axes = list[int] | None


# -- reductions -------------------------------------------------------------------------------------------


def _log_sum_exp(x: Value, axis: Any, keepdims: bool) -> Value:
    top = _extreme("max", x, axis, True)
    top = np.where(np.isfinite(top), top, 0)
    found = cast(np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top, x.dtype)
    return found if keepdims else np.squeeze(found, axis)


def _sum(x: Value, axis: Any, keepdims: bool) -> Value:
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)


REDUCTIONS = {
    "ReduceL1": lambda x, axis, keepdims: _sum(np.abs(x), axis, keepdims),
    "ReduceL2": lambda x, axis, keepdims: cast(np.sqrt(_sum(x * x, axis, keepdims)), x.dtype),
    "ReduceLogSum": lambda x, axis, keepdims: cast(np.log(_sum(x, axis, keepdims)), x.dtype),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceMax": lambda x, axis, keepdims: _extreme("max", x, axis, keepdims),
    "ReduceMean": lambda x, axis, keepdims: cast(np.mean(x, axis=axis, keepdims=keepdims), x.dtype),
    "ReduceMin": lambda x, axis, keepdims: _extreme("min", x, axis, keepdims),
    "ReduceProd": lambda x, axis, keepdims: np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype),
    "ReduceSum": _sum,
    "ReduceSumSquare": lambda x, axis, keepdims: _sum(x * x, axis, keepdims),
}


def _extreme(name: str, x: Value, axis: Any, keepdims: bool) -> Value:
    """The greatest or least number; of bool whether any, or all, are true."""
    if x.dtype == bool:
        return {"max": np.any, "min": np.all}[name](x, axis=axis, keepdims=keepdims)
    if any(_none(x.shape[a]) for a in axis):
        return np.full_like(np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype), lowest(x.dtype, name == "max"))
    return getattr(np, name)(x, axis=axis, keepdims=keepdims)


def _none(n: Any) -> bool:
    """Whether an axis of this length is known to have no elements."""
    return isinstance(n, int) and n == 0


def _reduction(name: str) -> None:
    @op(name, known="given")
    def reduced(
        x: Value, given: Value = None, *, axes: Axes = None, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Value:
        """The axes are an attribute, or in later versions an input. Without them all are meant, or none."""
        chosen = axes if given is None else given.tolist()
        none = () if noop_with_empty_axes else None
        return REDUCTIONS[name](x, places(chosen or none, len(x.shape)), bool(keepdims))


for name in REDUCTIONS:
    _reduction(name)


# -- softmax ------------------------------------------------------------------------------------------------


def softmax(x: Value, axis: int) -> Value:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: Value, axis: int) -> Value:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _hardmax(x: Value, axis: int) -> Value:
    best = np.argmax(x, axis=axis, keepdims=True)
    classes = np.reshape(count(x.shape[axis]), (-1, *(1,) * (len(x.shape) - 1 - axis % len(x.shape))))
    return cast(np.equal(classes, best), x.dtype)


def _along(name: str, function: Any) -> None:
    @op(name, since=13)
    def one_axis(x: Value, *, axis: int = -1) -> Value:
        return x if _none(x.shape[axis]) else function(x, axis)

    @op(name)
    def from_axis(x: Value, *, axis: int = 1) -> Value:
        """Over all axes from one on."""
        flat = np.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
        return np.reshape(one_axis(flat, axis=1), x.shape)


for name, function in (("Softmax", softmax), ("LogSoftmax", _log_softmax), ("Hardmax", _hardmax)):
    _along(name, function)


# -- normalization ------------------------------------------------------------------------------------------


def standardized(x: Value, axes: tuple[int, ...], epsilon: float) -> tuple[Value, Value, Value]:
    """`x` with mean 0 and variance 1 over some axes; the mean, and one over the deviation."""
    mean = np.mean(x, axis=axes, keepdims=True)
    scale = 1 / np.sqrt(np.var(x, axis=axes, keepdims=True) + epsilon)
    return (x - mean) * scale, mean, scale


def statistics_of(x: Value, stash_type: int = 1) -> Value:
    """`x` in the dtype that statistics have, if that is a wider one."""
    own = dtype_of(stash_type)
    return cast(x, own) if np.dtype(x.dtype).itemsize < own.itemsize else x


def _by_channel(v: Value, x: Value) -> Value:
    """Numbers of channels as they stand beside `x`; those of each place of a sample already do."""
    return np.reshape(v, (-1, *(1,) * (len(x.shape) - 2))) if len(v.shape) == 1 else v


@op("BatchNormalization")
def batch_normalization(
    x: Value, scale: Value, shift: Value, mean: Value, variance: Value, *, epsilon: float = 1e-5, momentum: float = 0.9,
    training_mode: int = 0, spatial: int = 1, is_test: int = 0, outputs: int, opset: int,
) -> Any:  # fmt: skip
    """In training the statistics of the batch, and those that are kept for inference after it.

    Before version 14 it is training if there are outputs for it, before version 7 unless `is_test` says that it is not.
    """
    old = not is_test if opset < 7 else opset < 14 and outputs > 1
    if not (training_mode or old):
        factor = scale / np.sqrt(variance + epsilon)
        return cast(x * _by_channel(factor, x) + _by_channel(shift - mean * factor, x), x.dtype)
    axes, wide = (0, *range(2, len(x.shape))) if spatial else (0,), statistics_of(x)
    y = standardized(wide, axes, epsilon)[0] * _by_channel(scale, x) + _by_channel(shift, x)
    own = [cast(f(wide, axis=axes), mean.dtype) for f in (np.mean, np.var)]
    kept = [a * momentum + b * (1 - momentum) for a, b in zip((mean, variance), own, strict=True)]
    return (cast(y, x.dtype), *kept, *own)[:outputs]


@op("InstanceNormalization")
def instance_normalization(x: Value, scale: Value, shift: Value, *, epsilon: float = 1e-5) -> Value:
    y, *_ = standardized(x, tuple(range(2, len(x.shape))), epsilon)
    return y * _by_channel(scale, x) + _by_channel(shift, x)


@op("LayerNormalization")
def layer_normalization(
    x: Value, scale: Value, shift: Value = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1,
    outputs: int,
) -> Any:  # fmt: skip
    axes = tuple(range(axis % len(x.shape), len(x.shape)))
    y, *statistics = standardized(statistics_of(x, stash_type), axes, epsilon)
    y = cast(y, x.dtype) * scale
    return (y if shift is None else y + shift, *(cast(v, dtype_of(stash_type)) for v in statistics))[:outputs]


@op("GroupNormalization", since=21)
def group_normalization(
    x: Value, scale: Value, shift: Value, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Value:
    n, c, *places = x.shape
    grouped = np.reshape(x, (n, num_groups, c // num_groups, *places))
    y, *_ = standardized(statistics_of(grouped, stash_type), tuple(range(2, len(places) + 3)), epsilon)
    y = cast(np.reshape(y, x.shape), x.dtype)
    return y * _by_channel(scale, x) + _by_channel(shift, x)


@op("RMSNormalization")
def rms_normalization(x: Value, scale: Value, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Value:
    axes = tuple(range(axis % len(x.shape), len(x.shape)))
    wide = statistics_of(x, stash_type)
    return cast(wide / np.sqrt(np.mean(wide * wide, axis=axes, keepdims=True) + epsilon), scale.dtype) * scale


@op("MeanVarianceNormalization")
def mean_variance_normalization(x: Value, *, axes: Axes = None) -> Value:
    """Its epsilon is added to the deviation, not to the variance."""
    along = tuple(axes or (0, 2, 3))
    return (x - np.mean(x, axis=along, keepdims=True)) / (np.std(x, axis=along, keepdims=True) + 1e-9)


@op("LpNormalization")
def lp_normalization(x: Value, *, axis: int = -1, p: int = 2) -> Value:
    size = np.abs(x) if p == 1 else x * x
    norm = np.sum(size, axis=axis, keepdims=True)
    norm = norm if p == 1 else np.sqrt(norm)
    return np.where(np.equal(norm, 0), 0, x / np.where(np.equal(norm, 0), 1, norm))


# -- products -----------------------------------------------------------------------------------------------


@op("MatMul")
def matmul(x: Value, y: Value) -> Value:
    return np.matmul(x, y)


@op("Gemm")
def gemm(
    x: Value, y: Value, z: Value = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0,
    broadcast: int = 0,
) -> Value:  # fmt: skip
    product = np.matmul(np.transpose(x) if transA else x, np.transpose(y) if transB else y)
    product = product if alpha == 1 else alpha * product
    found = product if z is None else product + (z if beta == 1 else beta * z)
    return found if found.dtype == x.dtype else cast(found, x.dtype)


@op("Det")
def determinant(x: Value) -> Value:
    return np.linalg.det(x)


@op("Einsum")
def einsum(*xs: Value, equation: str) -> Value:
    return ng.numpy.einsum(equation.replace(" ", ""), *map(term, xs))
