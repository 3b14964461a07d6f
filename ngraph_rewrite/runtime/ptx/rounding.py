# SPDX-License-Identifier: Apache-2.0
"""Products and sums that are rounded once, in each direction that PTX knows, and its approximations."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import vectorize
from numba.core.typing import signature
from numba.extending import intrinsic
from numpy.typing import NDArray

Values = NDArray[Any]


def _fused(context: Any, x: Any, y: Any, z: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fma(*args)

    return signature(x, x, x, x), generate


@cache
def _compiled() -> Callable[..., Values]:
    fused: Any = intrinsic(_fused)

    @vectorize(["float32(float32, float32, float32)", "float64(float64, float64, float64)"])  # type: ignore[untyped-decorator]
    def multiply_add(x: Any, y: Any, z: Any) -> Any:
        return fused(x, y, z)

    found: Callable[..., Values] = multiply_add
    return found


def multiply_add(x: Values, y: Values, z: Values, rounding: str = "rn") -> Values:
    """A product and a sum, rounded once: to the nearest (``rn``), down (``rm``), up (``rp``) or to zero (``rz``).

    Only those of `float32` are rounded in another direction than the first.

    >>> small = np.float32(2**-30)
    >>> multiply_add(np.float32([1]), np.float32([1]), -small, "rm")[0] == 1, multiply_add(
    ...     np.float32([1]), np.float32([1]), -small
    ... )[0] == 1
    (np.False_, np.True_)
    """
    if rounding == "rn":
        if x.dtype == np.float16:
            return np.asarray(x.astype(np.float64) * y + z).astype(np.float16)
        return np.asarray(_compiled()(x, y, z))
    product, added = x.astype(np.float64) * y, z.astype(np.float64)  # which is exact
    total = product + added
    back = total - product
    rest = (product - (total - back)) + (added - back)  # what was lost, so that both together are the sum
    return _directed(total, rest, rounding)


def _directed(total: Values, rest: Values, rounding: str) -> Values:
    """A sum of two float64 as a float32 in a direction."""
    near = np.asarray(total.astype(np.float32))
    above = (near > total) | ((near == total) & (rest < 0))
    below = (near < total) | ((near == total) & (rest > 0))
    down = np.where(above, np.nextafter(near, np.float32(-np.inf)), near)
    up = np.where(below, np.nextafter(near, np.float32(np.inf)), near)
    if rounding == "rz":
        return np.where(total > 0, down, up)
    return down if rounding == "rm" else up


def flushed(values: Values) -> Values:
    """Numbers below the smallest normal one as zeros of their sign."""
    return np.where(np.abs(values) < np.finfo(values.dtype).tiny, np.copysign(0, values), values).astype(values.dtype)


def approximated(function: Callable[[Values], Values], x: Values, flush: bool) -> Values:
    """An instruction that approximates a function: here to the nearest, but of float64 the upper half alone.

    That is what GPUs give of reciprocals and square roots of float64, to be made better by the code around.
    """
    given = flushed(x) if flush else x
    found = np.asarray(function(given.astype(np.float64)))
    if x.dtype == np.float64:
        return (found.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    found = found.astype(x.dtype)
    return flushed(found) if flush else found
