# SPDX-License-Identifier: Apache-2.0
"""Determinants, whose slopes are cofactors: those of small matrices by products of elements, of others by inverses.

A singular matrix has cofactors too, but no inverse: they are products of its singular values but one.
"""

from __future__ import annotations

from typing import cast

from ngraph_rewrite.frontend.looping import cond
from ngraph_rewrite.frontend.numpy.creation import eye, ones_like
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import equal, exp, multiply, negative, subtract, where
from ngraph_rewrite.frontend.numpy.equations import inv, slogdet
from ngraph_rewrite.frontend.numpy.joining import stack
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul, matrix_transpose
from ngraph_rewrite.frontend.numpy.many_matrices import square
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.frontend.numpy.spectra import svd
from ngraph_rewrite.frontend.numpy.statistical import any, prod
from ngraph_rewrite.frontend.schema import with_deriv
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import wide


def det(x: Array, /) -> Op:
    """The determinants of matrices, from what `slogdet` gives. Slopes of singular matrices are right, too.

    The second slopes of a singular matrix of more than three rows may not be. Where the number of rows is not known,
    slopes of singular matrices are NaN.

    Raises:
        AxesError: for what are no square matrices.
        DTypeError: for what is not a float.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((2, 2))
    >>> y = ng.numpy.linalg.det(x)
    >>> with ng.make_transformer("cpu") as transformer:
    ...     found, slope = transformer.computation([y, ng.deriv(y, x)], x)([[1, 2], [2, 4]])
    >>> slope
    array([[ 4., -2.],
           [-2.,  1.]], dtype=float32)
    """
    term = square("det", x)
    wider = astype(term, wide(term.dtype))
    found = _by_factors(wider)
    if isinstance(term.shape[-1], int):
        found = with_deriv(found, lambda d, x: multiply(apply("expand_dims", d, axis=(-2, -1)), _cofactors(x)), wider)
    return astype(found, term.dtype)


def _by_factors(x: Op) -> Op:
    sign, logarithm = slogdet(x)
    return multiply(sign, exp(logarithm))


def _cofactors(x: Op) -> Op:
    count = cast(int, x.shape[-1])
    if count < 2:
        return ones_like(x)
    if count == 2:
        (a, b), (c, d) = ([x[..., i, j] for j in (0, 1)] for i in (0, 1))
        return stack([stack([d, negative(c)], axis=-1), stack([negative(b), a], axis=-1)], axis=-2)
    if count == 3:
        return stack([stack([_minor(x, i, j) for j in range(3)], axis=-1) for i in range(3)], axis=-2)
    found = det(x)  # with its slopes, for slopes of these
    return cast(Op, cond(any(equal(found, 0)), _of_singular, _of_regular, x, found))


def _minor(x: Op, row: int, column: int) -> Op:
    """Of a matrix of three rows, with its sign: the rows after that one in a circle, and the columns."""
    i, k = (row + 1) % 3, (row + 2) % 3
    j, m = (column + 1) % 3, (column + 2) % 3
    return subtract(multiply(x[..., i, j], x[..., k, m]), multiply(x[..., i, m], x[..., k, j]))


def _of_regular(x: Op, found: Op) -> Op:
    return multiply(apply("expand_dims", found, axis=(-2, -1)), matrix_transpose(inv(x)))


def _of_singular(x: Op, found: Op) -> Op:
    """Those of matrices some of which are singular: these by what they are without one singular value each."""
    u, sizes, v = svd(x)
    count = x.shape[-1]
    others = where(eye(count, dtype="bool"), 1.0, apply("expand_dims", sizes, axis=-2))
    turns = multiply(_by_factors(u), _by_factors(v))
    share = multiply(prod(others, axis=-1), apply("expand_dims", turns, axis=-1))
    singular = apply("expand_dims", equal(found, 0), axis=(-2, -1))
    left = matmul(multiply(u, apply("expand_dims", share, axis=-2)), v)
    regular = where(singular, eye(count, dtype=x.dtype), x)
    return where(singular, left, _of_regular(regular, found))
