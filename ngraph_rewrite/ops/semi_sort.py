# SPDX-License-Identifier: Apache-2.0
"""Order: stable sorts along an axis and binary search. NaN is after every number, and -0.0 equals 0.0."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import flag, position, positional, same_dtype, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import INT64, is_float
from ngraph_rewrite.types.tensor import TensorType


def order_attributes(x: TensorType, *, axis: Any, descending: Any) -> Attributes:
    """The position of an axis, and a flag."""
    return {"axis": position(axis, x.rank), "descending": flag(descending, "descending")}


def stable_order(x: Any, axis: int, descending: bool) -> Any:
    """The stable order; turned around by turning the values around, so that equal ones keep their order."""
    key = functions.comparable(x)
    if descending:
        key = -key if is_float(x.dtype) else ~key
    return np.argsort(key, axis=axis, kind="stable").astype(INT64, copy=False)


def order_of(term: Op, x: Any) -> Any:
    """The stable order along the axis of a term."""
    return stable_order(x, term.attribute("axis"), term.attribute("descending"))


@op("semi.argsort", meaning=order_of, normalise=order_attributes)
def argsort(x: TensorType, *, axis: int, descending: bool) -> TensorType:
    """The int64 positions along `axis` that put `x` in order; equal elements keep theirs, NaN comes last both ways."""
    positional(x)
    return tensor(INT64, x.shape)


def _sort(term: Op, x: Any) -> Any:
    return np.take_along_axis(x, order_of(term, x), term.attribute("axis"))


@op("semi.sort", meaning=_sort, normalise=order_attributes)
def sort(x: TensorType, *, axis: int, descending: bool) -> TensorType:
    """`x` in order along `axis`; equal elements keep their order (-0.0 and 0.0 are equal), NaN comes last both ways."""
    positional(x)
    return x


def _searchsorted_attributes(x: TensorType, v: TensorType, *, right: Any) -> Attributes:
    return {"right": flag(right, "right")}


@op(
    "semi.searchsorted",
    meaning=lambda term, x, v: functions.found_places(x, v, term.attribute("right")),
    normalise=_searchsorted_attributes,
)
def searchsorted(x: TensorType, v: TensorType, *, right: bool) -> TensorType:
    """For each element of `v` the int64 place where it belongs in the ascending vector `x`.

    The place before the elements of `x` that equal it, or after them if `right`.
    """
    positional(x, v)
    same_dtype(x, v)
    if x.rank != 1:
        raise AxesError(f"expected a vector in ascending order, got {x!r}", do="reshape it to one axis")
    return tensor(INT64, v.shape)
