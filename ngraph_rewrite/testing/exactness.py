# SPDX-License-Identifier: Apache-2.0
"""Whether a result of floating-point arithmetic is the very number it stands for, so that no rounding took place.

The error of a sum or a product of float64 is a float64, found without wider floats (Dekker, *A floating-point technique
for extending the available precision*, 1971).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import finfo, is_float

Array = NDArray[Any]
_SPLIT, _TINY = 2.0**27 + 1, 1e-280
# Ops that add up elements, or products of one element of each operand.
_ADDED = frozenset("sum cumulative_sum dot batch_dot tensordot matmul inner vecdot convolution".split())
# Ops that divide by the number of elements then; a variance is known to be exact where that is a power of two.
_MEANS = frozenset("axes.mean simple.mean numpy.mean axes.variance simple.variance".split())


def is_exact(term: Op, value: Array, args: list[Array]) -> Array:
    """Where an op of arithmetic made no error: told by the error of a sum or a product in float64.

    Nowhere for other ops, or where operands are not matched position by position.

    >>> from ngraph_rewrite.testing import term
    >>> x = term("core.placeholder", axes=[2], dtype="float32")
    >>> a = np.array([0.5, 0.1], "float32")
    >>> is_exact(term("semi.multiply", x, x), a * a, [a, a]).tolist()
    [True, False]
    """
    if not is_float(value.dtype) or any(a is None or a.shape not in ((), value.shape) for a in args):
        return np.zeros(value.shape, bool)
    wide, *operands = (np.asarray(a, np.float64) for a in (value, *args))
    with np.errstate(all="ignore"):
        found = _exact(term.definition.short, wide, operands)
    return np.zeros(value.shape, bool) if found is None else np.asarray(found & np.isfinite(value))


def _exact(short: str, value: Array, operands: list[Array]) -> Array | None:
    x, y = operands[0], operands[-1]
    if short == "cast":
        return np.asarray(x == value)
    if short in ("add", "subtract"):
        return _is_sum(x, y if short == "add" else -y, value)
    if short in ("multiply", "square"):
        return _is_product(x, y, value)
    if short in ("divide", "reciprocal"):
        return _is_product(value, y, x if short == "divide" else np.ones_like(x))
    return _is_product(value, value, x) if short == "sqrt" else None


def is_exact_sum(term: Op, value: Array, size: Array, args: list[Array]) -> Array:
    """Where an op that adds up made no error, in whatever order it did: all its parts are multiples of one number.

    Args:
        size: What the op makes of the sizes of its operands.

    >>> from ngraph_rewrite.testing import term
    >>> x = term("core.placeholder", axes=[2], dtype="float32")
    >>> a = np.array([0.5, 0.25], "float32")
    >>> bool(is_exact_sum(term("semi.sum", x, axes=(0,)), a.sum(), a.sum(), [a]))
    True
    """
    short, none = term.definition.short, np.zeros(value.shape, bool)
    known = short in _ADDED or (term.definition.name in _MEANS and value.size)
    if not known or not all(is_float(a.dtype) and np.isfinite(a).all() for a in args):
        return none
    unit, most = float(np.prod([_unit(a) for a in args])), 2.0 ** (finfo(value.dtype).nmant - 1)
    count = 1.0 if short in _ADDED else args[0].size / value.size
    squared = 2 if short == "variance" else 1
    if not count:
        return none
    with np.errstate(all="ignore"):
        if (unit / count) ** squared < float(finfo(value.dtype).smallest_subnormal):
            return none  # there may be parts that are lost
        if short in _ADDED:
            return np.asarray(size.astype(np.float64) < unit * most)
        if short == "mean":
            return np.asarray(_is_mean(value.astype(np.float64), count, unit) & (size * count < unit * most))
        if np.frexp(count)[0] != 0.5:
            return none
        largest = float(np.abs(args[0]).max(initial=0))
        return np.full_like(none, count * (2 * largest) ** 2 < (unit / count) ** 2 * most)


def _is_mean(mean: Array, count: float, unit: float) -> Array:
    total = mean * count
    return np.asarray(_is_product(mean, np.full_like(mean, count), total) & (np.round(total / unit) * unit == total))


def _unit(array: Array) -> float:
    """The greatest power of two that all elements are multiples of; 1 if all are 0."""
    digits, exponents = np.frexp(array[array != 0].astype(np.float64))
    whole = np.ldexp(digits, 53).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponents - 53).min(initial=1.0))


def _is_sum(x: Array, y: Array, value: Array) -> Array:
    total = x + y
    part = total - x
    error = (x - (total - part)) + (y - part)
    return np.asarray((total == value) & (error == 0))


def _is_product(x: Array, y: Array, value: Array) -> Array:
    """Not where it is tiny: there the error of a product is no float64."""
    product = x * y
    (a, b), (c, d) = _halves(x), _halves(y)
    error = ((a * c - product) + a * d + b * c) + b * d
    sure = (np.abs(product) > _TINY) | (x == 0) | (y == 0)
    return np.asarray((product == value) & (error == 0) & sure)


def _halves(x: Array) -> tuple[Array, Array]:
    """Two numbers of half the digits that make this one."""
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high
