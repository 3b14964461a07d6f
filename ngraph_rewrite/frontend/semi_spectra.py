# SPDX-License-Identifier: Apache-2.0
"""The functions of the semi family that find eigenvalues and singular values, with their vectors or without.

All take many matrices of float32 or float64, and raise `AxesError` or `DTypeError` for anything else. No value is an
error: of a matrix with a NaN or an infinity all results are NaN.
"""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand, apply
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import as_constant


def eigh(x: Operand) -> Op:
    """Orthogonal columns V of symmetric `x` (b, n, n), over their eigenvalues, which ascend: (b, n + 1, n).

    Only the lower triangles are read. The first element of a column that is larger than 5/8 of its largest one is
    positive.

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.eigh(ng.constant([[[2.0, 0.0], [1.0, 2.0]]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     print(transformer.computation(x)().round(3))
    [[[ 0.707  0.707]
      [-0.707  0.707]
      [ 1.     3.   ]]]
    """
    return apply("semi.eigh", as_op(x))


def eigvalsh(x: Operand) -> Op:
    """The eigenvalues (b, n) of symmetric `x` (b, n, n), which ascend: those of `eigh`, in a third of the time.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.eigvalsh(ng.placeholder((5, 3, 3))).type
    float32[5, 3]
    """
    return apply("semi.eigvalsh", as_op(x))


def pinv(x: Operand, rcond: Operand) -> Op:
    """The pseudo-inverses (b, n, m) of `x` (b, m, n), of singular values above `rcond` (b) times the greatest one.

    Args:
        rcond: A number for each matrix, or one for all.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.pinv(ng.placeholder((5, 3, 2)), 1e-6).type
    float32[5, 2, 3]
    """
    term = as_op(x)
    parts = as_op(rcond) if isinstance(rcond, Op) else as_constant(rcond, [term])
    if not parts.rank:
        parts = apply("semi.broadcast", parts, shape=term.shape[:1], dims=())
    return apply("semi.pinv", term, parts)


def svd(x: Operand) -> Op:
    """Orthogonal columns U of `x` (b, m, n), m not below n, over singular values, over V: (b, m + 1 + n, n).

    `x` is U times a diagonal matrix of the values, which descend, times V transposed. The first element of a column of
    U that is larger than 5/8 of its largest one is positive.

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.svd(ng.constant([[[0.0, 3.0], [-2.0, 0.0]]]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     print(transformer.computation(x)() + 0.0)
    [[[ 1.  0.]
      [ 0.  1.]
      [ 3.  2.]
      [ 0. -1.]
      [ 1.  0.]]]
    """
    return apply("semi.svd", as_op(x))


def svdvals(x: Operand) -> Op:
    """The singular values (b, n) of `x` (b, m, n), m not below n, which descend: those of `svd`, in less time.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.svdvals(ng.placeholder((5, 3, 2))).type
    float32[5, 2]
    """
    return apply("semi.svdvals", as_op(x))
