# SPDX-License-Identifier: Apache-2.0
"""Numpy reductions over positions; what is reduced may stay as axes of length 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.checks import flag, literal, numeric, positional, tensor
from ngraph_rewrite.ops.stretching import positions, without
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, INT64, DType, as_dtype
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.tensor import TensorType

Places = tuple[int, ...]


def _attributes(x: TensorType, *, axis: Any, keepdims: Any) -> Attributes:
    return {"axis": positions(axis, x.rank), "keepdims": flag(keepdims, "keepdims")}


def _typed_attributes(x: TensorType, *, axis: Any, keepdims: Any, dtype: Any) -> Attributes:
    return {**_attributes(x, axis=axis, keepdims=keepdims), "dtype": as_dtype(dtype)}


# -- sums and products, in a dtype of choice ----------------------------------------------------------


def _total(name: str, function: Callable[..., Any], says: str) -> None:
    def meaning(term: Op, x: Any) -> Any:
        axis, keepdims, dtype = term.attrs
        with np.errstate(all="ignore"):
            return function(x.astype(dtype, copy=False), axis, keepdims)

    def type_rule(x: TensorType, *, axis: Places, keepdims: bool, dtype: DType) -> TensorType:
        positional(x)
        numeric(TensorType(dtype))
        return tensor(dtype, without(x.shape, axis, keepdims))

    type_rule.__doc__ = f"{says} over the positions `axis`, in `dtype`; the axes stay with length 1 if `keepdims`."
    op(f"numpy.{name}", "reduction", meaning=meaning, normalise=_typed_attributes)(type_rule)


_total("sum", functions.total, "The sum")
_total("prod", functions.product, "The product")

# -- reductions whose dtype is given ------------------------------------------------------------------


def _by(function: Callable[..., Any]) -> Meaning:
    def meaning(term: Op, x: Any) -> Any:
        with np.errstate(all="ignore"):
            found = function(x, axis=term.attribute("axis"), keepdims=term.attribute("keepdims"))
            return np.asarray(found, term.dtype)

    return meaning


def _reduction(name: str, meaning: Meaning, dtype: Callable[[DType], DType], says: str, *, empty: bool = True) -> None:
    def type_rule(x: TensorType, *, axis: Places, keepdims: bool) -> TensorType:
        positional(x)
        if not empty and any(x.shape[k] == 0 for k in axis):
            raise AxesError("a maximum or minimum of no elements", do="reduce over axes of length at least 1")
        return tensor(dtype(x.dtype), without(x.shape, axis, keepdims))

    type_rule.__doc__ = f"{says} over the positions `axis`; the axes stay with length 1 if `keepdims`."
    op(f"numpy.{name}", "reduction", meaning=meaning, normalise=_attributes)(type_rule)


def _own(dtype: DType) -> DType:
    return dtype


def _bool(dtype: DType) -> DType:
    return BOOL


def _int64(dtype: DType) -> DType:
    return INT64


_reduction("max", _by(np.maximum.reduce), _own, "The greatest element, NaN if any is,", empty=False)
_reduction("min", _by(np.minimum.reduce), _own, "The least element, NaN if any is,", empty=False)
_reduction("any", _by(np.logical_or.reduce), _bool, "Whether any element is not zero")
_reduction("all", _by(np.logical_and.reduce), _bool, "Whether no element is zero")
_reduction("count_nonzero", _by(np.count_nonzero), _int64, "How many elements are not zero")

# -- averages -----------------------------------------------------------------------------------------


def _wide(x: Any) -> Any:
    """Half precision is averaged in single, and integers in double."""
    return x.astype(wide_dtype(averaging(x.dtype)))


def _mean(x: Any, axis: Places, keepdims: bool) -> Any:
    wide = _wide(x)
    total = np.asarray(wide.sum(axis, keepdims=keepdims))
    return total / total.dtype.type(math.prod(x.shape[k] for k in axis))


_reduction("mean", _by(_mean), averaging, "The mean, float64 for integers,")


def _spread_attributes(x: TensorType, *, axis: Any, keepdims: Any, correction: Any) -> Attributes:
    return {**_attributes(x, axis=axis, keepdims=keepdims), "correction": literal(correction, FLOAT64)}


def _variance(term: Op, x: Any) -> Any:
    axis, keepdims, correction = term.attrs
    with np.errstate(all="ignore"):
        wide = _wide(x)
        total = np.asarray(np.asarray(np.square(wide - _mean(wide, axis, True))).sum(axis, keepdims=keepdims))
        count = math.prod(x.shape[k] for k in axis) - correction.scalar
        return np.asarray(total / total.dtype.type(max(count, 0)))


def _spread(name: str, meaning: Meaning, says: str) -> None:
    def type_rule(x: TensorType, *, axis: Places, keepdims: bool, correction: Literal) -> TensorType:
        positional(x)
        return tensor(averaging(x.dtype), without(x.shape, axis, keepdims))

    type_rule.__doc__ = (
        f"{says} over the positions `axis`, float64 for integers: the sum of squared deviations\n"
        "over the number of elements minus `correction`; the axes stay with length 1 if `keepdims`."
    )
    op(f"numpy.{name}", "reduction", meaning=meaning, normalise=_spread_attributes)(type_rule)


_spread("variance", lambda term, x: _variance(term, x).astype(term.dtype), "The variance")
_spread("deviation", lambda term, x: np.sqrt(_variance(term, x)).astype(term.dtype), "The standard deviation")
