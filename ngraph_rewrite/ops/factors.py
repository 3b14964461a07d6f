# SPDX-License-Identifier: Apache-2.0
"""Factors of matrices in NumPy, step by step: in which order each element is computed is part of what an op means.

An element is rounded after each product and each difference, columns of factors from the first to the last. Kernels
keep to that order, so rows are exchanged in the same way everywhere, also where two pivots are nearly alike; but for
`qr` of matrices with many rows on a CPU, whose sums are of another order. Golub and Van Loan, *Matrix Computations*,
chapters 3 and 4.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def cholesky(x: Any) -> Any:
    """The lower factors of matrices (b, n, n), of whose upper triangles nothing is read.

    A pivot that is not positive is NaN, and so is all that depends on it.

    >>> cholesky(np.array([[[4.0, 9.0], [2.0, 5.0]]])).tolist()
    [[[2.0, 0.0], [1.0, 2.0]]]
    """
    y = np.tril(x)
    with np.errstate(all="ignore"):
        for k in range(y.shape[-1]):
            pivot = y[:, k, k]
            root = np.sqrt(np.where(pivot > 0, pivot, y.dtype.type(np.nan)))
            y[:, k, k] = root
            y[:, k + 1 :, k] /= root[:, None]
            column = y[:, k + 1 :, k]
            y[:, k + 1 :, k + 1 :] -= np.tril(column[:, :, None] * column[:, None, :])
    return y


def lu(x: Any) -> Any:
    """The factors of matrices (b, n, n) with exchanged rows, and under them, as a row, which row of `x` each is.

    The pivot is the largest number of its column that is left, the first of several; no row moves for a NaN.

    >>> lu(np.array([[[1.0, 2.0], [4.0, 4.0]]])).tolist()
    [[[4.0, 4.0], [0.25, 1.0], [1.0, 0.0]]]
    """
    count, n = x.shape[:2]
    y, which = np.array(x), np.arange(count)
    order = np.tile(np.arange(n), (count, 1))
    with np.errstate(all="ignore"):
        for k in range(n):
            size = np.abs(y[:, k:, k])
            row = k + np.argmax(np.where(np.isnan(size), -1, size), axis=1)
            row = np.where(np.isnan(size[:, 0]), k, row)
            for array in (y, order):
                array[which, row], array[:, k] = array[:, k].copy(), array[which, row]
            pivot = y[:, k, k][:, None]
            y[:, k + 1 :, k] = np.where(pivot == 0, y.dtype.type(0), y[:, k + 1 :, k] / pivot)
            y[:, k + 1 :, k + 1 :] -= y[:, k + 1 :, k, None] * y[:, k, None, k + 1 :]
    return np.concatenate([y, order[:, None, :].astype(y.dtype)], axis=1)


def triangular_solve(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    """What triangles of `a` (b, n, n) times gives `b` (b, n, m); with `unit` the diagonals are taken for ones.

    >>> triangular_solve(np.array([[[2.0, 7.0], [1.0, 4.0]]]), np.array([[[2.0], [9.0]]]), True, False).tolist()
    [[[1.0], [2.0]]]
    """
    n, y = a.shape[-1], np.array(b)
    with np.errstate(all="ignore"):
        for k in range(n) if lower else reversed(range(n)):
            if not unit:
                y[:, k] /= a[:, k, k, None]
            rest = slice(k + 1, n) if lower else slice(0, k)
            y[:, rest] -= a[:, rest, k, None] * y[:, k, None]
    return y


def qr(x: Any) -> Any:
    """Orthogonal columns of matrices (b, m, n), where m is not less than n, and below them the upper triangles (n, n).

    By reflections (Householder): column k is made zero below the diagonal, unless it is so already, with the sign that
    LAPACK gives; then the reflections are multiplied, from the last one on.

    >>> qr(np.array([[[3.0], [4.0]]])).round(6).tolist()
    [[[-0.6], [-0.8], [-5.0]]]
    """
    n, y = x.shape[2], np.array(x)
    with np.errstate(all="ignore"):
        for k in range(n):
            made_zero(y, k)
            reflected(y, k)
        upper = np.triu(y[:, :n])
        multiplied(y)
    return np.concatenate([y, upper], axis=1)


def made_zero(y: Any, k: int) -> None:
    """Put into column k what makes it zero below the diagonal: a reflection, and on the diagonal what is left there.

    A reflection has a 1 on the diagonal, which is not kept; all below the diagonal is 0 where nothing is reflected.
    Where a reflection would be too small for any number, nothing is.
    """
    sizes = np.abs(np.where(np.isnan(y[:, k:, k]), 0, y[:, k:, k]))
    largest, most = sizes[:, 1:].max(1, initial=0), sizes.max(1, initial=0)
    total = np.zeros(y.shape[0], y.dtype)
    for i in range(k, y.shape[1]):
        total += np.square(y[:, i, k] / most)
    alpha = y[:, k, k].copy()
    beta = most * np.sqrt(total)
    beta = np.where(alpha >= 0, -beta, beta)
    is_some = largest / (alpha - beta) != 0
    v = np.where(is_some[:, None], y[:, k + 1 :, k] / (alpha - beta)[:, None], 0)
    y[:, k + 1 :, k] = np.where((largest > 0)[:, None], v, y[:, k + 1 :, k])
    y[:, k, k] = np.where((largest > 0) & is_some, beta, alpha)


def reach(y: Any, k: int) -> Any:
    """How far the reflection of column k goes: 2 divided by its length squared; 0 if there is none."""
    squares, is_some = np.zeros(y.shape[0], y.dtype), (y[:, k + 1 :, k] != 0).any(1)
    for i in range(k + 1, y.shape[1]):
        squares += np.square(y[:, i, k])
    return np.where(is_some, y.dtype.type(2) / (y.dtype.type(1) + squares), y.dtype.type(0))


def reflected(y: Any, k: int) -> Any:
    """Reflect the columns right of column k, whose reflection is below the diagonal; how far it goes."""
    twice = reach(y, k)
    sums = y[:, k, k + 1 :].copy()
    for i in range(k + 1, y.shape[1]):
        sums += y[:, i, k, None] * y[:, i, k + 1 :]
    y[:, k, k + 1 :] -= twice[:, None] * sums
    y[:, k + 1 :, k + 1 :] -= (twice[:, None] * y[:, k + 1 :, k])[:, :, None] * sums[:, None, :]
    return twice


def multiplied(y: Any) -> None:
    """Put the product of the reflections of all columns in their place."""
    for k in reversed(range(y.shape[2])):
        y[:, k, k + 1 :] = 0
        twice = reflected(y, k)
        y[:, k, k] = 1 - twice
        y[:, k + 1 :, k] = -(twice[:, None] * y[:, k + 1 :, k])


# -- of factors that were found ------------------------------------------------------------------------


def order_of(factors: Any) -> Any:
    """Which row each was, of what `lu` gives."""
    return factors[:, -1].astype(np.int64)


def solve(a: Any, b: Any, transposed: bool) -> Any:
    """What `a` (b, n, n), or its transpose, times gives `b` (b, n, m); not finite where `a` is singular.

    >>> solve(np.array([[[0.0, 2.0], [1.0, 0.0]]]), np.array([[[6.0], [5.0]]]), False).tolist()
    [[[5.0], [3.0]]]
    """
    factors = lu(a)
    order, triangles = order_of(factors)[:, :, None], factors[:, :-1]
    if not transposed:
        y = triangular_solve(triangles, np.take_along_axis(b, order, 1), lower=True, unit=True)
        return triangular_solve(triangles, y, lower=False, unit=False)
    turned = np.swapaxes(triangles, 1, 2)
    y = triangular_solve(turned, b, lower=True, unit=False)
    result = np.empty_like(b)
    np.put_along_axis(result, order, triangular_solve(turned, y, lower=False, unit=True), 1)
    return result


def _pivots(x: Any) -> tuple[Any, Any]:
    """The pivots, and 1 or -1, for an even or an odd number of exchanges."""
    factors = lu(x)
    order = order_of(factors)
    later = np.triu(np.ones((x.shape[-1],) * 2, np.bool_), 1)
    turned = (order[:, :, None] > order[:, None, :]) & later
    return np.diagonal(factors[:, :-1], axis1=1, axis2=2), 1 - 2 * (turned.sum((1, 2)) & 1)


def logdet(x: Any) -> Any:
    """The logarithms of the sizes of determinants; -inf of a singular matrix."""
    with np.errstate(all="ignore"):
        return np.log(np.abs(_pivots(x)[0])).sum(-1, dtype=x.dtype)


def det_sign(x: Any) -> Any:
    """The signs of determinants: -1, 0 or 1."""
    pivots, sign = _pivots(x)
    return np.sign(pivots).prod(-1) * sign.astype(x.dtype)
