# SPDX-License-Identifier: Apache-2.0
"""Arrays put together along axes that a function's name says; those with fewer axes get more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import expand_dims, ravel, transpose
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, several
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def atleast_1d(*arrays: Array) -> Op | tuple[Op, ...]:
    """The arrays, a number as a vector; one alone, or a tuple.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.atleast_1d(ng.placeholder(())).type
    float32[1]
    """
    return _each(_vector, arrays)


def atleast_2d(*arrays: Array) -> Op | tuple[Op, ...]:
    """The arrays, a vector as a matrix of one row; one alone, or a tuple.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.atleast_2d(ng.placeholder((3,))).type
    float32[1, 3]
    """
    return _each(_matrix, arrays)


def atleast_3d(*arrays: Array) -> Op | tuple[Op, ...]:
    """The arrays with three axes at least: (n) becomes (1, n, 1), and (m, n) becomes (m, n, 1); one alone, or a tuple.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.atleast_3d(ng.placeholder((2, 3))).type
    float32[2, 3, 1]
    """
    return _each(_block_of_three, arrays)


def hstack(arrays: Iterable[Array], /, *, dtype: Any = None) -> Op:
    """The arrays one after the other along the second axis; vectors and numbers along their only one.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their other lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.hstack([ng.placeholder((2, 3)), ng.placeholder((2, 1))]).type
    float32[2, 4]
    """
    terms = [_vector(x) for x in several("hstack", arrays)]
    return _joined(terms, 0 if terms[0].rank == 1 else 1, dtype)


def vstack(arrays: Iterable[Array], /, *, dtype: Any = None) -> Op:
    """The arrays one below the other along the first axis; vectors are rows.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their other lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.vstack([ng.placeholder((3,)), ng.placeholder((2, 3))]).type
    float32[3, 3]
    """
    return _joined([_matrix(x) for x in several("vstack", arrays)], 0, dtype)


def dstack(arrays: Iterable[Array], /) -> Op:
    """The arrays one behind the other along a third axis.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their other lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.dstack([ng.placeholder((2, 3)), ng.placeholder((2, 3))]).type
    float32[2, 3, 2]
    """
    return _joined([_block_of_three(x) for x in several("dstack", arrays)], 2, None)


def column_stack(arrays: Iterable[Array], /) -> Op:
    """Vectors, and the columns of matrices, side by side as the columns of a matrix.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their other lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.column_stack([ng.placeholder((2,)), ng.placeholder((2, 3))]).type
    float32[2, 4]
    """
    columns = [x if x.rank > 1 else transpose(_matrix(x)) for x in several("column_stack", arrays)]
    return _joined(columns, 1, None)


def block(arrays: Any, /) -> Op:
    """A matrix of blocks from nested lists: the innermost are joined along the last axis, those around them before it.

    Raises:
        ArgumentError: for an empty list, or lists of different depths.
        AxesError: if lengths differ.

    >>> import ngraph_rewrite as ng
    >>> a, b = ng.placeholder((2, 2)), ng.placeholder((2, 1))
    >>> ng.numpy.block([[a, b], [ng.numpy.ones((1, 3))]]).type
    float32[3, 3]
    """
    depth, leaves = _depth(arrays), _leaves(arrays)
    rank = max([depth, *(x.rank for x in leaves)])
    return _blocks(arrays, depth, rank)


def append(x: Array, /, values: Array, axis: int | None = None) -> Op:
    """`x` and then the values along an axis; without one, all elements of both in row-major order.

    Raises:
        AxesError: if their other lengths differ.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.append(ng.placeholder((2, 3)), [[1, 2, 3]], axis=0).type
    float64[3, 3]
    """
    return concat([x, values], axis=axis)


# -- more axes ---------------------------------------------------------------------------------------


def _each(wider: Any, arrays: tuple[Array, ...]) -> Op | tuple[Op, ...]:
    found: list[Op] = [wider(as_term(x)) for x in arrays]
    return found[0] if len(found) == 1 else tuple(found)


def _vector(x: Op) -> Op:
    return x if x.rank else ravel(x)


def _matrix(x: Op) -> Op:
    return x if x.rank > 1 else expand_dims(_vector(x), axis=0)


def _block_of_three(x: Op) -> Op:
    return x if x.rank > 2 else expand_dims(_matrix(x), axis=2)


def _joined(terms: list[Op], axis: int, dtype: Any) -> Op:
    return concat(terms, axis=axis, dtype=dtype)


# -- blocks ------------------------------------------------------------------------------------------


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        what = "block: an empty list" if not depths else "block: lists and arrays side by side"
        raise ArgumentError(what, where=user_line(), do="nest all arrays in as many lists")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Op]:
    return [leaf for x in arrays for leaf in _leaves(x)] if isinstance(arrays, list) else [as_term(arrays)]


def _blocks(arrays: Any, depth: int, rank: int) -> Op:
    """The blocks joined; `depth` lists are around the arrays."""
    if not depth:
        term = as_term(arrays)
        return expand_dims(term, axis=tuple(range(rank - term.rank))) if term.rank < rank else term
    parts = [_blocks(x, depth - 1, rank) for x in arrays]
    return concat(parts, axis=-depth)
