# SPDX-License-Identifier: Apache-2.0
"""Indices of parts of a grid, as terms: some rows and columns, its diagonal, and its triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.numpy import creation
from ngraph_rewrite.frontend.numpy.manipulation import reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import as_index, as_int, extent
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL
from ngraph_rewrite.types.lengths import Extent


def ix_(*args: Array) -> tuple[Op, ...]:
    """An index of some rows, some columns, and so on: each vector of places along an axis of its own.

    A bool vector that is known stands for the places where it is true.

    Raises:
        AxesError: for what is no vector.
        DTypeError: for a bool term: how many places it has is not known.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((4, 5))
    >>> x[ng.numpy.ix_([0, 3], [True, False, True, True, False])].type
    float32[2, 3]
    """
    found = []
    for axis, given in enumerate(args):
        places = as_term(given)
        if places.rank != 1:
            raise AxesError(f"ix_: expected vectors, got {places.type!r}", where=user_line(), do="give one for an axis")
        if places.dtype == BOOL and isinstance(given, Op):
            what = "ix_: how many elements of a bool term are true is not known"
            raise DTypeError(what, where=user_line(), do="say how many: ng.numpy.flatnonzero(x, size=...)")
        if not isinstance(given, Op):
            places = constant(_places(np.asarray(given)))
        found.append(reshape(places, (*(1,) * axis, places.shape[0], *(1,) * (len(args) - axis - 1))))
    return tuple(found)


def _places(array: Any) -> Any:
    if array.dtype.kind == "b":
        return np.flatnonzero(array)
    return array if array.size else array.astype(np.int64)


def diag_indices(n: Extent, ndim: int = 2) -> tuple[Op, ...]:
    """The index of the main diagonal of an array with `ndim` axes of this length: for each of them the same vector.

    Raises:
        LengthError: for a negative length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.at(ng.placeholder((3, 3)))[ng.numpy.diag_indices(3)].set(0).type
    float32[3, 3]
    """
    along = arange(checked("diag_indices", extent, n, "n"), dtype="int64")
    return (along,) * checked("diag_indices", as_index, ndim, "ndim")


def diag_indices_from(x: Array, /) -> tuple[Op, ...]:
    """`diag_indices` of an array all of whose axes have one length.

    Raises:
        AxesError: for fewer than two axes, or lengths that differ.

    >>> import ngraph_rewrite as ng
    >>> [index.type for index in ng.numpy.diag_indices_from(ng.placeholder((3, 3)))]
    [int64[3], int64[3]]
    """
    term = as_term(x)
    if term.rank < 2 or any(n != term.shape[0] for n in term.shape):
        what = f"diag_indices_from: expected two axes or more of one length, got {term.type!r}"
        raise AxesError(what, where=user_line(), do="give diag_indices the length of the diagonal")
    return diag_indices(term.shape[0], term.rank)


def tril_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Op, Op]:
    """The index of what `tril` keeps of an n times m matrix, in row-major order: of rows, and of columns.

    Args:
        k: How far above the main diagonal the triangle goes.
        m: The number of columns; `n` unless given.

    Raises:
        LengthError: for a negative length, or one that is not known yet.
        AttributeValueError: for what are no integers.

    >>> import ngraph_rewrite as ng
    >>> [index.type for index in ng.numpy.tril_indices(3, -1)]
    [int64[3], int64[3]]
    """
    return _triangle("tril_indices", np.tril_indices, n, k, m)


def triu_indices(n: int, /, k: int = 0, m: int | None = None) -> tuple[Op, Op]:
    """The index of what `triu` keeps of an n times m matrix. The arguments and errors are those of `tril_indices`.

    >>> import ngraph_rewrite as ng
    >>> ng.placeholder((3, 3))[ng.numpy.triu_indices(3)].type
    float32[6]
    """
    return _triangle("triu_indices", np.triu_indices, n, k, m)


def tril_indices_from(x: Array, /, k: int = 0) -> tuple[Op, Op]:
    """`tril_indices` of a matrix.

    Raises:
        AxesError: for what is no matrix.

    >>> import ngraph_rewrite as ng
    >>> [index.type for index in ng.numpy.tril_indices_from(ng.placeholder((3, 2)))]
    [int64[5], int64[5]]
    """
    rows, columns = _matrix("tril_indices_from", x)
    return _triangle("tril_indices_from", np.tril_indices, rows, k, columns)


def triu_indices_from(x: Array, /, k: int = 0) -> tuple[Op, Op]:
    """`triu_indices` of a matrix, as `tril_indices_from` otherwise.

    >>> import ngraph_rewrite as ng
    >>> [index.type for index in ng.numpy.triu_indices_from(ng.placeholder((3, 2)))]
    [int64[3], int64[3]]
    """
    rows, columns = _matrix("triu_indices_from", x)
    return _triangle("triu_indices_from", np.triu_indices, rows, k, columns)


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> tuple[Op, Op]:
    """The index of what a function keeps of an n times n matrix of ones, in row-major order.

    Args:
        mask_func: `tril`, `triu`, or a function of an array of NumPy and `k` to such an array.
        k: What it is given beside the matrix.

    Raises:
        ArgumentError: for a function that gives a term, whose values are not known, and for what is none.
        LengthError: for a negative length, or one that is not known yet.

    >>> import ngraph_rewrite as ng
    >>> [index.type for index in ng.numpy.mask_indices(3, ng.numpy.triu, 1)]
    [int64[3], int64[3]]
    """
    function_of("mask_indices", mask_func, "mask_func")
    count = _count("mask_indices", n, "n")
    known: Any = {creation.tril: np.tril, creation.triu: np.triu}.get(mask_func, mask_func)
    mask = known(np.ones((count, count), np.int64), k)
    if isinstance(mask, Op) or np.ndim(mask) != 2:
        what = f"mask_indices: the function makes {mask!r}"
        raise ArgumentError(what, where=user_line(), do="give tril, triu, or one of NumPy's arrays")
    rows, columns = np.nonzero(mask != 0)
    return constant(rows), constant(columns)


def _triangle(call: str, function: Callable[..., Any], n: Any, k: Any, m: Any) -> tuple[Op, Op]:
    count, above = _count(call, n, "n"), checked(call, as_int, k, "k")
    rows, columns = function(count, above, count if m is None else _count(call, m, "m"))
    return constant(rows), constant(columns)


def _count(call: str, given: Any, name: str) -> int:
    return checked(call, known_length, checked(call, extent, given, name), name)


def _matrix(call: str, x: Array) -> tuple[Extent, Extent]:
    term = as_term(x)
    if term.rank != 2:
        raise AxesError(f"{call}: expected a matrix, got {term.type!r}", where=user_line(), do="give its lengths")
    return term.shape[0], term.shape[1]
