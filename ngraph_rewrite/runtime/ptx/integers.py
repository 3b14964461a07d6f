# SPDX-License-Identifier: Apache-2.0
"""What PTX has of integers and NumPy has not: quotients to zero, upper halves, shifts by any number, bits in bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]


def divided(a: Values, b: Values) -> Values:
    """Quotients of integers, without what is after the point; all bits where there is none."""
    a, b = np.broadcast_arrays(a, b)
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    quotient = a // safe
    behind = (quotient < 0) & (quotient * safe != a)
    return np.where(b == 0, ~np.zeros_like(b), quotient + behind).astype(a.dtype)


def left_over(a: Values, b: Values) -> Values:
    """What is left over by `divided`, of the sign of the first."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    return np.asarray(np.where(b == 0, a, np.fmod(a, safe)).astype(a.dtype))


def upper_half(a: Values, b: Values) -> Values:
    """The upper half of a product of integers."""
    if a.dtype.itemsize < 8:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        product: Values = np.multiply(a, b, dtype=wide)
        return np.asarray(product >> wide(8 * a.dtype.itemsize)).astype(a.dtype)
    x, y, half = a.astype(np.uint64), b.astype(np.uint64), np.uint64(32)
    low, (x_low, x_high), (y_low, y_high) = np.uint64(0xFFFFFFFF), _halves(x), _halves(y)
    middle = x_high * y_low + (x_low * y_low >> half)
    found = x_high * y_high + (middle >> half) + (x_low * y_high + (middle & low) >> half)
    if a.dtype.kind == "i":
        found = found - np.where(a < 0, y, 0).astype(np.uint64) - np.where(b < 0, x, 0).astype(np.uint64)
    return np.asarray(found.astype(a.dtype))


def _halves(x: Values) -> tuple[Values, Values]:
    return x & np.uint64(0xFFFFFFFF), x >> np.uint64(32)


def shifted(a: Values, by: Values, shift: Callable[..., Values]) -> Values:
    """As `shift` does by less than the width; all bits are out else, or those of the sign are in."""
    width = 8 * a.dtype.itemsize
    if a.dtype.kind == "i":
        return np.asarray(shift(a, np.minimum(by, width - 1).astype(a.dtype)))
    found = shift(a, np.minimum(by, width - 1).astype(a.dtype))
    return np.where(by >= width, np.zeros_like(found), found)


def inserted(a: Values, b: Values, begin: Values, count: Values) -> Values:
    """``b`` with so many bits of ``a`` from a place on."""
    width = 8 * a.dtype.itemsize
    begin, count = begin.astype(np.uint64) & np.uint64(0xFF), count.astype(np.uint64) & np.uint64(0xFF)
    some = np.minimum(count, np.uint64(63))
    mask = np.where(count >= 64, ~np.uint64(0), (np.uint64(1) << some) - np.uint64(1))
    mask = np.where(begin < width, mask << np.minimum(begin, np.uint64(63)), np.uint64(0)).astype(a.dtype)
    moved = np.asarray(a << np.minimum(begin, np.uint64(width - 1)).astype(a.dtype))
    return np.asarray((b & ~mask) | (moved & mask))


def leading_zeros(a: Values) -> Values:
    width = 8 * a.dtype.itemsize
    left, found = a.astype(np.uint64), np.full(np.shape(a), width, np.uint32)
    for _ in range(width):
        found = found - (left != 0).astype(np.uint32)
        left = left >> np.uint64(1)
    return found
