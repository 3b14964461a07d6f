# SPDX-License-Identifier: Apache-2.0
"""Semi reductions and the matrix product, and the ops that come after all others in rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import Check, bool_only, numeric, position, positional, same_dtype, several, tensor
from ngraph_rewrite.ops.indexing import Index, canonical_index, count, numpy_index
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import INT64, DType, is_float
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _axes_attribute(x: TensorType, *, axes: Any) -> Attributes:
    places = sorted(position(a, x.rank) for a in ((axes,) if isinstance(axes, int) else several(axes, "axes")))
    if len(set(places)) != len(places):
        raise AttributeValueError(f"axes {axes} names one axis twice")
    return {"axes": tuple(places)}


def _reduced(function: Callable[..., Any]) -> Meaning:
    """A sum or a product in the dtype of the term."""

    def meaning(term: Op, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(x, term.attribute("axes")))

    return meaning


def _extremum(ufunc: Any, sign: int) -> Meaning:
    """A greatest or least element; of none, what changes nothing. An unknown length may turn out to be 0."""

    def meaning(term: Op, x: Any) -> Any:
        limits = None if is_float(term.dtype) else np.iinfo(term.dtype)
        start = sign * np.inf if limits is None else limits.max if sign > 0 else limits.min
        return np.asarray(ufunc.reduce(x, axis=term.attribute("axes"), initial=start, dtype=term.dtype))

    return meaning


def _index_of(function: Callable[..., Any]) -> Meaning:
    """The row-major index, over the reduced axes, of the first element a NumPy function picks."""

    def meaning(term: Op, x: Any) -> Any:
        axes = term.attribute("axes")
        kept = [k for k in range(x.ndim) if k not in axes]
        lines = np.transpose(x, [*kept, *axes]).reshape([*(x.shape[k] for k in kept), -1 if x.size else 0])
        return np.asarray(function(lines, axis=-1), INT64) if lines.shape[-1] else np.zeros(term.shape, INT64)

    return meaning


def _reduction(
    name: str, meaning: Meaning, check: Check, says: str, *, empty: bool = True, result: DType | None = None
) -> None:
    def type_rule(x: TensorType, *, axes: tuple[int, ...]) -> TensorType:
        positional(x)
        check(x)
        if not empty:
            not_empty(tuple(x.shape[a] for a in axes))
        return tensor(result or x.dtype, (n for k, n in enumerate(x.shape) if k not in axes))

    type_rule.__doc__ = f"{says} over the positions `axes`; no axes leave `x` as it is."
    op(f"semi.{name}", "reduction", meaning=meaning, normalise=_axes_attribute)(type_rule)


def not_empty(lengths: tuple[Extent, ...]) -> None:
    """Demand that a reduction without a neutral element has something to reduce."""
    if 0 in lengths:
        raise AxesError("a maximum or minimum of no elements", do="reduce over axes of length at least 1")


_reduction("sum", _reduced(functions.total), numeric, "The sum, in the dtype of `x`,")
_reduction("prod", _reduced(functions.product), numeric, "The product, in the dtype of `x`,")
_reduction("max", _extremum(np.maximum, -1), numeric, "The greatest element (NaN if any is; of none the least value)")
_reduction("min", _extremum(np.minimum, +1), numeric, "The least element (NaN if any is; of none the greatest value)")
_reduction("any", _reduced(np.logical_or.reduce), bool_only, "Whether any element is true")
_reduction("all", _reduced(np.logical_and.reduce), bool_only, "Whether all elements are true")
_reduction(
    "argmax", _index_of(np.argmax), numeric, "The int64 row-major index of the first greatest element, or NaN,",
    empty=False, result=INT64,
)  # fmt: skip
_reduction(
    "argmin", _index_of(np.argmin), numeric, "The int64 row-major index of the first least element, or NaN,",
    empty=False, result=INT64,
)  # fmt: skip


def _dot(term: Op, x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(x, y)


@op("semi.dot", meaning=_dot)
def dot(x: TensorType, y: TensorType) -> TensorType:
    """The matrix product of `x` (m, k) and `y` (k, n), of one numeric dtype."""
    positional(x, y)
    numeric(x, y)
    same_dtype(x, y)
    if x.rank != 2 or y.rank != 2 or x.shape[1] != y.shape[0]:
        raise AxesError(f"expected shapes (m, k) and (k, n), got {x!r} and {y!r}", do="reshape or transpose them")
    return tensor(x.dtype, (x.shape[0], y.shape[1]))


def _items_attribute(x: TensorType, *, items: Any) -> Attributes:
    return {"items": canonical_index(items, x.shape)}


@op(
    "semi.tensor_slice",
    "view",
    meaning=lambda term, x: np.asarray(x[numpy_index(term.attribute("items"))]),
    normalise=_items_attribute,
)
def tensor_slice(x: TensorType, *, items: Index) -> TensorType:
    """NumPy basic indexing: integers drop their axis, slices of any step keep it, `...` stands for whole axes."""
    positional(x)
    return tensor(x.dtype, (count(i) for i in items if isinstance(i, tuple)))
