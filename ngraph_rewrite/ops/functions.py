# SPDX-License-Identifier: Apache-2.0
"""Functions of numbers that NumPy does not have, or not stably: what elementwise meanings compute."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.types.dtypes import BFLOAT16, INT64, wide

_erf = np.vectorize(math.erf, otypes=[np.float64])


def erf(x: Any) -> Any:
    """The error function, in double precision.

    >>> float(erf(0.5).round(6))
    0.5205
    """
    return _erf(x)


def erfinv(x: Any) -> Any:
    """The number whose error function is `x`, in double precision; infinite at -1 and 1, NaN beyond.

    >>> float(erfinv(0.520499877813).round(6))
    0.5
    """
    return _erfinv(x)


def _inverse_of_erf(x: float) -> float:
    """Halley's steps; near one, of the rest to one, which has more digits."""
    size = abs(x)
    if not size < 1.0:
        return math.copysign(math.inf, x) if size == 1.0 else math.nan
    rest = 1.0 - size
    tail = math.log(rest * (1.0 + size))
    half = 2 / (math.pi * 0.147) + tail / 2
    y = math.sqrt(max(math.sqrt(half * half - tail / 0.147) - half, 0.0))  # Winitzki's, to 0.002
    for _ in range(4):
        slope = math.exp(-y * y) * 2 / math.sqrt(math.pi)
        off = (math.erf(y) - size if size < 0.5 else rest - math.erfc(y)) / slope
        y -= off / (1 + y * off)
    return math.copysign(y if size > 1e-8 else size * math.sqrt(math.pi) / 2, x)


_erfinv = np.vectorize(_inverse_of_erf, otypes=[np.float64])


def cbrt(x: Any) -> Any:
    """The cube root, computed in the next precision: NumPy's may be off by more than a unit in the last place.

    >>> cbrt(np.float32(247**3)).item()
    247.0
    """
    x = np.asarray(x)
    return np.cbrt(x.astype(np.longdouble if x.dtype == np.float64 else np.float64)).astype(x.dtype)


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))`` without overflow; tiny for large negative `x`, not zero. Rounded once in 16 bits.

    >>> sigmoid(np.float32(0.0)).item()
    0.5
    """
    e = np.exp(-np.abs(x.astype(wide(x.dtype), copy=False)))
    return (np.where(x >= 0, 1, e).astype(e.dtype) / (1 + e)).astype(x.dtype, copy=False)


def softplus(x: Any) -> Any:
    """``log(1 + exp(x))`` without overflow.

    >>> softplus(np.float64(1000.0)).item()
    1000.0
    """
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def reciprocal(x: Any) -> Any:
    """``1 / x``; infinite at zero, with its sign."""
    return np.divide(x.dtype.type(1), x)


def sign(x: Any) -> Any:
    """-1, 0 or 1, the zero without a sign, which it would keep in bfloat16; NaN stays NaN.

    >>> sign(np.array([-0.0, 2.0], "bfloat16")).astype(float)
    array([0., 1.])
    """
    return np.sign(x) + x.dtype.type(0) if x.dtype == BFLOAT16 else np.sign(x)


def nextafter(x: Any, y: Any) -> Any:
    """The next number from `x` on towards `y`; of two zeros the second, as in C (NumPy before 2.5: not of float16).

    >>> nextafter(np.array([0, 1], np.float16), np.array([-0.0, 2], np.float16))
    array([-0.   ,  1.001], dtype=float16)
    """
    return np.where(x == y, y, np.nextafter(x, y))


def total(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The sum in the dtype of `x`: one of 16 bits is added up in float32, and rounded once.

    >>> float(total(np.ones(1000, "bfloat16"), 0))
    1000.0
    """
    return _reduced(np.add, x, axis, keepdims)


def product(x: Any, axis: Any, keepdims: bool = False) -> Any:
    """The product in the dtype of `x`: floats of 16 bits are multiplied in float32, and rounded once.

    >>> product(np.full(2, 3, "float16"), 0)
    array(9., dtype=float16)
    """
    return _reduced(np.multiply, x, axis, keepdims)


