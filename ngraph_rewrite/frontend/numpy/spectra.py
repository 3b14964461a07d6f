# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues of symmetric matrices and singular values of any, with their vectors or without."""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.elementwise import abs as size_of
from ngraph_rewrite.frontend.numpy.elementwise import less, multiply, where
from ngraph_rewrite.frontend.numpy.linear_algebra import matrix_transpose
from ngraph_rewrite.frontend.numpy.many_matrices import each_matrix, floats, square
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.frontend.numpy.orthogonal import completed, lengths, part
from ngraph_rewrite.frontend.numpy.searching import take_along_axis
from ngraph_rewrite.frontend.numpy.sorting import argsort, sort
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent


class EighResult(NamedTuple):
    """What `eigh` gives: eigenvalues, and eigenvectors as columns."""

    eigenvalues: Op
    eigenvectors: Op


class SVDResult(NamedTuple):
    """What `svd` gives: left singular vectors as columns, singular values, right singular vectors as rows."""

    U: Op
    S: Op
    Vh: Op


def eigh(x: Array, /, UPLO: str = "L") -> EighResult:
    """The eigenvalues of symmetric matrices, which ascend, and orthogonal columns that are their eigenvectors.

    Only one triangle is read, and has a derivative. The first element of an eigenvector that is larger than 5/8 of its
    largest one is positive. Vectors whose eigenvalues coincide have no derivative between each other: what it would be
    is left out, so that functions that do not depend on the choice of the vectors have theirs. Of a matrix with a NaN
    or an infinity everything is NaN.

    Args:
        UPLO: ``"L"`` for the lower triangle, ``"U"`` for the upper one.

    Raises:
        AxesError: for what are no square matrices.
        DTypeError: for what is not a float.
        AttributeValueError: for another `UPLO`.

    >>> import ngraph_rewrite as ng
    >>> values, vectors = ng.numpy.linalg.eigh(ng.numpy.asarray([[2.0, 0.0], [1.0, 2.0]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(values)().round(3).tolist()
    [1.0, 3.0]
    """
    term = _lower("eigh", x, UPLO)
    found = each_matrix("semi.eigh", term)
    return EighResult(_row(found, -1), part(found, slice(None, -1), slice(None)))


def eigvalsh(x: Array, /, UPLO: str = "L") -> Op:
    """The eigenvalues of symmetric matrices, which ascend: `eigh` without vectors, in less time, and with its errors.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.eigvalsh(ng.placeholder((7, 3, 3))).type
    float32[7, 3]
    """
    return each_matrix("semi.eigvalsh", _lower("eigvalsh", x, UPLO))


def svd(x: Array, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> SVDResult | Op:
    """Singular values, which descend, and their vectors: ``(U * S[..., None, :]) @ Vh`` is `x` (..., m, n).

    The first element of a column of U (of a row of Vh, where m is less than n) that is larger than 5/8 of its largest
    one is positive. Vectors whose singular values coincide have no derivative between each other, as with `eigh`, and a
    value that is 0 has a derivative of 0. Of a matrix with a NaN or an infinity everything is NaN.

    If one of m and n is not known, it is the greater: a call with less is refused.

    Args:
        full_matrices: Whether U has m columns and Vh n rows, rather than the lesser number; those that this adds have
            no derivative.
        compute_uv: Whether vectors are wanted; else the result is S alone.
        hermitian: Whether `x` is symmetric: it is taken apart by `eigh`, which reads the lower triangle.

    Raises:
        AxesError: for fewer than two axes, or two lengths of matrices that are not known.
        DTypeError: for what is not a float.
        AttributeValueError: for flags that are no bool.

    >>> import ngraph_rewrite as ng
    >>> u, s, vh = ng.numpy.linalg.svd(ng.placeholder((7, 5, 3)), full_matrices=False)
    >>> u.type, s.type, vh.type
    (float32[7, 5, 3], float32[7, 3], float32[7, 3, 3])
    """
    for given, name in ((full_matrices, "full_matrices"), (compute_uv, "compute_uv"), (hermitian, "hermitian")):
        checked("svd", flag, given, name)
    if hermitian:
        return _of_symmetric(x) if compute_uv else _sizes(eigvalsh(square("svd", x)))
    if not compute_uv:
        return svdvals(x)
    term = floats("svd", x)
    m, n, is_wide = lengths("svd", term)
    if is_wide:
        u, s, vh = _tall(matrix_transpose(term), n, m)
        found = SVDResult(matrix_transpose(vh), s, matrix_transpose(u))
    else:
        found = SVDResult(*_tall(term, m, n))
    if not full_matrices:
        return found
    rows = matrix_transpose(completed(matrix_transpose(found.Vh), n))
    return SVDResult(completed(found.U, m), found.S, rows)


def svdvals(x: Array, /) -> Op:
    """The singular values of matrices, which descend: those of `svd`, in less time.

    Raises:
        AxesError: for fewer than two axes, or two lengths of matrices that are not known.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.svdvals(ng.placeholder((7, 3, 5))).type
    float32[7, 3]
    """
    term = floats("svdvals", x)
    is_wide = lengths("svdvals", term)[2]
    return each_matrix("semi.svdvals", matrix_transpose(term) if is_wide else term)


def _tall(term: Op, m: Extent, n: Extent) -> tuple[Op, Op, Op]:
    """Of matrices with as many rows as columns or more."""
    found = each_matrix("semi.svd", term)
    u, v = part(found, slice(None, m), slice(None)), part(found, slice(m + 1, None), slice(None))
    return u, _row(found, m), matrix_transpose(v)


def _of_symmetric(x: Array) -> SVDResult:
    """By eigenvalues, of which the sizes are put in order."""
    values, vectors = eigh(square("svd", x))
    order = argsort(size_of(values), descending=True)
    values = take_along_axis(values, order)
    u = take_along_axis(vectors, apply("expand_dims", order, axis=(order.rank - 1,)), axis=-1)
    signed = multiply(u, apply("expand_dims", where(less(values, 0), -1.0, 1.0), axis=(order.rank - 1,)))
    return SVDResult(u, size_of(values), matrix_transpose(signed))


def _sizes(values: Op) -> Op:
    return sort(size_of(values), descending=True)


def _lower(call: str, x: Array, triangle: Any) -> Op:
    """Square matrices whose lower triangle is to be read."""
    term = square(call, x)
    if not isinstance(triangle, str) or triangle.upper() not in ("L", "U"):
        raise AttributeValueError(f"{call}: UPLO is {triangle!r}", where=user_line(), do='give "L" or "U"')
    return matrix_transpose(term) if triangle.upper() == "U" else term


def _row(term: Op, row: Extent) -> Op:
    return apply("tensor_slice", term, items=(*[slice(None)] * (term.rank - 2), row, slice(None)))
