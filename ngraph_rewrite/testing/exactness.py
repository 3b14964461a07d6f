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

Array = NDArray[Any]
_SPLIT, _TINY = 2.0**27 + 1, 1e-280


def is_exact(term: Op, value: Array, args: list[Array]) -> Array:
    """Where an op of arithmetic made no error: told by the error of a sum or a product in float64.

    Nowhere for other ops, or where operands are not matched position by position.

    >>> from ngraph_rewrite.testing import term
    >>> x = term("core.placeholder", axes=[2], dtype="float32")
    >>> a = np.array([0.5, 0.1], "float32")
    >>> is_exact(term("semi.multiply", x, x), a * a, [a, a]).tolist()
    [True, False]
    """
    if value.dtype.kind != "f" or any(a is None or a.shape not in ((), value.shape) for a in args):
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
