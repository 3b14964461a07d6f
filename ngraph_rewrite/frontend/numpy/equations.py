# SPDX-License-Identifier: Apache-2.0
"""Equations of matrices, their factors and determinants: of the last two axes, for all that is before them.

Floats of 16 bits are computed in float32. Nothing is raised for values, which are not known before a computation runs:
what NumPy refuses (a singular matrix, one that is not positive definite) gives NaN or infinities.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import eye
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.linear_algebra import matrix_transpose
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.many_matrices import each_matrix, flattened, floats, square
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, as_terms
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import promote, wide

_TRANSPOSED = {0: False, 1: True, 2: True, "N": False, "T": True, "C": True}


def cholesky(x: Array, /, *, upper: bool = False) -> Op:
    """The triangles L with positive diagonals and ``L @ L.T`` equal to `x`; or `upper` ones U, with ``U.T @ U``.

    Of each symmetric matrix only the lower triangle is read, or the upper one, and only that has a derivative (Murray,
    *Differentiation of the Cholesky decomposition*, 2016). Where it is not positive definite, the columns of L are NaN
    from some place on, as are the rows of U; NumPy raises an error.

    Raises:
        AxesError: for what are no square matrices.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> x = ng.numpy.linalg.cholesky(ng.numpy.asarray([[4.0, 2.0], [2.0, 5.0]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(x)().tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    term = square("cholesky", x)
    turned = checked("cholesky", flag, upper, "upper")
    found = each_matrix("semi.cholesky", matrix_transpose(term) if turned else term)
    return matrix_transpose(found) if turned else found


def solve(x1: Array, x2: Array, /) -> Op:
    """The solutions x of ``x1 @ x = x2``, by factors with exchanged rows; leading axes are broadcast.

    Where a matrix is singular they are not finite; NumPy raises an error.

    Args:
        x2: A vector (n), or matrices (..., n, m).

    Raises:
        AxesError: for what are no square matrices, or a right side that does not fit them.
        IncompatibleAxesError: for leading axes that do not broadcast.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> x = ng.numpy.linalg.solve(ng.numpy.asarray([[0.0, 2.0], [1.0, 0.0]]), ng.numpy.asarray([6.0, 5.0]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(x)().tolist()
    [5.0, 3.0]
    """
    return _solved("solve", x1, x2, "semi.solve", transposed=False)


def solve_triangular(a: Array, b: Array, /, *, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False) -> Op:
    """The solutions x of ``a @ x = b`` of triangles, as SciPy has it; leading axes are broadcast.

    Nothing but the triangle is read. Where a diagonal has a zero they are not finite.

    Args:
        b: A vector (n), or matrices (..., n, m).
        trans: 0 or "N"; 1 or "T" (also 2 or "C") for ``a.T @ x = b``.
        lower: Whether they are lower triangles, before they are transposed.
        unit_diagonal: Whether their diagonals are taken for ones.

    Raises:
        AxesError: for what are no square matrices, or a right side that does not fit them.
        IncompatibleAxesError: for leading axes that do not broadcast.
        DTypeError: for what is not a float.
        AttributeValueError: for another `trans`.

    >>> import ngraph_rewrite as ng
    >>> a, b = ng.numpy.asarray([[2.0, 7.0], [1.0, 4.0]]), ng.numpy.asarray([2.0, 9.0])
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.linalg.solve_triangular(a, b, lower=True))().tolist()
    [1.0, 2.0]
    """
    if not isinstance(trans, int | str) or trans not in _TRANSPOSED:
        what = f"solve_triangular: trans is {trans!r}"
        raise AttributeValueError(what, where=user_line(), do='give 0, 1 or 2, or "N", "T" or "C"')
    below = checked("solve_triangular", flag, lower, "lower")
    term = as_term(a)
    if _TRANSPOSED[trans]:
        term, below = matrix_transpose(square("solve_triangular", term)), not below
    return _solved("solve_triangular", term, b, "semi.triangular_solve", lower=below, unit=unit_diagonal)


def inv(x: Array, /) -> Op:
    """The inverses of matrices; `solve`, where that will do, takes less and is more accurate.

    Raises:
        AxesError: for what are no square matrices.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.inv(ng.placeholder((7, 3, 3))).type
    float32[7, 3, 3]
    """
    term = square("inv", x)
    return _solved("inv", term, eye(term.shape[-1], dtype=term.dtype), "semi.solve", transposed=False)


class SlogdetResult(NamedTuple):
    """What `slogdet` gives: the signs of determinants, and the logarithms of their sizes."""

    sign: Op
    logabsdet: Op


def slogdet(x: Array, /) -> SlogdetResult:
    """The signs of the determinants of matrices, and the logarithms of their sizes: 0 and -inf of a singular one.

    The derivative of the logarithm is the inverse, transposed (Giles 2008); the sign has none.

    Raises:
        AxesError: for what are no square matrices.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> sign, logarithm = ng.numpy.linalg.slogdet(ng.placeholder((7, 3, 3)))
    >>> sign.type, logarithm.type
    (float32[7], float32[7])
    """
    term = square("slogdet", x)
    return SlogdetResult(*[each_matrix(f"semi.{short}", term) for short in ("det_sign", "logdet")])


def _solved(call: str, x1: Array, x2: Array, op: str, **attributes: Any) -> Op:
    """Solutions by an op of many matrices and right sides."""
    left, right = as_terms(call, x1, x2)
    left, right = square(call, left), floats(call, right)
    dtype = checked(call, promote, left.dtype, right.dtype)
    is_vector, n = right.rank == 1, left.shape[-1]
    columns = apply("expand_dims", right, axis=(1,)) if is_vector else right
    if columns.rank < 2 or columns.shape[-2] != n:
        what = f"{call}: the right side {right.type!r} does not fit {left.type!r}"
        raise AxesError(what, where=user_line(), do="give a vector (n), or matrices (..., n, m)")
    batch = checked(call, stretched, left.shape[:-2], columns.shape[:-2])
    a, b = (flattened(broadcast_to(t, (*batch, *t.shape[-2:])), wide(dtype)) for t in (left, columns))
    found = apply("reshape", build_term(op, a, b, **attributes), shape=(*batch, n, columns.shape[-1]))
    return astype(apply("squeeze", found, axis=(found.rank - 1,)) if is_vector else found, dtype)
