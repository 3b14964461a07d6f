# SPDX-License-Identifier: Apache-2.0
"""Axes ops that take parts of tensors and put them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import align, axis_of, same_set
from ngraph_rewrite.ops.axes_order import new_name
from ngraph_rewrite.ops.checks import extents, integer_only, known_shape, named, position, several
from ngraph_rewrite.ops.indexing import Index, canonical_index, count, numpy_index
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import DType, as_dtype, promote
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def sliced(axes: Axes, items: Index) -> Axes:
    """The axes an index leaves: integers drop theirs, ranges keep the name with the new length."""
    pairs = ((a, count(i)) for a, i in zip(axes, items, strict=True) if isinstance(i, tuple))
    return Axes(a if n == a.length else a.with_length(n) for a, n in pairs)


def _items(x: TensorType, *, items: Any) -> Attributes:
    return {"items": canonical_index(items, x.shape)}


@op(
    "axes.tensor_slice",
    "view",
    meaning=lambda term, x: np.asarray(x[numpy_index(term.attribute("items"))]),
    normalise=_items,
)
def tensor_slice(x: TensorType, *, items: Index) -> TensorType:
    """NumPy basic indexing: integers drop their axis, slices keep its name with the new length."""
    named(x)
    return x.with_axes(sliced(x.axes, items))


def _place(x: TensorType, *, items: Any, axes: Any) -> Attributes:
    return {"items": canonical_index(items, Axes(axes).lengths), "axes": Axes(axes)}


def _unslice(term: Op, x: Any) -> Any:
    result = np.zeros(known_shape(term.axes), term.dtype)
    result[numpy_index(term.attribute("items"))] = x
    return result


@op("axes.unslice", meaning=_unslice, normalise=_place)
def unslice(x: TensorType, *, items: Index, axes: Axes) -> TensorType:
    """Zeros of `axes` with `x` where `items` points: what `tensor_slice` took, put back."""
    named(x, x.with_axes(axes))
    if sliced(axes, items).lengths != x.shape or sliced(axes, items).names != x.axes.names:
        raise AxesError(f"{x!r} is not a part {items} of {axes!r}", do="it must have the axes that tensor_slice gives")
    return x.with_axes(axes)


def _paddings(x: TensorType, *, before: Any, after: Any) -> Attributes:
    if not len(several(before, "before")) == len(several(after, "after")) == x.rank:
        raise AttributeValueError(f"before {before}, after {after}", do=f"give {x.rank} of each, one per axis")
    return {"before": extents(before, "padding"), "after": extents(after, "padding")}


def _pad(term: Op, x: Any) -> Any:
    return np.pad(x, tuple(zip(*term.attrs, strict=True))) if x.ndim else x


@op("axes.pad", meaning=_pad, normalise=_paddings)
def pad(x: TensorType, *, before: tuple[Extent, ...], after: tuple[Extent, ...]) -> TensorType:
    """`x` with zeros before and after, per axis; axes keep their names with the new lengths."""
    named(x)
    lengths = [b + n + a for b, n, a in zip(before, x.shape, after, strict=True)]
    return x.with_axes(a if n == a.length else a.with_length(n) for a, n in zip(x.axes, lengths, strict=True))


def _concat_axis(x: TensorType, *xs: TensorType, axis: Any) -> Attributes:
    return {"axis": axis_of(x.axes, axis).name}


def _concat(term: Op, *xs: Any) -> Any:
    first, name = term.args[0].axes, term.attribute("axis")
    orders = [[arg.axes.index(a) for a in first] for arg in term.args]
    moved = [np.transpose(x, o).astype(term.dtype, copy=False) for x, o in zip(xs, orders, strict=True)]
    return np.concatenate(moved, first.index(name))


@op("axes.concat", meaning=_concat, normalise=_concat_axis)
def concat(x: TensorType, *xs: TensorType, axis: str) -> TensorType:
    """The arguments one after the other along `axis`; their other axes are equal, in any order."""
    named(x, *xs)
    own = axis_of(x.axes, axis)
    length: Extent = own.length
    for other in xs:
        along = axis_of(other.axes, axis)
        same_set(x.axes - own, Axes(a for a in other.axes if a is not along))
        length = length + along.length
    dtype = promote(*(t.dtype for t in (x, *xs)))
    return TensorType(dtype, (a.with_length(length) if a is own else a for a in x.axes))


def _stack_axis(x: TensorType, *xs: TensorType, axis: Any, pos: Any) -> Attributes:
    if not isinstance(axis, Axis):
        raise AttributeValueError(f"axis is {axis!r}", do='give an Axis, such as Axis("T", 3)')
    return {"axis": axis, "pos": position(pos, x.rank + 1, "pos")}


def _stack(term: Op, *xs: Any) -> Any:
    first = term.args[0].axes
    moved = [align(x, a.axes, first).astype(term.dtype, copy=False) for x, a in zip(xs, term.args, strict=True)]
    return np.stack(moved, term.attribute("pos"))


@op("axes.stack", meaning=_stack, normalise=_stack_axis)
def stack(x: TensorType, *xs: TensorType, axis: Axis, pos: int) -> TensorType:
    """The arguments side by side along a new axis at position `pos`, as long as there are arguments."""
    named(x, *xs)
    new_name(x.axes, axis)
    if axis.length != 1 + len(xs):
        raise AxesError(f"axis {axis!r} cannot stack {1 + len(xs)} tensors", do=f"give it the length {1 + len(xs)}")
    for other in xs:
        same_set(x.axes, other.axes)
    dtype = promote(*(t.dtype for t in (x, *xs)))
    return TensorType(dtype, (*x.axes[:pos], axis, *x.axes[pos:]))


def _classes(x: TensorType, *, axis: Any, dtype: Any) -> Attributes:
    if not isinstance(axis, Axis):
        raise AttributeValueError(f"axis is {axis!r}", do='give an Axis, such as Axis("C", 10)')
    return {"axis": axis, "dtype": as_dtype(dtype)}


def _one_hot(term: Op, x: Any) -> Any:
    length = known_shape(term.axes)[0]
    wrapped, valid = functions.wrap(x, length)
    classes = np.arange(length).reshape((length, *(1,) * x.ndim))
    return ((classes == wrapped) & valid).astype(term.dtype)


@op("axes.one_hot", meaning=_one_hot, normalise=_classes)
def one_hot(x: TensorType, *, axis: Axis, dtype: DType) -> TensorType:
    """1 where the class axis, put leftmost, is at the integer `x`, 0 elsewhere.

    Negative integers count from the end; what lies outside the axis gives zeros.
    """
    named(x)
    integer_only(x)
    new_name(x.axes, axis)
    return TensorType(dtype, (axis, *x.axes))
