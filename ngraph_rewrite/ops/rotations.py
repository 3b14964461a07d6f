# SPDX-License-Identifier: Apache-2.0
"""What eigenvalues and singular values have in common, in NumPy: scales, rotations of neighbours, signs and order.

Numbers are scalars of their dtype, rounded after each operation, as kernels round them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

# The sign of a vector is that of the first of its elements that is larger than this part of the largest one.
LARGE = 0.625
STEPS = 30  # for each row, after which what has not converged is given up


class Rotation(NamedTuple):
    """Of the rows i and i + 1: ``c * x + s * y`` and ``c * y - s * x``."""

    i: int
    c: Any
    s: Any


class Limits(NamedTuple):
    """What decides of a dtype what is small.

    Attributes:
        high: Matrices whose largest element is above it, or below `low`, are multiplied by `down`, or by `up`.
        small: Numbers below it, of which squares may be lost, are multiplied by `more` before they are squared.
        least: What part of the largest number of a whole matrix counts for nothing. What is less but large beside its
            neighbours would not be zero for them, while products of it may be too small for any number.
        unit: How far a number may be rounded, as a part of it.
    """

    high: float
    low: float
    up: float
    down: float
    small: float
    more: float
    least: float
    unit: float


LIMITS = {
    "float32": Limits(2.0**32, 2.0**-32, 2.0**64, 2.0**-64, 2.0**-40, 2.0**100, 2.0**-40, 2.0**-24),
    "float64": Limits(2.0**256, 2.0**-256, 2.0**512, 2.0**-512, 2.0**-400, 2.0**700, 2.0**-100, 2.0**-53),
}


def limits(dtype: Any) -> Limits:
    """The limits as numbers of the dtype."""
    return Limits(*[np.dtype(dtype).type(number) for number in LIMITS[np.dtype(dtype).name]])


def scales(x: Any) -> tuple[Any, Any]:
    """Two powers of two for each matrix, by which its largest element comes near one.

    >>> scales(np.array([[[3.0]], [[2.0**700]], [[2.0**-1074]]]))[0].tolist() == [1.0, 2.0**-512, 2.0**512]
    True
    """
    lim, one = limits(x.dtype), x.dtype.type(1)
    most, found = np.abs(x).max((1, 2), initial=0), []
    for _ in range(2):
        factor = np.where(most > lim.high, lim.down, np.where((most < lim.low) & (most > 0), lim.up, one))
        most = most * factor
        found.append(factor)
    return found[0], found[1]


def rotation(f: Any, g: Any, lim: Limits) -> tuple[Any, Any, Any]:
    """The c, s and r for which ``c * f + s * g`` is r, and ``c * g - s * f`` 0.

    >>> [float(number) for number in rotation(np.float64(3), np.float64(4), limits("float64"))]
    [0.6, 0.8, 5.0]
    """
    zero, one = f.dtype.type(0), f.dtype.type(1)
    if g == 0:
        return one, zero, f
    more = lim.more if max(abs(f), abs(g)) < lim.small else one
    f, g = f * more, g * more
    r = np.sqrt(f * f + g * g)
    return f / r, g / r, r / more


def nothing(d: Any, e: Any, lim: Limits) -> Any:
    """How large a number beside the diagonal may be that counts for nothing in the whole matrix."""
    return lim.least * max(np.abs(d).max(initial=0), np.abs(e).max(initial=0))


def is_negligible(d: Any, e: Any, i: int, slack: Any, floor: Any) -> bool:
    """Whether a number beside the diagonal is nothing beside its neighbours, or in the whole matrix.

    Args:
        slack: What part of its neighbours is nothing: one unit of rounding, and another one for each step that a block
            stays as long as it is. Where all numbers of a block are nearly alike rounding may undo each step.
    """
    return bool(abs(e[i]) <= slack * (abs(d[i]) + abs(d[i + 1])) or abs(e[i]) <= floor)


def rotate(rows: Any, rotations: list[Rotation]) -> None:
    """Rotate rows one after the other."""
    for i, c, s in rotations:
        x, y = rows[i].copy(), rows[i + 1]
        rows[i], rows[i + 1] = c * x + s * y, c * y - s * x


def ranks(values: Any) -> Any:
    """The place of each number if they ascend, equal ones in their order."""
    result = np.empty(len(values), np.int64)
    result[np.argsort(values, kind="stable")] = np.arange(len(values))
    return result


def signs(columns: Any) -> Any:
    """1 or -1 for each column, by which its first large element becomes positive.

    >>> signs(np.array([[-0.1, 0.7, 0.0], [0.8, -0.8, 0.0]])).tolist()
    [1.0, 1.0, 1.0]
    """
    sizes = np.abs(columns)
    large = sizes > columns.dtype.type(LARGE) * sizes.max(0, initial=0)
    first = np.take_along_axis(columns, np.argmax(large, axis=0)[None], 0)[0] if len(columns) else columns.sum(0)
    return np.where(first < 0, columns.dtype.type(-1), columns.dtype.type(1))


def blocks(d: Any, e: Any, lim: Limits, least_last: bool) -> Iterator[tuple[int, int, int] | None]:
    """The blocks of two diagonals that are not separate yet, as the steps taken of them leave these; None is no end.

    A block has an end to which it converges as long as it, or a part of it, is in the works.

    Args:
        least_last: Whether a block goes on from its first place to its last one, if that is less, and not the opposite.

    Yields:
        The first place of a block, its last one, and which way it goes: 1 or -1.
    """
    n = len(d)
    first, was, until, way, left, slack = 0, 0, -1, 1, STEPS * n, lim.unit
    floor = nothing(d, e, lim)
    while first < n - 1:
        last = first
        while last < n - 1 and not is_negligible(d, e, last, slack, floor):
            last += 1
        if last < n - 1:
            e[last] = 0
        if last == first:
            first += 1
            continue
        if left == 0:
            yield None
            return
        if first >= until:
            one, other = abs(d[first]), abs(d[last])
            way = 1 if (one >= other if least_last else one <= other) else -1
        slack = slack + lim.unit if (first, last) == (was, until) else lim.unit
        was, until, left = first, last, left - 1
        yield first, last, way
