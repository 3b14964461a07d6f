# SPDX-License-Identifier: Apache-2.0
"""What singular values tell of matrices: pseudo-inverses, least squares, ranks and conditions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import tril
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import (
    add,
    divide,
    greater,
    isnan,
    logical_and,
    logical_not,
    multiply,
    not_equal,
    square,
    subtract,
    where,
)
from ngraph_rewrite.frontend.numpy.equations import inv
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul, matrix_transpose
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.many_matrices import flattened, floats
from ngraph_rewrite.frontend.numpy.many_matrices import square as square_matrices
from ngraph_rewrite.frontend.numpy.norms import Order, matrix_norm
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, as_terms
from ngraph_rewrite.frontend.numpy.orthogonal import lengths
from ngraph_rewrite.frontend.numpy.spectra import svd, svdvals
from ngraph_rewrite.frontend.numpy.statistical import any as any_of
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import promote, wide
from ngraph_rewrite.types.lengths import Extent


class LstsqResult(NamedTuple):
    """What `lstsq` gives: solutions, sums of squares of what they leave, the rank, and singular values."""

    x: Op
    residuals: Op
    rank: Op
    s: Op


def pinv(x: Array, /, rcond: Array | None = None, hermitian: bool = False, *, rtol: Array | None = None) -> Op:
    """The pseudo-inverses of matrices, by singular values: (..., n, m) for `x` (..., m, n).

    The derivative (Golub and Pereyra 1973) is that of matrices whose rank does not change.

    Args:
        rcond: Singular values count that are greater than this part (...) of the greatest one; by default the greater
            number of rows and columns times the rounding error of the dtype, in which it is computed. NumPy's own
            default is 1e-15 for every dtype.
        hermitian: Whether `x` is symmetric: only the lower triangles are read.
        rtol: The same as `rcond`.

    Raises:
        AxesError: for fewer than two axes, or two lengths of matrices that are not known.
        DTypeError: for what is not a float.
        ArgumentError: for both `rcond` and `rtol`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.pinv(ng.placeholder((7, 5, 3))).type
    float32[7, 3, 5]
    """
    term = _mirrored(square_matrices("pinv", x)) if checked("pinv", flag, hermitian, "hermitian") else floats("pinv", x)
    if rcond is not None and rtol is not None:
        raise ArgumentError("pinv: rcond and rtol are the same", where=user_line(), do="give one of them")
    m, n, is_wide = lengths("pinv", term)
    matrices, given = flattened(term, wide(term.dtype)), rtol if rcond is None else rcond
    if given is None:
        given = _rounding(n if is_wide else m, matrices)
    parts = checked("pinv", broadcast_to, astype(checked("pinv", as_term, given), matrices.dtype), term.shape[:-2])
    found = build_term("semi.pinv", matrices, apply("reshape", parts, shape=matrices.shape[:1]))
    return astype(apply("reshape", found, shape=(*term.shape[:-2], n, m)), term.dtype)


def matrix_rank(x: Array, /, tol: Array | None = None, hermitian: bool = False, *, rtol: Array | None = None) -> Op:
    """How many singular values of each matrix are greater than `tol`, as int64; of a vector, whether it is not zero.

    Args:
        tol: A number, or one for each matrix; by default `rtol` times the greatest singular value.
        hermitian: Whether `x` is symmetric: by eigenvalues, of lower triangles.
        rtol: A part; by default the greater number of rows and columns times the rounding error of the dtype.

    Raises:
        AxesError: for two lengths of matrices that are not known.
        DTypeError: for what is not a float.
        ArgumentError: for both `tol` and `rtol`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.matrix_rank(ng.placeholder((7, 5, 3))).type
    int64[7]
    """
    term = floats("matrix_rank", x)
    if tol is not None and rtol is not None:
        what = "matrix_rank: there is a tol, so rtol says nothing"
        raise ArgumentError(what, where=user_line(), do="give one of them")
    if term.rank < 2:
        return astype(any_of(not_equal(term, 0)), "int64")
    m, n, is_wide = lengths("matrix_rank", term)
    term = astype(term, wide(term.dtype))
    s = svd(term, compute_uv=False, hermitian=hermitian)
    assert isinstance(s, Op)
    if tol is None:
        part = _rounding(n if is_wide else m, term) if rtol is None else rtol
        first = apply("tensor_slice", s, items=(*[slice(None)] * (s.rank - 1), slice(0, 1)))
        least = multiply(first, _for_each(part))
    else:
        least = _for_each(tol)
    return total(astype(greater(s, least), "int64"), axis=-1)


def cond(x: Array, /, p: Order = None) -> Op:
    """The conditions of matrices: the greatest singular value over the least, or a norm times that of the inverse.

    Args:
        p: None or 2, or -2 for the least over the greatest; or another `ord` of `matrix_norm`, for square matrices.

    Raises:
        AxesError: for fewer than two axes, lengths that are not known, or another `p` of what is not square.
        DTypeError: for what is not a float.
        AttributeValueError: for another `p`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.cond(ng.placeholder((7, 5, 3))).type
    float32[7]
    """
    term = floats("cond", x)
    found = astype(term, wide(term.dtype))
    if p in (None, 2, -2):
        if 0 in lengths("cond", term)[:2]:
            raise AxesError(f"cond: {term.type!r} has no elements", where=user_line())
        s = svdvals(found)
        first, last = [apply("tensor_slice", s, items=(*[slice(None)] * (s.rank - 1), k)) for k in (0, -1)]
        result = divide(last, first) if p == -2 else divide(first, last)
    else:
        found = square_matrices("cond", found)
        result = multiply(matrix_norm(found, ord=p), matrix_norm(inv(found), ord=p))
    axes = (term.rank - 2, term.rank - 1)
    singular = logical_and(isnan(result), logical_not(any_of(isnan(found), axis=axes)))
    return astype(where(singular, float("inf"), result), term.dtype)


def lstsq(a: Array, b: Array, rcond: Array | None = None) -> LstsqResult:
    """The shortest of the x for which the sum of squares of ``a @ x - b`` is least, by `pinv`.

    Residuals are there whenever `a` has more rows than columns, or an unknown number of rows, also where its rank is
    less than that, for which NumPy gives none.

    Args:
        a: A matrix (m, n).
        b: A vector (m), or a matrix (m, k).
        rcond: As `pinv` has it.

    Raises:
        AxesError: for another number of axes, lengths that are not known, or right sides that do not fit.
        DTypeError: for what is not a float, or an `rcond` that is no number.

    >>> import ngraph_rewrite as ng
    >>> x, residuals, rank, s = ng.numpy.linalg.lstsq(ng.placeholder((5, 3)), ng.placeholder((5,)))
    >>> x.type, residuals.type, rank.type, s.type
    (float32[3], float32[1], int64[], float32[3])
    """
    left, right = as_terms("lstsq", a, b)
    left, right = floats("lstsq", left), floats("lstsq", right)
    if left.rank != 2 or right.rank not in (1, 2) or left.shape[0] != right.shape[0]:
        what = f"lstsq: expected shapes (m, n) and (m) or (m, k), got {left.type!r} and {right.type!r}"
        raise AxesError(what, where=user_line(), do="transpose one of them, or go through pinv")
    dtype = checked("lstsq", promote, left.dtype, right.dtype)
    left, right = astype(left, wide(dtype)), astype(right, wide(dtype))
    m, n, is_wide = lengths("lstsq", left)
    part = _rounding(n if is_wide else m, left) if rcond is None else checked("lstsq", as_term, rcond)
    columns = right if right.rank == 2 else apply("expand_dims", right, axis=(1,))
    x, s = matmul(pinv(left, part), columns), svdvals(left)
    residuals = total(square(subtract(columns, matmul(left, x))), axis=0)
    if is_wide or m == n:
        residuals = apply("tensor_slice", residuals, items=(slice(0, 0),))
    x = x if right.rank == 2 else apply("squeeze", x, axis=(1,))
    rank = matrix_rank(left, rtol=part)
    return LstsqResult(astype(x, dtype), astype(residuals, dtype), rank, astype(s, dtype))


# -- operands ----------------------------------------------------------------------------------------


def _mirrored(term: Op) -> Op:
    """Symmetric matrices, of their lower triangles."""
    return add(tril(term), matrix_transpose(tril(term, k=-1)))


def _rounding(most: Extent, term: Op) -> Op:
    """The rounding error of the dtype of matrices times the greater of their lengths."""
    return multiply(astype(as_term(most), term.dtype), float(np.finfo(term.dtype).eps))


def _for_each(numbers: Array) -> Op:
    """Numbers for matrices, for the singular values of each."""
    term = as_term(numbers)
    return apply("expand_dims", term, axis=(term.rank,))
