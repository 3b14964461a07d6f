# SPDX-License-Identifier: Apache-2.0
"""Singular values in NumPy, step by step: what `semi.svd` means, and kernels compute to the bit.

But for vectors of large matrices on a CPU, as those of `ngraph_rewrite.ops.eigenvalues`, and for matrices of many rows.

Reflections from both sides make a matrix zero but for its diagonal and what is above that; implicit steps with the
least singular value of the last two rows as their shift, from the end of a block where its diagonal is greater, make
it diagonal. The shift is 0 where a block is singular as far as can be told (Demmel and Kahan, *Accurate singular values
of bidiagonal matrices*, 1990). Golub and Van Loan, *Matrix Computations*, section 8.6.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.ops.factors import made_zero, multiplied, reach, reflected
from ngraph_rewrite.ops.rotations import (
    Limits,
    Rotation,
    blocks,
    limits,
    ranks,
    rotate,
    rotation,
    scales,
    signs,
)

LANES = 16  # sums of a row's products, one after the other, that are added up at last


class Block(NamedTuple):
    """A part of a diagonal and of what is above it, seen from its greater end: ``d[near + step * t]``.

    Attributes:
        beside: Where the first number is that is above it.
        right, left: The rotations of columns and of rows, which change places if the end is the last one.
    """

    d: Any
    e: Any
    near: int
    step: int
    length: int
    beside: int
    right: list[Rotation]
    left: list[Rotation]


def svd(x: Any) -> Any:
    """Left singular vectors of matrices (b, m, n), m not below n, over their singular values, over right ones.

    >>> svd(np.array([[[0.0], [-3.0], [4.0]]])).round(6).tolist()
    [[[0.0], [0.6], [-0.8], [5.0], [-1.0]]]
    """
    count, m, n = x.shape
    result = np.full((count, m + 1 + n, n), np.nan, x.dtype)
    with np.errstate(all="ignore"):
        first, second = scales(x)
        a = x * first[:, None, None] * second[:, None, None]
        finite = np.isfinite(a).all((1, 2))
        a, v = np.where(finite[:, None, None], a, 0), np.zeros((count, n, n), x.dtype)
        d, e = _bidiagonal(a, v)
        for k in np.flatnonzero(finite):
            rotations = _diagonal(d[k], e[k])
            if rotations is not None:
                _vectors(a[k], v[k], d[k], rotations, result[k])
                result[k, m] = result[k, m] * (1 / first[k]) * (1 / second[k])
    return result


def pinv(x: Any, rcond: Any) -> Any:
    """The pseudo-inverses (b, n, m) of matrices (b, m, n), of singular values above a part (b) of the greatest one.

    >>> pinv(np.array([[[2.0, 0.0, 0.0], [0.0, 1e-9, 0.0]]]), np.array([1e-6])).tolist()
    [[[0.5, 0.0], [0.0, 0.0], [0.0, 0.0]]]
    """
    m, n = x.shape[1:]
    if m < n:
        return np.swapaxes(pinv(np.swapaxes(x, 1, 2), rcond), 1, 2)
    found = svd(x)
    values = found[:, m]
    least = values.max(1, keepdims=True, initial=0) * rcond[:, None]
    with np.errstate(all="ignore"):
        parts = np.where(values <= least, x.dtype.type(0), 1 / values)
    return (found[:, m + 1 :] * parts[:, None]) @ np.swapaxes(found[:, :m], 1, 2)


def _vectors(u: Any, v: Any, d: Any, rotations: tuple[list[Rotation], list[Rotation]], result: Any) -> None:
    """Rotate the columns of u and of v, and put them in order into a result."""
    right, left = v.T.copy(), u.T.copy()
    rotate(right, rotations[0])
    rotate(left, rotations[1])
    places, sign = ranks(-np.abs(d)), signs(left.T)
    m = len(u)
    result[:m, places] = left.T * sign
    result[m, places] = np.abs(d)
    result[m + 1 :, places] = right.T * np.where(d < 0, -sign, sign)


def _bidiagonal(a: Any, v: Any) -> tuple[Any, Any]:
    """The diagonals, and what is above them; orthogonal matrices replace what they are of, and zeros."""
    count, _, n = a.shape
    d, e = np.zeros((count, n), a.dtype), np.zeros((count, n), a.dtype)
    for k in range(n):
        made_zero(a, k)
        d[:, k] = a[:, k, k]
        reflected(a, k)
        if k < n - 1:
            across = np.swapaxes(a, 1, 2)[:, 1:]
            made_zero(across, k)
            e[:, k] = a[:, k, k + 1]
            twice, along = reach(across, k), a[:, k, k + 1 :].copy()
            v[:, k + 2 :, k + 1] = along[:, 1:]
            along[:, 0] = 1
            rest = a[:, k + 1 :, k + 1 :]
            rest -= (twice[:, None] * _in_lanes(rest * along[:, None]))[:, :, None] * along[:, None]
    multiplied(a)
    if n:
        v[:, 0, 0] = 1
        multiplied(v[:, 1:, 1:])
    return d, e


def _in_lanes(x: Any) -> Any:
    """The sums of the last axis: those of each lane, which are added up from the first to the last."""
    count = -(-x.shape[-1] // LANES)
    parts = np.pad(x, ((0, 0), (0, 0), (0, count * LANES - x.shape[-1]))).reshape((*x.shape[:2], count, LANES))
    lanes, total = np.zeros((*x.shape[:2], LANES), x.dtype), np.zeros(x.shape[:2], x.dtype)
    for i in range(count):
        lanes += parts[:, :, i]
    for i in range(LANES):
        total += lanes[..., i]
    return total


# -- from two diagonals to one -------------------------------------------------------------------------


def _diagonal(d: Any, e: Any) -> tuple[list[Rotation], list[Rotation]] | None:
    """Rotate columns and rows until the diagonal has the singular values; None if that comes to no end."""
    lim, right, left = limits(d.dtype), list[Rotation](), list[Rotation]()
    for found in blocks(d, e, lim, least_last=True):
        if found is None:
            return None
        first, last, step = found
        if step == 1:
            block = Block(d, e, first, 1, last - first, first, right, left)
        else:
            block = Block(d, e, last, -1, last - first, last - 1, left, right)
        _step(block, lim)
    return right, left


def _step(block: Block, lim: Limits) -> None:
    """One step, from the greater end to the other one."""
    d, e, near, step, length, beside = block[:6]
    size = abs(d[near])
    least, most, below = size, size, size
    for t in range(length):
        size = abs(d[near + step * (t + 1)])
        above = abs(e[beside + step * t])
        below = size * (below / (below + above))
        least, most = min(least, below), max(most, size, above)
    shift = d.dtype.type(0)
    if least > lim.unit * most:
        far = near + step * length
        shift = _least_of_two(abs(d[far - step]), abs(e[beside + step * (length - 1)]), abs(d[far]))
        part = shift / d[near]
        if part * part < lim.unit:
            shift = d.dtype.type(0)
    if shift == 0:
        _without_shift(block, lim)
    else:
        _with_shift(block, shift, lim)


def _least_of_two(f: Any, g: Any, h: Any) -> Any:
    """The least singular value of ``[[f, g], [0, h]]``, none of them negative, without overflow."""
    one, two = f.dtype.type(1), f.dtype.type(2)
    less, more = min(f, h), max(f, h)
    if less == 0:
        return less
    a, b = one + less / more, (more - less) / more
    if g < more:
        c = (g / more) * (g / more)
        return less * (two / (np.sqrt(a * a + c) + np.sqrt(b * b + c)))
    c = more / g
    if c == 0:
        return less * more / g
    a, b = a * c, b * c
    return less * (one / (np.sqrt(one + a * a) + np.sqrt(one + b * b))) * c * two


def _without_shift(block: Block, lim: Limits) -> None:
    d, e, near, step, length, beside, right, left = block
    one = d.dtype.type(1)
    c, oldc, olds = one, one, one
    for t in range(length):
        i, j = near + step * t, beside + step * t
        c, s, r = rotation(d[i] * c, e[j], lim)
        if t > 0:
            e[j - step] = olds * r
        oldc, olds, d[i] = rotation(oldc * r, d[i + step] * s, lim)
        right.append(Rotation(min(i, i + step), c, s if step == 1 else -s))
        left.append(Rotation(min(i, i + step), oldc, olds if step == 1 else -olds))
    i, j = near + step * length, beside + step * (length - 1)
    h = d[i] * c
    d[i], e[j] = h * oldc, h * olds


def _with_shift(block: Block, shift: Any, lim: Limits) -> None:
    d, e, near, step, length, beside, right, left = block
    sign = d.dtype.type(1 if d[near] >= 0 else -1)
    f, g = (abs(d[near]) - shift) * (sign + shift / d[near]), e[beside]
    for t in range(length):
        i, j = near + step * t, beside + step * t
        c, s, r = rotation(f, g, lim)
        if t > 0:
            e[j - step] = r
        f, e[j] = c * d[i] + s * e[j], c * e[j] - s * d[i]
        g, d[i + step] = s * d[i + step], c * d[i + step]
        right.append(Rotation(min(i, i + step), c, s if step == 1 else -s))
        c, s, d[i] = rotation(f, g, lim)
        f, d[i + step] = c * e[j] + s * d[i + step], c * d[i + step] - s * e[j]
        if t < length - 1:
            g, e[j + step] = s * e[j + step], c * e[j + step]
        left.append(Rotation(min(i, i + step), c, s if step == 1 else -s))
    e[beside + step * (length - 1)] = f
