# SPDX-License-Identifier: Apache-2.0
"""The functions of the semi family that factor matrices, and solve equations by their factors.

All take many matrices (b, n, n) of float32 or float64, and raise `AxesError` or `DTypeError` for anything else. No
value is an error: what cannot be computed is NaN or infinite.
"""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand, apply
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op


def cholesky(x: Operand) -> Op:
    """The lower triangles L with L times its transpose equal to `x`, of which only the lower triangles are read.

    Where `x` is not positive definite columns from some place on are NaN.

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.cholesky(ng.constant([[[4.0, 0.0], [2.0, 5.0]]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(x)().tolist()
    [[[2.0, 0.0], [1.0, 2.0]]]
    """
    return apply("semi.cholesky", as_op(x))


def lu(x: Operand) -> Op:
    """The factors of `x` with exchanged rows, in one matrix, and in a row below which row each was: (b, n + 1, n).

    The pivot is the largest number of its column that is left, the first of several.

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.lu(ng.constant([[[1.0, 2.0], [4.0, 4.0]]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(x)().tolist()
    [[[4.0, 4.0], [0.25, 1.0], [1.0, 0.0]]]
    """
    return apply("semi.lu", as_op(x))


def qr(x: Operand) -> Op:
    """Orthogonal columns Q of `x` (b, m, n), m not below n, over upper triangles R: Q R is `x`. (b, m + n, n).

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.qr(ng.constant([[[3.0], [4.0]]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(x)().round(5).tolist()
    [[[-0.6000000238418579], [-0.800000011920929], [-5.0]]]
    """
    return apply("semi.qr", as_op(x))


def triangular_solve(a: Operand, b: Operand, lower: bool = True, unit: bool = False) -> Op:
    """The solutions (b, n, m) of `a` x = `b`, of the lower or upper triangles of `a`; `unit`: its diagonals are 1.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.triangular_solve(ng.placeholder((5, 3, 3)), ng.placeholder((5, 3, 2))).type
    float32[5, 3, 2]
    """
    return apply("semi.triangular_solve", as_op(a), as_op(b), lower=lower, unit=unit)


def solve(a: Operand, b: Operand, transposed: bool = False) -> Op:
    """The solutions (b, n, m) of `a` x = `b`, or of that with `a` transposed; not finite where `a` is singular.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.solve(ng.placeholder((5, 3, 3)), ng.placeholder((5, 3, 2))).type
    float32[5, 3, 2]
    """
    return apply("semi.solve", as_op(a), as_op(b), transposed=transposed)


def logdet(x: Operand) -> Op:
    """The logarithms (b) of the sizes of the determinants of `x`: -inf of a singular matrix.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.logdet(ng.placeholder((5, 3, 3))).type
    float32[5]
    """
    return apply("semi.logdet", as_op(x))


def det_sign(x: Operand) -> Op:
    """The signs (b) of the determinants of `x`: -1, 0 or 1.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.det_sign(ng.placeholder((5, 3, 3))).type
    float32[5]
    """
    return apply("semi.det_sign", as_op(x))
