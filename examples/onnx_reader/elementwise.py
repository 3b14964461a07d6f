# SPDX-License-Identifier: Apache-2.0
"""Operators that compute each element by itself: NumPy's functions, which take arrays and terms alike."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np
from onnx import helper

import ngraph_rewrite as ng
from onnx_reader.files import dtype_of
from onnx_reader.small import any_dtype_of, converted
from onnx_reader.table import Value, cast, is_term, op, term

UNARY = {
    "Abs": np.abs, "Acos": np.arccos, "Acosh": np.arccosh, "Asin": np.arcsin, "Asinh": np.arcsinh, "Atan": np.arctan,
    "Atanh": np.arctanh, "BitwiseNot": np.invert, "Ceil": np.ceil, "Cos": np.cos, "Cosh": np.cosh,
    "Exp": np.exp, "Floor": np.floor, "IsNaN": np.isnan, "Log": np.log, "Neg": np.negative, "Not": np.logical_not,
    "Round": np.round, "Sign": np.sign, "Sin": np.sin, "Sinh": np.sinh, "Sqrt": np.sqrt, "Tan": np.tan,
    "Tanh": np.tanh,
}  # fmt: skip
BINARY = {
    "Add": np.add, "And": np.logical_and, "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor, "Greater": np.greater, "GreaterOrEqual": np.greater_equal,
    "Less": np.less, "LessOrEqual": np.less_equal, "Mul": np.multiply, "Or": np.logical_or, "Sub": np.subtract,
    "Xor": np.logical_xor,
}  # fmt: skip
VARIADIC = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}


def _unary(function: Any, x: Value) -> Value:
    return function(x)


def _binary(function: Any, x: Value, y: Value, *, axis: int | None = None, broadcast: int = 0) -> Value:
    """Before version 7, `axis` says where the axes of `y` stand among those of `x`."""
    if axis is not None:
        y = np.expand_dims(y, tuple(range(len(y.shape), len(x.shape) - axis % len(x.shape))))
    return function(x, y)


def _variadic(function: Any, *xs: Value) -> Value:
    return reduce(function, xs)


for shape_of_call, functions in ((_unary, UNARY), (_binary, BINARY), (_variadic, VARIADIC)):
    for name, function in functions.items():
        op(name)(partial(shape_of_call, function))


@op("Mean")
def mean(*xs: Value) -> Value:
    return reduce(np.add, xs) / len(xs)


@op("Equal")
def equal(x: Value, y: Value, *, axis: int | None = None, broadcast: int = 0) -> Value:
    """Of lengths that are not known yet only whether they are one, or negative, is known."""
    if any(v.dtype == object for v in (x, y)):
        pairs = np.broadcast(x, y)
        if not all(not isinstance(a - b, ng.Length) or min(_least(a), _least(b)) < 0 for a, b in pairs):
            x, y = term(x), term(y)
    return _binary(np.equal, x, y, axis=axis)


def _least(n: Any) -> int:
    return 0 if isinstance(n, ng.Length) else int(n)


@op("Div")
def divide(x: Value, y: Value, *, axis: int | None = None, broadcast: int = 0) -> Value:
    """The quotient of integers is cut off, not rounded down."""
    return _binary(_divided, x, y, axis=axis)


def _divided(x: Value, y: Value) -> Value:
    kinds = {np.dtype(v.dtype).kind for v in (x, y)}
    if "O" in kinds:
        return np.frompyfunc(_cut, 2, 1)(x, y)
    return np.floor_divide(x - np.fmod(x, y), y) if kinds <= {"i", "u"} else np.divide(x, y)


def _cut(a: Any, b: Any) -> Any:
    """The quotient of two lengths, or integers."""
    top, bottom = (-n if _below(n) else n for n in (a, b))
    return top // bottom if _below(a) == _below(b) else -(top // bottom)


def _below(n: Any) -> bool:
    """Whether a number is negative. One that is not known is, or is 0, if it is a sum of nothing but such."""
    return all(c < 0 for _, c in n.terms) if isinstance(n, ng.Length) else n < 0


@op("Mod")
def mod(x: Value, y: Value, *, fmod: int = 0) -> Value:
    if any(v.dtype == object for v in (x, y)):
        return x - _divided(x, y) * y if fmod else np.mod(x, y)
    return np.fmod(x, y) if fmod else np.mod(x, y)


@op("Pow")
def power(x: Value, y: Value, *, axis: int | None = None, broadcast: int = 0) -> Value:
    """As a term: NumPy refuses negative exponents of integers."""
    return cast(_binary(np.power, term(x), y, axis=axis), x.dtype)


@op("BitShift")
def shift(x: Value, y: Value, *, direction: str) -> Value:
    return (np.left_shift if direction == "LEFT" else np.right_shift)(x, y)


@op("Erf")
def erf(x: Value) -> Value:
    return cast(ng.numpy.erf(x), x.dtype)


@op("Reciprocal")
def reciprocal(x: Value) -> Value:
    return 1 / x


@op("IsInf")
def isinf(x: Value, *, detect_negative: int = 1, detect_positive: int = 1) -> Value:
    infinite = np.isinf(x)
    return infinite & ((bool(detect_negative) & (x < 0)) | (bool(detect_positive) & (x > 0)))


@op("Clip")
def clip(
    x: Value, low: Value = None, high: Value = None, *, min: float | None = None, max: float | None = None
) -> Value:
    """The bounds are attributes before version 11."""
    for bound, attribute, function in ((low, min, np.maximum), (high, max, np.minimum)):
        limit = attribute if bound is None else bound
        x = x if limit is None else function(x, limit)
    return x


@op("Where")
def where(condition: Value, x: Value, y: Value) -> Value:
    return np.where(condition, x, y)


# -- dtypes and copies ----------------------------------------------------------------------------------


@op("Cast")
def cast_to(x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    dtype = any_dtype_of(to)
    return x if x.dtype == object and dtype.kind in "iu" else converted(x, dtype, saturate)


@op("CastLike")
def cast_like(x: Value, y: Value, *, saturate: int = 1, round_mode: str = "up") -> Value:
    return x if x.dtype == object and np.dtype(y.dtype).kind in "iuO" else converted(x, y.dtype, saturate)


@op("Identity")
def identity(x: Value) -> Value:
    return x


@op("Dropout", known="rate training")
def dropout(
    x: Value, rate: Value = None, training: Value = None, *, outputs: int, opset: int, ratio: float = 0.5,
    seed: int | None = None, is_test: int = 0,
) -> Value:  # fmt: skip
    """Nothing is dropped unless the third input says so, which a model has that is trained.

    Before version 7 it is unless `is_test` says that it is not. Before version 10 the mask has the dtype of `x`.
    """
    share, mask = ratio if rate is None else float(rate), np.bool_ if opset >= 10 else x.dtype
    drops = training is not None and bool(training) if opset >= 7 else not is_test
    if not drops or share == 0:
        return (x, ng.numpy.ones(x.shape, dtype=mask))[:outputs]
    kept = ng.semi.uniform(x.shape, dtype="float32") >= share
    return (np.where(kept, x / (1 - share), 0), cast(kept, mask))[:outputs]


# -- draws ------------------------------------------------------------------------------------------------


@op("RandomUniform")
def uniform(
    *, shape: list[int], dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None
) -> Value:
    """The seed is the transformer's."""
    return ng.semi.uniform(shape, low, high, dtype_of(dtype))


