# SPDX-License-Identifier: Apache-2.0
"""Orthogonal and triangular factors of matrices of any shape."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul, matrix_transpose
from ngraph_rewrite.frontend.numpy.many_matrices import each_matrix, floats
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.ops.indexing import Triple
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent


class QRResult(NamedTuple):
    """What `qr` gives: orthogonal columns, and upper triangles."""

    Q: Op
    R: Op


def qr(x: Array, /, mode: str = "reduced") -> QRResult | Op:
    """Orthogonal columns Q (..., m, k) and upper triangles R (..., k, n) with ``Q @ R`` equal to `x`; k is the lesser.

    By reflections, with the signs that LAPACK gives. The derivative (Walter and Lehmann 2012) is that of the first k
    columns being independent; it is not finite where they are not. If one of m and n is not known, it is the greater:
    a call with less is refused.

    Args:
        mode: ``"reduced"``; ``"complete"`` for m columns of Q and rows of R, of which those that this adds have no
            derivative; or ``"r"`` for R alone.

    Raises:
        AxesError: for fewer than two axes, or two lengths of matrices that are not known.
        DTypeError: for what is not a float.
        AttributeValueError: for another `mode`.

    >>> import ngraph_rewrite as ng
    >>> q, r = ng.numpy.linalg.qr(ng.placeholder((7, 5, 3)))
    >>> q.type, r.type
    (float32[7, 5, 3], float32[7, 3, 3])
    """
    term = floats("qr", x)
    if mode not in ("reduced", "complete", "r"):
        what = f"qr: the mode {mode!r} of {term.type!r} is not here"
        raise AttributeValueError(what, where=user_line(), do="use 'reduced', 'complete' or 'r'")
    m, n, is_wide = lengths("qr", term)
    q, r = _few_rows(term, m) if is_wide else _tall(term, m)
    if mode == "complete" and not is_wide and m != n:
        below = zeros((*r.shape[:-2], m - n, n), dtype=r.dtype)
        q, r = completed(q, m), concat([r, below], axis=-2)
    return r if mode == "r" else QRResult(q, r)


def _tall(term: Op, m: Extent) -> tuple[Op, Op]:
    """The factors of matrices with as many rows as columns or more."""
    found = each_matrix("semi.qr", term)
    return part(found, slice(None, m), slice(None)), part(found, slice(m, None), slice(None))


def _few_rows(term: Op, m: Extent) -> tuple[Op, Op]:
    """The factors of matrices with more columns than rows."""
    q, left = _tall(part(term, slice(None), (0, m, 1)), m)
    more = matmul(matrix_transpose(q), part(term, slice(None), slice(m, None)))
    return q, concat([left, more], axis=-1)


def completed(columns: Op, m: Extent) -> Op:
    """Orthogonal columns of length m, and others, which have no derivative, until there are m of them."""
    k = columns.shape[-1]
    if k == m:
        return columns
    given = build_term("core.stop_gradient", columns)
    more = zeros((*columns.shape[:-1], m - k), dtype=columns.dtype)
    found = part(each_matrix("semi.qr", concat([given, more], axis=-1)), slice(None, m), slice(k, None))
    return concat([columns, found], axis=-1)


def lengths(call: str, term: Op) -> tuple[Extent, Extent, bool]:
    """The numbers of rows and columns of matrices, and whether columns are more; one that is not known is the greater.

    Raises:
        AxesError: for fewer than two axes, or two different numbers that are not known.
    """
    if term.rank < 2:
        raise AxesError(f"{call}: expected matrices, got {term.type!r}", where=user_line())
    m, n = term.shape[-2:]
    if isinstance(m, int):
        return m, n, not isinstance(n, int) or m < n
    if m != n and not isinstance(n, int):
        what = f"{call}: whether {term.type!r} are matrices with more rows or more columns is not known"
        raise AxesError(what, where=user_line(), do="give one of the axes a length")
    return m, n, False


def part(term: Op, rows: slice | Triple, columns: slice | Triple) -> Op:
    """Some rows and columns of matrices."""
    return apply("tensor_slice", term, items=(*[slice(None)] * (term.rank - 2), rows, columns))
