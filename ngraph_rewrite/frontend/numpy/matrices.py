# SPDX-License-Identifier: Apache-2.0
"""Matrices made of vectors, of other matrices or of nothing, and products that are no sums."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import eye, full, ones, tril
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_prod
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import multiply, subtract
from ngraph_rewrite.frontend.numpy.linear_algebra import diagonal, dot
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to, expand_dims, flip, ravel
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.ops.checks import as_int, flag, position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import INT64, promote
from ngraph_rewrite.types.lengths import Extent


def diag(x: Array, /, k: int = 0) -> Op:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal and zeros elsewhere.

    Args:
        k: How far above the main diagonal.

    Raises:
        AxesError: for what is neither.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.diag(ng.placeholder((3,)), 1).type, ng.numpy.diag(ng.placeholder((3, 4))).type
    (float32[4, 4], float32[3])
    """
    term, above = as_term(x), checked("diag", as_int, k, "k")
    if term.rank == 2:
        return diagonal(term, above)
    if term.rank != 1:
        what = f"diag: expected a vector or a matrix, got {term.type!r}"
        raise AxesError(what, where=user_line(), do="use diagonal, or diagflat")
    square = build_term("semi.on_diagonal", term, places=(0, 0))
    before, after = (0, abs(above)), (abs(above), 0)
    if above < 0:
        before, after = after, before
    return build_term("semi.pad", square, before=before, after=after, interior=(0, 0), value=0) if above else square


def diagflat(x: Array, /, k: int = 0) -> Op:
    """The matrix with all elements of `x`, in row-major order, on a diagonal.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.diagflat(ng.placeholder((2, 2))).type
    float32[4, 4]
    """
    return diag(ravel(x), k)


def tri(n: Extent, m: Extent | None = None, /, k: int = 0, dtype: Any = None) -> Op:
    """A matrix of ones up to the diagonal that lies `k` above the main one, and zeros above; float32 unless given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.tri(2, 3, dtype="int8").type
    int8[2, 3]
    """
    return tril(ones((n, n if m is None else m), dtype=dtype), k=k)


def identity(n: Extent, /, dtype: Any = None) -> Op:
    """The square matrix with ones on its diagonal; float32 unless given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.identity(3).type
    float32[3, 3]
    """
    return eye(n, dtype=dtype)


def vander(x: Array, /, n: int | None = None, increasing: bool = False) -> Op:
    """Powers of each element of a vector, from the highest to the 0th, or `increasing`, as the rows of a matrix.

    Args:
        n: How many; by default as many as elements.

    Raises:
        AxesError: for what is no vector.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.vander(ng.placeholder((3,)), 4).type
    float64[3, 4]
    """
    term = _vector("vander", x)
    wanted = checked("vander", known_length, term.shape[0], "the vector") if n is None else n
    count = checked("vander", as_int, wanted, "n")
    factors = astype(term, promote(term.dtype, INT64))
    if count < 1:
        return full((term.shape[0], 0), 0, dtype=factors.dtype)
    rows = broadcast_to(expand_dims(factors, axis=1), (term.shape[0], count - 1))
    powers = cumulative_prod(rows, axis=1, dtype=factors.dtype, include_initial=True)
    return powers if checked("vander", flag, increasing, "increasing") else flip(powers, axis=1)


# -- products ----------------------------------------------------------------------------------------


def kron(x1: Array, x2: Array, /) -> Op:
    """Every element of `x1` times all of `x2`, in its place: blocks of `x2`, as `x1` arranges them.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.kron(ng.placeholder((2, 3)), ng.placeholder((4, 5))).type
    float32[8, 15]
    """
    left, right = as_term(x1), as_term(x2)
    rank = max(left.rank, right.rank)
    shapes = [(1,) * (rank - t.rank) + tuple(t.shape) for t in (left, right)]
    outer = apply("reshape", left, shape=[n for length in shapes[0] for n in (length, 1)])
    inner = apply("reshape", right, shape=[n for length in shapes[1] for n in (1, length)])
    lengths = [n * m for n, m in zip(*shapes, strict=True)]
    return apply("reshape", multiply(outer, inner), shape=lengths)


def cross(x1: Array, x2: Array, /, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Op:
    """The vector product of the vectors of three elements in an axis of each; the other axes are broadcast.

    Args:
        axisa, axisb, axisc: Where the vectors stand in `x1`, `x2` and the result.
        axis: Where they stand in all of them.

    Raises:
        AxesError: for vectors of another length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.cross(ng.placeholder((7, 3)), ng.placeholder((3,))).type
    float32[7, 3]
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _components(x1, axisa), _components(x2, axisb)
    parts = [subtract(multiply(a[i - 2], b[i - 1]), multiply(a[i - 1], b[i - 2])) for i in range(3)]
    return apply("stack", *parts, axis=axisc)


def vdot(x1: Array, x2: Array, /) -> Op:
    """The sum of products of all elements in row-major order.

    Raises:
        AxesError: if there are not as many of both.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.vdot(ng.placeholder((2, 3)), ng.placeholder((2, 3))).type
    float32[]
    """
    return dot(ravel(x1), ravel(x2))


def _vector(call: str, x: Array) -> Op:
    term = as_term(x)
    if term.rank != 1:
        raise AxesError(f"{call}: expected a vector, got {term.type!r}", where=user_line(), do="ravel it")
    return term


def _components(x: Array, axis: int) -> list[Op]:
    term = as_term(x)
    place = checked("cross", position, axis, term.rank)
    if term.shape[place] != 3:
        what = f"cross: expected vectors of 3 elements, got {term.type!r} with them in axis {place}"
        raise AxesError(what, where=user_line(), do="give axisa= and axisb=, or put a zero at the end of shorter ones")
    whole: tuple[Any, ...] = (slice(None),) * place
    return [apply("tensor_slice", term, items=(*whole, k)) for k in range(3)]
