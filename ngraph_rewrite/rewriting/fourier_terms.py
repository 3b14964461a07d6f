# SPDX-License-Identifier: Apache-2.0
"""The words in which Fourier transforms are written as terms of the semi family: matrices, and parts of many lines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.rewriting.matcher import Make
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.lengths import Extent

# Real parts and imaginary ones, which may be left out.
Parts = tuple[Op, Op | None]


class Sums(NamedTuple):
    """``X[k]``, the sum of ``x[j] exp(sign 2 pi i j k / n)``, for each k below `wanted`: as the attributes of the op.

    Attributes:
        real: Whether only the real part is wanted.
    """

    n: int
    sign: int
    wanted: int
    real: bool = False


class Terms(NamedTuple):
    """What makes terms of a dtype."""

    make: Make
    dtype: DType

    def op(self, name: str, *args: Op, **attributes: Any) -> Op:
        """An op of the semi family, with attributes in their order."""
        return self.make(lookup(f"semi.{name}"), args, tuple(attributes.values()))

    def constant(self, array: NDArray[np.float64]) -> Op:
        """An array, rounded."""
        value = Literal(array.astype(self.dtype))
        return self.make(lookup("core.constant"), (), (value, anonymous(array.shape)))

    def shaped(self, x: Op, *shape: Extent) -> Op:
        """The same elements, of a shape."""
        return x if x.shape == shape else self.op("reshape", x, shape=shape)

    def turned(self, x: Op, *perm: int) -> Op:
        """The axes in another order."""
        if all(x.shape[a] == 1 or x.shape[b] == 1 for a, b in combinations(perm, 2) if a > b):
            return self.shaped(x, *(x.shape[k] for k in perm))
        return self.op("transpose", x, perm=perm)

    def part(self, x: Op, axis: int, start: int, stop: int) -> Op:
        """Some elements along an axis; `x` itself, if they are all."""
        if (start, stop) == (0, x.shape[axis]):
            return x
        starts, stops = [0] * x.rank, [*x.shape]
        starts[axis], stops[axis] = start, stop
        return self.op("slice", x, starts=tuple(starts), stops=tuple(stops), steps=(1,) * x.rank)

    def joined(self, *xs: Op | None, axis: int) -> Op:
        """What there is, one behind the other."""
        found = [x for x in xs if x is not None]
        return found[0] if len(found) == 1 else self.op("concat", *found, axis=axis)

    def padded(self, x: Op, length: int) -> Op:
        """Lines of a length, with zeros behind them."""
        missing = length - length_of(x)
        if not missing:
            return x
        none = (0, 0)
        return self.op("pad", x, before=none, after=(0, missing), interior=none, value=Literal(0, self.dtype))

    def multiplied(self, x: Op, y: Op | None, factors: NDArray[np.complex128], *dims: int) -> tuple[Op, Op]:
        """The product with complex numbers that have these axes of `x`, and are the same along the others."""
        parts = (self.constant(np.ascontiguousarray(part)) for part in (factors.real, factors.imag))
        c, s = (self.op("broadcast", part, shape=x.shape, dims=dims) for part in parts)
        xc, xs = self.op("multiply", x, c), self.op("multiply", x, s)
        if y is None:
            return xc, xs
        yc, ys = self.op("multiply", y, c), self.op("multiply", y, s)
        return self.op("subtract", xc, ys), self.op("add", xs, yc)


def length_of(x: Op) -> int:
    """The length of the last axis, which is known."""
    length = x.shape[-1]
    assert isinstance(length, int)
    return length


def each(parts: Parts, function: Callable[[Op], Op]) -> Parts:
    """What a function makes of the real part, and of the imaginary one if there is one."""
    real, imag = parts
    return function(real), None if imag is None else function(imag)


def matrix_of(sums: Sums, rows: int, is_complex: bool) -> NDArray[np.float64]:
    """What a row is multiplied by, of real parts and imaginary ones side by side, for the sums in the same order."""
    turns = roots(np.outer(np.arange(rows), np.arange(sums.wanted)), sums.n, sums.sign)
    c, s = turns.real, turns.imag
    blocks = [[c, s], [-s, c]] if is_complex else [[c, s]]
    return np.block([row[:1] if sums.real else row for row in blocks])


def roots(powers: NDArray[np.integer], n: int, sign: int) -> NDArray[np.complex128]:
    """Powers of the n-th root of one. What is 0 is exactly 0, and the others do not lose digits as powers grow.

    >>> roots(np.arange(4) + 4_000_000, 4, -1).tolist()
    [(1+0j), -1j, (-1+0j), 1j]
    """
    angles = 2 * np.pi * (powers % n) / n
    c, s = np.cos(angles), sign * np.sin(angles)
    return np.where(abs(c) < 1e-15, 0, c) + 1j * np.where(abs(s) < 1e-15, 0, s)
