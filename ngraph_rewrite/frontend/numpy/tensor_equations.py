# SPDX-License-Identifier: Apache-2.0
"""Equations in which a matrix has several axes for its rows, and several for its columns."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.equations import inv, solve
from ngraph_rewrite.frontend.numpy.manipulation import permute_dims, ravel, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, as_term, each
from ngraph_rewrite.ops.checks import as_index, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, product


def tensorsolve(a: Array, b: Array, axes: Axis = None) -> Op:
    """The `x` with ``tensordot(a, x, x.ndim) == b``: the first axes of `a` are those of `b`, the others those of `x`.

    Args:
        axes: Axes of `a` that are moved behind the others first.

    Raises:
        AxesError: if the axes of `a` are not as many rows as columns.
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for one named twice.

    >>> import ngraph_rewrite as ng
    >>> a, b = ng.placeholder((2, 3, 6), name="a"), ng.placeholder((2, 3), name="b")
    >>> ng.numpy.linalg.tensorsolve(a, b).type
    float32[6]
    """
    matrix, right = as_term(a), as_term(b)
    if axes is not None:
        matrix = permute_dims(matrix, _moved(matrix.rank, axes))
    shape = _square("tensorsolve", matrix, right.rank)
    return reshape(solve(_as_matrix(matrix, right.rank), ravel(right)), shape)


def tensorinv(a: Array, /, ind: int = 2) -> Op:
    """The inverse for ``tensordot(x, b, ind)``: its first axes are the last ones of `a`.

    Args:
        ind: How many of the axes are rows, at least 1.

    Raises:
        AttributeValueError: for another `ind`.
        AxesError: if the axes of `a` are not as many rows as columns.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linalg.tensorinv(ng.placeholder((4, 6, 8, 3))).type
    float32[8, 3, 4, 6]
    """
    matrix, count = as_term(a), checked("tensorinv", as_index, ind, "ind")
    if count < 1:
        raise AttributeValueError(f"tensorinv: ind is {count}", where=user_line(), do="give at least 1")
    shape = _square("tensorinv", matrix, count)
    return reshape(inv(_as_matrix(matrix, count)), (*shape, *matrix.shape[:count]))


def _moved(rank: int, axes: Any) -> tuple[int, ...]:
    """All axes, some of them last, in the order in which they are given."""
    last = tuple(checked("tensorsolve", position, k, rank) for k in each(axes))
    if len(set(last)) < len(last):
        raise AttributeValueError(f"tensorsolve: axes {last} name one twice", where=user_line())
    return (*(k for k in range(rank) if k not in last), *last)


def _square(call: str, a: Op, count: int) -> tuple[Extent, ...]:
    """The lengths of the columns, of which there have to be as many as rows."""
    rows, columns = a.shape[:count], a.shape[count:]
    if product(rows) != product(columns):
        what = f"{call}: {a.type!r} has {product(rows)!r} rows {rows} and {product(columns)!r} columns {columns}"
        raise AxesError(what, where=user_line(), do="give as many of both")
    return columns


def _as_matrix(a: Op, count: int) -> Op:
    return reshape(a, (product(a.shape[:count]), product(a.shape[count:])))
