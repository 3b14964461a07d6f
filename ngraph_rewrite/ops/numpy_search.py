# SPDX-License-Identifier: Apache-2.0
"""Numpy searches and sorts: places of the greatest and the least, orders, and elements taken along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import flag, integer_only, position, positional, tensor
from ngraph_rewrite.ops.promotion import same
from ngraph_rewrite.ops.stretching import positions, stretched, without
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, find, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import INT64
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Places = tuple[int, ...]

# -- places of extrema --------------------------------------------------------------------------------


def _arg_attributes(x: TensorType, *, axis: Any, keepdims: Any) -> Attributes:
    return {"axis": positions(axis, x.rank), "keepdims": flag(keepdims, "keepdims")}


def _index_of(function: Callable[..., Any]) -> Meaning:
    """The row-major index, over the reduced axes, of the first element a NumPy function picks."""

    def meaning(term: Op, x: Any) -> Any:
        axis = term.attribute("axis")
        kept = [k for k in range(x.ndim) if k not in axis]
        shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
        lines = np.transpose(x, [*kept, *axis]).reshape([*(x.shape[k] for k in kept), -1 if x.size else 0])
        return function(lines, axis=-1).reshape(shape) if x.size else np.zeros(shape, INT64)

    return meaning


def _arg(name: str, function: Callable[..., Any], says: str) -> None:
    def type_rule(x: TensorType, *, axis: Places, keepdims: bool) -> TensorType:
        positional(x)
        if any(x.shape[k] == 0 for k in axis):
            raise AxesError(f"the place of the {says} of no elements", do="search axes of length at least 1")
        return tensor(INT64, without(x.shape, axis, keepdims))

    type_rule.__doc__ = (
        f"The int64 row-major index over the positions `axis` of the first {says} element, or NaN; false is below true."
    )
    op(f"numpy.{name}", "reduction", meaning=_index_of(function), normalise=_arg_attributes)(type_rule)


_arg("argmax", np.argmax, "greatest")
_arg("argmin", np.argmin, "least")

# -- orders -------------------------------------------------------------------------------------------


def _order_attributes(x: TensorType, *, axis: Any, descending: Any) -> Attributes:
    return {"axis": position(axis, x.rank), "descending": flag(descending, "descending")}


def _as_in_semi(short: str) -> Meaning:
    """The meaning of the semi op of this name, which has the same attributes."""
    definition = find(f"semi.{short}")
    assert definition is not None and definition.meaning is not None
    return definition.meaning


@op("numpy.argsort", meaning=_as_in_semi("argsort"), normalise=_order_attributes)
def argsort(x: TensorType, *, axis: int, descending: bool) -> TensorType:
    """The int64 positions along `axis` that put `x` in order; equal elements keep theirs, NaN comes last both ways."""
    positional(x)
    return tensor(INT64, x.shape)


@op("numpy.sort", meaning=_as_in_semi("sort"), normalise=_order_attributes)
def sort(x: TensorType, *, axis: int, descending: bool) -> TensorType:
    """`x` in order along `axis`; equal elements keep their order, NaN comes last both ways."""
    positional(x)
    return x


def _searchsorted_attributes(x: TensorType, v: TensorType, *, right: Any) -> Attributes:
    return {"right": flag(right, "right")}


def _searchsorted(term: Op, x: Any, v: Any) -> Any:
    dtype = same(*(a.type for a in term.args))
    return functions.found_places(x.astype(dtype), v.astype(dtype), term.attribute("right"))


@op("numpy.searchsorted", meaning=_searchsorted, normalise=_searchsorted_attributes)
def searchsorted(x: TensorType, v: TensorType, *, right: bool) -> TensorType:
    """For each element of `v` the int64 place in the ascending vector `x` before its equals, or after if `right`."""
    positional(x, v)
    same(x, v)
    if x.rank != 1:
        raise AxesError(f"expected a vector in ascending order, got {x!r}")
    return tensor(INT64, v.shape)


# -- elements along an axis ---------------------------------------------------------------------------


def _along_attributes(x: TensorType, indices: TensorType, *, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


def _replaced(shape: tuple[Extent, ...], axis: int, length: Extent) -> tuple[Extent, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _take_along(term: Op, x: Any, indices: Any) -> Any:
    axis = term.attribute("axis")
    shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
    lines = np.broadcast_to(x, (*shape[:axis], x.shape[axis], *shape[axis + 1 :]))
    at, inside = functions.wrap(np.broadcast_to(indices, shape), x.shape[axis])
    if not x.shape[axis]:
        return np.zeros(shape, x.dtype)
    return np.where(inside, np.take_along_axis(lines, np.where(inside, at, 0), axis), x.dtype.type(0))


@op("numpy.take_along_axis", meaning=_take_along, normalise=_along_attributes)
def take_along_axis(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    """Each line of `x` along `axis` at the indices of its line, the other axes broadcast; outside reads zeros."""
    positional(x, indices)
    integer_only(indices)
    if indices.rank != x.rank:
        raise AxesError(f"expected indices of rank {x.rank}, got {indices!r}", do="add axes of length 1")
    outer = stretched(_replaced(x.shape, axis, 1), _replaced(indices.shape, axis, 1))
    return tensor(x.dtype, _replaced(outer, axis, indices.shape[axis]))
