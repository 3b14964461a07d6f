# SPDX-License-Identifier: Apache-2.0
"""Numpy ops that take tensors apart, put them together and repeat them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import as_int, extent, extents, integer_only, listed, position, positional, tensor
from ngraph_rewrite.ops.indexing import Index, canonical_index, count, numpy_index
from ngraph_rewrite.ops.promotion import same
from ngraph_rewrite.ops.stretching import without
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType

Shape = tuple[Extent, ...]

# -- parts --------------------------------------------------------------------------------------------


def _items_attributes(x: TensorType, *, items: Any) -> Attributes:
    return {"items": canonical_index(items, x.shape)}


@op(
    "numpy.tensor_slice",
    "view",
    meaning=lambda term, x: np.asarray(x[numpy_index(term.attribute("items"))]),
    normalise=_items_attributes,
)
def tensor_slice(x: TensorType, *, items: Index) -> TensorType:
    """NumPy basic indexing: integers drop their axis, slices of any step keep it, `...` stands for whole axes."""
    positional(x)
    return tensor(x.dtype, [count(i) for i in items if isinstance(i, tuple)])


def _gather_attributes(x: TensorType, indices: TensorType, *, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


@op(
    "numpy.gather",
    meaning=lambda term, x, indices: functions.gather(x, indices, term.attribute("axis")),
    normalise=_gather_attributes,
)
def gather(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    """`x` at `indices` along `axis`, whose place their axes take; negative ones wrap, outside reads zeros."""
    positional(x, indices)
    integer_only(indices)
    return tensor(x.dtype, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _diagonal_attributes(x: TensorType, *, k: Any) -> Attributes:
    return {"k": as_int(k, "the diagonal k")}


def _triangle(name: str, function: Any, says: str) -> None:
    def type_rule(x: TensorType, *, k: int) -> TensorType:
        positional(x)
        if x.rank < 2:
            raise AxesError(f"expected matrices, got {x!r}", do="give at least two axes")
        return x

    type_rule.__doc__ = f"The matrices in the last two axes of `x`, 0 {says} the diagonal `k` above the main one."
    op(f"numpy.{name}", meaning=lambda term, x: function(x, term.attribute("k")), normalise=_diagonal_attributes)(
        type_rule
    )


_triangle("tril", np.tril, "above")
_triangle("triu", np.triu, "below")

# -- joins and repetitions ----------------------------------------------------------------------------


def _concat_attributes(x: TensorType, *xs: TensorType, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


def _cast_all(term: Op, arrays: Sequence[Any]) -> list[Any]:
    return [np.asarray(a).astype(term.dtype, copy=False) for a in arrays]


@op(
    "numpy.concat",
    meaning=lambda term, *xs: np.concatenate(_cast_all(term, xs), term.attribute("axis")),
    normalise=_concat_attributes,
)
def concat(x: TensorType, *xs: TensorType, axis: int) -> TensorType:
    """The arguments, promoted, one after the other along `axis`; their other lengths are equal."""
    positional(x, *xs)
    length: Extent = x.shape[axis]
    for other in xs:
        if other.rank != x.rank or without(other.shape, (axis,)) != without(x.shape, (axis,)):
            raise AxesError(f"expected equal lengths outside of axis {axis}, got {x!r} and {other!r}")
        length = length + other.shape[axis]
    return tensor(same(x, *xs), (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _stack_attributes(x: TensorType, *xs: TensorType, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank + 1)}


@op(
    "numpy.stack",
    meaning=lambda term, *xs: np.stack(_cast_all(term, xs), term.attribute("axis")),
    normalise=_stack_attributes,
)
def stack(x: TensorType, *xs: TensorType, axis: int) -> TensorType:
    """The arguments, promoted and of one shape, side by side along a new axis at position `axis`."""
    positional(x, *xs)
    for other in xs:
        if other.shape != x.shape:
            raise AxesError(f"expected equal shapes, got {x!r} and {other!r}", do="broadcast them first")
    return tensor(same(x, *xs), (*x.shape[:axis], 1 + len(xs), *x.shape[axis:]))


def _tile_attributes(x: TensorType, *, reps: Any) -> Attributes:
    given = extents(listed(reps), "a repetition")
    return {"reps": (1,) * (x.rank - len(given)) + given}


@op("numpy.tile", meaning=lambda term, x: np.tile(x, term.attribute("reps")), normalise=_tile_attributes)
def tile(x: TensorType, *, reps: Shape) -> TensorType:
    """`x` laid side by side, `reps[i]` times along axis i; it gets axes of length 1 in front if there are more."""
    positional(x)
    shape = (1,) * (len(reps) - x.rank) + x.shape
    return tensor(x.dtype, [n * r for n, r in zip(shape, reps, strict=True)])


def _repeat_attributes(x: TensorType, *, repeats: Any, axis: Any) -> Attributes:
    return {"repeats": extent(repeats, "the number of repeats"), "axis": position(axis, x.rank)}


@op("numpy.repeat", meaning=lambda term, x: np.repeat(x, *term.attrs), normalise=_repeat_attributes)
def repeat(x: TensorType, *, repeats: Extent, axis: int) -> TensorType:
    """`x` with each element along `axis` repeated in place."""
    positional(x)
    return tensor(x.dtype, (*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :]))
