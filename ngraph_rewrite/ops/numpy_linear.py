# SPDX-License-Identifier: Apache-2.0
"""Numpy products: all are contractions that subscripts describe, and einsum is the one they are lowered to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops import subscripts as letters
from ngraph_rewrite.ops.checks import as_int, numpy_meaning, position, positional, tensor
from ngraph_rewrite.ops.promotion import same
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.lengths import Extent, natural
from ngraph_rewrite.types.tensor import TensorType

# -- diagonals ----------------------------------------------------------------------------------------


def _diagonal_attributes(x: TensorType, *, offset: Any, axis1: Any, axis2: Any) -> Attributes:
    places = position(axis1, x.rank), position(axis2, x.rank)
    return {"offset": as_int(offset, "the offset"), "axis1": places[0], "axis2": places[1]}


def diagonal_length(rows: Extent, columns: Extent, offset: int) -> Extent:
    """The number of elements on a diagonal `offset` above the main one.

    >>> diagonal_length(3, 4, 2), diagonal_length(3, 4, -9)
    (2, 0)
    """
    if rows == columns and offset == 0:
        return rows
    below, right = rows + min(offset, 0), columns - max(offset, 0)
    return natural(below - natural(below - right))


@op("numpy.diagonal", meaning=lambda term, x: np.diagonal(x, *term.attrs), normalise=_diagonal_attributes)
def diagonal(x: TensorType, *, offset: int, axis1: int, axis2: int) -> TensorType:
    """The diagonals `offset` above the main one of the matrices in two axes, as the last axis of the result."""
    positional(x)
    if axis1 == axis2:
        raise AttributeValueError(f"the axes of a diagonal are both {axis1}", do="name two axes")
    rest = [n for k, n in enumerate(x.shape) if k not in (axis1, axis2)]
    return tensor(x.dtype, (*rest, diagonal_length(x.shape[axis1], x.shape[axis2], offset)))


# -- einsum -------------------------------------------------------------------------------------------


def _subscripts(*xs: TensorType, subscripts: Any) -> Attributes:
    return {"subscripts": letters.canonical(subscripts, [x.rank for x in xs])}


def _einsum(term: Op, *xs: Any) -> Any:
    """One contraction after the other. Half precision is summed in single."""
    wide = wide_dtype(term.dtype)
    with np.errstate(all="ignore"):
        operands, text = (
            [np.asarray(x).astype(term.dtype).astype(wide, copy=False) for x in xs],
            term.attribute("subscripts"),
        )
        while len(operands) > 1:
            first, second, both, text = letters.first_contraction(text, [x.shape for x in operands])
            pair = np.einsum(first, operands[0]), np.einsum(second, operands[1])
            operands[:2] = [np.einsum(both, *pair)]
        return np.einsum(text, *operands).astype(term.dtype, copy=False)


def _summed(subscripts: str, *xs: TensorType) -> TensorType:
    positional(*xs)
    lengths = letters.lengths_of(subscripts, [x.shape for x in xs])
    return tensor(same(*xs), (lengths[c] for c in letters.parts(subscripts)[1]))


@op("numpy.contract", meaning=_einsum, normalise=_subscripts)
def contract(x: TensorType, y: TensorType, *, subscripts: str) -> TensorType:
    """The einsum of two operands that is a product of matrices: no axis of one length beside a longer one, no
    diagonal, and no sum over an axis that one operand has alone.
    """
    (left, right), result = letters.parts(subscripts)
    alone = [c for c in set(left) ^ set(right) if c not in result]
    lengths = letters.lengths_of(subscripts, [x.shape, y.shape])
    stretch = [c for c, n in zip(left + right, x.shape + y.shape, strict=True) if lengths[c] != n]
    if alone or stretch or len(set(left)) < len(left) or len(set(right)) < len(right):
        raise AttributeValueError(f"{subscripts!r} of {x!r} and {y!r} is no product of matrices", do="use einsum")
    return _summed(subscripts, x, y)


@op("numpy.einsum", "narrowing", meaning=_einsum, normalise=_subscripts)
def einsum(x: TensorType, *xs: TensorType, subscripts: str) -> TensorType:
    """The sum of products of elements, over the axes whose letters the result does not have, in the promoted dtype.

    Operands are contracted one after the other from the left, each summed over what it has alone. Letters that
    stand twice in one operand take a diagonal. Axes of length 1 are repeated where another operand's of the letter
    is longer.
    """
    return _summed(subscripts, x, *xs)


# -- products that einsum describes -------------------------------------------------------------------


def _cast(function: Callable[..., Any]) -> Meaning:
    """A NumPy function of operands in the promoted dtype."""

    def meaning(term: Op, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(term, *(np.asarray(a).astype(term.dtype, copy=False) for a in arrays)))

    return meaning


def _contracted(x: Any, y: Any, left: Sequence[int], right: Sequence[int]) -> Any:
    """`numpy.tensordot` by `numpy.matmul`: unlike `numpy.dot`, that does not lose a NaN times a lone zero."""
    rows = np.moveaxis(x, left, range(x.ndim - len(left), x.ndim))
    columns = np.moveaxis(y, right, range(len(right)))
    outer, inner = rows.shape[: x.ndim - len(left)], columns.shape[len(right) :]
    k = math.prod(columns.shape[: len(right)])
    product = np.matmul(rows.reshape(math.prod(outer), k), columns.reshape(k, math.prod(inner)))
    return product.reshape((*outer, *inner))


def _last_with(x: Any, y: Any, axis: int) -> Any:
    """The last axis of `x` summed with one of `y`; the product with a number."""
    return _contracted(x, y, [x.ndim - 1], [axis]) if x.ndim and y.ndim else np.multiply(x, y)


def _equal(x: TensorType, i: int, y: TensorType, j: int) -> None:
    """Demand that an axis of one operand is as long as one of the other."""
    if x.shape[i] != y.shape[j]:
        raise AxesError(f"axis {i} of {x!r} and axis {j} of {y!r} are summed over together", do="give them one length")


def _axes_of(*types: TensorType) -> None:
    positional(*types)
    if any(t.rank == 0 for t in types):
        raise AxesError(f"expected operands with axes, got {' and '.join(map(repr, types))}", do="multiply them")


@op("numpy.matmul", meaning=_cast(lambda term, x, y: np.matmul(x, y)))
def matmul(x: TensorType, y: TensorType) -> TensorType:
    """The products of matrices in the last two axes, the others broadcast; a vector is a row first, a column second."""
    _axes_of(x, y)
    _equal(x, x.rank - 1, y, max(y.rank - 2, 0))
    outer = stretched(x.shape[:-2], y.shape[:-2])
    return tensor(same(x, y), (*outer, *x.shape[-2:-1], *(y.shape[-1:] if y.rank > 1 else ())))


def _vecdot_attributes(x: TensorType, y: TensorType, *, axis: Any) -> Attributes:
    """An axis counted from the end, as the operands may differ in rank."""
    number, least = as_int(axis, "axis"), min(x.rank, y.rank)
    if x.rank == y.rank and 0 <= number < least:
        number -= least
    if not -least <= number < 0:
        do = f"count from the end: -{least} to -1" if least else "give operands with axes, or multiply them"
        raise AttributeValueError(f"axis is {number}", do=do)
    return {"axis": number}


@op(
    "numpy.vecdot",
    meaning=_cast(lambda term, *xs: np.vecdot(*(np.moveaxis(x, term.attribute("axis"), -1) for x in xs))),
    normalise=_vecdot_attributes,
)
def vecdot(x: TensorType, y: TensorType, *, axis: int) -> TensorType:
    """The sums of products along `axis`, which counts from the end; the other axes are broadcast."""
    _axes_of(x, y)
    _equal(x, x.rank + axis, y, y.rank + axis)
    outer = stretched(*((*t.shape[: t.rank + axis], 1, *t.shape[t.rank + axis + 1 :]) for t in (x, y)))
    return tensor(same(x, y), (*outer[: len(outer) + axis], *outer[len(outer) + axis + 1 :]))


def _tensordot_attributes(x: TensorType, y: TensorType, *, axes: Any) -> Attributes:
    if isinstance(axes, Sequence) and not isinstance(axes, str):
        if len(axes) != 2:
            raise AttributeValueError(f"axes is {axes!r}", do="give a number, or a sequence of axes for each operand")
        each = [list(a) if isinstance(a, Sequence) else [a] for a in axes]
    else:
        n = as_int(axes, "axes")
        if not 0 <= n <= min(x.rank, y.rank):
            raise AttributeValueError(f"axes is {n}", do=f"give 0 to {min(x.rank, y.rank)}, or sequences of axes")
        each = [list(range(x.rank - n, x.rank)), list(range(n))]
    return {"axes": tuple(tuple(position(k, t.rank) for k in a) for a, t in zip(each, (x, y), strict=True))}


@op(
    "numpy.tensordot",
    meaning=_cast(lambda term, x, y: _contracted(x, y, *term.attribute("axes"))),
    normalise=_tensordot_attributes,
)
def tensordot(x: TensorType, y: TensorType, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> TensorType:
    """The sum of products over pairs of axes, ``axes[0][i]`` of `x` with ``axes[1][i]`` of `y`; then the others."""
    positional(x, y)
    if len(axes[0]) != len(axes[1]) or any(len(set(a)) != len(a) for a in axes):
        raise AttributeValueError(f"axes is {axes}", do="name as many axes of each operand, none twice")
    for i, j in zip(*axes, strict=True):
        _equal(x, i, y, j)
    rest = [n for t, a in ((x, axes[0]), (y, axes[1])) for k, n in enumerate(t.shape) if k not in a]
    return tensor(same(x, y), rest)


@op("numpy.inner", meaning=_cast(lambda term, x, y: _last_with(x, y, y.ndim - 1)))
def inner(x: TensorType, y: TensorType) -> TensorType:
    """The sums of products over the last axes; of a number and a tensor, the product."""
    positional(x, y)
    if not x.rank or not y.rank:
        return tensor(same(x, y), (*x.shape, *y.shape))
    _equal(x, x.rank - 1, y, y.rank - 1)
    return tensor(same(x, y), (*x.shape[:-1], *y.shape[:-1]))


@op("numpy.dot", meaning=_cast(lambda term, x, y: _last_with(x, y, max(y.ndim - 2, 0))))
def dot(x: TensorType, y: TensorType) -> TensorType:
    """The sums of products over the last axis of `x` and the last but one of `y`; of a number, the product."""
    positional(x, y)
    if not x.rank or not y.rank:
        return tensor(same(x, y), (*x.shape, *y.shape))
    _equal(x, x.rank - 1, y, max(y.rank - 2, 0))
    return tensor(same(x, y), (*x.shape[:-1], *y.shape[:-2], *(y.shape[-1:] if y.rank > 1 else ())))


@op("numpy.outer", meaning=numpy_meaning(np.multiply.outer))
def outer(x: TensorType, y: TensorType) -> TensorType:
    """Every element of `x` times every element of `y`; the axes of `x` stand first."""
    positional(x, y)
    return tensor(same(x, y), (*x.shape, *y.shape))
