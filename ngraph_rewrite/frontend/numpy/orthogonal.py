# SPDX-License-Identifier: Apache-2.0
"""Orthogonal and triangular factors of matrices of any shape."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul, matrix_transpose
from ngraph_rewrite.frontend.numpy.many_matrices import each_matrix, floats
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


class QRResult(NamedTuple):
    """What `qr` gives: orthogonal columns, and upper triangles."""

    Q: Op
    R: Op


def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    """Orthogonal columns Q (..., m, k) and upper triangles R (..., k, n) with ``Q @ R`` equal to `x`; k is the lesser.

    By reflections, with the signs that LAPACK gives. The derivative (Walter and Lehmann 2012) is that of the first k
    columns being independent; it is not finite where they are not.

    Args:
        mode: ``"reduced"``; or ``"complete"``, which is the same unless there are more rows than columns.

    Raises:
        AxesError: for fewer than two axes, or lengths of matrices that are not known.
        DTypeError: for what is not a float.
        AttributeValueError: for another `mode`, or ``"complete"`` where it would be something else.

    >>> import ngraph_rewrite as ng
    >>> q, r = ng.numpy.linalg.qr(ng.placeholder((7, 5, 3)))
    >>> q.type, r.type
    (float32[7, 5, 3], float32[7, 3, 3])
    """
    term = floats("qr", x)
    m, n = _lengths(term, mode)
    if m < n:
        q, left = qr(_part(term, slice(None), slice(None, m)))
        more = matmul(matrix_transpose(q), _part(term, slice(None), slice(m, None)))
        return QRResult(q, concat([left, more], axis=-1))
    found = each_matrix("semi.qr", term)
    return QRResult(_part(found, slice(None, m), slice(None)), _part(found, slice(m, None), slice(None)))


def _lengths(term: Op, mode: str) -> tuple[int, int]:
    """Of the rows and columns of matrices that are taken apart in a mode."""
    if term.rank < 2:
        raise AxesError(f"qr: expected matrices, got {term.type!r}", where=user_line())
    m, n = [checked("qr", known_length, length, "the matrices") for length in term.shape[-2:]]
    if mode not in ("reduced", "complete") or (mode == "complete" and m > n):
        what = f"qr: the mode {mode!r} of {term.type!r} is not here"
        raise AttributeValueError(what, where=user_line(), do="use 'reduced'")
    return m, n


def _part(term: Op, rows: slice, columns: slice) -> Op:
    return apply("tensor_slice", term, items=(*[slice(None)] * (term.rank - 2), rows, columns))
