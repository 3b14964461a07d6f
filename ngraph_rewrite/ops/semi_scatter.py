# SPDX-License-Identifier: Apache-2.0
"""Reading and adding at indices: each op here, and `semi.gather`, is the adjoint of another.

An index counts from the end if it is negative. Outside of the axis a read gives zeros, and what should be
added there is dropped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import integer_only, numeric, position, positional, same_dtype, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType


def _axis(x: TensorType, *others: TensorType, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


def _scatter_add(term: Op, x: Any, indices: Any, updates: Any) -> Any:
    axis = term.attribute("axis")
    result = np.array(x)
    at, inside = functions.wrap(indices, x.shape[axis])
    lines = np.moveaxis(result, axis, 0)
    rows = np.moveaxis(updates, range(axis, axis + indices.ndim), range(indices.ndim))
    with np.errstate(all="ignore"):
        np.add.at(lines, at[inside], rows[inside])
    return result


@op("semi.scatter_add", meaning=_scatter_add, normalise=_axis)
def scatter_add(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int) -> TensorType:
    """`x` plus `updates` at `indices` along `axis`, one after the other where indices repeat.

    `updates` has the shape of ``gather(x, indices, axis=axis)``; negative indices wrap, those outside add nothing.
    """
    positional(x, indices, updates)
    integer_only(indices)
    numeric(x)
    same_dtype(x, updates)
    wanted = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if updates.shape != wanted:
        raise AxesError(f"expected updates of shape {wanted}, got {updates!r}", do="give the shape of the gather")
    return x


def _along(x: TensorType, indices: TensorType, axis: int) -> None:
    """Demand indices of the lengths of `x` but along `axis`."""
    positional(x, indices)
    integer_only(indices)
    if indices.rank != x.rank or any(
        n != m for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if k != axis
    ):
        raise AxesError(
            f"expected indices with the lengths of {x!r} but along axis {axis}, got {indices!r}",
            do="broadcast the indices",
        )


def _take_along(term: Op, x: Any, indices: Any) -> Any:
    axis = term.attribute("axis")
    at, inside = functions.wrap(indices, x.shape[axis])
    if not x.shape[axis]:
        return np.zeros(indices.shape, x.dtype)
    taken = np.take_along_axis(x, np.where(inside, at, 0), axis)
    return np.where(inside, taken, x.dtype.type(0))


@op("semi.take_along", meaning=_take_along, normalise=_axis)
def take_along(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    """Each line of `x` along `axis` at the indices of the same line of `indices`; outside reads zeros."""
    _along(x, indices, axis)
    return tensor(x.dtype, indices.shape)


def _add_along(term: Op, x: Any, indices: Any, updates: Any) -> Any:
    axis = term.attribute("axis")
    result = np.array(x)
    at, inside = functions.wrap(indices, x.shape[axis])
    places = list(np.indices(indices.shape))
    places[axis] = at
    with np.errstate(all="ignore"):
        np.add.at(result, tuple(p[inside] for p in places), updates[inside])
    return result


@op("semi.add_along", meaning=_add_along, normalise=_axis)
def add_along(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int) -> TensorType:
    """`x` plus `updates` at the indices of the same line along `axis`; those outside add nothing.

    `updates` has the shape of `indices`; where indices repeat, one after the other is added.
    """
    _along(x, indices, axis)
    numeric(x)
    same_dtype(x, updates)
    positional(updates)
    if updates.shape != indices.shape:
        raise AxesError(f"expected updates of the shape of {indices!r}, got {updates!r}")
    return x