@op("RandomNormal")
def normal(
    *, shape: list[int], dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Value:
    return ng.semi.normal(shape, mean, scale, dtype_of(dtype))


@op("RandomUniformLike", like=uniform)
def uniform_like(x: Value, *, dtype: int = 0, **how: Any) -> Value:
    return uniform(shape=x.shape, dtype=dtype or helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)), **how)


@op("RandomNormalLike", like=normal)
def normal_like(x: Value, *, dtype: int = 0, **how: Any) -> Value:
    return normal(shape=x.shape, dtype=dtype or helper.np_dtype_to_tensor_dtype(np.dtype(x.dtype)), **how)


@op("Multinomial")
def multinomial(x: Value, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Value:
    """Places of classes, by logarithms of how often each is drawn: the greatest, once noise is added (Gumbel 1954)."""
    draws = ng.semi.uniform((x.shape[0], sample_size, x.shape[1]), dtype=x.dtype)
    return cast(np.argmax(np.expand_dims(x, 1) - np.log(-np.log(draws)), axis=2), dtype_of(dtype))


@op("BitCast")
def bit_cast(x: Value, *, to: int) -> Value:
    """The bits of a truth are those of 0 or 1."""
    x, dtype = term(x) if x.dtype == object else x, dtype_of(to)
    if not is_term(x):
        return x.view(dtype)
    return cast(x, dtype) if np.dtype(bool) in (x.dtype, dtype) else ng.numpy.bitcast(x, dtype)
