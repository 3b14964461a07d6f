# SPDX-License-Identifier: Apache-2.0
"""Axes reductions over named axes, and the product that contracts every shared name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import align, averaging, floating, some_of, totalling
from ngraph_rewrite.ops.checks import literal, named, numeric
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import BOOL, INT64, DType, promote
from ngraph_rewrite.types.dtypes import wide as wide_dtype
from ngraph_rewrite.types.tensor import TensorType

Result = Callable[[DType], DType]


def _reduced_axes(x: TensorType, *, axes: Any) -> Attributes:
    return {"axes": some_of(x.axes, axes)}


def places(term: Op) -> tuple[int, ...]:
    """The positions in the argument of the axes a reduction reduces."""
    return tuple(term.args[0].axes.index(a) for a in term.attribute("axes"))


def _by(function: Callable[..., Any]) -> Meaning:
    """A NumPy reduction, computed in the dtype of the term."""

    def meaning(term: Op, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(np.asarray(x).astype(term.dtype, copy=False), axis=places(term)), term.dtype)

    return meaning


def _index_of(function: Callable[..., Any]) -> Meaning:
    """The row-major index, over the reduced axes in the argument's order, of the first element picked."""

    def meaning(term: Op, x: Any) -> Any:
        have, reduced = term.args[0].axes, term.attribute("axes")
        if 0 in x.shape:
            return np.zeros(term.shape, INT64)
        lines = align(x, have, (have - reduced) + reduced).reshape((*term.shape, -1))
        return np.asarray(function(lines, axis=-1), INT64)

    return meaning


def _reduction(name: str, meaning: Meaning, result: Result, says: str, *, empty: bool = True) -> None:
    def type_rule(x: TensorType, *, axes: Axes) -> TensorType:
        named(x)
        if not empty and 0 in axes.lengths:
            raise AxesError("a maximum or minimum of no elements", do="reduce over axes of length at least 1")
        return TensorType(result(x.dtype), x.axes - axes)

    type_rule.__doc__ = f"{says} over `axes`; the other axes stay in their order."
    op(f"axes.{name}", "reduction", meaning=meaning, normalise=_reduced_axes)(type_rule)


def _own(dtype: DType) -> DType:
    return dtype


def _bool(dtype: DType) -> DType:
    return BOOL


def _int64(dtype: DType) -> DType:
    return INT64


_reduction("sum", _by(functions.total), totalling, "The sum, small integers widened to 64 bits,")
_reduction("prod", _by(functions.product), totalling, "The product, small integers widened to 64 bits,")
_reduction("max", _by(np.maximum.reduce), _own, "The greatest element, NaN if any is,", empty=False)
_reduction("min", _by(np.minimum.reduce), _own, "The least element, NaN if any is,", empty=False)
_reduction("any", _by(np.logical_or.reduce), _bool, "Whether any element is not zero")
_reduction("all", _by(np.logical_and.reduce), _bool, "Whether no element is zero")
_reduction("argmax", _index_of(np.argmax), _int64, "The row-major index of the first greatest element", empty=False)
_reduction("argmin", _index_of(np.argmin), _int64, "The row-major index of the first least element", empty=False)


def _dot(term: Op, x: Any, y: Any) -> Any:
    left, right = (a.axes for a in term.args)
    shared = left & right
    rows = align(x, left, (left - shared) + shared).reshape((-1 if x.size else (left - shared).size, shared.size))
    columns = align(y, right, shared + (right - shared)).reshape((shared.size, (right - shared).size))
    with np.errstate(all="ignore"):
        product = np.matmul(rows.astype(term.dtype, copy=False), columns.astype(term.dtype, copy=False))
    return product.reshape(term.shape)


@op("axes.dot", meaning=_dot)
def dot(x: TensorType, y: TensorType) -> TensorType:
    """The product of `x` and `y` summed over all names they share; their other axes follow, left first."""
    named(x, y)
    dtype = promote(x.dtype, y.dtype)
    numeric(TensorType(dtype))
    shared = x.axes & y.axes
    return TensorType(dtype, (x.axes - shared) + (y.axes - shared))


def _batch_attributes(x: TensorType, y: TensorType, *, axes: Any) -> Attributes:
    return {"axes": some_of(x.axes & y.axes, axes)}


def _batch_dot(term: Op, x: Any, y: Any) -> Any:
    left, right = (a.axes for a in term.args)
    names = {a.name: i for i, a in enumerate(left | right)}
    places = [[names[a.name] for a in axes] for axes in (left, right, term.axes)]
    with np.errstate(all="ignore"):
        x, y = (np.asarray(v).astype(term.dtype, copy=False).astype(wide_dtype(term.dtype), copy=False) for v in (x, y))
        return np.asarray(np.einsum(x, places[0], y, places[1], places[2]), term.dtype)


@op("axes.batch_dot", meaning=_batch_dot, normalise=_batch_attributes)
def batch_dot(x: TensorType, y: TensorType, *, axes: Axes) -> TensorType:
    """The product of `x` and `y` summed over `axes`, which both have; other shared axes are kept, as in `x`."""
    named(x, y)
    dtype = promote(x.dtype, y.dtype)
    numeric(TensorType(dtype))
    return TensorType(dtype, (x.axes - axes) + (y.axes - x.axes))


# -- composites -------------------------------------------------------------------------------------


_reduction("mean", _by(functions.mean), averaging, "The mean, float64 for integers,")
_reduction("variance", _by(functions.variance), averaging, "The population variance, float64 for integers,")


def _of_own_dtype(function: Callable[..., Any]) -> Meaning:
    """Apply a function in the argument's dtype, then sum in that of the term."""

    def meaning(term: Op, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return functions.total(function(x).astype(term.dtype), places(term))

    return meaning


_reduction("squared_L2", _of_own_dtype(np.square), totalling, "The sum of squares")
_reduction("L1_norm", _of_own_dtype(np.absolute), totalling, "The sum of absolute values")


def _norm_attributes(x: TensorType, *, axes: Any, eps: Any) -> Attributes:
    return {"axes": some_of(x.axes, axes), "eps": literal(eps, floating(totalling(x.dtype)))}


def _norm(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        total = functions.total(np.square(x).astype(totalling(x.dtype)), places(term)).astype(term.dtype)
        return np.asarray(np.sqrt(total + term.attribute("eps").array(())))


@op("axes.L2_norm", "reduction", meaning=_norm, normalise=_norm_attributes)
def L2_norm(x: TensorType, *, axes: Axes, eps: Literal) -> TensorType:
    """The square root of the sum of squares plus `eps`, over `axes`; a float dtype."""
    named(x)
    return TensorType(eps.dtype, x.axes - axes)