def _reduced(ufunc: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    found = ufunc.reduce(x, axis=axis, keepdims=keepdims, dtype=wide(x.dtype))
    return np.asarray(found).astype(x.dtype, copy=False)


def mean(x: Any, axis: Any) -> Any:
    """The mean; floats of 16 bits are added up in float32, and it stays in that, as `numpy.mean` does by default."""
    found = np.add.reduce(x, axis=axis, dtype=wide(x.dtype))
    return found / found.dtype.type(math.prod(x.shape[k] for k in axis))


def variance(x: Any, axis: Any) -> Any:
    """The mean of squared deviations from the mean."""
    less = x.astype(wide(x.dtype))
    return mean(np.square(less - np.expand_dims(mean(less, axis), axis)), axis)


def over_deviation(less: Any, spread: Any, eps: Any) -> Any:
    """`less` over the square root of a variance and a little, a `Literal`; where that is 0, as it is."""
    more = spread + eps.array(()).astype(spread.dtype)
    return less / np.sqrt(np.where(more == 0, more.dtype.type(1), more))


def shifted(x: Any, axis: Any) -> tuple[Any, Any]:
    """`x` less its greatest finite element over `axis`, and that element with those axes of length 1."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, x.dtype.type(0))
    return x - top, top


def softmax(x: Any, axis: Any) -> Any:
    """exp(`x`) divided by its sum over `axis`, without overflow."""
    e = np.exp(shifted(x, axis)[0])
    return e / total(e, axis, True)


def logsumexp(x: Any, axis: Any) -> Any:
    """log(sum(exp(`x`))) over `axis`, which stays with length 1, without overflow."""
    less, top = shifted(x, axis)
    return np.log(total(np.exp(less), axis, True)) + top


def safelog(x: Any, limit: Any) -> Any:
    """``maximum(log(x + exp(limit)), limit)``."""
    return np.maximum(np.log(x + np.exp(limit)), limit)


def power(x: Any, y: Any) -> Any:
    """``x ** y``, each element for itself.

    NumPy takes a shortcut where there is one exponent, and that gives other bits: ``(-0.0) ** 0.5`` would be
    -0.0 beside no other exponent and 0.0 beside one. A negative power of an integer is truncated to an integer.

    >>> power(np.array([-0.0]), np.array([0.5]))
    array([0.])
    """
    bases, exponents = np.broadcast_arrays(x, y)
    below = exponents < 0 if exponents.dtype.kind == "i" else np.zeros(bases.shape, np.bool_)
    pair = [np.append(a, a.dtype.type(1)) for a in (bases, np.where(below, exponents.dtype.type(0), exponents))]
    found = np.power(*pair)[:-1].reshape(bases.shape)
    return np.where(below, _truncated_inverse(bases, exponents), found) if below.any() else found


def _truncated_inverse(bases: Any, exponents: Any) -> Any:
    """``1 / bases ** -exponents`` of integers, truncated; 0 of 0. NumPy refuses to say."""
    ones = np.where(bases == -1, 1 - 2 * (exponents & 1), np.where(bases == 1, 1, 0))
    return ones.astype(bases.dtype)


def times_log(t: Any, y: Any) -> Any:
    """``t * log(y)``, with ``0 * log(0) = 0``.

    >>> times_log(np.float64(0.0), np.float64(0.0)).item()
    0.0
    """
    return t * np.log(np.where((t == 0) & (y == 0), y.dtype.type(1), y))


def times(t: Any, z: Any) -> Any:
    """``t * z``, with 0 times an infinity being 0.

    >>> times(np.float64(0.0), np.float64(-np.inf)).item()
    0.0
    """
    return t * np.where((t == 0) & np.isinf(z), z.dtype.type(0), z)


def gather(x: Any, indices: Any, axis: int) -> Any:
    """``numpy.take`` along one axis: a negative index wraps once, one outside reads zeros.

    >>> gather(np.array([1, 2, 3]), np.array([-1, 0, 7]), 0)
    array([3, 1, 0])
    """
    length = x.shape[axis]
    wrapped, valid = wrap(indices, length)
    if length == 0:
        return np.zeros(x.shape[:axis] + indices.shape + x.shape[axis + 1 :], x.dtype)
    taken = np.take(x, np.where(valid, wrapped, 0), axis)
    keep = valid.reshape((1,) * axis + valid.shape + (1,) * (x.ndim - axis - 1))
    return np.where(keep, taken, x.dtype.type(0))


def wrap(indices: Any, length: int) -> tuple[Any, Any]:
    """Indices with negatives counted from the end, and which of them are inside."""
    wide = np.asarray(indices)
    if wide.dtype.kind == "u":
        inside = wide < length
        return np.where(inside, wide, 0).astype(np.int64), inside
    wide = wide.astype(np.int64)
    wide = np.where(wide < 0, wide + length, wide)
    return wide, (wide >= 0) & (wide < length)


def comparable(x: Any) -> Any:
    """The values as NumPy puts them in order; it has no place for a NaN of bfloat16."""
    return x.astype(np.float32) if x.dtype == BFLOAT16 else x


def found_places(x: Any, v: Any, right: bool) -> Any:
    """NumPy's ``searchsorted`` as int64, of the shape of `v` whatever that is.

    >>> found_places(np.array([1, 3, 3]), np.array([[3], [4]]), right=False)
    array([[1],
           [3]])
    """
    found = np.searchsorted(comparable(x), comparable(v), "right" if right else "left")
    return np.asarray(found, INT64).reshape(v.shape)
