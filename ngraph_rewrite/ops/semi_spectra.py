# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values of many matrices, with their vectors or without.

What each computes step by step is in `eigenvalues` and `singular_values`. Numbers are float32 or float64: frontends
compute shorter ones in float32. Nothing is raised for values: a matrix with a NaN or an infinity has NaN only.
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.ops import eigenvalues, singular_values
from ngraph_rewrite.ops.checks import tensor
from ngraph_rewrite.ops.semi_factors import square, tall
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.types.tensor import TensorType


@op("semi.eigh", meaning=lambda term, x: eigenvalues.eigh(x))
def eigh(x: TensorType) -> TensorType:
    """Orthogonal columns V of symmetric matrices `x` (b, n, n) over their eigenvalues, which ascend (b, n + 1, n).

    Only the lower triangles of `x` are read. The first element of a column that is larger than 5/8 of its largest one is
    positive. Columns are what `x` times gives them times their eigenvalues.
    """
    square(x)
    return tensor(x.dtype, (x.shape[0], x.shape[1] + 1, x.shape[2]))


@op("semi.eigvalsh", meaning=lambda term, x: _row(eigenvalues.eigh(x), x.shape[1]))
def eigvalsh(x: TensorType) -> TensorType:
    """The eigenvalues (b, n) of symmetric matrices `x` (b, n, n), which ascend; the same as `eigh` gives, in less time.

    Only the lower triangles of `x` are read.
    """
    square(x)
    return tensor(x.dtype, x.shape[:2])


@op("semi.svd", meaning=lambda term, x: singular_values.svd(x))
def svd(x: TensorType) -> TensorType:
    """Orthogonal columns U of matrices `x` (b, m, n), m not below n, over their singular values s, over V (b, m + 1 + n, n).

    `x` is the product of U, of a diagonal matrix of s, which descend and are not negative, and of V transposed. The first
    element of a column of U that is larger than 5/8 of its largest one is positive.
    """
    tall(x)
    return tensor(x.dtype, (x.shape[0], x.shape[1] + 1 + x.shape[2], x.shape[2]))


@op("semi.svdvals", meaning=lambda term, x: _row(singular_values.svd(x), x.shape[1]))
def svdvals(x: TensorType) -> TensorType:
    """The singular values (b, n) of matrices `x` (b, m, n), m not below n; the same as `svd` gives, in less time."""
    tall(x)
    return tensor(x.dtype, (x.shape[0], x.shape[2]))


def _row(found: Any, row: int) -> Any:
    return found[:, row].copy()
