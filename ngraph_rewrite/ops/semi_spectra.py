# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values of many matrices, with their vectors or without.

What each computes step by step is in `eigenvalues` and `singular_values`. Numbers are float32 or float64: frontends
compute shorter ones in float32. Nothing is raised for values: a matrix with a NaN or an infinity has NaN only.
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops import eigenvalues, singular_values
from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.ops.semi_factors import matrices, square, tall
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.types.tensor import TensorType


@op("semi.eigh", meaning=lambda term, x: eigenvalues.eigh(x))
def eigh(x: TensorType) -> TensorType:
    """Eigenvectors of symmetric matrices `x` (b, n, n) as columns, over their ascending eigenvalues (b, n + 1, n).

    Only the lower triangles of `x` are read. Columns are orthogonal; the first element of each that is larger than 5/8
    of its largest one is positive.
    """
    square(x)
    return tensor(x.dtype, (x.shape[0], x.shape[1] + 1, x.shape[2]))


@op("semi.eigvalsh", meaning=lambda term, x: _row(eigenvalues.eigh(x), x.shape[1]))
def eigvalsh(x: TensorType) -> TensorType:
    """The ascending eigenvalues (b, n) of symmetric matrices `x` (b, n, n): those that `eigh` gives, in less time.

    Those of large matrices are the same but for rounding. Only the lower triangles of `x` are read.
    """
    square(x)
    return tensor(x.dtype, x.shape[:2])


@op("semi.svd", meaning=lambda term, x: singular_values.svd(x))
def svd(x: TensorType) -> TensorType:
    """Singular vectors U of matrices `x` (b, m, n), m not below n, over singular values, over V (b, m + 1 + n, n).

    `x` is the product of U, of a diagonal matrix of the values, which descend, and of V transposed. Columns of U and V
    are orthogonal; the first element of one of U that is larger than 5/8 of its largest one is positive.
    """
    tall(x)
    return tensor(x.dtype, (x.shape[0], x.shape[1] + 1 + x.shape[2], x.shape[2]))


@op("semi.svdvals", meaning=lambda term, x: _row(singular_values.svd(x), x.shape[1]))
def svdvals(x: TensorType) -> TensorType:
    """The descending singular values (b, n) of matrices `x` (b, m, n), m not below n: those of `svd`, in less time.

    Those of large matrices are the same but for rounding.
    """
    tall(x)
    return tensor(x.dtype, (x.shape[0], x.shape[2]))


def _row(found: Any, row: int) -> Any:
    return found[:, row].copy()


@op("semi.pinv", meaning=lambda term, x, rcond: singular_values.pinv(x, rcond))
def pinv(x: TensorType, rcond: TensorType) -> TensorType:
    """The pseudo-inverses (b, n, m) of matrices `x` (b, m, n).

    By `svd`: singular values count that are greater than `rcond` (b) times the greatest one. The derivative is that of
    matrices whose rank does not change; `rcond` has none.
    """
    matrices(x)
    wanted = tensor(x.dtype, x.shape[:1])
    if rcond != wanted:
        error = AxesError if rcond.dtype == x.dtype else DTypeError
        raise error(f"{x!r} and {rcond!r}: expected one rcond for each matrix, of its dtype", do=f"give {wanted!r}")
    return tensor(x.dtype, (x.shape[0], x.shape[2], x.shape[1]))
