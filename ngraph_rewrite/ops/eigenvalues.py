# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues of symmetric matrices in NumPy, step by step: what `semi.eigh` means, and kernels compute to the bit.

But for vectors of large matrices on a CPU, which divides these (`ngraph_rewrite.codegen.library_divided`): they are as
exact, and others where values coincide.

Reflections make a matrix tridiagonal; implicit steps with Wilkinson's shift, which converge at that end of a block
where its diagonal is less, make it diagonal. Golub and Van Loan, *Matrix Computations*, section 8.3; Parlett, *The
Symmetric Eigenvalue Problem*, chapter 8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.ops.factors import made_zero, multiplied, reach
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


def eigh(x: Any) -> Any:
    """The eigenvectors of matrices (b, n, n), of which the lower triangles are read, over their eigenvalues.

    >>> eigh(np.array([[[2.0, 9.0], [1.0, 2.0]]])).round(3).tolist()
    [[[0.707, 0.707], [-0.707, 0.707], [1.0, 3.0]]]
    """
    lower = np.tril(x)
    result = np.full((x.shape[0], x.shape[1] + 1, x.shape[2]), np.nan, x.dtype)
    with np.errstate(all="ignore"):
        first, second = scales(lower)
        lower = lower * first[:, None, None] * second[:, None, None]
        finite = np.isfinite(lower).all((1, 2))
        a = np.where(finite[:, None, None], lower + np.swapaxes(np.tril(lower, -1), 1, 2), 0)
        d, e = _tridiagonal(a)
        for m in np.flatnonzero(finite):
            rotations = _diagonal(d[m], e[m])
            if rotations is not None:
                _vectors(a[m], d[m], rotations, result[m])
                result[m, -1] = result[m, -1] * (1 / first[m]) * (1 / second[m])
    return result


def _vectors(q: Any, values: Any, rotations: list[Rotation], result: Any) -> None:
    """Rotate the columns of q, and put them in order into a result, over the values."""
    rows = q.T.copy()
    rotate(rows, rotations)
    places, columns = ranks(values), rows.T
    result[:-1, places] = columns * signs(columns)
    result[-1, places] = values


def _tridiagonal(a: Any) -> tuple[Any, Any]:
    """The diagonals of tridiagonal matrices, and what is beside them; orthogonal matrices replace what they are of."""
    count, n = a.shape[:2]
    d, e = np.zeros((count, n), a.dtype), np.zeros((count, n), a.dtype)
    half = a.dtype.type(0.5)
    for k in range(n - 1):
        made_zero(a[:, 1:], k)
        d[:, k], e[:, k] = a[:, k, k], a[:, k + 1, k]
        twice, v = reach(a[:, 1:], k), a[:, k + 1 :, k].copy()
        v[:, 0] = 1
        left = a[:, k + 1 :, k + 1 :]
        p = left[:, 0].copy()
        for i in range(1, v.shape[1]):
            p += v[:, i, None] * left[:, i]
        p = twice[:, None] * p
        along = p[:, 0].copy()
        for i in range(1, v.shape[1]):
            along += v[:, i] * p[:, i]
        w = p - (half * twice * along)[:, None] * v
        taken = v[:, :, None] * w[:, None, :] + w[:, :, None] * v[:, None, :]
        left -= np.where(twice[:, None, None] != 0, taken, 0)
    if n:
        d[:, n - 1] = a[:, n - 1, n - 1]
        a[:, 1:, 1:] = a[:, 1:, :-1]
        a[:, 0], a[:, :, 0] = 0, 0
        a[:, 0, 0] = 1
        multiplied(a[:, 1:, 1:])
    return d, e


def _diagonal(d: Any, e: Any) -> list[Rotation] | None:
    """Rotate a tridiagonal matrix until its diagonal has the eigenvalues; None if that comes to no end."""
    lim, rotations = limits(d.dtype), list[Rotation]()
    for block in blocks(d, e, lim, least_last=False):
        if block is None:
            return None
        first, last, step = block
        _step(d, e, first if step == 1 else last, step, last - first, rotations, lim)
    return rotations


def _step(d: Any, e: Any, near: int, step: int, length: int, rotations: list[Rotation], lim: Limits) -> None:
    """One implicit step, from the far end of a block to the near one.

    Args:
        step: 1 if the near end is the first one, -1 if it is the last one.
    """
    one, two = d.dtype.type(1), d.dtype.type(2)
    beside = near if step == 1 else near - 1
    g = (d[near + step] - d[near]) / (two * e[beside])
    r = np.sqrt(g * g + one)
    if g < 0:
        r = -r
    g = d[near + step * length] - d[near] + e[beside] / (g + r)
    c, s, p = one, one, one - one
    for t in reversed(range(length)):
        i = near + step * t
        f, b = s * e[beside + step * t], c * e[beside + step * t]
        c, s, r = rotation(g, f, lim)
        if t < length - 1:
            e[beside + step * (t + 1)] = r
        g = d[i + step] - p
        r = (d[i] - g) * s + two * c * b
        p = s * r
        d[i + step] = g + p
        g = c * r - b
        rotations.append(Rotation(min(i, i + step), c, -s if step == 1 else s))
    d[near] = d[near] - p
    e[beside] = g
