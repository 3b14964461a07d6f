# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.linalg``: the array API standard's extension, and what else NumPy has of symmetric and of real matrices.

Matrices are in the last two axes, and each function takes as many as there are before them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.errors import ArgumentError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy import linear_algebra, matrices
from ngraph_rewrite.frontend.numpy.absent import refused
from ngraph_rewrite.frontend.numpy.determinants import det
from ngraph_rewrite.frontend.numpy.equations import (
    SlogdetResult,
    cholesky,
    inv,
    slogdet,
    solve,
    solve_triangular,
)
from ngraph_rewrite.frontend.numpy.least_squares import LstsqResult, cond, lstsq, matrix_rank, pinv
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul, matrix_transpose, tensordot, vecdot
from ngraph_rewrite.frontend.numpy.norms import matrix_norm, matrix_power, norm, vector_norm
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, as_terms
from ngraph_rewrite.frontend.numpy.orthogonal import QRResult, qr
from ngraph_rewrite.frontend.numpy.spectra import EighResult, SVDResult, eigh, eigvalsh, svd, svdvals
from ngraph_rewrite.frontend.numpy.tensor_equations import tensorinv, tensorsolve
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Op:
    """The vector product of the vectors of three elements in an axis; the other axes are broadcast.

    Raises:
        AxesError: for vectors of another length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.cross(ng.placeholder((7, 3)), ng.placeholder((3,))).type
    float32[7, 3]
    """
    return matrices.cross(x1, x2, axis=axis)


def outer(x1: Array, x2: Array, /) -> Op:
    """Every element of one vector times every element of another.

    Raises:
        AxesError: for what is no vector; ``ng.numpy.outer`` flattens it.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.outer(ng.placeholder((2,)), ng.placeholder((3,))).type
    float32[2, 3]
    """
    for term in (as_term(x1), as_term(x2)):
        if term.rank != 1:
            what = f"outer: expected a vector, got {term.type!r}"
            raise AxesError(what, where=user_line(), do="use ng.numpy.outer, which flattens")
    return linear_algebra.outer(x1, x2)


def diagonal(x: Array, /, *, offset: int = 0) -> Op:
    """The diagonals of the matrices in the last two axes, as the last axis of the result.

    Args:
        offset: How far above the main diagonal.

    Raises:
        OutOfRangeError: for fewer than two axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.diagonal(ng.placeholder((7, 3, 3))).type
    float32[7, 3]
    """
    checked("diagonal", position, -2, as_term(x).rank)
    return linear_algebra.diagonal(x, offset, -2, -1)


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Op:
    """The sums along `diagonal`, with its arguments and errors.

    Args:
        dtype: What to sum in; by default integers narrower than 64 bits, and bool, are widened.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.trace(ng.placeholder((7, 3, 3))).type
    float32[7]
    """
    checked("trace", position, -2, as_term(x).rank)
    return linear_algebra.trace(x, offset, -2, -1, dtype)


def multi_dot(arrays: Sequence[Array]) -> Op:
    """The product of several matrices, in the order that takes least; the first and the last may be vectors.

    Raises:
        ArgumentError: for fewer than two.
        AxesError: for what is no matrix, or lengths that do not fit.

    >>> import ngraph_rewrite as ng
    >>> a, b, c = (ng.placeholder(shape) for shape in ((2, 30), (30, 40), (40,)))
    >>> ng.numpy.linalg.multi_dot([a, b, c]).type
    float32[2]
    """
    terms = as_terms("multi_dot", *arrays)
    if len(terms) < 2:
        raise ArgumentError(f"multi_dot: expected several matrices, got {len(terms)}", where=user_line())
    for place, term in enumerate(terms):
        if term.rank != 2 and (term.rank != 1 or 0 < place < len(terms) - 1):
            what = f"multi_dot: expected matrices, and vectors at the ends, got {term.type!r}"
            raise AxesError(what, where=user_line(), do="use matmul for many matrices")
    ends = [[place, place + 1] for place in range(len(terms))]
    ends[0], ends[-1] = ends[0][2 - terms[0].rank :], ends[-1][: terms[-1].rank]
    kept = [place for place in (ends[0][0], ends[-1][-1]) if place in (0, len(terms))]
    return linear_algebra.einsum(*[one for pair in zip(terms, ends, strict=True) for one in pair], kept)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Nothing: what to write instead is said."""
        raise refused(sys.modules[__name__], name)

    def __dir__() -> list[str]:
        """What is public."""
        return sorted(__all__)


__all__ = [
    "EighResult",
    "LstsqResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
